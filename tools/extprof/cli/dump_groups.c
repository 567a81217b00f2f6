/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/dump_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Frames of one result are shared: equal ones are at one place. */
static bool same_stack(const struct extprof_dump_fiber *a, const struct extprof_dump_fiber *b)
{
	return a->stack->count == b->stack->count &&
	       (!a->stack->count || !memcmp(a->stack->frames, b->stack->frames, a->stack->count * sizeof(*a->stack->frames)));
}

/* Has it something of its own to show? */
static bool is_alone(const struct extprof_dump_fiber *f)
{
	return f->torn || f->resumed_by || f->resumes || f->trace_id || f->trace_lost;
}

static bool same_labels(const struct extprof_dump_fiber *a, const struct extprof_dump_fiber *b)
{
	if (a->label_count != b->label_count || !same_text(a->labels_lost, b->labels_lost))
		return false;
	for (size_t i = 0; i < a->label_count; i++)
		if (strcmp(a->labels[i]->key, b->labels[i]->key) || strcmp(a->labels[i]->value, b->labels[i]->value))
			return false;
	return true;
}

static bool same_fiber(const struct extprof_dump_fiber *a, const struct extprof_dump_fiber *b, bool again)
{
	return a->root == b->root && a->current == b->current && a->created == b->created &&
	       a->nonblocking == b->nonblocking && same_text(a->lost, b->lost) &&
	       same_text(a->native_lost, b->native_lost) && (!again || a->moved == b->moved) &&
	       same_stack(a, b) && same_labels(a, b);
}

static bool is_alone_thread(const struct extprof_dump_thread *t)
{
	return t->main || t->deadlocked || t->fiber_count != 1 || is_alone(t->fibers[0]);
}

static bool same_thread(const struct extprof_dump_thread *a, const struct extprof_dump_thread *b, bool again)
{
	return a->ractor == b->ractor && a->state == b->state && a->kernel_state == b->kernel_state &&
	       a->gvl_holder == b->gvl_holder && same_text(a->gc, b->gc) && a->call == b->call &&
	       a->call_fd == b->call_fd && a->wait == b->wait && a->wait_thread == b->wait_thread &&
	       a->wait_fd == b->wait_fd && a->wait_owner == b->wait_owner && a->wait_limit == b->wait_limit &&
	       (a->wait != EXTPROF_WAIT_PROCESS || a->wait_object == b->wait_object) && (!again || a->ran == b->ran) &&
	       same_fiber(a->fibers[0], b->fibers[0], again);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static uint64_t hash_of_fiber(const struct extprof_dump_fiber *f)
{
	uint64_t hash = f->stack->count;

	for (size_t i = 0; i < f->stack->count; i++)
		hash = mix(hash, (uintptr_t)f->stack->frames[i]);
	for (size_t i = 0; i < f->label_count; i++)
		for (const char *c = f->labels[i]->value; *c; c++)
			hash = mix(hash, (unsigned char)*c);
	return hash;
}

/* With all that a program can make different in many threads, so that the search does not become slow. */
static uint64_t hash_of_thread(const struct extprof_dump_thread *t)
{
	uint64_t hash = mix(hash_of_fiber(t->fibers[0]), (uint32_t)t->call_fd);

	hash = mix(mix(hash, (uint32_t)t->wait_fd), t->wait_thread);
	return mix(mix(hash, t->ractor), t->wait == EXTPROF_WAIT_PROCESS ? t->wait_object : 0);
}

/* Either threads or fibers. */
struct members {
	const struct extprof_dump_thread *const *threads;
	const struct extprof_dump_fiber *const *fibers;
	bool again;
};

static bool alone(const struct members *m, uint32_t i)
{
	return m->fibers ? is_alone(m->fibers[i]) : is_alone_thread(m->threads[i]);
}

static uint64_t hash(const struct members *m, uint32_t i)
{
	return m->fibers ? hash_of_fiber(m->fibers[i]) : hash_of_thread(m->threads[i]);
}

static bool same(const struct members *m, uint32_t a, uint32_t b)
{
	return m->fibers ? same_fiber(m->fibers[a], m->fibers[b], m->again) :
		same_thread(m->threads[a], m->threads[b], m->again);
}

/* A table of those that are the first of their kind. */
static int group(struct dump_groups *g, const struct members *m, uint32_t count)
{
	uint32_t size = 16, *table, *last;
	int err;

	while (size < 2 * count)
		size *= 2;
	table = malloc(size * sizeof(*table));
	last = malloc((count + 1) * sizeof(*last));
	for (uint32_t i = 0; i < size && table; i++)
		table[i] = NONE;
	for (uint32_t i = 0; i < count && table && last; i++) {
		uint32_t at, first;

		if (alone(m, i))
			continue;
		at = (uint32_t)hash(m, i) & (size - 1);
		while (table[at] != NONE && !same(m, table[at], i))
			at = (at + 1) & (size - 1);
		if (table[at] == NONE)
			table[at] = i;
		first = table[at];
		if (first != i) {
			g->count[first]++;
			g->count[i] = 0;
			g->next[last[first]] = i;
		}
		last[first] = i;
	}
	err = table && last ? 0 : -ENOMEM;
	free(last);
	free(table);
	return err;
}

int dump_groups__of_none(struct dump_groups *g, size_t count)
{
	g->count = malloc((count + 1) * sizeof(*g->count));
	g->next = calloc(count + 1, sizeof(*g->next));
	if (!g->count || !g->next) {
		dump_groups__free(g);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		g->count[i] = 1;
	return 0;
}

static int build(struct dump_groups *g, const struct members *m, size_t count)
{
	int err = dump_groups__of_none(g, count);

	if (!err)
		err = group(g, m, (uint32_t)count);
	if (err)
		dump_groups__free(g);
	return err;
}

int dump_groups__of_threads(struct dump_groups *g, const struct extprof_dump_result *r, bool again)
{
	const struct members m = { .threads = r->threads, .again = again };

	return build(g, &m, r->thread_count);
}

int dump_groups__of_fibers(struct dump_groups *g, const struct extprof_dump_thread *t, bool again)
{
	const struct members m = { .fibers = t->fibers, .again = again };

	return build(g, &m, t->fiber_count);
}

void dump_groups__free(struct dump_groups *g)
{
	free(g->count);
	free(g->next);
	memset(g, 0, sizeof(*g));
}
