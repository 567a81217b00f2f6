/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope's file format: one profile for each process or thread that the samples are grouped by.
 *
 * A profile is written as events, at which a frame opens or closes, because there are few for each sample; a list of
 * whole stacks grows with their depth.  The times of the events are sums of weights.  Samples of a recording are in the
 * order of time, if they are not too many.  Stacks of a live profile, which has no times, are in that of the alphabet.
 */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* Samples of a mode that are shown one after the other: some 50 MB.  Of more, each stack is shown once. */
#define IN_ORDER_MAX 100000u

struct writer {
	struct json json;
	const struct report *reports;
	uint32_t count;
	/* The one that is being written, and the number of its first frame. */
	const struct report *r;
	uint32_t base;
	const char *unit;	/* of its weights, as the format calls it */
	/* By depth, of the nodes that are open in the profile that is being written. */
	struct open_node {
		uint32_t label;
		uint64_t end;
		uint32_t node;	/* in the order of time */
	} *open;
	uint32_t *path;		/* by depth: nodes of the stack of a sample */
	uint32_t depth;		/* how many are open */
	uint64_t at;		/* from the start of the profile, as `end` */
};

static bool is_in_order(const struct report *r)
{
	return r->timeline && r->timeline->count <= IN_ORDER_MAX;
}

static void add_event(struct writer *w, const char *type, uint32_t label)
{
	json__add(&w->json, NULL, json_pack("{s:s, s:I, s:I}", "type", type, "frame", (json_int_t)w->base + label,
					    "at", (json_int_t)w->at));
}

static void open_frame(struct writer *w, uint32_t label, uint64_t amount)
{
	w->open[w->depth++] = (struct open_node){ .label = label, .end = w->at + amount };
	add_event(w, "O", label);
}

/* Close frames until so many are open. */
static void close_frames(struct writer *w, uint32_t depth)
{
	while (w->depth > depth) {
		w->depth--;
		w->at = w->open[w->depth].end;
		add_event(w, "C", w->open[w->depth].label);
	}
}

/* "puma (42) / worker 1 (43)" for the groups of a node; the command if there are none. */
static void add_profile_name(const struct report *r, uint32_t node, struct text *out)
{
	const struct report_label *l;

	if (!node) {
		text__adds(out, report__program(r));
		return;
	}
	l = &r->labels[r->nodes[node].label];
	if (r->nodes[node].parent) {
		add_profile_name(r, r->nodes[node].parent, out);
		text__adds(out, " / ");
	}
	frame__add_numbered(&l->frame, out);
}

/* All stacks, each once. */
static void add_stacks(struct writer *w, uint32_t node)
{
	const struct report_node *nodes = w->r->nodes, *group = &nodes[node];

	for (uint32_t i = node + 1; i < w->r->node_count && nodes[i].depth > group->depth; i++) {
		close_frames(w, nodes[i].depth - group->depth - 1);
		open_frame(w, nodes[i].label, nodes[i].total);
	}
	close_frames(w, 0);
	/* Samples that have no frame but the group. */
	if (node && group->self) {
		open_frame(w, group->label, group->self);
		close_frames(w, 0);
	}
}

/* The nodes from below the group to that of a sample; of a sample that has no frame but the group, the group. */
static uint32_t find_path(struct writer *w, uint32_t group, uint32_t node)
{
	const struct report_node *nodes = w->r->nodes;
	uint32_t depth = nodes[node].depth - nodes[group].depth;

	if (!depth) {
		w->path[0] = group;
		return group ? 1 : 0;
	}
	for (uint32_t i = depth; i-- > 0; node = nodes[node].parent)
		w->path[i] = node;
	return depth;
}

/* One sample after the other: what a sample and the next one have in common stays open. */
static void add_samples(struct writer *w, uint32_t group, const uint32_t *samples, uint32_t count)
{
	const struct moment *moments = w->r->timeline->moments;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t depth = find_path(w, group, moments[samples[i]].node), same = 0;

		while (same < depth && same < w->depth && w->open[same].node == w->path[same])
			same++;
		while (w->depth > same)
			add_event(w, "C", w->open[--w->depth].label);
		while (w->depth < depth) {
			uint32_t node = w->path[w->depth];

			w->open[w->depth++] = (struct open_node){ .label = w->r->nodes[node].label, .node = node };
			add_event(w, "O", w->r->nodes[node].label);
		}
		w->at += moments[samples[i]].amount;
	}
	while (w->depth)
		add_event(w, "C", w->open[--w->depth].label);
}

