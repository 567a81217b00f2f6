/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures for people. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/stat.h"

#define LABEL_WIDTH 18
#define TEXT 32

/* "1.234 s" */
static const char *time_text(uint64_t ns, char text[TEXT])
{
	if (ns >= 1000000000u)
		snprintf(text, TEXT, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000u)
		snprintf(text, TEXT, "%.2f ms", (double)ns / 1e6);
	else
		snprintf(text, TEXT, "%.1f us", (double)ns / 1e3);
	return text;
}

static const char *bytes_text(double bytes, char text[TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	unsigned int i = 0;

	while (bytes >= 1024 && i < 5) {
		bytes /= 1024;
		i++;
	}
	snprintf(text, TEXT, i ? "%.1f %s" : "%.0f %s", bytes, units[i]);
	return text;
}

/* "12,345" */
static const char *count_text(uint64_t count, char text[TEXT])
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count), at = 0;

	for (int i = 0; i < length; i++) {
		if (i && !((length - i) % 3))
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

static double seconds(const struct extprof_figures *f)
{
	return f->until > f->from ? (double)(f->until - f->from) / 1e9 : 0;
}

static double per_second(const struct extprof_figures *f, uint64_t count)
{
	return seconds(f) > 0 ? (double)count / seconds(f) : 0;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Of so many looks, in 95 % of all cases, in points.  Several GVLs can be held at one look. */
static double error_of_share(uint64_t part, uint64_t looks)
{
	double share = looks ? (double)part / (double)looks : 0;

	if (share > 1)
		share = 0.5;
	/* A share of nothing, or of all, is not exact either: of n looks 3/n can have been missed. */
	return looks ? fmax(196 * sqrt(share * (1 - share) / (double)looks), fmin(300 / (double)looks, 100)) : 0;
}

/* -- intervals --------------------------------------------------------------------------------- */

void stat_text__write_head(FILE *to)
{
	fprintf(to, "%9s %7s %6s %9s %9s %9s %9s %6s %9s %6s %10s %9s %9s\n", "time", "CPU", "GVL", "GVL waits", "p50",
		"p99", "longest", "GC", "GC time", "pauses", "allocated", "switches", "faults");
}

/* "-": it is not known, and the total says why. */
static void write_share(bool known, uint64_t part, uint64_t whole, int width, FILE *to)
{
	if (known)
		fprintf(to, " %*.1f%%", width - 1, percent(part, whole));
	else
		fprintf(to, " %*s", width, "-");
}

static void write_count(bool known, uint64_t count, int width, FILE *to)
{
	char text[TEXT];

	fprintf(to, " %*s", width, known ? count_text(count, text) : "-");
}

static void write_time(bool known, uint64_t ns, int width, FILE *to)
{
	char text[TEXT];

	fprintf(to, " %*s", width, known ? time_text(ns, text) : "-");
}

void stat_text__write_interval(const struct extprof_figures *f, FILE *to)
{
	const struct extprof_gvl_wait_figures *w = &f->gvl_waits;
	bool waited = w->figure.known && w->lengths.count;
	char text[TEXT];

	fprintf(to, "%7.3f s", (double)f->until / 1e9);
	write_share(f->cpu.figure.known, f->cpu.total, f->until - f->from, 7, to);
	write_share(f->gvl.figure.known, f->gvl.held, f->gvl.looks, 6, to);
	write_count(w->figure.known, w->lengths.count, 9, to);
	write_time(waited, w->lengths.p50, 9, to);
	write_time(waited, w->lengths.p99, 9, to);
	write_time(waited, w->lengths.longest, 9, to);
	write_count(f->gc.cycles_figure.known, f->gc.cycles, 6, to);
	write_time(f->gc.figure.known, f->gc.pauses.total, 9, to);
	write_count(f->gc.figure.known, f->gc.pauses.count, 6, to);
	fprintf(to, " %10s", f->alloc.figure.known ? bytes_text((double)f->alloc.bytes, text) : "-");
	write_count(f->switches.figure.known, f->switches.voluntary + f->switches.involuntary, 9, to);
	write_count(f->faults.figure.known, f->faults.minor + f->faults.major, 9, to);
	putc('\n', to);
}

/* -- the total --------------------------------------------------------------------------------- */

static void write_label(const char *label, FILE *to)
{
	fprintf(to, "%-*s", LABEL_WIDTH, label);
}

/* False: it is not known, and that was said. */
static bool begin(const char *label, const struct extprof_figure *f, FILE *to)
{
	write_label(label, to);
	if (f->known)
		return true;
	fprintf(to, "%14s   not known: %s\n", "-", f->missing ? f->missing : "there was no process to measure");
	return false;
}

static void end(const struct extprof_figure *f, FILE *to)
{
	if (f->missing)
		fprintf(to, "; not of all processes: %s", f->missing);
	putc('\n', to);
}

static void write_cpu(const struct extprof_figures *f, FILE *to)
{
	char total[TEXT], user[TEXT], system[TEXT];

	if (!begin("CPU time", &f->cpu.figure, to))
		return;
	fprintf(to, "%14s   %.1f %% of one CPU; user %s, system %s", time_text(f->cpu.total, total),
		percent(f->cpu.total, f->until - f->from), time_text(f->cpu.user, user),
		time_text(f->cpu.system, system));
	end(&f->cpu.figure, to);
}

static void write_switches(const struct extprof_figures *f, FILE *to)
{
	uint64_t sum = f->switches.voluntary + f->switches.involuntary;
	char a[TEXT], b[TEXT], c[TEXT];

	if (!begin("context switches", &f->switches.figure, to))
		return;
	fprintf(to, "%14s   %.0f/s; voluntary %s, involuntary %s", count_text(sum, a), per_second(f, sum),
		count_text(f->switches.voluntary, b), count_text(f->switches.involuntary, c));
	end(&f->switches.figure, to);
}

static void write_faults(const struct extprof_figures *f, FILE *to)
{
	uint64_t sum = f->faults.minor + f->faults.major;
	char a[TEXT], b[TEXT], c[TEXT];

	if (!begin("page faults", &f->faults.figure, to))
		return;
	fprintf(to, "%14s   %.0f/s; minor %s, major %s", count_text(sum, a), per_second(f, sum),
		count_text(f->faults.minor, b), count_text(f->faults.major, c));
	end(&f->faults.figure, to);
}

static void write_memory(const struct extprof_figures *f, FILE *to)
{
	const struct extprof_memory_figures *m = &f->memory;
	char text[6][TEXT];

	if (!begin("memory", &m->figure, to))
		return;
	fprintf(to, "%14s   resident; anonymous %s, file %s, shared %s; swapped %s; peak %s",
		bytes_text((double)m->resident, text[0]), bytes_text((double)m->anonymous, text[1]),
		bytes_text((double)m->file, text[2]), bytes_text((double)m->shared, text[3]),
		bytes_text((double)m->swapped, text[4]), bytes_text((double)m->peak, text[5]));
	end(&m->figure, to);
}

static void write_gvl(const struct extprof_figures *f, FILE *to)
{
	char a[TEXT];

	if (!begin("GVL held", &f->gvl.figure, to))
		return;
	fprintf(to, "%12.1f %%   +- %.1f (%s looks)", percent(f->gvl.held, f->gvl.looks),
		error_of_share(f->gvl.held, f->gvl.looks), count_text(f->gvl.looks, a));
	if (f->gvl.contention.known)
		fprintf(to, "; others waited for it %.1f %% +- %.1f", percent(f->gvl.contended, f->gvl.looks),
			error_of_share(f->gvl.contended, f->gvl.looks));
	end(&f->gvl.figure, to);
}

/* "; p50 1.2 ms, p99 3 ms, longest 4 ms of [thread x (12)]" */
static void write_lengths(const struct extprof_lengths *l, bool several, FILE *to)
{
	char a[TEXT], b[TEXT], c[TEXT];

	if (!l->count)
		return;
	fprintf(to, "; p50 %s, p99 %s, longest %s", time_text(l->p50, a), time_text(l->p99, b), time_text(l->longest, c));
	if (l->longest_thread)
		fprintf(to, " of %s", l->longest_thread);
	if (several && l->longest_pid)
		fprintf(to, " in process %d", l->longest_pid);
}

static void write_gvl_waits(const struct extprof_figures *f, FILE *to)
{
	const struct extprof_gvl_wait_figures *w = &f->gvl_waits;
	char a[TEXT], b[TEXT], c[TEXT];

	if (!begin("GVL waits", &w->figure, to)) {
		if (f->longest_gvl_wait_met) {
			write_label("  by looks", to);
			fprintf(to, "%14s   or longer was the longest that was met", time_text(f->longest_gvl_wait_met, a));
			if (f->longest_gvl_wait_thread)
				fprintf(to, ", of %s", f->longest_gvl_wait_thread);
			if (f->processes > 1)
				fprintf(to, " in process %d", f->longest_gvl_wait_pid);
			putc('\n', to);
		}
		return;
	}
	fprintf(to, "%14s   %.0f/s, %s in all", count_text(w->lengths.count, a), per_second(f, w->lengths.count),
		time_text(w->lengths.total, b));
	write_lengths(&w->lengths, f->processes > 1, to);
	end(&w->figure, to);
	if (w->waiting)
		fprintf(to, "%*s%14" PRIu64 "   more %s at the end, one for %s\n", LABEL_WIDTH, "  not over", w->waiting,
			w->waiting == 1 ? "waits" : "wait", time_text(w->waiting_longest, c));
	if (w->lost)
		fprintf(to, "%*s%14s   waits found no room in the table of the kernel\n", LABEL_WIDTH, "  lost",
			count_text(w->lost, a));
}

static void write_holders(const struct extprof_figures *f, unsigned long top, FILE *to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->holder_count; i++)
		sum += f->holders[i].looks;
	for (size_t i = 0; i < f->holder_count && i < top; i++) {
		const struct extprof_holder *h = &f->holders[i];

		write_label(i ? "" : "  for whom", to);
		fprintf(to, "%12.1f %%   %s", percent(h->looks, sum), h->thread ? h->thread : "[other threads]");
		if (f->processes > 1)
			fprintf(to, " in process %d", h->pid);
		fprintf(to, "%s\n", i ? "" : " had the GVL while others waited");
	}
}

/* What is known of collections without their pauses. */
static void write_gc_looks(const struct extprof_figures *f, FILE *to)
{
	uint64_t all = f->gc_mark_looks + f->gc_sweep_looks + f->gc_compact_looks + f->gc_other_looks;

	if (!f->gvl.figure.known)
		return;
	write_label("  by looks", to);
	fprintf(to, "%12.1f %%   +- %.1f of the time; mark %.1f %%, sweep %.1f %%", percent(all, f->gvl.looks),
		error_of_share(all, f->gvl.looks), percent(f->gc_mark_looks, f->gvl.looks),
		percent(f->gc_sweep_looks, f->gvl.looks));
	if (f->gc_compact_looks)
		fprintf(to, ", compact %.1f %%", percent(f->gc_compact_looks, f->gvl.looks));
	fprintf(to, ", other %.1f %%\n", percent(f->gc_other_looks, f->gvl.looks));
	for (size_t i = 0; i < f->gc_reason_look_count; i++) {
		const struct extprof_gc_reason_looks *r = &f->gc_reason_looks[i];

		write_label(i ? "" : "  by reason", to);
		fprintf(to, "%12.1f %%   +- %.1f of the time; %s, %s\n", percent(r->looks, f->gvl.looks),
			error_of_share(r->looks, f->gvl.looks), r->name, r->major ? "major" : "minor");
	}
}

static void write_gc(const struct extprof_figures *f, FILE *to)
{
	const struct extprof_gc_figures *gc = &f->gc;
	char a[TEXT], b[TEXT], c[TEXT], d[TEXT], e[TEXT], g[TEXT];

	if (begin("GC", &gc->cycles_figure, to)) {
		fprintf(to, "%14s   collections, %s major", count_text(gc->cycles, a), count_text(gc->major_cycles, b));
		end(&gc->cycles_figure, to);
	}
	if (!begin("GC pauses", &gc->figure, to)) {
		write_gc_looks(f, to);
		return;
	}
	fprintf(to, "%14s   %s in all, %.2f %% of the time", count_text(gc->pauses.count, a),
		time_text(gc->pauses.total, b), percent(gc->pauses.total, f->until - f->from));
	write_lengths(&gc->pauses, f->processes > 1, to);
	end(&gc->figure, to);
	if (!gc->pauses.count)
		goto losses;
	write_label("  by phase", to);
	fprintf(to, "%14s   mark %s, sweep %s", "", time_text(gc->mark, b), time_text(gc->sweep, c));
	if (gc->compact)
		fprintf(to, ", compact %s", time_text(gc->compact, d));
	fprintf(to, ", other %s; of all this waiting for a CPU %s\n", time_text(gc->other, e), time_text(gc->waited, g));
	if (!gc->reasons_figure.known) {
		begin("  by reason", &gc->reasons_figure, to);
		goto losses;
	}
	for (size_t i = 0; i < gc->reason_count; i++) {
		const struct extprof_gc_reason *r = &gc->reasons[i];

		write_label(i ? "" : "  by reason", to);
		/* Ruby enters the collector before it allocates pages; that is no collection. */
		fprintf(to, "%14s   %s%s, in %s %s\n", time_text(r->time, b), r->name,
			!strcmp(r->name, "nothing to do") ? "" : r->major ? ", major" : ", minor",
			count_text(r->pauses, a), r->pauses == 1 ? "pause" : "pauses");
	}
losses:
	if (gc->lost)
		fprintf(to, "%-*s%14s   pauses were lost\n", LABEL_WIDTH, "  lost", count_text(gc->lost, a));
}

static void write_alloc(const struct extprof_figures *f, FILE *to)
{
	const struct extprof_alloc_figures *a = &f->alloc;
	char sum[TEXT], rate[TEXT], objects[TEXT], per[TEXT], samples[TEXT], interval[TEXT];

	if (!begin("allocated", &a->figure, to))
		return;
	fprintf(to, "%14s   %s/s", bytes_text((double)a->bytes, sum), bytes_text(per_second(f, a->bytes), rate));
	if (a->samples)
		fprintf(to, " +- %.1f %%", 196 / sqrt((double)a->samples));
	fprintf(to, "; %s objects, %s/s", count_text(a->objects, objects),
		count_text((uint64_t)per_second(f, a->objects), per));
	if (a->objects)
		fprintf(to, " +- %.1f %%", 196 * (double)a->objects_deviation / (double)a->objects);
	fprintf(to, "; estimates (%s samples, one per %s)", count_text(a->samples, samples),
		bytes_text((double)a->interval, interval));
	end(&a->figure, to);
	if (begin("  by malloc", &a->malloc_figure, to)) {
		fprintf(to, "%14s   %s/s", bytes_text((double)a->malloc_bytes, sum),
			bytes_text(per_second(f, a->malloc_bytes), rate));
		if (a->malloc_samples)
			fprintf(to, " +- %.1f %%", 196 / sqrt((double)a->malloc_samples));
		end(&a->malloc_figure, to);
	}
	if (a->lost)
		fprintf(to, "%-*s%14s   samples were lost\n", LABEL_WIDTH, "  lost", count_text(a->lost, samples));
}

static void write_states(const struct extprof_figures *f, FILE *to)
{
	char a[TEXT], b[TEXT];

	if (!begin("threads", &f->states_figure, to))
		return;
	fprintf(to, "%14" PRIu32 "   at the end; on average %.2f, which were", f->threads,
		seconds(f) > 0 ? (double)f->lives / 1e9 / seconds(f) : 0);
	if (f->thread_looks)
		fprintf(to, ", by %s looks", count_text(f->thread_looks, a));
	end(&f->states_figure, to);
	for (size_t i = 0; i < f->state_count; i++) {
		const struct extprof_state_figures *s = &f->states[i];

		write_label("", to);
		if (f->thread_looks && f->state_errors[i]) {
			fprintf(to, "%14s   %.2f +- %.2f %s\n", time_text(s->time, a),
				seconds(f) > 0 ? (double)s->time / 1e9 / seconds(f) : 0,
				seconds(f) > 0 ? (double)f->state_errors[i] / 1e9 / seconds(f) : 0, s->state);
			continue;
		}
		if (f->thread_looks && strcmp(s->state, "running")) {
			fprintf(to, "%14s   %.2f %s\n", time_text(s->time, a),
				seconds(f) > 0 ? (double)s->time / 1e9 / seconds(f) : 0, s->state);
			continue;
		}
		fprintf(to, "%14s   %.2f %s, %s %s\n", time_text(s->time, a),
			seconds(f) > 0 ? (double)s->time / 1e9 / seconds(f) : 0, s->state, count_text(s->count, b),
			strcmp(s->state, "running") ? s->count == 1 ? "wait" : "waits" : s->count == 1 ? "time" : "times");
	}
	if (f->threads_lost)
		fprintf(to, "%-*s%14s   threads found no room in the table of the kernel\n", LABEL_WIDTH, "  lost",
			count_text(f->threads_lost, b));
}

static void write_methods(struct extprof_report *r, unsigned long top, FILE *to)
{
	uint64_t all = r ? extprof_report_facts(r)->total : 0;
	const struct extprof_total *t;

	if (!all)
		return;
	fprintf(to, "\n    self   total  method, of %" PRIu64 " samples on a CPU\n", all);
	for (size_t i = 0; i < top && (t = extprof_report_total(r, EXTPROF_TOTAL_METHODS, i)) && t->self; i++) {
		fprintf(to, "%6.1f %% %5.1f %%  %s", percent(t->self, all), percent(t->total, all), t->frame->name);
		if (t->path[0])
			fprintf(to, "  %s:%d", t->path, t->line);
		putc('\n', to);
	}
}

static void write_calls(const struct extprof_figures *f, unsigned long top, FILE *to)
{
	char a[TEXT], b[TEXT], c[TEXT];

	if (!f->calls_figure.known)
		return;
	fprintf(to, "\n%12s %10s %10s  system call\n", "time", "mean", "calls");
	for (size_t i = 0; i < f->call_count && i < top; i++) {
		const struct extprof_call_figures *s = &f->calls[i];

		fprintf(to, "%12s %10s %10s  ", time_text(s->time, a), time_text(s->time / s->count, b),
			count_text(s->count, c));
		if (s->name)
			fprintf(to, "%s\n", s->name);
		else
			fprintf(to, "%s %" PRIu32 "\n", s->compat ? "32-bit system call" : "system call", s->number);
	}
	if (f->call_count > top)
		fprintf(to, "%12s %10s %10s  (%zu more)\n", "", "", "", f->call_count - top);
	if (f->calls_not_returned)
		fprintf(to, "%12s %10s %10s  calls have not returned\n", "", "", count_text(f->calls_not_returned, c));
	if (f->calls_lost)
		fprintf(to, "%12s %10s %10s  calls were lost\n", "", "", count_text(f->calls_lost, c));
}

static void write_processes(const struct extprof_figures_result *r, unsigned long top, FILE *to)
{
	size_t shown = 0;

	if (r->process_count < 2)
		return;
	fprintf(to, "\n%8s %7s %9s %10s %9s %10s  process\n", "CPU", "GVL", "GVL waits", "in all", "GC time", "allocated");
	for (size_t i = 0; i < r->process_count && shown < top; i++, shown++) {
		const struct extprof_figures *f = r->processes[i];
		char text[TEXT];

		write_share(f->cpu.figure.known, f->cpu.total, f->until - f->from, 7, to);
		write_share(f->gvl.figure.known, f->gvl.held, f->gvl.looks, 7, to);
		write_count(f->gvl_waits.figure.known, f->gvl_waits.lengths.count, 9, to);
		write_time(f->gvl_waits.figure.known, f->gvl_waits.lengths.total, 10, to);
		write_time(f->gc.figure.known, f->gc.pauses.total, 9, to);
		fprintf(to, " %10s", f->alloc.figure.known ? bytes_text((double)f->alloc.bytes, text) : "-");
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
	char a[TEXT];

	if (o->interval)
		putc('\n', to);
	if (f->pid)
		fprintf(to, "process %d, %s, ruby %s", f->pid, f->command, f->ruby_version);
	else
		fprintf(to, "%" PRIu32 " processes", f->processes);
	fprintf(to, ", %.3f s (%s)\n\n", seconds(f), r->ended ? r->ended : "ended");
	write_cpu(f, to);
	write_switches(f, to);
	write_faults(f, to);
	write_memory(f, to);
	write_gvl(f, to);
	write_gvl_waits(f, to);
	write_holders(f, o->top, to);
	write_gc(f, to);
	write_alloc(f, to);
	write_states(f, to);
	write_methods(r->report, o->top, to);
	write_calls(f, o->top, to);
	write_processes(r->figures, o->top, to);
	fprintf(to, "\nextprof itself used %s of CPU time\n", time_text(r->own_cpu, a));
}
