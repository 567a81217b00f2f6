/* SPDX-License-Identifier: BSD-2-Clause */
/* Idle threads are shown apart: the tree of a report without what they rest, and a list of where that is. */
#include "profile/report_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/share.h"
#include "profile/idle.h"
#include "profile/unit.h"

/* Places that are named in one line. */
#define PLACES_SHOWN 6u

struct listing {
	struct report_builder *b;
	uint64_t *amounts, *ns;		/* by node: of it and of what is below it that is idle */
	struct map64 rows;		/* hash -> number of a row */
	struct map64 counted;		/* row << 32 | node of a thread -> 0 */
	struct map64 threads;		/* node of a thread -> number of a thread */
	size_t row_room, thread_room;
};

/* A text of the report's: the thread as it is shown, or its pattern.  NULL: out of memory. */
static const char *thread_text(struct report *r, const struct frame *f, bool pattern, bool bare)
{
	struct frame copy = *f;
	struct text t = { 0 };
	const char *text;

	if (pattern && *f->wider)
		copy.name = f->wider;
	if (bare)
		frame__add_bare(&copy, &t);
	else
		frame__add_text(&copy, &t);
	text = t.failed ? NULL : strings__intern(&r->strings, text__string(&t));
	text__free(&t);
	return text;
}

/* The row of a thread's pattern and a method, new if need be.  MAP64_NONE: out of memory. */
static uint32_t row_of(struct listing *l, const struct frame *thread, uint8_t state, const char *method)
{
	struct report *r = l->b->r;
	const char *pattern = thread_text(r, thread, true, true), *place = strings__intern(&r->strings, method);
	uint64_t hash = hash__mix((uintptr_t)pattern ^ hash__mix((uintptr_t)place + state));
	uint32_t number;

	if (!pattern || !place)
		return MAP64_NONE;
	while ((number = map64__get(&l->rows, hash)) != MAP64_NONE) {
		const struct report_idle_row *row = &r->idle.rows[number];

		/* Equal texts of the report have equal addresses. */
		if (row->pattern == pattern && row->method == place && row->state == state)
			return number;
		hash++;
	}
	if (array__reserve(&r->idle.rows, r->idle.row_count, 1, &l->row_room, MAP64_NONE, sizeof(*r->idle.rows)) ||
	    map64__add(&l->rows, hash, r->idle.row_count))
		return MAP64_NONE;
	r->idle.rows[r->idle.row_count] = (struct report_idle_row){ .pattern = pattern, .method = place, .state = state };
	return r->idle.row_count++;
}

/* A group of the tree, with texts of the report's.  0 or -ENOMEM. */
static int keep_group(struct report *r, const struct frame *f, struct frame *to)
{
	*to = (struct frame)FRAME_INIT(f->kind);
	to->name = strings__intern(&r->strings, f->name);
	to->key = strings__intern(&r->strings, f->key);
	to->pid = f->pid;
	to->tid = f->tid;
	to->known = f->known;
	to->role = f->role;
	return to->name && to->key ? 0 : -ENOMEM;
}

static int keep_groups(struct listing *l, uint32_t node, struct report_idle_thread *to)
{
	const struct tree_node *nodes = l->b->tree->nodes;
	int err = keep_group(l->b->r, frame_table__get(l->b->frames, nodes[node].frame), &to->thread);

	for (uint32_t i = nodes[node].parent; i && !err; i = nodes[i].parent) {
		const struct frame *f = frame_table__get(l->b->frames, nodes[i].frame);

		if (f->kind == FRAME_PROCESS && f->pid)
			return keep_group(l->b->r, f, &to->process);
	}
	return err;
}

