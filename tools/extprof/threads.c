/* SPDX-License-Identifier: BSD-2-Clause */
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 4
#define LABELS_MAX (64u << 10)

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
	free(t->labels);
	map64__free(&t->map);
	memset(t, 0, sizeof(*t));
}

void threads__forget(struct threads *t)
{
	map64__free(&t->map);
	t->count = 0;
}

/* Read slot number `slot` of a two-level table under its sequence lock. */
static int read_slot(const struct threads *t, uint64_t dir, uint32_t end, uint32_t stride,
		     uint32_t slot, void *to, size_t size)
{
	uint64_t base, address;
	uint32_t before, after;
	int err;

	if (!dir || !slot || slot >= end)
		return -1;
	err = memory__read(t->memory, dir + 8ull * (slot / RB_DEBUG_EXT_SLOTS_PER_CHUNK),
			   &base, sizeof(base));
	if (err || !base)
		return -1;
	address = base + (uint64_t)(slot % RB_DEBUG_EXT_SLOTS_PER_CHUNK) * stride;
	for (int i = 0; i < TRIES; i++) {
		if (memory__read(t->memory, address, to, size))
			return -1;
		memcpy(&before, to, sizeof(before));
		if (!(before & 1) &&
		    !memory__read(t->memory, address, &after, sizeof(after)) && after == before)
			return 0;
	}
	return -1;
}

static void ruby_name(const struct threads *t, uint32_t ec_slot, struct text *out)
{
	const struct rb_debug_ext_section *s = &t->layout->section;
	struct rb_debug_ext_thread thread;
	struct rb_debug_ext_ec ec;
	size_t length;

	if (read_slot(t, s->ec_dir, s->ec_slots_end, s->ec_slot_size, ec_slot, &ec, sizeof(ec)) ||
	    read_slot(t, s->thread_dir, s->thread_slots_end, s->thread_slot_size, ec.thread_slot,
		      &thread, sizeof(thread)))
		return;
	if (thread.ractor > 1)
		text__addf(out, "ractor %u ", thread.ractor);
	length = strnlen(thread.name, sizeof(thread.name));
	if (length)
		text__add_clean(out, thread.name, length, sizeof(thread.name));
	else if (thread.flags & RB_DEBUG_EXT_THREAD_MAIN)
		text__adds(out, "main");
}

const char *threads__label(struct threads *t, uint32_t tid, uint32_t ec_slot, const char *comm)
{
	uint64_t key = (uint64_t)tid << 32 | ec_slot;
	uint32_t number = map64__get(&t->map, key);
	struct text name = { 0 };

	if (number != MAP64_NONE)
		return t->labels[number].text;
	if (t->count >= LABELS_MAX)
		threads__forget(t);
	if (t->count == t->room) {
		uint32_t room = t->room ? t->room * 2 : 16;
		void *bigger = realloc(t->labels, room * sizeof(*t->labels));

		if (!bigger)
			return "[thread]";
		t->labels = bigger;
		t->room = room;
	}
	ruby_name(t, ec_slot, &name);
	if (!name.length)
		text__add_clean(&name, comm, strnlen(comm, TASK_COMM_SIZE), TASK_COMM_SIZE);
	number = t->count;
	t->labels[number].tid = tid;
	t->labels[number].ec_slot = ec_slot;
	snprintf(t->labels[number].text, sizeof(t->labels[number].text), "[thread %.90s (%u)]",
		 text__string(&name), tid);
	text__free(&name);
	if (!map64__add(&t->map, key, number))
		t->count++;
	return t->labels[number].text;
}
