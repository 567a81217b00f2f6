/* SPDX-License-Identifier: BSD-2-Clause */
/* The modes that are views of the samples of what runs. */
#include "source/mode.h"

const struct mode mode_cpu = {
	.name = "cpu",
	.help = "what runs on a CPU",
	.sources = 1u << SOURCE_CPU,
	.value = { "cpu", UNIT_NS },
	.count = { "samples", UNIT_COUNT },
	.by_count = true,
};

static bool takes_gc(const struct sample_event *e, struct weight *weight)
{
	(void)weight;
	return e->gc_phase;
}

/* The frame with the phase is a part of the stack in each mode. */
const struct mode mode_gc = {
	.name = "gc",
	.help = "garbage collection, below the method that ran into it",
	.sources = 1u << SOURCE_CPU,
	.beside = 1u << SOURCE_GC,
	.value = { "gc", UNIT_NS },
	.count = { "samples", UNIT_COUNT },
	.by_count = true,
	.take = takes_gc,
};
