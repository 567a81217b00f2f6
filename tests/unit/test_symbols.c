/* SPDX-License-Identifier: BSD-2-Clause */
/* Records read while they change, vanish and lie. */
#include "test.h"

#include <malloc.h>
#include <sched.h>
#include <stdlib.h>

#include "fake.h"
#include "memory_fake.h"
#include "base/deadline.h"
#include "ruby/symbols.h"

static struct rb_debug_ext_section section;
static struct fake vm;
static struct memory_fake memory;
static struct layout layout;
static struct symbol_table table;
static struct symbols symbols;
static struct text out;
static struct diag diag;
static uint32_t foo, bar;

/* A reader gives its CPU away for a writer that has lost its own.  Here there is none, and what that costs would
 * depend on how busy the machine is. */
int sched_yield(void)
{
	return 0;
}

static void set_up(void)
{
	fake__init(&vm, &section);
	memory_fake__init(&memory);
	foo = fake__record(&vm, RB_DEBUG_EXT_NAMED, "Foo", 0, 0);
	bar = fake__record(&vm, RB_DEBUG_EXT_METHOD, "bar", foo, 0);
	fake__set_path(fake__get(&vm, bar), "/app/foo.rb");
	fake__set_code(fake__get(&vm, bar), 20, 30);
	layout__read(&layout, &memory.memory, (uintptr_t)&section, &diag);
	symbols__init(&symbols, &table, &layout, &memory.memory);
	memory.reads = 0;
}

static void tear_down(void)
{
	symbols__free(&symbols);
	symbol_table__free(&table);
	text__free(&out);
}

static const char *name_of(uint32_t id)
{
	const struct symbol *s = symbols__get(&symbols, id);

	text__clear(&out);
	if (s)
		symbols__add_name(s, &out);
	return text__string(&out);
}

TEST(symbols_resolve_name_path_and_line)
{
	const struct symbol *s;

	set_up();
	CHECK_STRING(name_of(bar), "Foo#bar");
	s = symbols__get(&symbols, bar);
	text__clear(&out);
	symbols__add_path(s, &out);
	CHECK_STRING(out.data, "/app/foo.rb");
	CHECK_INT(s->first_line, 30);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 0)), 31);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 1)), 31);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 2)), 32);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 19)), 40);
	CHECK_INT(symbols__line(s, fake__get(&vm, bar)->code), 31);
	CHECK_INT(symbols__line(s, 0), 0);
	CHECK_INT(symbols__line(s, 12345), 0);
	tear_down();
}

TEST(symbols_share_the_code_of_another)
{
	const struct symbol *s;
	uint32_t baz, gone, d;

	set_up();
	baz = fake__record(&vm, RB_DEBUG_EXT_METHOD, "baz", foo, bar);
	d = fake__record(&vm, RB_DEBUG_EXT_BMETHOD, "d", foo, bar);
	gone = fake__record(&vm, RB_DEBUG_EXT_METHOD, "gone", foo, fake__record(&vm, RB_DEBUG_EXT_NONE, NULL, 0, 0));
	CHECK_STRING(name_of(baz), "Foo#baz");
	CHECK_STRING(name_of(d), "Foo#d");
	s = symbols__get(&symbols, baz);
	text__clear(&out);
	symbols__add_path(s, &out);
	CHECK_STRING(out.data, "/app/foo.rb");
	CHECK(symbols__code(s) == symbols__get(&symbols, bar));
	CHECK(symbols__has_lines(s));
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 2)), 32);
	CHECK_INT(symbols__line(symbols__get(&symbols, d), fake__pc(fake__get(&vm, bar), 2)), 32);
	/* The method that has the code is unknown: there is a name, and no place. */
	CHECK_STRING(name_of(gone), "Foo#gone");
	s = symbols__get(&symbols, gone);
	CHECK(!symbols__code(s) && !symbols__has_lines(s));
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 2)), 0);
	text__clear(&out);
	symbols__add_path(s, &out);
	CHECK_STRING(text__string(&out), "");
	tear_down();
}

