/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures for people. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/share.h"
#include "cli/amounts.h"
#include "cli/stat.h"

#define LABEL_WIDTH 18

static uint64_t value(const struct extprof_figures *f, enum extprof_figure_id id)
{
	return f->values[id]->value;
}

static bool is_known(const struct extprof_figures *f, enum extprof_figure_id id)
{
	return f->values[id]->known;
}

static double seconds(const struct extprof_figures *f)
{
	return f->until > f->from ? (double)(f->until - f->from) / 1e9 : 0;
}

static double per_second(const struct extprof_figures *f, uint64_t count)
{
	return seconds(f) > 0 ? (double)count / seconds(f) : 0;
}

/* The error of a share that was found by so many looks, in 95 % of all cases, in points.  Several GVLs can be held at
 * one look. */
static double error_of_share(uint64_t part, uint64_t looks)
{
	double share = share__of(part, looks);

	if (share > 1)
		share = 0.5;
	/* A share of nothing, or of all, is not exact either: of n looks 3/n can have been missed. */
	return looks ? fmax(196 * sqrt(share * (1 - share) / (double)looks), fmin(300 / (double)looks, 100)) : 0;
}

/* -- intervals --------------------------------------------------------------------------------- */

enum column {
	COLUMN_TIME, COLUMN_CPU, COLUMN_GVL, COLUMN_GVL_WAITS, COLUMN_P50, COLUMN_P99, COLUMN_LONGEST, COLUMN_GC, COLUMN_GC_TIME,
	COLUMN_PAUSES, COLUMN_ALLOCATED, COLUMN_SWITCHES, COLUMN_FAULTS, COLUMNS
};

/* A blank stands before each but the first. */
static const struct {
	const char *title;
	int width;
} columns[COLUMNS] = {
	[COLUMN_TIME] = { "time", 9 }, [COLUMN_CPU] = { "CPU", 7 }, [COLUMN_GVL] = { "GVL", 6 },
	[COLUMN_GVL_WAITS] = { "GVL waits", 9 }, [COLUMN_P50] = { "p50", 9 }, [COLUMN_P99] = { "p99", 9 },
	[COLUMN_LONGEST] = { "longest", 9 }, [COLUMN_GC] = { "GC", 6 }, [COLUMN_GC_TIME] = { "GC time", 9 },
	[COLUMN_PAUSES] = { "pauses", 6 }, [COLUMN_ALLOCATED] = { "allocated", 10 }, [COLUMN_SWITCHES] = { "switches", 9 },
	[COLUMN_FAULTS] = { "faults", 9 },
};

/* The more important first: in a narrow terminal the others are in the total alone. */
static const uint8_t order[COLUMNS] = {
	COLUMN_TIME, COLUMN_CPU, COLUMN_GVL, COLUMN_GVL_WAITS, COLUMN_GC_TIME, COLUMN_ALLOCATED, COLUMN_P99, COLUMN_GC, COLUMN_PAUSES,
	COLUMN_LONGEST, COLUMN_SWITCHES, COLUMN_FAULTS, COLUMN_P50,
};

/* A mask of the columns that a line of that width has room for.  0: all of them. */
static uint32_t columns_in(unsigned int width)
{
	uint32_t has = 1u << COLUMN_TIME;
	int left = (int)(width < 4096 ? width : 4096) - columns[COLUMN_TIME].width;

	for (int i = 1; i < COLUMNS; i++) {
		if (width && columns[order[i]].width + 1 > left)
			break;
		has |= 1u << order[i];
		left -= columns[order[i]].width + 1;
	}
	return has;
}

void stat_text__write_head(unsigned int width, FILE *to)
{
	uint32_t has = columns_in(width);

	for (int i = 0; i < COLUMNS; i++)
		if (has & 1u << i)
			fprintf(to, "%s%*s", i ? " " : "", columns[i].width, columns[i].title);
	putc('\n', to);
}

/* "-": it is not known, and the total says why. */
static void write_share(const struct extprof_figures *f, enum extprof_figure_id id, uint64_t whole, int width, FILE *to)
{
	if (is_known(f, id))
		fprintf(to, " %*.1f%%", width - 1, share__percent(value(f, id), whole));
	else
		fprintf(to, " %*s", width, "-");
}

static void write_cell(bool known, const char *text, int width, FILE *to)
{
	fprintf(to, " %*s", width, known ? text : "-");
}

