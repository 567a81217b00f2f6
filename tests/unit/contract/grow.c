/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader that was built with one minor version of the contract reads a process of another one.  This file and the
 * reader (ruby/, remote/tables.c, wire/walk.h) are compiled with one header, the process (fake.c) with the other.
 * next_minor.py makes the other one.  Prints "N passed, N failed".
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake.h"
#include "memory_fake.h"
#include "remote/tables.h"
#include "ruby/symbols.h"

static long read_target(void *to, uint32_t size, uint64_t address)
{
	memcpy(to, (const void *)(uintptr_t)address, size);
	return 0;
}

#include "wire/walk.h"

static int passed, failed;

static void check(int ok, const char *what)
{
	passed += ok;
	failed += !ok;
	if (!ok)
		printf("FAIL %s\n", what);
}

#define CHECK(ok) check(!!(ok), #ok)

static struct walk_scratch scratch;
static uint64_t thread_area[32];	/* its end is the thread pointer */

static void check_names(struct layout *layout, const struct memory *memory, uint32_t id)
{
	struct symbol_table table = { 0 };
	struct symbols symbols;
	const struct symbol *symbol;
	struct text name = { 0 };

	symbols__init(&symbols, &table, layout, memory);
	symbol = symbols__get(&symbols, id);
	CHECK(symbol && symbol->state == SYMBOL_OK);
	if (symbol)
		symbols__add_name(symbol, &name);
	CHECK(!strcmp(text__string(&name), "second"));
	text__free(&name);
	symbols__free(&symbols);
	symbol_table__free(&table);
}

static bool has_serial_72(const struct rb_debug_ext_thread *t)
{
	return t->serial == 72;
}

static bool none(const struct rb_debug_ext_ec *e)
{
	(void)e;
	return false;
}

/* Is what a slot of the process does not have 0? */
static bool ends_with_0(const void *copy, size_t slot, size_t known)
{
	for (size_t i = slot; i < known; i++)
		if (((const uint8_t *)copy)[i])
			return false;
	return true;
}

int main(void)
{
	/* The process's section ends where its memory does. */
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
	static struct rb_debug_ext_section copy[2];
	struct rb_debug_ext_section *section = copy;
	struct rb_debug_ext_thread *thread, one;
	struct rb_debug_ext_ec *ec_slot;
	struct target_config config;
	struct tables tables = { 0 };
	struct memory_fake memory;
	struct layout layout;
	struct fake process;
	struct fake_ec *ec;
	struct diag diag;
	uint32_t first, second, size;

	memory_fake__init(&memory);
	fake__init(&process, section);
	size = section->section_size;
	if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE))
		return 2;
	at = pages + 4096 - size;
	first = fake__record(&process, RB_DEBUG_EXT_NAMED, "first", 0, 0);
	second = fake__record(&process, RB_DEBUG_EXT_NAMED, "second", 0, 0);
	ec = fake__ec(2);
	thread = fake__thread(&process, 7, 70, "seventh", ec);
	ec_slot = fake__ec_slot(&process, ec, 9, 7);
	/* Flags and kinds that this reader does not know. */
	thread->flags |= 0x80000000u;
	thread->state_seq = 5;
	thread->wait_kind = 200;
	ec_slot->flags |= 0x80000000u;
	ec->cfp -= 2 * sizeof(struct fake_frame);
	((struct fake_frame *)(uintptr_t)ec->cfp)[0].ext_debug = second;
	((struct fake_frame *)(uintptr_t)ec->cfp)[1].ext_debug = first;
	memcpy(at, section, size);
	CHECK(((struct rb_debug_ext_section *)at)->abi_minor != RB_DEBUG_EXT_ABI_MINOR);
	CHECK(!layout__read(&layout, &memory.memory, (uintptr_t)at, &diag));
	CHECK(!layout__refresh(&layout, &memory.memory));
	/* What the process does not have reads as 0. */
	for (size_t i = size; i < sizeof(layout.section); i++)
		CHECK(!((uint8_t *)&layout.section)[i]);
	CHECK(!tables__read(&tables, &layout, &memory.memory));
	CHECK(tables.thread_count == 1 && tables.threads[0].slot == 7 && tables.threads[0].t.serial == 70 &&
	      tables.threads[0].t.state_seq == 5 && !strcmp(tables.threads[0].t.name, "seventh"));
	CHECK(tables.ec_count == 1 && tables.ecs[0].slot == 9 && tables.ecs[0].e.thread_slot == 7);
	check_names(&layout, &memory.memory, second);
	layout__config(&layout, &config);
	thread_area[32 + FAKE_TLS / 8] = (uintptr_t)ec;
	scratch.event.tid = thread->tid = 4711;
	CHECK(!walk__thread(&scratch, &config, (uintptr_t)(thread_area + 32)));
	CHECK(scratch.event.nr_frames == 2 && scratch.frames[0].id == second && scratch.frames[1].id == first);
	CHECK(scratch.event.thread == 70 && scratch.event.thread_slot == 7);
	/* The slot behind one is in use, and there is nothing behind the last one of a chunk. */
	fake__thread(&process, 8, 71, "eighth", ec);
	fake__thread(&process, RB_DEBUG_EXT_SLOTS_PER_CHUNK - 1, 72, "last", ec);
	memcpy(at, section, size);
	CHECK(!layout__refresh(&layout, &memory.memory) && !tables__read(&tables, &layout, &memory.memory));
	CHECK(tables.thread_count == 3 && tables.threads[2].t.serial == 72);
	for (uint32_t i = 0; i < tables.thread_count; i++)
		CHECK(ends_with_0(&tables.threads[i].t, section->thread_slot_size, sizeof(tables.threads[i].t)));
	CHECK(ends_with_0(&tables.ecs[0].e, section->ec_slot_size, sizeof(tables.ecs[0].e)));
	memset(&one, 0xff, sizeof(one));
	CHECK(!tables__read_thread(&layout, &memory.memory, 7, &one) && ends_with_0(&one, section->thread_slot_size, sizeof(one)));
	CHECK(tables__any(&layout, &memory.memory, has_serial_72, none) == 1);
	tables__free(&tables);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
