/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process that reads recordings cannot do any more, whatever a recording makes of it. */
#ifndef EXTPROF_SERVE_CONFINE_H
#define EXTPROF_SERVE_CONFINE_H

/*
 * For good, by a filter of libseccomp: it opens no file to be written and makes, changes or removes none, has no socket, starts
 * no program, and reaches no other process.  Each try fails with EACCES.  0 or negative errno: the kernel or the machine has no
 * such filters.
 */
int confine(void);

#endif /* EXTPROF_SERVE_CONFINE_H */
