/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/lead_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "profile/unit.h"

#define WIDTH_DEFAULT 120u
#define NAME_LEAST 12u

struct lead {
	const struct report *r;
	const struct output_options *o;
	struct text *out;
	unsigned int rows;
};

static const char *ansi(const struct lead *t, const char *code)
{
	return t->o->color ? code : "";
}

static double percent(const struct lead *t, uint64_t part)
{
	return t->r->samples ? 100.0 * (double)part / (double)t->r->samples : 0;
}

static int amount_width(const struct lead *t)
{
	return t->r->metric.unit == UNIT_COUNT ? 8 : 10;
}

/* "    1234  12.3 %" */
static void add_amount(struct lead *t, uint64_t amount)
{
	struct text text = { 0 };

	unit__add_amount(t->r->metric.unit, amount, &text);
	text__addf(t->out, "%*s %5.1f %%", amount_width(t), text__string(&text), percent(t, amount));
	text__free(&text);
}

static void add_title(struct lead *t, const char *title)
{
	text__addf(t->out, "\n%s%s%s\n%s", ansi(t, "\033[1m"), title, ansi(t, "\033[0m"), ansi(t, "\033[2m"));
}

static bool is_of_app(const struct report *r, const struct report_total *t)
{
	return r->owners[r->labels[t->label].owner].kind == OWNER_APP;
}

/* The arguments of compare(): the list to sort, and the first key. */
struct order {
	const struct report *r;
	const struct report_totals *list;
	bool by_self;
};

/* Equal ones by their names, which do not depend on the order of samples. */
static int compare(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const struct report_total *x = &o->list->list[*(const uint32_t *)a], *y = &o->list->list[*(const uint32_t *)b];
	const struct report_label *l = &o->r->labels[x->label], *m = &o->r->labels[y->label];
	int c;

	if (o->by_self && x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	c = strcmp(l->frame.path, m->frame.path);
	if (!c)
		c = x->line < y->line ? -1 : x->line > y->line;
	if (!c)
		c = strcmp(l->name, m->name);
	return c ? c : (l->frame.first_line > m->frame.first_line) - (l->frame.first_line < m->frame.first_line);
}

/* The numbers of what is shown, in order.  Returns how many there are; `numbers` has room for all. */
static uint32_t choose(const struct order *o, bool app, uint32_t *numbers)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < o->list->count; i++)
		if (o->list->list[i].total && (!app || is_of_app(o->r, &o->list->list[i])))
			numbers[count++] = i;
	if (count)
		qsort_r(numbers, count, sizeof(*numbers), compare, (void *)(uintptr_t)o);
	return count;
}

static void add_owner(const struct report *r, uint32_t number, struct text *out)
{
	const struct report_owner *o = &r->owners[number];

	owner__add_text(o->kind, o->name, o->version, out);
}

/* "40.8 %  String#gsub": what it calls, and its part of all. */
static void add_callee(struct lead *t, const struct report_total *of, size_t width)
{
	struct text name = { 0 };

	if (of->calls == CALLS_OWNER)
		add_owner(t->r, of->callee, &name);
	else if (of->calls == CALLS_LABEL)
		text__adds(&name, t->r->labels[of->callee].name);
	if (name.length) {
		text__addf(t->out, "  %5.1f %%  ", percent(t, of->called));
		columns__add_ends(t->out, name.data, width, false);
	}
	text__adds(t->out, "\n");
	t->out->failed |= name.failed;
	text__free(&name);
}

static void add_name(const struct lead *t, const struct report_total *of, bool line, struct text *name)
{
	const struct report_label *l = &t->r->labels[of->label];

	if (line)
		report__add_place(owner__short_path(l->frame.path, &t->r->rules), of->line, of->approximate, name);
	else
		text__adds(name, l->name);
}