TEST(symbols_read_the_lines_of_the_vm)
{
	struct {
		uint64_t entries, positions;
		uint32_t count, pad;
		uint64_t index;
	} *insns = calloc(1, sizeof(*insns));
	int32_t entries[3][3] = { { 50, 1, 1 }, { 51, 2, 2 }, { 53, 3, 3 } };
	/* ranks of positions 0 to 19: 1 at 0, 2 at 4, 3 at 10 */
	uint64_t index[3] = { 0 };
	const struct symbol *s;
	uint32_t id;

	set_up();
	for (uint32_t i = 0; i < 20; i++)
		index[i / 9] |= (uint64_t)(i < 4 ? 1 : i < 10 ? 2 : 3) << (i % 9 * 7);
	section.lines_entries = 0;
	section.lines_count = 16;
	section.lines_index = 24;
	section.lines_entry_size = sizeof(entries[0]);
	section.lines_entry_line = 0;
	layout__read(&layout, &memory.memory, (uintptr_t)&section, &diag);
	insns->entries = (uintptr_t)entries;
	insns->index = (uintptr_t)index;
	insns->count = 3;
	fake__get(&vm, bar)->lines = (uintptr_t)insns;
	fake__get(&vm, bar)->flags = RB_DEBUG_EXT_LINES_INSNS;
	s = symbols__get(&symbols, bar);
	CHECK(!s->lines_bad);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 0)), 50);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 3)), 50);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 4)), 51);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 19)), 53);
	/* Wrong counts and addresses cost the lines or the record, and nothing else. */
	for (int i = 0; i < 4; i++) {
		id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "lies", 0, 0);
		fake__set_code(fake__get(&vm, id), 20, 1);
		fake__get(&vm, id)->lines = (uintptr_t)insns;
		fake__get(&vm, id)->flags = RB_DEBUG_EXT_LINES_INSNS;
		insns->count = i == 0 ? 0xffffffff : i == 1 ? 2 : 3;
		if (i == 2)
			fake__get(&vm, id)->code_size = 0xffffffff;
		if (i == 3)
			insns->entries = 0xdead000000000000ull;
		if (i < 3) {
			CHECK_STRING(name_of(id), "lies");
			CHECK(symbols__get(&symbols, id)->lines_bad);
		} else {
			CHECK_STRING(name_of(id), "[unreadable record]");
		}
	}
	/* No entries: no lines, nothing wrong. */
	insns->count = 0;
	id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "none", 0, 0);
	fake__get(&vm, id)->lines = (uintptr_t)insns;
	fake__get(&vm, id)->flags = RB_DEBUG_EXT_LINES_INSNS;
	CHECK_STRING(name_of(id), "none");
	CHECK(!symbols__get(&symbols, id)->lines_bad);
	tear_down();
	free(insns);
}

TEST(symbols_read_an_id_once)
{
	int reads;

	set_up();
	name_of(bar);
	reads = memory.reads;
	for (int i = 0; i < 100; i++)
		symbols__get(&symbols, bar);
	CHECK_INT(memory.reads, reads);
	tear_down();
}

TEST(symbols_stay_after_they_retired_and_after_the_exit)
{
	set_up();
	symbols__get(&symbols, bar);
	/* The grace period is over, and the record describes something else now. */
	memset(fake__get(&vm, bar), 0, sizeof(struct rb_debug_ext_record));
	memset(fake__get(&vm, foo), 0, sizeof(struct rb_debug_ext_record));
	CHECK_STRING(name_of(bar), "Foo#bar");
	symbols__set_exited(&symbols, false);
	memory.fail_at = memory.reads + 1;
	CHECK_STRING(name_of(bar), "Foo#bar");
	CHECK_STRING(name_of(bar + 1), "[exited before resolved]");
	CHECK_INT(symbols__update(&symbols, true), -ESRCH);
	tear_down();
}

TEST(symbols_expired_is_not_a_name)
{
	set_up();
	fake__get(&vm, bar)->kind = RB_DEBUG_EXT_NONE;
	CHECK_STRING(name_of(bar), "[retired]");
	CHECK_INT(symbols__get(&symbols, bar)->state, SYMBOL_EXPIRED);
	/* A chunk that was given back; an id that never was given out. */
	vm.records_dir[1] = 0;
	CHECK_STRING(name_of(1024 + 6), "[unreadable record]");
	section.records_end = 1024 + 6;
	CHECK_STRING(name_of(1024 + 5), "[retired]");
	/* Retired and still readable: right. */
	fake__get(&vm, foo)->flags |= RB_DEBUG_EXT_RETIRED;
	CHECK_STRING(name_of(foo), "Foo");
	tear_down();
}

static int reads_of_a_name(void)
{
	set_up();
	name_of(bar);
	tear_down();
	return memory.reads;
}

TEST(symbols_survive_each_failed_read)
{
	int all = reads_of_a_name();

	CHECK(all > 8);
	for (int i = 1; i <= all; i++) {
		const struct symbol *s;

		set_up();
		memory.fail_at = i;
		s = symbols__get(&symbols, bar);
		CHECK(s != NULL);
		name_of(bar);
		/* One failure of a string or a lock is repaired by the next
		 * try; what is not is named so. */
		if (s->state == SYMBOL_OK)
			CHECK(!strcmp(text__string(&out), "Foo#bar") ||
			      !strcmp(text__string(&out), "?#bar"));
		else
			CHECK_STRING(text__string(&out), "[unreadable record]");
		tear_down();

		set_up();
		memory.fail_at = i;
		memory.error = -ESRCH;
		s = symbols__get(&symbols, bar);
		CHECK(s != NULL);
		tear_down();
	}
}

