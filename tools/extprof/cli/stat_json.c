/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures for programs.  A figure that is not known is null, and "missing" says why. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "cli/stat.h"

#define N(x) ((json_int_t)(x))

/* Puts a value where its key says: "gc_pauses.phases.mark_ns".  Takes the value. */
static void put(json_t *o, const char *key, json_t *value)
{
	const char *dot = strchr(key, '.');
	char name[64];
	json_t *inner;

	if (!dot) {
		json_object_set_new(o, key, value);
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(dot - key), key);
	inner = json_object_get(o, name);
	if (!inner) {
		inner = json_object();
		json_object_set_new(o, name, inner);
	}
	put(inner, dot + 1, value);
}

/* How much of the key is its group: the object that is null if the first of its figures is not known. */
static size_t group_of(const struct extprof_figure *v)
{
	return strcspn(v->key, ".");
}

static bool same_group(const struct extprof_figure *a, const struct extprof_figure *b)
{
	return group_of(a) == group_of(b) && !strncmp(a->key, b->key, group_of(a));
}

/* Why a figure, or all of a group, is not known of all processes. */
static void miss(json_t *missing, const struct extprof_figure *v, const struct extprof_figure *first)
{
	char group[64];

	if (!v->missing || (v != first && v->missing == first->missing))
		return;
	snprintf(group, sizeof(group), "%.*s", (int)group_of(v), v->key);
	json_object_set_new(missing, v == first ? group : v->key, json_string(v->missing));
}

static void put_values(json_t *o, const struct extprof_figures *f)
{
	const struct extprof_figure *first = f->values[0];
	json_t *missing = json_object();

	for (size_t i = 0; i < f->value_count; i++) {
		const struct extprof_figure *v = f->values[i];
		char group[64];

		if (!same_group(v, first))
			first = v;
		/* They are asked for by an option of their own. */
		if (!first->known && !strncmp(v->key, "syscalls.", 9))
			continue;
		snprintf(group, sizeof(group), "%.*s", (int)group_of(v), v->key);
		miss(missing, v, first);
		if (!first->known)
			json_object_set_new(o, group, json_null());
		else
			put(o, v->key, v->known ? json_integer(N(v->value)) : json_null());
	}
	json_object_set_new(o, "missing", missing);
}

/* Into a group that is known.  Takes the value. */
static void add(json_t *o, const char *group, const char *name, json_t *value)
{
	json_t *to = json_object_get(o, group);

	if (json_is_object(to))
		json_object_set_new(to, name, value);
	else
		json_decref(value);
}

static void add_longest(json_t *o, const char *group, const char *thread, const char *pid, const struct extprof_longest *l)
{
	add(o, group, thread, l->thread ? json_string(l->thread) : json_null());
	add(o, group, pid, l->pid ? json_integer(l->pid) : json_null());
}

static json_t *holders(const struct extprof_figures *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->holder_count; i++)
		json_array_append_new(list, json_pack("{s:s?, s:i, s:I}", "thread", f->holders[i]->thread, "pid",
						      (int)f->holders[i]->pid, "looks", N(f->holders[i]->looks)));
	return list;
}

static json_t *gc_reasons(const struct extprof_figures *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->gc_reason_count; i++) {
		const struct extprof_gc_reason *r = f->gc_reasons[i];

		json_array_append_new(list, json_pack("{s:s, s:b, s:I, s:I}", "reason", r->name, "major", r->major,
						      "pauses", N(r->pauses), "time_ns", N(r->time)));
	}
	return list;
}

static json_t *gc_reasons_met(const struct extprof_figures *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->gc_reason_met_count; i++) {
		const struct extprof_gc_reason *r = f->gc_reasons_met[i];

		json_array_append_new(list, json_pack("{s:s, s:b, s:I}", "reason", r->name, "major", r->major, "looks",
						      N(r->looks)));
	}
	return list;
}

static json_t *states(const struct extprof_figures *f)
{
	json_t *by_state = json_object();

	for (size_t i = 0; i < f->state_count; i++) {
		const struct extprof_state_figures *s = f->states[i];
		/* Looks do not meet each wait; how often a thread got a CPU is known. */
		bool counted = !f->values[EXTPROF_THREAD_LOOKS]->known || !strcmp(s->state, "running");

		json_object_set_new(by_state, s->state,
				    json_pack("{s:I, s:o, s:I}", "time_ns", N(s->time), "count",
					      counted ? json_integer(N(s->count)) : json_null(), "error_ns", N(s->error)));
	}
	return by_state;
}

static json_t *calls(const struct extprof_figures *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->call_count; i++) {
		const struct extprof_call_figures *c = f->calls[i];

		json_array_append_new(list, json_pack("{s:s?, s:I, s:b, s:I, s:I}", "name", c->name, "number",
						      N(c->number), "compat", c->compat, "count", N(c->count),
						      "time_ns", N(c->time)));
	}
	return list;
}

static json_t *figures(const struct extprof_figures *f, const char *kind)
{
	json_t *o = json_pack("{s:s, s:o, s:i, s:s, s:s, s:s, s:b, s:I, s:I}", "kind", kind, "pid",
			      f->pid ? json_integer(f->pid) : json_null(), "processes", (int)f->processes, "command",
			      f->command, "ruby_version", f->ruby_version, "interface", f->interface, "ended", f->ended,
			      "from_ns", N(f->from), "until_ns", N(f->until));

	put_values(o, f);
	add(o, "gvl", "holders", holders(f));
	add(o, "gc_looks", "reasons", gc_reasons_met(f));
	add_longest(o, "gvl_waits", "longest_thread", "longest_pid", f->gvl_wait);
	add_longest(o, "gc_pauses", "longest_thread", "longest_pid", f->gc_pause);
	add_longest(o, "longest_gvl_wait_met", "thread", "pid", f->gvl_wait_met);
	if (f->values[EXTPROF_GC_REASONS]->known)
		add(o, "gc_pauses", "reasons", gc_reasons(f));
	add(o, "threads", "states", states(f));
	add(o, "syscalls", "calls", calls(f));
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
