/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/messages.h"

#include <stdio.h>

static const enum exit_status statuses[DIAG_CODES] = {
	[DIAG_OK] = STATUS_OK,
	[DIAG_USAGE] = STATUS_USAGE,
	[DIAG_NOT_RUBY] = STATUS_NOT_RUBY,
	[DIAG_NO_PROCESS] = STATUS_NO_PROCESS,
	[DIAG_NO_INTERFACE] = STATUS_NO_INTERFACE,
	[DIAG_INTERNAL] = STATUS_INTERNAL,
	[DIAG_NO_BPF] = STATUS_NO_BPF,
	[DIAG_OUTPUT] = STATUS_OUTPUT,
	[DIAG_NOT_READY] = STATUS_NOT_READY,
	[DIAG_VERSION] = STATUS_VERSION,
	[DIAG_PERMISSION] = STATUS_PERMISSION,
	[DIAG_COMMAND] = STATUS_COMMAND,
};

/* printf formats for advice_value. */
static const char *const advice[ADVICES] = {
	[ADVICE_CLOCK] = "sample with --timer=clock",
	[ADVICE_PID] = "profile its process: extprof -p %ld",
	[ADVICE_OUTPUT] = "choose another file with -o; nothing was recorded or changed",
};

enum exit_status message__status(enum diag_code code)
{
	return (unsigned int)code < DIAG_CODES ? statuses[code] : STATUS_INTERNAL;
}

void message__hint(const struct diag *d, char *to, size_t size)
{
	const char *format = (unsigned int)d->advice < ADVICES ? advice[d->advice] : NULL;
	int n = snprintf(to, size, "%s%s", d->hint, d->hint[0] && format ? ", or " : "");

	if (!format || n < 0 || (size_t)n >= size)
		return;
	/* The formats are those above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(to + n, size - (size_t)n, format, d->advice_value);
#pragma GCC diagnostic pop
}

int message__fail(const struct diag *d)
{
	char hint[sizeof(d->hint) + 128];

	fprintf(stderr, "extprof: %s\n", d->text);
	message__hint(d, hint, sizeof(hint));
	if (hint[0])
		fprintf(stderr, "extprof: %s\n", hint);
	return message__status(d->code);
}
