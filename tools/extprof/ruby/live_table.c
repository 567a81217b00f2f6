/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/live_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES 8
/* More than an object can stand for, and take. */
#define WEIGHT_MAX (1ull << 48)
#define SIZE_MAX_OF_SLOT 0xffffffffull

/* What of the section changes. */
struct head {
	uint64_t until, address;
	uint32_t end, entry_size, generation, clears;
	uint64_t cycles, major_cycles, refused;
};

_Static_assert(offsetof(struct rb_debug_ext_section, live_until) + sizeof(struct head) ==
	       offsetof(struct rb_debug_ext_section, live_refused) + 8, "these fields are one after the other");

int live_table__ask(struct address_space *space, const struct layout *l)
{
	struct deadline *deadline = address_space__lift_deadline(space);
	struct timespec now;
	uint64_t until;
	int err = layout__confirm(l, &space->memory);

	if (!err) {
		/* Half of what the VM honours: its clock may be behind. */
		clock_gettime(CLOCK_MONOTONIC, &now);
		until = (uint64_t)now.tv_sec + RB_DEBUG_EXT_LIVE_SECONDS / 2;
		err = address_space__write(space, l->address + offsetof(struct rb_debug_ext_section, live_until), &until,
					   sizeof(until));
	}
	space->deadline = deadline;
	return err;
}

static int read_head(const struct memory *m, const struct layout *l, struct head *h)
{
	return memory__read(m, l->address + offsetof(struct rb_debug_ext_section, live_until), h, sizeof(*h));
}

static int reserve(struct live_table *t, uint32_t count, uint32_t size)
{
	void *list = count > t->max ? realloc(t->list, count * sizeof(*t->list)) : t->list;
	char *raw = size > t->raw_size ? realloc(t->raw, size) : t->raw;

	if (list) {
		t->list = list;
		t->max = count > t->max ? count : t->max;
	}
	if (raw) {
		t->raw = raw;
		t->raw_size = size > t->raw_size ? size : t->raw_size;
	}
	return (list || !count) && (raw || !size) ? 0 : -ENOMEM;
}

static bool is_sound(const struct rb_debug_ext_live *o, uint64_t last)
{
	return o->serial > last && o->size && o->size <= SIZE_MAX_OF_SLOT && o->weight && o->weight <= WEIGHT_MAX &&
	       o->bytes <= WEIGHT_MAX;
}

/* 0; -EAGAIN: it has changed meanwhile. */
static int read_once(struct live_table *t, const struct memory *m, const struct layout *l)
{
	struct head before, after;
	uint64_t last = 0;
	int err = read_head(m, l, &before);

	if (err)
		return err;
	t->count = 0;
	t->clears = before.clears;
	t->refused = before.refused;
	if (!before.address || !before.end)
		return 0;
	if (before.generation & 1)
		return -EAGAIN;
	if (before.end > RB_DEBUG_EXT_LIVE_MAX || before.entry_size < sizeof(*t->list) ||
	    before.entry_size > RB_DEBUG_EXT_STRIDE_MAX)
		return -EPROTO;
	err = reserve(t, before.end, before.end * before.entry_size);
	if (!err)
		err = memory__read(m, before.address, t->raw, (size_t)before.end * before.entry_size);
	if (err)
		return err;
	/* The reads are in this order: each is a system call. */
	err = read_head(m, l, &after);
	if (err)
		return err;
	if (after.generation != before.generation || after.address != before.address)
		return -EAGAIN;
	for (uint32_t i = 0; i < before.end; i++) {
		memcpy(&t->list[i], t->raw + (size_t)i * before.entry_size, sizeof(*t->list));
		if (!is_sound(&t->list[i], last))
			return -EPROTO;
		last = t->list[i].serial;
	}
	t->count = before.end;
	return 0;
}

int live_table__read(struct live_table *t, const struct memory *m, const struct layout *l)
{
	struct timespec pause = { 0, 100000 };
	int err = -EAGAIN;

	for (int i = 0; i < TRIES && err == -EAGAIN; i++) {
		if (i)
			nanosleep(&pause, NULL);
		err = read_once(t, m, l);
	}
	if (err)
		t->count = 0;
	return err;
}

void live_table__free(struct live_table *t)
{
	free(t->list);
	free(t->raw);
	memset(t, 0, sizeof(*t));
}