static struct rb_debug_ext_record *victim;
static int writes;

/* A writer that strikes between two reads, some times. */
static void write_between(int read)
{
	(void)read;
	if (writes-- > 0) {
		victim->generation += 2;
		fake__set_name(victim, writes % 2 ? "odd" : "even", writes % 2 ? 3 : 4);
	}
}

TEST(symbols_retry_a_torn_record)
{
	set_up();
	victim = fake__get(&vm, bar);
	writes = 9;
	memory.before = write_between;
	CHECK_STRING(name_of(bar), "Foo#even");
	tear_down();
	/* The read is torn each time: no name is better than a wrong one. */
	set_up();
	victim = fake__get(&vm, bar);
	writes = 1000000;
	memory.before = write_between;
	CHECK_STRING(name_of(bar), "[unreadable record]");
	memory.before = NULL;
	/* It is read again at the next occasion. */
	fake__set_name(victim, "bar", 3);
	CHECK_INT(symbols__update(&symbols, true), 0);
	CHECK_STRING(name_of(bar), "Foo#bar");
	tear_down();
	/* Being written all the time. */
	set_up();
	fake__get(&vm, bar)->generation = 3;
	CHECK_STRING(name_of(bar), "[unreadable record]");
	tear_down();
}

TEST(symbols_take_new_names_with_the_generation)
{
	uint32_t anon, method;
	struct rb_debug_ext_record *r;
	int reads;

	set_up();
	anon = fake__record(&vm, RB_DEBUG_EXT_ANON_CLASS, NULL, foo, 0);
	method = fake__record(&vm, RB_DEBUG_EXT_METHOD, "m", anon, 0);
	CHECK_STRING(name_of(method), "#<anonymous subclass of Foo>#m");
	r = fake__get(&vm, anon);
	r->generation += 2;
	r->kind = RB_DEBUG_EXT_NAMED;
	r->ref1 = 0;
	fake__set_name(r, "Named", 5);
	/* Nothing is read again while the generation is the same. */
	reads = memory.reads;
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_INT(memory.reads, reads + 1);
	CHECK_STRING(name_of(method), "#<anonymous subclass of Foo>#m");
	section.names_generation++;
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_STRING(name_of(method), "Named#m");
	tear_down();
}

TEST(symbols_take_an_owner_that_comes_later)
{
	uint32_t method;
	struct rb_debug_ext_record *r;

	set_up();
	method = fake__record(&vm, RB_DEBUG_EXT_METHOD, "m", 0, 0);
	CHECK_STRING(name_of(method), "m");
	r = fake__get(&vm, method);
	r->generation += 2;
	r->ref1 = foo;
	CHECK_INT(symbols__update(&symbols, true), 0);
	CHECK_STRING(name_of(method), "Foo#m");
	/* A name that was read stays, although it is gone at the next look. */
	method = fake__record(&vm, RB_DEBUG_EXT_METHOD, "n", 0, 0);
	CHECK_STRING(name_of(method), "n");
	fake__get(&vm, method)->kind = RB_DEBUG_EXT_NONE;
	CHECK_INT(symbols__update(&symbols, true), 0);
	CHECK_STRING(name_of(method), "n");
	tear_down();
}

TEST(symbols_prefetch_keeps_only_what_is_there)
{
	uint32_t late, good;

	set_up();
	late = fake__record(&vm, RB_DEBUG_EXT_NONE, "late", 0, 0);
	good = fake__record(&vm, RB_DEBUG_EXT_METHOD, "good", foo, 0);
	CHECK_INT(symbols__update(&symbols, false), 0);
	symbols__prefetch(&symbols, 2);
	CHECK_INT(table.count, 2);
	symbols__prefetch(&symbols, 1000);
	CHECK_INT(table.count, 3);
	fake__get(&vm, late)->kind = RB_DEBUG_EXT_METHOD;
	CHECK_STRING(name_of(late), "late");
	symbols__set_exited(&symbols, false);
	CHECK_STRING(name_of(good), "Foo#good");
	tear_down();
}

TEST(symbols_forget_ids_that_are_given_out_anew)
{
	const struct symbol *old, *new;

	set_up();
	CHECK_STRING(name_of(bar), "Foo#bar");
	old = symbols__get(&symbols, bar);
	section.records_end = 1u << 31;
	fake__get(&vm, bar)->generation += 2;
	fake__get(&vm, foo)->generation += 2;
	fake__set_name(fake__get(&vm, bar), "second", 6);
	fake__set_name(fake__get(&vm, foo), "Other", 5);
	section.names_generation++;
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_STRING(name_of(bar), "Other#second");
	new = symbols__get(&symbols, bar);
	CHECK(new != old && new->number != old->number);
	text__clear(&out);
	symbols__add_name(old, &out);
	CHECK_STRING(text__string(&out), "Foo#bar");
	tear_down();
}