static void write_count(const struct extprof_figures *f, enum extprof_figure_id id, uint64_t count, int width, FILE *to)
{
	char text[AMOUNT_TEXT];

	write_cell(is_known(f, id), amount__count(count, text), width, to);
}

static void write_time(const struct extprof_figures *f, enum extprof_figure_id id, int width, FILE *to)
{
	char text[AMOUNT_TEXT];

	write_cell(is_known(f, id), amount__time(value(f, id), text), width, to);
}

/* Write a figure of waits.  If there were no waits, it has no value. */
static void write_wait(const struct extprof_figures *f, enum extprof_figure_id id, int width, FILE *to)
{
	char text[AMOUNT_TEXT];

	write_cell(is_known(f, id) && value(f, EXTPROF_GVL_WAITS), amount__time(value(f, id), text), width, to);
}

static void write_allocated(const struct extprof_figures *f, FILE *to)
{
	char text[AMOUNT_TEXT];

	write_cell(is_known(f, EXTPROF_ALLOC_BYTES), amount__bytes((double)value(f, EXTPROF_ALLOC_BYTES), text), 10, to);
}

static uint64_t switches(const struct extprof_figures *f)
{
	return value(f, EXTPROF_SWITCHES_VOLUNTARY) + value(f, EXTPROF_SWITCHES_INVOLUNTARY);
}

static uint64_t faults(const struct extprof_figures *f)
{
	return value(f, EXTPROF_FAULTS_MINOR) + value(f, EXTPROF_FAULTS_MAJOR);
}

static void write_column(const struct extprof_figures *f, enum column column, FILE *to)
{
	int width = columns[column].width;

	switch (column) {
	case COLUMN_TIME: fprintf(to, "%7.3f s", (double)f->until / 1e9); break;
	case COLUMN_CPU: write_share(f, EXTPROF_CPU_TIME, f->until - f->from, width, to); break;
	case COLUMN_GVL: write_share(f, EXTPROF_GVL_HELD, value(f, EXTPROF_GVL_LOOKS), width, to); break;
	case COLUMN_GVL_WAITS: write_count(f, EXTPROF_GVL_WAITS, value(f, EXTPROF_GVL_WAITS), width, to); break;
	case COLUMN_P50: write_wait(f, EXTPROF_GVL_WAITS_P50, width, to); break;
	case COLUMN_P99: write_wait(f, EXTPROF_GVL_WAITS_P99, width, to); break;
	case COLUMN_LONGEST: write_wait(f, EXTPROF_GVL_WAITS_LONGEST, width, to); break;
	case COLUMN_GC: write_count(f, EXTPROF_GC_CYCLES, value(f, EXTPROF_GC_CYCLES), width, to); break;
	case COLUMN_GC_TIME: write_time(f, EXTPROF_GC_PAUSES_TIME, width, to); break;
	case COLUMN_PAUSES: write_count(f, EXTPROF_GC_PAUSES, value(f, EXTPROF_GC_PAUSES), width, to); break;
	case COLUMN_ALLOCATED: write_allocated(f, to); break;
	case COLUMN_SWITCHES: write_count(f, EXTPROF_SWITCHES_VOLUNTARY, switches(f), width, to); break;
	case COLUMN_FAULTS: write_count(f, EXTPROF_FAULTS_MINOR, faults(f), width, to); break;
	case COLUMNS: break;
	}
}

void stat_text__write_interval(const struct extprof_figures *f, unsigned int width, FILE *to)
{
	uint32_t has = columns_in(width);

	for (int i = 0; i < COLUMNS; i++)
		if (has & 1u << i)
			write_column(f, (enum column)i, to);
	putc('\n', to);
}

/* -- the total --------------------------------------------------------------------------------- */

static void write_label(const char *label, FILE *to)
{
	fprintf(to, "%-*s", LABEL_WIDTH, label);
}

/* False: it is not known, and that was said. */
static bool begin(const char *label, const struct extprof_figures *f, enum extprof_figure_id id, FILE *to)
{
	const char *missing = f->values[id]->missing;

	write_label(label, to);
	if (is_known(f, id))
		return true;
	fprintf(to, "%14s   not known: %s\n", "-", missing ? missing : "this reader does not tell it");
	return false;
}

