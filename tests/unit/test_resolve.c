/* SPDX-License-Identifier: BSD-2-Clause */
/* From events to stacks. */
#include "test.h"

#include <errno.h>

#include "base/deadline.h"
#include "no_memory.h"
#include "profile_fixture.h"

TEST(collect_names_a_stack)
{
	set_up();
	start();
	frame(size_id, 0);
	frame(block_id, 2);
	frame(foo_id, 4);
	frame(main_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	send(3);
	CHECK_STRING(folded(), "<main>;Foo#foo;block in Foo#foo;Array#size 3\n");
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 3);
	CHECK_INT(resolver.unknown_frames, 0);
	tear_down();
}

TEST(collect_skips_internal_frames_and_shows_unknown_ones)
{
	set_up();
	start();
	frame(bar_id, 0);
	frame(RB_DEBUG_EXT_ID_INTERNAL, 0);
	frame(RB_DEBUG_EXT_ID_IFUNC, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);		/* not the outermost */
	frame(main_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	send(1);
	CHECK_STRING(folded(), "<main>;[unknown frame];[block in C];Foo#bar 1\n");
	CHECK_INT(resolver.unknown_frames, 1);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 1);
	tear_down();
}

TEST(collect_shows_threads_without_ruby)
{
	static const struct {
		int kind;
		const char *line;
	} cases[] = {
		{ SAMPLE_NATIVE, "[native thread ruby\\x1B] 1\n" },
		{ SAMPLE_STARTING, "[ruby starting] 1\n" },
		{ SAMPLE_ENDED, "[ruby ending] 1\n" },
		{ SAMPLE_EXITING, "[thread ending] 1\n" },
		{ SAMPLE_RUBY, "[no ruby code] 1\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up();
		start();
		sample.event.kind = (uint8_t)cases[i].kind;
		strcpy(sample.event.comm, "ruby\033");
		send(1);
		CHECK_STRING(folded(), cases[i].line);
		CHECK_INT(resolver.received[SOURCE_CPU].whole, 1);
		tear_down();
	}
}

TEST(collect_puts_gc_under_its_caller)
{
	set_up();
	start();
	frame(foo_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	for (sample.event.gc_phase = 0; sample.event.gc_phase < 6; sample.event.gc_phase++)
		send(1);
	CHECK_STRING(folded(), "Foo#foo 1\nFoo#foo;[GC compact] 1\nFoo#foo;[GC mark] 1\n"
		     "Foo#foo;[GC sweep] 1\nFoo#foo;[GC] 2\n");
	CHECK_INT(resolver.gc_samples, 5);
	tear_down();
}

TEST(collect_puts_compiling_under_its_method)
{
	set_up();
	start();
	frame(foo_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	sample.event.flags = SAMPLE_COMPILES;
	send(2);
	/* The compiler allocates, and the collector runs. */
	sample.event.gc_phase = RB_DEBUG_EXT_GC_MARK;
	send(1);
	sample.event.flags = 0;
	sample.event.gc_phase = 0;
	send(1);
	CHECK_STRING(folded(), "Foo#foo 1\nFoo#foo;[YJIT compile] 2\nFoo#foo;[YJIT compile];[GC mark] 1\n");
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 4);
	tear_down();
}

/* The pc is that of the first instruction that is compiled, not of the one after it. */
TEST(collect_knows_the_line_that_is_compiled)
{
	static const struct {
		uint32_t position;
		const char *runs, *compiles;
	} cases[] = {
		{ 0, "701", "701" },
		{ 1, "701", "702" },	/* each line has two positions */
		{ 2, "702", "702" },
		{ 3, "702", "703" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[200];

		set_up();
		start();
		frame(bar_id, cases[i].position);
		frame(RB_DEBUG_EXT_ID_NONE, 0);
		sample.frames[0].flags = FRAME_JIT_RETURN | FRAME_RESUMES;
		sample.event.flags = SAMPLE_COMPILES;
		send(1);
		snprintf(expected, sizeof(expected), "Foo#bar app.rb:%s;[YJIT compile] 1\n", cases[i].compiles);
		CHECK_STRING(render(&output_folded, true, false), expected);
		/* It says nothing of lines in JIT code. */
		CHECK_INT(resolver.jit_leaves, 0);
		tear_down();
		set_up();
		start();
		frame(bar_id, cases[i].position);
		frame(RB_DEBUG_EXT_ID_NONE, 0);
		send(1);
		snprintf(expected, sizeof(expected), "Foo#bar app.rb:%s 1\n", cases[i].runs);
		CHECK_STRING(render(&output_folded, true, false), expected);
		tear_down();
	}
}

TEST(collect_shows_truncation_at_the_root)
{
	set_up();
	start();
	frame(bar_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);		/* not the outermost: more follow */
	sample.event.truncated = TRUNC_DEPTH;
	sample.event.left_out = 37;
	send(2);
	CHECK_STRING(folded(), "[truncated: 37 frames more];[unknown frame];Foo#bar 2\n");
	/* A recursion of many depths is no reason to run out of room. */
	for (uint32_t i = 0; i < 10000; i++) {
		sample.event.left_out = 1000 + i;
		send(1);
	}
	CHECK(tree.node_count < 3 * (RESOLVE_LEFT_OUT_MAX + 10));
	CHECK(strstr(folded(), "[truncated: 1062 frames more];[unknown frame];Foo#bar 1\n"));
	CHECK(strstr(folded(), "[truncated: at least 8192 frames more];[unknown frame];Foo#bar 2808\n"));
	CHECK(strstr(folded(), "[truncated: 37 frames more];[unknown frame];Foo#bar 2\n"));
	CHECK_INT(resolver.received[SOURCE_CPU].truncated[TRUNC_DEPTH], 10002);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 0);
	tear_down();
}

TEST(collect_tells_threads_apart)
{
	set_up_threads();
	send_in(30, 3, 103, 1);
	send_in(40, 4, 104, 2);
	send_in(50, 5, 105, 3);
	send_in(60, 6, 106, 4);
	send_in(30, 3, 103, 5);
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_STRING(folded(), "[thread #50 (105)];Foo#foo 3\n[thread main (104)];Foo#foo 2\n"
		     "[thread puma:1 (103)];Foo#foo 6\n[thread ractor 2 main (106)];Foo#foo 4\n");
	CHECK_INT(resolver.unknown_threads, 0);
	tear_down();
}

TEST(collect_marks_what_has_no_thread)
{
	set_up_threads();
	send_in(0, 0, 100, 1);			/* frames, but whose? */
	start();
	sample.event.flags = SAMPLE_THREAD_UNREAD;
	send(1);
	start();
	sample.event.nr_frames = 1;		/* the one that is no code: it ends */
	send(1);
	start();
	sample.event.kind = SAMPLE_NATIVE;
	send(1);
	sample.event.kind = SAMPLE_EXITING;
	sample.event.tid = 0;
	send(1);
	CHECK_STRING(folded(), "[native thread ruby (42)];[native thread ruby] 1\n"
		     "[native thread ruby (42)];[no ruby code] 1\n"
		     "[native thread ruby];[thread ending] 1\n"
		     "[unknown thread ruby (100)];Foo#foo 1\n"
		     "[unknown thread ruby (42)];[no ruby code] 1\n");
	CHECK_INT(resolver.unknown_threads, 2);
	CHECK(strstr(render(&output_summary, false, false), "unknown threads") == NULL);
	tear_down();
}

TEST(collect_gives_threads_their_last_name)
{
	struct rb_debug_ext_thread *dead;

	set_up_threads();
	fake__thread(&ruby, 7, 70, "old name", NULL);
	dead = fake__thread(&ruby, 8, 80, "", NULL);
	dead->flags = RB_DEBUG_EXT_THREAD_MAIN;
	send_in(30, 3, 103, 1);
	send_in(70, 7, 107, 1);
	send_in(80, 8, 108, 1);
	send_in(50, 5, 105, 1);
	send_in(50, 5, 106, 1);		/* moves between native threads: one row */
	/* Renamed; its slot another's; dead, when flags are no longer right. */
	fake__thread(&ruby, 7, 70, "new name", NULL);
	fake__thread(&ruby, 3, 31, "another", NULL);
	dead->state = RB_DEBUG_EXT_THREAD_DEAD;
	dead->flags = 0;
	threads__refresh(&vm.threads, false);
	send_in(70, 7, 107, 1);
	send_in(30, 3, 103, 1);
	send_in(31, 3, 103, 1);		/* the tid is reused as well */
	/* Of these nothing is known any more. */
	send_in(32, 3, 109, 1);
	fake__thread(&ruby, 9, 90, "free", NULL)->thread = 0;
	send_in(90, 9, 109, 1);
	threads__refresh(&vm.threads, true);
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_STRING(folded(), "[thread #32 (gone) (109)];Foo#foo 1\n[thread #50];Foo#foo 2\n"
		     "[thread #90 (gone) (109)];Foo#foo 1\n[thread another (103)];Foo#foo 1\n"
		     "[thread main (108)];Foo#foo 1\n[thread new name (107)];Foo#foo 2\n"
		     "[thread puma:1 (103)];Foo#foo 2\n");
	tear_down();
}

TEST(collect_reads_no_names_of_a_process_that_is_gone)
{
	int reads;

	set_up_threads();
	send_in(30, 3, 103, 1);
	threads__set_exited(&vm.threads);
	reads = memory.reads;
	fake__thread(&ruby, 3, 30, "of another program", NULL);
	send_in(50, 5, 105, 1);
	threads__refresh(&vm.threads, true);
	CHECK_INT(memory.reads, reads);
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_STRING(folded(), "[thread #50 (gone) (105)];Foo#foo 1\n[thread puma:1 (103)];Foo#foo 1\n");
	tear_down();
}

/* A name that is torn each time it is read, until the refresh. */
static struct rb_debug_ext_thread *torn;
static void tear(int read) { (void)read; torn->generation += 2; }

TEST(collect_reads_names_again_that_could_not_be_read)
{
	set_up_threads();
	torn = fake__thread(&ruby, 7, 70, "torn", NULL);
	memory.before = tear;
	send_in(70, 7, 107, 1);
	memory.before = NULL;
	for (int fail = 1; fail <= 3; fail++) {
		memory.fail_at = memory.reads + fail;
		send_in(30 + 10 * (fail - 1), 2 + (uint32_t)fail, 100, 1);
	}
	memory.fail_at = 0;
	for (uint32_t i = 0; i < vm.threads.count; i++)
		CHECK(!vm.threads.list[i].known);
	threads__refresh(&vm.threads, false);
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_STRING(folded(), "[thread #50 (100)];Foo#foo 1\n[thread main (100)];Foo#foo 1\n"
		     "[thread puma:1 (100)];Foo#foo 1\n[thread torn (107)];Foo#foo 1\n");
	tear_down();
}

TEST(collect_counts_names_that_were_put_off)
{
	struct report r;
	uint32_t count;

	set_up();
	start();
	frame(foo_id, 2);
	frame(main_id, 4);
	vm.symbols.work = 0;
	send(2);
	CHECK_STRING(folded(), "[too much to read];[too much to read] 2\n");
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.meta.late_names, 4);
	CHECK_INT(r.meta.late_lines, 0);
	report__free(&r);
	CHECK_INT(resolver.crowded_names, 0);
	CHECK_INT(resolver.unreadable_names, 0);
	/* No room: said so, and not a name of the past. */
	count = table.count;
	table.count = SYMBOLS_MAX;
	start();
	frame(size_id, 0);
	send(3);
	table.count = count;
	/* In time, for the frames that were there before too. */
	CHECK_INT(symbols__update(&vm.symbols, false), 0);
	CHECK_STRING(folded(), "<main>;Foo#foo 2\n[one of too many names] 3\n");
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.meta.late_names, 0);
	CHECK_INT(r.meta.late_lines, 4);
	report__free(&r);
	CHECK_INT(resolver.crowded_names, 3);
	tear_down();
}

