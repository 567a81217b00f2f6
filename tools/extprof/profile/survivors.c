/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/survivors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Stacks of objects that died stay in the tree until it has so many nodes, and twice those that are needed. */
#define NODES_KEPT (32u << 10)
#define VMS_MAX (1u << 16)

int survivors__init(struct survivors *s)
{
	memset(s, 0, sizeof(*s));
	return tree__init(&s->stacks);
}

void survivors__free(struct survivors *s)
{
	for (uint32_t i = 0; i < s->vm_count; i++)
		free(s->vms[i].list);
	free(s->vms);
	tree__free(&s->stacks);
	memset(s, 0, sizeof(*s));
}

static struct held_vm *find(struct survivors *s, uint32_t vm)
{
	for (uint32_t i = s->vm_count; i-- > 0;)
		if (s->vms[i].vm == vm)
			return &s->vms[i];
	return NULL;
}

static struct held_vm *find_or_add(struct survivors *s, uint32_t vm)
{
	struct held_vm *v = find(s, vm);

	if (v || array__reserve(&s->vms, s->vm_count, 1, &s->vm_room, VMS_MAX, sizeof(*s->vms)))
		return v;
	v = &s->vms[s->vm_count++];
	*v = (struct held_vm){ .vm = vm };
	return v;
}

static int rebuild_or_forget(struct survivors *s, const struct frame_table *from, struct frame_table *to);

/*
 * What one VM has must not keep others from having any: the one that has most gives up half.  False: that is the VM which
 * asks.
 */
static bool make_room(struct survivors *s, const struct held_vm *v)
{
	struct held_vm *most = NULL;
	uint32_t half;

	for (uint32_t i = 0; i < s->vm_count; i++)
		if (!most || s->vms[i].count > most->count)
			most = &s->vms[i];
	if (!most || most == v || most->count < 2)
		return false;
	half = most->count / 2;
	most->count -= half;
	s->count -= half;
	s->forgotten += half;
	return !rebuild_or_forget(s, NULL, NULL);
}

static int reserve(struct survivors *s, struct held_vm *v)
{
	if (s->count >= SURVIVORS_MAX && !make_room(s, v))
		return -ENOMEM;
	return array__reserve(&v->list, v->count, 1, &v->room, SURVIVORS_OF_VM_MAX, sizeof(*v->list));
}

/* Frames below `node`, outermost first. */
static int add_path(struct tree *t, uint32_t node, const uint32_t *frames, uint32_t count, uint32_t *last)
{
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		err = tree__child(t, node, frames[i], &node);
	*last = node;
	return err;
}

/* The frames from below the root to the node, outermost first: the last `count` of `room`.  Returns where they begin. */
static const uint32_t *path_of(const struct tree *t, uint32_t node, uint32_t *room, uint32_t max, uint32_t *count)
{
	uint32_t n = max;

	for (; node && n; node = t->nodes[node].parent)
		room[--n] = t->nodes[node].frame;
	*count = max - n;
	return room + n;
}

static int add_paths(struct tree *t, const struct sink_sample *sample, const struct sink_view *view, struct held_object *o)
{
	int err = add_path(t, 0, sample->frames, sample->count, &o->stack);

	if (!err)
		err = add_path(t, o->stack, view->below, view->below_count, &o->stack);
	return err ? err : add_path(t, 0, sample->labels, sample->label_count, &o->labels);
}

int survivors__hold(struct survivors *s, uint32_t vm, uint64_t serial, uint32_t class, const struct sink_sample *sample,
		    const struct sink_view *view)
{
	struct held_vm *v = find_or_add(s, vm);
	struct held_object o = {
		.serial = serial, .time = sample->time, .thread = sample->origin.thread, .label = sample->label,
		.tid = sample->origin.tid, .fiber = sample->origin.fiber, .thread_frame = sample->origin.thread_frame,
		.count = view->weight.count < UINT32_MAX ? (uint32_t)view->weight.count : UINT32_MAX, .class = class,
		.groups = (uint8_t)sample->groups, .below = (uint8_t)view->below_count, .truncated = (uint8_t)sample->truncated,
	};

	if (!v || reserve(s, v) ||
	    (add_paths(&s->stacks, sample, view, &o) && (!make_room(s, v) || add_paths(&s->stacks, sample, view, &o))))
		return -ENOMEM;
	v->list[v->count++] = o;
	s->count++;
	s->held++;
	return 0;
}

