/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/threads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A writer holds the sequence lock for some stores: a few tries are enough. */
#define TRIES 4
/* So often the name of a thread that has none is read again soon after a sample. */
#define UNNAMED_LOOKS 8

void threads__init(struct threads *t, const struct layout *layout, const struct memory *memory)
{
	memset(t, 0, sizeof(*t));
	t->layout = layout;
	t->memory = memory;
}

void threads__free(struct threads *t)
{
	if (!t)
		return;
	budget__add(t->share, -(int64_t)(t->room * sizeof(*t->list)));
	free(t->list);
	map64__free(&t->map);
	memset(t, 0, sizeof(*t));
}

void threads__set_exited(struct threads *t)
{
	t->exited = true;
}

void threads__inherit(struct threads *t, const struct threads *parent)
{
	t->parent = parent;
}

/* Take the name that the thread had in the parent, until its own can be read. */
static void inherit_name(const struct threads *t, struct thread *thread)
{
	const struct thread *old;
	uint32_t number;

	for (t = t->parent; t && !thread->name[0]; t = t->parent) {
		number = map64__get(&t->map, thread->serial);
		if (number == MAP64_NONE)
			continue;
		old = &t->list[number];
		memcpy(thread->name, old->name, sizeof(thread->name));
		thread->ractor = old->ractor;
		thread->flags = old->flags;
	}
}

/* Read a slot under its sequence lock. */
static int read_slot(const struct threads *t, uint32_t slot, struct rb_debug_ext_thread *to)
{
	const struct rb_debug_ext_section *s = &t->layout->section;
	/* That of an older ruby is shorter: what it does not have reads as 0. */
	size_t size = s->thread_slot_size < sizeof(*to) ? s->thread_slot_size : sizeof(*to);
	uint64_t base, address;
	uint32_t after;
	int err;

	memset(to, 0, sizeof(*to));
	if (!s->thread_dir || slot >= RB_DEBUG_EXT_SLOT_CHUNKS_MAX * RB_DEBUG_EXT_SLOTS_PER_CHUNK)
		return -EINVAL;
	err = memory__read(t->memory, s->thread_dir + 8ull * (slot / RB_DEBUG_EXT_SLOTS_PER_CHUNK),
			   &base, sizeof(base));
	if (err)
		return err;
	if (!base)
		return -EINVAL;
	address = base + (uint64_t)(slot % RB_DEBUG_EXT_SLOTS_PER_CHUNK) * s->thread_slot_size;
	for (int i = 0; i < TRIES; i++) {
		err = memory__read(t->memory, address, to, size);
		if (err)
			return err;
		err = memory__read(t->memory, address, &after, sizeof(after));
		if (err)
			return err;
		if (!(to->generation & 1) && after == to->generation)
			return 0;
	}
	return -EAGAIN;
}

/* Take over what the slot of a thread says now. */
static void take_slot(struct thread *thread, const struct rb_debug_ext_thread *slot)
{
	thread->sampled = false;
	/* When a thread dies, its ruby clears the flag of the ractor's main thread: keep what is known. */
	if (!thread->known || slot->state != RB_DEBUG_EXT_THREAD_DEAD) {
		thread->ractor = slot->ractor;
		thread->flags = slot->flags;
	} else if (thread->name[0]) {
		return;
	}
	thread->known = true;
	memcpy(thread->name, slot->name, sizeof(thread->name));
}

static void read_name(const struct threads *t, struct thread *thread)
{
	struct rb_debug_ext_thread slot;

	if (t->exited || thread->gone || read_slot(t, thread->slot, &slot))
		return;
	/* The serial of a free slot may be anything. */
	if (!slot.thread || slot.serial != (thread->serial & ~THREAD_FIBERS)) {
		thread->gone = true;
		return;
	}
	take_slot(thread, &slot);
}

/* Its fibers have the name of the thread. */
static void take_name(const struct threads *t, struct thread *fibers)
{
	uint32_t number = map64__get(&t->map, fibers->serial & ~THREAD_FIBERS);
	const struct thread *thread = number == MAP64_NONE ? NULL : &t->list[number];

	if (!thread || !thread->known)
		return;
	fibers->known = true;
	fibers->ractor = thread->ractor;
	fibers->flags = thread->flags;
	memcpy(fibers->name, thread->name, sizeof(fibers->name));
}

static struct thread *add_thread(struct threads *t, uint64_t serial, uint32_t slot, uint32_t tid)
{
	size_t room = t->room;
	struct thread *thread;