/* By what has become of them, and the sum of all frames that have it. */
TEST(collect_counts_what_is_shown_without_its_name)
{
	uint32_t block, later;
	struct report r;

	set_up();
	block = fake__record(&ruby, RB_DEBUG_EXT_BLOCK, NULL, foo_id, 0);
	later = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "later", 0, 0);
	symbols__get(&vm.symbols, block);
	for (int i = 0; i < 2; i++) {
		/* What was put off has retired by the time it is read. */
		start();
		frame(block, 0);
		frame(later, 0);
		frame(later, 0);
		frame(main_id, 4);
		vm.symbols.work = 0;
		send(2);
		fake__get(&ruby, later)->kind = RB_DEBUG_EXT_NONE;
		symbols__update(&vm.symbols, false);
	}
	CHECK_STRING(folded(), "<main>;[retired];[retired];block in Foo#foo 4\n");
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.meta.expired_names, 8);
	CHECK_INT(r.meta.late_names, 0);
	CHECK_INT(r.meta.late_lines, 2);
	CHECK_INT(r.meta.partial_names, 0);
	report__free(&r);
	tear_down();

	/* The method that a block is in is gone. */
	set_up();
	block = fake__record(&ruby, RB_DEBUG_EXT_BLOCK, NULL, foo_id, 0);
	fake__get(&ruby, foo_id)->kind = RB_DEBUG_EXT_NONE;
	start();
	frame(block, 0);
	frame(main_id, 4);
	send(3);
	CHECK_STRING(folded(), "<main>;block in ? 3\n");
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.meta.partial_names, 3);
	CHECK_INT(r.meta.expired_names, 0);
	report__free(&r);
	tear_down();
}

