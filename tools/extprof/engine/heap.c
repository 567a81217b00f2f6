/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that live: mode heap.  What was sampled is held back, and the tables of the VMs say what of it lives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/state.h"
#include "ruby/live_table.h"

/* So many objects are held before the tables are read between two looks. */
#define HELD_MANY (32u << 10)
/* One table may take so long to read, and all of them in a look that is not the last. */
#define TABLE_TIMEOUT SECOND
#define LOOK_TIME (SECOND / 5)

struct engine_heap {
	struct survivors survivors;
	struct tree tree;		/* what lived when the recording was last put together */
	struct live_table table;
	struct tree_sink sink;
	uint32_t mode;			/* number of mode heap */
	uint64_t ask_at, look_at;	/* CLOCK_MONOTONIC, ns */
	uint32_t next;			/* place in the set of processes where the next look begins */
	uint32_t held_after;		/* objects that were held after the last look */
	struct sink *also;		/* who else is told; NULL nobody */
	/* Of the VM that is looked at. */
	const struct process *process;
	const struct vm *vm;
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
		tree_sink__init(&h->sink, &h->tree);
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

void engine__ask_live(struct engine *e, struct vm *vm)
{
	int err;

	if (!e->heap)
		return;
	err = vm->space ? live_table__ask(vm->space, &vm->layout) : -EACCES;
	/* A child is asked for when its memory is open; what has ended is not. */
	if (err && vm->space && err != -ESRCH && err != -ESTALE && !e->live_refused++)
		e->why_live_refused = err;
}

/* Frames of an object that was made before a fork name the process that made it. */
static void name_process(struct engine *e, uint32_t row, uint32_t *frames, uint32_t groups)
{
	for (uint32_t i = 0; i < groups; i++)
		if (frame_table__get(&e->frames, frames[i])->kind == FRAME_PROCESS)
			frames[i] = resolve__process_frame(&e->resolver, row);
}

static int tell(void *context, struct sink_sample *sample, struct sink_view *view)
{
	struct engine *e = context;
	struct engine_heap *h = e->heap;
	int err;

	sample->origin.process = h->process->row;
	sample->origin.vm = h->vm->number;
	view->mode = h->mode;
	view->mode_frame = e->resolver.mode_frames[h->mode];
	/* They are in the room of survivors, which is ours until it tells the next one. */
	name_process(e, h->process->row, h->survivors.path + (sample->frames - h->survivors.path), sample->groups);
	err = h->sink.sink.ops->sample(&h->sink.sink, sample);
	if (!err && h->also)
		err = h->also->ops->sample(h->also, sample);
	return err;
}

/* -EINTR and the like: it is not known what lives, and all stays as it is. */
static int look_at(struct engine *e, const struct process *p, bool tells)
{
	struct engine_heap *h = e->heap;
	struct vm *vm = p->vm;
	struct deadline *deadline, limit;
	struct survivors_use use;
	int err;

	if (!vm || p->shares_vm || !vm->space || vm->exited)
		return 0;
	deadline__start(&limit, -1, deadline__now() + TABLE_TIMEOUT);
	deadline = vm->space->deadline;
	vm->space->deadline = &limit;
	err = live_table__read(&h->table, &vm->memory, &vm->layout);
	vm->space->deadline = deadline;
	if (err)
		return err;
	h->process = p;
	h->vm = vm;
	use = (struct survivors_use){
		.list = h->table.list, .count = h->table.count, .clears = h->table.clears, .refused = h->table.refused,
		.tell = tells ? tell : NULL, .context = e,
	};
	return survivors__settle(&h->survivors, vm->number, &use);
}

/* All samples that were taken before a fork are here by now. */
static int inherit(struct engine *e)
{
	int err = 0;

	for (uint32_t i = 0; i < e->set.count && !err; i++) {
		const struct process *p = e->set.list[i];
		struct vm *vm = p ? p->vm : NULL;

		if (!vm || p->shares_vm || vm->inherited || !vm->forked_at || !vm->parent)
			continue;
		vm->inherited = true;
		/* Its parent here can be an older ancestor, which has made other objects of the same numbers since. */
		if (vm->depth >= VM_DEPTH_MAX)
			continue;
		err = survivors__inherit(&e->heap->survivors, vm->parent->number, vm->number, vm->forked_at);
	}
	return err;
}

/* Programs that nobody runs any more have no objects. */
static void end_objects(struct engine *e)
{
	struct survivors *s = &e->heap->survivors;

	for (uint32_t i = s->vm_count; i-- > 0;) {
		const struct vm *vm = process_set__vm(&e->set, s->vms[i].vm);

		if (!vm || vm->exited)
			survivors__end(s, s->vms[i].vm);
	}
}

/* The tables of all VMs, or of those for which there is time.  The first error; others are read all the same. */
static int look(struct engine *e, bool tells)
{
	struct engine_heap *h = e->heap;
	uint64_t until = tells ? UINT64_MAX : deadline__now() + LOOK_TIME;
	int first = inherit(e);

	for (uint32_t n = 0; n < e->set.count && deadline__now() < until; n++) {
		const struct process *p = e->set.list[h->next++ % e->set.count];
		int err = p ? look_at(e, p, tells) : 0;

		if (err == -ESRCH || err == -ESTALE)
			err = 0;
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

	/* What it knows is not to be forgotten in a pause. */
	if (!h || (e->paused && !h->survivors.count))
		return;
	if (now >= h->ask_at) {
		h->ask_at = now + LIVE_TABLE_INTERVAL;
		for (uint32_t i = 0; i < e->set.vm_count; i++)
			if (e->set.vms[i] && !e->set.vms[i]->exited)
				engine__ask_live(e, e->set.vms[i]);
	}
	/* Samples that wait may be of objects that are in no table any more, and of the time before a fork. */
	if (e->behind || (now < h->look_at && h->survivors.count < 2 * h->held_after + HELD_MANY))
		return;
	h->look_at = now + LIVE_TABLE_INTERVAL;
	/* What could not be read is read the next time, and at the end it is told. */
	look(e, false);
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
	e->why_heap = look(e, true);
}

int engine__record_heap(struct engine *e)
{
	struct engine_heap *h = e->heap;
	int err;

	if (!h)
		return 0;
	h->also = &e->recording.sink;
	engine__settle_heap(e);
	h->also = NULL;
	err = e->recording.sink.err;
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
	return survivors__renumber(&h->survivors, &e->frames, frames);
}

const struct survivors *engine__survivors(const struct engine *e)
{
	return e->heap ? &e->heap->survivors : NULL;
}
