/* SPDX-License-Identifier: BSD-2-Clause */
/* Sinks besides those of the report: what they get, and the names of the numbers in it. */
#include <errno.h>

#include "engine/state.h"
#include "profile/frame_names.h"
#include "profile/group_names.h"

int engine__add_sink(struct engine *e, struct sink *sink, struct diag *d)
{
	/* Each sample is of a process and a thread, whatever is shown of it. */
	groups__add_mask(&e->resolver.groups, 1u << GROUP_PROCESS | 1u << GROUP_THREAD);
	e->resolver.threads_max = 0;
	e->resolver.all_labels = true;
	if (sinks__add(&e->resolver.sinks, sink))
		return diag__set(d, DIAG_INTERNAL, ENOSPC, "there are too many sinks");
	return 0;
}

int engine__name_code(struct engine *e, uint32_t number)
{
	int err = frame_names__take(&e->frames, number, &e->table);

	return err || !e->resolver.native ? err : native_frames__take(&e->native_frames, &e->frames, number);
}

static int name_thread(struct engine *e, uint32_t number, const struct sink_origin *origin)
{
	const struct vm *vm = process_set__vm(&e->set, origin->vm);
	uint32_t i = vm && origin->thread ? map64__get(&vm->threads.map, origin->thread) : MAP64_NONE;

	if (i == MAP64_NONE || vm->threads.list[i].frame != number)
		return 0;
	return group_names__set_thread(&e->frames, &vm->threads.list[i]);
}

static int name_process(struct engine *e, uint32_t number, const struct sink_origin *origin)
{
	if (origin->process >= e->rows.count || e->rows.rows[origin->process].frame != number)
		return 0;
	return group_names__set_process(&e->frames, &e->rows.rows[origin->process], groups__has_resources(&e->resolver.groups));
}

int engine__name_frame(struct engine *e, uint32_t number, const struct sink_origin *origin)
{
	switch (frame_table__get(&e->frames, number)->kind) {
	case FRAME_THREAD: return name_thread(e, number, origin);
	case FRAME_PROCESS: return name_process(e, number, origin);
	default: return engine__name_code(e, number);
	}
}

const struct frame *engine__frame(const struct engine *e, uint32_t number)
{
	return frame_table__get(&e->frames, number);
}

const struct process_row *engine__process_row(const struct engine *e, uint32_t row)
{
	return row < e->rows.count ? &e->rows.rows[row] : NULL;
}

const struct mode *engine__mode(const struct engine *e, uint32_t number)
{
	return e->settings.modes[number];
}
