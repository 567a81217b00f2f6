/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of memory that is slow to read, and records that are read from them. */
#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "fake.h"
#include "memory_fake.h"
#include "process/block_cache.h"
#include "ruby/symbols.h"

static struct block_cache cache;
static struct memory_fake memory;
static uint8_t content[4 * BLOCK_CACHE_BYTES];

static int get(uint8_t *at, void *to, size_t length, uint64_t after, uint64_t *stamp)
{
	return block_cache__read(&cache, &memory.memory, (uintptr_t)at, to, length, after, stamp);
}

TEST(block_cache_reads_once_and_again_when_it_must)
{
	uint8_t *at = content + BLOCK_CACHE_BYTES, got[100], *all = malloc(sizeof(content));
	uint64_t first, second;
	int reads;

	memory_fake__init(&memory);
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i % 251);
	CHECK_INT(get(at, got, sizeof(got), 0, &first), 0);
	CHECK(!memcmp(got, at, sizeof(got)));
	reads = memory.reads;
	CHECK_INT(get(at, got, 1, 0, &second), 0);
	CHECK_INT(memory.reads, reads);
	CHECK_INT(second, first);
	*at ^= 1;
	/* A copy that is not younger than that does not do. */
	CHECK_INT(get(at, got, 1, first, &second), 0);
	CHECK_INT(got[0], *at);
	CHECK(second > first);
	/* Across blocks, and more than a block. */
	CHECK_INT(get(content, all, 2 * BLOCK_CACHE_BYTES - 7, 0, &first), 0);
	CHECK(!memcmp(all, content, 2 * BLOCK_CACHE_BYTES - 7));
	CHECK_INT(get(content, all, sizeof(content), 0, &first), 0);
	CHECK(!memcmp(all, content, sizeof(content)));
	*at ^= 1;
	block_cache__forget(&cache, &memory.memory);
	CHECK_INT(get(at, got, 1, 0, &second), 0);
	CHECK_INT(got[0], *at);
	block_cache__free(&cache);
	free(all);
}

TEST(block_cache_reads_up_to_the_end_of_a_mapping)
{
	uint8_t *room = mmap(NULL, 4 * BLOCK_CACHE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *page, got[8];
	uint64_t stamp;

	memory_fake__init(&memory);
	page = (uint8_t *)(((uintptr_t)room / BLOCK_CACHE_BYTES + 1) * BLOCK_CACHE_BYTES);
	CHECK(!mprotect(page, BLOCK_CACHE_PAGE, PROT_READ | PROT_WRITE));
	memset(page, 'x', BLOCK_CACHE_PAGE);
	CHECK_INT(get(page + BLOCK_CACHE_PAGE - 8, got, 8, 0, &stamp), 0);
	CHECK(!memcmp(got, "xxxxxxxx", 8));
	CHECK_INT(get(page + BLOCK_CACHE_PAGE - 4, got, 8, 0, &stamp), -EFAULT);
	/* It has grown. */
	CHECK(!mprotect(page, 2 * BLOCK_CACHE_PAGE, PROT_READ | PROT_WRITE));
	CHECK_INT(get(page + BLOCK_CACHE_PAGE - 4, got, 8, 0, &stamp), 0);
	CHECK(!memcmp(got, "xxxx\0\0\0\0", 8));
	block_cache__free(&cache);
	munmap(room, 4 * BLOCK_CACHE_BYTES);
}

static struct rb_debug_ext_section section;
static struct fake vm;
static struct layout layout;
static struct symbol_table table;
static struct symbols symbols;

static const char *name_of(struct text *out, uint32_t id)
{
	const struct symbol *s = symbols__get(&symbols, id);

	text__clear(out);
	if (s)
		symbols__add_name(s, out);
	return text__string(out);
}

TEST(block_cache_of_records_takes_no_old_name)
{
	struct text out = { 0 };
	struct diag diag;
	uint32_t foo, id;
	char name[32], expected[40];
	int reads;

	fake__init(&vm, &section);
	memory_fake__init(&memory);
	foo = fake__record(&vm, RB_DEBUG_EXT_NAMED, "Foo", 0, 0);
	layout__read(&layout, &memory.memory, (uintptr_t)&section, &diag);
	symbols__init(&symbols, &table, &layout, &memory.memory);
	symbols.read_work = SYMBOLS_SLOW_READ_WORK;
	/* Each record, and its text, comes after the copies were made. */
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "bar%d", i);
		snprintf(expected, sizeof(expected), "Foo#bar%d", i);
		id = fake__record(&vm, RB_DEBUG_EXT_METHOD, name, foo, 0);
		CHECK_STRING(name_of(&out, id), expected);
	}
	/* One that was there when its block was copied is made anew since. */
	id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "old", foo, 0);
	CHECK_STRING(name_of(&out, fake__record(&vm, RB_DEBUG_EXT_METHOD, "neighbour", foo, 0)), "Foo#neighbour");
	fake__set_name(fake__get(&vm, id), "new", 3);
	fake__get(&vm, id)->generation += 2;
	CHECK_STRING(name_of(&out, id), "Foo#new");
	/* These were all there before. */
	id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "baz", foo, 0);
	for (int i = 0; i < 20; i++)
		fake__record(&vm, RB_DEBUG_EXT_METHOD, "baz", foo, 0);
	block_cache__forget(&table.blocks, &memory.memory);
	reads = memory.reads;
	for (uint32_t i = 0; i <= 20; i++)
		CHECK_STRING(name_of(&out, id + i), "Foo#baz");
	/* A record takes 7 reads or more by itself. */
	CHECK(memory.reads - reads < 21 * 4);
	text__free(&out);
	symbols__free(&symbols);
	symbol_table__free(&table);
}

/* A string as records point to it: its length, and its bytes. */
static void put(uint8_t *at, const char *string)
{
	uint32_t length = (uint32_t)strlen(string);

	memcpy(at, &length, sizeof(length));
	memcpy(at + sizeof(length), string, length);
}

TEST(block_cache_copies_texts_after_their_record)
{
	static uint8_t texts[BLOCK_CACHE_BYTES] __attribute__((aligned(BLOCK_CACHE_BYTES)));
	struct text out = { 0 };
	uint32_t foo, first, second;
	struct diag diag;

	fake__init(&vm, &section);
	memory_fake__init(&memory);
	foo = fake__record(&vm, RB_DEBUG_EXT_NAMED, "Foo", 0, 0);
	first = fake__record(&vm, RB_DEBUG_EXT_METHOD, "first", foo, 0);
	second = fake__record(&vm, RB_DEBUG_EXT_METHOD, "second", foo, 0);
	put(texts, "first");
	put(texts + 100, "before");
	fake__get(&vm, first)->name = (uintptr_t)texts;
	layout__read(&layout, &memory.memory, (uintptr_t)&section, &diag);
	symbols__init(&symbols, &table, &layout, &memory.memory);
	symbols.read_work = SYMBOLS_SLOW_READ_WORK;
	CHECK_STRING(name_of(&out, first), "Foo#first");
	/* The text comes into being after it was copied, and the record is copied after that. */
	put(texts + 100, "second");
	fake__get(&vm, second)->name = (uintptr_t)texts + 100;
	for (uint32_t i = 0; i < BLOCK_CACHE_BLOCKS; i++)
		if (table.blocks.blocks[i].start != (uintptr_t)texts)
			table.blocks.blocks[i].of = NULL;
	CHECK_STRING(name_of(&out, second), "Foo#second");
	text__free(&out);
	symbols__free(&symbols);
	symbol_table__free(&table);
}