static void end(const struct extprof_figures *f, enum extprof_figure_id id, FILE *to)
{
	if (f->values[id]->missing)
		fprintf(to, "; not of all processes: %s", f->values[id]->missing);
	putc('\n', to);
}

static void write_cpu(const struct extprof_figures *f, FILE *to)
{
	char total[AMOUNT_TEXT], user[AMOUNT_TEXT], system[AMOUNT_TEXT];

	if (!begin("CPU time", f, EXTPROF_CPU_TIME, to))
		return;
	fprintf(to, "%14s   %.1f %% of one CPU; user %s, system %s", amount__time(value(f, EXTPROF_CPU_TIME), total),
		share__percent(value(f, EXTPROF_CPU_TIME), f->until - f->from), amount__time(value(f, EXTPROF_CPU_USER), user),
		amount__time(value(f, EXTPROF_CPU_SYSTEM), system));
	end(f, EXTPROF_CPU_TIME, to);
}

/* Two counts and their sum. */
static void write_two(const char *label, const struct extprof_figures *f, enum extprof_figure_id one, const char *of_one,
		      enum extprof_figure_id two, const char *of_two, FILE *to)
{
	uint64_t sum = value(f, one) + value(f, two);
	char a[AMOUNT_TEXT], b[AMOUNT_TEXT], c[AMOUNT_TEXT];

	if (!begin(label, f, one, to))
		return;
	fprintf(to, "%14s   %.0f/s; %s %s, %s %s", amount__count(sum, a), per_second(f, sum), of_one,
		amount__count(value(f, one), b), of_two, amount__count(value(f, two), c));
	end(f, one, to);
}

static void write_memory(const struct extprof_figures *f, FILE *to)
{
	static const char *const names[] = {
		"resident; anonymous ", ", file ", ", shared ", "; swapped ", "; peak ",
	};
	char text[AMOUNT_TEXT];

	if (!begin("memory", f, EXTPROF_MEMORY_RESIDENT, to))
		return;
	fprintf(to, "%14s   ", amount__bytes((double)value(f, EXTPROF_MEMORY_RESIDENT), text));
	for (int i = 0; i < EXTPROF_MEMORY_PEAK - EXTPROF_MEMORY_RESIDENT; i++)
		fprintf(to, "%s%s", names[i], amount__bytes((double)value(f, EXTPROF_MEMORY_ANONYMOUS + i), text));
	end(f, EXTPROF_MEMORY_RESIDENT, to);
}

static void write_heap(const struct extprof_figures *f, FILE *to)
{
	uint64_t live = value(f, EXTPROF_HEAP_LIVE_SLOTS), slots = value(f, EXTPROF_HEAP_SLOTS);
	char a[AMOUNT_TEXT], b[AMOUNT_TEXT], c[AMOUNT_TEXT], d[AMOUNT_TEXT];

	if (!begin("heap", f, EXTPROF_HEAP_LIVE_SLOTS, to))
		return;
	fprintf(to, "%14s   live slots, %.1f %% of %s; %s pages, %s", amount__count(live, a), share__percent(live, slots), amount__count(slots, b),
		amount__count(value(f, EXTPROF_HEAP_PAGES), c), amount__bytes((double)value(f, EXTPROF_HEAP_BYTES), d));
	fprintf(to, "; malloc %s since GC, limit %s", amount__bytes((double)value(f, EXTPROF_HEAP_MALLOC), a),
		amount__bytes((double)value(f, EXTPROF_HEAP_MALLOC_LIMIT), b));
	end(f, EXTPROF_HEAP_LIVE_SLOTS, to);
}

/* "10.0 % +- 1.9", of the looks at who has the GVL. */
static void write_looks(const struct extprof_figures *f, uint64_t part, FILE *to)
{
	uint64_t looks = value(f, EXTPROF_GVL_LOOKS);

	fprintf(to, "%.1f %% +- %.1f", share__percent(part, looks), error_of_share(part, looks));
}

static void write_gvl(const struct extprof_figures *f, FILE *to)
{
	uint64_t looks = value(f, EXTPROF_GVL_LOOKS), held = value(f, EXTPROF_GVL_HELD);
	char a[AMOUNT_TEXT];

	if (!begin("GVL held", f, EXTPROF_GVL_HELD, to))
		return;
	fprintf(to, "%12.1f %%   +- %.1f (%s looks)", share__percent(held, looks), error_of_share(held, looks), amount__count(looks, a));
	if (is_known(f, EXTPROF_GVL_CONTENDED)) {
		fprintf(to, "; others waited for it ");
		write_looks(f, value(f, EXTPROF_GVL_CONTENDED), to);
	}
	end(f, EXTPROF_GVL_HELD, to);
}

