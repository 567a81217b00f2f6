/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line makes of the library's errors: exit statuses and advice on options. */
#ifndef EXTPROF_MESSAGES_H
#define EXTPROF_MESSAGES_H

#include <stddef.h>

#include "base/diag.h"

/* Exit statuses, documented in extprof(1).  Those of sysexits.h where one
 * fits, so that they do not collide with those of a profiled command's own. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_USAGE = 64,
	STATUS_NOT_RUBY = 65,
	STATUS_NO_PROCESS = 66,
	STATUS_NO_INTERFACE = 69,
	STATUS_INTERNAL = 70,
	STATUS_NO_BPF = 71,
	STATUS_OUTPUT = 73,
	STATUS_NOT_READY = 75,
	STATUS_VERSION = 76,
	STATUS_PERMISSION = 77,
	STATUS_COMMAND = 127,
};

enum exit_status message__status(enum diag_code code);
/* Hint and advice as one line; "" if there are none. */
void message__hint(const struct diag *d, char *to, size_t size);
/* Print a diagnosis on stderr; returns its exit status. */
int message__fail(const struct diag *d);

#endif /* EXTPROF_MESSAGES_H */
