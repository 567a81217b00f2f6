/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_columns.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/share.h"

/* "100.0 %", "1.234 s", "1023 MiB"; columns of states are as wide as their titles. */
#define SHARE_WIDTH 7u
#define AMOUNT_WIDTH 10u
#define SMALL_WIDTH 8u
/* Widths of the names if the line has no limit. */
#define NAME_WIDTH 40u
#define THREAD_WIDTH 24u
/* From these widths on a line has both shares, the amount of self, and that of the total. */
#define WIDTH_OF_SHARES 60u
#define WIDTH_OF_AMOUNT 80u
#define WIDTH_OF_AMOUNTS 100u
/* Names of threads and processes have so many columns before there are more numbers, and then the process of a thread. */
#define GROUP_WIDTH 22u
#define PROCESS_WIDTH 16u

/* Columns of threads and processes: the more important first. */
static const uint8_t order[] = {
	TOP_TOTAL_SHARE, TOP_GROWTH, TOP_CPU, TOP_RESIDENT, TOP_STATE + EXTPROF_STATE_RUNNING, TOP_STATE + EXTPROF_STATE_GVL, TOP_GVL,
	TOP_GC, TOP_LIVE_SLOTS, TOP_MADE, TOP_IDLE, TOP_STATE + EXTPROF_STATE_RUNNABLE,
};

static bool has_self(enum top_view view)
{
	return view == TOP_METHODS || view == TOP_LINES;
}

static const char *name_of_state(unsigned int state)
{
	const char *name = extprof_word(EXTPROF_STATES, state);

	return name ? name : "?";
}

static const char *title_of(unsigned int number)
{
	static const char *const titles[TOP_STATE] = {
		[TOP_SELF_SHARE] = "SELF %", [TOP_SELF] = "SELF", [TOP_TOTAL_SHARE] = "TOTAL %", [TOP_TOTAL] = "TOTAL",
		[TOP_GROWTH] = "GROWTH",
		[TOP_CPU] = "CPU", [TOP_GVL] = "GVL", [TOP_GC] = "GC", [TOP_RESIDENT] = "RSS", [TOP_LIVE_SLOTS] = "SLOTS",
		[TOP_MADE] = "OBJECTS/S", [TOP_IDLE] = "IDLE",
	};

	return number < TOP_STATE ? titles[number] : name_of_state(number - TOP_STATE);
}

/* Without the blank behind it. */
static unsigned int width_of(unsigned int number)
{
	unsigned int width;

	if (number == TOP_SELF || number == TOP_TOTAL || number == TOP_GROWTH || number == TOP_LIVE_SLOTS)
		return AMOUNT_WIDTH;
	if (number == TOP_SELF_SHARE || number == TOP_TOTAL_SHARE || (number >= TOP_CPU && number <= TOP_GC))
		return SHARE_WIDTH;
	width = top_columns(title_of(number));
	return width > SMALL_WIDTH ? width : SMALL_WIDTH;
}

/* -- which there are ------------------------------------------------------------------------------- */

/* Columns of code and states: in a narrow line numbers go, and the names stay. */
static void choose_of_code(const struct top_state *s, const struct top_head *h, unsigned int width, struct top_columns *c)
{
	bool self = has_self(s->choice.view), by_total = !self || s->choice.sort == TOP_BY_TOTAL;

	c->has[TOP_SELF_SHARE] = self && (!by_total || !width || width >= WIDTH_OF_SHARES);
	c->has[TOP_SELF] = self && (!width || width >= WIDTH_OF_AMOUNT);
	c->has[TOP_TOTAL_SHARE] = by_total || !width || width >= WIDTH_OF_SHARES;
	c->has[TOP_TOTAL] = !width || width >= (self ? WIDTH_OF_AMOUNTS : WIDTH_OF_SHARES);
	c->has[TOP_GROWTH] = h->lives && (!width || width >= WIDTH_OF_SHARES);
}

/* Does the view have this number at all? */
static bool is_of_group(const struct top_state *s, const struct top_head *h, unsigned int number)
{
	bool threads = s->choice.view == TOP_THREADS;

	switch (number) {
	case TOP_TOTAL_SHARE:
	case TOP_TOTAL:
		return true;
	case TOP_GROWTH:
		return h->lives;
	case TOP_CPU:
	case TOP_RESIDENT:
	case TOP_LIVE_SLOTS:
		return !threads;
	case TOP_MADE:
		return !threads && h->tells_made;
	case TOP_GVL:
		return !threads && h->gvl >= 0;
	case TOP_GC:
		return !threads && h->gc >= 0;
	case TOP_IDLE:
		return h->rests && (!threads || h->states);
	default:
		return threads && number >= TOP_STATE && h->states >> (number - TOP_STATE) & 1;
	}
}

static void choose_number(const struct top_state *s, const struct top_head *h, unsigned int number, unsigned int *left,
			  struct top_columns *c)
{
	if (c->has[number] || !is_of_group(s, h, number) || *left < width_of(number) + 1)
		return;
	c->has[number] = true;
	*left -= width_of(number) + 1;
}

