/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/lead_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/columns.h"
#include "base/share.h"
#include "output/rows.h"
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

static int amount_width(const struct lead *t)
{
	return t->r->metric.unit == UNIT_COUNT ? 8 : 10;
}

/* "    1234  12.3 %" */
static void add_amount(struct lead *t, uint64_t amount)
{
	struct text text = { 0 };

	unit__add_amount(t->r->metric.unit, amount, &text);
	text__addf(t->out, "%*s %5.1f %%", amount_width(t), text__string(&text), share__percent(amount, t->r->samples));
	text__free(&text);
}

static void add_title(struct lead *t, const char *title)
{
	text__addf(t->out, "\n%s%s%s\n%s", ansi(t, "\033[1m"), title, ansi(t, "\033[0m"), ansi(t, "\033[2m"));
}

/* "40.8 %  String#gsub": what it calls, and its part of all. */
static void add_callee(struct lead *t, const struct row *row, size_t width)
{
	struct text name = { 0 };

	rows__add_callee(t->r, row, &name);
	if (name.length) {
		text__addf(t->out, "  %5.1f %%  ", share__percent(row->of->called, t->r->samples));
		columns__add_ends(t->out, name.data, width, false);
	}
	text__adds(t->out, "\n");
	t->out->failed |= name.failed;
	text__free(&name);
}

/* Several blocks of one method have one name. */
static bool needs_place(const struct row *row)
{
	return row->line && !strncmp(row->name, "block ", 6);
}

static void add_name(const struct lead *t, const struct row *row, bool line, struct text *name)
{
	if (line) {
		report__add_place(owner__short_path(row->path, &t->r->rules), row->line, row->approximate, name);
		return;
	}
	text__adds(name, row->name);
	if (needs_place(row)) {
		text__adds(name, " ");
		report__add_place(basename(row->path), row->line, row->approximate, name);
	}
}

/* Methods or lines of the application. */
static void add_app(struct lead *t, const char *title, const struct rows *rows, bool line)
{
	unsigned int width = t->o->width ? t->o->width : WIDTH_DEFAULT;
	unsigned int used = (unsigned int)amount_width(t) + 8 + 2 + 8 + 2 + 2 + 7 + 2;
	unsigned int left = width > used + 2 * NAME_LEAST ? width - used : 2 * NAME_LEAST;
	/* A place is told apart by its end, and is short without the directory of the application. */
	size_t names = left * 3 / 5, callees = left - names;

	if (!rows->count)
		return;
	add_title(t, title);
	text__addf(t->out, "%*s  %8s  ", amount_width(t) + 8, "total", "own code");
	columns__add_ends(t->out, line ? "line" : "method", names, true);
	text__addf(t->out, "  of it most in%s\n", ansi(t, "\033[0m"));
	for (uint32_t i = 0; i < rows->count && i < t->rows; i++) {
		const struct row *row = &rows->list[i];
		struct text name = { 0 };

		add_name(t, row, line, &name);
		add_amount(t, row->total);
		text__addf(t->out, "  %6.1f %%  ", share__percent(row->of->own, t->r->samples));
		columns__add_ends(t->out, text__string(&name), names, row->of->calls != CALLS_UNKNOWN);
		add_callee(t, row, callees);
		t->out->failed |= name.failed;
		text__free(&name);
	}
	if (rows->count > t->rows)
		text__addf(t->out, "%*s(%" PRIu32 " more)\n", amount_width(t) + 8 + 12, "", rows->count - t->rows);
}

static void add_owners(struct lead *t, const struct rows *rows)
{
	static const char *const titles[] = {
		[UNIT_COUNT] = "Gems by number", [UNIT_NS] = "Gems by time", [UNIT_BYTES] = "Gems by bytes",
	};
	bool time = t->r->metric.unit == UNIT_COUNT && t->r->meta.period;
	const unsigned int used = 2 * ((unsigned int)amount_width(t) + 8 + 2);

	if (rows->count < 2)
		return;
	add_title(t, time ? titles[UNIT_NS] : titles[t->r->metric.unit]);
	text__addf(t->out, "%*s  %*s  whose code%s%s\n", amount_width(t) + 8, "self",
		   amount_width(t) + 8, "total", t->o->width && t->o->width < used + 46 ? "" : ", with the C methods that it calls", ansi(t, "\033[0m"));
	for (uint32_t i = 0; i < rows->count && i < t->rows; i++) {
		const struct row *row = &rows->list[i];
		struct text name = { 0 };

		add_amount(t, row->self);
		text__adds(t->out, "  ");
		add_amount(t, row->total);
		text__adds(t->out, "  ");
		rows__add_owner(t->r, row, &name);
		columns__add_ends(t->out, text__string(&name), t->o->width > used + NAME_LEAST ? t->o->width - used : t->o->width ?
				  NAME_LEAST : name.length, false);
		text__adds(t->out, "\n");
		t->out->failed |= name.failed;
		text__free(&name);
	}
	if (rows->count > t->rows)
		text__addf(t->out, "%*s(%" PRIu32 " more)\n", 2 * (amount_width(t) + 8) + 4, "", rows->count - t->rows);
}

static bool has_ruby(const struct report *r)
{
	for (uint32_t i = 0; i < r->label_count; i++)
		if (r->labels[i].frame.kind == FRAME_RUBY || r->labels[i].frame.kind == FRAME_C)
			return true;
	return false;
}

static void say_none(struct lead *t)
{
	const struct owner_rules *rules = &t->r->rules;
	size_t from;

	text__adds(t->out, "\n");
	from = t->out->length;
	text__adds(t->out, "no method belongs to the application");
	for (uint32_t i = 0; i < rules->app_count && i < 2; i++)
		text__addf(t->out, "%s%s", i ? ", " : ": nothing ran below ", rules->apps[i]);
	text__addf(t->out, "%s (--app DIR says where it is)\n", rules->app_count > 2 ? ", ..." : "");
	columns__wrap(t->out, from, t->o->width);
}

bool lead_table__has(const struct report *r)
{
	return r->samples && r->methods.count;
}

int lead_table__add(const struct report *r, const struct output_options *o, unsigned int top, struct text *out)
{
	struct lead t = { .r = r, .o = o, .out = out, .rows = (top + 2) / 3 };
	struct rows methods = { 0 }, lines = { 0 }, gems = { 0 };
	int err;

	if (!lead_table__has(r))
		return 0;
	err = rows__init(&methods, r, ROWS_APP_METHODS);
	if (!err)
		err = rows__init(&lines, r, ROWS_APP_LINES);
	if (!err)
		err = rows__init(&gems, r, ROWS_GEMS);
	if (!err && methods.count) {
		add_app(&t, "The application's methods by total", &methods, false);
		add_app(&t, "The application's lines by total", &lines, true);
	} else if (!err && has_ruby(r)) {
		say_none(&t);
	}
	if (!err)
		add_owners(&t, &gems);
	rows__free(&methods);
	rows__free(&lines);
	rows__free(&gems);
	return err;
}
