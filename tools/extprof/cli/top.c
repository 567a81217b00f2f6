/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof top */
#include "cli/top.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/run.h"
#include "cli/top_at.h"
#include "cli/top_show.h"
#include "cli/words.h"

struct top {
	struct run run;
	struct top_options options;
	struct top_show show;		/* without a screen: --batch */
	uint64_t taken;			/* windows */
	bool hinted;			/* that there are children */
};

/* -- what is shown ---------------------------------------------------------------------------------- */

static int show(struct top *t, struct extprof_error *e)
{
	if (!t->show.screen)
		return top_show__print(&t->show, e);
	top_show__draw(&t->show);
	return 0;
}

/* -- windows ------------------------------------------------------------------------------------------ */

/* Nothing is known before there is a ruby. */
static bool is_waiting(const struct top *t)
{
	struct extprof_progress p = { .size = sizeof(p) };

	return extprof_recording_progress(t->run.recording, &p) || p.waiting;
}

static void note_time(struct top *t)
{
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(t->show.clock, sizeof(t->show.clock), "%H:%M:%S", &tm);
}

/* In the head of each window, or once. */
static void tell_of_children(struct top *t)
{
	char hint[sizeof(t->show.message)];

	if ((!t->show.screen && t->hinted) || !run__hint_at_children(&t->run, hint, sizeof(hint)))
		return;
	if (t->show.screen)
		snprintf(t->show.message, sizeof(t->show.message), "%s", hint);
	else
		fprintf(stderr, "extprof: %s\n", hint);
	t->hinted = true;
}

static int take_window(struct top *t, struct extprof_error *e)
{
	int err;

	note_time(t);
	t->run.next = clock__now() + t->show.state.interval;
	if (is_waiting(t)) {
		snprintf(t->show.message, sizeof(t->show.message), "waiting for the ruby to start");
		return 0;
	}
	t->show.message[0] = '\0';
	err = extprof_recording_snapshot(t->run.recording, e);
	if (!err)
		err = top_windows__take(t->show.windows, t->run.recording, e);
	if (!err)
		tell_of_children(t);
	if (!err)
		err = extprof_recording_restart(t->run.recording, e);
	/* Nothing is sampled until here. */
	if (!err)
		top_windows__read_memory(t->show.windows);
	t->taken += !err;
	return err;
}

/* The recording is over: its end is a window, too. */
static int finish(struct top *t, struct extprof_error *e)
{
	struct extprof_report *report;
	int err;

	note_time(t);
	err = extprof_recording_finish(t->run.recording, e);
	if (!err)
		err = top_windows__take(t->show.windows, t->run.recording, e);
	if (!err)
		top_windows__read_memory(t->show.windows);
	if (err || extprof_recording_report(t->run.recording, &report, NULL))
		return err;
	extprof_clean(t->show.message, sizeof(t->show.message), extprof_report_facts(report)->ended);
	extprof_report_destroy(report);
	return 0;
}

/* -- keys --------------------------------------------------------------------------------------------------- */

static int reset(struct top *t, struct extprof_error *e)
{
	int err = t->run.over ? 0 : take_window(t, e);

	if (!err)
		top_windows__reset(t->show.windows);
	return err;
}

/* Whether there was a key.  -errno with *e filled. */
static int on_key(struct top *t, struct extprof_error *e)
{
	unsigned int height = top_screen__height(t->show.screen);
	const struct top_row **rows;
	uint32_t key, count;
	int err = top_screen__key(t->show.screen, &key);

	/* The terminal is gone: end as if it had sent SIGHUP. */
	if (err)
		t->run.end = true;
	if (err || !key)
		return 0;
	if (top_show__choose(&t->show, &rows, &count))
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	free(rows);
	switch (top_state__key(&t->show.state, key, height > TOP_HEAD_LINES ? height - TOP_HEAD_LINES : 1, count)) {
	case TOP_NOTHING:
		return 1;
	case TOP_DRAW:
		break;
	case TOP_BACK:
	case TOP_FORWARD:
		return 1;
	case TOP_QUIT:
		t->run.end = true;
		return 0;
	case TOP_RESET:
		err = reset(t, e);
		break;
	case TOP_RESUME:
		err = t->run.over ? 0 : take_window(t, e);
		break;
	case TOP_INTERVAL:
		t->run.next = clock__now() + t->show.state.interval;
		break;
	}
	if (!err)
		top_show__draw(&t->show);
	return err ? err : 1;
}

static int on_keys(struct top *t, struct extprof_error *e)
{
	int err = 1;

	while (err > 0 && !t->run.end)
		err = on_key(t, e);
	return err < 0 ? err : 0;
}

/* -- the loop ----------------------------------------------------------------------------------------------- */

/* Take and show the window that is over. */
static int on_time(struct run *run, struct extprof_error *e)
{
	struct top *t = run->context;
	int err;

	/* The window goes on: look again after an interval, and not at once. */
	if (t->show.state.paused) {
		run->next = clock__now() + t->show.state.interval;
		return 0;
	}
	err = take_window(t, e);
	if (!err && (t->show.screen || !t->show.message[0]))
		err = show(t, e);
	run->end |= t->options.count && t->taken >= t->options.count;
	return err;
}

