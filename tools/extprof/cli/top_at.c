/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_at.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/confined.h"
#include "cli/messages.h"
#include "cli/power.h"
#include "cli/signals.h"
#include "cli/top_at_history.h"
#include "cli/top_show.h"
#include "cli/words.h"

struct top_at {
	const struct top_options *options;
	struct history history;
	struct top_show show;
	struct signals signals;
	char pid[32];			/* the filter of -p; "": none */
	uint64_t at;			/* the end of the window, ns since 1970 */
	bool end;
	/* Modes, with commas between: those that are shown, those that were so far, or are asked for. */
	char *now, *seen;
	char wanted[32];		/* the mode that is looked at, if there is one */
	uint32_t given;			/* its number, which a key changes */
	char why[128];			/* of a time of which nothing is shown: as it follows that sentence */
};

/* -- a window ------------------------------------------------------------------------------------- */

static struct recorded_span span_of(const struct top_at *t)
{
	uint64_t length = t->show.state.interval;

	return (struct recorded_span){ t->at > length ? t->at - length : 1, t->at };
}

/* Milliseconds where there are some. */
static void print_moment(char *to, size_t size, uint64_t at, bool short_form)
{
	char all[32];
	unsigned int ms = (unsigned int)(at / 1000000 % 1000);

	recorded__print_time(all, sizeof(all), at);
	snprintf(to, size, ms ? "%s.%03u" : "%s", short_form ? all + 11 : all, ms);
}

static void print_span(const struct recorded_span *span, char *to, size_t size)
{
	char from[40], until[40], day[2][32];

	recorded__print_time(day[0], sizeof(day[0]), span->since);
	recorded__print_time(day[1], sizeof(day[1]), span->until);
	print_moment(from, sizeof(from), span->since, false);
	print_moment(until, sizeof(until), span->until, !strncmp(day[0], day[1], 10));
	snprintf(to, size, "%s to %s", from, until);
}

static int fail_nothing(struct top_at *t, const struct recorded_span *span, const char *why, struct extprof_error *e)
{
	char of[96], has[400];

	snprintf(t->why, sizeof(t->why), "%s", why);
	print_span(span, of, sizeof(of));
	history__print(&t->history, span->until, has, sizeof(has));
	return message__set(e, EXTPROF_RECORDING, ENODATA, "nothing was recorded from %s%s: there is %s", of, why, has);
}

/* To what the head says. */
static void say(struct top_at *t, const char *text)
{
	size_t length = strlen(t->show.message);

	snprintf(t->show.message + length, sizeof(t->show.message) - length, "%s%s", length ? "; " : "", text);
}

static bool is_shown(const char *mode)
{
	struct extprof_mode_info info = { .size = sizeof(info) };

	return !extprof_mode_info(mode, &info) && !info.at_end;
}

/* Call `take` for each word of a list. */
static int each_word(const char *list, int (*take)(struct top_at *t, const char *word), struct top_at *t)
{
	int err = 0;

	while (list && *list && !err) {
		char word[32];
		size_t length = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s", (int)length, list);
		err = take(t, word);
		list += length + (list[length] == ',');
	}
	return err;
}

static int note_mode(struct top_at *t, const char *mode)
{
	return words__has(t->seen, mode) ? 0 : words__add(&t->seen, mode);
}

/* A mode that is asked for, or was shown, and is not there. */
static int tell_of_mode(struct top_at *t, const char *mode)
{
	char text[80];

	if (words__has(t->now, mode))
		return 0;
	snprintf(text, sizeof(text), "mode %s was not recorded then", mode);
	say(t, text);
	return 0;
}

/* Keep the mode that is looked at, also over times that have not got it. */
static void keep_mode(struct top_at *t)
{
	struct top_state *s = &t->show.state;

	s->modes = t->show.screen ? top_windows__count(t->show.windows) : 1;
	s->mode = 0;
	for (uint32_t i = 0; i < top_windows__count(t->show.windows); i++)
		if (!strcmp(top_windows__mode(t->show.windows, i), t->wanted))
			s->mode = i;
	if (!*t->wanted)
		snprintf(t->wanted, sizeof(t->wanted), "%s", top_windows__mode(t->show.windows, 0));
	t->given = s->mode;
}

static int no_modes(struct top_at *t, const struct recorded_span *span, const char *others, struct extprof_error *e)
{
	const char *chosen = t->options->record.recording.modes;
	char why[128];

	if (!t->now)
		return message__set(e, EXTPROF_USAGE, EINVAL, "mode \"%s\" was not recorded: there is %s", chosen ? chosen : "",
				    others ? others : "none that has times");
	snprintf(why, sizeof(why), "%s%s", chosen ? " in mode " : "", chosen ? chosen : "");
	return fail_nothing(t, span, why, e);
}