static int take_away;

static void take_chunk(int read)
{
	if (read == take_away)
		vm.records_dir[0] = 0;
}

TEST(symbols_notice_a_chunk_that_is_given_back)
{
	int all;

	set_up();
	name_of(bar);
	all = memory.reads;
	tear_down();
	/* Between any two reads: the name, or retired, or an owner that is
	 * gone; never what else the memory may hold by then. */
	for (take_away = 1; take_away <= all; take_away++) {
		const char *name;

		set_up();
		memory.before = take_chunk;
		name = name_of(bar);
		CHECK(!strcmp(name, "Foo#bar") || !strcmp(name, "?#bar") || !strcmp(name, "[retired]"));
		tear_down();
	}
}

TEST(symbols_bound_what_they_believe)
{
	struct rb_debug_ext_record *r;
	uint32_t *liar = malloc(64), i;

	set_up();
	*liar = RB_DEBUG_EXT_STRING_MAX + 1;
	r = fake__get(&vm, bar);
	r->name = (uintptr_t)liar;
	CHECK_STRING(name_of(bar), "[unreadable record]");
	/* Lines that are too long or malformed cost the lines, not the name. */
	*liar = RB_DEBUG_EXT_LINES_MAX + 1;
	i = fake__record(&vm, RB_DEBUG_EXT_METHOD, "lies", 0, 0);
	fake__set_code(fake__get(&vm, i), 8, 1);
	fake__get(&vm, i)->lines = (uintptr_t)liar;
	CHECK_STRING(name_of(i), "lies");
	CHECK(symbols__get(&symbols, i)->lines_bad);
	CHECK_INT(symbols__line(symbols__get(&symbols, i), fake__pc(fake__get(&vm, i), 0)), 0);
	/* Pointers to nowhere. */
	i = fake__record(&vm, RB_DEBUG_EXT_METHOD, "x", 0, 0);
	fake__get(&vm, i)->name = 0xdead000000000000ull;
	CHECK_STRING(name_of(i), "[unreadable record]");
	CHECK_STRING(name_of(0x7fffffff), "[unreadable record]");
	/* Circles. */
	i = fake__record(&vm, RB_DEBUG_EXT_BLOCK, NULL, 0, 0);
	fake__get(&vm, i)->ref1 = i;
	CHECK(strstr(name_of(i), "block in block in") != NULL);
	tear_down();
	free(liar);
}

TEST(symbols_clean_hostile_names)
{
	set_up();
	fake__set_name(fake__get(&vm, bar), "a\033[31m\n;\xff", 9);
	CHECK_STRING(name_of(bar), "Foo#a\\x1B[31m\\x0A;\\xFF");
	fake__set_name(fake__get(&vm, foo), "", 0);
	CHECK_STRING(name_of(foo), "Foo");	/* cached */
	tear_down();
	set_up();
	fake__set_name(fake__get(&vm, foo), "", 0);
	CHECK_STRING(name_of(foo), "[nameless]");
	tear_down();
}

TEST(symbols_jit_lines_come_from_the_log)
{
	static struct rb_debug_ext_jit_entry entries[3];
	const struct symbol *s;
	uint64_t before;
	int32_t line = -1;

	set_up();
	s = symbols__get(&symbols, bar);
	/* Not published. */
	CHECK(!symbols__jit_line(&symbols, s, 0x500010, deadline__now(), &line));
	section.jit_start = 0x500000;
	section.jit_end = 0x600000;
	entries[0] = (struct rb_debug_ext_jit_entry){ 0x100, 0x40, bar, 6 };
	entries[1] = (struct rb_debug_ext_jit_entry){ 0, 0x40, bar, 2 };
	entries[2] = (struct rb_debug_ext_jit_entry){ 0x200, 0x40, foo, 2 };
	section.jit_log = (uintptr_t)entries;
	section.jit_log_len = 2;
	CHECK(symbols__jit_line(&symbols, s, 0x500010, deadline__now(), &line));
	CHECK_INT(line, 32);
	CHECK(symbols__jit_line(&symbols, s, 0x50013f, deadline__now(), &line));
	CHECK_INT(line, 34);
	CHECK(!symbols__jit_line(&symbols, s, 0x500140, deadline__now(), &line));
	CHECK(!symbols__jit_line(&symbols, s, 0x4fffff, deadline__now(), &line));
	CHECK(!symbols__jit_line(&symbols, s, 0x600000, deadline__now(), &line));
	CHECK(!symbols__jit_line(&symbols, s, 0, deadline__now(), &line));
	/* Code that is logged later is found, another record's is not taken. */
	section.jit_log_len = 3;
	CHECK(!symbols__jit_line(&symbols, s, 0x500210, deadline__now(), &line));
	CHECK_INT(symbols.jit.count, 3);
	/* ... unless they share the code. */
	((struct symbol *)(uintptr_t)symbols__get(&symbols, foo))->code = s->code;
	CHECK(symbols__jit_line(&symbols, s, 0x500210, deadline__now(), &line));
	CHECK_INT(line, 32);
	/* Code was thrown away: what was sampled before is uncertain. */
	before = deadline__now();
	section.jit_log_generation++;
	entries[0] = (struct rb_debug_ext_jit_entry){ 0, 0x40, bar, 10 };
	section.jit_log_len = 1;
	CHECK(!symbols__jit_line(&symbols, s, 0x500010, before, &line));
	CHECK(symbols__jit_line(&symbols, s, 0x500010, deadline__now(), &line));
	CHECK_INT(line, 36);
	CHECK(!symbols__jit_line(&symbols, s, 0x500010, before, &line));
	tear_down();
}