/* "; p50 1.2 ms, p99 3 ms, longest 4 ms of [thread x (12)]".  Their figures follow the count. */
static void write_lengths(const struct extprof_figures *f, enum extprof_figure_id count, const struct extprof_longest *of,
			  FILE *to)
{
	char a[AMOUNT_TEXT], b[AMOUNT_TEXT], c[AMOUNT_TEXT];

	if (!value(f, count))
		return;
	fprintf(to, "; p50 %s, p99 %s, longest %s", amount__time(value(f, count + 2), a), amount__time(value(f, count + 3), b),
		amount__time(value(f, count + 4), c));
	if (of->thread)
		fprintf(to, " of %s", of->thread);
	if (f->processes > 1 && of->pid)
		fprintf(to, " in process %d", of->pid);
}

static void write_wait_met(const struct extprof_figures *f, FILE *to)
{
	char a[AMOUNT_TEXT];

	if (!is_known(f, EXTPROF_GVL_WAIT_MET))
		return;
	write_label("  by looks", to);
	fprintf(to, "%14s   or longer was the longest that was met", amount__time(value(f, EXTPROF_GVL_WAIT_MET), a));
	if (f->gvl_wait_met->thread)
		fprintf(to, ", of %s", f->gvl_wait_met->thread);
	if (f->processes > 1)
		fprintf(to, " in process %d", f->gvl_wait_met->pid);
	putc('\n', to);
}

static void write_lost(const struct extprof_figures *f, enum extprof_figure_id id, const char *what, FILE *to)
{
	char a[AMOUNT_TEXT];

	if (value(f, id))
		fprintf(to, "%-*s%14s   %s\n", LABEL_WIDTH, "  lost", amount__count(value(f, id), a), what);
}

static void write_gvl_waits(const struct extprof_figures *f, FILE *to)
{
	uint64_t count = value(f, EXTPROF_GVL_WAITS), waiting = value(f, EXTPROF_GVL_WAITING);
	char a[AMOUNT_TEXT], b[AMOUNT_TEXT];

	if (!begin("GVL waits", f, EXTPROF_GVL_WAITS, to)) {
		write_wait_met(f, to);
		return;
	}
	fprintf(to, "%14s   %.0f/s, %s in all", amount__count(count, a), per_second(f, count),
		amount__time(value(f, EXTPROF_GVL_WAITS_TIME), b));
	write_lengths(f, EXTPROF_GVL_WAITS, f->gvl_wait, to);
	end(f, EXTPROF_GVL_WAITS, to);
	if (waiting)
		fprintf(to, "%*s%14" PRIu64 "   more %s at the end, one for %s\n", LABEL_WIDTH, "  not over", waiting,
			waiting == 1 ? "waits" : "wait", amount__time(value(f, EXTPROF_GVL_WAITING_LONGEST), a));
	write_lost(f, EXTPROF_GVL_WAITS_LOST, "waits found no room in the table of the kernel", to);
}

static void write_holders(const struct extprof_figures *f, unsigned long top, FILE *to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->holder_count; i++)
		sum += f->holders[i]->looks;
	for (size_t i = 0; i < f->holder_count && i < top; i++) {
		const struct extprof_holder *h = f->holders[i];

		write_label(i ? "" : "  for whom", to);
		fprintf(to, "%12.1f %%   %s", share__percent(h->looks, sum), h->thread ? h->thread : "[other threads]");
		if (f->processes > 1)
			fprintf(to, " in process %d", h->pid);
		fprintf(to, "%s\n", i ? "" : " had the GVL while others waited");
	}
}

