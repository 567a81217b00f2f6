/* SPDX-License-Identifier: BSD-2-Clause */
/* One event: is it sound, what do the sinks get of it, and what is counted. */
#include "profile/resolve.h"

#include <errno.h>
#include <string.h>

#include "profile/frame_names.h"
#include "profile/idle.h"
#include "profile/resolve_parts.h"
#include "profile/survivors.h"
#include "wire/alloc.h"
#include "wire/states.h"

/*
 * The kernel knows a program by its first sample.  Had the process executed
 * another one before that, unnoticed, the samples are of that one: ids that mean
 * something else.  If now, after the sample, the memory is still in use, then it
 * was not so.  -EINTR: there was no time to ask; -ETIMEDOUT, -EBUSY: no answer came.
 */
static int confirm(struct vm *s)
{
	const struct memory *memory = s->symbols.memory;
	uint8_t byte;
	int err = memory__read(memory, s->layout.address, &byte, 1);

	if (err == -EINTR || err == -ETIMEDOUT || err == -EBUSY)
		return err;
	s->confirmed = true;
	if (!err)
		return 0;
	/* Also names that are known already must not be taken. */
	symbols__disown(&s->symbols);
	symbols__set_exited(&s->symbols, false);
	threads__set_exited(&s->threads);
	return 0;
}

/* Is what belongs to the event in the bytes behind it? */
static bool has_parts(const struct sample_event *e, size_t size)
{
	const struct sample_machine *m = sample__machine(e);
	size_t frames = e->nr_frames * sizeof(struct sample_frame);

	if (e->nr_frames > SAMPLE_FRAMES_MAX || size < frames)
		return false;
	size -= frames;
	return !m || (size >= SAMPLE_MACHINE_HEAD && m->nr_kernel <= KERNEL_FRAMES_MAX && m->nr_native <= NATIVE_FRAMES_MAX &&
		      size - SAMPLE_MACHINE_HEAD >= (m->nr_kernel + m->nr_native) * sizeof(m->address[0]));
}

/* The event in the data, its VM and the row of its process, or PROCESS_NONE.  NULL: it makes no sense. */
static const struct sample_event *check_event(struct resolver *c, const void *data, size_t size,
					      struct vm **vm, uint32_t *row)
{
	const struct sample_event *e = data;

	*row = PROCESS_NONE;
	if (size < sizeof(*e) || !has_parts(e, size - sizeof(*e)) || e->truncated >= TRUNC_MAX || !e->kind ||
	    e->kind > SAMPLE_EXITING || e->source >= SOURCE_MAX)
		return NULL;
	*vm = c->vm_of(c->context, e, row);
	return *vm ? e : NULL;
}

/* NULL: there is none.  Rows move when a VM is asked for: events of other processes can be read then. */
static struct process_row *row_of(const struct resolver *c, uint32_t number)
{
	return c->processes && number < c->processes->count ? &c->processes->rows[number] : NULL;
}

/* The account of the process of a sample.  NULL: a pause of the collector is no sample, and a row may be missing. */
static struct received *received_of(const struct resolver *c, uint32_t number, uint16_t source)
{
	struct process_row *row = source == SOURCE_GC ? NULL : row_of(c, number);

	return row ? &row->received : NULL;
}

static void count_lost(struct resolver *c, uint32_t row, uint16_t source, enum loss_reason reason)
{
	struct sink_loss loss = { .source = source, .process = row, .reason = reason, .count = 1 };
	struct received *received = received_of(c, row, source);

	c->received[source].lost[reason]++;
	if (received)
		received->lost[reason]++;
	sinks__loss(&c->sinks, &loss);
}

/* The source of an event that makes no sense, as far as it can be told. */
static uint16_t malformed_source(const void *data, size_t size)
{
	const struct sample_event *e = data;

	return size >= sizeof(*e) && e->source < SOURCE_MAX ? e->source : SOURCE_CPU;
}

void resolve__skip(struct resolver *c, const void *data, size_t size)
{
	resolve__lose(c, data, size, LOSS_NOT_READ);
}

void resolve__lose(struct resolver *c, const void *data, size_t size, enum loss_reason reason)
{
	uint32_t row;
	struct vm *vm;
	const struct sample_event *e = check_event(c, data, size, &vm, &row);

	if (!e)
		count_lost(c, PROCESS_NONE, malformed_source(data, size), LOSS_MALFORMED);
	else
		count_lost(c, row, e->source, reason);
}

int resolve__set_modes(struct resolver *c, const struct mode *const *list, uint32_t count)
{
	struct frame f = FRAME_INIT(FRAME_MODE);

	c->modes = list;
	c->mode_count = count;
	c->labelled_frame = 0;
	for (uint32_t i = 0; count > 1 && i < count; i++) {
		f.name = list[i]->name;
		c->mode_frames[i] = frame_table__add(c->frames, &f);
		if (!c->mode_frames[i])
			return -ENOMEM;
	}
	f.name = "labelled";
	for (uint32_t i = 0; i < count && !c->labelled_frame; i++) {
		if (!idle__concerns(list[i]))
			continue;
		c->labelled_frame = frame_table__add(c->frames, &f);
		if (!c->labelled_frame)
			return -ENOMEM;
	}
	return 0;
}

