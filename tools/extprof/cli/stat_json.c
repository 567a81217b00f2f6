/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures for programs.  What is not known is null, and "missing" says why. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "cli/stat.h"

#define N(x) ((json_int_t)(x))

/* Why the figure is not known of all processes. */
static void miss(json_t *missing, const char *name, const struct extprof_figure *f)
{
	if (!f->known || f->missing)
		json_object_set_new(missing, name, json_string(f->missing ? f->missing : "there was no process to measure"));
}

/* Takes the object. */
static json_t *if_known(const struct extprof_figure *f, json_t *object)
{
	if (f->known)
		return object;
	json_decref(object);
	return json_null();
}

static json_t *lengths(const struct extprof_lengths *l)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:s?, s:o}", "count", N(l->count), "total_ns", N(l->total), "p50_ns",
			 N(l->p50), "p99_ns", N(l->p99), "longest_ns", N(l->longest), "longest_thread",
			 l->longest_thread, "longest_pid", l->longest_pid ? json_integer(l->longest_pid) : json_null());
}

static json_t *gvl(const struct extprof_figures *f)
{
	json_t *holders = json_array();

	for (size_t i = 0; i < f->holder_count; i++)
		json_array_append_new(holders, json_pack("{s:s?, s:i, s:I}", "thread", f->holders[i].thread, "pid",
							 (int)f->holders[i].pid, "looks", N(f->holders[i].looks)));
	return json_pack("{s:I, s:I, s:o, s:o}", "looks", N(f->gvl.looks), "held", N(f->gvl.held), "contended",
			 f->gvl.contention.known ? json_integer(N(f->gvl.contended)) : json_null(), "holders", holders);
}

static json_t *gvl_waits(const struct extprof_figures *f)
{
	json_t *o = lengths(&f->gvl_waits.lengths);

	json_object_set_new(o, "lost", json_integer(N(f->gvl_waits.lost)));
	json_object_set_new(o, "waiting", json_integer(N(f->gvl_waits.waiting)));
	json_object_set_new(o, "waiting_longest_ns", json_integer(N(f->gvl_waits.waiting_longest)));
	return o;
}

static json_t *gc_reasons(const struct extprof_gc_figures *gc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < gc->reason_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:b, s:I, s:I}", "reason", gc->reasons[i].name, "major",
						      gc->reasons[i].major, "pauses", N(gc->reasons[i].pauses),
						      "time_ns", N(gc->reasons[i].time)));
	return list;
}

static json_t *gc_pauses(const struct extprof_gc_figures *gc)
{
	json_t *o = lengths(&gc->pauses);
	json_t *phases = json_pack("{s:I, s:I, s:I, s:I}", "mark_ns", N(gc->mark), "sweep_ns", N(gc->sweep),
				   "compact_ns", N(gc->compact), "other_ns", N(gc->other));

	json_object_set_new(o, "waited_for_cpu_ns", json_integer(N(gc->waited)));
	json_object_set_new(o, "lost", json_integer(N(gc->lost)));
	json_object_set_new(o, "phases", phases);
	json_object_set_new(o, "reasons", if_known(&gc->reasons_figure, gc_reasons(gc)));
	return o;
}

static json_t *states(const struct extprof_figures *f)
{
	json_t *by_state = json_object();

	for (size_t i = 0; i < f->state_count; i++) {
		/* Looks do not meet each wait; how often a thread got a CPU is known. */
		bool counted = !f->thread_looks || !strcmp(f->states[i].state, "running");

		json_object_set_new(by_state, f->states[i].state,
				    json_pack("{s:I, s:o, s:I}", "time_ns", N(f->states[i].time), "count",
					      counted ? json_integer(N(f->states[i].count)) : json_null(), "error_ns",
					      N(f->thread_looks ? f->state_errors[i] : 0)));
	}
	return json_pack("{s:I, s:I, s:I, s:o, s:o}", "at_end", N(f->threads), "lives_ns", N(f->lives), "lost",
			 N(f->threads_lost), "states", by_state, "looks",
			 f->thread_looks ? json_integer(N(f->thread_looks)) : json_null());
}

