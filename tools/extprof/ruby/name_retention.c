/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/name_retention.h"

#include <stddef.h>
#include <time.h>

/* The memory is that of one program: after an exec the write fails and changes nothing. */
int name_retention__ask(struct address_space *space, const struct layout *l)
{
	struct deadline *deadline = address_space__lift_deadline(space);
	const struct rb_debug_ext_section *s = &l->section;
	struct timespec now;
	uint64_t until;
	int err;

	err = layout__confirm(l, &space->memory);
	if (err)
		goto cleanup;
	/* Half of what the VM honours: its clock may be behind. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = (uint64_t)now.tv_sec + (s->grace_seconds > 1 ? s->grace_seconds / 2 : 1);
	err = address_space__write(space, l->address + offsetof(struct rb_debug_ext_section, grace_until), &until,
				   sizeof(until));
cleanup:
	space->deadline = deadline;
	return err;
}