int resolve__restart(struct resolver *c)
{
	for (uint32_t i = 0; c->processes && i < c->processes->count; i++)
		c->processes->rows[i].frame = 0;
	memset(c->received, 0, sizeof(c->received));
	c->holds_turn++;
	c->frame_count = c->unknown_frames = c->unreadable_names = c->crowded_names = 0;
	c->jit_leaves = c->jit_exact = c->gc_samples = c->unknown_threads = 0;
	c->left_out_count = 0;
	c->crowded_thread = c->crowded_process = c->crowded_details = 0;
	memset(c->crowded_label, 0, sizeof(c->crowded_label));
	c->label_values = c->thread_count = 0;
	c->unread_labels = c->expired_labels = 0;
	c->unread_traces = c->invalid_traces = 0;
	if (c->kernel)
		kernel_frames__restart(c->kernel);
	c->key_count = c->key_values = c->crowded_keys = 0;
	if (c->native)
		native_frames__restart(c->native);
	sinks__restart(&c->sinks);
	return resolve__set_modes(c, c->modes, c->mode_count);
}

int resolve__describe(struct resolver *c, const struct symbol_table *table)
{
	int err = frame_names__take_all(c->frames, table);

	if (!err && c->native)
		err = native_frames__take_all(c->native, c->frames);
	for (uint32_t i = 0; !err && c->processes && i < c->processes->count; i++)
		sinks__process(&c->sinks, i, &c->processes->rows[i]);
	if (!err)
		sinks__frames(&c->sinks, c->frames);
	return err;
}

int resolve__stack(struct resolver *c, const void *data, size_t size, uint32_t *count)
{
	uint32_t row;
	struct vm *vm;
	const struct sample_event *e = check_event(c, data, size, &vm, &row);

	if (!e)
		return -EINVAL;
	if (!vm->confirmed && confirm(vm))
		return -EINTR;
	return resolve__build(c, vm, row_of(c, row), e, (const struct sample_frame *)(e + 1), count);
}

static struct sink_origin origin_of(const struct resolver *c, uint32_t row, const struct sample_event *e)
{
	return (struct sink_origin){
		.process = row, .vm = e->vm, .thread = e->thread, .tid = e->tid,
		.thread_frame = c->thread_frame, .fiber = e->ec_slot,
	};
}

/* A pause is no stack of its own: what ran meanwhile was sampled. */
static int tell_pause(struct resolver *c, struct vm *vm, uint32_t row, const struct sample_event *e)
{
	struct sink_pause pause = { .length = e->value, .event = e };

	if (!c->pauses)
		return 0;
	c->thread_frame = e->thread ? resolve__thread_frame(c, vm, e) : 0;
	pause.origin = origin_of(c, row, e);
	pause.begin = e->time > e->value ? e->time - e->value : 0;
	return sinks__pause(&c->sinks, &pause);
}

/* Hold back the views of objects that may die; the sinks get the other views. */
static void hold_objects(struct resolver *c, const struct sample_event *e, struct sink_sample *sample)
{
	uint32_t kept = 0;

	if (!c->survivors)
		return;
	if (e->source == SOURCE_ALLOC && e->state != ALLOC_MALLOC && !e->more)
		c->survivors->refused++;
	for (uint32_t i = 0; i < sample->view_count; i++) {
		if (c->modes[c->views[i].mode]->lives)
			survivors__hold(c->survivors, e->vm, e->more, (uint32_t)e->detail, sample, &c->views[i]);
		else
			c->views[kept++] = c->views[i];
	}
	sample->view_count = kept;
}

static int tell_sample(struct resolver *c, struct vm *vm, uint32_t row, const struct sample_event *e,
		       const struct sample_frame *frames)
{
	struct sink_sample sample = {
		.time = e->time, .source = e->source, .truncated = e->truncated, .state = e->state,
		.label = e->label, .frames = c->stack, .views = c->views,
		.context = e->trace_state == TRACE_SET ? &e->context : NULL,
	};

	c->invalid_traces += e->trace_state == TRACE_NOT_VALID;
	c->unread_traces += e->trace_state == TRACE_UNREAD;
	if (resolve__build(c, vm, row_of(c, row), e, frames, &sample.count) || resolve__add_labels(c, vm, e) ||
	    resolve__views(c, vm, e, &sample.view_count))
		return -ENOMEM;
	sample.labels = c->labels;
	sample.label_count = c->label_count;
	sample.label_marks = c->label_marks;
	sample.groups = c->group_frames;
	sample.origin = origin_of(c, row, e);
	hold_objects(c, e, &sample);
	return sample.view_count ? sinks__sample(&c->sinks, &sample) : 0;
}

static void count_received(struct received *to, const struct sample_event *e)
{
	if (e->truncated)
		to->truncated[e->truncated]++;
	else
		to->whole++;
}

void resolve__event(struct resolver *c, const void *data, size_t size)
{
	struct received *received;
	enum resolve_turn turn;
	uint32_t row;
	struct vm *vm;
	const struct sample_event *e = check_event(c, data, size, &vm, &row);

	if (!e) {
		count_lost(c, PROCESS_NONE, malformed_source(data, size), LOSS_MALFORMED);
		return;
	}
	turn = c->turn ? c->turn(c->context, vm, e, size) : TURN_NOW;
	if (turn == TURN_NEVER)
		count_lost(c, row, e->source, LOSS_TOO_MUCH);
	if (turn != TURN_NOW)
		return;
	if (!vm->confirmed && confirm(vm)) {
		count_lost(c, row, e->source, LOSS_NOT_READ);
		return;
	}
	if (e->source == SOURCE_GC ? tell_pause(c, vm, row, e) :
	    tell_sample(c, vm, row, e, (const struct sample_frame *)(e + 1))) {
		count_lost(c, row, e->source, LOSS_NO_MEMORY);
		return;
	}
	if (e->gc_phase && e->source == SOURCE_CPU)
		c->gc_samples++;
	count_received(&c->received[e->source], e);
	received = received_of(c, row, e->source);
	if (received)
		count_received(received, e);
}
