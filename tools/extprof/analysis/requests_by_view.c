/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests by the value of a label, for people and for programs. */
#include <errno.h>
#include <inttypes.h>

#include "analysis/part_columns.h"
#include "analysis/requests_by.h"
#include "base/columns.h"
#include "base/json.h"

/* Columns of the number of requests, of a percentile, and of the mean or of what the 95th can be. */
#define COUNT_WIDTH 9u
#define PERCENTILE_WIDTH 9u
#define MEAN_WIDTH 10u
#define NAME_WIDTH_MIN 14u
/* A text with room for all percentiles, and for three columns of parts. */
#define WIDTH_WITH_ALL 110u

static const char *const percentile_names[BY_PERCENTILES] = { "p50", "p95", "p99", "max" };

static double ms(double ns)
{
	return ns / 1e6;
}

static uint32_t rows_of(const struct requests_by *b)
{
	return b->value_count < b->top ? b->value_count : b->top;
}

static uint64_t cut_of(const struct requests_by *b)
{
	uint64_t cut = 0;

	for (uint32_t i = 0; i < b->value_count; i++)
		cut += b->values[i].cut;
	return cut;
}

/* -- text ------------------------------------------------------------------------------------------ */

struct layout {
	struct part_columns parts;
	bool all;	/* percentiles; else p50 and p95 alone */
	size_t name;	/* columns */
};

static bool is_shown(const struct layout *l, int percentile)
{
	return l->all || percentile <= BY_P95;
}

static void choose_layout(const struct requests_by *b, struct layout *l)
{
	double sums[REQUEST_PARTS] = { 0 };
	uint32_t others, columns = 1;

	l->all = !b->width || b->width >= WIDTH_WITH_ALL;
	others = COUNT_WIDTH + (l->all ? BY_PERCENTILES * PERCENTILE_WIDTH + MEAN_WIDTH : 2 * PERCENTILE_WIDTH) + MEAN_WIDTH + 2;
	for (uint32_t i = 0; i < rows_of(b); i++)
		for (int j = 0; j < REQUEST_PARTS; j++)
			sums[j] += b->values[i].all.parts[j] + b->values[i].slow.parts[j];
	part_columns__fit(&l->parts, sums, !b->width ? 0 : b->width > others + NAME_WIDTH_MIN ? b->width - others - NAME_WIDTH_MIN : 1);
	for (int i = 0; i < REQUEST_PARTS; i++)
		columns += l->parts.shown[i];
	others += columns * PART_COLUMN;
	l->name = !b->width ? SIZE_MAX : b->width > others + NAME_WIDTH_MIN ? b->width - others : NAME_WIDTH_MIN;
}

static void add_mean(const struct layout *l, const struct requests_by_mean *m, struct text *out)
{
	text__addf(out, " %9.1f", ms(m->length));
	part_columns__add(&l->parts, m->parts, out);
}

static void add_value(const struct layout *l, const struct requests_by_value *v, struct text *out)
{
	text__addf(out, "%9" PRIu64, v->all.count);
	for (int i = 0; i < BY_PERCENTILES; i++) {
		if (is_shown(l, i) && v->all.count)
			text__addf(out, " %8.1f", ms((double)v->seen[i]));
		else if (is_shown(l, i))
			text__addf(out, " %8s", "-");
	}
	if (l->all && v->all.count)
		text__addf(out, " %9.1f", ms((double)v->most[BY_P95]));
	else if (l->all)
		text__addf(out, " %9s", "-");
	add_mean(l, &v->all, out);
	text__adds(out, "  ");
	columns__add_ends(out, v->name, l->name, false);
	text__addf(out, "\n");
	if (!v->all.count)
		return;
	text__addf(out, "%9" PRIu64 " %-*s", v->slow.count, l->all ? 45 : 17, "from p95 on");
	add_mean(l, &v->slow, out);
	text__adds(out, "\n");
}

int requests_by__write_text(const struct requests_by *b, FILE *to)
{
	const char *bold = b->color ? "\033[1m" : "", *dim = b->color ? "\033[2m" : "", *plain = b->color ? "\033[0m" : "";
	uint32_t rows = rows_of(b);
	struct text out = { 0 };
	struct layout l;
	size_t from;

	choose_layout(b, &l);
	text__addf(&out, "%sRequests by %s%s: %" PRIu32 ", times in ms\n%s%9s", bold, b->key, plain, b->count, dim, "requests");
	for (int i = 0; i < BY_PERCENTILES; i++)
		if (is_shown(&l, i))
			text__addf(&out, " %8s", percentile_names[i]);
	if (l.all)
		text__addf(&out, " %9s", "p95 up to");
	text__addf(&out, " %9s", "mean");
	part_columns__add_head(&l.parts, &out);
	text__addf(&out, "  %s%s\n", b->key, plain);
	for (uint32_t i = 0; i < rows; i++)
		add_value(&l, &b->values[i], &out);
	from = out.length;
	if (b->value_count > rows)
		text__addf(&out, "  (%" PRIu32 " more)\n", b->value_count - rows);
	text__addf(&out, "Times are those that were seen.  Requests can have lasted longer, by what was not seen before and after them%s.\n",
		   l.all ? ": then p95 is up to so much" : "");
	if (cut_of(b))
		text__addf(&out, "%" PRIu64 " parts of requests are not counted: they begin before a recording, or go on after it.\n", cut_of(b));
	if (b->left_out)
		text__addf(&out, "%" PRIu64 " requests are NOT counted, as there is room for %" PRIu32 ": choose a shorter time with --since and "
			   "--until, or --filter.\n", b->left_out, b->count);
	columns__wrap(&out, from, b->width);
	return text__write(&out, to);
}