/* -- more than can be read ---------------------------------------------------- */

#define MANY 100
#define TABLE (16u << 20)
/* What one tick may read: its work, and the record and the try it ends in. */
#define TICK_BYTES ((uint64_t)SYMBOLS_TICK_WORK + 2 * TABLE + (1 << 20))

static uint32_t many[MANY];
static uint8_t *table_data;

/* Methods m0, m1, ..., with one line table as large as it may be. */
static void set_up_many(uint8_t fill)
{
	uint32_t n = TABLE;
	char name[16];

	set_up();
	table_data = malloc(sizeof(n) + n);
	memset(table_data, fill, sizeof(n) + n);
	memcpy(table_data, &n, sizeof(n));
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		many[i] = fake__record(&vm, RB_DEBUG_EXT_METHOD, name, foo, 0);
		fake__set_code(fake__get(&vm, many[i]), 20, 1);
		fake__get(&vm, many[i])->lines = (uintptr_t)table_data;
	}
	CHECK_INT(symbols__update(&symbols, false), 0);
	memory.bytes = 0;
	memory.reads = 0;
}

static void tear_down_many(void)
{
	tear_down();
	free(table_data);
}

TEST(symbols_line_tables_of_no_use_are_paid_for)
{
	char name[32];
	int late = 0, before = MANY;

	set_up_many(0x80);	/* a number that does not end */
	for (int sample = 0; sample < 10; sample++)
		for (int i = 0; i < MANY; i++)
			symbols__get(&symbols, many[i]);
	CHECK(memory.bytes <= TICK_BYTES);
	/* Some names have been read, the others say why not, and none is that of another. */
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "Foo#m%d", i);
		if (!strcmp(name_of(many[i]), "[too much to read]"))
			late++;
		else
			CHECK_STRING(text__string(&out), name);
	}
	CHECK(late > MANY / 2 && late < MANY);
	/* All names are read in time, and no tick takes more than its share. */
	for (int tick = 0; tick < 2 * MANY && late; tick++) {
		memory.bytes = 0;
		CHECK_INT(symbols__update(&symbols, false), 0);
		symbols__prefetch(&symbols, 2000);
		CHECK(memory.bytes <= TICK_BYTES);
		late = 0;
		for (int i = 0; i < MANY; i++)
			late += symbols.table->list[map64__get(&symbols.map, many[i])]->state == SYMBOL_LATE;
		CHECK(late <= before);
		before = late;
	}
	CHECK_INT(late, 0);
	CHECK_STRING(name_of(many[0]), "Foo#m0");
	CHECK_STRING(name_of(many[MANY - 1]), "Foo#m99");
	CHECK(symbols__get(&symbols, many[MANY - 1])->lines_bad);
	tear_down_many();
}

TEST(symbols_reading_ahead_is_paid_for)
{
	set_up_many(0x80);
	symbols__prefetch(&symbols, 2000);
	CHECK(memory.bytes <= TICK_BYTES);
	/* What a sample asks for was left its part, or comes with the next tick. */
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_STRING(name_of(bar), "Foo#bar");
	tear_down_many();
}

TEST(symbols_a_record_that_is_always_torn_is_paid_for)
{
	set_up_many(0);
	victim = fake__get(&vm, many[0]);
	writes = 1000000;
	memory.before = write_between;
	CHECK(symbols__get(&symbols, many[0]) != NULL);
	CHECK(memory.bytes <= TICK_BYTES);
	CHECK(strcmp(name_of(many[0]), "Foo#m0"));
	tear_down_many();
}