/* Write the profile of a node, which is a group or the root.  samples: places of its moments; NULL: there is no timeline. */
static void add_profile(struct writer *w, uint32_t node, const uint32_t *samples, uint32_t count)
{
	const struct report_node *group = &w->r->nodes[node];
	struct text name = { 0 };

	if (w->count > 1)
		text__addf(&name, "%s: ", w->r->meta.mode->name);
	add_profile_name(w->r, node, &name);
	json__open(&w->json, NULL, '{');
	json__add(&w->json, "type", json_string("evented"));
	json__add(&w->json, "name", name.failed ? NULL : json_string(text__string(&name)));
	json__add(&w->json, "unit", json_string(w->unit));
	json__add(&w->json, "startValue", json_integer(0));
	json__add(&w->json, "endValue", json_integer((json_int_t)group->total));
	json__open(&w->json, "events", '[');
	w->at = 0;
	w->depth = 0;
	if (samples)
		add_samples(w, node, samples, count);
	else
		add_stacks(w, node);
	json__close(&w->json, ']');
	json__close(&w->json, '}');
	text__free(&name);
}

struct group_order {
	uint32_t node, last;	/* the last node below it */
	uint64_t total;
	uint32_t count;		/* of its moments that count */
};

static int most_first(const void *a, const void *b)
{
	const struct group_order *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Places of the moments of each group, one group after the other, in the order of time.  of: groups by node.  NULL: out of memory. */
static uint32_t *sort_moments(const struct timeline *t, struct group_order *groups, uint32_t count, const uint32_t *of)
{
	uint32_t *places = malloc((t->count + 1u) * sizeof(*places)), *next = malloc((count + 1u) * sizeof(*next)), sum = 0;

	if (!places || !next) {
		free(places);
		free(next);
		return NULL;
	}
	for (uint32_t i = 0; i < t->count; i++)
		if (t->moments[i].amount && of[t->moments[i].node] != UINT32_MAX)
			groups[of[t->moments[i].node]].count++;
	for (uint32_t i = 0; i < count; i++) {
		next[i] = sum;
		sum += groups[i].count;
	}
	for (uint32_t i = 0; i < t->count; i++)
		if (t->moments[i].amount && of[t->moments[i].node] != UINT32_MAX)
			places[next[of[t->moments[i].node]]++] = i;
	free(next);
	return places;
}

/* The profile with the most samples is the first one, which is shown first. */
static int add_profiles(struct writer *w)
{
	const struct report *r = w->r;
	uint32_t count = 0, first = 0, *places = NULL;
	struct group_order *groups = malloc((r->node_count + 1u) * sizeof(*groups));
	uint32_t *of = malloc((r->node_count + 1u) * sizeof(*of));
	int err = groups && of ? 0 : -ENOMEM;

	if (err)
		goto cleanup;
	for (uint32_t i = 0; i < r->node_count; i++) {
		if (r->nodes[i].depth == r->group_count)
			groups[count++] = (struct group_order){ .node = i, .total = r->nodes[i].total };
		if (count)
			groups[count - 1].last = i;
	}
	/* A file without a profile cannot be opened. */
	if (!count)
		groups[count++] = (struct group_order){ 0 };
	qsort(groups, count, sizeof(*groups), most_first);
	if (is_in_order(r)) {
		memset(of, 0xff, r->node_count * sizeof(*of));
		for (uint32_t i = 0; i < count; i++)
			for (uint32_t j = groups[i].node; j <= groups[i].last && r->nodes[j].depth >= r->group_count; j++)
				of[j] = i;
		places = sort_moments(r->timeline, groups, count, of);
		err = places ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < count && !err; i++) {
		add_profile(w, groups[i].node, places ? places + first : NULL, groups[i].count);
		first += groups[i].count;
	}
cleanup:
	free(places);
	free(of);
	free(groups);
	return err;
}

/* Frames by number of label.  A line that is approximate is shown with its mark, as part of the file:
 * the format has no other place for the mark. */
static void add_frames(struct writer *w, const struct report *r)
{
	for (uint32_t i = 0; i < r->label_count; i++) {
		const struct report_label *l = &r->labels[i];
		int32_t line = report__line(r, l);
		bool approximate = line > 0 && l->frame.approximate;
		struct text file = { 0 };
		json_t *path;

		report__add_place(l->frame.path, approximate ? line : 0, approximate, &file);
		/* An optional value that is NULL is left out, so it is checked here. */
		path = *l->frame.path && !file.failed ? json_string(text__string(&file)) : NULL;
		text__free(&file);
		if (*l->frame.path && !path)
			w->json.err = w->json.err ? w->json.err : -ENOMEM;
		json__add(&w->json, NULL,
			  json_pack("{s:s, s:o*, s:o*}", "name", l->name, "file", path, "line",
				    *l->frame.path && line > 0 && !approximate ? json_integer(line) : NULL));
	}
}

static void add_mode(struct writer *w, const struct report *r)
{
	const struct report_meta *m = &r->meta;
	struct text account = { 0 }, idle = { 0 };

	accounting__add_line(&m->accounting, &account);
	report__add_idle(r, &idle);
	json__open(&w->json, m->mode->name, '{');
	json__add(&w->json, "account", account.failed ? NULL : json_string(text__string(&account)));
	if (r->idle.row_count)
		json__add(&w->json, "idle", idle.failed ? NULL : json_string(text__string(&idle)));
	json__add(&w->json, "order", json_string(is_in_order(r) ? "time" : "alphabet"));
	json__add(&w->json, "source", json_string(m->source));
	json__add(&w->json, "total", json_integer((json_int_t)r->samples));
	json__add(&w->json, "metric", json_string(r->metric.name));
	json__add(&w->json, "missed", json_integer((json_int_t)m->missed));
	json__add(&w->json, "merged", json_integer((json_int_t)m->merged));
	json__add(&w->json, "period", json_integer((json_int_t)m->period));
	json__add(&w->json, "rate", json_integer((json_int_t)m->rate));
	json__close(&w->json, '}');
	text__free(&account);
	text__free(&idle);
}

/* Add facts that the format has no place for.  speedscope does not look at them; a reader of the file may. */
static void add_account(struct writer *w)
{
	const struct report_meta *m = &w->reports[0].meta;

	json__open(&w->json, "extprof", '{');
	json__open(&w->json, "modes", '{');
	for (uint32_t i = 0; i < w->count; i++)
		add_mode(w, &w->reports[i]);
	json__close(&w->json, '}');
	json__add(&w->json, "started", json_integer((json_int_t)m->started));
	json__add(&w->json, "duration", json_real(m->duration));
	json__add(&w->json, "command", json_string(m->command));
	json__add(&w->json, "pid", json_integer(m->pid));
	json__add(&w->json, "ruby", json_string(m->ruby_version));
	json__close(&w->json, '}');
}

/* The title of the page: what was profiled, and what became of the samples. */
static void add_name(struct writer *w)
{
	struct text name = { 0 };

	text__addf(&name, "%s: ", report__program(&w->reports[0]));
	accounting__add_line(&w->reports[0].meta.accounting, &name);
	if (w->reports[0].idle.row_count) {
		text__adds(&name, "; ");
		report__add_idle_sum(&w->reports[0], &name);
	}
	json__add(&w->json, "name", name.failed ? NULL : json_string(text__string(&name)));
	text__free(&name);
}

static const char *unit_name(enum unit unit)
{
	return unit == UNIT_NS ? "nanoseconds" : unit == UNIT_BYTES ? "bytes" : "none";
}

static int write_speedscope(const struct report *reports, uint32_t count,
			    const struct output_options *o, FILE *to)
{
	struct writer w = { .json = { .to = to }, .reports = reports, .count = count };
	uint32_t depth = 0;
	int err = 0;

	(void)o;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < reports[i].node_count; j++)
			if (reports[i].nodes[j].depth > depth)
				depth = reports[i].nodes[j].depth;
	w.open = malloc((depth + 1u) * sizeof(*w.open));
	w.path = malloc((depth + 1u) * sizeof(*w.path));
	if (!w.open || !w.path) {
		free(w.open);
		free(w.path);
		return -ENOMEM;
	}
	json__open(&w.json, NULL, '{');
	json__add(&w.json, "$schema", json_string(SCHEMA));
	json__add(&w.json, "exporter", json_string("extprof@" EXTPROF_VERSION));
	add_name(&w);
	json__add(&w.json, "activeProfileIndex", json_integer(0));
	add_account(&w);
	json__open(&w.json, "shared", '{');
	json__open(&w.json, "frames", '[');
	for (uint32_t i = 0; i < count; i++)
		add_frames(&w, &reports[i]);
	json__close(&w.json, ']');
	json__close(&w.json, '}');
	json__open(&w.json, "profiles", '[');
	for (uint32_t i = 0; i < count && !err; i++) {
		w.r = &reports[i];
		w.unit = unit_name(w.r->metric.unit);
		err = add_profiles(&w);
		w.base += w.r->label_count;
	}
	json__close(&w.json, ']');
	json__close(&w.json, '}');
	free(w.open);
	free(w.path);
	return w.json.err ? w.json.err : err;
}

const struct output_format output_speedscope = {
	.name = "speedscope",
	.suffixes = { ".speedscope.json" },
	.help = "JSON for the viewer speedscope, one profile for each process or thread",
	.detail = REPORT_BY_CODE,
	.by_value = true,
	.in_order_most = IN_ORDER_MAX,
	.write = write_speedscope,
};
