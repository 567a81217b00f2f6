/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of ClickHouse, for the tables of packaging/clickhouse/schema.sql: an INSERT of stacks and one of samples, each with one
 * JSON object a line.
 *
 * A stack is known by a hash of its frames alone, so that machines that know nothing of each other give it the same number.
 * The same report makes the same bytes: a server knows by that what it has already.
 */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/map64.h"
#include "output/process_rows.h"
#include "profile/service.h"

#define SECOND 1000000000ull
#define SERVICE_UNKNOWN "unknown_service:ruby"
/* Labels of a sample. */
#define LABELS_MAX 64

struct rows_writer {
	const struct report *r;
	FILE *to;
	uint64_t *hashes;	/* by node: of its frames without groups; they are the same in each report that has them */
	struct {
		uint32_t first;	/* label of the same method */
		uint32_t seen;	/* the last node whose stack had it */
	} *codes;		/* by label */
	char **services;	/* by label of a process: its service */
	struct map64 *stacks;	/* (service, hash) that were written */
	const char *host;	/* the machine; "": it is not known */
	uint64_t begin, end;	/* ns since 1970 */
};

/* -- names ----------------------------------------------------------------------------------------------- */

/* Rows that are stored have it: it is not changed. */
static uint64_t hash_frame(uint64_t h, const struct report_label *l)
{
	const struct frame *f = &l->frame;
	unsigned char rest[] = {
		0, f->kind, (unsigned char)f->approximate, (unsigned char)f->line, (unsigned char)(f->line >> 8),
		(unsigned char)(f->line >> 16), (unsigned char)(f->line >> 24),
	};

	h = fnv__add(h, l->name, l->bare);
	h = fnv__add(h, "", 1);
	h = fnv__add(h, f->path, strlen(f->path));
	return fnv__add(h, rest, sizeof(rest));
}

/* The same as in OTLP: what the process says of itself, else what it runs. */
static char *service_of(const struct report *r, const struct frame *f)
{
	const struct process_row *row = process_rows__find(r, f);
	char name[SERVICE_SIZE];

	return strdup(service__find(row ? row->resource : NULL, f->known == KNOWN ? f->name : "", name, sizeof(name)) ? name : SERVICE_UNKNOWN);
}

static int find_services(struct rows_writer *w)
{
	for (uint32_t i = 0; i < w->r->label_count; i++) {
		if (w->r->labels[i].frame.kind != FRAME_PROCESS)
			continue;
		w->services[i] = service_of(w->r, &w->r->labels[i].frame);
		if (!w->services[i])
			return -ENOMEM;
	}
	return 0;
}

static const char *service_at(const struct rows_writer *w, uint32_t node)
{
	for (; node; node = w->r->nodes[node].parent)
		if (w->services[w->r->nodes[node].label])
			return w->services[w->r->nodes[node].label];
	return SERVICE_UNKNOWN;
}

/* -- lines ----------------------------------------------------------------------------------------------- */

static int put(struct rows_writer *w, json_t *row)
{
	int err = row ? 0 : -ENOMEM;

	errno = 0;
	if (!err && (json_dumpf(row, w->to, JSON_COMPACT) || fputc('\n', w->to) == EOF))
		err = errno ? -errno : -EIO;
	json_decref(row);
	return err;
}

static int add(json_t *list, struct text *t)
{
	int err = t->failed || json_array_append_new(list, json_string(text__string(t)));

	text__free(t);
	return err;
}

/* "name path:line" */
static int add_frame(json_t *list, const struct report_label *l)
{
	struct text t = { 0 };

	text__add(&t, l->name, l->bare);
	if (*l->frame.path)
		text__addf(&t, l->frame.line > 0 ? " %s:%d" : " %s", l->frame.path, l->frame.line);
	return add(list, &t);
}

/* The first label of the same method: of one line of it, or of another. */
static int find_code(struct rows_writer *w)
{
	const struct report_label *labels = w->r->labels;
	struct map64 first = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < w->r->label_count && !err; i++) {
		const struct report_label *l = &labels[i];
		uint64_t key = hash__bytes(l->frame.path, strlen(l->frame.path), hash__bytes(l->name, l->bare, 0));
		uint32_t same;

		while ((same = map64__get(&first, key)) != MAP64_NONE && (labels[same].bare != l->bare ||
		       memcmp(labels[same].name, l->name, l->bare) || strcmp(labels[same].frame.path, l->frame.path)))
			key++;
		if (same == MAP64_NONE)
			err = map64__add(&first, key, same = i);
		w->codes[i].first = same;
	}
	map64__free(&first);
	return err;
}

