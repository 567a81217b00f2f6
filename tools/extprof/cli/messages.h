/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows the library's errors on the command line: messages, advice on options, and exit statuses. */
#ifndef EXTPROF_MESSAGES_H
#define EXTPROF_MESSAGES_H

#include <stddef.h>

#include "cli/exit_status.h"
#include "extprof.h"

/* The exit status for an enum extprof_code. */
enum exit_status message__status(int code);
/* Fill *e with a code and a clean text, no hint, no advice.  Returns -errnum, for `return message__set(...)`. */
int message__set(struct extprof_error *e, enum extprof_code code, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Hint and advice as one line; "" if there are none. */
void message__hint(const struct extprof_error *e, char *to, size_t size);
/* Print an error with its hint on stderr; returns its exit status. */
int message__fail(const struct extprof_error *e);
/* Flush stdout.  Returns the given exit status, or, after a message, that of an output that failed. */
int message__flush(int status);

#endif /* EXTPROF_MESSAGES_H */
