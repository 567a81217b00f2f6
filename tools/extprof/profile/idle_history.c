/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/idle_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/idle_stack.h"

/* A thread rests in a shallow place. */
#define DEPTH_MAX 32u

static uint64_t text_hash(const char *text, uint64_t seed)
{
	return hash__bytes(text, strlen(text), seed);
}

/* -- keys ----------------------------------------------------------------------------------------- */

struct keys {
	struct idle_keys *to;
	const struct idle *s;
	uint64_t *methods, *lines;	/* by frame; 0: not looked at */
	uint64_t *places;		/* by node: as idle_keys::waits, but of code */
	uint8_t *depths;		/* by node */
};

/* Hash the method and the line of a frame.  Methods are the same as in idle.c. */
static void look_at(struct keys *k, uint32_t number)
{
	const struct frame *f = frame_table__get(k->s->frames, number);

	k->methods[number] = text_hash(f->path, text_hash(f->name, (uint64_t)f->kind << 32 | (uint32_t)f->first_line)) | 1;
	k->lines[number] = hash__mix(k->methods[number] ^ (uint32_t)f->line) | 1;
}

/* 0: it has no number, so it could be another one. */
static uint64_t thread_key(const struct idle *s, uint32_t node)
{
	const struct frame *f = idle__frame(s, node);

	if (f->known != KNOWN || !f->tid || (f->role != ROLE_RUBY && f->role != ROLE_NATIVE))
		return 0;
	for (uint32_t i = s->tree->nodes[node].parent; i; i = s->tree->nodes[i].parent) {
		const struct frame *process = idle__frame(s, i);

		if (process->kind == FRAME_PROCESS && process->pid)
			return hash__mix(text_hash(process->key, 0) ^ ((uint64_t)process->pid << 32 | f->tid)) | 1;
	}
	return 0;
}

/* Parents come before children. */
static void take(struct keys *k, uint32_t node)
{
	const struct tree_node *n = &k->s->tree->nodes[node];
	const struct frame *f = frame_table__get(k->s->frames, n->frame);
	uint64_t path = k->to->paths[n->parent], place = k->places[n->parent];

	k->depths[node] = k->depths[n->parent];
	if (f->kind == FRAME_THREAD) {
		k->to->paths[node] = k->places[node] = thread_key(k->s, node);
		return;
	}
	/* Labels are no code. */
	if (!path || frame_kind__is_above(f->kind)) {
		k->to->paths[node] = path;
		k->places[node] = place;
		return;
	}
	if (f->kind == FRAME_STATE) {
		k->to->waits[node] = hash__mix(place + text_hash(f->name, f->state)) | 1;
		return;
	}
	/* Frames below a state belong to the same wait.  Beyond DEPTH_MAX frames make no difference. */
	if (!frame_kind__is_code(f->kind) || k->depths[n->parent] == DEPTH_MAX)
		return;
	if (!k->methods[n->frame])
		look_at(k, n->frame);
	k->depths[node]++;
	k->to->paths[node] = hash__mix(path ^ k->methods[n->frame]) | 1;
	k->places[node] = idle__is_machine(f) ? place : hash__mix(place ^ k->lines[n->frame]) | 1;
}

int idle_keys__make(struct idle_keys *to, const struct idle *s)
{
	uint32_t nodes = s->tree->node_count, frames = s->frames->count;
	struct keys k = { .to = to, .s = s };
	int err = -ENOMEM;

	to->paths = calloc(nodes, sizeof(*to->paths));
	to->waits = calloc(nodes, sizeof(*to->waits));
	k.methods = calloc(frames + 1u, sizeof(*k.methods));
	k.lines = calloc(frames + 1u, sizeof(*k.lines));
	k.places = calloc(nodes, sizeof(*k.places));
	k.depths = calloc(nodes, sizeof(*k.depths));
	if (!to->paths || !to->waits || !k.methods || !k.lines || !k.places || !k.depths)
		goto cleanup;
	for (uint32_t i = 1; i < nodes; i++)
		take(&k, i);
	err = 0;
cleanup:
	free(k.methods);
	free(k.lines);
	free(k.places);
	free(k.depths);
	return err;
}

void idle_keys__free(struct idle_keys *k)
{
	free(k->paths);
	free(k->waits);
	k->paths = NULL;
	k->waits = NULL;
}

/* -- the history ---------------------------------------------------------------------------------- */

static const struct idle_past *find(const struct idle_history *h, uint64_t key)
{
	uint32_t at = h && key ? map64__get(&h->map, key) : MAP64_NONE;

	return at == MAP64_NONE ? NULL : &h->list[at];
}

