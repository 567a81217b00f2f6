/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors of library code: it never prints, it fills one of these. */
#ifndef EXTPROF_DIAG_H
#define EXTPROF_DIAG_H

/* Exit statuses, documented in extprof(1).  Those of sysexits.h where one
 * fits, so that they do not collide with those of a profiled command's own. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_USAGE = 64,		/* wrong option or argument */
	STATUS_NOT_RUBY = 65,		/* the process is not a ruby */
	STATUS_NO_PROCESS = 66,		/* no such process, or it ended too early */
	STATUS_NO_INTERFACE = 69,	/* a ruby without the interface */
	STATUS_INTERNAL = 70,		/* out of memory, a bug */
	STATUS_NO_BPF = 71,		/* the kernel lacks BPF or BTF */
	STATUS_OUTPUT = 73,		/* the output cannot be written */
	STATUS_NOT_READY = 75,		/* the ruby is starting, forking or ending */
	STATUS_VERSION = 76,		/* interface version or layout not supported */
	STATUS_PERMISSION = 77,
	STATUS_COMMAND = 127,		/* the command could not be run */
};

struct diag {
	enum exit_status status;
	char text[640];		/* what happened; one line */
	char hint[640];		/* what to do next, may be empty */
};

/* Set the text and return -errnum, for `return diag__set(...)`. */
int diag__set(struct diag *d, enum exit_status status, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void diag__hint(struct diag *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* EXTPROF_DIAG_H */
