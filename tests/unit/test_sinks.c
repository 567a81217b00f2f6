/* SPDX-License-Identifier: BSD-2-Clause */
/* A sink that lists what it is told: the events of an engine, and what the others get if one fails. */
#include "engine_fixture.h"

#include <stdio.h>
#include <string.h>

#include "profile/sink.h"

struct list_sink {
	struct sink sink;
	char text[4096];	/* a word for each event */
	int sample_err, pause_err, frame_err;	/* what it says of these */
};

static void tell(struct list_sink *l, const char *format, ...)
{
	size_t length = strlen(l->text);
	va_list args;

	va_start(args, format);
	vsnprintf(l->text + length, sizeof(l->text) - length, format, args);
	va_end(args);
}

static int list__process(struct sink *s, uint32_t row, const struct process_row *process)
{
	tell((struct list_sink *)s, "process%u:%d ", row, process->pid == pid);
	return 0;
}

static int list__frame(struct sink *s, uint32_t number, const struct frame *frame)
{
	struct list_sink *l = (struct list_sink *)s;

	(void)number;
	if (frame->kind == FRAME_RUBY)
		tell(l, "%s ", frame->name);
	return l->frame_err;
}

static int list__sample(struct sink *s, const struct sink_sample *sample)
{
	struct list_sink *l = (struct list_sink *)s;

	tell(l, "sample%u ", sample->view_count);
	return l->sample_err;
}

static int list__pause(struct sink *s, const struct sink_pause *pause)
{
	struct list_sink *l = (struct list_sink *)s;

	tell(l, "pause%d ", (int)pause->length);
	return l->pause_err;
}

static int list__loss(struct sink *s, const struct sink_loss *loss)
{
	tell((struct list_sink *)s, "loss%d ", (int)loss->count);
	return 0;
}

static int list__restart(struct sink *s)
{
	tell((struct list_sink *)s, "restart ");
	return 0;
}

static const struct sink_ops list_ops = {
	.process = list__process, .frame = list__frame, .sample = list__sample, .pause = list__pause,
	.loss = list__loss, .restart = list__restart,
};
/* It takes samples alone. */
static const struct sink_ops sample_ops = { .sample = list__sample };

static struct list_sink one, two;
static struct sinks sinks;

static void set_up_two(const struct sink_ops *first)
{
	one = (struct list_sink){ .sink = { .ops = first } };
	two = (struct list_sink){ .sink = { .ops = &list_ops } };
	sinks = (struct sinks){ 0 };
	CHECK_INT(sinks__add(&sinks, &one.sink), 0);
	CHECK_INT(sinks__add(&sinks, &two.sink), 0);
}

static const struct sink_sample sample = { .view_count = 2 };
static const struct sink_pause pause_of_ten = { .length = 10 };
static const struct sink_loss loss = { .count = 3 };

TEST(sinks_are_told_in_order)
{
	set_up_two(&list_ops);
	CHECK_INT(sinks__sample(&sinks, &sample), 0);
	CHECK_INT(sinks__pause(&sinks, &pause_of_ten), 0);
	sinks__loss(&sinks, &loss);
	sinks__restart(&sinks);
	CHECK_STRING(one.text, "sample2 pause10 loss3 restart ");
	CHECK_STRING(two.text, one.text);
	while (sinks.count < SINKS_MAX)
		CHECK_INT(sinks__add(&sinks, &one.sink), 0);
	CHECK_INT(sinks__add(&sinks, &one.sink), -ENOSPC);
}

TEST(sinks_lose_for_all_what_the_first_cannot_take)
{
	set_up_two(&list_ops);
	one.sample_err = -ENOMEM;
	CHECK_INT(sinks__sample(&sinks, &sample), -ENOMEM);
	one.sample_err = 0;
	one.pause_err = -ENOMEM;
	CHECK_INT(sinks__pause(&sinks, &pause_of_ten), -ENOMEM);
	one.pause_err = 0;
	/* It goes on. */
	CHECK_INT(sinks__sample(&sinks, &sample), 0);
	CHECK_STRING(one.text, "sample2 pause10 sample2 ");
	CHECK_STRING(two.text, "sample2 ");

	/* The first one that takes pauses is the second. */
	set_up_two(&sample_ops);
	two.pause_err = -ENOMEM;
	CHECK_INT(sinks__pause(&sinks, &pause_of_ten), -ENOMEM);
	CHECK_INT(two.sink.err, 0);
}

TEST(sinks_ask_another_one_that_fails_no_more)
{
	set_up_two(&list_ops);
	two.sample_err = -EIO;
	CHECK_INT(sinks__sample(&sinks, &sample), 0);
	CHECK_INT(two.sink.err, -EIO);
	two.sample_err = 0;
	CHECK_INT(sinks__sample(&sinks, &sample), 0);
	CHECK_STRING(one.text, "sample2 sample2 ");
	CHECK_STRING(two.text, "sample2 ");
}

/* What an engine tells: samples as they come, and names when a report or a recording needs them. */
TEST(sinks_have_the_events_of_an_engine)
{
	struct process *p;

	set_up(false);
	one = (struct list_sink){ .sink = { .ops = &list_ops } };
	CHECK_INT(engine__add_sink(e, &one.sink, &diag), 0);
	p = first();
	CHECK(p && attach(p, 7));
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	fake_session__sample(SOURCE_CPU, p->number, 7, method);
	/* This one is of a VM that nobody knows. */
	fake_session__sample(SOURCE_CPU, p->number, 99, method);
	CHECK_INT(engine__step(e, &diag), 0);
	CHECK_STRING(one.text, "sample1 sample1 loss1 ");
	one.text[0] = '\0';
	CHECK_INT(engine__name_frames(e), 0);
	CHECK_STRING(one.text, "process0:1 <main> ");
	tear_down();
}