/* Count what a thread rests in all. */
static int count_thread(struct listing *l, uint32_t node, uint64_t ns)
{
	struct report *r = l->b->r;
	uint32_t number = map64__get(&l->threads, node);

	if (number == MAP64_NONE) {
		const char *name = thread_text(r, frame_table__get(l->b->frames, l->b->tree->nodes[node].frame), false, false);

		if (!name ||
		    array__reserve(&r->idle.threads, r->idle.thread_count, 1, &l->thread_room, MAP64_NONE, sizeof(*r->idle.threads)) ||
		    map64__add(&l->threads, node, r->idle.thread_count))
			return -ENOMEM;
		number = r->idle.thread_count++;
		r->idle.threads[number] = (struct report_idle_thread){ .name = name };
		if (keep_groups(l, node, &r->idle.threads[number]))
			return -ENOMEM;
	}
	r->idle.threads[number].ns += ns;
	return 0;
}

static int list_wait(struct listing *l, const struct idle_wait *w)
{
	struct report *r = l->b->r;
	const struct frame *thread = frame_table__get(l->b->frames, l->b->tree->nodes[w->thread].frame);
	const struct frame *state = frame_table__get(l->b->frames, l->b->tree->nodes[w->node].frame);
	uint32_t number = row_of(l, thread, state->state, w->method);
	struct report_idle_row *row = number == MAP64_NONE ? NULL : &r->idle.rows[number];
	uint64_t key = (uint64_t)number << 32 | w->thread;

	if (!row)
		return -ENOMEM;
	row->amount += l->amounts[w->node];
	r->idle.states[state->state] += l->ns[w->node];
	r->idle.amount += l->amounts[w->node];
	if (map64__get(&l->counted, key) == MAP64_NONE) {
		if (map64__add(&l->counted, key, 0))
			return -ENOMEM;
		row->thread = row->threads++ ? row->pattern : thread_text(r, thread, false, true);
		if (!row->thread)
			return -ENOMEM;
	}
	return count_thread(l, w->thread, l->ns[w->node]);
}

static int by_amount(const void *a, const void *b)
{
	const struct report_idle_row *x = a, *y = b;
	int c;

	if (x->amount != y->amount)
		return x->amount > y->amount ? -1 : 1;
	c = strcmp(x->pattern, y->pattern);
	return c ? c : strcmp(x->method, y->method);
}

