/* SPDX-License-Identifier: BSD-2-Clause */
/* The marks of a sample's labels in one number: "Labels" in ruby/debug_external.h says what a mark is. */
#ifndef EXTPROF_LABEL_MARKS_H
#define EXTPROF_LABEL_MARKS_H

#include <stdint.h>

#include "ruby/debug_external.h"

#define LABEL_MARK_BITS 16u

/* The marks of the first label, of the second one, ...; the last place is that of all others. */
static inline uint32_t label_marks__place(uint32_t label)
{
	return label < RB_DEBUG_EXT_LABEL_MARKS ? label : RB_DEBUG_EXT_LABEL_MARKS - 1;
}

/* The mark at the place of that label; 0: it is not known. */
static inline uint64_t label_marks__of(uint64_t marks, uint32_t label)
{
	return marks >> LABEL_MARK_BITS * label_marks__place(label) & ((1ull << LABEL_MARK_BITS) - 1);
}

#endif /* EXTPROF_LABEL_MARKS_H */
