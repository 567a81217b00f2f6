/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAME(public, inside) _Static_assert((int)(public) == (int)(inside), #public)
SAME(EXTPROF_OK, DIAG_OK);
SAME(EXTPROF_USAGE, DIAG_USAGE);
SAME(EXTPROF_NOT_RUBY, DIAG_NOT_RUBY);
SAME(EXTPROF_NO_PROCESS, DIAG_NO_PROCESS);
SAME(EXTPROF_NO_INTERFACE, DIAG_NO_INTERFACE);
SAME(EXTPROF_INTERNAL, DIAG_INTERNAL);
SAME(EXTPROF_NO_BPF, DIAG_NO_BPF);
SAME(EXTPROF_OUTPUT, DIAG_OUTPUT);
SAME(EXTPROF_NOT_READY, DIAG_NOT_READY);
SAME(EXTPROF_VERSION_MISMATCH, DIAG_VERSION);
SAME(EXTPROF_PERMISSION, DIAG_PERMISSION);
SAME(EXTPROF_COMMAND, DIAG_COMMAND);
SAME(EXTPROF_RECORDING, DIAG_RECORDING);
SAME(DIAG_CODES, EXTPROF_RECORDING + 1);
SAME(EXTPROF_ADVICE_NONE, ADVICE_NONE);
SAME(EXTPROF_ADVICE_CLOCK, ADVICE_CLOCK);
SAME(EXTPROF_ADVICE_PID, ADVICE_PID);
SAME(EXTPROF_ADVICE_SUBPROCESSES, ADVICE_SUBPROCESSES);
SAME(EXTPROF_ADVICE_EXE, ADVICE_EXE);
SAME(ADVICES, EXTPROF_ADVICE_EXE + 1);

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

const char *extprof_version(void)
{
	return EXTPROF_VERSION;
}

int result__copy(void *to, const void *from, size_t size)
{
	size_t given;

	memcpy(&given, to, sizeof(given));
	if (given < sizeof(given))
		return -EINVAL;
	memcpy((char *)to + sizeof(given), (const char *)from + sizeof(given),
	       (given < size ? given : size) - sizeof(given));
	return 0;
}

void error__fill(struct extprof_error *error, const struct diag *d)
{
	struct extprof_error full = { 0 };

	if (!error)
		return;
	full.code = (int)d->code;
	full.advice = (int)d->advice;
	full.advice_value = d->advice_value;
	snprintf(full.text, sizeof(full.text), "%s", d->text);
	snprintf(full.hint, sizeof(full.hint), "%s", d->hint);
	result__copy(error, &full, sizeof(full));
}

int error__from(struct extprof_error *error, int err, const struct diag *d)
{
	if (err < 0)
		error__fill(error, d);
	return err;
}

int error__set(struct extprof_error *error, enum diag_code code, int errnum, const char *format, ...)
{
	char text[sizeof(error->text)];
	struct diag d = { 0 };
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error__from(error, diag__set(&d, code, errnum, "%s", text), &d);
}

int error__of_writer(struct extprof_error *error, int err, const char *what)
{
	/* The stream is not to blame for that. */
	enum diag_code code = err == -ENOMEM ? DIAG_INTERNAL : DIAG_OUTPUT;

	return error__set(error, code, -err, "the %s could not be written: %s", what, strerror(-err));
}

int options__copy(void *to, size_t size, const void *from, struct extprof_error *error)
{
	const unsigned char *bytes = from;
	size_t given;

	memset(to, 0, size);
	if (!from)
		return 0;
	memcpy(&given, from, sizeof(given));
	if (given < sizeof(given) || given > 65536)
		return error__set(error, DIAG_USAGE, EINVAL, "the structure of options has no size: set its "
				  "first field to its sizeof");
	for (size_t i = size; i < given; i++)
		if (bytes[i])
			return error__set(error, DIAG_USAGE, E2BIG, "an option is set that libextprof %s "
					  "does not have", extprof_version());
	memcpy(to, from, given < size ? given : size);
	return 0;
}

int options__check_reserved(const char *bytes, size_t size, struct extprof_error *error)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return error__set(error, DIAG_USAGE, EINVAL, "the structure of options is not zero where it is reserved: "
					  "zero it before it is filled");
	return 0;
}

int options__take(void *to, size_t size, const void *from, size_t reserved, size_t reserved_size, struct extprof_error *error)
{
	int err = options__copy(to, size, from, error);

	return err ? err : options__check_reserved((const char *)to + reserved, reserved_size, error);
}
