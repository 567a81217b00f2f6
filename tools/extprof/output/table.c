/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables for scripts: columns with tabs between, amounts in the unit that the first line says, as many rows of each kind
 * as were asked for, and one with the rest.
 */
#include <inttypes.h>

#include "base/share.h"
#include "output/output.h"
#include "output/rows.h"
#include "profile/unit.h"

static void add_amount(const struct report *r, uint64_t amount, struct text *out)
{
	text__addf(out, "\t%" PRIu64 "\t%.2f", (amount + r->divisor / 2) / r->divisor, share__percent(amount, r->samples));
}

static void add_summary(const struct report *r, struct text *out)
{
	const struct report_meta *m = &r->meta;

	text__addf(out, "# %s: mode %s, %" PRIu64 " %s in %.1f s, ", *m->command ? m->command : "several programs",
		   m->mode->name, (r->samples + r->divisor / 2) / r->divisor, unit__of_divided(&r->metric, r->divisor), m->duration);
	report__add_whose(r, "pid", out);
	text__adds(out, "; ");
	accounting__add_line(&m->accounting, out);
	if (r->idle.row_count) {
		text__adds(out, "\n# ");
		report__add_idle(r, out);
	}
	text__adds(out, "\nkind\tself\tself_percent\ttotal\ttotal_percent\tname\tplace\n");
}

/* A place of the application begins below its directory, as in the summary. */
static void add_name(const struct report *r, const struct row *row, enum rows_kind kind, struct text *out)
{
	if (kind == ROWS_GEMS) {
		rows__add_owner(r, row, out);
		text__adds(out, "\t");
		return;
	}
	text__addf(out, "%s\t", row->name);
	report__add_place(rows__is_app(kind) ? owner__short_path(row->path, &r->rules) : row->path, row->line, row->approximate,
			  out);
}

static void add_rows(const struct report *r, enum rows_kind kind, unsigned int top, struct text *out)
{
	struct rows rows;

	if (rows__init(&rows, r, kind)) {
		out->failed = true;
		return;
	}
	for (uint32_t i = 0; i < rows.count && i < top; i++) {
		const struct row *row = &rows.list[i];

		text__adds(out, rows__kind_name(kind));
		add_amount(r, row->self, out);
		add_amount(r, row->total, out);
		text__adds(out, "\t");
		add_name(r, row, kind, out);
		text__adds(out, "\n");
	}
	/* Groups are of several kinds, and within one another: nothing is left of all. */
	if (rows.count > top && kind != ROWS_GROUPS) {
		text__addf(out, "%s", rows__kind_name(kind));
		add_amount(r, rows__other(&rows, top), out);
		text__addf(out, "\t\t\t(other: %" PRIu32 " more)\t\n", rows.count - top);
	}
	rows__free(&rows);
}

static int write_table(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	struct text out = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		text__adds(&out, i ? "\n" : "");
		add_summary(&reports[i], &out);
		for (int kind = 0; kind < ROWS_KINDS; kind++)
			add_rows(&reports[i], (enum rows_kind)kind, o->top, &out);
	}
	return text__write(&out, to);
}

const struct output_format output_table = {
	.name = "table",
	.suffixes = { ".tsv" },
	.help = "methods, lines and groups with tabs between columns, for scripts",
	.detail = REPORT_BY_CODE,
	.write = write_table,
};