TEST(symbols_lines_that_collapse_keep_no_room)
{
	struct {
		uint64_t entries, positions;
		uint32_t count, pad;
		uint64_t index;
	} *insns = calloc(1, sizeof(*insns));
	uint32_t count = 54 + 512 * 100;
	size_t index_size = lines__index_size(count);
	int32_t *entries = calloc(count, 4);
	uint8_t *index = malloc(index_size);
	const struct symbol *s;
	uint64_t *word = (uint64_t *)index;

	/* An entry for each position, all of one line. */
	set_up();
	memset(index, 0xff, index_size);
	for (int i = 0; i < 54; i++)
		word[i / 9] = (i % 9 ? word[i / 9] : 0) | (uint64_t)(i + 1) << (i % 9 * 7);
	for (uint32_t i = 0; i < count; i++)
		entries[i] = 5;
	section.lines_count = 16;
	section.lines_index = 24;
	section.lines_entry_size = 4;
	layout__read(&layout, &memory.memory, (uintptr_t)&section, &diag);
	*insns = (typeof(*insns)){ .entries = (uintptr_t)entries, .index = (uintptr_t)index, .count = count };
	fake__get(&vm, bar)->lines = (uintptr_t)insns;
	fake__get(&vm, bar)->code_size = count;
	fake__get(&vm, bar)->flags = RB_DEBUG_EXT_LINES_INSNS;
	s = symbols__get(&symbols, bar);
	CHECK(!s->lines_bad);
	CHECK_INT(s->lines.count, 1);
	CHECK(malloc_usable_size(s->lines.pairs) < 1024);
	CHECK(SYMBOLS_TICK_WORK - symbols.work > (int64_t)(count * 4 + index_size));
	tear_down();
	free(insns);
	free(entries);
	free(index);
}

TEST(symbols_are_not_read_when_they_cannot_be_kept)
{
	struct symbols gone;
	const struct symbol *s;

	set_up();
	symbols__init(&gone, &table, &layout, &memory.memory);
	symbols__set_exited(&gone, false);
	CHECK_STRING(name_of(bar), "Foo#bar");
	table.names.max = 0;
	for (uint32_t id = 3; table.count < SYMBOLS_MAX; id++)
		symbols__get(&gone, id);
	s = symbols__get(&symbols, bar);
	CHECK(s != NULL);
	many[0] = fake__record(&vm, RB_DEBUG_EXT_METHOD, "late", foo, 0);
	memory.reads = 0;
	for (int i = 0; i < 100; i++) {
		CHECK(!symbols__get(&symbols, many[0]));
		CHECK(!symbols__get(&symbols, 0x7fffffff));
	}
	CHECK_INT(memory.reads, 0);
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_INT(memory.reads, 1);
	symbols__prefetch(&symbols, 2000);
	CHECK_INT(memory.reads, 1);
	/* What is there has its name. */
	CHECK_STRING(name_of(bar), "Foo#bar");
	symbols__free(&gone);
	tear_down();
}

/* One process leaves room for others of its user, and all of one user leave half for others. */
TEST(symbols_of_one_process_leave_room_for_others)
{
	struct symbols hostile[2];
	uint32_t id = 3;

	set_up();
	table.names.max = 1000 * SYMBOL_COST;
	for (int i = 0; i < 2; i++) {
		symbols__init(&hostile[i], &table, &layout, &memory.memory);
		hostile[i].names.user = 7;
		symbols__set_exited(&hostile[i], false);
	}
	table.names.max = 1000 * SYMBOL_COST;
	while (symbols__get(&hostile[0], id) && id < 2000)
		id++;
	CHECK_INT(id - 3, 250);
	for (id = 3; symbols__get(&hostile[1], id) && id < 2000;)
		id++;
	CHECK_INT(id - 3, 125);
	/* What it has stays. */
	CHECK(symbols__get(&hostile[0], 3) != NULL);
	CHECK_STRING(name_of(bar), "Foo#bar");
	for (int i = 0; i < 2; i++)
		symbols__free(&hostile[i]);
	tear_down();
}

TEST(symbols_put_off_keep_their_number_and_get_their_name)
{
	const struct symbol *s;
	uint32_t number, owner;

	set_up();
	owner = fake__record(&vm, RB_DEBUG_EXT_SINGLETON, NULL, foo, 0);
	fake__get(&vm, bar)->ref1 = owner;
	symbols.work = 0;
	memory.reads = 0;
	s = symbols__get(&symbols, bar);
	CHECK_INT(s->state, SYMBOL_LATE);
	CHECK_STRING(name_of(bar), "[too much to read]");
	CHECK(!symbols__has_lines(s));
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 0)), 0);
	CHECK_INT(memory.reads, 0);
	number = s->number;
	/* Its parts too, and what they consist of. */
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_STRING(name_of(bar), "Foo.bar");
	CHECK_INT(symbols__get(&symbols, bar)->number, number);
	CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 0)), 31);
	/* Retired meanwhile, or gone with its process. */
	for (int i = 0; i < 2; i++) {
		uint32_t id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "brief", foo, 0);

		symbols.work = 0;
		CHECK_STRING(name_of(id), "[too much to read]");
		fake__get(&vm, id)->kind = RB_DEBUG_EXT_NONE;
		if (i)
			symbols__set_exited(&symbols, false);
		symbols__update(&symbols, false);
		CHECK_STRING(name_of(id), i ? "[too much to read]" : "[retired]");
	}
	tear_down();
}