uint64_t idle_history__ns(const struct idle_history *h, uint64_t key)
{
	const struct idle_past *p = find(h, key);

	return p ? p->ns[0] + p->ns[1] : 0;
}

bool idle_history__calls(const struct idle_history *h, uint64_t key)
{
	const struct idle_past *p = find(h, key);

	return p && p->calls;
}

uint64_t idle_history__window(const struct idle_history *h)
{
	return h ? h->window[0] + h->window[1] : 0;
}

void idle_history__free(struct idle_history *h)
{
	uint64_t span = h->span;

	free(h->list);
	map64__free(&h->map);
	memset(h, 0, sizeof(*h));
	h->span = span;
}

/* The younger half becomes the older one, and what is in neither is forgotten. */
static int turn(struct idle_history *h)
{
	uint32_t kept = 0;

	map64__clear(&h->map);
	for (uint32_t i = 0; i < h->count; i++) {
		struct idle_past p = h->list[i];

		if (!p.ns[0])
			continue;
		p.ns[1] = p.ns[0];
		p.ns[0] = 0;
		if (map64__add(&h->map, p.key, kept))
			return -ENOMEM;
		h->list[kept++] = p;
	}
	h->count = kept;
	h->window[1] = h->window[0];
	h->window[0] = 0;
	return 0;
}

/* NULL: there is no room, or no memory. */
static struct idle_past *past_of(struct idle_history *h, uint64_t key, int *err)
{
	uint32_t at = map64__get(&h->map, key);

	if (at != MAP64_NONE)
		return &h->list[at];
	if (h->count == IDLE_HISTORY_MAX)
		return NULL;
	if (array__reserve(&h->list, h->count, 1, &h->room, IDLE_HISTORY_MAX, sizeof(*h->list)) ||
	    map64__add(&h->map, key, h->count)) {
		*err = -ENOMEM;
		return NULL;
	}
	h->list[h->count] = (struct idle_past){ .key = key };
	return &h->list[h->count++];
}

static int add(struct idle_history *h, uint64_t key, uint64_t ns, bool calls)
{
	int err = 0;
	struct idle_past *p = key ? past_of(h, key, &err) : NULL;

	if (p && __builtin_add_overflow(p->ns[0], ns, &p->ns[0]))
		p->ns[0] = UINT64_MAX / 4;
	if (p)
		p->calls |= calls;
	return err;
}

/* Is the node of the mode? */
static bool is_of_mode(const struct idle *s, uint32_t node, const bool *of)
{
	const struct tree_node *n = &s->tree->nodes[node];

	return !s->mode_frame || (n->parent ? of[n->parent] : n->frame == s->mode_frame);
}

static int add_nodes(struct idle_history *h, const struct idle *s, const struct idle_keys *keys, uint64_t *sums, bool *of)
{
	const struct tree_node *nodes = s->tree->nodes;
	uint32_t count = s->tree->node_count;
	int err = 0;

	for (uint32_t i = 1; i < count; i++)
		of[i] = is_of_mode(s, i, of);
	for (uint32_t i = count; i-- > 1;) {
		sums[i] += of[i] ? idle__ns(s, i) : 0;
		sums[nodes[i].parent] += sums[i];
	}
	for (uint32_t i = 1; i < count && !err; i++) {
		const struct frame *f = idle__frame(s, i);
		uint32_t parent = nodes[i].parent;

		/* A group has the key of what is above it. */
		if (!sums[i] || (frame_kind__is_above(f->kind) && f->kind != FRAME_THREAD))
			continue;
		err = add(h, keys->paths[i], sums[i], false);
		if (!err)
			err = add(h, keys->waits[i], sums[i], false);
		if (!err && f->kind == FRAME_RUBY)
			err = add(h, keys->paths[parent], 0, true);
	}
	return err;
}

int idle_history__add(struct idle_history *h, const struct idle *s)
{
	uint64_t *sums = calloc(s->tree->node_count, sizeof(*sums)), span = h->span ? h->span : IDLE_HISTORY_SPAN;
	bool *of = calloc(s->tree->node_count, sizeof(*of));
	struct idle_keys keys = { 0 };
	int err = sums && of ? idle_keys__make(&keys, s) : -ENOMEM;

	if (!err && h->window[0] >= span)
		err = turn(h);
	if (!err)
		err = add_nodes(h, s, &keys, sums, of);
	h->window[0] += s->window;
	if (err)
		idle_history__free(h);
	idle_keys__free(&keys);
	free(sums);
	free(of);
	return err;
}
