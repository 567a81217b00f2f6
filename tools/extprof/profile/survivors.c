/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/survivors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Stacks of objects that died stay in the tree until it has so many nodes, and twice those that are needed. */
#define NODES_KEPT (32u << 10)
#define VMS_MAX (1u << 16)
/* More than an object takes, for all that it stands for: so many of them have a sum. */
#define VALUE_MAX (1ull << 44)

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

static struct held_vm *find(const struct survivors *s, uint32_t vm)
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
	*v = (struct held_vm){ .vm = vm, .process = PROCESS_NONE };
	return v;
}

uint32_t survivors__of(const struct survivors *s, uint32_t vm)
{
	const struct held_vm *v = find(s, vm);

	return v ? v->count : 0;
}

static void drop(struct survivors *s, struct held_vm *v, uint32_t count)
{
	v->count -= count;
	s->count -= count;
	s->dropped |= count != 0;
}

/* -- stacks ---------------------------------------------------------------------------------- */

/* Frames below `node`, outermost first. */
static int add_path(struct tree *t, uint32_t node, const uint32_t *frames, uint32_t count, uint32_t *last)
{
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		err = tree__child(t, node, frames[i], &node);
	*last = node;
	return err;
}

static int add_paths(struct tree *t, const struct sink_sample *sample, const struct sink_view *view, struct held_object *o)
{
	int err = add_path(t, 0, sample->frames, sample->count, &o->stack);

	if (!err)
		err = add_path(t, o->stack, view->below, view->below_count, &o->stack);
	return err ? err : add_path(t, 0, sample->labels, sample->label_count, &o->labels);
}

/* The frames from below the root to the node, outermost first: the last `count` of `room`.  Returns where they begin. */
static uint32_t *path_of(const struct tree *t, uint32_t node, uint32_t *room, uint32_t max, uint32_t *count)
{
	uint32_t n = max;

	for (; node && n; node = t->nodes[node].parent)
		room[--n] = t->nodes[node].frame;
	*count = max - n;
	return room + n;
}

struct renumbering {
	const struct frame_table *from;		/* NULL: frames keep their numbers */
	struct frame_table *to;
	uint32_t *numbers;			/* by number in `from`; 0: it has none so far */
	bool named;				/* as of survivors__renumber() */
};

/* The frame of code that has only a name from now on.  Where there is no room for it, it is one of many. */
static uint32_t add_named(struct frame_table *to, const struct frame *f)
{
	uint32_t number = frame_table__add(to, f);

	return number == FRAME_MERGED && to->no_code >= FRAMES_NO_CODE_MAX ? FRAME_NO_ROOM : number;
}

/* The number of a frame in another table; FRAME_MERGED: out of memory. */
static uint32_t renumber_frame(const struct renumbering *r, uint32_t frame)
{
	const struct frame_table *from = r->from;
	struct frame_table *to = r->to;
	uint32_t *numbers = r->numbers;
	const struct frame *f;
	uint64_t code;

	if (frame >= from->count)
		return frame;	/* FRAME_NO_ROOM */
	if (numbers[frame])
		return numbers[frame];
	code = from->codes[frame];
	f = &from->list[frame];
	if (code && r->named && code__space(code) == CODE_RUBY) {
		numbers[frame] = add_named(to, f);
	} else if (code) {
		numbers[frame] = frame_table__code(to, code);
	} else if (f->kind == FRAME_THREAD || f->kind == FRAME_PROCESS) {
		/* Two of these can look the same. */
		numbers[frame] = frame_table__later(to, (enum frame_kind)f->kind);
		if (numbers[frame] != FRAME_MERGED && frame_table__set(to, numbers[frame], f))
			return FRAME_MERGED;
	} else {
		numbers[frame] = frame_table__add(to, f);
	}
	return numbers[frame];
}

