/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that live: mode heap.  Sampled objects are held back, and the tables of the VMs say which of them live. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/state.h"
#include "ruby/live_table.h"

/* So many objects are held before the tables are read between two looks. */
#define HELD_MANY (32u << 10)
/* One table may take so long to read, and all of them in the last look, and in others. */
#define TABLE_TIMEOUT SECOND
#define LAST_LOOK_TIME (15 * SECOND)
#define LOOK_TIME (SECOND / 5)
#define LOOK_TABLE_TIME (20 * MS)

/* Members of struct survivors. */
struct object_counts {
	uint64_t held, died, ended, forgotten, refused;
};

struct engine_heap {
	struct survivors survivors;
	struct tree tree;		/* what lived when the recording was last put together */
	struct live_table table;
	struct tree_sink tree_sink;
	uint32_t mode;			/* number of mode heap */
	uint64_t ask_at, look_at;	/* CLOCK_MONOTONIC, ns */
	uint32_t next;			/* place in the set of processes where the next look begins */
	uint32_t held_after;		/* objects that were held after the last look */
	struct sink *sink;		/* who is told */
	uint64_t settled_at;		/* when what lives was last looked for; CLOCK_MONOTONIC, ns */
	/* For one of several files: what had happened before it began, and how many objects lived then. */
	struct object_counts before;
	uint64_t objects_before;
};

int engine__open_heap(struct engine *e)
{
	struct engine_heap *h;

	for (uint32_t i = 0; i < e->settings.mode_count; i++) {
		if (!e->settings.modes[i]->lives)
			continue;
		h = e->heap = calloc(1, sizeof(*h));
		if (!h || survivors__init(&h->survivors) || tree__init(&h->tree))
			return -ENOMEM;
		h->mode = i;
		tree_sink__init(&h->tree_sink, &h->tree);
		e->resolver.survivors = &h->survivors;
	}
	return 0;
}

void engine__free_heap(struct engine *e)
{
	if (!e->heap)
		return;
	survivors__free(&e->heap->survivors);
	tree__free(&e->heap->tree);
	live_table__free(&e->heap->table);
	free(e->heap);
	e->heap = NULL;
}

const struct tree *engine__tree_of(const struct engine *e, const struct mode *mode)
{
	return mode->lives && e->heap ? &e->heap->tree : &e->tree;
}

static void count_objects(const struct engine_heap *h, struct object_counts *c)
{
	const struct survivors *s = &h->survivors;

	*c = (struct object_counts){ s->held, s->died, s->ended, s->forgotten, s->refused };
}

void engine__describe_objects(const struct engine *e, struct report_meta *m)
{
	const struct engine_heap *h = e->heap;
	struct object_counts c;

	count_objects(h, &c);
	m->objects_sampled = c.held - h->before.held;
	m->objects_died = c.died - h->before.died;
	m->objects_ended = c.ended - h->before.ended;
	m->objects_forgotten = c.forgotten - h->before.forgotten;
	m->objects_refused = c.refused - h->before.refused;
	m->objects_before = h->objects_before;
	m->objects_not_asked = e->live_refused;
	m->why_objects_not_asked = e->why_live_refused;
	m->why_objects_unknown = e->why_heap;
}

bool engine__holds_objects(const struct engine *e)
{
	return e->heap && e->heap->survivors.count;
}

/* -- asking ---------------------------------------------------------------------------------- */

void engine__ask_live(struct engine *e, struct vm *vm)
{
	int err;

	if (!e->heap)
		return;
	err = vm__is_readable(vm) ? live_table__ask(vm->space, &vm->layout) : 0;
	/* A process that did not answer in time is asked again. */
	if ((err != -EACCES && err != -EPERM && err != -EBADF && err != -EIO) || vm->table_refused)
		return;
	vm->table_refused = true;
	if (!e->live_refused++)
		e->why_live_refused = err;
}

static void ask_all(struct engine *e)
{
	e->heap->ask_at = deadline__now() + LIVE_TABLE_INTERVAL;
	for (uint32_t i = 0; i < e->set.vm_count; i++)
		if (e->set.vms[i])
			engine__ask_live(e, e->set.vms[i]);
}