/* Without the probe of pauses: by the looks that met a collection. */
static void write_gc_looks(const struct extprof_figures *f, FILE *to)
{
	uint64_t looks = value(f, EXTPROF_GVL_LOOKS), all = 0;

	if (!is_known(f, EXTPROF_GC_MARK_LOOKS))
		return;
	for (int i = EXTPROF_GC_MARK_LOOKS; i <= EXTPROF_GC_OTHER_LOOKS; i++)
		all += value(f, i);
	write_label("  by looks", to);
	fprintf(to, "%12.1f %%   +- %.1f of the time; mark %.1f %%, sweep %.1f %%", share__percent(all, looks),
		error_of_share(all, looks), share__percent(value(f, EXTPROF_GC_MARK_LOOKS), looks),
		share__percent(value(f, EXTPROF_GC_SWEEP_LOOKS), looks));
	if (value(f, EXTPROF_GC_COMPACT_LOOKS))
		fprintf(to, ", compact %.1f %%", share__percent(value(f, EXTPROF_GC_COMPACT_LOOKS), looks));
	fprintf(to, ", other %.1f %%\n", share__percent(value(f, EXTPROF_GC_OTHER_LOOKS), looks));
	for (size_t i = 0; i < f->gc_reason_met_count; i++) {
		const struct extprof_gc_reason *r = f->gc_reasons_met[i];

		write_label(i ? "" : "  by reason", to);
		fprintf(to, "%12.1f %%   +- %.1f of the time; %s, %s\n", share__percent(r->looks, looks),
			error_of_share(r->looks, looks), r->name, r->major ? "major" : "minor");
	}
}

static void write_gc_phases(const struct extprof_figures *f, FILE *to)
{
	char text[AMOUNT_TEXT];

	write_label("  by phase", to);
	fprintf(to, "%14s   mark %s", "", amount__time(value(f, EXTPROF_GC_MARK), text));
	fprintf(to, ", sweep %s", amount__time(value(f, EXTPROF_GC_SWEEP), text));
	if (value(f, EXTPROF_GC_COMPACT))
		fprintf(to, ", compact %s", amount__time(value(f, EXTPROF_GC_COMPACT), text));
	fprintf(to, ", other %s", amount__time(value(f, EXTPROF_GC_OTHER), text));
	fprintf(to, "; of all this waiting for a CPU %s\n", amount__time(value(f, EXTPROF_GC_PAUSES_WAITED), text));
}

static void write_gc_reasons(const struct extprof_figures *f, FILE *to)
{
	char a[AMOUNT_TEXT], b[AMOUNT_TEXT];

	if (!is_known(f, EXTPROF_GC_REASONS)) {
		begin("  by reason", f, EXTPROF_GC_REASONS, to);
		return;
	}
	for (size_t i = 0; i < f->gc_reason_count; i++) {
		const struct extprof_gc_reason *r = f->gc_reasons[i];

		write_label(i ? "" : "  by reason", to);
		/* Ruby enters the collector before it allocates pages; that is no collection. */
		fprintf(to, "%14s   %s%s, in %s %s\n", amount__time(r->time, b), r->name,
			!strcmp(r->name, "nothing to do") ? "" : r->major ? ", major" : ", minor",
			amount__count(r->pauses, a), r->pauses == 1 ? "pause" : "pauses");
	}
}

static void write_gc(const struct extprof_figures *f, FILE *to)
{
	uint64_t time = value(f, EXTPROF_GC_PAUSES_TIME);
	char a[AMOUNT_TEXT], b[AMOUNT_TEXT];

	if (begin("GC", f, EXTPROF_GC_CYCLES, to)) {
		fprintf(to, "%14s   collections, %s major", amount__count(value(f, EXTPROF_GC_CYCLES), a),
			amount__count(value(f, EXTPROF_GC_MAJOR_CYCLES), b));
		end(f, EXTPROF_GC_CYCLES, to);
	}
	if (!begin("GC pauses", f, EXTPROF_GC_PAUSES, to)) {
		write_gc_looks(f, to);
		return;
	}
	fprintf(to, "%14s   %s in all, %.2f %% of the time", amount__count(value(f, EXTPROF_GC_PAUSES), a), amount__time(time, b),
		share__percent(time, f->until - f->from));
	write_lengths(f, EXTPROF_GC_PAUSES, f->gc_pause, to);
	end(f, EXTPROF_GC_PAUSES, to);
	if (value(f, EXTPROF_GC_PAUSES)) {
		write_gc_phases(f, to);
		write_gc_reasons(f, to);
	}
	write_lost(f, EXTPROF_GC_PAUSES_LOST, "pauses were lost", to);
}

