/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison for people: tables. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "analysis/diff.h"
#include "base/columns.h"
#include "base/share.h"
#include "profile/unit.h"

/* Width of a row without the name: mark, three shares, the noise, two amounts. */
#define NUMBERS_WIDTH 65
#define RATES_WIDTH 24
#define RATES_FROM 110u
#define REST_LEAST 10u
#define NAME_WIDTH_MIN 15u

struct table {
	struct diff *d;
	const struct diff_options *o;
	struct text out;
};

static const char *ansi(const struct table *t, const char *code)
{
	return t->o->color ? code : "";
}

/* An amount in a second of recording, in so many columns.  Of a state the amount itself. */
static void add_rate(struct table *t, uint64_t amount, int side, int width)
{
	double seconds = t->d->states ? 1 : t->d->seconds[side];
	struct text text = { 0 };

	if (seconds > 0)
		unit__add_amount(t->d->reports[0].metric.unit, (uint64_t)llround((double)amount / seconds), &text);
	text__addf(&t->out, "%*s", width, seconds > 0 ? text__string(&text) : "-");
	t->out.failed |= text.failed;
	text__free(&text);
}

/* Amounts a second: a narrow terminal has no room for them. */
static bool has_rates(const struct table *t)
{
	return !t->o->width || t->o->width >= RATES_FROM;
}

static size_t numbers_width(const struct table *t)
{
	return NUMBERS_WIDTH - (has_rates(t) ? 0 : RATES_WIDTH);
}

static void add_change(struct table *t, const struct diff_change *c)
{
	double change = 100 * (c->share[1] - c->share[0]);

	text__addf(&t->out, "%s%s%6.2f %%  %6.2f %%  %+7.2f  %6.2f  ", c->decided ? ansi(t, change > 0 ? "\033[31m" : "\033[32m") :
		   ansi(t, "\033[2m"), c->decided ? "  " : "~ ", 100 * c->share[0], 100 * c->share[1], change, 100 * c->noise);
	if (has_rates(t)) {
		add_rate(t, c->amount[0], 0, 12);
		add_rate(t, c->amount[1], 1, 12);
	}
	text__adds(&t->out, "  ");
}

static void add_heads(struct table *t, const char *last)
{
	text__addf(&t->out, "%10s  %8s  %7s  %6s  ", "before", "after", "change", "noise");
	if (has_rates(t))
		text__addf(&t->out, "%12s%12s", t->d->states ? "before" : "before/s", t->d->states ? "after" : "after/s");
	text__addf(&t->out, "  %s%s\n", last, ansi(t, "\033[0m"));
}

static void add_place(const struct diff_row *r, bool line, struct text *to)
{
	const struct frame *f = &r->label->frame;

	report__add_place(f->path, line ? r->line : f->first_line, r->approximate, to);
}

/* The columns behind the first name.  Without a terminal they have no bound. */
static size_t rest_of(const struct table *t, size_t width)
{
	size_t used = numbers_width(t) + width + 2;

	return !t->o->width ? SIZE_MAX : t->o->width > used + REST_LEAST ? t->o->width - used : REST_LEAST;
}

static void add_row(struct table *t, const struct diff_row *r, bool self, bool line, size_t width)
{
	size_t rest = rest_of(t, width);
	struct text place = { 0 };

	add_change(t, self ? &r->self : &r->total);
	add_place(r, line, &place);
	if (line) {
		columns__add_ends(&t->out, text__string(&place), width, true);
		text__adds(&t->out, "  ");
		columns__add_ends(&t->out, r->label->name, rest < 40 ? rest : 40, false);
	} else {
		columns__add_ends(&t->out, r->label->name, width, place.length > 0);
		if (place.length) {
			text__adds(&t->out, "  ");
			columns__add_end(&t->out, text__string(&place), rest);
		}
	}
	text__addf(&t->out, "%s\n", ansi(t, "\033[0m"));
	t->out.failed |= place.failed;
	text__free(&place);
}

