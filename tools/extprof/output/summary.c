/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables for the terminal. */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/share.h"
#include "output/gc_table.h"
#include "output/lead_table.h"
#include "output/notes.h"
#include "output/process_table.h"
#include "output/recording_table.h"
#include "output/state_table.h"
#include "profile/unit.h"

#define TOP_DEFAULT 20u
#define LEFT_LEAST 24u
#define NAME_LEAST 20u
#define LINES_NARROW 110u	/* below, the table of lines has fewer columns */

struct table {
	const struct report *r;
	const struct output_options *o;
	struct text *out;
	unsigned int top;
};

static const char *ansi(const struct table *t, const char *code)
{
	return t->o->color ? code : "";
}

static int by_total(const void *a, const void *b, void *context)
{
	const struct report *r = context;
	const struct report_label *x = &r->labels[*(const uint32_t *)a];
	const struct report_label *y = &r->labels[*(const uint32_t *)b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_self(const void *a, const void *b, void *context)
{
	const struct report *r = context;
	const struct report_label *x = &r->labels[*(const uint32_t *)a];
	const struct report_label *y = &r->labels[*(const uint32_t *)b];

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return by_total(a, b, context);
}

/* The labels of methods and other code, or those of a kind of groups.  Returns how many. */
static uint32_t choose_labels(const struct report *r, bool groups, uint8_t kind, uint32_t *order)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->label_count; i++) {
		const struct frame *f = &r->labels[i].frame;

		if (groups ? f->kind == kind : frame__part(f, ROWS_BY_METHOD) == PART_OWN)
			order[count++] = i;
	}
	return count;
}

/* Keep the details with that key.  "": those that have no table of their own. */
static uint32_t choose_details(const struct report *r, const char *key, uint32_t *order, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		const char *own = r->labels[order[i]].frame.key;
		bool has_table = !strcmp(own, DETAIL_HOLDER) || !strcmp(own, DETAIL_HOLDER_THREAD);

		if (*key ? !strcmp(own, key) : !has_table)
			order[kept++] = order[i];
	}
	return kept;
}

/* Columns of an amount: "1023.9 MiB". */
static int amount_width(const struct table *t)
{
	return t->r->metric.unit == UNIT_COUNT ? 8 : 10;
}

/* Columns of an amount with its share. */
static int share_width(const struct table *t)
{
	return amount_width(t) + 8;
}

/* "    1234  12.3 %  ", in the unit of the report. */
static void add_amount(struct table *t, uint64_t amount)
{
	struct text text = { 0 };

	unit__add_amount(t->r->metric.unit, amount, &text);
	text__addf(t->out, "%*s %5.1f %%  ", amount_width(t), text__string(&text), share__percent(amount, t->r->samples));
	text__free(&text);
}

static void add_table_head(struct table *t, const char *title)
{
	text__addf(t->out, "\n%s%s%s\n%s", ansi(t, "\033[1m"), title, ansi(t, "\033[0m"), ansi(t, "\033[2m"));
}

/* Columns of a row that are left behind `used`; at least some are. */
static size_t left_of(const struct table *t, size_t used)
{
	return t->o->width > used + LEFT_LEAST ? t->o->width - used : LEFT_LEAST;
}

/* Append the text, cut in the middle if the terminal is too narrow. */
static void add_fitting(struct table *t, size_t used, const char *s)
{
	columns__add_ends(t->out, s, t->o->width ? left_of(t, used) : columns__of(s), false);
}

static void add_group(struct table *t, uint64_t amount, const char *name)
{
	add_amount(t, amount);
	add_fitting(t, (size_t)share_width(t) + 2, name);
	text__adds(t->out, "\n");
}

/* Append "path:line"; in so many columns, if these are not 0.  Its end tells it apart. */
static void add_place(struct table *t, const char *path, int32_t line, bool approximate, size_t columns)
{
	struct text place = { 0 };

	report__add_place(t->o->width ? owner__short_place(path, &t->r->rules) : path, line, approximate, &place);
	columns__add_end(t->out, text__string(&place), t->o->width ? columns : place.length);
	t->out->failed |= place.failed;
	text__free(&place);
}

/* The amount in which threads ran.  Running has no frame of its own, so it is the rest beside all waits.  0: it is not known, or not a
 * part of the report. */
