/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For callgrind_annotate and KCachegrind: https://valgrind.org/docs/manual/cl-format.html.
 *
 * KCachegrind's inclusive cost of a function is its own and that of the calls from it; callgrind_annotate's is that of the
 * calls to it.  Both count recursion more than once.  So a stack is written as the way from "[all]" through each of its
 * functions once, in the order of their outermost frames, to the one that it ends in.  Then both are the total of the
 * function, exactly; and where a function recurs, a call can be one that went through it.  How often something was called is
 * not known: it is 1.
 */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map64.h"

/* A cost in a line of a function: its own, or of calls to another one. */
struct cost {
	uint32_t function, callee;	/* callee FUNCTION_NONE: its own */
	int32_t line;
	uint64_t amount;
};

#define FUNCTION_NONE UINT32_MAX

struct writer {
	const struct report *r;
	FILE *to;
	uint32_t *function_of;	/* by label; FUNCTION_NONE: it is no code */
	uint32_t *label_of;	/* by function: one of its labels */
	uint32_t function_count;
	struct map64 functions;	/* by hash of name and path */
	struct cost *costs;
	uint32_t cost_count;
	size_t cost_room;
	struct map64 cost_map;	/* by hash of function, callee and line */
	uint32_t *last;		/* by function: the last stack that it was in, + 1 */
	uint32_t *path;		/* of a stack: nodes, outermost first */
	bool *file_named, *function_named;	/* by function: the number has its text */
	uint32_t *file_of;	/* by function: the first one of the same file */
};

/* They are told apart by what the readers see of them. */
static bool same_function(const struct report_label *a, const struct report_label *b)
{
	/* Equal texts of a report have equal addresses. */
	return a->frame.path == b->frame.path && !strcmp(a->name, b->name);
}

static int find_functions(struct writer *w)
{
	struct map64 files = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < w->r->label_count && !err; i++) {
		const struct report_label *l = &w->r->labels[i];
		uint64_t hash = hash__mix((uintptr_t)l->frame.path ^ hash__bytes(l->name, strlen(l->name), 0));
		uint32_t number;

		w->function_of[i] = FUNCTION_NONE;
		if (frame_kind__is_group(l->frame.kind))
			continue;
		while ((number = map64__get(&w->functions, hash)) != MAP64_NONE &&
		       !same_function(&w->r->labels[w->label_of[number]], l))
			hash++;
		if (number == MAP64_NONE) {
			uint32_t file = map64__get(&files, (uintptr_t)l->frame.path);

			number = w->function_count++;
			w->label_of[number] = i;
			w->file_of[number] = file == MAP64_NONE ? number : file;
			err = map64__add(&w->functions, hash, number);
			if (!err && file == MAP64_NONE)
				err = map64__add(&files, (uintptr_t)l->frame.path, number);
		}
		w->function_of[i] = number;
	}
	map64__free(&files);
	return err;
}

static int add_cost(struct writer *w, uint32_t function, int32_t line, uint32_t callee, uint64_t amount)
{
	uint64_t hash = hash__mix((uint64_t)function << 32 | callee) ^ (uint32_t)line;
	uint32_t number;

	hash = hash__mix(hash);
	while ((number = map64__get(&w->cost_map, hash)) != MAP64_NONE) {
		struct cost *c = &w->costs[number];

		if (c->function == function && c->callee == callee && c->line == line) {
			c->amount += amount;
			return 0;
		}
		hash++;
	}
	if (array__reserve(&w->costs, w->cost_count, 1, &w->cost_room, MAP64_NONE, sizeof(*w->costs)) ||
	    map64__add(&w->cost_map, hash, w->cost_count))
		return -ENOMEM;
	w->costs[w->cost_count++] = (struct cost){ .function = function, .callee = callee, .line = line, .amount = amount };
	return 0;
}

static uint32_t function_at(const struct writer *w, uint32_t node)
{
	return node ? w->function_of[w->r->nodes[node].label] : FUNCTION_NONE;
}

static int32_t line_at(const struct writer *w, uint32_t node)
{
	return w->r->labels[w->r->nodes[node].label].frame.line;
}

