/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of the screen of extprof top. */
#include "cli/top_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A share and an amount: "100.0 % 1.234 s". */
#define SHARE_WIDTH 7u
#define AMOUNT_WIDTH 10u
/* Widths of the names if the line has no limit: the names are not cut then. */
#define NAME_WIDTH 40u
#define THREAD_WIDTH 24u
/* From these widths on a line has both shares, the amount of self, and that of the total. */
#define WIDTH_OF_SHARES 60u
#define WIDTH_OF_AMOUNT 80u
#define WIDTH_OF_AMOUNTS 100u

static const char *const help[] = {
	"1 2 3 4 5   methods, lines, states (or classes, calls, events), threads, processes",
	"v, Tab      the next of these views",
	"t           each thread by itself",
	"m           the next of the modes that are measured (-m)",
	"s, S        sort by self, total, name; the other way round",
	"/           show only rows with a text in name, path or thread; Esc shows all again",
	"c           all since the start or the last r, or only the last interval",
	"r           reset: forget what was counted",
	"p, Space    pause what is shown; nothing is lost meanwhile",
	"+, -        longer or shorter intervals",
	"arrows, PgUp, PgDn, Home, End   scroll",
	"h, q        this help, quit",
	"",
	"self: in the method itself.  total: also in what it calls.",
	"on-CPU 150 %: one CPU and a half.  GVL 200 %: two threads wait for it all the time.",
	"idle: part of the threads' time that is left out (--idle shows it).",
	"GC: part of the CPU time.  lost: samples without a stack, and why.",
	NULL
};

const char *top_view__help(unsigned int i)
{
	return i < sizeof(help) / sizeof(help[0]) ? help[i] : NULL;
}

