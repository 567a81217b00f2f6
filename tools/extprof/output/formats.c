/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "output/output.h"

const struct output_format *const output_formats[] = {
#define FORMAT(name) &output_##name,
#include "output/formats.def"
#undef FORMAT
	NULL
};

const struct output_format *output__by_name(const char *name)
{
	for (int i = 0; output_formats[i]; i++)
		if (!strcmp(output_formats[i]->name, name))
			return output_formats[i];
	return NULL;
}

const struct output_format *output__by_path(const char *path)
{
	const struct output_format *longest = NULL;
	size_t length = strlen(path), best = 0;

	for (int i = 0; output_formats[i]; i++) {
		for (int j = 0; j < 3 && output_formats[i]->suffixes[j]; j++) {
			const char *suffix = output_formats[i]->suffixes[j];
			size_t n = strlen(suffix);

			if (n <= best || length <= n || strcasecmp(path + length - n, suffix))
				continue;
			longest = output_formats[i];
			best = n;
		}
	}
	return longest;
}
