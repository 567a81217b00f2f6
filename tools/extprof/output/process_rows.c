/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/process_rows.h"

#include <string.h>

#include "profile/command_name.h"

const struct process_row *process_rows__find(const struct report *r, const struct frame *f)
{
	const struct process_row *found = NULL;

	for (uint32_t i = 0; f->pid && i < r->processes.count; i++) {
		const struct process_row *row = &r->processes.rows[i];
		struct text command = { 0 };
		bool same;

		if (row->pid != (int)f->pid || row->watched)
			continue;
		command_name__add(row->command, &command);
		same = !command.failed && !strcmp(text__string(&command), f->name);
		text__free(&command);
		if (same)
			return row;
		found = found ? found : row;
	}
	return found;
}
