/* SPDX-License-Identifier: BSD-2-Clause */
/* How full the heap is, by counters of a process that says what it wants. */
#include "test.h"

#include <errno.h>
#include <stddef.h>

#include "fake.h"
#include "memory_fake.h"
#include "ruby/heap_size.h"
#include "ruby/layout.h"

static struct pool {
	uint64_t junk;
	int16_t slot_size;
	uint64_t pages, slots, ended, freed, allocated;
} pools[3];
static uint64_t empty_pages, malloc_bytes, malloc_limit;
static struct layout layout;
static struct memory_fake memory;
static struct heap_size heap;

static void set_up(void)
{
	struct rb_debug_ext_heap *at = &layout.section.heap;

	memory_fake__init(&memory);
	layout.section.state = RB_DEBUG_EXT_READY;
	for (int i = 0; i < 3; i++)
		pools[i] = (struct pool){ 0xffffffff, 40 << i, 10 + i, 1000, 3, 200, 700 + 100 * i };
	empty_pages = 4;
	malloc_bytes = 5 << 20;
	malloc_limit = 16 << 20;
	*at = (struct rb_debug_ext_heap){
		.pools = (uintptr_t)pools, .empty_pages = (uintptr_t)&empty_pages, .malloc_bytes = (uintptr_t)&malloc_bytes,
		.malloc_bytes_limit = (uintptr_t)&malloc_limit, .page_size = 65536, .pool_count = 3, .pool_size = sizeof(pools[0]),
		.slot_size = offsetof(struct pool, slot_size), .slots = offsetof(struct pool, slots), .pages = offsetof(struct pool, pages),
		.allocated = offsetof(struct pool, allocated), .freed = offsetof(struct pool, freed), .ended = offsetof(struct pool, ended),
	};
}

static int read_heap(void)
{
	memset(&heap, 0xff, sizeof(heap));
	return heap_size__read(&heap, &memory.memory, &layout);
}

TEST(heap_size_is_the_sum_of_pools)
{
	set_up();
	CHECK_INT(read_heap(), 0);
	CHECK_INT(heap.live, 700 + 800 + 900 - 3 * 203);
	CHECK_INT(heap.ended, 9);
	CHECK_INT(heap.slots, 3000);
	CHECK_INT(heap.pages, 10 + 11 + 12 + 4);
	CHECK_INT(heap.page_bytes, 37 * 65536);
	CHECK_INT(heap.malloc_bytes, 5 << 20);
	CHECK_INT(heap.malloc_limit, 16 << 20);
	CHECK_INT(memory.reads, 4);
	/* Counters of a pool that are read while they change. */
	pools[0].freed = 701;
	CHECK_INT(read_heap(), 0);
	CHECK_INT(heap.live, 800 + 900 - 2 * 203 - 4);
	for (int i = 0; i < 3; i++)
		pools[i].freed = 1000;
	CHECK_INT(read_heap(), 0);
	CHECK_INT(heap.live, 0);
	/* They are only told in part. */
	layout.section.heap.empty_pages = layout.section.heap.malloc_bytes = layout.section.heap.malloc_bytes_limit = 0;
	CHECK_INT(read_heap(), 0);
	CHECK_INT(heap.pages, 33);
	CHECK_INT(heap.malloc_bytes, 0);
	layout.section.heap.pools = 0;
	CHECK_INT(read_heap(), -ENOTSUP);
	CHECK_INT(heap.slots, 0);
	/* At its end Ruby gives the heap back. */
	set_up();
	layout.section.state = RB_DEBUG_EXT_ENDED;
	CHECK_INT(read_heap(), -ENOTSUP);
	set_up();
	pools[0].slots = pools[1].slots = pools[2].slots = 0;
	CHECK_INT(read_heap(), -EAGAIN);
	/* Slots are in pages. */
	set_up();
	pools[0].pages = pools[1].pages = pools[2].pages = 0;
	layout.section.heap.empty_pages = 0;
	CHECK_INT(read_heap(), -EAGAIN);
}

TEST(heap_size_that_makes_no_sense_is_none)
{
	static const struct {
		size_t at, size;
		uint64_t value;
	} wrong[] = {
#define AT(field) offsetof(struct rb_debug_ext_heap, field), sizeof(((struct rb_debug_ext_heap *)0)->field)
		{ AT(pools), 12 }, { AT(pool_count), 0 }, { AT(pool_count), 8192 / sizeof(struct pool) + 1 }, { AT(pool_count), 0xffff },
		{ AT(pool_size), 0 }, { AT(pool_size), 0xfff8 }, { AT(pool_size), 60 }, { AT(page_size), 0 }, { AT(page_size), UINT32_MAX },
		{ AT(slots), sizeof(struct pool) }, { AT(slots), sizeof(struct pool) - 4 }, { AT(pages), 0xffff }, { AT(allocated), 9 },
		{ AT(freed), 0xfff8 }, { AT(ended), sizeof(struct pool) }, { AT(slot_size), sizeof(struct pool) }, { AT(slot_size), 1 },
#undef AT
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_up();
		memcpy((char *)&layout.section.heap + wrong[i].at, &wrong[i].value, wrong[i].size);
		CHECK_INT(read_heap(), -EBADMSG);
		CHECK_INT(memory.reads, 0);
	}
	uint64_t *const words[] = { &pools[1].slots, &pools[1].pages, &pools[1].ended, &pools[1].allocated, &empty_pages, &malloc_bytes,
				    &malloc_limit };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		set_up();
		*words[i] = 1ull << 49;
		CHECK_INT(read_heap(), -EBADMSG);
	}
	/* Bytes of all pages are a number, also where pages are large. */
	set_up();
	pools[1].pages = 1ull << 32;
	CHECK_INT(read_heap(), -EBADMSG);
	for (int i = 1; i <= 4; i++) {
		set_up();
		memory.fail_at = i;
		CHECK_INT(read_heap(), -EFAULT);
	}
}