/* The least work that is left when a sample is taken suffices for its frames. */
TEST(symbols_of_a_sample_are_read_whole)
{
	set_up();
	symbols.work = SYMBOLS_SAMPLE_WORK;
	for (int i = 0; i < 80; i++) {
		char name[16];
		uint32_t id;

		snprintf(name, sizeof(name), "m%d", i);
		id = fake__record(&vm, RB_DEBUG_EXT_METHOD, name, foo, 0);
		fake__set_code(fake__get(&vm, id), 20000, 31);
		symbols__get(&symbols, id);
		CHECK_INT(symbols__get(&symbols, id)->state, SYMBOL_OK);
		CHECK_INT(symbols__line(symbols__get(&symbols, id), fake__pc(fake__get(&vm, id), 0)), 32);
	}
	CHECK(symbols.work < SYMBOLS_SAMPLE_WORK / 8);
	tear_down();
}

/* At each read in turn: what could not be read for want of time says so, and is
 * read when there is some. */
TEST(symbols_interrupted_are_put_off)
{
	int all = reads_of_a_name();

	CHECK(all > 8);
	for (int i = 1; i <= all; i++) {
		const struct symbol *s;

		set_up();
		memory.fail_at = i;
		memory.error = -EINTR;
		s = symbols__get(&symbols, bar);
		CHECK(s != NULL);
		CHECK(s->state == SYMBOL_LATE || (i > 1 && s->state == SYMBOL_OK));
		CHECK_INT(symbols__update(&symbols, false), 0);
		CHECK_STRING(name_of(bar), "Foo#bar");
		CHECK_INT(symbols__line(s, fake__pc(fake__get(&vm, bar), 0)), 31);
		tear_down();

		/* It is not forgotten when it is read ahead. */
		set_up();
		memory.fail_at = i;
		memory.error = -EINTR;
		symbols__prefetch(&symbols, 1000);
		symbols__prefetch(&symbols, 1000);
		CHECK_STRING(name_of(bar), "Foo#bar");
		tear_down();
	}
}

/* ... also when the interruption comes while that is made up for. */
TEST(symbols_put_off_are_not_passed_over)
{
	uint32_t second;

	set_up();
	second = fake__record(&vm, RB_DEBUG_EXT_METHOD, "second", foo, 0);
	symbols.work = 0;
	symbols__get(&symbols, bar);
	symbols__get(&symbols, second);
	memory.from = 0;
	memory.to = UINT64_MAX;
	memory.error = -EINTR;
	symbols.work = SYMBOLS_TICK_WORK;
	symbols__update(&symbols, false);
	memory.to = 0;
	CHECK_INT(symbols__update(&symbols, true), 0);
	/* A report asks in this way, and reads nothing any more. */
	symbols__set_exited(&symbols, false);
	CHECK_STRING(name_of(bar), "Foo#bar");
	CHECK_STRING(name_of(second), "Foo#second");
	tear_down();
}

/* A block has its id, and can be read ahead, while that of the file it is in is
 * not described yet. */
TEST(symbols_read_ahead_get_their_parts_when_asked_for)
{
	struct rb_debug_ext_record later;
	uint32_t block, file;

	set_up();
	block = fake__record(&vm, RB_DEBUG_EXT_BLOCK, NULL, 0, 0);
	file = fake__record(&vm, RB_DEBUG_EXT_BODY, "<top (required)>", 0, 0);
	fake__get(&vm, block)->ref1 = file;
	fake__get(&vm, block)->level = 1;
	later = *fake__get(&vm, file);
	memset(fake__get(&vm, file), 0, sizeof(later));
	symbols__prefetch(&symbols, 1000);
	*fake__get(&vm, file) = later;
	symbols__prefetch(&symbols, 1000);
	CHECK(symbols__get(&symbols, block) != NULL);
	symbols__set_exited(&symbols, false);
	CHECK_STRING(name_of(block), "block in <top (required)>");
	tear_down();
}

