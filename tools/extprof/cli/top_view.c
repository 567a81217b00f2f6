/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of the screen of extprof top. */
#include "cli/top_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const help[] = {
	"1 2 3 4 5   methods, lines, states (or classes, calls, events), threads, processes",
	"v, Tab      the next of these views",
	"t           each thread by itself",
	"m           the next of the modes that are measured (-m)",
	"s, S        sort by self, total, name, growth; the other way round",
	"/           show only rows with a text in name, path or thread; Esc shows all again",
	"c           all since the start or the last r, or only the last interval",
	"r           reset: forget what was counted",
	"p, Space    pause what is shown; nothing is lost meanwhile",
	"+, -        longer or shorter intervals",
	"[, ], left, right   with --at: an interval before, an interval later",
	"arrows, PgUp, PgDn, Home, End   scroll",
	"h, q        this help, quit",
	"",
	"self: in the method itself.  total: also in what it calls.",
	"on-CPU 150 %: one CPU and a half.  GVL 200 %: two threads wait for it all the time.",
	"idle: part of the threads' time that is left out (--idle shows it).",
	"left out: part of the mode that is not in --focus.",
	"GC: part of the CPU time.  lost: samples without a stack, and why.",
	"growth: of mode heap, in the last interval; with c since the start or the last r.",
	NULL
};

const char *top_view__help(unsigned int i)
{
	return i < sizeof(help) / sizeof(help[0]) ? help[i] : NULL;
}

/* A part of the head that may be unknown. */
static void add_measure(struct top_line *l, const char *name, double part)
{
	if (part < 0)
		top_line__addf(l, "%s -", name);
	else
		top_line__addf(l, "%s %.1f %%", name, 100 * part);
}

/* A name in its column, or whole where lines may be long. */
static void add_name(struct top_line *l, const char *name, unsigned int width, bool cut)
{
	unsigned int from = l->columns;

	if (cut)
		top_line__add_ends(l, name, width);
	else
		top_line__add(l, name);
	top_line__pad(l, from + width);
	top_line__add(l, " ");
}

static void add_titles(const struct top_state *s, const struct top_head *h, unsigned int width, struct top_line *l)
{
	static const char *const titles[TOP_VIEWS] = {
		[TOP_METHODS] = "METHOD", [TOP_LINES] = "METHOD", [TOP_STATES] = "", [TOP_THREADS] = "THREAD",
		[TOP_PROCESSES] = "PROCESS",
	};
	static const char *const places[TOP_VIEWS] = {
		[TOP_METHODS] = "PLACE", [TOP_LINES] = "LINE", [TOP_STATES] = "", [TOP_THREADS] = "PROCESS",
		[TOP_PROCESSES] = "",
	};
	const char *title = titles[s->choice.view];
	struct top_columns c;
	char upper[64];
	size_t i = 0;

	top_columns__choose(s, h, width, &c);
	top_columns__add_titles(&c, l);
	if (s->choice.view == TOP_STATES) {
		for (; h->below[i] && i + 1 < sizeof(upper); i++)
			upper[i] = h->below[i] >= 'a' && h->below[i] <= 'z' ? (char)(h->below[i] - 32) : h->below[i];
		title = upper;
	}
	upper[i] = '\0';
	if (s->choice.by_thread && !top_view__is_group(s->choice.view))
		add_name(l, "THREAD", c.thread, width);
	add_name(l, title, c.name, width);
	if (!width || c.place)
		top_line__add(l, places[s->choice.view]);
}

/* The time that the numbers are of. */
static const char *period_of(const struct top_head *h, bool all)
{
	if (h->span)
		return "from the recording";
	if (h->lives)
		return all ? "growth since the reset" : "growth in the last interval";
	return all ? "since the reset" : "last interval";
}