/* Each method of the code once, innermost first. */
static int add_code(struct rows_writer *w, uint32_t node, json_t *methods, json_t *paths)
{
	const struct report *r = w->r;

	for (uint32_t i = node; i && r->nodes[i].depth > r->group_count; i = r->nodes[i].parent) {
		const struct report_label *l = &r->labels[r->nodes[i].label];
		uint32_t first = w->codes[r->nodes[i].label].first;
		struct text name = { 0 };

		if (frame__part(&l->frame, ROWS_BY_METHOD) != PART_OWN || w->codes[first].seen == node)
			continue;
		w->codes[first].seen = node;
		text__add(&name, l->name, l->bare);
		if (add(methods, &name) || json_array_append_new(paths, json_string(l->frame.path)))
			return -ENOMEM;
	}
	return 0;
}

/* The innermost Ruby code, for whose line the stack counts.  NULL: there is none. */
static const struct frame *ruby_of(const struct report *r, uint32_t node)
{
	for (; node && r->nodes[node].depth > r->group_count; node = r->nodes[node].parent) {
		const struct frame *f = &r->labels[r->nodes[node].label].frame;
		enum frame_part part = frame__part(f, ROWS_BY_LINE);

		if (part != PART_OF_CALLER)
			return part == PART_OWN ? f : NULL;
	}
	return NULL;
}

static json_t *number(uint64_t n)
{
	/* JSON's numbers of others end at 2^53, and jansson's at 2^63: the server takes them as texts, too. */
	return json_sprintf("%" PRIu64, n);
}

static int put_stack(struct rows_writer *w, uint32_t node)
{
	const struct report *r = w->r;
	const struct frame *ruby = ruby_of(r, node);
	json_t *stack = json_array(), *methods = json_array(), *paths = json_array(), *row;
	int err = stack && methods && paths ? add_code(w, node, methods, paths) : -ENOMEM;

	for (uint32_t i = node; i && r->nodes[i].depth > r->group_count && !err; i = r->nodes[i].parent)
		err = add_frame(stack, &r->labels[r->nodes[i].label]);
	if (err) {
		json_decref(stack);
		json_decref(methods);
		json_decref(paths);
		return -ENOMEM;
	}
	row = json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:i, s:i}", "ServiceName", service_at(w, node), "Hash",
			number(w->hashes[node]), "LastSeenNs", number(w->end), "LastSeen", number(w->end / SECOND), "Host", w->host,
			"Stack", stack, "Methods", methods, "Paths", paths, "RubyPath", ruby ? ruby->path : "", "RubyLine", ruby ? (int)ruby->line : 0, "Collector",
			(int)(r->labels[r->nodes[node].label].frame.kind == FRAME_GC));
	return put(w, row);
}

static int put_new_stack(struct rows_writer *w, uint32_t node)
{
	const char *service = service_at(w, node);
	uint64_t key = hash__mix(fnv__add(w->hashes[node], service, strlen(service)));
	int err;

	if (map64__get(w->stacks, key) != MAP64_NONE)
		return 0;
	err = map64__add(w->stacks, key, 0);
	return err ? err : put_stack(w, node);
}

/* A cgroup, or a label of the program's own: its value, or the reason why that is not known. */
static int add_label(const struct frame *f, const char *key, json_t *names, json_t *values)
{
	struct text value = { 0 };
	bool own = f->kind == FRAME_LABEL, reason = own && (f->known == KNOWN_EXPIRED || f->known == KNOWN_UNREAD || f->known == KNOWN_CROWDED);

	if (own && f->known != KNOWN && !reason)
		return 0;
	text__adds(&value, reason ? "(" : "");
	frame__add_bare(f, &value);
	text__adds(&value, reason ? ")" : "");
	if (json_array_append_new(names, json_string(key))) {
		text__free(&value);
		return -ENOMEM;
	}
	return add(values, &value) ? -ENOMEM : 0;
}

/* The name that SQL on recordings has for it. */
static const char *state_of(const struct frame *f)
{
	return !f ? state_names[STATE_RUNNING] : f->state < STATE_MAX ? state_names[f->state] : "";
}

static int put_sample(struct rows_writer *w, uint32_t node)
{
	const struct report *r = w->r;
	const struct weight *weight = &r->nodes[node].weight;
	const struct frame *process = NULL, *thread = NULL, *state = NULL;
	json_t *names = json_array(), *values = json_array();
	int err = names && values ? 0 : -ENOMEM;
	json_t *row = NULL;

	for (uint32_t i = node, labels = 0; i && !err; i = r->nodes[i].parent) {
		const struct frame *f = &r->labels[r->nodes[i].label].frame;

		if (f->kind == FRAME_STATE && !state)
			state = f;
		else if (f->kind == FRAME_PROCESS && (!process || (f->pid && !process->pid)))
			process = f;
		else if (f->kind == FRAME_THREAD && !thread)
			thread = f;
		else if ((f->kind == FRAME_LABEL || f->kind == FRAME_CGROUP) && labels++ < LABELS_MAX)
			err = add_label(f, f->kind == FRAME_LABEL ? f->key : "cgroup", names, values);
	}
	if (!err)
		row = json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:I, s:s, s:I, s:s, s:s, s:O, s:O, s:o, s:o, s:o}", "ServiceName", service_at(w, node),
				"Type", r->meta.mode->name, "StartNs", number(w->begin), "EndNs", number(w->end), "Start",
				number(w->begin / SECOND), "Host", w->host, "Pid", (json_int_t)(process ? process->pid : 0), "Command",
				process && process->known == KNOWN ? process->name : "", "ThreadId", (json_int_t)(thread ? thread->tid : 0),
				"Thread", thread && thread->known == KNOWN ? thread->name : "", "State", state_of(state), "LabelNames", names, "LabelValues",
				values, "StackHash", number(w->hashes[node]), "Value", number(weight->value), "Count",
				number(weight->count));
	json_decref(names);
	json_decref(values);
	return put(w, row);
}

