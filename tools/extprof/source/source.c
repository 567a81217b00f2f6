/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/source.h"

static const struct source_ops *const sources[] = {
	&source_cpu, &source_sched, &source_alloc, &source_gc, &source_syscall, &source_event,
};

const struct source_ops *source__by_id(enum sample_source id)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (sources[i]->id == id)
			return sources[i];
	return NULL;
}
