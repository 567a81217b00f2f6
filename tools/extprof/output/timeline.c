/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of each state there was at each time, by process, as JSON.  The time has up to 600 columns.  What lasted is in all
 * columns that it lasted in; `sums` has all of it, and `outside` what of it is in none.
 */
#include <errno.h>

#include "base/json.h"
#include "output/output.h"

static const char *const unit_names[] = { [UNIT_COUNT] = "count", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes" };

static void write_sums(struct json *j, const char *key, const uint64_t *sums)
{
	json__open(j, key, '{');
	for (unsigned int kind = 0; kind < CELL_KINDS; kind++)
		if (sums[kind])
			json__add(j, cell_kind__name(kind), json_integer((json_int_t)sums[kind]));
	json__close(j, '}');
}

/* NULL: out of memory. */
static json_t *list_of(const uint64_t *amounts, uint32_t columns)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && i < columns; i++) {
		if (json_array_append_new(list, json_integer((json_int_t)amounts[i]))) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static void write_row(struct json *j, const struct report *r, const struct cells_row *row, uint32_t columns, bool others)
{
	/* A node that is no process: the recording does not say which one it was. */
	const char *name = others ? "other processes" : row->key ? r->labels[r->nodes[row->key].label].name : "";

	json__open(j, NULL, '{');
	json__add(j, "name", json_string(name));
	write_sums(j, "sums", row->sums);
	write_sums(j, "outside", row->outside);
	json__open(j, "cells", '{');
	for (unsigned int kind = 0; kind < CELL_KINDS; kind++) {
		if (!row->amounts[kind])
			continue;
		json__add(j, cell_kind__name(kind), list_of(row->amounts[kind], columns));
	}
	json__close(j, '}');
	json__close(j, '}');
}

static void write_mode(struct json *j, const struct report *r)
{
	const struct cells *c = r->cells;

	json__open(j, NULL, '{');
	json__add(j, "mode", json_string(r->meta.mode->name));
	json__add(j, "metric", json_string(r->metric.name));
	json__add(j, "unit", json_string(unit_names[r->metric.unit]));
	json__add(j, "amount", json_integer((json_int_t)r->samples));
	json__add(j, "wall", json_integer((json_int_t)c->wall));
	json__add(j, "from", json_integer((json_int_t)c->from));
	json__add(j, "until", json_integer((json_int_t)c->until));
	json__add(j, "width", json_integer((json_int_t)c->width));
	json__add(j, "columns", json_integer(c->columns));
	json__open(j, "processes", '[');
	for (uint32_t i = 0; i < c->count; i++)
		write_row(j, r, &c->rows[i], c->columns, i == CELLS_ROWS_MAX - 1);
	json__close(j, ']');
	json__close(j, '}');
}

static int write_timeline(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	struct json j = { .to = to };

	(void)o;
	for (uint32_t i = 0; i < count; i++)
		if (!reports[i].cells)
			return -EINVAL;
	json__open(&j, NULL, '{');
	json__open(&j, "modes", '[');
	for (uint32_t i = 0; i < count; i++)
		write_mode(&j, &reports[i]);
	json__close(&j, ']');
	json__close(&j, '}');
	if (!j.err && fputc('\n', to) == EOF)
		j.err = -errno;
	return j.err;
}

const struct output_format output_timeline = {
	.name = "timeline",
	.suffixes = { ".timeline.json" },
	.help = "how much of each state at which time, by process, as JSON; of recordings in files",
	.detail = REPORT_BY_NAME,
	.by_value = true,
	.labels = 1u << GROUP_PROCESS,
	.write = write_timeline,
	.cells = true,
};