/* -- both tables ------------------------------------------------------------------------------------------ */

static int for_each(struct rows_writer *w, int (*call)(struct rows_writer *w, uint32_t node))
{
	const struct report *r = w->r;
	int err = 0;

	for (uint32_t i = 1; i < r->node_count && !err; i++)
		if (r->nodes[i].weight.count || r->nodes[i].weight.value)
			err = call(w, i);
	return err;
}

/* Nodes are in preorder: the caller's is there before. */
static void hash_nodes(struct rows_writer *w)
{
	const struct report *r = w->r;

	w->hashes[0] = FNV_BEGIN;
	for (uint32_t i = 1; i < r->node_count; i++)
		w->hashes[i] = r->nodes[i].depth > r->group_count ? hash_frame(w->hashes[r->nodes[i].parent], &r->labels[r->nodes[i].label]) :
			       w->hashes[0];
}

static uint64_t begin_of(const struct report_meta *m)
{
	return m->part_began ? m->part_began : m->began ? m->began : m->started > 0 ? (uint64_t)m->started * SECOND : 0;
}

/* Pauses are no part of the duration. */
static uint64_t end_of(const struct report_meta *m)
{
	return begin_of(m) + (m->duration > 0 ? (uint64_t)llround(m->duration * 1e9) : 0) + m->paused;
}

/* Prepare what the writers of both tables need.  0 or -ENOMEM; the caller frees it in both cases. */
static int prepare(struct rows_writer *w, const struct report *r, const char *host, struct map64 *stacks, FILE *to)
{
	int err;

	*w = (struct rows_writer){
		.r = r, .to = to, .stacks = stacks,
		.hashes = calloc(r->node_count + 1u, sizeof(*w->hashes)),
		.codes = calloc(r->label_count + 1u, sizeof(*w->codes)),
		.services = calloc(r->label_count + 1u, sizeof(*w->services)),
		.host = *r->meta.host || !host ? r->meta.host : host, .begin = begin_of(&r->meta), .end = end_of(&r->meta),
	};
	err = w->hashes && w->codes && w->services ? find_services(w) : -ENOMEM;
	err = err ? err : find_code(w);
	if (!err)
		hash_nodes(w);
	return err;
}

static void free_writer(struct rows_writer *w)
{
	for (uint32_t i = 0; w->services && i < w->r->label_count; i++)
		free(w->services[i]);
	free(w->services);
	free(w->codes);
	free(w->hashes);
}

static int write_table(struct rows_writer *writers, uint32_t count, const char *table,
		       int (*call)(struct rows_writer *w, uint32_t node), FILE *to)
{
	int err;

	errno = 0;
	err = fprintf(to, "INSERT INTO %s FORMAT JSONEachRow\n", table) < 0 ? errno ? -errno : -EIO : 0;
	for (uint32_t i = 0; i < count && !err; i++)
		err = for_each(&writers[i], call);
	return err;
}

static int write_clickhouse(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	struct rows_writer *writers = calloc(count, sizeof(*writers));
	struct map64 stacks = { 0 };
	uint32_t prepared = 0;
	int err = writers ? 0 : -ENOMEM;

	while (prepared < count && !err) {
		err = prepare(&writers[prepared], &reports[prepared], o->host, &stacks, to);
		prepared++;
	}
	/* Stacks come first: a sample whose stack is not there yet has no name. */
	if (!err)
		err = write_table(writers, count, "extprof_stacks", put_new_stack, to);
	if (!err)
		err = write_table(writers, count, "extprof_samples", put_sample, to);
	while (prepared)
		free_writer(&writers[--prepared]);
	free(writers);
	map64__free(&stacks);
	return err;
}

const struct output_format output_clickhouse = {
	.name = "clickhouse",
	.suffixes = { ".clickhouse" },
	.help = "rows for ClickHouse, as extprof push sends them",
	.detail = REPORT_BY_LINE,
	.labels = 1u << GROUP_PROCESS | 1u << GROUP_THREAD,
	.one_recording = true,
	.write = write_clickhouse,
};
