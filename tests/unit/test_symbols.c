/* SPDX-License-Identifier: BSD-2-Clause */
/* Records read while they change, vanish and lie. */
#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "fake.h"
#include "memory_fake.h"
#include "symbols.h"

static struct rb_debug_ext_section section;
static struct fake vm;
static struct memory_fake memory;
static struct layout layout;
static struct symbol_table table;
static struct symbols symbols;
static struct text out;
static struct diag diag;
static uint32_t foo, bar;

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
	/* The other one is unknown: a name without a place. */
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
	/* Counts and addresses that lie cost the lines or the record, no more. */
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
	/* The grace period is over, the record is another's now. */
	memset(fake__get(&vm, bar), 0, sizeof(struct rb_debug_ext_record));
	memset(fake__get(&vm, foo), 0, sizeof(struct rb_debug_ext_record));
	CHECK_STRING(name_of(bar), "Foo#bar");
	symbols__set_exited(&symbols);
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

TEST(symbols_survive_each_failed_read)
{
	int all;

	set_up();
	name_of(bar);
	all = memory.reads;
	tear_down();
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
	/* Torn each time: no name is better than a wrong one. */
	set_up();
	victim = fake__get(&vm, bar);
	writes = 1000000;
	memory.before = write_between;
	CHECK_STRING(name_of(bar), "[unreadable record]");
	memory.before = NULL;
	/* It is read again when there is an occasion. */
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
	/* A name that is gone when we look again stays as it was. */
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
	symbols__set_exited(&symbols);
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

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
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
	CHECK(!symbols__jit_line(&symbols, s, 0x500010, now(), &line));
	section.jit_start = 0x500000;
	section.jit_end = 0x600000;
	entries[0] = (struct rb_debug_ext_jit_entry){ 0x100, 0x40, bar, 6 };
	entries[1] = (struct rb_debug_ext_jit_entry){ 0, 0x40, bar, 2 };
	entries[2] = (struct rb_debug_ext_jit_entry){ 0x200, 0x40, foo, 2 };
	section.jit_log = (uintptr_t)entries;
	section.jit_log_len = 2;
	CHECK(symbols__jit_line(&symbols, s, 0x500010, now(), &line));
	CHECK_INT(line, 32);
	CHECK(symbols__jit_line(&symbols, s, 0x50013f, now(), &line));
	CHECK_INT(line, 34);
	CHECK(!symbols__jit_line(&symbols, s, 0x500140, now(), &line));
	CHECK(!symbols__jit_line(&symbols, s, 0x4fffff, now(), &line));
	CHECK(!symbols__jit_line(&symbols, s, 0x600000, now(), &line));
	CHECK(!symbols__jit_line(&symbols, s, 0, now(), &line));
	/* Code that is logged later is found, another record's is not taken. */
	section.jit_log_len = 3;
	CHECK(!symbols__jit_line(&symbols, s, 0x500210, now(), &line));
	CHECK_INT(symbols.jit.count, 3);
	/* ... unless they share the code. */
	((struct symbol *)(uintptr_t)symbols__get(&symbols, foo))->code = s->code;
	CHECK(symbols__jit_line(&symbols, s, 0x500210, now(), &line));
	CHECK_INT(line, 32);
	/* Code was thrown away: what was sampled before is uncertain. */
	before = now();
	section.jit_log_generation++;
	entries[0] = (struct rb_debug_ext_jit_entry){ 0, 0x40, bar, 10 };
	section.jit_log_len = 1;
	CHECK(!symbols__jit_line(&symbols, s, 0x500010, before, &line));
	CHECK(symbols__jit_line(&symbols, s, 0x500010, now(), &line));
	CHECK_INT(line, 36);
	CHECK(!symbols__jit_line(&symbols, s, 0x500010, before, &line));
	tear_down();
}
