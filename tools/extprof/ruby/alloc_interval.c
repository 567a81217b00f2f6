/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/alloc_interval.h"

#include <stddef.h>

/* The memory is that of one program: after an exec nothing can be read or written. */
static int read_interval(const struct memory *m, const struct layout *l, uint64_t *interval)
{
	int err = layout__confirm(l, m);

	if (err)
		return err;
	return memory__read(m, l->address + offsetof(struct rb_debug_ext_section, alloc_interval), interval,
			    sizeof(*interval));
}

static int write_interval(struct address_space *space, const struct layout *l, uint64_t interval)
{
	return address_space__write(space, l->address + offsetof(struct rb_debug_ext_section, alloc_interval), &interval,
				    sizeof(interval));
}

int alloc_interval__set(struct address_space *space, const struct layout *l, uint64_t bytes, uint64_t *before)
{
	struct deadline *deadline = address_space__lift_deadline(space);
	int err = read_interval(&space->memory, l, before);

	if (!err && *before != bytes)
		err = write_interval(space, l, bytes);
	space->deadline = deadline;
	return err;
}

int alloc_interval__restore(struct address_space *space, const struct layout *l, uint64_t bytes, uint64_t before)
{
	struct deadline *deadline = address_space__lift_deadline(space);
	uint64_t now;
	int err = read_interval(&space->memory, l, &now);

	if (!err && now == bytes && now != before)
		err = write_interval(space, l, before);
	space->deadline = deadline;
	return err;
}