static int by_name(const void *a, const void *b)
{
	const struct report_idle_thread *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Threads of several processes can have one name. */
static bool is_of(const struct frame *process, const struct thread_row *row)
{
	return (!row->pid || !process->pid || (uint32_t)row->pid == process->pid) && (!row->host || (process->key && !strcmp(row->host, process->key)));
}

uint64_t report__thread_idle(const struct report *r, const struct thread_row *row)
{
	uint64_t waited = row->account.until - row->account.first - row->account.time[STATE_RUNNING], idle = 0;
	uint32_t low = 0, high = row->name ? r->idle.thread_count : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(r->idle.threads[middle].name, row->name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* Below several groups it is there several times. */
	for (; row->name && low < r->idle.thread_count && !strcmp(r->idle.threads[low].name, row->name); low++)
		if (is_of(&r->idle.threads[low].process, row))
			idle += r->idle.threads[low].ns;
	return idle < waited ? idle : waited;
}

static int list_waits(struct report_builder *b, const struct idle *idle)
{
	struct listing l = { .b = b };
	uint32_t count = b->tree->node_count;
	int err = -ENOMEM;

	l.amounts = calloc(count, sizeof(*l.amounts));
	l.ns = calloc(count, sizeof(*l.ns));
	if (!l.amounts || !l.ns)
		goto cleanup;
	/* Parents come before children; what is below a wait is of it. */
	for (uint32_t i = count; i-- > 1;) {
		if (!idle->is[i])
			continue;
		l.amounts[i] += report__self(b, i);
		l.ns[i] += idle__ns(idle, i);
		l.amounts[b->tree->nodes[i].parent] += l.amounts[i];
		l.ns[b->tree->nodes[i].parent] += l.ns[i];
	}
	err = 0;
	for (uint32_t i = 0; i < idle->count && !err; i++)
		err = list_wait(&l, &idle->waits[i]);
	if (b->r->idle.row_count)
		qsort(b->r->idle.rows, b->r->idle.row_count, sizeof(*b->r->idle.rows), by_amount);
	if (b->r->idle.thread_count)
		qsort(b->r->idle.threads, b->r->idle.thread_count, sizeof(*b->r->idle.threads), by_name);
cleanup:
	free(l.amounts);
	free(l.ns);
	map64__free(&l.rows);
	map64__free(&l.counted);
	map64__free(&l.threads);
	return err;
}

/* Is there anything that is not idle? */
static bool has_more(const struct report_builder *b, const struct idle *idle)
{
	for (uint32_t i = 0; i < b->tree->node_count; i++)
		if (!idle->is[i] && !report__leaves_out(b, i) && b->tree->nodes[i].samples)
			return true;
	return false;
}

/* From here on the tree is one without the waits.  Nodes keep their numbers. */
static int take_away(struct report_builder *b, const bool *is)
{
	const struct tree *tree = b->tree;

	b->busy = *tree;
	b->busy.node_map = (struct map64){ 0 };
	b->busy.nodes = malloc(tree->node_count * sizeof(*b->busy.nodes));
	if (!b->busy.nodes)
		return -ENOMEM;
	memcpy(b->busy.nodes, tree->nodes, tree->node_count * sizeof(*tree->nodes));
	for (uint32_t i = 0; i < tree->node_count; i++) {
		struct tree_node *n = &b->busy.nodes[i];

		if (!is[i])
			continue;
		b->busy.samples -= n->samples;
		*n = (struct tree_node){ .parent = n->parent, .frame = n->frame };
	}
	b->tree = &b->busy;
	b->leaves_empty = true;
	return 0;
}

int report__find_idle(struct report_builder *b)
{
	struct idle idle = {
		.tree = b->tree, .frames = b->frames, .rules = b->view.rules, .left_out = b->left_out,
		.mode_frame = b->view.mode_frame, .ns_is_count = b->view.ns_is_count, .window = b->view.window,
		.history = b->view.idle_history,
	};
	int err;

	if (b->view.idle)
		return take_away(b, b->view.idle);
	if (!idle__concerns(b->view.mode))
		return 0;
	err = idle__find(&idle);
	if (!err && idle.count)
		err = list_waits(b, &idle);
	/* A profile of nothing else shows what there is. */
	b->r->idle.shown = b->view.shows_idle || !idle.count || (!b->view.idle_apart && !has_more(b, &idle));
	if (!err && !b->r->idle.shown)
		err = take_away(b, idle.is);
	if (b->view.places) {
		b->is_idle = idle.is;
		idle.is = NULL;
	}
	idle__free(&idle);
	return err;
}

/* -- as text -------------------------------------------------------------------------------------- */

double report__idle_share(const struct report *r)
{
	uint64_t all = r->samples + r->left_out + (r->idle.shown ? 0 : r->idle.amount);

	return share__of(r->idle.amount, all);
}

void report__add_idle_sum(const struct report *r, struct text *out)
{
	const struct report_idle *idle = &r->idle;

	if (!idle->row_count)
		return;
	text__addf(out, "idle: %u thread%s, %.1f %% of all (", idle->thread_count, idle->thread_count == 1 ? "" : "s",
		   100 * report__idle_share(r));
	unit__add_with_name(&r->metric, idle->amount, out);
	text__adds(out, idle->shown ? "), shown as others" : "), left out without --idle");
}

void report__add_idle(const struct report *r, struct text *out)
{
	const struct report_idle *idle = &r->idle;

	if (!idle->row_count)
		return;
	report__add_idle_sum(r, out);
	text__adds(out, ": ");
	for (uint32_t i = 0; i < idle->row_count && i < PLACES_SHOWN; i++) {
		const struct report_idle_row *row = &idle->rows[i];

		text__addf(out, "%s%s", i ? ", " : "", row->thread);
		if (row->threads > 1)
			text__addf(out, " (%u)", row->threads);
		text__addf(out, " in %s", row->method);
	}
	if (idle->row_count > PLACES_SHOWN)
		text__addf(out, " and %u more", idle->row_count - PLACES_SHOWN);
}