static void add_choice(const struct top_state *s, const struct top_head *h, struct top_line *l)
{
	const struct top_choice *c = &s->choice;

	top_line__addf(l, "by %s%s, sorted by %s%s, %s", top_view__name(c->view),
		       c->by_thread && !top_view__is_group(c->view) ? " of each thread" : "", top_sort__name(c->sort),
		       c->reverse ? " (reverse)" : "", period_of(h, c->all));
	if (s->typing)
		top_line__addf(l, "  filter: %s_", s->typed);
	else if (*s->filter)
		top_line__addf(l, "  filter: %s (Esc: all)", s->filter);
	if (s->paused)
		top_line__add(l, "  PAUSED (p)");
}

void top_view__head(const struct top_state *s, const struct top_head *h, unsigned int width,
		    struct top_line lines[TOP_HEAD_LINES])
{
	for (unsigned int i = 0; i < TOP_HEAD_LINES; i++)
		top_line__clear(&lines[i]);
	top_line__addf(&lines[0], "extprof top - %s%s  %u process%s", h->mode, s->modes > 1 ? " (m: next)" : "",
		       h->processes, h->processes == 1 ? "" : "es");
	if (h->span)
		top_line__addf(&lines[0], "  %s  %.3g of %.3g s recorded", h->span, h->window, (double)s->interval / 1e9);
	if (h->lives && !h->span)
		top_line__addf(&lines[0], "  made in %.1f s", h->made_in);
	else if (h->window > 0 && !h->span)
		top_line__addf(&lines[0], "  %s %.1f s", s->choice.all ? "all" : "last", h->window);
	if (!h->span)
		top_line__addf(&lines[0], "  interval %.3g s", (double)s->interval / 1e9);
	if (h->clock)
		top_line__addf(&lines[0], "  %s", h->clock);
	if (*h->source)
		top_line__addf(&lines[0], "  %s", h->source);
	add_measure(&lines[1], "on-CPU", h->on_cpu);
	add_measure(&lines[1], "  GVL", h->gvl);
	add_measure(&lines[1], "  GC", h->gc);
	if (h->idle > 0)
		top_line__addf(&lines[1], "  idle %.1f %%", 100 * h->idle);
	if (h->left_out > 0)
		top_line__addf(&lines[1], "  left out %.1f %%", 100 * h->left_out);
	top_line__addf(&lines[1], "  samples %" PRIu64 "  lost %" PRIu64, h->samples, h->lost);
	if (h->why_lost)
		top_line__addf(&lines[1], " (%s)", h->why_lost);
	if (h->truncated)
		top_line__addf(&lines[1], "  truncated %" PRIu64, h->truncated);
	if (!h->span)
		add_measure(&lines[1], "  extprof", h->own);
	if (h->message)
		top_line__addf(&lines[2], "%s - ", h->message);
	add_choice(s, h, &lines[2]);
	add_titles(s, h, width, &lines[3]);
	for (unsigned int i = 0; width && i < TOP_HEAD_LINES; i++)
		top_line__cut(&lines[i], width);
	top_line__trim(&lines[3]);
}

void top_view__row(const struct top_state *s, const struct top_head *h, const struct top_row *row,
		   const struct top_more *more, uint64_t sum, unsigned int width, struct top_line *l)
{
	struct top_line place = { 0 };
	struct top_columns c;

	top_line__clear(l);
	top_columns__choose(s, h, width, &c);
	top_columns__add_numbers(&c, h, top_row__amount(row, s->choice.all), top_row__growth(row, s->choice.all), more, sum, l);
	if (s->choice.by_thread && !top_view__is_group(s->choice.view))
		add_name(l, row->thread, c.thread, width);
	add_name(l, top_row__shown(row), c.name, width);
	top_line__add(&place, row->path);
	if (row->line > 0 && *row->path)
		top_line__addf(&place, ":%s%d", row->approximate ? "~" : "", row->line);
	if (width)
		top_line__add_end(l, place.text, c.place);
	else
		top_line__add(l, place.text);
	if (width)
		top_line__cut(l, width);
	top_line__trim(l);
}
