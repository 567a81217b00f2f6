/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/section_word.h"

int section_word__read(struct address_space *space, const struct layout *l, size_t offset, uint64_t *value)
{
	struct deadline *deadline = address_space__lift_deadline(space);
	int err = layout__confirm(l, &space->memory);

	if (!err)
		err = memory__read(&space->memory, l->address + offset, value, sizeof(*value));
	space->deadline = deadline;
	return err;
}

int section_word__write(struct address_space *space, const struct layout *l, size_t offset, uint64_t value)
{
	struct deadline *deadline = address_space__lift_deadline(space);
	int err = layout__confirm(l, &space->memory);

	if (!err)
		err = address_space__write(space, l->address + offset, &value, sizeof(value));
	space->deadline = deadline;
	return err;
}