static uint64_t running_of(const struct report *r, uint8_t kind)
{
	const struct mode *mode = r->meta.mode;
	uint64_t waits = 0;

	if (kind != FRAME_STATE || !r->all_states || !mode->has_states || !(mode->sources & 1u << SOURCE_CPU))
		return 0;
	for (uint32_t i = 0; i < r->label_count; i++)
		if (r->labels[i].frame.kind == kind)
			waits += r->labels[i].total;
	return waits < r->samples ? r->samples - waits : 0;
}

/* Add the table of one kind of outermost frames, of states, or of details with that key; nothing if the report has no such frames. */
static void add_groups(struct table *t, const char *title, const char *column, uint8_t kind, const char *key, uint32_t *order)
{
	const struct report *r = t->r;
	uint32_t count = choose_labels(r, true, kind, order);
	uint64_t running = running_of(r, kind);

	if (kind == FRAME_DETAIL)
		count = choose_details(r, key, order, count);
	if (!count)
		return;
	qsort_r(order, count, sizeof(*order), by_total, (void *)r);
	add_table_head(t, title);
	text__addf(t->out, "%*s  %s%s\n", share_width(t), t->r->metric.name, column, ansi(t, "\033[0m"));
	for (uint32_t i = 0; i < count && i < t->top; i++) {
		const struct report_label *l = &r->labels[order[i]];

		if (running > l->total) {
			add_group(t, running, "running");
			running = 0;
		}
		add_group(t, l->total, l->name);
	}
	if (running)
		add_group(t, running, "running");
	if (count > t->top)
		text__addf(t->out, "%*s(%" PRIu32 " more)\n", share_width(t) + 2, "", count - t->top);
}

/* A native function is told by its file. */
static bool has_module(const struct report_label *l)
{
	return l->frame.kind == FRAME_NATIVE && !l->frame.bracketed && *l->frame.module && !*l->frame.path;
}

static void add_module(struct table *t, const char *path, size_t columns)
{
	const char *name = basename(path);

	columns__add_end(t->out, name, t->o->width ? columns : strlen(name));
}

static void add_methods(struct table *t, const char *title, uint32_t *order, bool self)
{
	const struct report *r = t->r;
	uint32_t count = choose_labels(r, false, 0, order), rows = 0;
	size_t width = NAME_LEAST, limit, left;

	if (count)
		qsort_r(order, count, sizeof(*order), self ? by_self : by_total, (void *)r);
	while (rows < count && rows < t->top) {
		const struct report_label *l = &r->labels[order[rows]];

		if (!(self ? l->self : l->total))
			break;
		if (columns__of(l->name) > width)
			width = columns__of(l->name);
		rows++;
	}
	left = left_of(t, 2 * ((size_t)share_width(t) + 2) + 2);
	limit = t->o->width > 80 ? (t->o->width - 28) * 3 / 5 : 44;
	if (t->o->width && limit > left * 3 / 5)
		limit = left * 3 / 5;
	if (width > limit)
		width = limit;
	add_table_head(t, title);
	text__addf(t->out, "%*s  %*s  ", share_width(t), "self", share_width(t), "total");
	columns__add_ends(t->out, "method", width, true);
	text__addf(t->out, "  file%s\n", ansi(t, "\033[0m"));
	for (uint32_t i = 0; i < rows; i++) {
		const struct report_label *l = &r->labels[order[i]];

		add_amount(t, l->self);
		add_amount(t, l->total);
		columns__add_ends(t->out, l->name, width, *l->frame.path || has_module(l));
		if (has_module(l)) {
			text__adds(t->out, "  ");
			add_module(t, l->frame.module, left > width ? left - width : 2);
		} else if (*l->frame.path) {
			text__adds(t->out, "  ");
			add_place(t, l->frame.path, r->detail >= REPORT_BY_LINE && l->frame.line ? l->frame.line :
				  l->frame.first_line, l->frame.approximate, left > width ? left - width : 2);
		}
		text__adds(t->out, "\n");
	}
	if (rows == t->top && rows < count)
		text__addf(t->out, "%*s(%" PRIu32 " more)\n", share_width(t) + 2, "", count - rows);
}

static const char *lines_title(const struct report *r)
{
	if (r->meta.mode->lives)
		return "Lines that made most of what lives";
	if (r->metric.unit == UNIT_BYTES)
		return "Lines that allocated most";
	return r->meta.mode == &mode_cpu ? "Lines that ran most" : "Lines that cost most";
}

