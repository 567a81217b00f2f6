/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/messages.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CODES (EXTPROF_RECORDING + 1)

static const enum exit_status statuses[CODES] = {
	[EXTPROF_OK] = STATUS_OK,
	[EXTPROF_USAGE] = STATUS_USAGE,
	[EXTPROF_NOT_RUBY] = STATUS_NOT_RUBY,
	[EXTPROF_NO_PROCESS] = STATUS_NO_PROCESS,
	[EXTPROF_NO_INTERFACE] = STATUS_NO_INTERFACE,
	[EXTPROF_INTERNAL] = STATUS_INTERNAL,
	[EXTPROF_NO_BPF] = STATUS_NO_BPF,
	[EXTPROF_OUTPUT] = STATUS_OUTPUT,
	[EXTPROF_NOT_READY] = STATUS_NOT_READY,
	[EXTPROF_VERSION_MISMATCH] = STATUS_VERSION,
	[EXTPROF_PERMISSION] = STATUS_PERMISSION,
	[EXTPROF_COMMAND] = STATUS_COMMAND,
	[EXTPROF_RECORDING] = STATUS_RECORDING,
};

/* The text that follows the hint, if there is a hint; a printf format for advice_value. */
static const struct {
	const char *after_hint, *format;
} advice[] = {
	[EXTPROF_ADVICE_CLOCK] = { ", or ", "sample with --timer=clock" },
	[EXTPROF_ADVICE_PID] = { ", or ", "profile its process: extprof -p %ld" },
	[EXTPROF_ADVICE_SUBPROCESSES] = { ": ", "--subprocesses profiles them too" },
	[EXTPROF_ADVICE_EXE] = { " ", "with --exe FILE" },
};

#define ADVICES (sizeof(advice) / sizeof(advice[0]))

enum exit_status message__status(int code)
{
	return code >= 0 && code < CODES ? statuses[code] : STATUS_INTERNAL;
}

int message__set(struct extprof_error *e, enum extprof_code code, int errnum, const char *format, ...)
{
	char raw[sizeof(e->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	*e = (struct extprof_error){ .size = sizeof(*e), .code = code };
	/* Paths and names of commands can contain anything. */
	extprof_clean(e->text, sizeof(e->text), raw);
	return -errnum;
}

void message__hint(const struct extprof_error *e, char *to, size_t size)
{
	bool advised = e->advice > 0 && (size_t)e->advice < ADVICES;
	int n = snprintf(to, size, "%s%s", e->hint, e->hint[0] && advised ? advice[e->advice].after_hint : "");

	if (!advised || n < 0 || (size_t)n >= size)
		return;
	/* The formats are those above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(to + n, size - (size_t)n, advice[e->advice].format, e->advice_value);
#pragma GCC diagnostic pop
}

int message__fail(const struct extprof_error *e)
{
	char hint[sizeof(e->hint) + 128];

	fprintf(stderr, "extprof: %s\n", e->text);
	message__hint(e, hint, sizeof(hint));
	if (hint[0])
		fprintf(stderr, "extprof: %s\n", hint);
	return message__status(e->code);
}

int message__flush(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "extprof: cannot write to standard output: %s\n", strerror(errno));
	return STATUS_OUTPUT;
}
