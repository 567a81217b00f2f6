/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/idle_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/known_places.h"
#include "wire/states.h"

#define SECOND 1000000000ull
/* Methods of a gem from the begin of its thread to the wait; fewer if that is for files, as a server waits for a slow
 * client a few methods below its pool. */
#define METHODS_MAX 4u
#define SELECT_METHODS_MAX 2u
/* A judgement by how long a thread lived needs a profile of this length. */
#define WINDOW_MIN (SECOND - SECOND / 10)
#define SLEEP_WINDOW_MIN (5 * SECOND)
/* A thread that lived for this share of the profile counts as one that lived all the time. */
#define LIVED 0.95
/* A main thread rests if it was in one wait for this share of its life; a native thread, if it was in one call for
 * this share of its life without what it waited for a CPU. */
#define ALL 0.98
#define NATIVE 0.9
/* Nodes that are compared to find what else a thread does. */
#define SAME_MAX 1024u

/* States of waits that can be a rest. */
#define CANDIDATES \
	(1u << STATE_SLEEP | 1u << STATE_QUEUE | 1u << STATE_CONDVAR | 1u << STATE_JOIN | 1u << STATE_IO | 1u << STATE_PARKED)

/* Their main threads serve requests: a loop of fibers within one of them is a part of a request. */
static const char *const servers[] = { "puma", "unicorn", "pitchfork", "passenger", "resque", "sidekiq", "thin" };

struct search {
	struct idle *s;
	const uint64_t *sums;		/* as in struct idle */
	struct idle_keys keys;		/* without a history none */
	uint64_t window;		/* ns of the profile, with the history */
	uint32_t *child, *next;		/* by node; 0 none */
	struct idle_stack stack;
	uint32_t same[2][SAME_MAX];
};

static const struct frame *frame_of(const struct search *c, uint32_t node)
{
	return idle__frame(c->s, node);
}

static bool is_gem(const struct owner *o, const char *name)
{
	return o->kind == OWNER_GEM && idle__is_named(o, name);
}

static bool is_same_method(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->first_line == b->first_line && !strcmp(a->name, b->name) && !strcmp(a->path, b->path);
}

/* -- what else is known of the thread ------------------------------------------------------------- */

/* ns of a node, also in the windows before: of all nodes of the same methods. */
static uint64_t before(const struct search *c, uint32_t node)
{
	return c->s->history ? idle_history__ns(c->s->history, c->keys.paths[node]) : 0;
}

static uint64_t life(const struct search *c)
{
	return c->sums[c->stack.thread] + before(c, c->stack.thread);
}

static bool lived_as_long(const struct search *c, uint64_t min)
{
	return c->window >= min && (double)life(c) >= LIVED * (double)c->window;
}

/* Add the children of a node that are of the same method as *f; all groups if f is NULL.  false: there are too many. */
static bool add_same(const struct search *c, uint32_t node, const struct frame *f, uint32_t *to, uint32_t *count)
{
	for (uint32_t i = c->child[node]; i; i = c->next[i]) {
		const struct frame *of = frame_of(c, i);

		if (f ? !is_same_method(of, f) : of->kind != FRAME_LABEL && of->kind != FRAME_MODE)
			continue;
		if (*count == SAME_MAX)
			return false;
		to[(*count)++] = i;
	}
	return true;
}

/*
 * Does all of the thread pass the code that waits, and go on from there to other code than the wait?  Lines differ, and
 * what goes on may have labels.  In the windows before it may have gone on, too.
 */
static bool goes_on(struct search *c)
{
	const struct idle_stack *k = &c->stack;
	uint32_t *from = c->same[0], *to = c->same[1], count = 1, more;
	uint32_t inner = k->nodes[k->ruby[k->inner].at];
	uint64_t passed = before(c, inner);
	bool other = c->s->history && idle_history__calls(c->s->history, c->keys.paths[inner]);

	from[0] = k->thread;
	for (uint32_t i = 0; i < count; i++)
		if (!add_same(c, from[i], NULL, from, &count))
			return false;
	for (uint32_t i = 0; i <= k->ruby[k->inner].at; i++) {
		uint32_t *swap = from;

		more = 0;
		for (uint32_t j = 0; j < count; j++)
			if (!add_same(c, from[j], frame_of(c, k->nodes[i]), to, &more))
				return false;
		from = to;
		to = swap;
		count = more;
	}
	for (uint32_t i = 0; i < count; i++) {
		passed += c->sums[from[i]];
		for (uint32_t j = c->child[from[i]]; j; j = c->next[j])
			other |= frame_of(c, j)->kind == FRAME_RUBY && c->sums[j];
	}
	return other && (double)passed >= ALL * (double)life(c);
}