TEST(collect_goes_on_with_too_many_threads)
{
	set_up_threads();
	memory.fail_at = -1;
	for (uint64_t serial = 1000; serial < 1000 + THREADS_MAX; serial++)
		send_in(serial, 3, 100, 1);
	send_in(1, 3, 100, 5);
	send_in(2, 3, 100, 5);
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_INT(resolver.received[SOURCE_CPU].lost[LOSS_NO_MEMORY], 0);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, THREADS_MAX + 10);
	CHECK_INT(vm.threads.count, THREADS_MAX);
	tear_down();
}

TEST(collect_marks_jit_leaves_as_approximate)
{
	set_up();
	start();
	frame(bar_id, 0);
	frame(foo_id, 0);
	sample.frames[0].flags = sample.frames[1].flags = FRAME_JIT_RETURN;
	send(1);
	/* Callers are exact whatever their jit_return. */
	CHECK_STRING(render(&output_folded, true, false), "Foo#foo app.rb:601;Foo#bar app.rb:~701 1\n");
	CHECK_INT(resolver.jit_leaves, 1);
	CHECK_INT(resolver.jit_exact, 0);
	tear_down();
}

/* See "Lines" in the header. */
TEST(collect_knows_which_leaf_lines_are_exact)
{
	enum { JIT = 0x500000, LEAF = 0x700000, C = 0x800000 };
	static struct rb_debug_ext_jit_entry entries[2];
	static const struct {
		uint32_t flags;
		uint64_t ip;
		bool old;	/* an interpreter that does not say what stores the pc */
		const char *leaf;
	} cases[] = {
		{ 0, C, false, "701" },
		{ 0, 0, false, "701" },
		{ FRAME_RESUMES, C, false, "~701" },
		{ FRAME_RESUMES, 0, false, "~701" },
		{ FRAME_JIT_RETURN, C, false, "701" },
		{ FRAME_JIT_RETURN, LEAF - 1, false, "701" },
		{ FRAME_JIT_RETURN, LEAF, false, "~701" },
		{ FRAME_JIT_RETURN, LEAF + 0xff, false, "~701" },
		{ FRAME_JIT_RETURN, LEAF + 0x100, false, "701" },
		{ FRAME_JIT_RETURN, 0, false, "~701" },
		{ FRAME_JIT_RETURN, JIT - 1, false, "701" },
		{ FRAME_JIT_RETURN, JIT + 0x10, false, "703" },
		{ FRAME_JIT_RETURN, JIT + 0x110, false, "~701" },	/* of other code */
		{ FRAME_JIT_RETURN, JIT + 0x210, false, "~701" },	/* not logged */
		{ FRAME_JIT_RETURN, JIT + 0x1000, false, "701" },
		{ FRAME_JIT_RETURN | FRAME_RESUMES, C, false, "~701" },
		{ FRAME_JIT_RETURN | FRAME_RESUMES, LEAF, false, "~701" },
		{ FRAME_JIT_RETURN | FRAME_RESUMES, JIT + 0x10, false, "703" },
		{ FRAME_JIT_RETURN | FRAME_RESUMES, JIT + 0x110, false, "~701" },
		{ 0, C, true, "701" },
		{ FRAME_JIT_RETURN, C, true, "~701" },
		{ FRAME_JIT_RETURN, JIT + 0x10, true, "703" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[100];

		set_up();
		section.jit_start = JIT;
		section.jit_end = JIT + 0x1000;
		section.jit_leaf_start = cases[i].old ? 0 : LEAF;
		section.jit_leaf_end = cases[i].old ? 0 : LEAF + 0x100;
		entries[0] = (struct rb_debug_ext_jit_entry){ 0, 0x40, bar_id, 4 };
		entries[1] = (struct rb_debug_ext_jit_entry){ 0x100, 0x40, foo_id, 4 };
		section.jit_log = (uintptr_t)entries;
		section.jit_log_len = 2;
		start();
		frame(bar_id, 0);
		frame(foo_id, 0);
		sample.frames[0].flags = sample.frames[1].flags = cases[i].flags;
		sample.event.ip = cases[i].ip;
		sample.event.time = deadline__now();
		send(1);
		snprintf(expected, sizeof(expected), "Foo#foo app.rb:601;Foo#bar app.rb:%s 1\n", cases[i].leaf);
		if (strcmp(render(&output_folded, true, false), expected))
			test__fail(__FILE__, __LINE__, "case %zu: %s", i, written);
		CHECK_INT(resolver.jit_leaves, cases[i].flags & FRAME_JIT_RETURN ? 1 : 0);
		CHECK_INT(resolver.jit_exact, cases[i].flags & FRAME_JIT_RETURN && cases[i].leaf[0] != '~' ? 1 : 0);
		tear_down();
	}
	/* It ended, and all that is known of it is known. */
	set_up();
	section.jit_start = JIT;
	section.jit_end = JIT + 0x1000;
	section.jit_leaf_start = LEAF;
	section.jit_leaf_end = LEAF + 0x100;
	CHECK_INT(layout__refresh(&vm.layout, &memory.memory), 0);
	symbols__get(&vm.symbols, bar_id);
	symbols__set_exited(&vm.symbols, false);
	start();
	frame(bar_id, 0);
	sample.frames[0].flags = FRAME_JIT_RETURN;
	sample.event.ip = C;
	send(1);
	sample.event.ip = JIT;
	send(1);
	CHECK_STRING(render(&output_folded, true, false), "Foo#bar app.rb:701 1\nFoo#bar app.rb:~701 1\n");
	tear_down();
}

TEST(collect_counts_events_that_make_no_sense)
{
	set_up();
	start();
	frame(bar_id, 0);
	resolve__event(&resolver, &sample, sizeof(sample.event) - 1);
	resolve__event(&resolver, &sample, sizeof(sample.event));	/* frames are missing */
	sample.event.kind = 99;
	send(1);
	sample.event.kind = 0;
	send(1);
	start();
	sample.event.vm = 2;
	send(1);
	sample.event.vm = 0;
	send(1);
	start();
	sample.event.truncated = TRUNC_MAX;
	send(1);
	start();
	sample.event.nr_frames = SAMPLE_FRAMES_MAX + 1;
	send(1);
	CHECK_INT(resolver.received[SOURCE_CPU].lost[LOSS_MALFORMED], 8);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 0);
	CHECK_STRING(folded(), "");
	loss_hit[LOSS_MALFORMED] += resolver.received[SOURCE_CPU].lost[LOSS_MALFORMED];
	tear_down();
}

