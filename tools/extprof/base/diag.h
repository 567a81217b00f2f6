/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors of library code: a code and a text.  The library prints nothing and
 * knows neither options nor exit statuses; its caller adds those.
 */
#ifndef EXTPROF_DIAG_H
#define EXTPROF_DIAG_H

enum diag_code {
	DIAG_OK,
	DIAG_USAGE,		/* a setting that is wrong, or too much for this machine */
	DIAG_NOT_RUBY,		/* the process is not a ruby */
	DIAG_NO_PROCESS,	/* no such process, or it ended too early */
	DIAG_NO_INTERFACE,	/* a ruby without the interface */
	DIAG_INTERNAL,		/* out of memory, a bug */
	DIAG_NO_BPF,		/* the kernel lacks BPF or BTF */
	DIAG_OUTPUT,		/* the output cannot be written */
	DIAG_NOT_READY,		/* the ruby is starting, forking or ending */
	DIAG_VERSION,		/* interface version or layout not supported */
	DIAG_PERMISSION,
	DIAG_COMMAND,		/* the command could not be run */
	DIAG_RECORDING,		/* a file is no recording, or it is damaged */
	DIAG_CODES
};

/* A setting that would help.  The caller knows the name that its user gives to it. */
enum diag_advice {
	ADVICE_NONE,
	ADVICE_CLOCK,		/* the timer clock instead of tick */
	ADVICE_PID,		/* the process `advice_value` instead */
	ADVICE_SUBPROCESSES,	/* subprocesses as well: `hint` says what they did */
	ADVICE_EXE,		/* name the program of the core file */
	ADVICES
};

struct diag {
	enum diag_code code;
	enum diag_advice advice;
	long advice_value;
	char text[640];		/* what happened; one line without control characters */
	char hint[640];		/* what to do next, may be empty */
};

/* Set code and text, no hint, no advice.  Returns -errnum, for `return diag__set(...)`. */
int diag__set(struct diag *d, enum diag_code code, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Put the name of a file before a text that does not have it. */
void diag__name(struct diag *d, const char *name);
void diag__hint(struct diag *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void diag__advise(struct diag *d, enum diag_advice advice, long value);

#endif /* EXTPROF_DIAG_H */