/* Is there another Ruby thread in the process? */
static bool has_others(const struct search *c)
{
	uint32_t parent = c->s->tree->nodes[c->stack.thread].parent;

	for (uint32_t i = c->child[parent]; i; i = c->next[i]) {
		const struct frame *f = frame_of(c, i);

		if (i != c->stack.thread && f->kind == FRAME_THREAD && f->known == KNOWN && f->role == ROLE_RUBY && c->sums[i])
			return true;
	}
	return false;
}

/* -- the rule ------------------------------------------------------------------------------------- */

static const struct known_place *find_known(const struct search *c, uint8_t state)
{
	const struct idle_stack *k = &c->stack;

	for (uint32_t i = 0; i < k->ruby_count && !k->foreign; i++)
		for (size_t j = 0; j < known_place_count; j++) {
			const struct known_place *p = &known_places[j];

			if (p->states & 1u << state && (!p->itself || i == k->inner) && (!k->labelled || p->labelled) && is_gem(&k->ruby[i].owner, p->gem) &&
			    !strcmp(k->ruby[i].frame->name, p->method))
				return p;
		}
	return NULL;
}

/* The loop of a scheduler of fibers, and of nothing that has called it within a request. */
static bool is_reactor(const struct search *c)
{
	const struct idle_stack *k = &c->stack;

	for (uint32_t i = 0; i < k->ruby_count; i++)
		for (size_t j = 0; j < sizeof(servers) / sizeof(servers[0]); j++)
			if (is_gem(&k->ruby[i].owner, servers[j]))
				return false;
	return !k->foreign;
}

/* All waits of that state in the same code, in whatever functions of --native and --kernel. */
static uint64_t sum_of_wait(struct search *c, uint32_t node)
{
	uint32_t *list = c->same[0], count = 1, state = c->s->tree->nodes[node].frame;
	uint64_t sum = c->s->history ? idle_history__ns(c->s->history, c->keys.waits[node]) : 0;

	list[0] = c->stack.nodes[c->stack.count - 1];
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = c->child[list[i]]; j; j = c->next[j]) {
			if (c->s->tree->nodes[j].frame == state)
				sum += c->sums[j];
			else if (idle__is_machine(frame_of(c, j)) && count < SAME_MAX)
				list[count++] = j;
		}
	return sum;
}

static bool is_main_rest(struct search *c, uint32_t node)
{
	/* Processes are found one after the other: it need not be there from the first moment on. */
	return !c->stack.foreign && lived_as_long(c, WINDOW_MIN) &&
	       (double)sum_of_wait(c, node) >= ALL * (double)life(c) && has_others(c);
}

static bool is_rest(struct search *c, uint32_t node, enum idle_place place)
{
	const struct idle_stack *k = &c->stack;

	if (place == PLACE_REACTOR)
		return is_reactor(c);
	if (k->is_main)
		return is_main_rest(c, node);
	if (place == PLACE_JOIN)
		return false;
	if (!idle__is_app(&k->ruby[0].owner))
		return k->direct || (k->one_owner && k->methods <= (place == PLACE_SELECT || place == PLACE_ACCEPT ?
								    SELECT_METHODS_MAX : METHODS_MAX));
	if (!lived_as_long(c, place == PLACE_SLEEP ? SLEEP_WINDOW_MIN : WINDOW_MIN))
		return false;
	if (k->direct && (k->loops || place == PLACE_ACCEPT))
		return true;
	if (place == PLACE_SLEEP || (!k->direct && (place != PLACE_QUEUE || k->methods > METHODS_MAX)))
		return false;
	return goes_on(c);
}

/* For how long the thread of the stack waited for a CPU where it waits: on a busy machine that is much. */
static uint64_t waited_for_cpu(struct search *c)
{
	uint32_t inner = c->stack.nodes[c->stack.count - 1];

	for (uint32_t i = c->child[inner]; i; i = c->next[i])
		if (frame_of(c, i)->kind == FRAME_STATE && frame_of(c, i)->state == STATE_RUNNABLE)
			return sum_of_wait(c, i);
	return 0;
}

/* A thread without Ruby code that waits for several things at once, and does nothing else: the VM's own. */
static bool is_native_rest(struct search *c, uint32_t node)
{
	uint64_t all, waited;

	if (c->stack.count != 1 || strcmp(frame_of(c, node)->name, "io epoll_wait"))
		return false;
	waited = waited_for_cpu(c);
	all = life(c);
	return (double)sum_of_wait(c, node) >= NATIVE * (double)(all > waited ? all - waited : 0);
}