static void add_lines(struct table *t)
{
	const struct report *r = t->r;
	unsigned int rows = t->top / 2;
	bool approximate = false, narrow = t->o->width && t->o->width < LINES_NARROW;
	size_t left = left_of(t, (narrow ? 2u : 3u) * ((size_t)share_width(t) + 2)), from;

	if (!r->lines.count || !r->lines.list[0].self || !rows)
		return;
	add_table_head(t, lines_title(r));
	text__addf(t->out, "%*s  ", share_width(t), "self");
	if (!narrow)
		text__addf(t->out, "%*s  ", share_width(t), "own code");
	text__addf(t->out, "%*s  line%s\n", share_width(t), "total", ansi(t, "\033[0m"));
	for (uint32_t i = 0; i < r->lines.count && i < rows && r->lines.list[i].self; i++) {
		const struct report_total *l = &r->lines.list[i];

		add_amount(t, l->self);
		if (!narrow)
			add_amount(t, l->own);
		add_amount(t, l->total);
		add_place(t, r->labels[l->label].frame.path, l->line, l->approximate, left * 3 / 5);
		text__adds(t->out, "  ");
		columns__add_ends(t->out, r->labels[l->label].name, t->o->width ? left - left * 3 / 5 - 2 :
				  columns__of(r->labels[l->label].name), false);
		text__adds(t->out, "\n");
		approximate |= l->approximate;
	}
	from = t->out->length;
	text__adds(t->out, "  (self: the line itself, and the C methods, collections and waits that it ran into; total: "
		   "with the Ruby methods that it calls)\n");
	if (approximate)
		text__adds(t->out, "  (~ approximate: JIT code does not note each line)\n");
	columns__wrap(t->out, from, t->o->width);
}

static void add_cpu(struct table *t)
{
	const struct report_meta *m = &t->r->meta;
	double sampled = (double)process_table__sampled(t->r, m->all_modes.cpu_taken) / 1e9;
	double cpu = (double)m->cpu_time / 1e9;

	if (m->whole)
		text__addf(t->out, "CPU used in all %.1f s that were recorded", m->whole);
	else
		text__adds(t->out, "CPU used");
	text__addf(t->out, ": %.2f s by samples, %.2f s by the kernel's account, ", sampled, cpu);
	/* A sample stands for its whole period: by chance there can be a few too many. */
	if (cpu >= sampled)
		text__addf(t->out, "%.2f s unsampled, ", cpu - sampled);
	text__addf(t->out, "%.0f %% of one CPU\n", 100.0 * sampled / (m->whole ? m->whole : m->duration));
}

static void add_version(const struct report_version *v, struct text *out)
{
	size_t length = out->length;

	report_version__add_text(v, out);
	if (out->length > length)
		text__adds(out, "\n");
}

/* Add what the profile is of, and how much CPU time the program used. */
static void add_head(struct table *t)
{
	const struct report_meta *m = &t->r->meta;
	struct text *out = t->out;
	size_t from;

	text__adds(out, ansi(t, "\033[1m"));
	report__add_whose(t->r, "process", out);
	text__addf(out, "%s  ", ansi(t, "\033[0m"));
	add_fitting(t, 30, m->command);
	text__adds(out, "\n");
	from = out->length;
	text__addf(out, "%s%s, %s for %.1f s%s", *m->ruby_version ? "ruby " : "no ruby", m->ruby_version, m->source, m->duration, t->r->recording_count ? " in all" : "");
	if (m->paused)
		text__addf(out, ", paused for %.1f s", (double)m->paused / 1e9);
	text__addf(out, " (%s)\n", m->ended);
	if (*m->trigger)
		text__addf(out, "trigger: %s\n", m->trigger);
	add_version(&m->version, out);
	if (m->duration > 0 && m->cpu_period)
		add_cpu(t);
	columns__wrap(out, from, t->o->width);
}

/* Threads that have nothing to do are no part of what follows. */
static void add_idle(struct table *t)
{
	size_t from = t->out->length;

	if (!t->r->idle.row_count)
		return;
	report__add_idle(t->r, t->out);
	text__adds(t->out, "\n");
	columns__wrap(t->out, from, t->o->width);
}

