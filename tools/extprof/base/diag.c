/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int diag__set(struct diag *d, enum diag_code code, int errnum, const char *format, ...)
{
	char raw[sizeof(d->text)];
	va_list args;

	d->code = code;
	d->advice = ADVICE_NONE;
	d->hint[0] = '\0';
	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	/* The text contains paths and names that the target chose. */
	text__clean(d->text, sizeof(d->text), raw);
	return -errnum;
}

void diag__name(struct diag *d, const char *name)
{
	const struct diag of = *d;

	if (strstr(of.text, name))
		return;
	diag__set(d, of.code, 0, "%s: %s", name, of.text);
	diag__hint(d, "%s", of.hint);
}

void diag__hint(struct diag *d, const char *format, ...)
{
	char raw[sizeof(d->hint)];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	text__clean(d->hint, sizeof(d->hint), raw);
}

void diag__advise(struct diag *d, enum diag_advice advice, long value)
{
	d->advice = advice;
	d->advice_value = value;
}
