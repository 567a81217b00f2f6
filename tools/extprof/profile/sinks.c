/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/sink.h"

#include <errno.h>
#include <string.h>

#include "profile/gc_pauses.h"
#include "profile/tree.h"

int sinks__add(struct sinks *s, struct sink *sink)
{
	if (s->count == SINKS_MAX)
		return -ENOSPC;
	s->list[s->count++] = sink;
	return 0;
}

/* Have all sinks told, which have not failed.  `what` and its arguments as in sink_ops. */
#define TELL(s, i, what, ...) \
	do { \
		struct sink *k_ = (s)->list[i]; \
		if (!k_->err && k_->ops->what) \
			k_->err = k_->ops->what(k_, ##__VA_ARGS__); \
	} while (0)
#define TELL_ALL(s, what, ...) \
	for (uint32_t i_ = 0; i_ < (s)->count; i_++) \
		TELL(s, i_, what, ##__VA_ARGS__)

/* The first one goes on: what it could not take is counted as lost. */
static int first_says(struct sinks *s)
{
	int err = s->count ? s->list[0]->err : 0;

	if (err)
		s->list[0]->err = 0;
	return err;
}

int sinks__sample(struct sinks *s, const struct sink_sample *sample)
{
	int err;

	if (!s->count)
		return 0;
	TELL(s, 0, sample, sample);
	err = first_says(s);
	for (uint32_t i = 1; i < s->count && !err; i++)
		TELL(s, i, sample, sample);
	return err;
}

int sinks__pause(struct sinks *s, const struct sink_pause *pause)
{
	bool first = true;

	for (uint32_t i = 0; i < s->count; i++) {
		struct sink *sink = s->list[i];
		int err;

		TELL(s, i, pause, pause);
		if (!sink->ops->pause)
			continue;
		/* The first sink that takes pauses is that of the report: what it could not take is lost, and it goes on. */
		err = first ? sink->err : 0;
		first = false;
		if (err) {
			sink->err = 0;
			return err;
		}
	}
	return 0;
}

void sinks__loss(struct sinks *s, const struct sink_loss *loss)
{
	TELL_ALL(s, loss, loss);
}

void sinks__process(struct sinks *s, uint32_t row, const struct process_row *process)
{
	TELL_ALL(s, process, row, process);
}

void sinks__frames(struct sinks *s, const struct frame_table *t)
{
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t j = 0; j < t->count && s->list[i]->ops->frame && !s->list[i]->err; j++)
			TELL(s, i, frame, j, &t->list[j]);
}

void sinks__restart(struct sinks *s)
{
	TELL_ALL(s, restart);
}

/* -- the tree -------------------------------------------------------------------------------- */

static int tree_sink__sample(struct sink *sink, const struct sink_sample *sample)
{
	struct tree_sink *s = (struct tree_sink *)sink;

	for (uint32_t i = 0; i < sample->view_count; i++) {
		const struct sink_view *v = &sample->views[i];
		uint32_t n = 0;
		int err;

		if (v->mode_frame)
			s->stack[n++] = v->mode_frame;
		memcpy(s->stack + n, sample->frames, sample->groups * sizeof(*s->stack));
		n += sample->groups;
		if (v->labelled_frame)
			s->stack[n++] = v->labelled_frame;
		memcpy(s->stack + n, sample->frames + sample->groups, (sample->count - sample->groups) * sizeof(*s->stack));
		n += sample->count - sample->groups;
		memcpy(s->stack + n, v->below, v->below_count * sizeof(*s->stack));
		n += v->below_count;
		err = tree__add(s->tree, s->stack, n, &v->weight);
		if (err)
			return err;
	}
	return 0;
}

void tree_sink__init(struct tree_sink *s, struct tree *tree)
{
	static const struct sink_ops ops = { .sample = tree_sink__sample };

	s->sink = (struct sink){ .ops = &ops };
	s->tree = tree;
}

/* -- pauses ---------------------------------------------------------------------------------- */

static int pause_sink__pause(struct sink *sink, const struct sink_pause *pause)
{
	struct pause_sink *s = (struct pause_sink *)sink;

	return gc_pauses__add(s->pauses, pause->event, pause->origin.thread_frame);
}

static int pause_sink__frame(struct sink *sink, uint32_t number, const struct frame *frame)
{
	struct pause_sink *s = (struct pause_sink *)sink;
	struct text name = { 0 };
	int err;

	if (frame->kind != FRAME_THREAD)
		return 0;
	frame__add_text(frame, &name);
	err = name.failed ? -ENOMEM : gc_pauses__set_name(s->pauses, number, text__string(&name));
	text__free(&name);
	return err;
}

void pause_sink__init(struct pause_sink *s, struct gc_pauses *pauses)
{
	static const struct sink_ops ops = { .pause = pause_sink__pause, .frame = pause_sink__frame };

	s->sink = (struct sink){ .ops = &ops };
	s->pauses = pauses;
}
