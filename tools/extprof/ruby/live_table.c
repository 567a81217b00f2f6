/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/live_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/deadline.h"
#include "ruby/section_word.h"

/* Between two reads of one that changes, ns. */
#define PAUSE_LEAST 100000
#define PAUSE_MOST 20000000
/* Bytes that are read at once. */
#define CHUNK (64u << 10)
/* More than an object can stand for, and take. */
#define WEIGHT_MAX (1ull << 48)
#define SIZE_MAX_OF_SLOT 0xffffffffull

/* The fields of the section that change. */
struct head {
	uint64_t until, address;
	uint32_t end, entry_size, generation, clears;
	uint64_t cycles, major_cycles, refused;
};

_Static_assert(offsetof(struct rb_debug_ext_section, live_until) + sizeof(struct head) ==
	       offsetof(struct rb_debug_ext_section, live_refused) + 8, "these fields are one after the other");

int live_table__ask(struct address_space *space, const struct layout *l)
{
	const size_t word = offsetof(struct rb_debug_ext_section, live_until);
	uint64_t until, now, other;
	struct timespec clock;
	int err = section_word__read(space, l, word, &other);

	if (err)
		return err;
	/* Half of what the VM honours: its clock may be behind. */
	clock_gettime(CLOCK_MONOTONIC, &clock);
	now = (uint64_t)clock.tv_sec;
	until = now + RB_DEBUG_EXT_LIVE_SECONDS / 2;
	/* Another reader may want it for longer.  A time that is too far away is none. */
	if (other >= until && other <= now + RB_DEBUG_EXT_LIVE_SECONDS)
		return 0;
	return section_word__write(space, l, word, until);
}

static int read_head(const struct memory *m, const struct layout *l, struct head *h)
{
	return memory__read(m, l->address + offsetof(struct rb_debug_ext_section, live_until), h, sizeof(*h));
}

static bool is_sound(const struct rb_debug_ext_live *o, uint64_t last)
{
	return o->serial > last && o->size && o->size <= SIZE_MAX_OF_SLOT && o->weight && o->weight <= WEIGHT_MAX &&
	       o->bytes <= WEIGHT_MAX;
}

/* Entries, some at a time: only what is known of each is kept. */
static int read_entries(struct live_table *t, const struct memory *m, const struct head *h)
{
	const uint32_t at_once = CHUNK / h->entry_size;
	char raw[CHUNK];
	int err = 0;

	if (h->end > t->max) {
		void *list = realloc(t->list, h->end * sizeof(*t->list));

		if (!list)
			return -ENOMEM;
		t->list = list;
		t->max = h->end;
	}
	for (uint32_t i = 0; i < h->end && !err; i += at_once) {
		uint32_t n = h->end - i < at_once ? h->end - i : at_once;

		err = memory__read(m, h->address + (uint64_t)i * h->entry_size, raw, (size_t)n * h->entry_size);
		for (uint32_t j = 0; j < n && !err; j++)
			memcpy(&t->list[i + j], raw + (size_t)j * h->entry_size, sizeof(*t->list));
	}
	return err;
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
	if (!before.address || !before.end)
		return 0;
	if (before.generation & 1)
		return -EAGAIN;
	if (before.end > RB_DEBUG_EXT_LIVE_MAX || before.entry_size < sizeof(*t->list) ||
	    before.entry_size > RB_DEBUG_EXT_STRIDE_MAX)
		return -EPROTO;
	err = read_entries(t, m, &before);
	if (err)
		return err;
	/* The reads are in this order: each is a system call. */
	err = read_head(m, l, &after);
	if (err)
		return err;
	if (after.generation != before.generation || after.address != before.address || after.end < before.end)
		return -EAGAIN;
	for (uint32_t i = 0; i < before.end; i++) {
		if (!is_sound(&t->list[i], last))
			return -EPROTO;
		last = t->list[i].serial;
	}
	t->count = before.end;
	return 0;
}

int live_table__read(struct live_table *t, const struct memory *m, const struct layout *l, uint64_t until)
{
	struct timespec pause = { 0, PAUSE_LEAST };
	int err;

	/* The collector has it for as long as it looks at each object. */
	while ((err = read_once(t, m, l)) == -EAGAIN && deadline__now() < until) {
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec * 2 < PAUSE_MOST ? pause.tv_nsec * 2 : PAUSE_MOST;
	}
	if (err)
		t->count = 0;
	return err;
}

void live_table__free(struct live_table *t)
{
	free(t->list);
	memset(t, 0, sizeof(*t));
}