/* Of gvl.looks, those that met a collection. */
static json_t *gc_looks(const struct extprof_figures *f)
{
	json_t *reasons = json_array();

	for (size_t i = 0; i < f->gc_reason_look_count; i++)
		json_array_append_new(reasons, json_pack("{s:s, s:b, s:I}", "reason", f->gc_reason_looks[i].name, "major",
							 f->gc_reason_looks[i].major, "looks",
							 N(f->gc_reason_looks[i].looks)));
	return json_pack("{s:I, s:I, s:I, s:I, s:o}", "mark", N(f->gc_mark_looks), "sweep", N(f->gc_sweep_looks), "compact",
			 N(f->gc_compact_looks), "other", N(f->gc_other_looks), "reasons", reasons);
}

/* The longest wait for the GVL that a look met. */
static json_t *longest_met(const struct extprof_figures *f)
{
	return json_pack("{s:I, s:s?, s:o}", "ns", N(f->longest_gvl_wait_met), "thread", f->longest_gvl_wait_thread, "pid",
			 f->longest_gvl_wait_pid ? json_integer(f->longest_gvl_wait_pid) : json_null());
}

static json_t *calls(const struct extprof_figures *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->call_count; i++) {
		const struct extprof_call_figures *c = &f->calls[i];

		json_array_append_new(list, json_pack("{s:s?, s:I, s:b, s:I, s:I}", "name", c->name, "number",
						      N(c->number), "compat", c->compat, "count", N(c->count),
						      "time_ns", N(c->time)));
	}
	return json_pack("{s:o, s:I, s:I}", "calls", list, "not_returned", N(f->calls_not_returned), "lost",
			 N(f->calls_lost));
}

static json_t *missing_of(const struct extprof_figures *f)
{
	json_t *missing = json_object();

	miss(missing, "cpu", &f->cpu.figure);
	miss(missing, "switches", &f->switches.figure);
	miss(missing, "faults", &f->faults.figure);
	miss(missing, "memory", &f->memory.figure);
	miss(missing, "gvl", &f->gvl.figure);
	miss(missing, "gvl.contended", &f->gvl.contention);
	miss(missing, "gvl_waits", &f->gvl_waits.figure);
	miss(missing, "gc_cycles", &f->gc.cycles_figure);
	miss(missing, "gc_pauses", &f->gc.figure);
	miss(missing, "gc_pauses.reasons", &f->gc.reasons_figure);
	miss(missing, "allocations", &f->alloc.figure);
	miss(missing, "malloc", &f->alloc.malloc_figure);
	miss(missing, "threads", &f->states_figure);
	return missing;
}

