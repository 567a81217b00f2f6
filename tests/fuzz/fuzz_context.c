/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process says of itself: its environment, and the message of a process context. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/own_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(char *name)
{
	/* ASCII, without control characters. */
	for (const char *at = name; at && *at; at++)
		if (*at < ' ' || *at > '~')
			abort();
	if (name && !*name)
		abort();
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	take(own_name__of_message(data, size));
	take(own_name__of_environment((const char *)data, size));
	return 0;
}