/* -- for scripts ----------------------------------------------------------------------------------- */

int requests_by__write_table(const struct requests_by *b, FILE *to)
{
	uint32_t rows = rows_of(b);
	struct text out = { 0 };

	text__addf(&out, "# requests by %s: %" PRIu32 ", not whole: %" PRIu64 ", no room: %" PRIu64 ", times in us\n%s\tcut", b->key, b->count,
		   cut_of(b), b->left_out, "requests");
	for (int i = 0; i < BY_PERCENTILES; i++)
		text__addf(&out, "\t%s\t%s_up_to", percentile_names[i], percentile_names[i]);
	for (int slow = 0; slow < 2; slow++) {
		text__addf(&out, "%s\t%smean", slow ? "\tslow_requests" : "", slow ? "slow_" : "");
		for (int i = 0; i < REQUEST_PARTS; i++)
			text__addf(&out, "\t%s%s", slow ? "slow_" : "", request_part_names[i]);
	}
	text__addf(&out, "\t%s\n", b->key);
	for (uint32_t i = 0; i < rows; i++) {
		const struct requests_by_value *v = &b->values[i];

		text__addf(&out, "%" PRIu64 "\t%" PRIu64, v->all.count, v->cut);
		for (int j = 0; j < BY_PERCENTILES; j++)
			text__addf(&out, "\t%.0f\t%.0f", (double)v->seen[j] / 1e3, (double)v->most[j] / 1e3);
		for (int slow = 0; slow < 2; slow++) {
			const struct requests_by_mean *m = slow ? &v->slow : &v->all;

			if (slow)
				text__addf(&out, "\t%" PRIu64, m->count);
			text__addf(&out, "\t%.0f", m->length / 1e3);
			for (int j = 0; j < REQUEST_PARTS; j++)
				text__addf(&out, "\t%.0f", m->parts[j] / 1e3);
		}
		text__addf(&out, "\t%s\n", v->name);
	}
	if (b->value_count > rows)
		text__addf(&out, "# (other: %" PRIu32 " more)\n", b->value_count - rows);
	return text__write(&out, to);
}

static void write_percentiles(const char *name, const uint64_t *list, struct json *j)
{
	json__open(j, name, '{');
	for (int i = 0; i < BY_PERCENTILES; i++)
		json__add(j, percentile_names[i], json_integer(list[i] > INT64_MAX ? INT64_MAX : (json_int_t)list[i]));
	json__close(j, '}');
}

static void write_mean(const char *name, const struct requests_by_mean *m, struct json *j)
{
	json__open(j, name, '{');
	json__add(j, "count", json_integer((json_int_t)m->count));
	json__add(j, "mean", json_real(m->length));
	json__open(j, "parts", '{');
	for (int i = 0; i < REQUEST_PARTS; i++)
		json__add(j, request_part_names[i], json_real(m->parts[i]));
	json__close(j, '}');
	json__close(j, '}');
}

int requests_by__write_json(const struct requests_by *b, FILE *to)
{
	struct json j = { .to = to };
	uint32_t rows = rows_of(b);

	json__open(&j, NULL, '{');
	json__add(&j, "unit", json_string("ns"));
	json__add(&j, "label", json_string(b->key));
	json__add(&j, "count", json_integer(b->count));
	json__add(&j, "cut", json_integer((json_int_t)cut_of(b)));
	json__add(&j, "left_out", json_integer((json_int_t)b->left_out));
	json__open(&j, "values", '[');
	for (uint32_t i = 0; i < rows; i++) {
		const struct requests_by_value *v = &b->values[i];

		json__open(&j, NULL, '{');
		json__add(&j, "value", v->missing ? json_null() : json_string(v->name));
		if (v->missing)
			json__add(&j, "why", json_string(v->name));
		json__add(&j, "count", json_integer((json_int_t)v->all.count));
		json__add(&j, "cut", json_integer((json_int_t)v->cut));
		write_percentiles("seen", v->seen, &j);
		write_percentiles("up_to", v->most, &j);
		write_mean("all", &v->all, &j);
		write_mean("slow", &v->slow, &j);
		json__close(&j, '}');
	}
	json__close(&j, ']');
	json__add(&j, "other", json_integer(b->value_count - rows));
	json__close(&j, '}');
	if (!j.err && fputc('\n', to) == EOF)
		j.err = -errno;
	return j.err;
}