TEST(collect_counts_what_it_cannot_keep)
{
	set_up();
	start();
	frame(bar_id, 0);
	send(1);
	/* The kernel gives no memory: not for new nodes, nor for making room. */
	for (int i = 0; i < 100; i++)
		frame(foo_id, 0);
	no_memory = true;
	send(2);
	no_memory = false;
	CHECK_INT(resolver.received[SOURCE_CPU].lost[LOSS_NO_MEMORY], 2);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 1);
	loss_hit[LOSS_NO_MEMORY] += 2;
	/* What is known is still counted. */
	start();
	frame(bar_id, 0);
	send(1);
	CHECK_STRING(folded(), "Foo#bar 2\n");
	tear_down();
}

TEST(collect_takes_no_names_of_a_program_that_may_have_been_another)
{
	struct report r;

	/* Known before the first sample; when that arrives, the memory is gone. */
	set_up();
	symbols__prefetch(&vm.symbols, 1000);
	memory.fail_at = memory.reads + 1;
	memory.error = -ESRCH;
	start();
	frame(foo_id, 4);
	frame(main_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	send(2);
	CHECK_STRING(folded(), "[exited before resolved];[exited before resolved] 2\n");
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.meta.exited_names, 4);
	report__free(&r);
	tear_down();

	/* No time to ask whether it was there. */
	set_up();
	memory.fail_at = memory.reads + 1;
	memory.error = -EINTR;
	for (int i = 0; i < 2; i++) {
		start();
		frame(main_id, 0);
		frame(RB_DEBUG_EXT_ID_NONE, 0);
		send(1);
	}
	CHECK_STRING(folded(), "<main> 1\n");
	CHECK_INT(resolver.received[SOURCE_CPU].lost[LOSS_NOT_READ], 1);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 1);
	loss_hit[LOSS_NOT_READ]++;
	tear_down();

	/* A sample that came while it was there: so are all before the next program. */
	set_up();
	symbols__prefetch(&vm.symbols, 1000);
	start();
	frame(main_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	send(1);
	memory.from = 0;
	memory.to = UINT64_MAX;
	memory.error = -ESRCH;
	start();
	frame(foo_id, 4);
	frame(main_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	send(1);
	CHECK_STRING(folded(), "<main> 1\n<main>;Foo#foo 1\n");
	tear_down();
}

TEST(collect_counts_what_it_has_no_time_for)
{
	set_up();
	start();
	frame(foo_id, 0);
	send(2);
	resolve__skip(&resolver, &sample, sizeof(sample));
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 2);
	CHECK_INT(received__sum(&resolver.received[SOURCE_CPU]), 3);
	loss_hit[LOSS_NOT_READ] += resolver.received[SOURCE_CPU].lost[LOSS_NOT_READ];
	tear_down();
}