/* "3.0 MiB   768.0 KiB/s +- 9.8 %" */
static void write_bytes(const struct extprof_figures *f, enum extprof_figure_id bytes, enum extprof_figure_id samples, FILE *to)
{
	char sum[AMOUNT_TEXT], rate[AMOUNT_TEXT];

	fprintf(to, "%14s   %s/s", amount__bytes((double)value(f, bytes), sum), amount__bytes(per_second(f, value(f, bytes)), rate));
	if (value(f, samples))
		fprintf(to, " +- %.1f %%", 196 / sqrt((double)value(f, samples)));
}

static void write_alloc(const struct extprof_figures *f, FILE *to)
{
	uint64_t objects = value(f, EXTPROF_ALLOC_OBJECTS);
	char a[AMOUNT_TEXT], b[AMOUNT_TEXT];

	if (!begin("allocated", f, EXTPROF_ALLOC_BYTES, to))
		return;
	write_bytes(f, EXTPROF_ALLOC_BYTES, EXTPROF_ALLOC_SAMPLES, to);
	fprintf(to, "; %s objects, %s/s", amount__count(objects, a), amount__count((uint64_t)per_second(f, objects), b));
	if (objects)
		fprintf(to, " +- %.1f %%", 196 * (double)value(f, EXTPROF_ALLOC_OBJECTS_DEVIATION) / (double)objects);
	fprintf(to, "; estimates (%s samples, one per %s)", amount__count(value(f, EXTPROF_ALLOC_SAMPLES), a),
		amount__bytes((double)value(f, EXTPROF_ALLOC_INTERVAL), b));
	end(f, EXTPROF_ALLOC_BYTES, to);
	if (begin("  by malloc", f, EXTPROF_MALLOC_BYTES, to)) {
		write_bytes(f, EXTPROF_MALLOC_BYTES, EXTPROF_MALLOC_SAMPLES, to);
		end(f, EXTPROF_MALLOC_BYTES, to);
	}
	write_lost(f, EXTPROF_ALLOC_LOST, "samples were lost", to);
}

/* How many threads were in a state on average, and how often. */
static void write_state(const struct extprof_figures *f, const struct extprof_state_figures *s, FILE *to)
{
	bool by_looks = is_known(f, EXTPROF_THREAD_LOOKS), running = !strcmp(s->state, "running");
	double span = seconds(f) > 0 ? 1e9 * seconds(f) : INFINITY;
	char text[AMOUNT_TEXT];

	write_label("", to);
	fprintf(to, "%14s   %.2f", amount__time(s->time, text), (double)s->time / span);
	if (by_looks && s->error)
		fprintf(to, " +- %.2f", (double)s->error / span);
	fprintf(to, " %s", s->state);
	/* Looks do not meet each wait; how often a thread got a CPU is known. */
	if (!by_looks || running)
		fprintf(to, ", %s %s%s", amount__count(s->count, text), running ? "time" : "wait", s->count == 1 ? "" : "s");
	putc('\n', to);
}

static void write_states(const struct extprof_figures *f, FILE *to)
{
	char a[AMOUNT_TEXT];

	if (!begin("threads", f, EXTPROF_THREADS, to))
		return;
	fprintf(to, "%14" PRIu64 "   at the end; on average %.2f, which were", value(f, EXTPROF_THREADS),
		seconds(f) > 0 ? (double)value(f, EXTPROF_THREADS_TIME) / 1e9 / seconds(f) : 0);
	if (is_known(f, EXTPROF_THREAD_LOOKS))
		fprintf(to, ", by %s looks", amount__count(value(f, EXTPROF_THREAD_LOOKS), a));
	end(f, EXTPROF_THREADS, to);
	for (size_t i = 0; i < f->state_count; i++)
		write_state(f, f->states[i], to);
	write_lost(f, EXTPROF_THREADS_LOST, "threads found no room in the table of the kernel", to);
}

static void write_methods(struct extprof_report *r, unsigned long top, FILE *to)
{
	uint64_t all = r ? extprof_report_facts(r)->total : 0;
	const struct extprof_total *t;

	if (!all)
		return;
	fprintf(to, "\n    self   total  method, of %" PRIu64 " samples on a CPU\n", all);
	for (size_t i = 0; i < top && (t = extprof_report_total(r, EXTPROF_TOTAL_METHODS, i)) && t->self; i++) {
		fprintf(to, "%6.1f %% %5.1f %%  %s", share__percent(t->self, all), share__percent(t->total, all), t->frame->name);
		if (t->path[0])
			fprintf(to, "  %s:%d", t->path, t->line);
		putc('\n', to);
	}
}