void engine__resume_heap(struct engine *e)
{
	if (!e->heap)
		return;
	survivors__resume(&e->heap->survivors);
	ask_all(e);
}

/* -- looking --------------------------------------------------------------------------------- */

/*
 * A child has what its parent had at the fork.  Its ancestors come first: one that has ended since had it from its own parent.
 * False: not all samples of the time before the fork are here.
 */
static bool inherit(struct engine *e, struct vm *vm, bool last)
{
	if (vm->inherited || !vm->forked_at || !vm->parent)
		return true;
	if ((!last && (vm->forked_at >= e->drained_at || vm->parent->turn.waiting)) || !inherit(e, vm->parent, last))
		return false;
	vm->inherited = true;
	/* Its parent here can be an older ancestor, which has made other objects of the same numbers since. */
	if (vm->depth < VM_DEPTH_MAX)
		survivors__inherit(&e->heap->survivors, vm->parent->number, vm->number, vm->forked_at);
	return true;
}

static void inherit_all(struct engine *e, bool last)
{
	for (uint32_t i = 0; i < e->set.vm_count; i++)
		if (e->set.vms[i])
			inherit(e, e->set.vms[i], last);
}

/* Does a child still wait for what the VM of that number had at its fork?  Then nothing of it may be forgotten. */
static bool has_heirs(const struct engine *e, uint32_t number)
{
	for (uint32_t i = 0; i < e->set.vm_count; i++) {
		const struct vm *child = e->set.vms[i];

		if (!child || child->inherited || !child->forked_at)
			continue;
		for (const struct vm *v = child->parent; v; v = v->parent)
			if (v->number == number)
				return true;
	}
	return false;
}

static int read_table(struct engine *e, struct vm *vm, bool last, uint64_t until)
{
	struct deadline *deadline = vm->space->deadline, limit;
	uint64_t now = deadline__now(), table_until = now + (last ? TABLE_TIMEOUT : LOOK_TABLE_TIME);
	int err;

	if (table_until > until)
		table_until = until;
	deadline__start(&limit, last ? e->settings.interrupt_fd : -1, now + TABLE_TIMEOUT);
	vm->space->deadline = &limit;
	err = live_table__read(&e->heap->table, &vm->memory, &vm->layout, table_until);
	vm->space->deadline = deadline;
	return err;
}

/* An error: it is not known what lives, and all that is held stays. */
static int look_at(struct engine *e, struct process *p, bool last, uint64_t until)
{
	struct engine_heap *h = e->heap;
	struct vm *vm = p->vm;
	int err;

	/* Samples that were put aside may be of objects that are in no table any more. */
	if (!vm || vm->plain || p->shares_vm || vm->exited || (!last && vm->turn.waiting))
		return 0;
	if (!vm->space)
		return survivors__of(&h->survivors, vm->number) ? -EACCES : 0;
	err = read_table(e, vm, last, until);
	/* A child that was forked before the table was read can still have objects that died in the parent since. */
	engine__drain_lifecycle(e);
	inherit_all(e, last);
	if (p->vm != vm || vm->exited || err == -ESRCH || err == -ESTALE) {
		/* Else its end will be told. */
		if (last)
			survivors__end(&h->survivors, vm->number);
		return 0;
	}
	if (err || has_heirs(e, vm->number))
		return err;
	return survivors__settle(&h->survivors, vm->number, p->row, h->table.list, h->table.count, h->table.clears);
}

/* Programs that nobody runs any more have no objects. */
static void end_objects(struct engine *e)
{
	struct survivors *s = &e->heap->survivors;

	for (uint32_t i = s->vm_count; i-- > 0;) {
		const struct vm *vm = process_set__vm(&e->set, s->vms[i].vm);

		if ((!vm || vm->exited) && !has_heirs(e, s->vms[i].vm))
			survivors__end(s, s->vms[i].vm);
	}
}