/* Methods or lines of the application. */
static void add_app(struct lead *t, const char *title, const struct report_totals *list, const uint32_t *order,
		    uint32_t count, bool line)
{
	unsigned int width = t->o->width ? t->o->width : WIDTH_DEFAULT;
	unsigned int used = (unsigned int)amount_width(t) + 8 + 2 + 7 + 2 + 2 + 7 + 2;
	unsigned int left = width > used + 2 * NAME_LEAST ? width - used : 2 * NAME_LEAST;
	/* A place is told apart by its end, and is short without the directory of the application. */
	size_t names = left * 3 / 5, callees = left - names;

	add_title(t, title);
	text__addf(t->out, "%*s  %7s  ", amount_width(t) + 8, "total", "self");
	columns__add_ends(t->out, line ? "line" : "method", names, true);
	text__addf(t->out, "  of it most in%s\n", ansi(t, "\033[0m"));
	for (uint32_t i = 0; i < count && i < t->rows; i++) {
		const struct report_total *of = &list->list[order[i]];
		struct text name = { 0 };

		add_name(t, of, line, &name);
		add_amount(t, of->total);
		text__addf(t->out, "  %5.1f %%  ", percent(t, of->self));
		columns__add_ends(t->out, text__string(&name), names, of->calls != CALLS_UNKNOWN);
		add_callee(t, of, callees);
		t->out->failed |= name.failed;
		text__free(&name);
	}
	if (count > t->rows)
		text__addf(t->out, "%*s(%" PRIu32 " more)\n", amount_width(t) + 8 + 11, "", count - t->rows);
}

static void add_owners(struct lead *t, uint32_t *order)
{
	static const char *const titles[] = {
		[UNIT_COUNT] = "Gems by number", [UNIT_NS] = "Gems by time", [UNIT_BYTES] = "Gems by bytes",
	};
	const struct report_totals *list = &t->r->by_owner;
	const struct order by_self = { .r = t->r, .list = list, .by_self = true };
	bool time = t->r->metric.unit == UNIT_COUNT && t->r->meta.period;
	uint32_t count = choose(&by_self, false, order);

	if (count < 2)
		return;
	add_title(t, time ? titles[UNIT_NS] : titles[t->r->metric.unit]);
	text__addf(t->out, "%*s  %*s  whose code, with the C methods that it calls%s\n", amount_width(t) + 8, "self",
		   amount_width(t) + 8, "total", ansi(t, "\033[0m"));
	for (uint32_t i = 0; i < count && i < t->rows; i++) {
		const struct report_total *of = &list->list[order[i]];

		add_amount(t, of->self);
		text__adds(t->out, "  ");
		add_amount(t, of->total);
		text__adds(t->out, "  ");
		add_owner(t->r, t->r->labels[of->label].owner, t->out);
		text__adds(t->out, "\n");
	}
	if (count > t->rows)
		text__addf(t->out, "%*s(%" PRIu32 " more)\n", 2 * (amount_width(t) + 8) + 4, "", count - t->rows);
}

static void say_none(struct lead *t)
{
	const struct owner_rules *rules = &t->r->rules;

	text__adds(t->out, "\nno method belongs to the application");
	for (uint32_t i = 0; i < rules->app_count && i < 2; i++)
		text__addf(t->out, "%s%s", i ? ", " : ": nothing ran below ", rules->apps[i]);
	text__addf(t->out, "%s (--app DIR says where it is)\n", rules->app_count > 2 ? ", ..." : "");
}

bool lead_table__has(const struct report *r)
{
	return r->samples && r->methods.count;
}

int lead_table__add(const struct report *r, const struct output_options *o, unsigned int top, struct text *out)
{
	struct lead t = { .r = r, .o = o, .out = out, .rows = (top + 2) / 3 };
	const struct order methods = { .r = r, .list = &r->methods }, lines = { .r = r, .list = &r->lines };
	uint32_t most = r->methods.count, *order, count;

	if (r->lines.count > most)
		most = r->lines.count;
	if (r->by_owner.count > most)
		most = r->by_owner.count;
	if (!lead_table__has(r))
		return 0;
	order = malloc((most + 1u) * sizeof(*order));
	if (!order)
		return -ENOMEM;
	count = choose(&methods, true, order);
	if (count) {
		add_app(&t, "The application's methods by total", &r->methods, order, count, false);
		count = choose(&lines, true, order);
		if (count)
			add_app(&t, "The application's lines by total", &r->lines, order, count, true);
	} else {
		say_none(&t);
	}
	add_owners(&t, order);
	free(order);
	return 0;
}