/* The samples that end at a node. */
static int add_stack(struct writer *w, uint32_t node)
{
	uint64_t amount = w->r->nodes[node].self;
	uint32_t leaf = function_at(w, node), caller = w->function_count, depth = 0;
	int32_t line = 0;
	int err;

	/* Samples of a group without code are of no function. */
	if (leaf == FUNCTION_NONE)
		return 0;
	for (uint32_t n = node; function_at(w, n) != FUNCTION_NONE; n = w->r->nodes[n].parent)
		w->path[depth++] = n;
	err = add_cost(w, leaf, line_at(w, node), FUNCTION_NONE, amount);
	w->last[leaf] = node + 1;
	while (!err && depth-- > 0) {
		uint32_t function = function_at(w, w->path[depth]);

		/* It was there already, or it comes at the end. */
		if (depth && w->last[function] == node + 1)
			continue;
		w->last[function] = node + 1;
		err = add_cost(w, caller, line, function, amount);
		caller = function;
		line = line_at(w, w->path[depth]);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	/* Its own cost first. */
	if (x->callee != y->callee)
		return x->callee == FUNCTION_NONE || (y->callee != FUNCTION_NONE && x->callee < y->callee) ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* "fl=(3) app.rb", or "fl=(3)" when the number is known. */
static void put(struct writer *w, const char *key, uint32_t number, bool *named, const char *text)
{
	if (*named)
		fprintf(w->to, "%s=(%" PRIu32 ")\n", key, number + 1);
	else
		fprintf(w->to, "%s=(%" PRIu32 ") %s\n", key, number + 1, *text ? text : "???");
	*named = true;
}

static void put_function(struct writer *w, const char *file_key, const char *function_key, uint32_t function)
{
	const struct report_label *l;
	uint32_t file = w->file_of[function];

	if (function == w->function_count) {
		put(w, file_key, function, &w->file_named[function], "");
		put(w, function_key, function, &w->function_named[function], "[all]");
		return;
	}
	l = &w->r->labels[w->label_of[function]];

	put(w, file_key, file, &w->file_named[file], l->frame.path);
	put(w, function_key, function, &w->function_named[function], l->name);
}

static void write_costs(struct writer *w)
{
	uint32_t function = FUNCTION_NONE;

	for (uint32_t i = 0; i < w->cost_count; i++) {
		const struct cost *c = &w->costs[i];

		if (c->function != function) {
			fputc('\n', w->to);
			put_function(w, "fl", "fn", c->function);
		}
		function = c->function;
		if (c->callee != FUNCTION_NONE) {
			put_function(w, "cfi", "cfn", c->callee);
			fprintf(w->to, "calls=1 %d\n", (int)w->r->labels[w->label_of[c->callee]].frame.first_line);
		}
		fprintf(w->to, "%d %" PRIu64 "\n", (int)c->line, c->amount);
	}
}

static void write_head(struct writer *w)
{
	static const char *const units[] = { [UNIT_COUNT] = "number", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes" };
	const struct report_meta *m = &w->r->meta;
	struct text line = { 0 };

	accounting__add_line(&m->accounting, &line);
	fprintf(w->to, "# callgrind format\nversion: 1\ncreator: extprof\npid: %d\ncmd: %s\ndesc: Source: %s for %.1f s\n"
		"desc: Samples: %s\n", m->pid, m->command, m->source, m->duration, text__string(&line));
	if (w->r->idle.row_count) {
		text__clear(&line);
		report__add_idle(w->r, &line);
		fprintf(w->to, "desc: Note: %s\n", text__string(&line));
	}
	text__free(&line);
	fprintf(w->to, "positions: line\nevent: %s : %s, %s\nevents: %s\nsummary: %" PRIu64 "\n", w->r->metric.name, m->mode->name,
		units[w->r->metric.unit], w->r->metric.name, w->r->samples);
}

static int write_callgrind(const struct report *r, uint32_t count, const struct output_options *o, FILE *to)
{
	struct writer w = { .r = r, .to = to };
	size_t labels = r->label_count + 1u;
	int err = -ENOMEM;

	(void)o;
	if (count != 1)
		return -EINVAL;
	w.function_of = calloc(labels, sizeof(*w.function_of));
	w.label_of = calloc(labels, sizeof(*w.label_of));
	w.file_of = calloc(labels, sizeof(*w.file_of));
	w.last = calloc(labels, sizeof(*w.last));
	w.file_named = calloc(labels, sizeof(*w.file_named));
	w.function_named = calloc(labels, sizeof(*w.function_named));
	w.path = malloc((r->node_count + 1u) * sizeof(*w.path));
	if (w.function_of && w.label_of && w.file_of && w.last && w.file_named && w.function_named && w.path)
		err = find_functions(&w);
	for (uint32_t i = 1; i < r->node_count && !err; i++)
		err = r->nodes[i].self ? add_stack(&w, i) : 0;
	if (!err) {
		if (w.cost_count)
			qsort(w.costs, w.cost_count, sizeof(*w.costs), compare);
		write_head(&w);
		write_costs(&w);
		err = ferror(to) ? -(errno ? errno : EIO) : 0;
	}
	free(w.function_of);
	free(w.label_of);
	free(w.file_of);
	free(w.last);
	free(w.file_named);
	free(w.function_named);
	free(w.path);
	free(w.costs);
	map64__free(&w.functions);
	map64__free(&w.cost_map);
	return err;
}

const struct output_format output_callgrind = {
	.name = "callgrind",
	.suffixes = { ".callgrind" },
	.help = "for callgrind_annotate and KCachegrind",
	.detail = REPORT_BY_LINE,
	.by_value = true,
	.write = write_callgrind,
	.one_mode = true,
};