/* The tables of all VMs, or of those for which there is time.  The first error; others are read all the same. */
static int look(struct engine *e, bool last)
{
	struct engine_heap *h = e->heap;
	uint64_t until = deadline__now() + (last ? LAST_LOOK_TIME : LOOK_TIME);
	uint32_t count = e->set.count;
	int first = 0;

	survivors__begin(&h->survivors);
	/* Before any of them forgets something. */
	inherit_all(e, last);
	for (uint32_t n = 0; n < count && e->set.count; n++) {
		struct process *p = e->set.list[h->next++ % e->set.count];
		int err = 0;

		if (deadline__now() >= until) {
			first = first || !last ? first : -ETIME;
			break;
		}
		if (p)
			err = look_at(e, p, last, until);
		first = first ? first : err;
	}
	end_objects(e);
	survivors__tidy(&h->survivors);
	h->held_after = h->survivors.count;
	return first;
}

void engine__step_heap(struct engine *e, uint64_t now)
{
	struct engine_heap *h = e->heap;

	/* Objects that are held must stay in the tables during a pause, too. */
	if (!h || (e->paused && !h->survivors.count))
		return;
	if (now >= h->ask_at)
		ask_all(e);
	/* Samples that wait may be of objects that are in no table any more, and of the time before a fork. */
	if (e->behind || (now < h->look_at && !h->survivors.crowded && h->survivors.count < 2 * h->held_after + HELD_MANY))
		return;
	h->look_at = now + LIVE_TABLE_INTERVAL;
	/* A table that could not be read is read the next time; only the last look tells of it. */
	look(e, false);
}

/* -- telling --------------------------------------------------------------------------------- */

/* Frames of an object that was made before a fork name the process that made it. */
static void name_process(struct engine *e, struct sink_sample *sample)
{
	uint32_t *frames = e->heap->survivors.path + (sample->frames - e->heap->survivors.path);

	for (uint32_t i = 0; i < sample->groups; i++)
		if (frame_table__get(&e->frames, frames[i])->kind == FRAME_PROCESS)
			frames[i] = resolve__process_frame(&e->resolver, sample->origin.process);
}

static int tell(void *context, struct sink_sample *sample, struct sink_view *view)
{
	struct engine *e = context;
	struct engine_heap *h = e->heap;

	view->mode = h->mode;
	view->mode_frame = e->resolver.mode_frames[h->mode];
	name_process(e, sample);
	return h->sink->ops->sample(h->sink, sample);
}

void engine__settle_heap(struct engine *e)
{
	struct engine_heap *h = e->heap;
	struct tree tree;

	if (!h)
		return;
	e->why_heap = tree__init(&tree);
	if (e->why_heap)
		return;
	tree__free(&h->tree);
	h->tree = tree;
	h->settled_at = deadline__now();
	e->why_heap = look(e, true);
	h->sink = &h->tree_sink.sink;
	if (survivors__tell(&h->survivors, tell, e))
		e->why_heap = -ENOMEM;
}

int engine__record_heap(struct engine *e)
{
	struct engine_heap *h = e->heap;
	int err;

	if (!h)
		return 0;
	h->sink = &e->recording.sink;
	err = recording_sink__begin_state(&e->recording);
	if (!err)
		err = survivors__tell(&h->survivors, tell, e);
	/* After the objects: a process of which that is written has all of them in the file.  That there is a state is told in
	 * any case. */
	if (!err)
		err = recording_sink__lives(&e->recording, h->settled_at, PROCESS_NONE, h->survivors.count);
	for (uint32_t i = 0; i < h->survivors.vm_count && !err; i++) {
		const struct held_vm *v = &h->survivors.vms[i];

		if (v->settled)
			err = recording_sink__lives(&e->recording, h->settled_at, v->process, v->count);
	}
	return err;
}

int engine__restart_heap(struct engine *e, struct frame_table *frames)
{
	struct engine_heap *h = e->heap;
	struct tree tree;

	if (!h)
		return 0;
	if (tree__init(&tree))
		return -ENOMEM;
	tree__free(&h->tree);
	h->tree = tree;
	if (e->segments.base) {
		count_objects(h, &h->before);
		h->objects_before = h->survivors.count;
	}
	return survivors__renumber(&h->survivors, &e->frames, frames, symbol_table__is_crowded(&e->table));
}