static json_t *figures(const struct extprof_figures *f, const char *kind)
{
	json_t *o = json_pack("{s:s, s:o, s:i, s:s, s:s, s:s, s:b, s:I, s:I}", "kind", kind, "pid",
			      f->pid ? json_integer(f->pid) : json_null(), "processes", (int)f->processes, "command",
			      f->command, "ruby_version", f->ruby_version, "interface", f->interface, "ended", f->ended,
			      "from_ns", N(f->from), "until_ns", N(f->until));
	json_t *part;

	part = json_pack("{s:I, s:I, s:I}", "total_ns", N(f->cpu.total), "user_ns", N(f->cpu.user), "system_ns",
			 N(f->cpu.system));
	json_object_set_new(o, "cpu", if_known(&f->cpu.figure, part));
	part = json_pack("{s:I, s:I}", "voluntary", N(f->switches.voluntary), "involuntary", N(f->switches.involuntary));
	json_object_set_new(o, "switches", if_known(&f->switches.figure, part));
	part = json_pack("{s:I, s:I}", "minor", N(f->faults.minor), "major", N(f->faults.major));
	json_object_set_new(o, "faults", if_known(&f->faults.figure, part));
	part = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "resident_bytes", N(f->memory.resident), "anonymous_bytes",
			 N(f->memory.anonymous), "file_bytes", N(f->memory.file), "shared_bytes", N(f->memory.shared),
			 "swapped_bytes", N(f->memory.swapped), "peak_bytes", N(f->memory.peak));
	json_object_set_new(o, "memory", if_known(&f->memory.figure, part));
	json_object_set_new(o, "gvl", if_known(&f->gvl.figure, gvl(f)));
	json_object_set_new(o, "longest_gvl_wait_met", f->longest_gvl_wait_met ? longest_met(f) : json_null());
	json_object_set_new(o, "gc_looks", if_known(&f->gvl.figure, gc_looks(f)));
	json_object_set_new(o, "gvl_waits", if_known(&f->gvl_waits.figure, gvl_waits(f)));
	part = json_pack("{s:I, s:I}", "all", N(f->gc.cycles), "major", N(f->gc.major_cycles));
	json_object_set_new(o, "gc_cycles", if_known(&f->gc.cycles_figure, part));
	json_object_set_new(o, "gc_pauses", if_known(&f->gc.figure, gc_pauses(&f->gc)));
	part = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "bytes", N(f->alloc.bytes), "objects", N(f->alloc.objects),
			 "objects_deviation", N(f->alloc.objects_deviation), "samples", N(f->alloc.samples), "lost", N(f->alloc.lost), "interval_bytes",
			 N(f->alloc.interval));
	json_object_set_new(o, "allocations", if_known(&f->alloc.figure, part));
	part = json_pack("{s:I, s:I}", "bytes", N(f->alloc.malloc_bytes), "samples", N(f->alloc.malloc_samples));
	json_object_set_new(o, "malloc", if_known(&f->alloc.malloc_figure, part));
	json_object_set_new(o, "threads", if_known(&f->states_figure, states(f)));
	if (f->calls_figure.known)
		json_object_set_new(o, "syscalls", calls(f));
	json_object_set_new(o, "missing", missing_of(f));
	return o;
}

static json_t *methods(struct extprof_report *r)
{
	const struct extprof_total *t;
	json_t *list = json_array();

	for (size_t i = 0; (t = extprof_report_total(r, EXTPROF_TOTAL_METHODS, i)); i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:I, s:I}", "name", t->frame->name, "path", t->path,
						      "first_line", (int)t->line, "self", N(t->self), "total",
						      N(t->total)));
	return json_pack("{s:I, s:o}", "samples", N(extprof_report_facts(r)->total), "methods", list);
}

/* Takes the object.  An object that could not be made whole is NULL. */
static int write_line(json_t *o, FILE *to)
{
	int err = o ? 0 : -ENOMEM;

	if (!err && !json_dumpf(o, to, JSON_COMPACT))
		putc('\n', to);
	json_decref(o);
	return err;
}

int stat_json__write_interval(const struct extprof_figures *f, FILE *to)
{
	return write_line(figures(f, "interval"), to);
}

int stat_json__write_total(const struct stat_result *r, FILE *to)
{
	json_t *o = figures(r->figures->total, "total"), *processes = json_array();

	for (size_t i = 0; i < r->figures->process_count; i++)
		json_array_append_new(processes, figures(r->figures->processes[i], "process"));
	json_object_set_new(o, "by_process", processes);
	json_object_set_new(o, "reader", r->reader ? json_string(r->reader) : json_null());
	if (r->report)
		json_object_set_new(o, "cpu_samples", methods(r->report));
	json_object_set_new(o, "own_cpu_ns", json_integer(N(r->own_cpu)));
	json_object_set_new(o, "recording_ended", json_string(r->ended ? r->ended : ""));
	return write_line(o, to);
}
