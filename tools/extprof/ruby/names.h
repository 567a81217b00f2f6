/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code: see "Names" in ruby/debug_external.h. */
#ifndef EXTPROF_NAMES_H
#define EXTPROF_NAMES_H

#include <stdint.h>

#include "ruby/debug_external.h"
#include "base/text.h"

/* A part of a name.  All of it has been copied from the target. */
struct name_part {
	uint8_t kind;		/* enum rb_debug_ext_kind */
	uint8_t flags;		/* enum rb_debug_ext_flags */
	uint16_t level;
	uint32_t ref1, ref2;
	const char *name;	/* bytes as they are in the target */
	uint32_t name_length;
};

/* Records that one name may touch.  The depth alone does not bound them: a refinement has
 * two references.  An honest name reaches RB_DEBUG_EXT_NAME_MAX bytes before this bound, as
 * each record adds text: "::" and a character at least. */
#define NAMES_PARTS_MAX ((int)(RB_DEBUG_EXT_NAME_MAX / 2))

struct names {
	/* The part of an id, NULL if it is not known. */
	const struct name_part *(*part)(void *context, uint32_t id);
	void *context;
};

/* Append the text of the record, not cleaned. */
void names__compose(const struct names *n, uint32_t id, struct text *out);

#endif /* EXTPROF_NAMES_H */
