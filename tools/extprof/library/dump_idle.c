/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rule is one of profiles.  A dump is looked at as one in which each thread was in its wait all the time: what waits
 * since long is known by it, and what has just begun to wait may be called idle too early.
 */
#include "library/dump_idle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/idle.h"
#include "source/mode.h"
#include "wire/states.h"

/* How long such a profile is, ns: long enough for each part of the rule. */
#define WINDOW 10000000000ull

static bool has_work(const struct extprof_dump_thread *t)
{
	for (size_t i = 0; i < t->fiber_count; i++)
		if (!t->fibers[i]->created && (t->fibers[i]->label_count || t->fibers[i]->labels_lost || t->fibers[i]->trace_id))
			return true;
	return t->deadlocked || (t->state != EXTPROF_THREAD_BLOCKED && t->state != EXTPROF_THREAD_SLEEPING);
}

/* FRAME_MERGED: out of memory, or there is no such state. */
static uint32_t state_frame(struct frame_table *frames, const struct extprof_dump_thread *t)
{
	uint32_t state = state_of_wait((uint32_t)t->wait);
	struct frame f = FRAME_INIT(FRAME_STATE);

	if (state >= STATE_MAX)
		return FRAME_MERGED;
	f.name = state_names[state];
	f.state = (uint8_t)state;
	f.bracketed = true;
	return frame_table__add(frames, &f);
}

static uint32_t thread_frame(struct frame_table *frames, const struct extprof_dump_thread *t)
{
	struct frame f = FRAME_INIT(FRAME_THREAD);
	char name[32];

	/* Names can be equal. */
	snprintf(name, sizeof(name), "%" PRIu64, t->serial);
	f.name = name;
	f.known = KNOWN;
	f.role = ROLE_RUBY;
	f.bracketed = true;
	return frame_table__add(frames, &f);
}

/* *node is where the wait of the thread is in the tree; MAP64_NONE: it has work, or it is not known what it waits for. */
static int add_thread(struct frame_table *frames, const struct extprof_dump_thread *t, const uint32_t *stack, uint32_t count,
		      struct tree *tree, uint32_t *node)
{
	const struct weight weight = { .value = WINDOW, .count = 1 };
	uint32_t *path, state, thread = thread_frame(frames, t);
	int err;

	*node = MAP64_NONE;
	/* Another thread is one, whatever it does. */
	state = has_work(t) ? FRAME_MERGED : state_frame(frames, t);
	if (thread == FRAME_MERGED)
		return 0;
	path = malloc((count + 2u) * sizeof(*path));
	if (!path)
		return -ENOMEM;
	path[0] = thread;
	for (uint32_t i = 0; i < count; i++)
		path[i + 1] = stack[i];
	path[count + 1] = state;
	err = tree__add(tree, path, count + 1 + (state != FRAME_MERGED), &weight);
	if (!err && state != FRAME_MERGED)
		*node = tree__find(tree, path, count + 2);
	free(path);
	return err;
}

int dump_idle__find(struct frame_table *frames, struct extprof_dump_thread *const *threads, size_t count,
		    const uint32_t *const *stacks, const uint32_t *counts)
{
	struct tree tree = { 0 };
	struct idle idle = { .tree = &tree, .frames = frames, .window = WINDOW };
	uint32_t *nodes = calloc(count + 1, sizeof(*nodes));
	int err = nodes && !tree__init(&tree) ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++)
		err = add_thread(frames, threads[i], stacks[i], counts[i], &tree, &nodes[i]);
	if (!err)
		err = idle__find(&idle);
	for (size_t i = 0; i < count && !err; i++)
		threads[i]->idle = nodes[i] != MAP64_NONE && idle.is[nodes[i]];
	idle__free(&idle);
	tree__free(&tree);
	free(nodes);
	return err;
}
