/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "base/strings.h"
#include "library/error.h"
#include "library/report.h"
#include "profile/sink.h"
#include "source/mode.h"

/* Names change: threads are named, and code that could not be read is.  They are asked for again so often, ns. */
#define NAMES_INTERVAL 1000000000ull

/* A frame as it was shown last. */
struct shown {
	struct extprof_frame frame;
	uint64_t at;		/* CLOCK_MONOTONIC, ns; 0: it was not shown so far */
	bool changes;		/* its name can be another one later */
};

struct samples {
	struct sink sink;
	struct engine *engine;
	extprof_sample_fn each;
	void *context;
	struct shown *list;	/* by number */
	uint32_t count;
	size_t room;
	struct shown no_room;	/* of FRAME_NO_ROOM */
	struct strings texts;	/* that were composed */
	bool refused;		/* the function failed, not this */
	const struct extprof_frame *stack[SINK_FRAMES_MAX + SINK_BELOW_MAX], *labels[SINK_LABELS_MAX];
};

static struct shown *shown_of(struct samples *s, uint32_t number)
{
	return number == FRAME_NO_ROOM ? &s->no_room : &s->list[number];
}

static int reserve(struct samples *s, uint32_t number)
{
	if (number == FRAME_NO_ROOM || number < s->count)
		return 0;
	if (array__reserve(&s->list, s->count, number + 1 - s->count, &s->room, FRAMES_MAX + FRAMES_NO_CODE_MAX + 1,
			   sizeof(*s->list)))
		return -ENOMEM;
	memset(s->list + s->count, 0, (number + 1 - s->count) * sizeof(*s->list));
	s->count = number + 1;
	return 0;
}

/* Have the frame ready.  `now`: CLOCK_MONOTONIC, ns. */
static int show(struct samples *s, uint32_t number, const struct sink_origin *origin, uint64_t now)
{
	const struct frame *f;
	struct shown *shown;

	if (reserve(s, number))
		return -ENOMEM;
	shown = shown_of(s, number);
	if (shown->at && (!shown->changes || now < shown->at + NAMES_INTERVAL))
		return 0;
	if (engine__name_frame(s->engine, number, origin))
		return -ENOMEM;
	f = engine__frame(s->engine, number);
	shown->at = now;
	shown->changes = f->missing || f->kind == FRAME_THREAD || f->kind == FRAME_PROCESS;
	return frame__show(&shown->frame, f, &s->texts);
}

static int show_all(struct samples *s, const uint32_t *numbers, uint32_t count, const struct sink_origin *origin,
		    uint64_t now)
{
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		err = show(s, numbers[i], origin, now);
	return err;
}

static int show_sample(struct samples *s, const struct sink_sample *sample)
{
	uint64_t now = deadline__now();
	int err = show_all(s, sample->frames, sample->count, &sample->origin, now);

	if (!err)
		err = show_all(s, sample->labels, sample->label_count, &sample->origin, now);
	for (uint32_t i = 0; i < sample->view_count && !err; i++)
		err = show_all(s, sample->views[i].below, sample->views[i].below_count, &sample->origin, now);
	return err;
}

/* Where their frames are now: they move while others are made. */
static size_t add(struct samples *s, const struct extprof_frame **to, size_t n, const uint32_t *numbers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		to[n + i] = &shown_of(s, numbers[i])->frame;
	return n + count;
}

static const struct extprof_frame *group_of(struct samples *s, const struct sink_sample *sample, uint8_t kind)
{
	for (uint32_t i = 0; i < sample->groups; i++)
		if (shown_of(s, sample->frames[i])->frame.kind == kind)
			return &shown_of(s, sample->frames[i])->frame;
	return NULL;
}

static int tell_view(struct samples *s, const struct sink_sample *sample, const struct sink_view *v,
		     struct extprof_sample *told)
{
	static const char *const units[] = { [UNIT_COUNT] = "count", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes" };
	const struct mode *mode = engine__mode(s->engine, v->mode);
	struct extprof_stack stack = { .frames = s->stack, .value = v->weight.value };
	int err;

	stack.count = add(s, s->stack, 0, sample->frames + sample->groups, sample->count - sample->groups);
	stack.count = add(s, s->stack, stack.count, v->below, v->below_count);
	told->mode = mode->name;
	told->unit = units[mode->value.unit];
	told->count = v->weight.count;
	told->stack = &stack;
	err = s->each(s->context, told);
	s->refused = err < 0;
	return err < 0 ? err : 0;
}

static int on_sample(struct sink *sink, const struct sink_sample *sample)
{
	struct samples *s = (struct samples *)sink;
	const struct process_row *row = engine__process_row(s->engine, sample->origin.process);
	struct extprof_sample told = {
		.time = sample->time, .truncated = sample->truncated, .labels = s->labels, .pid = row ? row->pid : 0,
		.state = sample->source == SOURCE_SCHED ? (int)sample->state : EXTPROF_STATE_RUNNING,
	};
	char ids[TRACE_PARTS][TRACE_TEXT_SIZE];
	int err = show_sample(s, sample);

	if (err)
		return err;
	if (sample->context && trace__text(sample->context, TRACE_ID, ids[TRACE_ID]))
		told.trace_id = ids[TRACE_ID];
	if (sample->context && trace__text(sample->context, TRACE_SPAN, ids[TRACE_SPAN]))
		told.span_id = ids[TRACE_SPAN];
	told.process = group_of(s, sample, FRAME_PROCESS);
	told.thread = group_of(s, sample, FRAME_THREAD);
	told.tid = told.thread ? told.thread->tid : 0;
	told.label_count = add(s, s->labels, 0, sample->labels, sample->label_count);
	for (uint32_t i = 0; i < sample->view_count && !err; i++)
		err = tell_view(s, sample, &sample->views[i], &told);
	return err;
}

static int on_frame(struct sink *sink, uint32_t number, const struct frame *frame)
{
	struct samples *s = (struct samples *)sink;

	(void)frame;
	if (number < s->count)
		s->list[number].at = 0;
	return 0;
}

/* Numbers and texts begin anew. */
static int on_restart(struct sink *sink)
{
	struct samples *s = (struct samples *)sink;

	s->count = 0;
	s->no_room.at = 0;
	strings__free(&s->texts);
	return 0;
}

int samples__create(struct samples **samples, struct engine *e, extprof_sample_fn each, void *context, struct diag *d)
{
	static const struct sink_ops ops = { .sample = on_sample, .frame = on_frame, .restart = on_restart };
	struct samples *s = calloc(1, sizeof(*s));
	int err;

	*samples = NULL;
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->sink.ops = &ops;
	s->engine = e;
	s->each = each;
	s->context = context;
	err = engine__add_sink(e, &s->sink, d);
	if (err)
		free(s);
	else
		*samples = s;
	return err;
}

void samples__free(struct samples *s)
{
	if (!s)
		return;
	strings__free(&s->texts);
	free(s->list);
	free(s);
}

int samples__status(const struct samples *s, struct extprof_error *error)
{
	if (!s || !s->sink.err)
		return 0;
	if (!s->refused)
		return error__set(error, DIAG_INTERNAL, -s->sink.err, "out of memory for the samples that are told");
	return error__set(error, DIAG_OUTPUT, -s->sink.err, "the function for samples takes no more: %s", strerror(-s->sink.err));
}