/* The modes that are shown, and others that the head needs: those that were recorded then. */
static int choose_modes(struct top_at *t, const struct recorded_span *span, struct extprof_report *const *reports, size_t count,
			struct extprof_error *e)
{
	const char *chosen = t->options->record.recording.modes;
	char *shown = NULL, *others = NULL;
	struct top_windows *windows;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct extprof_facts *facts = extprof_report_facts(reports[i]);

		if (is_shown(facts->mode) && facts->duration)
			err = words__add(!chosen || words__has(chosen, facts->mode) ? &shown : &others, facts->mode);
	}
	if (!err && !shown) {
		err = no_modes(t, span, others, e);
		free(others);
		return err;
	}
	if (t->show.windows && t->show.state.mode != t->given)
		snprintf(t->wanted, sizeof(t->wanted), "%s", top_windows__mode(t->show.windows, t->show.state.mode));
	windows = err ? NULL : top_windows__new(shown, others, NULL);
	free(others);
	if (!windows) {
		free(shown);
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	}
	top_windows__free(t->show.windows);
	t->show.windows = windows;
	free(t->now);
	t->now = shown;
	if (each_word(shown, note_mode, t) || each_word(t->seen, tell_of_mode, t))
		return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
	keep_mode(t);
	return 0;
}

/* Samples that came to nothing say why in their account. */
static const char *blindness(struct extprof_report *const *reports, size_t count)
{
	uint64_t taken = 0, lost = 0;

	for (size_t i = 0; i < count; i++) {
		taken += extprof_report_accounting(reports[i])->taken;
		lost += extprof_report_accounting(reports[i])->lost;
	}
	return taken && taken == lost ? ", all samples were lost" : NULL;
}

static int show_reports(struct top_at *t, const struct recorded_span *span, struct extprof_report *const *reports, size_t count,
			struct extprof_error *e)
{
	const char *why = blindness(reports, count);
	uint64_t longest = 0;
	int err;

	for (size_t i = 0; i < count; i++)
		if (extprof_report_facts(reports[i])->duration > longest)
			longest = extprof_report_facts(reports[i])->duration;
	if (!longest)
		return fail_nothing(t, span, count ? ", it was paused" : "", e);
	if (why)
		return fail_nothing(t, span, why, e);
	err = choose_modes(t, span, reports, count, e);
	if (!err)
		err = top_windows__show(t->show.windows, reports, count, e);
	return err;
}

/* The window that ends at t->at.  0 or -errno with *e. */
static int load(struct top_at *t, struct extprof_error *e)
{
	const struct extprof_recording_options *r = &t->options->record.recording;
	const struct recorded_span span = span_of(t);
	const char *const filters[] = { t->pid };
	struct extprof_recorded_options o = {
		.size = sizeof(o), .since_at = span.since, .until_at = span.until, .groups = "process,thread", .idle = r->idle,
		.app = r->app, .focus = r->focus, .hide = r->hide, .collapse = r->collapse, .filters = filters,
		.filter_count = *t->pid != '\0',
	};
	struct extprof_report *reports[EXTPROF_REPORTS_MAX];
	struct extprof_recorded *recorded = NULL;
	bool incomplete = false;
	size_t count = 0;
	int err = history__open(&t->history, &span, &recorded, &incomplete, e);

	t->show.message[0] = '\0';
	if (!err && recorded)
		err = extprof_recorded_reports(recorded, &o, reports, EXTPROF_REPORTS_MAX, &count, e);
	/* The rates of another mode may differ, and the head can do without it. */
	if (err && e->code == EXTPROF_USAGE && r->modes) {
		o.modes = r->modes;
		err = extprof_recorded_reports(recorded, &o, reports, EXTPROF_REPORTS_MAX, &count, e);
	}
	if (!err)
		err = show_reports(t, &span, reports, count, e);
	if (!err && incomplete)
		say(t, "of a recording without an end: waits that went on are missing");
	print_span(&span, t->show.span, sizeof(t->show.span));
	for (size_t i = 0; i < count; i++)
		extprof_report_destroy(reports[i]);
	extprof_recorded_close(recorded);
	return err;
}

/* -- the screen ----------------------------------------------------------------------------------- */

/* Errors are shown in the head: the screen stays. */
static void load_again(struct top_at *t)
{
	struct extprof_error e = { .size = sizeof(e) };

	if (!load(t, &e))
		return;
	if (t->show.windows)
		top_windows__reset(t->show.windows);
	snprintf(t->show.message, sizeof(t->show.message), "%.*s", (int)sizeof(t->show.message) - 1, e.text);
}

static void step(struct top_at *t, bool back)
{
	uint64_t length = t->show.state.interval, to;

	if (back)
		to = t->at > 2 * length ? history__before(&t->history, t->at - length, length) : 0;
	else
		to = history__after(&t->history, t->at + length, length);
	if (!to) {
		snprintf(t->show.message, sizeof(t->show.message), "nothing was recorded %s", back ? "before" : "after that");
		return;
	}
	t->at = to;
	load_again(t);
}