/* Two VMs of two processes: samples of each are counted in its row, and all in the sum. */
TEST(collect_counts_by_process)
{
	const struct process_row *row;

	set_up();
	CHECK_INT(processes__add(&processes), 1);
	start();
	frame(foo_id, 0);
	send(3);
	vm_row = 1;
	send(2);
	sample.event.truncated = TRUNC_DEPTH;
	send(1);
	resolve__skip(&resolver, &sample, sizeof(sample));
	resolve__skip(&resolver, &sample, sizeof(sample.event) - 1);
	sample.event.vm = 2;
	send(1);
	resolve__skip(&resolver, &sample, sizeof(sample));
	/* No row: in the sum only. */
	sample.event.vm = 1;
	vm_row = 2;
	send(1);
	vm_row = 0;
	row = &processes.rows[0];
	CHECK_INT(row->received.whole, 3);
	CHECK_INT(received__sum(&row->received), 3);
	row = &processes.rows[1];
	CHECK_INT(row->received.whole, 2);
	CHECK_INT(row->received.truncated[TRUNC_DEPTH], 1);
	CHECK_INT(row->received.lost[LOSS_NOT_READ], 1);
	CHECK_INT(received__sum(&row->received), 4);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 5);
	CHECK_INT(resolver.received[SOURCE_CPU].truncated[TRUNC_DEPTH], 2);
	CHECK_INT(resolver.received[SOURCE_CPU].lost[LOSS_NOT_READ], 1);
	CHECK_INT(resolver.received[SOURCE_CPU].lost[LOSS_MALFORMED], 3);
	loss_hit[LOSS_NOT_READ] += 1;
	loss_hit[LOSS_MALFORMED] += 3;
	tear_down();
}