static size_t width_of(const struct table *t, const struct diff_list *l, uint32_t rows, bool line)
{
	size_t width = NAME_WIDTH_MIN, limit = 44, numbers = numbers_width(t);

	if (t->o->width)
		limit = t->o->width > numbers + 2 * NAME_WIDTH_MIN ? (t->o->width - numbers) * 3 / 5 : NAME_WIDTH_MIN;

	for (uint32_t i = 0; i < rows; i++) {
		struct text place = { 0 };
		size_t n;

		add_place(&l->rows[i], line, &place);
		n = columns__of(line ? text__string(&place) : l->rows[i].label->name);
		width = n > width ? n : width;
		text__free(&place);
	}
	return width < limit ? width : limit;
}

static double change_of(const struct diff_row *r, bool self)
{
	const struct diff_change *c = self ? &r->self : &r->total;

	return c->share[1] - c->share[0];
}

static void add_table(struct table *t, const char *title, struct diff_list *l, bool self, bool line)
{
	uint32_t rows, count = l->count, decided = diff_list__decided(l, self);
	size_t width;

	diff_list__sort(l, self);
	/* Rows without a change are at the end. */
	while (count && !change_of(&l->rows[count - 1], self))
		count--;
	rows = count < t->o->top ? count : t->o->top;
	if (!rows)
		return;
	width = width_of(t, l, rows, line);
	text__addf(&t->out, "\n%s%s%s\n%s", ansi(t, "\033[1m"), title, ansi(t, "\033[0m"), ansi(t, "\033[2m"));
	add_heads(t, line ? "line" : "method");
	for (uint32_t i = 0; i < rows; i++)
		add_row(t, &l->rows[i], self, line, width);
	if (count > rows)
		text__addf(&t->out, "  (%" PRIu32 " more, %" PRIu32 " of them beyond the noise)\n", count - rows,
			   decided > rows ? decided - rows : 0);
}

/* Those without a change are at the end. */
static uint32_t owners_with_change(const struct diff *d)
{
	uint32_t count = d->owner_count;

	while (count && d->owners[count - 1].self.share[0] == d->owners[count - 1].self.share[1])
		count--;
	return count;
}

/* "gem rack 3.1.8", "gem rack 3.1.8 to 3.2.0". */
static void add_owner_name(const struct diff_owner *o, struct text *to)
{
	const char *before = o->versions[0], *after = o->versions[1];

	owner__add_text(o->kind, o->name, before ? before : after, to);
	if (before && after && strcmp(before, after))
		text__addf(to, " to %s", after);
}

static void add_owners(struct table *t)
{
	uint32_t count = owners_with_change(t->d), rows = count < t->o->top ? count : t->o->top;

	if (!rows)
		return;
	text__addf(&t->out, "\n%sGems by the change of their own share, with the C methods that they call (self)%s\n%s", ansi(t, "\033[1m"),
		   ansi(t, "\033[0m"), ansi(t, "\033[2m"));
	add_heads(t, "whose code");
	for (uint32_t i = 0; i < rows; i++) {
		add_change(t, &t->d->owners[i].self);
		add_owner_name(&t->d->owners[i], &t->out);
		text__addf(&t->out, "%s\n", ansi(t, "\033[0m"));
	}
	if (count > rows)
		text__addf(&t->out, "  (%" PRIu32 " more)\n", count - rows);
}

/* A time of the clock, with its date if `date`. */
static void add_clock(uint64_t ns, bool date, struct text *to)
{
	time_t seconds = (time_t)(ns / 1000000000u);
	char text[32] = "-";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), date ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &tm);
	text__adds(to, text);
	if (ns / 1000000u % 1000u)
		text__addf(to, ".%03u", (unsigned int)(ns / 1000000u % 1000u));
}

