/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process says of itself: its environment, and the message of a process context. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/own_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(char *name)
{
	if (name && (!*name || strlen(name) > OWN_NAME_MAX))
		abort();
	/* No control character is left. */
	for (const char *at = name; at && *at; at++)
		if ((unsigned char)*at < ' ')
			abort();
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	take(own_name__of_message(data, size));
	take(own_name__of_environment((const char *)data, size));
	return 0;
}