/* The node of the same stack in another tree. */
static int renumber_stack(struct survivors *s, const struct renumbering *r, struct tree *stacks, uint32_t *nodes, uint32_t node,
			  uint32_t *result)
{
	uint32_t n = 0, new = 0;
	int err = 0;

	for (; node && !nodes[node] && n < SINK_FRAMES_MAX + SINK_BELOW_MAX; node = s->stacks.nodes[node].parent)
		s->path[n++] = node;
	new = node ? nodes[node] : 0;
	while (n-- && !err) {
		uint32_t frame = s->stacks.nodes[s->path[n]].frame;

		if (r->from) {
			frame = renumber_frame(r, frame);
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
static int rebuild(struct survivors *s, const struct frame_table *from, struct frame_table *to, bool named)
{
	uint32_t *numbers = calloc(from ? from->count + 1u : 1u, sizeof(*numbers));
	struct renumbering r = { .from = from, .to = to, .numbers = numbers, .named = named };
	uint32_t *nodes = calloc(s->stacks.node_count + 1u, sizeof(*nodes));
	struct tree stacks;
	int err = tree__init(&stacks);

	if (err)
		goto cleanup;
	stacks.node_max = s->stacks.node_max;
	err = numbers && nodes ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < s->vm_count; i++) {
		for (uint32_t j = 0; j < s->vms[i].count && !err; j++) {
			struct held_object *o = &s->vms[i].list[j];

			err = renumber_stack(s, &r, &stacks, nodes, o->stack, &o->stack);
			if (!err)
				err = renumber_stack(s, &r, &stacks, nodes, o->labels, &o->labels);
			if (!err && from && o->thread_frame) {
				o->thread_frame = renumber_frame(&r, o->thread_frame);
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
	s->dropped = false;
cleanup:
	free(numbers);
	free(nodes);
	return err;
}

int survivors__renumber(struct survivors *s, const struct frame_table *from, struct frame_table *to, bool named)
{
	int err = rebuild(s, from, to, named);

	for (uint32_t i = 0; err && i < s->vm_count; i++) {
		s->forgotten += s->vms[i].count;
		drop(s, &s->vms[i], s->vms[i].count);
	}
	return err;
}

void survivors__tidy(struct survivors *s)
{
	uint32_t nodes = s->stacks.node_count;

	s->crowded = false;
	if (s->dropped && nodes > NODES_KEPT && (nodes / 2 > s->nodes_needed || nodes > s->stacks.node_max / 4 * 3))
		survivors__renumber(s, NULL, NULL, false);
}

/* -- room ------------------------------------------------------------------------------------ */

/*
 * One VM must not take the room of all others: the VM with most objects gives up half of them.  False: that VM is `v`
 * itself.
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
	s->forgotten += half;
	drop(s, most, half);
	return !survivors__renumber(s, NULL, NULL, false);
}

static int reserve(struct survivors *s, struct held_vm *v)
{
	if (s->count >= SURVIVORS_MAX && !make_room(s, v))
		return -ENOMEM;
	s->crowded |= v->count >= SURVIVORS_OF_VM_MAX / 4 * 3;
	return array__reserve(&v->list, v->count, 1, &v->room, SURVIVORS_OF_VM_MAX, sizeof(*v->list));
}

/* Stacks of objects that have died give room first. */
static int make_paths(struct survivors *s, const struct held_vm *v, const struct sink_sample *sample, const struct sink_view *view,
		      struct held_object *o)
{
	int err = add_paths(&s->stacks, sample, view, o);

	if (err && s->dropped && !survivors__renumber(s, NULL, NULL, false))
		err = add_paths(&s->stacks, sample, view, o);
	if (err && make_room(s, v))
		err = add_paths(&s->stacks, sample, view, o);
	return err;
}

/* -- objects --------------------------------------------------------------------------------- */

void survivors__hold(struct survivors *s, uint32_t vm, uint64_t serial, uint32_t class, const struct sink_sample *sample,
		     const struct sink_view *view)
{
	struct held_vm *v = find_or_add(s, vm);
	struct held_object o = {
		.serial = serial, .time = sample->time, .thread = sample->origin.thread, .label = sample->label,
		.tid = sample->origin.tid, .fiber = sample->origin.fiber, .thread_frame = sample->origin.thread_frame,
		.count = view->weight.count < UINT32_MAX ? (uint32_t)view->weight.count : UINT32_MAX, .class = class,
		.groups = (uint8_t)sample->groups, .below = (uint8_t)view->below_count, .truncated = (uint8_t)sample->truncated,
	};

	if (sample->context)
		o.context = *sample->context;
	s->held++;
	if (!v || reserve(s, v) || make_paths(s, v, sample, view, &o)) {
		s->forgotten++;
		return;
	}
	v->list[v->count++] = o;
	s->count++;
}

void survivors__inherit(struct survivors *s, uint32_t parent, uint32_t vm, uint64_t forked_at)
{
	struct held_vm *v = find_or_add(s, vm), *from = find(s, parent);

	for (uint32_t i = 0; from && i < from->count; i++) {
		if (from->list[i].time >= forked_at)
			continue;
		s->held++;
		/* make_room() could drop objects of the parent, which this loop reads. */
		if (!v || s->count >= SURVIVORS_MAX || reserve(s, v)) {
			s->forgotten++;
			continue;
		}
		v->list[v->count++] = from->list[i];
		s->count++;
	}
}

void survivors__resume(struct survivors *s)
{
	for (uint32_t i = 0; i < s->vm_count; i++)
		s->vms[i].read &= s->vms[i].count != 0;
}

void survivors__begin(struct survivors *s)
{
	for (uint32_t i = 0; i < s->vm_count; i++)
		s->vms[i].settled = false;
}

/* Two objects can have one serial: one of the parent, sampled while it forked, and one of the child.  The later one is the
 * child's own, and comes first. */
static int by_serial(const void *a, const void *b)
{
	const struct held_object *x = a, *y = b;

	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return x->time > y->time ? -1 : x->time < y->time;
}

/* In bytes: what it takes, for all objects that it stands for. */
static uint64_t value_of(const struct rb_debug_ext_live *o)
{
	double bytes = (double)(o->bytes ? o->bytes : o->size) * ((double)o->weight / (double)o->size);

	return bytes < (double)VALUE_MAX ? (uint64_t)(bytes + 0.5) : VALUE_MAX;
}

int survivors__settle(struct survivors *s, uint32_t vm, uint32_t process, const struct rb_debug_ext_live *list, uint32_t count,
		      uint32_t clears)
{
	struct held_vm *v = find_or_add(s, vm);
	uint32_t kept = 0, at = 0;
	bool cleared;

	if (!v)
		return -ENOMEM;
	cleared = v->read && v->clears != clears;
	v->read = v->settled = true;
	v->clears = clears;
	v->process = process;
	if (v->count)
		qsort(v->list, v->count, sizeof(*v->list), by_serial);
	for (uint32_t i = 0; i < v->count; i++) {
		struct held_object *o = &v->list[i];

		while (at < count && list[at].serial < o->serial)
			at++;
		/* A sample that came twice is one object. */
		if (at == count || list[at].serial != o->serial || list[at].id != o->class ||
		    (kept && v->list[kept - 1].serial == o->serial)) {
			if (cleared)
				s->forgotten++;
			else
				s->died++;
			continue;
		}
		o->value = value_of(&list[at]);
		v->list[kept++] = *o;
	}
	drop(s, v, v->count - kept);
	return 0;
}

void survivors__end(struct survivors *s, uint32_t vm)
{
	struct held_vm *v = find(s, vm);

	if (!v)
		return;
	s->ended += v->count;
	drop(s, v, v->count);
	free(v->list);
	*v = s->vms[--s->vm_count];
}

int survivors__tell(struct survivors *s, int (*tell)(void *context, struct sink_sample *sample, struct sink_view *view),
		    void *context)
{
	int err = 0;

	for (uint32_t i = 0; i < s->vm_count; i++) {
		const struct held_vm *v = &s->vms[i];

		for (uint32_t j = 0; j < v->count && v->settled && !err; j++) {
			const struct held_object *o = &v->list[j];
			struct sink_view view = { .weight = { o->value, o->count }, .below_count = o->below };
			struct sink_sample sample = {
				.origin = { .process = v->process, .vm = v->vm, .thread = o->thread, .tid = o->tid, .fiber = o->fiber,
					    .thread_frame = o->thread_frame },
				.time = o->time, .source = SOURCE_ALLOC, .truncated = o->truncated, .label = o->label,
				.context = &o->context, .groups = o->groups, .views = &view, .view_count = 1,
			};

			sample.frames = path_of(&s->stacks, o->stack, s->path, SINK_FRAMES_MAX + SINK_BELOW_MAX, &sample.count);
			sample.count -= o->below;
			memcpy(view.below, sample.frames + sample.count, o->below * sizeof(*view.below));
			sample.labels = path_of(&s->stacks, o->labels, s->labels, SINK_LABELS_MAX, &sample.label_count);
			err = tell(context, &sample, &view);
		}
	}
	return err;
}
