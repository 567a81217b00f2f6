/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof top */
#include "cli/top.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/spawn.h"
#include "cli/top_screen.h"
#include "cli/words.h"

#define MS 1000000ull
/* When nothing is recorded any more, keys and signals are looked at so often, ms. */
#define ENDED_WAIT 100

struct top {
	struct top_options options;
	struct spawn spawn;
	struct signals signals;
	struct extprof_recording *recording;
	struct top_windows *windows;
	struct top_screen *screen;	/* NULL: --batch */
	struct top_state state;
	int epoll_fd;
	uint64_t next;			/* the window ends; CLOCK_MONOTONIC, ns */
	unsigned long taken;		/* windows */
	bool began;			/* there was a window since the last reset */
	bool ended;			/* nothing is recorded any more */
	bool quit;
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

static void draw_help(struct top *t, unsigned int height)
{
	const char *line;

	top_screen__line(t->screen, 0, "extprof top - keys", TOP_BOLD);
	for (unsigned int i = 0; i + 2 < height && (line = top_view__help(i)); i++)
		top_screen__line(t->screen, i + 2, line, TOP_PLAIN);
}

static void draw_rows(struct top *t, unsigned int width, unsigned int height)
{
	uint64_t sum = top_windows__sum(t->windows, t->state.mode, t->state.choice.all);
	struct top_line head[TOP_HEAD_LINES], line = { 0 };
	const struct top_row **rows = NULL;
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
		top_view__row(&t->state, &h, rows[t->state.first + i], sum, width, &line);
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
		draw_help(t, height);
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
			top_view__row(&t->state, &h, rows[i], sum, width, &line);
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

	return extprof_recording_progress(t->recording, &p) || p.waiting;
}

static void note_time(struct top *t)
{
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(t->clock, sizeof(t->clock), "%H:%M:%S", &tm);
}

static int take_window(struct top *t, struct extprof_error *e)
{
	int err;

	note_time(t);
	t->next = clock__now() + t->state.interval;
	if (is_waiting(t)) {
		snprintf(t->message, sizeof(t->message), "waiting for the ruby to start");
		return 0;
	}
	t->message[0] = '\0';
	err = extprof_recording_snapshot(t->recording, e);
	if (!err)
		err = top_windows__take(t->windows, t->recording, e);
	if (!err)
		err = extprof_recording_restart(t->recording, e);
	t->taken += !err;
	return err;
}

/* The recording is over: its end is a window, too. */
static int finish(struct top *t, struct extprof_error *e)
{
	struct extprof_report *report;
	int err;

	t->ended = true;
	note_time(t);
	err = extprof_recording_finish(t->recording, e);
	if (!err)
		err = top_windows__take(t->windows, t->recording, e);
	if (err || extprof_recording_report(t->recording, &report, NULL))
		return err;
	extprof_clean(t->message, sizeof(t->message), extprof_report_facts(report)->ended);
	extprof_report_destroy(report);
	return 0;
}

/* -- keys and signals ------------------------------------------------------------------------------------ */

static void on_interrupt(struct top *t)
{
	struct signalfd_siginfo info;

	while (signals__next(t->signals.interrupt_fd, &info)) {
		if (t->options.record.command)
			spawn__forward(&t->spawn, &info);
		t->quit = true;
	}
}

static int reset(struct top *t, struct extprof_error *e)
{
	int err = t->ended ? 0 : take_window(t, e);

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

	/* As if it had sent SIGHUP. */
	if (err)
		t->quit = true;
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
		t->quit = true;
		return 0;
	case TOP_RESET:
		err = reset(t, e);
		break;
	case TOP_RESUME:
		err = t->ended ? 0 : take_window(t, e);
		break;
	case TOP_INTERVAL:
		t->next = clock__now() + t->state.interval;
		break;
	}
	if (!err)
		draw(t);
	return err ? err : 1;
}

static int on_keys(struct top *t, struct extprof_error *e)
{
	int err = 1;

	while (err > 0 && !t->quit)
		err = on_key(t, e);
	return err < 0 ? err : 0;
}

/* -- the loop ----------------------------------------------------------------------------------------------- */

static int wait_ms(const struct top *t)
{
	uint64_t now = clock__now(), wait;

	if (t->ended)
		return ENDED_WAIT;
	wait = extprof_recording_wait(t->recording);
	if (!t->state.paused && t->next < now + wait)
		wait = t->next > now ? t->next - now : 0;
	/* Rounded up: what is too early would be called again at once. */
	return (int)((wait + MS - 1) / MS);
}

/* Take and show the window that is over. */
static int on_time(struct top *t, struct extprof_error *e)
{
	int err;

	if (t->ended || t->state.paused || clock__now() < t->next)
		return 0;
	err = take_window(t, e);
	if (!err && (t->screen || !t->message[0]))
		err = show(t, e);
	if (t->options.count && t->taken >= t->options.count)
		t->quit = true;
	return err;
}

static int step(struct top *t, struct extprof_error *e)
{
	int done = extprof_recording_step(t->recording, e);

	if (done < 0)
		return done;
	/* With others the processes do not end with it. */
	if (!done && t->options.record.command && t->options.record.recording.all && spawn__is_over(&t->spawn)) {
		extprof_recording_set_ended(t->recording, "the command ended");
		done = 1;
	}
	if (!done)
		return 0;
	done = finish(t, e);
	if (!done)
		done = show(t, e);
	/* On a screen it stays to be looked at, unless its end was asked for. */
	if (!t->screen || t->options.record.recording.duration)
		t->quit = true;
	return done;
}