static void write_calls(const struct extprof_figures *f, unsigned long top, FILE *to)
{
	char a[AMOUNT_TEXT], b[AMOUNT_TEXT], c[AMOUNT_TEXT];

	if (!is_known(f, EXTPROF_CALLS_LOST))
		return;
	fprintf(to, "\n%12s %10s %10s  system call\n", "time", "mean", "calls");
	for (size_t i = 0; i < f->call_count && i < top; i++) {
		const struct extprof_call_figures *s = f->calls[i];

		fprintf(to, "%12s %10s %10s  ", amount__time(s->time, a), amount__time(s->time / s->count, b),
			amount__count(s->count, c));
		if (s->name)
			fprintf(to, "%s\n", s->name);
		else
			fprintf(to, "%s %" PRIu32 "\n", s->compat ? "32-bit system call" : "system call", s->number);
	}
	if (f->call_count > top)
		fprintf(to, "%12s %10s %10s  (%zu more)\n", "", "", "", f->call_count - top);
	if (value(f, EXTPROF_CALLS_NOT_RETURNED))
		fprintf(to, "%12s %10s %10s  calls have not returned\n", "", "",
			amount__count(value(f, EXTPROF_CALLS_NOT_RETURNED), c));
	if (value(f, EXTPROF_CALLS_LOST))
		fprintf(to, "%12s %10s %10s  calls were lost\n", "", "", amount__count(value(f, EXTPROF_CALLS_LOST), c));
}

static void write_processes(const struct extprof_figures_result *r, unsigned long top, FILE *to)
{
	size_t shown = 0;

	if (r->process_count < 2)
		return;
	fprintf(to, "\n%8s %7s %9s %10s %9s %10s  process\n", "CPU", "GVL", "GVL waits", "in all", "GC time", "allocated");
	for (size_t i = 0; i < r->process_count && shown < top; i++, shown++) {
		const struct extprof_figures *f = r->processes[i];

		write_share(f, EXTPROF_CPU_TIME, f->until - f->from, 7, to);
		write_share(f, EXTPROF_GVL_HELD, value(f, EXTPROF_GVL_LOOKS), 7, to);
		write_count(f, EXTPROF_GVL_WAITS, value(f, EXTPROF_GVL_WAITS), 9, to);
		write_time(f, EXTPROF_GVL_WAITS_TIME, 10, to);
		write_time(f, EXTPROF_GC_PAUSES_TIME, 9, to);
		write_allocated(f, to);
		if (f->pid)
			fprintf(to, "  %d %s%s\n", f->pid, f->command, f->ended ? ", ended" : "");
		else
			fprintf(to, "  [processes that have ended]\n");
	}
	if (shown < r->process_count)
		fprintf(to, "%*s(%zu more)\n", 60, "", r->process_count - shown);
}

void stat_text__write_total(const struct stat_result *r, const struct stat_options *o, FILE *to)
{
	const struct extprof_figures *f = r->figures->total;
	char a[AMOUNT_TEXT];

	if (o->interval)
		putc('\n', to);
	if (f->pid)
		fprintf(to, "process %d, %s, ruby %s", f->pid, f->command, f->ruby_version);
	else
		fprintf(to, "%" PRIu32 " processes", f->processes);
	fprintf(to, ", %.3f s (%s)\n\n", seconds(f), r->ended ? r->ended : "ended");
	write_cpu(f, to);
	write_two("context switches", f, EXTPROF_SWITCHES_VOLUNTARY, "voluntary", EXTPROF_SWITCHES_INVOLUNTARY, "involuntary",
		  to);
	write_two("page faults", f, EXTPROF_FAULTS_MINOR, "minor", EXTPROF_FAULTS_MAJOR, "major", to);
	write_memory(f, to);
	write_heap(f, to);
	write_gvl(f, to);
	write_gvl_waits(f, to);
	write_holders(f, o->top, to);
	write_gc(f, to);
	write_alloc(f, to);
	write_states(f, to);
	write_methods(r->report, o->top, to);
	write_calls(f, o->top, to);
	write_processes(r->figures, o->top, to);
	fprintf(to, "\nextprof itself used %s of CPU time\n", amount__time(r->own_cpu, a));
}
