/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PER_CHUNK RB_DEBUG_EXT_SLOTS_PER_CHUNK
/* A writer holds the sequence lock for some stores: a few tries are enough. */
#define TRIES 8

/* One table: its slots begin with a generation. */
struct table {
	const struct memory *memory;
	uint64_t dir;
	uint32_t end, stride, size;	/* slots, bytes from one to the next, bytes of one that are known here */
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A slot of an older ruby is shorter: what it does not have reads as 0. */
static void copy_slot(void *to, size_t room, const void *copy, uint32_t size)
{
	memset(to, 0, room);
	memcpy(to, copy, size);
}

static struct table threads_of(const struct layout *layout, const struct memory *memory)
{
	const struct rb_debug_ext_section *s = &layout->section;

	return (struct table){
		.memory = memory, .dir = s->thread_dir, .end = s->thread_slots_end,
		.stride = s->thread_slot_size,
		.size = smaller(s->thread_slot_size, sizeof(struct rb_debug_ext_thread)),
	};
}

static struct table ecs_of(const struct layout *layout, const struct memory *memory)
{
	const struct rb_debug_ext_section *s = &layout->section;

	return (struct table){
		.memory = memory, .dir = s->ec_dir, .end = s->ec_slots_end, .stride = s->ec_slot_size,
		.size = smaller(s->ec_slot_size, sizeof(struct rb_debug_ext_ec)),
	};
}

/* Where the chunk with that slot is; 0: there is none yet. */
static int read_chunk_address(const struct table *t, uint32_t slot, uint64_t *chunk)
{
	return memory__read(t->memory, t->dir + 8ull * (slot / PER_CHUNK), chunk, sizeof(*chunk));
}

static int slot_address(const struct table *t, uint32_t slot, uint64_t *address)
{
	uint64_t chunk;
	int err;

	if (!t->dir || !slot || slot >= t->end)
		return -EINVAL;
	err = read_chunk_address(t, slot, &chunk);
	if (err)
		return err;
	if (!chunk)
		return -EINVAL;
	*address = chunk + (uint64_t)(slot % PER_CHUNK) * t->stride;
	return 0;
}

/* One slot under its sequence lock. */
static int read_slot(const struct table *t, uint32_t slot, void *to)
{
	uint32_t before, after;
	uint64_t address;
	int err = slot_address(t, slot, &address);

	if (err)
		return err;
	for (int i = 0; i < TRIES; i++) {
		err = memory__read(t->memory, address, to, t->size);
		if (!err)
			err = memory__read(t->memory, address, &after, sizeof(after));
		if (err)
			return err;
		memcpy(&before, to, sizeof(before));
		if (!(before & 1) && before == after)
			return 0;
	}
	return -EAGAIN;
}

/* Call `add` for each slot, with a copy that is of one moment.  Two copies of a chunk prove most of its slots at
 * once: a slot with one even generation in both was not written between them. */
static int each_slot(const struct table *t, struct tables *result,
		     int (*add)(struct tables *result, uint32_t slot, const void *copy, uint32_t size))
{
	size_t bytes = (size_t)smaller(PER_CHUNK, t->end) * t->stride;
	uint8_t *copies = t->dir && t->end > 1 ? malloc(2 * bytes + t->size) : NULL;
	uint8_t *single;
	int err = 0;

	if (!copies)
		return t->dir && t->end > 1 ? -ENOMEM : 0;
	single = copies + 2 * bytes;
	for (uint32_t first = 0; first < t->end && !err; first += PER_CHUNK) {
		/* Memory behind the last slot is not read. */
		size_t length = (size_t)smaller(PER_CHUNK, t->end - first) * t->stride;
		uint64_t chunk;

		err = read_chunk_address(t, first, &chunk);
		if (!err && chunk)
			err = memory__read(t->memory, chunk, copies, length);
		if (!err && chunk)
			err = memory__read(t->memory, chunk, copies + bytes, length);
		if (err == -EFAULT) {
			result->torn++;
			err = 0;
			continue;
		}
		for (uint32_t i = first ? 0 : 1; chunk && i < PER_CHUNK && first + i < t->end && !err; i++) {
			const uint8_t *copy = copies + (size_t)i * t->stride;
			uint32_t before, after;

			memcpy(&before, copy, 4);
			memcpy(&after, copy + bytes, 4);
			if (before & 1 || before != after) {
				err = read_slot(t, first + i, single);
				copy = single;
			}
			if (!err)
				err = add(result, first + i, copy, t->size);
			if (err == -EAGAIN || err == -EFAULT || err == -EINVAL) {
				result->torn++;
				err = 0;
			}
		}
	}
	free(copies);
	return err;
}

static bool lives(const struct rb_debug_ext_thread *t)
{
	return t->thread && t->state != RB_DEBUG_EXT_THREAD_NONE && t->state != RB_DEBUG_EXT_THREAD_DEAD;
}

static int add_thread(struct tables *t, uint32_t slot, const void *copy, uint32_t size)
{
	struct table_thread *added;
	struct rb_debug_ext_thread thread;

	copy_slot(&thread, sizeof(thread), copy, size);
	if (!lives(&thread))
		return 0;
	if (t->thread_count == TABLES_THREADS_MAX) {
		t->left_out++;
		return 0;
	}
	if (array__reserve(&t->threads, t->thread_count, 1, &t->thread_room, TABLES_THREADS_MAX,
			   sizeof(*t->threads)))
		return -ENOMEM;
	added = &t->threads[t->thread_count++];
	added->slot = slot;
	added->t = thread;
	added->t.name[sizeof(added->t.name) - 1] = '\0';
	return 0;
}

static int add_ec(struct tables *t, uint32_t slot, const void *copy, uint32_t size)
{
	struct table_ec *added;
	struct rb_debug_ext_ec ec;

	copy_slot(&ec, sizeof(ec), copy, size);
	if (!ec.ec)
		return 0;
	if (t->ec_count == TABLES_ECS_MAX) {
		t->left_out++;
		return 0;
	}
	if (array__reserve(&t->ecs, t->ec_count, 1, &t->ec_room, TABLES_ECS_MAX, sizeof(*t->ecs)))
		return -ENOMEM;
	added = &t->ecs[t->ec_count++];
	added->slot = slot;
	added->e = ec;
	return 0;
}

int tables__read_threads(struct tables *t, const struct layout *layout, const struct memory *memory)
{
	struct table threads = threads_of(layout, memory);

	t->thread_count = t->ec_count = t->torn = t->left_out = 0;
	return each_slot(&threads, t, add_thread);
}

int tables__read(struct tables *t, const struct layout *layout, const struct memory *memory)
{
	struct table ecs = ecs_of(layout, memory);
	int err = tables__read_threads(t, layout, memory);

	return err ? err : each_slot(&ecs, t, add_ec);
}

/* Is there a slot that `is` takes? */
static int any_slot(const struct table *t, bool (*is)(const void *copy, uint32_t size, const void *context), const void *context)
{
	size_t bytes = (size_t)PER_CHUNK * t->stride;
	uint8_t *copies = t->dir && t->end > 1 ? malloc(bytes) : NULL;
	bool found = false;
	int err = 0;

	if (!copies)
		return t->dir && t->end > 1 ? -ENOMEM : 0;
	for (uint32_t first = 0; first < t->end && !err && !found; first += PER_CHUNK) {
		uint32_t count = smaller(PER_CHUNK, t->end - first);
		uint64_t chunk;

		err = read_chunk_address(t, first, &chunk);
		if (!err && chunk)
			err = memory__read(t->memory, chunk, copies, (size_t)count * t->stride);
		for (uint32_t i = first ? 0 : 1; !err && chunk && i < count && !found; i++)
			found = is(copies + (size_t)i * t->stride, t->size, context);
		if (err == -EFAULT)
			err = 0;
	}
	free(copies);
	return err ? err : found;
}

struct wanted {
	bool (*of_thread)(const struct rb_debug_ext_thread *t);
	bool (*of_ec)(const struct rb_debug_ext_ec *e);
};

static bool is_thread(const void *copy, uint32_t size, const void *context)
{
	const struct wanted *w = context;
	struct rb_debug_ext_thread t;

	copy_slot(&t, sizeof(t), copy, size);
	return lives(&t) && w->of_thread(&t);
}

static bool is_ec(const void *copy, uint32_t size, const void *context)
{
	const struct wanted *w = context;
	struct rb_debug_ext_ec e;

	copy_slot(&e, sizeof(e), copy, size);
	return e.ec && w->of_ec(&e);
}

int tables__any(const struct layout *layout, const struct memory *memory,
		bool (*of_thread)(const struct rb_debug_ext_thread *t), bool (*of_ec)(const struct rb_debug_ext_ec *e))
{
	struct table threads = threads_of(layout, memory), ecs = ecs_of(layout, memory);
	struct wanted wanted = { of_thread, of_ec };
	int any = any_slot(&threads, is_thread, &wanted);

	return any ? any : any_slot(&ecs, is_ec, &wanted);
}

void tables__free(struct tables *t)
{
	if (!t)
		return;
	free(t->threads);
	free(t->ecs);
	memset(t, 0, sizeof(*t));
}

int tables__read_thread(const struct layout *layout, const struct memory *memory, uint32_t slot,
			struct rb_debug_ext_thread *to)
{
	struct table threads = threads_of(layout, memory);
	int err;

	memset(to, 0, sizeof(*to));
	err = read_slot(&threads, slot, to);
	if (!err)
		to->name[sizeof(to->name) - 1] = '\0';
	return err;
}

int tables__current_ec(const struct layout *layout, const struct memory *memory,
		       const struct rb_debug_ext_thread *thread, uint64_t *ec)
{
	return memory__read(memory, thread->thread + layout->section.thread_ec, ec, sizeof(*ec));
}
