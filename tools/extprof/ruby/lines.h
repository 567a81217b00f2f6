/* SPDX-License-Identifier: BSD-2-Clause */
/* Line tables: see "Lines" in ruby/debug_external.h. */
#ifndef EXTPROF_LINES_H
#define EXTPROF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/lines.h"

struct line_pair {
	uint32_t position;	/* in instruction words */
	int32_t line;
};

struct lines {
	struct line_pair *pairs;	/* by position */
	size_t count;
};

/* 0, -EINVAL for a table that is malformed, or -ENOMEM. */
int lines__decode(struct lines *l, const uint8_t *data, size_t size, uint32_t first_line);

/* The table that the VM has for itself: entries, as they lie in its memory,
 * and the index. */
struct lines_insns {
	const uint8_t *entries;
	uint32_t count;
	uint32_t entry_size;
	uint32_t entry_line;		/* at most entry_size - 4 */
	const uint8_t *index;		/* of lines__index_size(code_size) bytes */
	uint32_t code_size;
};
int lines__decode_insns(struct lines *l, const struct lines_insns *insns);
void lines__free(struct lines *l);

/* The line of the pair at or before the position, 0 if there is none. */
int32_t lines__at(const struct lines *l, uint32_t position);

/* Position of the instruction that runs in a frame with this pc, -1 if the pc
 * is not in the code. */
int64_t lines__position(uint64_t pc, uint64_t code, uint32_t code_size);

#endif /* EXTPROF_LINES_H */