static int loop(struct top *t, struct extprof_error *e)
{
	int err = 0;

	top_windows__begin(t->windows);
	t->next = clock__now() + t->state.interval;
	if (t->screen)
		draw(t);
	while (!err && !t->quit) {
		struct epoll_event events[4];

		/* A change of the screen's size interrupts this. */
		epoll_wait(t->epoll_fd, events, 4, wait_ms(t));
		on_interrupt(t);
		if (!t->ended && !t->quit)
			err = step(t, e);
		if (!err && t->screen)
			err = on_keys(t, e);
		if (!err && !t->quit)
			err = on_time(t, e);
		if (!err && t->screen && top_screen__resized(t->screen))
			draw(t);
	}
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

/* The screen has the terminal: what COMMAND writes to it would spoil it, and it must not take the keys. */
static int prepare_command(struct top *t, struct extprof_error *e)
{
	struct options *o = &t->options.record;
	int kept[3] = { -1, -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC), err;

	for (int fd = 0; fd < 3 && null >= 0 && !t->options.batch; fd++) {
		if (!isatty(fd))
			continue;
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (kept[fd] >= 0)
			dup2(null, fd);
	}
	err = spawn__prepare(&t->spawn, o->command, options__has(o, OPTION_KEEP_ROOT), &t->signals.old_mask, e);
	for (int fd = 0; fd < 3; fd++) {
		if (kept[fd] < 0)
			continue;
		dup2(kept[fd], fd);
		close(kept[fd]);
	}
	if (null >= 0)
		close(null);
	return err;
}

static int wait_for(int epoll_fd, int fd, struct extprof_error *e)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return message__set(e, EXTPROF_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	return 0;
}

static int open_recording(struct top *t, struct extprof_error *e)
{
	int err = extprof_recording_create(&t->recording, &t->options.record.recording, e);

	if (!err)
		err = extprof_recording_open(t->recording, e);
	return err;
}

/* What is shown, and what the head needs besides. */
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

static int prepare(struct top *t, struct extprof_error *e)
{
	struct options *o = &t->options.record;
	struct extprof_recording_options *r = &o->recording;
	int err;

	if (!t->options.batch && !isatty(STDOUT_FILENO)) {
		err = message__set(e, EXTPROF_OUTPUT, ENOTTY, "standard output is no terminal");
		snprintf(e->hint, sizeof(e->hint), "print the intervals as text: extprof top --batch");
		return err;
	}
	if ((err = signals__open(&t->signals, e)) || (o->command && (err = prepare_command(t, e))))
		return err;
	if (o->command) {
		r->command = true;
		r->pids = &t->spawn.pid;
		r->pid_count = 1;
	}
	r->interrupt_fd = t->signals.interrupt_fd;
	r->groups = "process,thread";
	r->lines = true;
	err = choose_modes(t, r->modes, e);
	if (!err)
		err = open_recording(t, e);
	/* Waits cannot be measured everywhere, and nobody has asked for them. */
	if (err && !t->options.modes_chosen && e->code == EXTPROF_USAGE) {
		extprof_recording_destroy(t->recording);
		t->recording = NULL;
		err = choose_modes(t, "cpu", e);
		if (!err)
			err = open_recording(t, e);
	}
	if (err)
		return err;
	signals__block(&t->signals);
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0)
		return message__set(e, EXTPROF_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	if ((err = wait_for(t->epoll_fd, t->signals.interrupt_fd, e)) ||
	    (err = wait_for(t->epoll_fd, extprof_recording_fd(t->recording), e)))
		return err;
	if (o->command && (err = spawn__go(&t->spawn, o->command, e)))
		return err;
	err = extprof_recording_begin(t->recording, e);
	if (err || t->options.batch)
		return err;
	err = top_screen__open(&t->screen, e);
	return err ? err : wait_for(t->epoll_fd, top_screen__fd(t->screen), e);
}

/* COMMAND was started by us: it ends with us.  Its exit status, if it had ended before. */
static int end_command(struct top *t, int status)
{
	bool over = spawn__is_over(&t->spawn);

	if (!over)
		kill(t->spawn.pid, SIGTERM);
	spawn__wait(&t->spawn, t->signals.interrupt_fd);
	return over && status == STATUS_OK ? spawn__exit_status(&t->spawn) : status;
}

static int run(int argc, char **argv, bool implied)
{
	struct top t = { .epoll_fd = -1 };
	struct extprof_error e = { .size = sizeof(e) };
	int status = STATUS_OK, err;

	(void)implied;
	signals__init(&t.signals);
	spawn__init(&t.spawn);
	set_locale();
	err = top_options__parse(&t.options, argc, argv, 0);
	if (err) {
		top_options__free(&t.options);
		return err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	}
	err = prepare(&t, &e);
	if (!err) {
		/* Text has all modes, and no keys. */
		top_state__init(&t.state, t.options.interval, t.screen ? top_windows__count(t.windows) : 1);
		snprintf(t.state.filter, sizeof(t.state.filter), "%s", t.options.choice.filter);
		t.state.choice = t.options.choice;
		err = loop(&t, &e);
	}
	/* Before anything is printed. */
	top_screen__close(t.screen);
	if (err)
		status = message__fail(&e);
	if (t.options.record.command && t.spawn.pid && t.spawn.go < 0)
		status = end_command(&t, status);
	extprof_recording_destroy(t.recording);
	top_windows__free(t.windows);
	spawn__close(&t.spawn);
	signals__close(&t.signals);
	if (t.epoll_fd >= 0)
		close(t.epoll_fd);
	top_options__free(&t.options);
	return status;
}

const struct command command_top = {
	.name = "top",
	.summary = "show live what programs do, as top does",
	.line = &command_line_top,
	.run = run,
};
