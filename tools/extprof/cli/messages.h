/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line makes of the library's errors: exit statuses and advice on options. */
#ifndef EXTPROF_MESSAGES_H
#define EXTPROF_MESSAGES_H

#include <stddef.h>

#include "extprof.h"

/* Exit statuses, documented in extprof(1).  Those of sysexits.h where one
 * fits, so that they do not collide with those of a profiled command's own. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_NOTHING = 1,	/* nothing was recorded, though nothing failed */
	STATUS_USAGE = 64,
	STATUS_NOT_RUBY = 65,
	STATUS_NO_PROCESS = 66,
	STATUS_NO_INTERFACE = 69,
	STATUS_INTERNAL = 70,
	STATUS_NO_BPF = 71,
	STATUS_OUTPUT = 73,
	STATUS_RECORDING = 74,
	STATUS_NOT_READY = 75,
	STATUS_VERSION = 76,
	STATUS_PERMISSION = 77,
	STATUS_COMMAND = 127,
};

/* Of an enum extprof_code. */
enum exit_status message__status(int code);
/* Fill *e with a code and a clean text, no hint, no advice.  Returns -errnum, for `return message__set(...)`. */
int message__set(struct extprof_error *e, enum extprof_code code, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Hint and advice as one line; "" if there are none. */
void message__hint(const struct extprof_error *e, char *to, size_t size);
/* Print an error with its hint on stderr; returns its exit status. */
int message__fail(const struct extprof_error *e);

#endif /* EXTPROF_MESSAGES_H */
