/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/source.h"

#include <string.h>

/* The modes. */
static const struct source_ops *const sources[] = { &source_cpu };

const struct source_ops *source__by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i];
	return NULL;
}