static bool is_same_day(uint64_t a, uint64_t b)
{
	time_t times[2] = { (time_t)(a / 1000000000u), (time_t)(b / 1000000000u) };
	struct tm x, y;

	return localtime_r(&times[0], &x) && localtime_r(&times[1], &y) && x.tm_yday == y.tm_yday && x.tm_year == y.tm_year;
}

void diff__add_name(const struct diff_options *o, int side, struct text *to)
{
	uint64_t since = o->since[side], until = o->until[side];

	text__adds(to, o->names[side]);
	if (!since && !until)
		return;
	text__adds(to, since && until ? ", " : since ? " from " : " until ");
	if (since)
		add_clock(since, true, to);
	if (since && until)
		text__adds(to, " to ");
	if (until)
		add_clock(until, !since || !is_same_day(since, until), to);
}

double diff__left_out(const struct report *r)
{
	return share__of(r->left_out, r->samples + r->left_out);
}

void diff__add_version(const struct diff *d, int side, struct text *to)
{
	struct text version = { 0 };

	report_version__add_text(&d->reports[side].meta.version, &version);
	if (version.length)
		text__addf(to, " (%s)", text__string(&version));
	to->failed |= version.failed;
	text__free(&version);
}

static void add_side(struct table *t, int side)
{
	const struct report *r = &t->d->reports[side];
	struct text amount = { 0 };

	unit__add_with_name(&r->metric, t->d->all[side], &amount);
	text__addf(&t->out, "%-7s ", side ? "after" : "before");
	diff__add_name(t->o, side, &t->out);
	diff__add_version(t->d, side, &t->out);
	text__addf(&t->out, ": %s, mode %s, %s", *r->meta.command ? r->meta.command : "several programs", r->meta.mode->name,
		   text__string(&amount));
	if (t->d->states) {
		text__adds(&t->out, " at its end");
	} else {
		text__addf(&t->out, " in %.1f s, ", t->d->seconds[side]);
		add_rate(t, t->d->all[side], side, 0);
		text__adds(&t->out, " a second");
	}
	text__free(&amount);
	if (r->left_out)
		text__addf(&t->out, "; %.1f %% of all are left out by --focus, shares are of the rest", 100 * diff__left_out(r));
	text__adds(&t->out, "\n");
}

int diff__write_text(struct diff *d, const struct diff_options *o, FILE *to)
{
	struct table t = { .d = d, .o = o };
	uint32_t self = diff_list__decided(&d->methods, true), total = diff_list__decided(&d->methods, false);
	size_t from;

	add_side(&t, 0);
	add_side(&t, 1);
	text__adds(&t.out, "\n");
	columns__wrap(&t.out, 0, o->width);
	if (self || total)
		text__addf(&t.out, d->states ? "%" PRIu32 " methods have more or less that lives of their own, %" PRIu32 " with what they call.\n" :
			   "%" PRIu32 " methods have another share of their own, %" PRIu32 " another one with what they call.\n", self, total);
	else
		text__adds(&t.out, "No method has changed by more than the noise of sampling.\n");
	if (o->above > 0)
		text__addf(&t.out, "Methods whose share has grown by more than %g percentage points, and by more than the noise: %" PRIu32 ".\n",
			   100 * o->above, diff__grown(d, o->above));
	add_table(&t, "The application's methods by the change of their total, with what they call", &d->of_app, false, false);
	add_owners(&t);
	add_table(&t, "Methods by the change of their own share (self)", &d->methods, true, false);
	add_table(&t, "Methods by the change of their total, with what they call", &d->methods, false, false);
	add_table(&t, "Lines by the change of their own share", &d->lines, true, true);
	from = t.out.length;
	text__addf(&t.out, "\n~: the change is smaller than the noise of sampling (%g standard errors): it says nothing.\n"
		   "%s\n", DIFF_ERRORS, d->states ? "Shares are of the larger side, so that a change is what has grown; changes in percentage points." :
		   "Shares are of each side, changes in percentage points, /s: in a second of recording.");
	columns__wrap(&t.out, from, o->width);
	return text__write(&t.out, to);
}