/* The method in which it rests; NULL: it does not. */
static const char *judge(struct search *c, uint32_t node)
{
	uint8_t state = frame_of(c, node)->state;
	const struct known_place *known;
	const char *method = NULL;
	enum idle_place place;
	uint8_t role;

	if (state >= STATE_MAX || !(CANDIDATES & 1u << state) || !idle_stack__take(&c->stack, c->s, node))
		return NULL;
	role = frame_of(c, c->stack.thread)->role;
	if (role == ROLE_NATIVE)
		return !c->stack.labelled && is_native_rest(c, node) ? frame_of(c, node)->name : NULL;
	idle_stack__read(&c->stack, c->s);
	if (!c->stack.ruby_count)
		return NULL;
	known = find_known(c, state);
	if (known)
		return known->method;
	if (c->stack.labelled || role == ROLE_FIBERS)
		return NULL;
	place = idle_stack__place(&c->stack, c->s, state, &method);
	return place != PLACE_NONE && is_rest(c, node, place) ? method : NULL;
}

static int add(struct idle *s, const struct idle_wait *wait)
{
	if (array__reserve(&s->waits, s->count, 1, &s->room, TREE_NODES_MAX, sizeof(*s->waits)))
		return -ENOMEM;
	s->waits[s->count++] = *wait;
	s->is[wait->node] = true;
	return 0;
}

static bool is_state(const struct search *c, uint32_t node)
{
	return frame_of(c, node)->kind == FRAME_STATE && c->sums[node] && !(c->s->left_out && c->s->left_out[node]);
}

bool idle__concerns(const struct mode *mode)
{
	return mode->has_states && (!mode->states || mode->states & CANDIDATES);
}

int idle__find(struct idle *s)
{
	const struct tree *tree = s->tree;
	struct search *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	s->is = calloc(tree->node_count, sizeof(*s->is));
	if (!c || !s->is)
		goto cleanup;
	c->s = s;
	c->window = s->window + idle_history__window(s->history);
	if (s->history && idle_keys__make(&c->keys, s))
		goto cleanup;
	c->sums = s->sums = calloc(tree->node_count, sizeof(*s->sums));
	c->child = calloc(tree->node_count, sizeof(*c->child));
	c->next = calloc(tree->node_count, sizeof(*c->next));
	if (!s->sums || !c->child || !c->next)
		goto cleanup;
	/* Parents come before children. */
	for (uint32_t i = tree->node_count; i-- > 1;) {
		uint32_t parent = tree->nodes[i].parent;

		s->sums[i] += idle__ns(s, i);
		s->sums[parent] += s->sums[i];
		c->next[i] = c->child[parent];
		c->child[parent] = i;
	}
	err = 0;
	for (uint32_t i = 1; i < tree->node_count && !err; i++) {
		struct idle_wait wait = { .node = i };

		s->is[i] = s->is[tree->nodes[i].parent];
		wait.method = !s->is[i] && is_state(c, i) ? judge(c, i) : NULL;
		wait.thread = c->stack.thread;
		if (wait.method)
			err = add(s, &wait);
	}
cleanup:
	if (c) {
		free(c->child);
		free(c->next);
		idle_keys__free(&c->keys);
	}
	free(c);
	return err;
}

int idle__find_of_both(struct idle sides[2], bool **is)
{
	const struct tree_node *nodes = sides[0].tree->nodes;
	uint32_t count = sides[0].tree->node_count;
	int err;

	*is = calloc(count, sizeof(**is));
	err = *is ? 0 : -ENOMEM;
	for (int i = 0; i < 2 && !err; i++)
		err = idle__find(&sides[i]);
	for (uint32_t i = 1; i < count && !err; i++) {
		bool begins = false, refused = false;

		for (int j = 0; j < 2; j++) {
			bool here = sides[j].is[i] && !sides[j].is[nodes[i].parent];

			begins |= here;
			refused |= sides[j].sums[i] && !here;
		}
		(*is)[i] = (*is)[nodes[i].parent] || (begins && !refused);
	}
	for (int i = 0; i < 2; i++)
		idle__free(&sides[i]);
	if (err) {
		free(*is);
		*is = NULL;
	}
	return err;
}

void idle__free(struct idle *s)
{
	free(s->waits);
	free(s->is);
	free(s->sums);
	s->waits = NULL;
	s->is = NULL;
	s->sums = NULL;
	s->count = 0;
	s->room = 0;
}
