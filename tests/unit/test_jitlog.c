/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of JIT code, read while it grows. */
#include "test.h"

#include <stdlib.h>

#include "ruby/jitlog.h"
#include "memory_fake.h"
#include "base/deadline.h"

#define ENTRIES 5000u
#define CODE 0x500000ull

static struct rb_debug_ext_section section;
static struct memory_fake memory;
static struct layout layout;
static struct jitlog jit;
static struct rb_debug_ext_jit_entry *entries, found;

static void set_up(uint32_t count)
{
	memory_fake__init(&memory);
	memset(&section, 0, sizeof(section));
	section.section_size = sizeof(section);
	entries = calloc(count, sizeof(*entries));
	section.jit_entry_size = sizeof(*entries);
	section.jit_start = CODE;
	section.jit_end = CODE + (1ull << 32);
	section.jit_log = (uintptr_t)entries;
	layout.address = (uintptr_t)&section;
	layout.section = section;
	jitlog__init(&jit, &layout, NULL);
}

static void tear_down(void)
{
	jitlog__free(&jit);
	free(entries);
}

static bool find(uint32_t offset)
{
	return jitlog__find(&jit, &layout, &memory.memory, CODE + offset, deadline__now(), &found);
}

/* By offset; equal offsets in the order of the log. */
static int by_offset(const void *a, const void *b)
{
	const struct rb_debug_ext_jit_entry *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

TEST(jitlog_appended_in_parts_equals_one_sort)
{
	static struct rb_debug_ext_jit_entry sorted[ENTRIES];

	/* Rising, falling, two areas, and all over with many that are equal. */
	for (int shape = 0; shape < 4; shape++) {
		set_up(ENTRIES);
		for (uint32_t i = 0; i < ENTRIES; i++) {
			entries[i].offset = shape == 0 ? i * 16 : shape == 1 ? (ENTRIES - i) * 16 :
					    shape == 2 ? i / 2 * 16 + i % 2 * 1000000 :
					    test__random() % 2000 * 16;
			entries[i].size = 8;
			entries[i].id = 7;
			entries[i].index = i;
		}
		while (section.jit_log_len < ENTRIES) {
			uint32_t n = section.jit_log_len;

			n += test__random() % 3 ? 1 + test__random() % 4 : 1 + test__random() % 700;
			section.jit_log_len = n > ENTRIES ? ENTRIES : n;
			/* The log is empty, so all that is new is read. */
			CHECK(!find(0xf0000000u));
			CHECK_INT(jit.sorted, section.jit_log_len);
			memcpy(sorted, entries, jit.sorted * sizeof(*sorted));
			qsort(sorted, jit.sorted, sizeof(*sorted), by_offset);
			CHECK(!memcmp(jit.entries, sorted, jit.sorted * sizeof(*sorted)));
		}
		/* Of several entries at one place, the last one holds. */
		for (uint32_t i = 0; i < ENTRIES; i++) {
			uint32_t last = i;

			for (uint32_t k = i; k < ENTRIES; k++)
				if (entries[k].offset == entries[i].offset)
					last = k;
			CHECK(find(entries[i].offset + 7) && found.index == last);
			CHECK(!find(entries[i].offset + 8));
		}
		tear_down();
	}
}

TEST(jitlog_is_read_in_portions)
{
	uint32_t count = 3u << 20, last = count - 1, before;

	set_up(count);
	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct rb_debug_ext_jit_entry){ .offset = i * 16, .size = 8, .id = 7, .index = i };
	section.jit_log_len = count;
	/* An entry that is not read yet stays unknown, however often it is asked for. */
	for (int i = 0; i < 100; i++)
		CHECK(!find(last * 16));
	CHECK(find(0) && found.index == 0);
	CHECK(jit.read > 100000 && jit.read * sizeof(*entries) <= JITLOG_TICK_BYTES + (64 << 10));
	/* A log that begins again each time gets no more reads either. */
	before = jit.read;
	memory.reads = 0;
	for (int i = 0; i < 100; i++) {
		section.jit_log_generation++;
		CHECK(!find(last * 16));
	}
	CHECK(memory.reads <= 300);
	/* The rest comes with the ticks. */
	for (int i = 0; i < 20; i++) {
		jitlog__renew(&jit);
		find(last * 16);
	}
	CHECK(jit.read > before);
	CHECK(find(last * 16) && found.index == last);
	CHECK(find(0) && found.index == 0);
	tear_down();
}

/* The section is not copied at once: the old length comes with the new generation. */
static void begin_anew_during_the_copy(int read)
{
	if (read == 1)
		section.jit_log_generation++;
	else
		section.jit_log_len = 0;
}

TEST(jitlog_of_another_generation_is_not_taken_for_new)
{
	set_up(10);
	for (uint32_t i = 0; i < 10; i++)
		entries[i] = (struct rb_debug_ext_jit_entry){ .offset = i * 16, .size = 8, .id = 7, .index = i };
	section.jit_log_len = 10;
	CHECK(find(16) && found.index == 1);
	memory.reads = 0;
	memory.before = begin_anew_during_the_copy;
	CHECK(!find(16));
	CHECK(!find(16));
	/* What comes then is found. */
	memory.before = NULL;
	entries[0].offset = 16;
	section.jit_log_len = 1;
	CHECK(find(16) && found.index == 0);
	CHECK(!find(32));
	tear_down();
}