static void choose_of_groups(const struct top_state *s, const struct top_head *h, unsigned int width, struct top_columns *c)
{
	unsigned int kept = GROUP_WIDTH + 2, left;

	/* Where there are many numbers, the process of a thread is one of them. */
	if (s->choice.view == TOP_THREADS && h->states && width >= WIDTH_OF_AMOUNTS)
		kept += PROCESS_WIDTH + 1;
	left = !width ? ~0u : width > kept ? width - kept : 0;
	for (size_t i = 0; i < sizeof(order); i++)
		choose_number(s, h, order[i], &left, c);
	for (unsigned int i = TOP_STATE; i < TOP_NUMBERS; i++)
		choose_number(s, h, i, &left, c);
	choose_number(s, h, TOP_TOTAL, &left, c);
}

void top_columns__choose(const struct top_state *s, const struct top_head *h, unsigned int width, struct top_columns *c)
{
	enum top_view view = s->choice.view;
	bool is_line = view == TOP_LINES, narrow = width < WIDTH_OF_SHARES;
	unsigned int used = 1, left;

	*c = (struct top_columns){ .thread = THREAD_WIDTH, .name = NAME_WIDTH };
	if (top_view__is_group(view))
		choose_of_groups(s, h, width, c);
	else
		choose_of_code(s, h, width, c);
	if (!width)
		return;
	for (unsigned int i = 0; i < TOP_NUMBERS; i++)
		used += c->has[i] ? width_of(i) + 1 : 0;
	left = width > used ? width - used : 0;
	if (s->choice.by_thread && !top_view__is_group(view)) {
		c->thread = left / 4 < THREAD_WIDTH ? left / 4 : THREAD_WIDTH;
		left -= c->thread + 1 < left ? c->thread + 1 : left;
	}
	/* States and processes have no place.  A line is its place. */
	if (view == TOP_STATES || view == TOP_PROCESSES || (narrow && !is_line) ||
	    (view == TOP_THREADS && h->states && width < WIDTH_OF_AMOUNTS))
		c->name = left;
	else
		c->name = narrow ? left * 2 / 5 : left - left * 2 / 5;
	c->place = left > c->name ? left - c->name - 1 : 0;
}

void top_columns__add_titles(const struct top_columns *c, struct top_line *l)
{
	char title[64];

	for (unsigned int i = 0; i < TOP_NUMBERS; i++) {
		if (!c->has[i])
			continue;
		snprintf(title, sizeof(title), "%s", title_of(i));
		for (char *p = title; *p; p++)
			*p = (char)toupper((unsigned char)*p);
		top_line__addf(l, "%*s ", (int)width_of(i), title);
	}
	top_line__add(l, " ");
}

/* -- what they are --------------------------------------------------------------------------------- */

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

static void format_share(char *to, size_t size, double share)
{
	if (share < 0)
		snprintf(to, size, "-");
	else
		snprintf(to, size, "%.1f %%", 100 * share);
}

/* An account that is not known, and nothing, are a dash. */
static void format_account(char *to, size_t size, const char *unit, uint64_t amount)
{
	if (amount)
		format_amount(to, size, unit, amount);
	else
		snprintf(to, size, "-");
}

static void format_made(char *to, size_t size, double made)
{
	if (made >= 0)
		format_amount(to, size, "count", (uint64_t)(made + 0.5));
	else
		snprintf(to, size, "-");
}

static void format_part(char *to, size_t size, uint64_t part, uint64_t sum)
{
	if (sum)
		snprintf(to, size, "%.1f %%", share__percent(part, sum));
	else
		*to = '\0';
}

/* "+1.67 MiB" */
static void format_growth(char *to, size_t size, const char *unit, int64_t growth)
{
	snprintf(to, size, "%s", growth < 0 ? "-" : growth ? "+" : "");
	format_amount(to + strlen(to), size - strlen(to), unit, growth < 0 ? -(uint64_t)growth : (uint64_t)growth);
}

void top_columns__add_numbers(const struct top_columns *c, const struct top_head *h, const struct top_amount *a,
			      int64_t growth, const struct top_more *more, uint64_t sum, struct top_line *l)
{
	for (unsigned int i = 0; i < TOP_NUMBERS; i++) {
		char text[32];

		if (!c->has[i])
			continue;
		switch (i) {
		case TOP_SELF_SHARE: format_part(text, sizeof(text), a->self, sum); break;
		case TOP_SELF: format_amount(text, sizeof(text), h->unit, a->self); break;
		case TOP_TOTAL_SHARE: format_part(text, sizeof(text), a->total, sum); break;
		case TOP_TOTAL: format_amount(text, sizeof(text), h->unit, a->total); break;
		case TOP_GROWTH: format_growth(text, sizeof(text), h->unit, growth); break;
		case TOP_CPU: format_share(text, sizeof(text), more->cpu); break;
		case TOP_GVL: format_share(text, sizeof(text), more->gvl); break;
		case TOP_GC: format_share(text, sizeof(text), more->gc); break;
		case TOP_RESIDENT: format_account(text, sizeof(text), "bytes", more->resident); break;
		case TOP_LIVE_SLOTS: format_account(text, sizeof(text), "count", more->live_slots); break;
		case TOP_MADE: format_made(text, sizeof(text), more->made); break;
		case TOP_IDLE: format_account(text, sizeof(text), "ns", more->sums ? more->sums->idle : 0); break;
		default: format_account(text, sizeof(text), "ns", more->sums ? more->sums->times[i - TOP_STATE] : 0);
		}
		top_line__addf(l, "%*s ", (int)width_of(i), text);
	}
	top_line__add(l, " ");
}