TEST(collect_puts_processes_above_threads)
{
	set_up_threads();
	CHECK_INT(groups__parse("process,thread", &resolver.groups), 0);
	processes__add(&processes);
	processes.rows[0].pid = 7;
	processes.rows[1].pid = 8;
	strcpy(processes.rows[1].command, "ruby before.rb");
	send_in(30, 3, 103, 1);
	vm_row = 1;
	send_in(30, 3, 103, 2);
	vm_row = 2;
	send_in(30, 3, 103, 3);
	vm_row = 0;
	strcpy(processes.rows[1].command, "ruby bin/after.rb 1");
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_INT(resolve__name_processes(&resolver), 0);
	CHECK_STRING(folded(), "[one of too many processes];[thread puma:1 (103)];Foo#foo 3\n"
		     "[process 7];[thread puma:1 (103)];Foo#foo 1\n"
		     "[process 8 after.rb];[thread puma:1 (103)];Foo#foo 2\n");
	tear_down();
}

/* The texts of threads are too many: the samples stay. */
TEST(collect_keeps_samples_without_room_for_their_group)
{
	uint32_t count;

	set_up_threads();
	CHECK_INT(groups__parse("process,thread", &resolver.groups), 0);
	send_in(30, 3, 103, 1);
	processes__add(&processes);
	vm_row = 1;
	count = frames.no_code;
	frames.no_code = FRAMES_NO_CODE_MAX;
	send_in(40, 4, 104, 2);
	send_in(0, 0, 100, 4);
	frames.no_code = count;
	vm_row = 0;
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_INT(resolve__name_processes(&resolver), 0);
	CHECK_STRING(folded(), "[one of too many processes];[one of too many threads];Foo#foo 6\n"
		     "[process];[thread puma:1 (103)];Foo#foo 1\n");
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 7);
	tear_down();
}