/* Reading ahead leaves room for what is asked for. */
TEST(symbols_read_ahead_do_not_fill_the_table)
{
	uint32_t count;

	set_up();
	count = table.count = SYMBOLS_MAX / 2;
	symbols__prefetch(&symbols, 1000);
	CHECK_INT(table.count, count);
	table.count = 0;
	table.bytes = SYMBOLS_BYTES_MAX / 2;
	symbols__prefetch(&symbols, 1000);
	CHECK_INT(table.count, 0);
	table.bytes = 0;
	CHECK_STRING(name_of(bar), "Foo#bar");
	tear_down();
}

/* What an id meant cannot be told any more when it may mean something else. */
TEST(symbols_put_off_do_not_get_the_name_of_another)
{
	const struct symbol *late, *torn;
	uint32_t id;

	set_up();
	id = fake__record(&vm, RB_DEBUG_EXT_METHOD, "torn", foo, 0);
	fake__get(&vm, id)->generation = 3;
	torn = symbols__get(&symbols, id);
	CHECK_INT(torn->state, SYMBOL_UNREADABLE);
	symbols.work = 0;
	late = symbols__get(&symbols, bar);
	CHECK_INT(late->state, SYMBOL_LATE);
	/* Both ids are given out again. */
	fake__set_name(fake__get(&vm, bar), "second", 6);
	fake__set_name(fake__get(&vm, id), "third", 5);
	fake__get(&vm, id)->generation = 4;
	section.records_end = 1u << 31;
	section.names_generation++;
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_INT(symbols__update(&symbols, true), 0);
	text__clear(&out);
	symbols__add_name(late, &out);
	CHECK_STRING(text__string(&out), "[too much to read]");
	text__clear(&out);
	symbols__add_name(torn, &out);
	CHECK_STRING(text__string(&out), "[unreadable record]");
	CHECK_STRING(name_of(bar), "Foo#second");
	CHECK_STRING(name_of(id), "Foo#third");
	tear_down();
	/* Between the last update and the read: before the generation is seen. */
	set_up();
	symbols.work = 0;
	late = symbols__get(&symbols, bar);
	fake__set_name(fake__get(&vm, bar), "second", 6);
	section.records_end = 1u << 31;
	section.names_generation++;
	symbols.work = SYMBOLS_TICK_WORK;
	CHECK(symbols__get(&symbols, bar) == late);
	CHECK_INT(late->state, SYMBOL_LATE);
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_INT(late->state, SYMBOL_LATE);
	CHECK_STRING(name_of(bar), "Foo#second");
	tear_down();
}

TEST(symbols_new_names_are_read_in_portions)
{
	const int count = 3000;
	uint32_t first = 0;
	char name[32];
	int ticks = 0;

	set_up();
	for (int i = 0; i < count; i++) {
		uint32_t id = fake__record(&vm, RB_DEBUG_EXT_ANON_CLASS, NULL, foo, 0);

		if (!i)
			first = id;
	}
	CHECK_INT(symbols__update(&symbols, false), 0);
	for (int i = 0; i < count; i++)
		symbols__get(&symbols, first + (uint32_t)i);
	for (int i = 0; i < count; i++) {
		struct rb_debug_ext_record *r = fake__get(&vm, first + (uint32_t)i);

		snprintf(name, sizeof(name), "N%d", i);
		r->generation += 2;
		r->kind = RB_DEBUG_EXT_NAMED;
		fake__set_name(r, name, strlen(name));
	}
	section.names_generation++;
	do {
		memory.reads = 0;
		symbols.work = -SYMBOLS_TICK_WORK / 2;	/* little is left of this tick */
		CHECK_INT(symbols__update(&symbols, false), 0);
		CHECK(memory.reads <= SYMBOLS_TICK_WORK / 4 / SYMBOLS_READ_WORK + 16);
	} while (symbols.to_reload && ++ticks < 100);
	CHECK(ticks > 0 && ticks < 10);
	CHECK_STRING(name_of(first), "N0");
	CHECK_STRING(name_of(first + (uint32_t)count - 1), "N2999");
	/* One generation is read once. */
	memory.reads = 0;
	CHECK_INT(symbols__update(&symbols, false), 0);
	CHECK_INT(memory.reads, 1);
	/* Wherever the work runs out: what has been read stays. */
	for (int left = 1; left < 20000; left += 100) {
		uint32_t id = first + (uint32_t)(left / 100);

		fake__get(&vm, id)->kind = RB_DEBUG_EXT_NESTED;
		fake__get(&vm, id)->generation += 2;
		section.names_generation++;
		symbols.next_reload = map64__get(&symbols.map, id);
		symbols.work = left - SYMBOLS_LAST_WORK;
		CHECK_INT(symbols__update(&symbols, true), 0);
		snprintf(name, sizeof(name), "N%d", left / 100);
		CHECK(!strcmp(name_of(id), name) ||
		      (!strncmp(name_of(id), "Foo::", 5) && !strcmp(text__string(&out) + 5, name)));
	}
	tear_down();
}
