/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void log_to__line(const struct log_to *log, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (!log->line)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* libbpf's have one. */
	line[strcspn(line, "\n")] = '\0';
	log->line(log->context, line);
}