static uint32_t label(const char *key, const char *value, uint32_t outer)
{
	uint32_t id = fake__record(&ruby, RB_DEBUG_EXT_LABEL, key, outer, 0);

	if (value)
		fake__set_path(fake__get(&ruby, id), value);
	return id;
}

/* Of the EC, for the samples that follow. */
static uint16_t marks_of_ec[RB_DEBUG_EXT_LABEL_MARKS];

static void send_for(uint32_t set, int times)
{
	start();
	sample.event.label = set;
	memcpy(sample.event.label_marks, marks_of_ec, sizeof(marks_of_ec));
	frame(foo_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	send(times);
}

TEST(collect_groups_by_labels)
{
	uint32_t a, b, none;

	set_up();
	CHECK_INT(groups__parse("label:request,label:n", &resolver.groups), 0);
	a = label("request", "GET /\033[1m\n;x", 0);
	b = label("n", "2", a);
	none = label("request", NULL, b);
	send_for(a, 1);
	send_for(b, 2);
	send_for(none, 3);
	send_for(0, 4);
	send_for(fake__record(&ruby, RB_DEBUG_EXT_NONE, NULL, 0, 0), 5);
	send_for(bar_id, 6);
	CHECK_STRING(folded(), "[no request];[n=2];Foo#foo 3\n[no request];[no n];Foo#foo 4\n"
		     "[request: expired];[n: expired];Foo#foo 5\n[request: not read];[n: not read];Foo#foo 6\n"
		     "[request=GET /\\x1B[1m\\x0A:x];[n=2];Foo#foo 2\n"
		     "[request=GET /\\x1B[1m\\x0A:x];[no n];Foo#foo 1\n");
	CHECK_INT(resolver.expired_labels, 10);
	CHECK_INT(resolver.unread_labels, 12);
	tear_down();
}

/* Values are bounded, and what has no room is no other value. */
TEST(collect_keeps_samples_without_room_for_their_label)
{
	uint32_t a, b;

	set_up();
	CHECK_INT(groups__parse("label:n", &resolver.groups), 0);
	a = label("n", "1", 0);
	b = label("n", "2", 0);
	send_for(a, 1);
	resolver.label_values = RESOLVE_LABELS_MAX;
	send_for(b, 2);
	send_for(a, 4);
	send_for(0, 8);
	CHECK_STRING(folded(), "[n: one of too many values];Foo#foo 2\n[n=1];Foo#foo 5\n[no n];Foo#foo 8\n");
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 15);
	tear_down();
}

/* The labels of the last sample, for sinks that keep all: "[tenant=7][request=x]". */
static const char *all_labels(uint32_t set)
{
	static struct text t;

	send_for(set, 1);
	text__clear(&t);
	for (uint32_t i = 0; i < resolver.label_count; i++)
		frame__add_text(frame_table__get(&frames, resolver.labels[i]), &t);
	return text__string(&t);
}

/* The marks of the last sample's labels, as "1 2 3", if its EC has these. */
static const char *label_marks(uint32_t set, uint16_t first, uint16_t second, uint16_t third)
{
	static char text[32];

	marks_of_ec[0] = first;
	marks_of_ec[1] = second;
	marks_of_ec[2] = third;
	all_labels(set);
	snprintf(text, sizeof(text), "%d %d %d", (int)(resolver.label_marks & 0xffff), (int)(resolver.label_marks >> 16 & 0xffff),
		 (int)(resolver.label_marks >> 32));
	return text;
}

