/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/name_retention.h"

#include <stddef.h>
#include <time.h>

#include "ruby/section_word.h"

int name_retention__ask(struct address_space *space, const struct layout *l)
{
	const struct rb_debug_ext_section *s = &l->section;
	struct timespec now;
	uint64_t until;

	/* Half of what the VM honours: its clock may be behind. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = (uint64_t)now.tv_sec + (s->grace_seconds > 1 ? s->grace_seconds / 2 : 1);
	return section_word__write(space, l, offsetof(struct rb_debug_ext_section, grace_until), until);
}