int survivors__inherit(struct survivors *s, uint32_t parent, uint32_t vm, uint64_t forked_at)
{
	struct held_vm *v = find_or_add(s, vm), *from = find(s, parent);

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; from && i < from->count; i++) {
		if (from->list[i].time >= forked_at)
			continue;
		/* Who is made room for could be the parent. */
		if (s->count >= SURVIVORS_MAX || reserve(s, v))
			return -ENOMEM;
		v->list[v->count++] = from->list[i];
		s->count++;
		s->held++;
	}
	return 0;
}

static int by_serial(const void *a, const void *b)
{
	const struct held_object *x = a, *y = b;

	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* In bytes: what it takes, for all objects that it stands for. */
static uint64_t value_of(const struct rb_debug_ext_live *o)
{
	double bytes = (double)(o->bytes ? o->bytes : o->size) * ((double)o->weight / (double)o->size);

	return bytes < (double)(1ull << 60) ? (uint64_t)(bytes + 0.5) : 1ull << 60;
}

static int tell(struct survivors *s, const struct held_object *o, const struct rb_debug_ext_live *entry,
		const struct survivors_use *use)
{
	struct sink_view view = { .weight = { value_of(entry), o->count }, .below_count = o->below };
	struct sink_sample sample = {
		.origin = { .thread = o->thread, .tid = o->tid, .fiber = o->fiber, .thread_frame = o->thread_frame },
		.time = o->time, .source = SOURCE_ALLOC, .truncated = o->truncated, .label = o->label,
		.groups = o->groups, .views = &view, .view_count = 1,
	};

	sample.frames = path_of(&s->stacks, o->stack, s->path, SINK_FRAMES_MAX + SINK_BELOW_MAX, &sample.count);
	sample.count -= o->below;
	memcpy(view.below, sample.frames + sample.count, o->below * sizeof(*view.below));
	sample.labels = path_of(&s->stacks, o->labels, s->labels, SINK_LABELS_MAX, &sample.label_count);
	return use->tell(use->context, &sample, &view);
}

int survivors__settle(struct survivors *s, uint32_t vm, const struct survivors_use *use)
{
	struct held_vm *v = find_or_add(s, vm);
	uint32_t kept = 0, at = 0;
	bool cleared;
	int err = 0;

	if (!v)
		return -ENOMEM;
	if (!v->read)
		v->refused = use->refused;
	s->refused += use->refused - v->refused;
	v->refused = use->refused;
	cleared = v->read && v->clears != use->clears;
	v->read = true;
	v->clears = use->clears;
	if (v->count)
		qsort(v->list, v->count, sizeof(*v->list), by_serial);
	for (uint32_t i = 0; i < v->count; i++) {
		const struct held_object *o = &v->list[i];

		while (at < use->count && use->list[at].serial < o->serial)
			at++;
		/* A sample that came twice is one object. */
		if (at == use->count || use->list[at].serial != o->serial || use->list[at].id != o->class ||
		    (kept && v->list[kept - 1].serial == o->serial)) {
			if (cleared)
				s->forgotten++;
			else
				s->died++;
			continue;
		}
		if (use->tell && !err)
			err = tell(s, o, &use->list[at], use);
		v->list[kept++] = *o;
	}
	s->count -= v->count - kept;
	v->count = kept;
	return err;
}

void survivors__end(struct survivors *s, uint32_t vm)
{
	struct held_vm *v = find(s, vm);

	if (!v)
		return;
	s->ended += v->count;
	s->count -= v->count;
	free(v->list);
	*v = s->vms[--s->vm_count];
}

/* -- other numbers --------------------------------------------------------------------------- */

/* The number of a frame in another table; FRAME_MERGED: out of memory. */
static uint32_t renumber_frame(const struct frame_table *from, struct frame_table *to, uint32_t *numbers, uint32_t frame)
{
	uint64_t code;

	if (frame >= from->count)
		return frame;	/* FRAME_NO_ROOM */
	if (numbers[frame])
		return numbers[frame];
	code = from->codes[frame];
	numbers[frame] = code ? frame_table__code(to, code) : frame_table__add(to, &from->list[frame]);
	return numbers[frame];
}

/* The node of the same stack in another tree. */
static int renumber_stack(struct survivors *s, const struct frame_table *from, struct frame_table *to, uint32_t *numbers,
			  struct tree *stacks, uint32_t *nodes, uint32_t node, uint32_t *result)
{
	uint32_t n = 0, new = 0;
	int err = 0;

	for (; node && !nodes[node] && n < SINK_FRAMES_MAX + SINK_BELOW_MAX; node = s->stacks.nodes[node].parent)
		s->path[n++] = node;
	new = node ? nodes[node] : 0;
	while (n-- && !err) {
		uint32_t frame = s->stacks.nodes[s->path[n]].frame;

		if (from) {
			frame = renumber_frame(from, to, numbers, frame);
			if (frame == FRAME_MERGED)
				return -ENOMEM;
		}
		err = tree__child(stacks, new, frame, &new);
		nodes[s->path[n]] = new;
	}
	*result = new;
	return err;
}

/* Stacks that are needed, with other numbers of frames if `from` is not NULL.  After an error objects have nodes of two trees. */
static int rebuild(struct survivors *s, const struct frame_table *from, struct frame_table *to)
{
	uint32_t *numbers = calloc(from ? from->count + 1u : 1u, sizeof(*numbers));
	uint32_t *nodes = calloc(s->stacks.node_count + 1u, sizeof(*nodes));
	struct tree stacks;
	int err = tree__init(&stacks);

	if (err)
		goto cleanup;
	err = numbers && nodes ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < s->vm_count; i++) {
		for (uint32_t j = 0; j < s->vms[i].count && !err; j++) {
			struct held_object *o = &s->vms[i].list[j];

			err = renumber_stack(s, from, to, numbers, &stacks, nodes, o->stack, &o->stack);
			if (!err)
				err = renumber_stack(s, from, to, numbers, &stacks, nodes, o->labels, &o->labels);
			if (!err && from && o->thread_frame) {
				o->thread_frame = renumber_frame(from, to, numbers, o->thread_frame);
				err = o->thread_frame == FRAME_MERGED ? -ENOMEM : 0;
			}
		}
	}
	if (err) {
		tree__free(&stacks);
		goto cleanup;
	}
	tree__free(&s->stacks);
	s->stacks = stacks;
	s->nodes_needed = stacks.node_count;
cleanup:
	free(numbers);
	free(nodes);
	return err;
}

static int rebuild_or_forget(struct survivors *s, const struct frame_table *from, struct frame_table *to)
{
	int err = rebuild(s, from, to);

	for (uint32_t i = 0; err && i < s->vm_count; i++) {
		s->forgotten += s->vms[i].count;
		s->count -= s->vms[i].count;
		s->vms[i].count = 0;
	}
	return err;
}

int survivors__renumber(struct survivors *s, const struct frame_table *from, struct frame_table *to)
{
	return rebuild_or_forget(s, from, to);
}

void survivors__tidy(struct survivors *s)
{
	if (s->stacks.node_count > NODES_KEPT && s->stacks.node_count / 2 > s->nodes_needed)
		rebuild_or_forget(s, NULL, NULL);
}
