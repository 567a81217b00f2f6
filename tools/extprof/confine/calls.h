/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes system calls away from a process that reads recordings, so that a hostile recording cannot use them. */
#ifndef EXTPROF_CONFINE_CALLS_H
#define EXTPROF_CONFINE_CALLS_H

enum confine_may {
	CONFINE_MAY_OPEN = 1,	/* files are opened to be written, and made: SQLite needs one beside a recording that has not ended */
	CONFINE_MAY_WRITE = 2,	/* the same, and files are renamed, removed and given to others: an output */
	CONFINE_MAY_START = 4,	/* helpers of parser/, which have fewer rights than this process, are started and talked to */
};

/*
 * For good, by a filter of libseccomp: without more, the process opens no file to be written and makes, changes or removes none,
 * has no socket, starts no program, changes no other process and types into no terminal.  Each try fails with EACCES.
 * `may`: of enum confine_may.  0 or negative errno: the kernel or the machine has no such filters.
 */
int confine__calls(unsigned int may);

#endif /* EXTPROF_CONFINE_CALLS_H */
