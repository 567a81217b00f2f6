/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/recording_table.h"

#include <inttypes.h>
#include <time.h>

/* More rows are shown as other tables are. */
#define ROWS_MAX 64

/* Are there several rates? */
static bool has_rates(const struct report *r)
{
	for (uint32_t i = 1; i < r->recording_count; i++)
		if (r->recordings[i].period != r->recordings[0].period)
			return true;
	return false;
}

static void add_rate(double rate, bool known, struct text *out)
{
	if (known)
		text__addf(out, "  %6.0f", rate);
	else
		text__addf(out, "  %6s", "");
}

static void add_row(const struct report *r, const char *start, double duration, uint64_t cpu_time, uint64_t missed,
		    const struct accounting *a, const struct report_recording *one, const char *name, const char *command, struct text *out)
{
	text__addf(out, "%19s  %9.1f  %9.2f  %9" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "  %6" PRIu64, start, duration,
		   (double)cpu_time / 1e9, a->taken, a->whole, accounting__truncated(a), accounting__lost(a));
	if (r->meta.missed)
		text__addf(out, "  %6" PRIu64, missed);
	if (has_rates(r))
		add_rate(one ? report_recording__rate(one) : 0, one, out);
	text__addf(out, "%s%s%s%s\n", *name ? "  " : "", name, *command ? "  " : "", command);
}

void recording_table__add(const struct report *r, const struct output_options *o, struct text *out)
{
	const char *plain = o->color ? "\033[0m" : "";
	uint32_t rows = r->recording_count <= ROWS_MAX ? r->recording_count : o->top < r->recording_count ? o->top :
			r->recording_count;

	if (!r->recording_count)
		return;
	text__addf(out, "\n%sRecordings%s\n%s%19s  %9s  %9s  %9s  %9s  %9s  %6s%s%s  recording%s\n", o->color ? "\033[1m" : "", plain,
		   o->color ? "\033[2m" : "", "start", "seconds", "CPU s", "samples", "whole", "truncated", "lost",
		   r->meta.missed ? "  missed" : "", has_rates(r) ? "    rate" : "", plain);
	/* A week has as many as nobody reads; JSON has all. */
	for (uint32_t i = 0; i < rows; i++) {
		const struct report_recording *row = &r->recordings[i];
		char start[32] = "-";
		struct tm tm;

		if (row->started && localtime_r(&row->started, &tm))
			strftime(start, sizeof(start), "%Y-%m-%d %H:%M:%S", &tm);
		add_row(r, start, row->duration, row->cpu_time, row->missed, &row->accounting, row, row->name, row->command, out);
	}
	if (rows < r->recording_count)
		text__addf(out, "  (%" PRIu32 " more)\n", r->recording_count - rows);
	add_row(r, "all", r->meta.duration, r->meta.cpu_time, r->meta.missed, &r->meta.accounting, NULL, "", "", out);
}