	if (t->count == t->room && !budget__has(t->share, t->room * sizeof(*t->list)))
		return NULL;
	if (array__reserve(&t->list, t->count, 1, &t->room, THREADS_MAX, sizeof(*t->list)))
		return NULL;
	budget__add(t->share, (int64_t)((t->room - room) * sizeof(*t->list)));
	if (map64__add(&t->map, serial, t->count))
		return NULL;
	thread = &t->list[t->count++];
	memset(thread, 0, sizeof(*thread));
	thread->serial = serial;
	thread->slot = slot;
	thread->tid = tid;
	/* Read the name now: the thread may be gone before the next refresh. */
	read_name(t, thread);
	if (!thread->known && serial & THREAD_FIBERS)
		take_name(t, thread);
	if (!thread->known)
		inherit_name(t, thread);
	return thread;
}

struct thread *threads__note(struct threads *t, uint64_t serial, uint32_t slot, uint32_t tid)
{
	uint32_t number = map64__get(&t->map, serial);
	struct thread *thread;

	thread = number == MAP64_NONE ? add_thread(t, serial, slot, tid) : &t->list[number];
	if (!thread)
		return NULL;
	thread->sampled = true;
	/* One that begins or ends can have none. */
	if (tid && !thread->tid && !thread->moved)
		thread->tid = tid;
	thread->moved |= tid && thread->tid != tid;
	if (thread->moved)
		thread->tid = 0;
	return thread;
}

void threads__take(struct threads *t, uint32_t slot, const struct rb_debug_ext_thread *copy)
{
	uint32_t number = map64__get(&t->map, copy->serial);
	struct thread *thread = number == MAP64_NONE ? NULL : &t->list[number];

	if (thread && !t->exited && !thread->gone && thread->slot == slot && copy->thread)
		take_slot(thread, copy);
}

bool threads__name_young(struct threads *t)
{
	bool any = false;

	for (uint32_t i = 0; i < t->count; i++) {
		struct thread *thread = &t->list[i];

		if (!thread->sampled || thread->gone || thread->name[0] || thread->looks == UNNAMED_LOOKS)
			continue;
		thread->looks++;
		read_name(t, thread);
		any = true;
	}
	return any;
}

void threads__refresh(struct threads *t, bool all)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (all || t->list[i].sampled)
			read_name(t, &t->list[i]);
}

/* The list has become that long, with other numbers. */
static void renumber(struct threads *t, uint32_t count)
{
	t->count = count;
	map64__clear(&t->map);
	/* The map has room: it had these keys before. */
	for (uint32_t i = 0; i < count; i++)
		map64__add(&t->map, t->list[i].serial, i);
}

void threads__restart(struct threads *t)
{
	bool many = t->count > THREADS_KEPT;
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		bool had_frame = t->list[i].frame;

		t->list[i].frame = 0;
		if (many && had_frame)
			t->list[count++] = t->list[i];
	}
	if (many)
		renumber(t, count);
}

void threads__tidy(struct threads *t)
{
	uint32_t count = 0;

	/* Wait until there are twice as many as were left: then each thread is looked at twice on average. */
	if (t->count <= THREADS_KEPT || t->count / 2 < t->tidied)
		return;
	for (uint32_t i = 0; i < t->count; i++) {
		if (!t->list[i].frame)
			read_name(t, &t->list[i]);
		if (t->list[i].frame || !(t->list[i].gone || t->exited))
			t->list[count++] = t->list[i];
	}
	if (count < t->count)
		renumber(t, count);
	t->tidied = count;
}

static void add_bare_name(const struct thread *thread, struct text *out)
{
	size_t length = strnlen(thread->name, sizeof(thread->name));

	if (thread->ractor > 1)
		text__addf(out, "ractor %u ", thread->ractor);
	if (length)
		text__add_clean(out, thread->name, length, sizeof(thread->name));
	else if (thread->flags & RB_DEBUG_EXT_THREAD_MAIN)
		text__adds(out, "main");
	else
		text__addf(out, "#%" PRIu64 "%s", thread->serial & ~THREAD_FIBERS, thread->known ? "" : " (gone)");
}

void thread__frame(const struct thread *thread, struct text *name, struct frame *f)
{
	add_bare_name(thread, name);
	*f = (struct frame)FRAME_INIT(FRAME_THREAD);
	f->role = thread->serial & THREAD_FIBERS ? ROLE_FIBERS : ROLE_RUBY;
	f->tid = thread->tid;
	f->name = text__string(name);
}

static void add_frame(const struct thread *thread, void (*add)(const struct frame *f, struct text *out), struct text *out)
{
	struct text name = { 0 };
	struct frame f;

	thread__frame(thread, &name, &f);
	add(&f, out);
	out->failed |= name.failed;
	text__free(&name);
}

void thread__add_name(const struct thread *thread, struct text *out)
{
	add_frame(thread, frame__add_inside, out);
}

void thread__add_label(const struct thread *thread, struct text *out)
{
	add_frame(thread, frame__add_text, out);
}