static int on_end(struct run *run, struct extprof_error *e)
{
	struct top *t = run->context;
	int err = finish(t, e);

	if (!err)
		err = show(t, e);
	/* On a screen it stays to be looked at, unless its end was asked for. */
	run->end |= !t->show.screen || run->options->recording.duration;
	return err;
}

static int stepped(struct run *run, struct extprof_error *e)
{
	struct top *t = run->context;
	int err = t->show.screen ? on_keys(t, e) : 0;

	if (!err && t->show.screen && top_screen__resized(t->show.screen))
		top_show__draw(&t->show);
	return err;
}

/* -- beginning and end ---------------------------------------------------------------------------------------- */

/* Letters are UTF-8, as in all outputs of extprof, whatever the user's locale is. */
static void set_locale(void)
{
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8");
}

static int open_recording(struct top *t, struct extprof_error *e)
{
	int err = extprof_recording_create(&t->run.recording, &t->options.record.recording, e);

	if (err)
		return err;
	signals__block(&t->run.signals);
	return extprof_recording_open(t->run.recording, e);
}

/* Choose the modes that are shown, and those that the head needs besides. */
static int choose_modes(struct top *t, const char *shown, struct extprof_error *e)
{
	bool has_cpu = words__has(shown, "cpu");

	top_windows__free(t->show.windows);
	t->show.windows = top_windows__new(shown, has_cpu ? NULL : "cpu", t->options.record.recording.states);
	if (!t->show.windows)
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	t->options.record.recording.modes = top_windows__modes(t->show.windows);
	return 0;
}

static int check(struct run *run, struct extprof_error *e)
{
	const struct top *t = run->context;
	int err;

	if (t->options.batch || isatty(STDOUT_FILENO))
		return 0;
	err = message__set(e, EXTPROF_OUTPUT, ENOTTY, "standard output is no terminal");
	snprintf(e->hint, sizeof(e->hint), "print the intervals as text: extprof top --batch");
	return err;
}

static int create(struct run *run, struct extprof_error *e)
{
	struct extprof_recording_options *r = &run->options->recording;
	struct top *t = run->context;
	int err;

	r->groups = "process,thread";
	r->lines = true;
	/* Else calm windows would show what others do not. */
	r->idle_apart = true;
	err = choose_modes(t, r->modes, e);
	if (!err)
		err = open_recording(t, e);
	/* Waits cannot be measured everywhere, and nobody has asked for them. */
	if (err && !t->options.modes_chosen && e->code == EXTPROF_USAGE) {
		extprof_recording_destroy(run->recording);
		run->recording = NULL;
		err = choose_modes(t, "cpu", e);
		if (!err)
			err = open_recording(t, e);
	}
	return err;
}

static int prepare(struct run *run, struct extprof_error *e)
{
	struct top *t = run->context;
	int err;

	if (t->options.batch)
		return 0;
	err = top_screen__open(&t->show.screen, e);
	return err ? err : run__wait_for(run, top_screen__fd(t->show.screen), e);
}

static const struct run_ops screen_ops = {
	.check = check, .create = create, .prepare = prepare, .stepped = stepped, .tick = on_time, .ended = on_end,
	.takes_terminal = true, .ends_command = true,
};
static const struct run_ops batch_ops = {
	.create = create, .stepped = stepped, .tick = on_time, .ended = on_end, .ends_command = true,
};

/* The recording has begun. */
static int loop(struct top *t, struct extprof_error *e)
{
	/* Text has all modes, and no keys. */
	top_state__init(&t->show.state, t->options.interval, t->show.screen ? top_windows__count(t->show.windows) : 1);
	t->show.rows = t->options.rows;
	snprintf(t->show.state.filter, sizeof(t->show.state.filter), "%s", t->options.choice.filter);
	t->show.state.choice = t->options.choice;
	top_windows__begin(t->show.windows);
	t->run.next = clock__now() + t->show.state.interval;
	if (t->show.screen)
		top_show__draw(&t->show);
	return run__go(&t->run, e);
}

static int run(int argc, char **argv, bool implied)
{
	struct top t = { .taken = 0 };
	struct extprof_error e = { .size = sizeof(e) };
	int status = STATUS_OK, err;

	(void)implied;
	set_locale();
	err = top_options__parse(&t.options, argc, argv, 0);
	if (!err && t.options.record.values[OPTION_AT].given) {
		status = top_at__run(&t.options);
		top_options__free(&t.options);
		return status;
	}
	run__init(&t.run, &t.options.record, t.options.batch ? &batch_ops : &screen_ops, &t);
	if (err) {
		run__free(&t.run);
		return err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	}
	t.run.quiet = !t.options.batch;
	err = run__begin(&t.run, &e);
	if (!err)
		err = loop(&t, &e);
	/* Before anything is printed. */
	top_screen__close(t.show.screen);
	if (err)
		status = message__fail(&e);
	if (err > 0)
		status = STATUS_NOTHING;
	status = run__command_status(&t.run, status);
	top_windows__free(t.show.windows);
	run__free(&t.run);
	return status;
}

const struct command command_top = {
	.name = "top",
	.summary = "show live what programs do, as top does",
	.line = &command_line_top,
	.run = run,
	.power = POWER_RUN,
};