TEST(collect_gives_the_marks_of_labels)
{
	uint32_t a, b, c, d, again, expired;

	set_up();
	resolver.all_labels = true;
	a = label("app", "1", 0);
	b = label("request", "x", a);
	c = label("query", "q", b);
	d = label("row", "2", c);
	CHECK_STRING(label_marks(0, 7, 8, 9), "0 0 0");
	CHECK_STRING(label_marks(a, 7, 8, 9), "7 0 0");
	CHECK_STRING(label_marks(b, 7, 8, 9), "7 8 0");
	/* The third one is of all levels beyond. */
	CHECK_STRING(label_marks(d, 7, 8, 9), "7 8 9");
	/* Older interfaces have none. */
	CHECK_STRING(label_marks(d, 0, 0, 0), "0 0 0");
	/* The innermost value counts, with the mark of its own level: here the request is the second of two labels. */
	again = label("app", "2", b);
	CHECK_STRING(all_labels(again), "[request=x][app=2]");
	CHECK_STRING(label_marks(again, 7, 8, 9), "8 9 0");
	/* A label that is taken away has a level. */
	again = label("query", "r", label("app", NULL, b));
	CHECK_STRING(all_labels(again), "[request=x][query=r]");
	CHECK_STRING(label_marks(again, 7, 8, 9), "8 9 0");
	/* Labels of groups are where they were set. */
	CHECK_INT(groups__parse("label:row,label:none,label:app", &resolver.groups), 0);
	CHECK_STRING(all_labels(d), "[app=1][request=x][query=q][row=2]");
	CHECK_STRING(label_marks(d, 7, 8, 9), "7 8 9");
	/* One that comes and goes does not move those outside of it. */
	CHECK_STRING(all_labels(c), "[app=1][request=x][query=q]");
	CHECK_STRING(label_marks(b, 7, 8, 9), "7 8 0");
	groups__parse("none", &resolver.groups);
	/* How many levels there are is not known. */
	expired = label("n", "1", bar_id);
	CHECK_STRING(label_marks(expired, 7, 8, 9), "0 0 0");
	tear_down();
}

TEST(collect_gives_all_labels)
{
	uint32_t a, b, set = 0, ring;
	char key[16];

	set_up();
	a = label("request", "x", 0);
	b = label("tenant", "7", a);
	CHECK_STRING(all_labels(b), "");
	resolver.all_labels = true;
	CHECK_STRING(all_labels(0), "");
	CHECK_STRING(all_labels(b), "[request=x][tenant=7]");
	CHECK_STRING(all_labels(label("request", "y", b)), "[tenant=7][request=y]");
	CHECK_STRING(all_labels(label("request", NULL, b)), "[tenant=7]");
	CHECK_STRING(all_labels(label("n", "1", bar_id)), "[n=1][labels: not read]");
	/* Those of the groups once. */
	CHECK_INT(groups__parse("label:tenant,label:none", &resolver.groups), 0);
	CHECK_STRING(all_labels(b), "[request=x][tenant=7]");
	CHECK_STRING(all_labels(a), "[request=x]");
	groups__parse("none", &resolver.groups);
	/* Values of one key leave room for those of others. */
	resolver.keys[1].values = RESOLVE_KEY_VALUES_MAX;
	CHECK_STRING(resolver.keys[1].key, "request");
	CHECK_STRING(all_labels(label("request", "new", 0)), "[request: one of too many values]");
	CHECK_STRING(all_labels(a), "[request=x]");
	CHECK_STRING(all_labels(label("tenant", "new", 0)), "[tenant=new]");
	resolver.key_values = RESOLVE_KEYS_VALUES_MAX;
	CHECK_STRING(all_labels(label("tenant", "newer", 0)), "[tenant: one of too many values]");
	resolver.key_values = 0;
	/* Keys are bounded, and so is a chain that a target makes endless. */
	for (uint32_t i = resolver.key_count; i < RESOLVE_KEYS_MAX + 1; i++) {
		snprintf(key, sizeof(key), "key %u", i);
		set = label(key, "1", 0);
		all_labels(set);
	}
	CHECK_STRING(all_labels(label("tenant", "7", set)), "[tenant=7][labels: one of too many values]");
	ring = label("ring", "1", 0);
	fake__get(&ruby, ring)->ref1 = ring;
	CHECK_STRING(all_labels(ring), "[labels: not read]");
	resolver.key_count = 0;
	CHECK_STRING(all_labels(ring), "[ring=1][labels: not read]");
	tear_down();
}

TEST(collect_survives_random_events)
{
	uint64_t sent = 0, got = 0;

	set_up();
	for (int i = 0; i < 20000; i++) {
		uint8_t *raw = (uint8_t *)&sample;

		start();
		for (uint32_t f = test__random() % 12; f; f--)
			frame(test__random() % (ruby.next_id + 2), test__random() % 12);
		if (test__random() % 2)
			raw[test__random() % (sizeof(sample.event) + 64)] = (uint8_t)test__random();
		resolver.groups.count = test__random() % 2;
		resolver.groups.keys[0] = GROUP_THREAD;
		resolve__event(&resolver, &sample, sizeof(sample.event) + test__random() % 300);
		sent++;
	}
	for (int i = 0; i < SOURCE_MAX; i++)
		got += received__sum(&resolver.received[i]);
	CHECK_INT(got, sent);
	folded();
	tear_down();
}