/* "12.3 ms", "4.56 MiB", "789" */
static void format_amount(char *to, size_t size, const char *unit, uint64_t amount)
{
	static const char *const times[] = { "ns", "us", "ms", "s" };
	static const char *const bytes[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	bool is_time = !strcmp(unit, "ns"), is_bytes = !strcmp(unit, "bytes");
	double value = (double)amount, step = is_bytes ? 1024 : 1000;
	int i = 0, last = is_bytes ? 6 : 3;

	if ((!is_time && !is_bytes) || !amount) {
		snprintf(to, size, "%" PRIu64, amount);
		return;
	}
	for (; i < last && value >= step; i++)
		value /= step;
	snprintf(to, size, "%.*f %s", !i ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value,
		 is_bytes ? bytes[i] : times[i]);
}

static void add_share(struct top_line *l, uint64_t part, uint64_t sum)
{
	char text[32] = "";

	if (sum)
		snprintf(text, sizeof(text), "%.1f %%", 100 * (double)part / (double)sum);
	top_line__addf(l, "%*s ", (int)SHARE_WIDTH, text);
}

static void add_amount(struct top_line *l, const char *unit, uint64_t amount)
{
	char text[32];

	format_amount(text, sizeof(text), unit, amount);
	top_line__addf(l, "%*s ", (int)AMOUNT_WIDTH, text);
}

/* A part of the head that may be unknown. */
static void add_measure(struct top_line *l, const char *name, double part)
{
	if (part < 0)
		top_line__addf(l, "%s -", name);
	else
		top_line__addf(l, "%s %.1f %%", name, 100 * part);
}

static bool is_group(enum top_view view)
{
	return view == TOP_THREADS || view == TOP_PROCESSES;
}

/* Rows that stand for all that is in them have one amount. */
static bool has_self(enum top_view view)
{
	return view == TOP_METHODS || view == TOP_LINES;
}

/* The numbers of a row.  In a narrow line some go, and the names stay. */
struct numbers {
	bool self_share, self, total_share, total;
};

static struct numbers numbers_of(const struct top_state *s, unsigned int width)
{
	bool self = has_self(s->choice.view), by_total = !self || s->choice.sort == TOP_BY_TOTAL;

	return (struct numbers){
		.self_share = self && (!by_total || !width || width >= WIDTH_OF_SHARES),
		.self = self && (!width || width >= WIDTH_OF_AMOUNT),
		.total_share = by_total || !width || width >= WIDTH_OF_SHARES,
		.total = !width || width >= (self ? WIDTH_OF_AMOUNTS : WIDTH_OF_SHARES),
	};
}

/* The columns of names, in a line of `left` columns. */
struct widths {
	unsigned int thread, name, place;
};

static struct widths widths_of(const struct top_state *s, unsigned int width)
{
	struct numbers n = numbers_of(s, width);
	unsigned int used = (SHARE_WIDTH + 1) * (unsigned int)(n.self_share + n.total_share) +
			    (AMOUNT_WIDTH + 1) * (unsigned int)(n.self + n.total) + 1;
	bool is_line = s->choice.view == TOP_LINES, narrow = width < WIDTH_OF_SHARES;
	struct widths w = { 0 };
	unsigned int left;

	if (!width) {
		w.thread = THREAD_WIDTH;
		w.name = NAME_WIDTH;
		return w;
	}
	left = width > used ? width - used : 0;
	if (s->choice.by_thread && !is_group(s->choice.view)) {
		w.thread = left / 4 < THREAD_WIDTH ? left / 4 : THREAD_WIDTH;
		left -= w.thread + 1 < left ? w.thread + 1 : left;
	}
	/* States have no place.  A line is its place. */
	if (s->choice.view == TOP_STATES || (narrow && !is_line))
		w.name = left;
	else
		w.name = narrow ? left * 2 / 5 : left - left * 2 / 5;
	w.place = left > w.name ? left - w.name - 1 : 0;
	return w;
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
	struct numbers n = numbers_of(s, width);
	struct widths w = widths_of(s, width);
	const char *title = titles[s->choice.view];
	char upper[64];
	size_t i = 0;

	if (n.self_share)
		top_line__addf(l, "%*s ", (int)SHARE_WIDTH, "SELF %");
	if (n.self)
		top_line__addf(l, "%*s ", (int)AMOUNT_WIDTH, "SELF");
	if (n.total_share)
		top_line__addf(l, "%*s ", (int)SHARE_WIDTH, "TOTAL %");
	if (n.total)
		top_line__addf(l, "%*s ", (int)AMOUNT_WIDTH, "TOTAL");
	top_line__add(l, " ");
	if (s->choice.view == TOP_STATES) {
		for (; h->below[i] && i + 1 < sizeof(upper); i++)
			upper[i] = h->below[i] >= 'a' && h->below[i] <= 'z' ? (char)(h->below[i] - 32) : h->below[i];
		title = upper;
	}
	upper[i] = '\0';
	if (s->choice.by_thread && !is_group(s->choice.view))
		add_name(l, "THREAD", w.thread, width);
	add_name(l, title, w.name, width);
	if (!width || w.place)
		top_line__add(l, places[s->choice.view]);
}

static void add_choice(const struct top_state *s, struct top_line *l)
{
	const struct top_choice *c = &s->choice;

	top_line__addf(l, "by %s%s, sorted by %s%s, %s", top_view__name(c->view),
		       c->by_thread && !is_group(c->view) ? " of each thread" : "", top_sort__name(c->sort),
		       c->reverse ? " (reverse)" : "", c->all ? "since the reset" : "last interval");
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
	if (h->window > 0)
		top_line__addf(&lines[0], "  %s %.1f s", s->choice.all ? "all" : "last", h->window);
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
	top_line__addf(&lines[1], "  samples %" PRIu64 "  lost %" PRIu64, h->samples, h->lost);
	if (h->why_lost)
		top_line__addf(&lines[1], " (%s)", h->why_lost);
	if (h->truncated)
		top_line__addf(&lines[1], "  truncated %" PRIu64, h->truncated);
	add_measure(&lines[1], "  extprof", h->own);
	if (h->message)
		top_line__addf(&lines[2], "%s - ", h->message);
	add_choice(s, &lines[2]);
	add_titles(s, h, width, &lines[3]);
	for (unsigned int i = 0; width && i < TOP_HEAD_LINES; i++)
		top_line__cut(&lines[i], width);
	top_line__trim(&lines[3]);
}

void top_view__row(const struct top_state *s, const struct top_head *h, const struct top_row *row, uint64_t sum,
		   unsigned int width, struct top_line *l)
{
	const struct top_amount *a = top_row__amount(row, s->choice.all);
	struct numbers n = numbers_of(s, width);
	struct widths w = widths_of(s, width);
	struct top_line place = { 0 };

	top_line__clear(l);
	if (n.self_share)
		add_share(l, a->self, sum);
	if (n.self)
		add_amount(l, h->unit, a->self);
	if (n.total_share)
		add_share(l, a->total, sum);
	if (n.total)
		add_amount(l, h->unit, a->total);
	top_line__add(l, " ");
	if (s->choice.by_thread && !is_group(s->choice.view))
		add_name(l, row->thread, w.thread, width);
	add_name(l, row->name, w.name, width);
	top_line__add(&place, row->path);
	if (row->line > 0 && *row->path)
		top_line__addf(&place, ":%s%d", row->approximate ? "~" : "", row->line);
	if (width)
		top_line__add_end(l, place.text, w.place);
	else
		top_line__add(l, place.text);
	if (width)
		top_line__cut(l, width);
	top_line__trim(l);
}
