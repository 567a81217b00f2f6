/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/mode.h"
#include "wire/alloc.h"

/* NULL: not told, or unknown. */
static const char *type_name(uint32_t type)
{
	switch (type) {
	case RB_DEBUG_EXT_TYPE_OBJECT: return "object";
	case RB_DEBUG_EXT_TYPE_CLASS: return "class";
	case RB_DEBUG_EXT_TYPE_MODULE: return "module";
	case RB_DEBUG_EXT_TYPE_STRING: return "string";
	case RB_DEBUG_EXT_TYPE_REGEXP: return "regexp";
	case RB_DEBUG_EXT_TYPE_ARRAY: return "array";
	case RB_DEBUG_EXT_TYPE_HASH: return "hash";
	case RB_DEBUG_EXT_TYPE_STRUCT: return "struct";
	case RB_DEBUG_EXT_TYPE_BIGNUM: return "bignum";
	case RB_DEBUG_EXT_TYPE_FILE: return "file";
	case RB_DEBUG_EXT_TYPE_DATA: return "data";
	case RB_DEBUG_EXT_TYPE_MATCH: return "match";
	case RB_DEBUG_EXT_TYPE_SYMBOL: return "symbol";
	case RB_DEBUG_EXT_TYPE_IMEMO: return "imemo";
	case RB_DEBUG_EXT_TYPE_ICLASS: return "iclass";
	default: return NULL;
	}
}

/* Memory besides slots, objects of the VM itself, and those of a class for which there was no memory for a record. */
static void add_type(const struct sample_event *e, struct text *out)
{
	const char *type = type_name(e->state);

	if (e->state == ALLOC_MALLOC)
		text__adds(out, "malloc");
	else if (!e->detail)
		text__adds(out, "class without a record");
	else if (type)
		text__addf(out, "VM internal %s", type);
	else
		text__adds(out, "VM internal");
}

const struct mode mode_alloc = {
	.name = "alloc",
	.help = "memory that is allocated, by class and stack",
	.sources = 1u << SOURCE_ALLOC,
	.value = { "alloc_space", UNIT_BYTES },
	.count = { "alloc_objects", UNIT_COUNT },
	.innermost = add_type,
	.below = FRAME_CLASS,
	.names_class = true,
};

/* Takes objects that are allocated from now on.  Their sizes are read at the end. */
static bool take_object(const struct sample_event *e, struct weight *weight)
{
	(void)weight;
	return e->state != ALLOC_MALLOC && e->more;
}

const struct mode mode_heap = {
	.name = "heap",
	.help = "objects that still live, by class and the stack that made them",
	.sources = 1u << SOURCE_ALLOC,
	.value = { "inuse_space", UNIT_BYTES },
	.count = { "inuse_objects", UNIT_COUNT },
	.take = take_object,
	.innermost = add_type,
	.below = FRAME_CLASS,
	.names_class = true,
	.lives = true,
};
