/* SPDX-License-Identifier: BSD-2-Clause */
/* The outermost frames of a sample: its process, its thread, its labels. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "profile/group_names.h"
#include "profile/resolve_parts.h"

/* The frame of a sample without a Ruby thread: there is none, or it could not be told which. */
static uint32_t no_thread_frame(struct resolver *c, const struct sample_event *e)
{
	/* The outermost frame of a stack is no code. */
	bool unknown = e->flags & SAMPLE_THREAD_UNREAD || e->nr_frames > 1;

	c->unknown_threads += unknown;
	return group_names__add_no_thread(c->frames, e->comm, sizeof(e->comm), e->tid, unknown);
}

uint32_t resolve__thread_frame(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	struct thread *thread;

	if (!e->thread)
		return no_thread_frame(c, e);
	thread = threads__note(&vm->threads, e->thread, e->thread_slot, e->tid);
	if (!thread)
		return 0;
	if (!thread->frame)
		thread->frame = frame_table__later(c->frames, FRAME_THREAD);
	return (uint32_t)thread->frame;
}

/* 0: there are too many. */
static uint32_t bounded_thread_frame(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	uint32_t before = c->frames->no_code, frame;
	const struct thread *thread;

	if (!c->threads_max)
		return resolve__thread_frame(c, vm, e);
	if (c->thread_count >= c->threads_max) {
		thread = e->thread ? threads__note(&vm->threads, e->thread, e->thread_slot, e->tid) : NULL;
		return thread ? (uint32_t)thread->frame : 0;
	}
	frame = resolve__thread_frame(c, vm, e);
	c->thread_count += c->frames->no_code - before;
	return frame;
}

static uint32_t process_frame(struct resolver *c, struct process_row *row)
{
	if (row && !row->frame)
		row->frame = frame_table__later(c->frames, FRAME_PROCESS);
	return row ? row->frame : 0;
}

uint32_t resolve__process_frame(struct resolver *c, uint32_t row)
{
	uint32_t frame = process_frame(c, row < c->processes->count ? &c->processes->rows[row] : NULL);

	return frame ? frame : c->crowded_process;
}

/* The trace, or the span, of a sample as the record of a label. */
struct trace_label {
	struct label_record record;
	char text[TRACE_TEXT_SIZE];
};

/* The label of that key is the trace of the sample, or its span.  Without a trace it is a label as others are: a span of a
 * label has nothing to do with the trace of a record. */
static bool trace_of_label(const struct sample_event *e, const char *key, struct trace_label *to)
{
	int part = e->trace_state == TRACE_SET ? trace__part_of_label(key) : -1;

	if (part < 0)
		return false;
	trace__text(&e->context, (enum trace_part)part, to->text);
	to->record = (struct label_record){ .value = to->text, .value_length = (uint16_t)strlen(to->text) };
	return true;
}

/* The frame of label number `i` of the groups.  0: there is none, not even for what is too many. */
static uint32_t label_frame(struct resolver *c, struct vm *vm, const struct sample_event *e, int i)
{
	const char *key = c->groups.labels[i];
	const struct label_record *value = NULL;
	struct trace_label trace;
	enum label_state state;
	uint32_t frame, before;

	/* Before the table is full. */
	if (!c->crowded_label[i])
		c->crowded_label[i] = group_names__add_crowded(c->frames, FRAME_LABEL, key);
	if (trace_of_label(e, key, &trace)) {
		value = &trace.record;
		state = value->value_length ? LABEL_SET : LABEL_NOT_SET;
	} else {
		state = e->label ? labels__find(&vm->symbols, (uint32_t)e->label, key, &value) : LABEL_NOT_SET;
	}
	c->expired_labels += state == LABEL_EXPIRED;
	c->unread_labels += state == LABEL_UNREAD;
	before = c->frames->no_code;
	frame = group_names__add_label(c->frames, key, state, value,
				       state == LABEL_SET && c->label_values >= RESOLVE_LABELS_MAX);
	if (state == LABEL_SET)
		c->label_values += c->frames->no_code - before;
	return frame ? frame : c->crowded_label[i];
}

int resolve__add_groups(struct resolver *c, struct vm *vm, struct process_row *row, const struct sample_event *e,
			uint32_t *n)
{
	c->thread_frame = c->group_frames = 0;
	if (!c->groups.count)
		return 0;
	/* Before the table is full. */
	if (!c->crowded_thread)
		c->crowded_thread = group_names__add_crowded(c->frames, FRAME_THREAD, "");
	if (!c->crowded_process)
		c->crowded_process = group_names__add_crowded(c->frames, FRAME_PROCESS, "");
	if (groups__has(&c->groups, GROUP_PROCESS) || groups__has(&c->groups, GROUP_CGROUP) || groups__has(&c->groups, GROUP_COMMAND) ||
	    groups__has_resources(&c->groups)) {
		uint32_t frame = process_frame(c, row);

		c->stack[(*n)++] = frame ? frame : c->crowded_process;
	}
	if (groups__has(&c->groups, GROUP_THREAD) || groups__has(&c->groups, GROUP_THREAD_PATTERN)) {
		uint32_t frame = bounded_thread_frame(c, vm, e);

		c->thread_frame = frame ? frame : c->crowded_thread;
		c->stack[(*n)++] = c->thread_frame;
	}
	for (int i = 0; i < c->groups.label_count; i++) {
		uint32_t frame = label_frame(c, vm, e, i);

		if (!frame)
			return -ENOMEM;
		c->stack[(*n)++] = frame;
	}
	c->group_frames = *n;
	return c->crowded_thread && c->crowded_process ? 0 : -ENOMEM;
}

/* -- names ----------------------------------------------------------------------------------- */

int resolve__name_threads(struct resolver *c, const struct vm *vm)
{
	int err = 0;

	for (uint32_t i = 0; i < vm->threads.count && !err; i++)
		if (vm->threads.list[i].frame)
			err = group_names__set_thread(c->frames, &vm->threads.list[i]);
	return err;
}

int resolve__name_processes(struct resolver *c)
{
	int err = 0;

	for (uint32_t i = 0; c->processes && i < c->processes->count && !err; i++)
		if (c->processes->rows[i].frame)
			err = group_names__set_process(c->frames, &c->processes->rows[i], groups__has_resources(&c->groups));
	return err;
}
