/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/process_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"

#define UNFOLLOWED_LEAST 5000000ull	/* ns */
#define COMMAND_LEAST 24u
#define ROW_COLUMNS 104u	/* without the command and how it ended */

uint64_t process_table__sampled(const struct report *r, uint64_t cpu_taken)
{
	return cpu_taken * r->meta.cpu_period;
}

/* CPU time that no sample could stand for, ns. */
static uint64_t unfollowed_time(const struct process_row *row)
{
	return row->cpu_time_unfollowed + (process_row__is_followed(row) ? 0 : row->cpu_time);
}

static int most_samples(const void *a, const void *b, void *context)
{
	const struct process_row *rows = context;
	const struct process_row *x = &rows[*(const uint32_t *)a], *y = &rows[*(const uint32_t *)b];

	if (x->kernel.taken != y->kernel.taken)
		return x->kernel.taken > y->kernel.taken ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int most_unfollowed(const void *a, const void *b, void *context)
{
	const struct process_row *rows = context;
	uint64_t x = unfollowed_time(&rows[*(const uint32_t *)a]);
	uint64_t y = unfollowed_time(&rows[*(const uint32_t *)b]);

	if (x != y)
		return x > y ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* The numbers of the rows that are of interest, in order.  NULL: out of memory. */
static uint32_t *choose(const struct processes *p, bool (*want)(const struct process_row *row),
			int (*compare)(const void *a, const void *b, void *context), uint32_t *count)
{
	uint32_t *order = malloc((p->count + 1u) * sizeof(*order));

	*count = 0;
	for (uint32_t i = 0; order && i < p->count; i++)
		if (want(&p->rows[i]))
			order[(*count)++] = i;
	if (order && *count)
		qsort_r(order, *count, sizeof(*order), compare, p->rows);
	return order;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* Since the start of the recording, or "-". */
static void add_moment(const struct report *r, uint64_t when, struct text *out)
{
	if (!when)
		text__addf(out, "  %8s", "-");
	else if (when < r->meta.started_at)
		text__addf(out, "  %8.1f", -seconds(r->meta.started_at - when));
	else
		text__addf(out, "  %8.1f", seconds(when - r->meta.started_at));
}

static void add_seconds(struct text *out, int width, bool known, uint64_t ns)
{
	if (known)
		text__addf(out, "  %*.2f", width, seconds(ns));
	else
		text__addf(out, "  %*s", width, "-");
}

/* Samples and CPU time of one process, or of all.  A recording that did not end does not know the time. */
static void add_account(const struct report *r, const struct accounting *a, bool known, uint64_t cpu_time, struct text *out)
{
	uint64_t sampled = process_table__sampled(r, a->cpu_taken);

	text__addf(out, "  %8" PRIu64, a->taken);
	add_seconds(out, 8, r->meta.cpu_period, sampled);
	add_seconds(out, 8, known, cpu_time);
	/* Without samples of what runs, CPU time that has none is no loss.  By chance samples can stand for more. */
	add_seconds(out, 9, r->meta.cpu_period && known && cpu_time >= sampled, cpu_time - sampled);
	text__addf(out, "  %8" PRIu64 "  %9" PRIu64 "  %6" PRIu64, a->whole, accounting__truncated(a),
		   accounting__lost(a));
}

static void add_title(const char *title, const struct output_options *o, struct text *out)
{
	text__addf(out, "\n%s%s%s\n%s", o->color ? "\033[1m" : "", title, o->color ? "\033[0m" : "",
		   o->color ? "\033[2m" : "");
}

static void add_head_end(const struct output_options *o, struct text *out)
{
	text__addf(out, "%s\n", o->color ? "\033[0m" : "");
}

/* The command at the end of a line of which `used` columns are taken.  On a narrow terminal the line is
 * longer than that. */
static void add_command(const char *command, const struct output_options *o, size_t used, struct text *out)
{
	size_t width = columns__of(command);

	if (o->width)
		width = o->width > used + COMMAND_LEAST ? o->width - used : COMMAND_LEAST;
	columns__add_ends(out, command, width, false);
	text__adds(out, "\n");
}

static const char *ending(const struct process_row *row)
{
	return row->ended[0] ? row->ended : "runs";
}

static void add_losses(const struct process_row *row, struct text *out)
{
	const char *separator = "";
	struct accounting a;

	process_row__account(row, &a);
	if (!accounting__lost(&a))
		return;
	text__addf(out, "  lost of process %d: ", row->pid);
	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		if (!a.lost[i])
			continue;
		text__addf(out, "%s%s: %" PRIu64, separator, loss__key(i), a.lost[i]);
		separator = ", ";
	}
	text__adds(out, "\n");
}

/* The sum of these rows. */
static void sum_up(const struct processes *p, const uint32_t *order, uint32_t count,
		   struct accounting *sum, uint64_t *cpu_time)
{
	memset(sum, 0, sizeof(*sum));
	*cpu_time = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct accounting a;

		process_row__account(&p->rows[order[i]], &a);
		accounting__add(sum, &a);
		*cpu_time += p->rows[order[i]].cpu_time;
	}
}

int process_table__add(const struct report *r, const struct output_options *o, unsigned int rows,
		       struct text *out)
{
	const struct processes *p = &r->processes;
	uint32_t count = 0, *order = choose(p, process_row__is_followed, most_samples, &count);
	/* The rows are of all modes. */
	const struct accounting *all = &r->meta.all_modes;
	struct accounting sum, rest;
	size_t width = strlen("ended");
	uint64_t cpu_time, rest_time;

	if (!order)
		return -ENOMEM;
	if (count < 2) {
		free(order);
		return 0;
	}
	if (rows > count)
		rows = count;
	for (uint32_t i = 0; i < rows; i++)
		if (columns__of(ending(&p->rows[order[i]])) > width)
			width = columns__of(ending(&p->rows[order[i]]));
	sum_up(p, order, count, &sum, &cpu_time);
	add_title("Processes", o, out);
	text__addf(out, "%10s  %8s  %8s  %8s  %9s  %8s  %9s  %6s  %8s  %8s  %-*s  %s", "pid", "samples",
		   "sampled", "CPU s", "unsampled", "whole", "truncated", "lost", "start", "end", (int)width,
		   "ended", "command");
	add_head_end(o, out);
	for (uint32_t i = 0; i < rows; i++) {
		const struct process_row *row = &p->rows[order[i]];
		struct accounting a;

		process_row__account(row, &a);
		text__addf(out, "%10d", row->pid);
		add_account(r, &a, cpu_time, row->cpu_time, out);
		add_moment(r, row->started, out);
		add_moment(r, row->ended_at, out);
		text__adds(out, "  ");
		columns__add_ends(out, ending(row), width, true);
		text__adds(out, "  ");
		add_command(row->command, o, ROW_COLUMNS + width, out);
	}
	if (rows < count) {
		char more[32];

		snprintf(more, sizeof(more), "%" PRIu32 " more", count - rows);
		sum_up(p, order + rows, count - rows, &rest, &rest_time);
		text__addf(out, "%10s", more);
		add_account(r, &rest, cpu_time, rest_time, out);
		text__adds(out, "\n");
	}
	/* Processes beyond PROCESSES_MAX.  Their CPU time is not known. */
	if (all->taken > sum.taken && r->meta.cpu_period)
		text__addf(out, "%10s  %8" PRIu64 "  %8.2f\n", "others", all->taken - sum.taken,
			   seconds(process_table__sampled(r, all->cpu_taken - sum.cpu_taken)));
	else if (all->taken > sum.taken)
		text__addf(out, "%10s  %8" PRIu64 "  %8s\n", "others", all->taken - sum.taken, "-");
	text__addf(out, "%10s", "all");
	add_account(r, all, cpu_time, cpu_time, out);
	text__adds(out, "\n");
	for (uint32_t i = 0; i < rows; i++)
		add_losses(&p->rows[order[i]], out);
	free(order);
	return 0;
}

static bool is_unfollowed(const struct process_row *row)
{
	return unfollowed_time(row) > 0;
}

int process_table__add_unfollowed(const struct report *r, const struct output_options *o,
				  unsigned int rows, struct text *out)
{
	const struct processes *p = &r->processes;
	uint32_t count = 0, shown = 0, *order = choose(p, is_unfollowed, most_unfollowed, &count);
	uint64_t all = 0, rest = 0;

	if (!order)
		return -ENOMEM;
	/* Each ruby that is attached has used some CPU time before: less than can be shown says nothing.
	 * Many that are short say something in sum. */
	while (shown < count && shown < rows && unfollowed_time(&p->rows[order[shown]]) >= UNFOLLOWED_LEAST)
		shown++;
	for (uint32_t i = 0; i < count; i++) {
		all += unfollowed_time(&p->rows[order[i]]);
		if (i >= shown)
			rest += unfollowed_time(&p->rows[order[i]]);
	}
	if (rest < UNFOLLOWED_LEAST) {
		count = shown;
		all -= rest;
	}
	if (!count) {
		free(order);
		return 0;
	}
	add_title("CPU time that was not profiled", o, out);
	text__addf(out, "%10s  %8s  %-22s  %s", "pid", "CPU s", "why", "command");
	add_head_end(o, out);
	for (uint32_t i = 0; i < shown; i++) {
		const struct process_row *row = &p->rows[order[i]];

		text__addf(out, "%10d  %8.2f  %-22s  ", row->pid, seconds(unfollowed_time(row)),
			   row->watched ? "child, not followed" :
			   !process_row__is_followed(row) ? "no ruby to profile" :
			   row->replaced ? "another program" : *row->ruby_version ? "ruby not yet attached" : "not yet attached");
		add_command(row->command, o, 46, out);
	}
	if (count > shown) {
		char more[32];

		snprintf(more, sizeof(more), "%" PRIu32 " more", count - shown);
		text__addf(out, "%10s  %8.2f  %s\n", more, seconds(rest),
			   shown < rows ? "less than 5 ms each" : "less than these each");
	}
	if (count > 1)
		text__addf(out, "%10s  %8.2f\n", "all", seconds(all));
	free(order);
	return 0;
}
