/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/alloc_interval.h"

#include <stddef.h>

#include "ruby/section_word.h"

#define WORD offsetof(struct rb_debug_ext_section, alloc_interval)

int alloc_interval__set(struct address_space *space, const struct layout *l, uint64_t bytes, uint64_t *before)
{
	int err = section_word__read(space, l, WORD, before);

	return err || *before == bytes ? err : section_word__write(space, l, WORD, bytes);
}

int alloc_interval__restore(struct address_space *space, const struct layout *l, uint64_t bytes, uint64_t before)
{
	uint64_t now;
	int err = section_word__read(space, l, WORD, &now);

	return err || now != bytes || now == before ? err : section_word__write(space, l, WORD, before);
}