static void on_key(struct top_at *t, uint32_t key)
{
	unsigned int height = top_screen__height(t->show.screen);
	const struct top_row **rows;
	uint32_t count;

	if (top_show__choose(&t->show, &rows, &count))
		return;
	free(rows);
	switch (top_state__key(&t->show.state, key, height > TOP_HEAD_LINES ? height - TOP_HEAD_LINES : 1, count)) {
	case TOP_QUIT:
		t->end = true;
		return;
	case TOP_BACK:
	case TOP_FORWARD:
		step(t, key == '[' || key == TOP_KEY_LEFT);
		break;
	case TOP_INTERVAL:
		load_again(t);
		break;
	case TOP_NOTHING:
		return;
	default:
		break;
	}
	top_show__draw(&t->show);
}

static void on_keys(struct top_at *t)
{
	uint32_t key = 0;

	do {
		if (top_screen__key(t->show.screen, &key))
			t->end = true;
		else if (key)
			on_key(t, key);
	} while (key && !t->end);
	if (!t->end && top_screen__resized(t->show.screen))
		top_show__draw(&t->show);
}

static void look_at_it(struct top_at *t)
{
	struct pollfd fds[] = {
		{ .fd = top_screen__fd(t->show.screen), .events = POLLIN }, { .fd = t->signals.interrupt_fd, .events = POLLIN },
	};

	top_show__draw(&t->show);
	while (!t->end) {
		/* A change of the size interrupts it. */
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			break;
		on_keys(t);
	}
}

static int open_screen(struct top_at *t, struct extprof_error *e)
{
	int err = signals__open(&t->signals, e);

	if (err)
		return err;
	signals__block(&t->signals);
	err = top_screen__open(&t->show.screen, e);
	if (!err)
		t->show.state.modes = top_windows__count(t->show.windows);
	return err;
}

/* -- text ----------------------------------------------------------------------------------------- */

/* An interval of several in which nothing was recorded has a head that says so. */
static int print_them(struct top_at *t, struct extprof_error *e)
{
	uint64_t count = t->options->count ? t->options->count : 1;
	bool any = false, none = false;
	int err = 0;

	for (uint64_t i = 0; i < count && !err; i++) {
		struct extprof_error one = { .size = sizeof(one) };

		err = load(t, &one);
		t->at += t->show.state.interval;
		if (!err) {
			any = true;
			err = top_show__print(&t->show, &one);
		} else if (err == -ENODATA && count > 1) {
			printf("extprof top - %s  nothing was recorded%s\n\n", t->show.span, t->why);
			err = top_show__flush(&one);
		}
		if (err || (!any && !none))
			*e = one;
		none |= !any;
	}
	return err || any ? err : -ENODATA;
}

/* -- all of it ------------------------------------------------------------------------------------ */

/* 0 or -ENOMEM. */
static int begin(struct top_at *t)
{
	const struct options *o = &t->options->record;
	struct time_point at = { 0 };

	top_state__init(&t->show.state, t->options->interval, 1);
	snprintf(t->show.state.filter, sizeof(t->show.state.filter), "%s", t->options->choice.filter);
	t->show.state.choice = t->options->choice;
	t->show.state.recorded = true;
	t->show.rows = t->options->rows;
	if (o->recording.pid_count)
		snprintf(t->pid, sizeof(t->pid), "process=%d", o->recording.pids[0]);
	value__time_point(o->values[OPTION_AT].text, &at);
	t->at = recorded_list__time(&t->history.files, &at);
	return o->recording.modes ? words__add(&t->seen, o->recording.modes) : 0;
}

static int show(struct top_at *t, struct extprof_error *e)
{
	int err;

	if (t->options->batch || !isatty(STDOUT_FILENO))
		return print_them(t, e);
	if (t->options->count)
		return message__set(e, EXTPROF_USAGE, EINVAL, "--count prints so many intervals as text: add --batch; on the screen ] shows the next one");
	err = load(t, e);
	if (err)
		return err;
	err = open_screen(t, e);
	if (!err)
		look_at_it(t);
	/* Before anything is printed. */
	top_screen__close(t->show.screen);
	return err;
}

int top_at__run(const struct top_options *options)
{
	const struct power_needs files = { .processes = false };
	struct extprof_error e = { .size = sizeof(e) };
	struct top_at t = { .options = options };
	int status;

	power__give_back(&files);
	signals__init(&t.signals);
	status = confined__by_options(&options->record, false);
	if (!status)
		status = history__find(&t.history, options->record.files, options->record.file_count);
	if (!status) {
		if (begin(&t) ? message__set(&e, EXTPROF_INTERNAL, ENOMEM, "out of memory") : show(&t, &e))
			status = message__fail(&e);
	}
	if (!status && t.history.incomplete)
		status = STATUS_RECORDING;
	signals__close(&t.signals);
	top_windows__free(t.show.windows);
	history__free(&t.history);
	free(t.now);
	free(t.seen);
	return status;
}
