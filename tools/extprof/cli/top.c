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
#include "cli/top_screen.h"
#include "cli/words.h"

struct top {
	struct run run;
	struct top_options options;
	struct top_windows *windows;
	struct top_screen *screen;	/* NULL: --batch */
	struct top_state state;
	uint64_t taken;			/* windows */
	bool hinted;			/* that there are children */
	char message[160];		/* for the head; "": none */
	char clock[16];			/* when the last window ended */
};

/* -- what is shown ---------------------------------------------------------------------------------- */

static void head_of(const struct top *t, struct top_head *h)
{
	top_windows__head(t->windows, t->state.mode, t->state.choice.all, h);
	h->message = t->message[0] ? t->message : NULL;
	h->clock = t->clock;
}

static int choose(struct top *t, const struct top_row ***rows, uint32_t *count)
{
	t->state.choice.filter = t->state.filter;
	return top_model__choose(top_windows__model(t->windows, t->state.mode), &t->state.choice, rows, count);
}

/* The column where the texts of the help begin. */
#define HELP_INDENT 12

static void draw_help(struct top *t, unsigned int width, unsigned int height)
{
	unsigned int y = 2;
	char part[128];
	const char *line;

	top_screen__line(t->screen, 0, "extprof top - keys", TOP_BOLD);
	for (unsigned int i = 0; (line = top_view__help(i)); i++) {
		y += !*line;
		for (int indent = 0; *line && y < height; indent = HELP_INDENT) {
			size_t room = width - (size_t)indent, n = strlen(line);

			/* Between two words, if it has several lines. */
			if (n > room)
				for (n = room; n > 0 && line[n] != ' '; n--)
					;
			if (!n)
				n = room;
			snprintf(part, sizeof(part), "%*s%.*s", indent, "", (int)n, line);
			top_screen__line(t->screen, y++, part, TOP_PLAIN);
			line += n;
			line += strspn(line, " ");
		}
	}
}

static void draw_rows(struct top *t, unsigned int width, unsigned int height)
{
	uint64_t sum = top_windows__sum(t->windows, t->state.mode, t->state.choice.all);
	struct top_line head[TOP_HEAD_LINES], line = { 0 };
	const struct top_row **rows = NULL;
	struct top_more more;
	struct top_head h;
	uint32_t count = 0;

	head_of(t, &h);
	top_view__head(&t->state, &h, width, head);
	for (unsigned int i = 0; i < TOP_HEAD_LINES; i++)
		top_screen__line(t->screen, i, head[i].text, i + 1 == TOP_HEAD_LINES ? TOP_TITLE : i ? TOP_PLAIN : TOP_BOLD);
	if (choose(t, &rows, &count))
		return;
	top_state__clamp(&t->state, height - TOP_HEAD_LINES, count);
	for (unsigned int i = 0; i + TOP_HEAD_LINES < height && t->state.first + i < count; i++) {
		top_windows__more(t->windows, rows[t->state.first + i], t->state.choice.all, &more);
		top_view__row(&t->state, &h, rows[t->state.first + i], &more, sum, width, &line);
		top_screen__line(t->screen, TOP_HEAD_LINES + i, line.text, TOP_PLAIN);
	}
	if (!count)
		top_screen__line(t->screen, TOP_HEAD_LINES + 1, !h.window ? "  measuring" : *t->state.filter ?
				 "  nothing has the text of the filter (Esc: all)" : "  nothing in this interval", TOP_DIM);
	free(rows);
}

static void draw(struct top *t)
{
	unsigned int width = top_screen__width(t->screen), height = top_screen__height(t->screen);
	char text[64];

	top_screen__begin(t->screen);
	if (width < TOP_WIDTH_MIN || height < TOP_HEIGHT_MIN) {
		snprintf(text, sizeof(text), "at least %ux%u, q: quit", TOP_WIDTH_MIN, TOP_HEIGHT_MIN);
		top_screen__line(t->screen, 0, text, TOP_PLAIN);
	} else if (t->state.help) {
		draw_help(t, width, height);
	} else {
		draw_rows(t, width, height);
	}
	top_screen__show(t->screen);
}

static unsigned int batch_width(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) ? 0 : w.ws_col;
}

/* One window as text. */
static int print(struct top *t, struct extprof_error *e)
{
	uint64_t sum;
	struct top_line head[TOP_HEAD_LINES], line = { 0 };
	unsigned int width = batch_width(), top = t->options.rows;
	const struct top_row **rows;
	struct top_more more;
	struct top_head h;
	uint32_t count;

	for (uint32_t mode = 0; mode < top_windows__count(t->windows); mode++) {
		t->state.mode = mode;
		sum = top_windows__sum(t->windows, mode, t->state.choice.all);
		head_of(t, &h);
		top_view__head(&t->state, &h, width, head);
		for (unsigned int i = 0; i < TOP_HEAD_LINES; i++)
			puts(head[i].text);
		if (choose(t, &rows, &count))
			return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
		for (uint32_t i = 0; i < count && i < top; i++) {
			top_windows__more(t->windows, rows[i], t->state.choice.all, &more);
			top_view__row(&t->state, &h, rows[i], &more, sum, width, &line);
			puts(line.text);
		}
		free(rows);
		puts("");
	}
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return message__set(e, EXTPROF_OUTPUT, errno, "cannot write to standard output: %s", strerror(errno));
}