static const char *own_title(const struct report *r)
{
	switch (r->metric.unit) {
	case UNIT_BYTES:
		return "By bytes in the method itself";
	case UNIT_NS:
		return "By time in the method itself";
	default:
		return r->meta.period ? "By time in the method itself" : "By number in the method itself";
	}
}

static const char *all_title(const struct report *r)
{
	switch (r->metric.unit) {
	case UNIT_BYTES:
		return "By bytes in the method and what it calls";
	case UNIT_NS:
		return "By time in the method and what it calls";
	default:
		return r->meta.period ? "By time in the method and what it calls" :
		       "By number in the method and what it calls";
	}
}

/* Add a title that tells several modes apart. */
static void add_mode(struct table *t)
{
	const struct mode *mode = t->r->meta.mode;
	struct text total = { 0 };

	if (t->r->meta.modes < 2)
		return;
	unit__add_with_name(&t->r->metric, t->r->samples, &total);
	text__addf(t->out, "\n%s== %s: %s, %s ==%s\n", ansi(t, "\033[1m"), mode->name, mode->help,
		   text__string(&total), ansi(t, "\033[0m"));
	text__free(&total);
}

/* "By state" */
static const char *below_title(const struct report *r, char *title, size_t size)
{
	snprintf(title, size, "By %s", frame_kind_names[mode__below(r->meta.mode)]);
	return title;
}

static int add_report(struct table *t)
{
	char title[32];
	const struct report *r = t->r;
	uint32_t *order = calloc(r->label_count + 1u, sizeof(*order));
	size_t from;

	if (!order)
		return -ENOMEM;
	add_mode(t);
	if (r->samples) {
		/* The table of processes has more to say about them than this one. */
		if (processes__followed(&r->processes) < 2)
			add_groups(t, "By process", "process", FRAME_PROCESS, "", order);
		add_groups(t, "By cgroup", "cgroup", FRAME_CGROUP, "", order);
		add_groups(t, "By thread", "thread", FRAME_THREAD, "", order);
		add_groups(t, "By label", "label", FRAME_LABEL, "", order);
		add_groups(t, below_title(r, title, sizeof(title)), title + 3, mode__below(r->meta.mode), "", order);
		add_groups(t, "By who held what was waited for", "where the holder was", FRAME_DETAIL, DETAIL_HOLDER, order);
		add_groups(t, "By thread that held it", "thread", FRAME_DETAIL, DETAIL_HOLDER_THREAD, order);
		add_groups(t, "By what was waited for", "what", FRAME_DETAIL, "", order);
		add_methods(t, own_title(r), order, true);
		add_methods(t, all_title(r), order, false);
		add_lines(t);
	}
	if (r->pauses)
		gc_table__add(r, t->o, t->top, t->out);
	from = t->out->length;
	notes__add(r, t->out);
	columns__wrap(t->out, from, t->o->width);
	free(order);
	return 0;
}

static int write_summary(const struct report *reports, uint32_t count, const struct output_options *o,
			 FILE *to)
{
	struct text out = { 0 };
	struct table t = { .r = reports, .o = o, .out = &out, .top = o->top ? o->top : TOP_DEFAULT };
	int err = 0;

	add_head(&t);
	/* It is the same for all modes of waits. */
	for (uint32_t i = 0; i < count; i++)
		if (reports[i].idle.row_count) {
			t.r = &reports[i];
			add_idle(&t);
			break;
		}
	for (uint32_t i = 0; i < count && !err; i++) {
		t.r = &reports[i];
		if (!lead_table__has(t.r))
			continue;
		add_mode(&t);
		err = lead_table__add(t.r, o, t.top, &out);
	}
	recording_table__add(reports, o, &out);
	if (!err)
		err = process_table__add(reports, o, t.top, &out);
	if (!err)
		err = process_table__add_unfollowed(reports, o, t.top, &out);
	/* It is the same for all modes of waits. */
	for (uint32_t i = 0; i < count && !err; i++)
		if (reports[i].threads) {
			err = state_table__add(&reports[i], o, t.top, &out);
			break;
		}
	for (uint32_t i = 0; i < count && !err; i++) {
		t.r = &reports[i];
		err = add_report(&t);
	}
	if (!err)
		return text__write(&out, to);
	text__free(&out);
	return err;
}

const struct output_format output_summary = {
	.name = "summary",
	.suffixes = { ".summary" },
	.help = "tables of methods and lines, as on the terminal",
	.detail = REPORT_BY_CODE,
	.write = write_summary,
};
