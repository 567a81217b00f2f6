/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/mode.h"

const struct mode mode_alloc = {
	.name = "alloc",
	.help = "memory that is allocated, by class and stack",
	.sources = 1u << SOURCE_ALLOC,
	.value = { "alloc_space", UNIT_BYTES },
	.count = { "alloc_objects", UNIT_COUNT },
	.below = "class",
	.names_class = true,
};