static int show(struct top *t, struct extprof_error *e)
{
	if (!t->screen)
		return print(t, e);
	draw(t);
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
		strftime(t->clock, sizeof(t->clock), "%H:%M:%S", &tm);
}

/* In the head of each window, or once. */
static void tell_of_children(struct top *t)
{
	char hint[sizeof(t->message)];

	if ((!t->screen && t->hinted) || !run__hint_at_children(&t->run, hint, sizeof(hint)))
		return;
	if (t->screen)
		snprintf(t->message, sizeof(t->message), "%s", hint);
	else
		fprintf(stderr, "extprof: %s\n", hint);
	t->hinted = true;
}

static int take_window(struct top *t, struct extprof_error *e)
{
	int err;

	note_time(t);
	t->run.next = clock__now() + t->state.interval;
	if (is_waiting(t)) {
		snprintf(t->message, sizeof(t->message), "waiting for the ruby to start");
		return 0;
	}
	t->message[0] = '\0';
	err = extprof_recording_snapshot(t->run.recording, e);
	if (!err)
		err = top_windows__take(t->windows, t->run.recording, e);
	if (!err)
		tell_of_children(t);
	if (!err)
		err = extprof_recording_restart(t->run.recording, e);
	/* Nothing is sampled until here. */
	if (!err)
		top_windows__read_memory(t->windows);
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
		err = top_windows__take(t->windows, t->run.recording, e);
	if (!err)
		top_windows__read_memory(t->windows);
	if (err || extprof_recording_report(t->run.recording, &report, NULL))
		return err;
	extprof_clean(t->message, sizeof(t->message), extprof_report_facts(report)->ended);
	extprof_report_destroy(report);
	return 0;
}

/* -- keys --------------------------------------------------------------------------------------------------- */

static int reset(struct top *t, struct extprof_error *e)
{
	int err = t->run.over ? 0 : take_window(t, e);

	if (!err)
		top_windows__reset(t->windows);
	return err;
}

/* Whether there was a key.  -errno with *e filled. */
static int on_key(struct top *t, struct extprof_error *e)
{
	unsigned int height = top_screen__height(t->screen);
	const struct top_row **rows;
	uint32_t key, count;
	int err = top_screen__key(t->screen, &key);

	/* The terminal is gone: end as if it had sent SIGHUP. */
	if (err)
		t->run.end = true;
	if (err || !key)
		return 0;
	if (choose(t, &rows, &count))
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	free(rows);
	switch (top_state__key(&t->state, key, height > TOP_HEAD_LINES ? height - TOP_HEAD_LINES : 1, count)) {
	case TOP_NOTHING:
		return 1;
	case TOP_DRAW:
		break;
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
		t->run.next = clock__now() + t->state.interval;
		break;
	}
	if (!err)
		draw(t);
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
	if (t->state.paused) {
		run->next = clock__now() + t->state.interval;
		return 0;
	}
	err = take_window(t, e);
	if (!err && (t->screen || !t->message[0]))
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
	run->end |= !t->screen || run->options->recording.duration;
	return err;
}

static int stepped(struct run *run, struct extprof_error *e)
{
	struct top *t = run->context;
	int err = t->screen ? on_keys(t, e) : 0;

	if (!err && t->screen && top_screen__resized(t->screen))
		draw(t);
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

	top_windows__free(t->windows);
	t->windows = top_windows__new(shown, has_cpu ? NULL : "cpu", t->options.record.recording.states);
	if (!t->windows)
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	t->options.record.recording.modes = top_windows__modes(t->windows);
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
	err = top_screen__open(&t->screen, e);
	return err ? err : run__wait_for(run, top_screen__fd(t->screen), e);
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
	top_state__init(&t->state, t->options.interval, t->screen ? top_windows__count(t->windows) : 1);
	snprintf(t->state.filter, sizeof(t->state.filter), "%s", t->options.choice.filter);
	t->state.choice = t->options.choice;
	top_windows__begin(t->windows);
	t->run.next = clock__now() + t->state.interval;
	if (t->screen)
		draw(t);
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
	top_screen__close(t.screen);
	if (err)
		status = message__fail(&e);
	if (err > 0)
		status = STATUS_NOTHING;
	status = run__command_status(&t.run, status);
	top_windows__free(t.windows);
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
