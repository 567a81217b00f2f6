/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code: see "Names" in ruby/debug_external.h. */
#ifndef EXTPROF_NAMES_H
#define EXTPROF_NAMES_H

#include <stdint.h>

#include "text.h"

/* What a name is composed of; no reference into the target any more. */
struct name_part {
	uint8_t kind;		/* enum rb_debug_ext_kind */
	uint8_t flags;		/* enum rb_debug_ext_flags */
	uint16_t level;
	uint32_t ref1, ref2;
	const char *name;	/* bytes as they are in the target */
	uint32_t name_length;
};

/* Records that one name may touch in all: neither the depth bounds it, as refinements
 * have two references each, nor the length, as a hostile process has names without any.
 * Names of Ruby's reach RB_DEBUG_EXT_NAME_MAX before. */
#define NAMES_PARTS_MAX 16384

struct names {
	/* The part of an id, NULL if it is not known. */
	const struct name_part *(*part)(void *context, uint32_t id);
	void *context;
};

/* Append the text of the record, not cleaned. */
void names__compose(const struct names *n, uint32_t id, struct text *out);

#endif /* EXTPROF_NAMES_H */
