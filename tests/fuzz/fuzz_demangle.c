/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust that nobody vouches for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parser/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of their exact sizes: a byte more is seen. */
	char *name = malloc(size + 1), *text = malloc(1024);

	memcpy(name, data, size);
	name[size] = '\0';
	if (demangle__name(name, text, 1024) >= 1024)
		abort();
	free(name);
	free(text);
	return 0;
}
