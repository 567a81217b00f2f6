/* SPDX-License-Identifier: BSD-2-Clause */
/* From events to stacks, reports and outputs. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/resolve.h"
#include "fake.h"
#include "memory_fake.h"
#include "no_memory.h"
#include "output/output.h"
#include "base/deadline.h"
#include "profile/report.h"

static struct rb_debug_ext_section section;
static struct fake ruby;
static struct memory_fake memory;
static struct tree tree;
static struct symbol_table table;
static struct frames frames;
static struct vm vm;
static struct processes processes;
static struct resolver resolver;
/* What the report shows; as in the profile unless a test says something else. */
static const struct groups *show;
static struct diag diag;
static uint32_t main_id, foo_id, bar_id, size_id, block_id;

static struct {
	struct sample_event event;
	struct sample_frame frames[SAMPLE_FRAMES_MAX];
} sample;

static struct vm *vm_of(void *context, uint32_t number)
{
	(void)context;
	return number == 1 ? &vm : NULL;
}

static void set_up(void)
{
	uint32_t foo, array;

	fake__init(&ruby, &section);
	memory_fake__init(&memory);
	vm.confirmed = false;
	main_id = fake__record(&ruby, RB_DEBUG_EXT_BODY, "<main>", 0, 0);
	foo = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Foo", 0, 0);
	array = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Array", 0, 0);
	foo_id = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "foo", foo, 0);
	bar_id = fake__record(&ruby, RB_DEBUG_EXT_METHOD, "bar", foo, 0);
	size_id = fake__record(&ruby, RB_DEBUG_EXT_CMETHOD, "size", array, 0);
	block_id = fake__record(&ruby, RB_DEBUG_EXT_BLOCK, NULL, foo_id, 0);
	for (uint32_t id = main_id; id <= block_id; id++) {
		if (id == foo || id == array || id == size_id)
			continue;
		fake__set_path(fake__get(&ruby, id), "app.rb");
		fake__set_code(fake__get(&ruby, id), 10, id * 100);
	}
	show = NULL;
	processes__free(&processes);
	frames__free(&frames);
	vm.process = 0;
	tree__init(&tree);
	memset(&resolver, 0, sizeof(resolver));
	resolver.tree = &tree;
	resolver.vm_of = vm_of;
	resolver.processes = &processes;
	processes__add(&processes);
	layout__read(&vm.layout, &memory.memory, (uintptr_t)&section, &diag);
	symbols__init(&vm.symbols, &table, &vm.layout, &memory.memory);
	threads__init(&vm.threads, &vm.layout, &memory.memory);
}

static void tear_down(void)
{
	symbols__free(&vm.symbols);
	threads__free(&vm.threads);
	symbol_table__free(&table);
	tree__free(&tree);
	frames__free(&frames);
	processes__free(&processes);
}

static void start(void)
{
	memset(&sample, 0, sizeof(sample));
	sample.event.kind = SAMPLE_RUBY;
	sample.event.vm = 1;
	sample.event.tid = 42;
	strcpy(sample.event.comm, "ruby");
}

/* Innermost first, as in the ring buffer; the pc runs at word `word`. */
static void frame(uint32_t id, uint32_t word)
{
	struct sample_frame *f = &sample.frames[sample.event.nr_frames++];

	f->id = id;
	f->pc = id >= RB_DEBUG_EXT_ID_FIRST && id < ruby.next_id ? fake__pc(fake__get(&ruby, id), word) : 0;
}

static void send(int times)
{
	for (int i = 0; i < times; i++)
		resolve__event(&resolver, &sample, sizeof(sample.event) +
			       sample.event.nr_frames * sizeof(struct sample_frame));
}

static int build_report(struct report *r, enum report_detail detail)
{
	int err = frames__take(&frames, &tree, &table);
	return err ? err : report__build(r, &tree, &frames, show ? show : &resolver.groups, detail);
}

/* The report in folded form. */
static char written[1 << 16];

static const char *render(const struct output_format *format, bool by_line, bool html)
{
	struct output_options o = { .html = html };
	struct report r;
	FILE *f = fmemopen(written, sizeof(written) - 1, "w");

	memset(written, 0, sizeof(written));
	build_report(&r, by_line ? REPORT_BY_LINE : format->detail);
	strcpy(r.meta.command, "ruby <app>.rb & \"co\"");
	strcpy(r.meta.ruby_version, "3.4.5");
	format->write(&r, &o, f);
	fclose(f);
	report__free(&r);
	return written;
}

static const char *folded(void)
{
	return render(&output_folded, false, false);
}

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
	CHECK_INT(resolver.received.whole, 3);
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
	CHECK_INT(resolver.received.whole, 1);
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
		CHECK_INT(resolver.received.whole, 1);
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
	CHECK_INT(resolver.received.truncated[TRUNC_DEPTH], 10002);
	CHECK_INT(resolver.received.whole, 0);
	tear_down();
}

/* So many samples of a thread; -t. */
static void send_in(uint64_t serial, uint32_t slot, uint32_t tid, int times)
{
	start();
	frame(foo_id, 0);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	sample.event.thread = serial;
	sample.event.thread_slot = slot;
	sample.event.tid = tid;
	send(times);
}

static void set_up_threads(void)
{
	set_up();
	groups__add(&resolver.groups, GROUP_THREAD);
	fake__thread(&ruby, 3, 30, "puma;1", NULL);
	fake__thread(&ruby, 4, 40, "", NULL)->flags = RB_DEBUG_EXT_THREAD_MAIN;
	fake__thread(&ruby, 5, 50, "", NULL);
	fake__thread(&ruby, 6, 60, "", NULL)->flags = RB_DEBUG_EXT_THREAD_MAIN;
	((struct rb_debug_ext_thread *)(uintptr_t)ruby.thread_dir[0])[6].ractor = 2;
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
	CHECK_INT(resolver.received.lost[LOSS_NO_MEMORY], 0);
	CHECK_INT(resolver.received.whole, THREADS_MAX + 10);
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
	symbols__set_exited(&vm.symbols);
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
	CHECK_INT(resolver.received.lost[LOSS_MALFORMED], 8);
	CHECK_INT(resolver.received.whole, 0);
	CHECK_STRING(folded(), "");
	loss_hit[LOSS_MALFORMED] += resolver.received.lost[LOSS_MALFORMED];
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
	CHECK_INT(resolver.received.lost[LOSS_NO_MEMORY], 2);
	CHECK_INT(resolver.received.whole, 1);
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
	CHECK_INT(resolver.received.lost[LOSS_NOT_READ], 1);
	CHECK_INT(resolver.received.whole, 1);
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
	CHECK_INT(resolver.received.whole, 2);
	CHECK_INT(received__sum(&resolver.received), 3);
	loss_hit[LOSS_NOT_READ] += resolver.received.lost[LOSS_NOT_READ];
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
	vm.process = 1;
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
	vm.process = 2;
	send(1);
	vm.process = 0;
	row = &processes.rows[0];
	CHECK_INT(row->received.whole, 3);
	CHECK_INT(received__sum(&row->received), 3);
	row = &processes.rows[1];
	CHECK_INT(row->received.whole, 2);
	CHECK_INT(row->received.truncated[TRUNC_DEPTH], 1);
	CHECK_INT(row->received.lost[LOSS_NOT_READ], 1);
	CHECK_INT(received__sum(&row->received), 4);
	CHECK_INT(resolver.received.whole, 5);
	CHECK_INT(resolver.received.truncated[TRUNC_DEPTH], 2);
	CHECK_INT(resolver.received.lost[LOSS_NOT_READ], 1);
	CHECK_INT(resolver.received.lost[LOSS_MALFORMED], 3);
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
	vm.process = 1;
	send_in(30, 3, 103, 2);
	vm.process = 2;
	send_in(30, 3, 103, 3);
	vm.process = 0;
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
	vm.process = 1;
	count = tree.text_count;
	tree.text_count = TREE_TEXTS_MAX;
	send_in(40, 4, 104, 2);
	send_in(0, 0, 100, 4);
	tree.text_count = count;
	vm.process = 0;
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_INT(resolve__name_processes(&resolver), 0);
	CHECK_STRING(folded(), "[one of too many processes];[one of too many threads];Foo#foo 6\n"
		     "[process];[thread puma:1 (103)];Foo#foo 1\n");
	CHECK_INT(resolver.received.whole, 7);
	tear_down();
}

TEST(collect_survives_random_events)
{
	uint64_t sent = 0;

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
	CHECK_INT(received__sum(&resolver.received), sent);
	folded();
	tear_down();
}

TEST(report_counts_recursion_once)
{
	struct report r;

	set_up();
	start();
	frame(foo_id, 0);
	frame(bar_id, 0);
	frame(foo_id, 2);
	frame(main_id, 0);
	send(5);
	start();
	frame(bar_id, 0);
	frame(main_id, 0);
	send(2);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.samples, 7);
	CHECK_INT(r.nodes[0].total, 7);
	for (uint32_t i = 0; i < r.label_count; i++) {
		if (!strcmp(r.labels[i].name, "Foo#foo")) {
			CHECK_INT(r.labels[i].self, 5);
			CHECK_INT(r.labels[i].total, 5);
		} else if (!strcmp(r.labels[i].name, "Foo#bar")) {
			CHECK_INT(r.labels[i].self, 2);
			CHECK_INT(r.labels[i].total, 7);
		} else {
			CHECK_STRING(r.labels[i].name, "<main>");
			CHECK_INT(r.labels[i].self, 0);
			CHECK_INT(r.labels[i].total, 7);
		}
	}
	CHECK_INT(r.label_count, 3);
	CHECK_INT(r.line_count, 2);
	CHECK_INT(r.lines[0].self, 5);
	report__free(&r);
	tear_down();
}

TEST(report_merges_what_has_one_name)
{
	set_up();
	start();
	frame(foo_id, 0);
	frame(main_id, 0);
	send(1);
	start();
	frame(foo_id, 4);	/* another line of the same */
	frame(main_id, 2);
	send(1);
	CHECK_STRING(folded(), "<main>;Foo#foo 2\n");
	CHECK_STRING(render(&output_folded, true, false),
		     "<main> app.rb:301;Foo#foo app.rb:601 1\n"
		     "<main> app.rb:302;Foo#foo app.rb:603 1\n");
	tear_down();
}

TEST(report_keeps_two_blocks_of_one_method_apart)
{
	uint32_t other;
	struct report r;

	set_up();
	other = fake__record(&ruby, RB_DEBUG_EXT_BLOCK, NULL, foo_id, 0);
	fake__set_path(fake__get(&ruby, other), "app.rb");
	fake__set_code(fake__get(&ruby, other), 10, 7777);
	start();
	frame(block_id, 0);
	send(2);
	start();
	frame(other, 0);
	send(3);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.label_count, 2);
	CHECK_STRING(r.labels[0].name, r.labels[1].name);
	CHECK_INT(r.labels[0].self, 2);
	CHECK_INT(r.labels[1].first_line, 7777);
	report__free(&r);
	CHECK_STRING(folded(), "block in Foo#foo 5\n");
	tear_down();
}

/* The row of the frame with that name; NULL: there is none. */
static const struct frame_row *row_of(const char *name)
{
	for (uint32_t i = 0; i < frames.count; i++)
		if (!strcmp(frames.rows[i].name, name))
			return &frames.rows[i];
	return NULL;
}

TEST(frames_are_copies)
{
	const struct frame_row *foo, *bar, *size;
	static char before[sizeof(written)];
	struct report r;

	set_up();
	start();
	frame(size_id, 0);
	frame(bar_id, 2);
	frame(foo_id, 4);
	frame(RB_DEBUG_EXT_ID_IFUNC, 0);
	frame(main_id, 0);
	send(3);
	CHECK_INT(report__build(&r, &tree, &frames, NULL, REPORT_BY_NAME), -EINVAL);
	strcpy(before, render(&output_folded, true, false));
	foo = row_of("Foo#foo");
	bar = row_of("Foo#bar");
	size = row_of("Array#size");
	CHECK(foo && bar && size && row_of("[block in C]"));
	CHECK(foo->path == bar->path && foo->path != size->path && row_of("[block in C]")->path == size->path);
	CHECK_STRING(foo->path, "app.rb");
	CHECK_STRING(size->path, "");
	CHECK_INT(foo->first_line, 600);
	CHECK_INT(foo->line, 603);
	CHECK_INT(size->line, 0);
	CHECK_INT(foo->kind, LABEL_RUBY);
	CHECK_INT(size->kind, LABEL_C);
	CHECK_INT(frames.string_count, 7);	/* five names, a path and "" */
	CHECK_INT(frames__take(&frames, &tree, &table), 0);
	CHECK_INT(frames.string_count, 7);

	/* The VM is closed and its memory is used for something else. */
	CHECK_INT(frames__keep(&frames, &tree, &table, &vm.symbols, 0), 0);
	symbols__free(&vm.symbols);
	for (uint32_t i = 0; i < table.count; i++)
		if (table.list[i]->path)
			memset(table.list[i]->path, 'x', table.list[i]->path_length);
	CHECK_STRING(render(&output_folded, true, false), before);
	CHECK_STRING(before, "<main> app.rb:301;[block in C];Foo#foo app.rb:603;Foo#bar app.rb:702;Array#size 3\n");
	tear_down();
}

TEST(frames_of_other_vms_are_not_kept)
{
	struct symbols other = { 0 };

	set_up();
	start();
	frame(foo_id, 0);
	vm.symbols.work = 0;
	send(1);
	CHECK_INT(frames__keep(&frames, &tree, &table, &other, 0), 0);
	CHECK_STRING(folded(), "[too much to read] 1\n");
	CHECK_INT(symbols__update(&vm.symbols, false), 0);
	CHECK_STRING(folded(), "Foo#foo 1\n");
	CHECK_INT(frames__keep(&frames, &tree, &table, &vm.symbols, 1), 0);	/* later ones */
	CHECK(!frames.rows[0].kept);
	CHECK_INT(frames__keep(&frames, &tree, &table, &vm.symbols, 0), 0);
	CHECK(frames.rows[0].kept);
	tear_down();
}

/* What is shown of samples of two processes in one cgroup, one of them with two threads. */
TEST(report_shows_the_groups_that_it_is_asked_for)
{
	static const struct {
		const char *keys, *text;
		uint32_t nodes;		/* without spare ones */
	} cases[] = {
		{ "none", "Foo#foo 7\n", 2 },
		{ "process", "[process 7 a.rb];Foo#foo 3\n[process 8 b.rb];Foo#foo 4\n", 5 },
		{ "thread", "[thread job-1 (1)];Foo#foo 5\n[thread job-2 (2)];Foo#foo 2\n", 5 },
		{ "thread-pattern", "[thread job-*];Foo#foo 7\n", 3 },
		{ "cgroup", "[cgroup /x];Foo#foo 7\n", 3 },
		{ "cgroup,thread-pattern,process",
		  "[cgroup /x];[thread job-*];[process 7 a.rb];Foo#foo 3\n"
		  "[cgroup /x];[thread job-*];[process 8 b.rb];Foo#foo 4\n", 7 },
		{ "thread,process", "[thread job-1 (1)];[process 7 a.rb];Foo#foo 1\n"
		  "[thread job-1 (1)];[process 8 b.rb];Foo#foo 4\n"
		  "[thread job-2 (2)];[process 7 a.rb];Foo#foo 2\n", 9 },
	};
	char cgroup[] = "/x";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct groups keys;
		struct report r;

		set_up();
		CHECK_INT(groups__parse("process,thread", &resolver.groups), 0);
		CHECK_INT(groups__parse(cases[i].keys, &keys), 0);
		fake__thread(&ruby, 3, 30, "job-1", NULL);
		fake__thread(&ruby, 4, 40, "job-2", NULL);
		processes__add(&processes);
		processes.rows[0] = (struct process_row){ .pid = 7, .command = "ruby a.rb" };
		processes.rows[1] = (struct process_row){ .pid = 8, .command = "ruby b.rb" };
		send_in(30, 3, 1, 1);
		send_in(40, 4, 2, 2);
		vm.process = 1;
		send_in(30, 3, 1, 4);
		processes.rows[0].cgroup = processes.rows[1].cgroup = cgroup;
		resolve__name_threads(&resolver, &vm);
		resolve__name_processes(&resolver);
		processes.rows[0].cgroup = processes.rows[1].cgroup = NULL;
		show = &keys;
		if (strcmp(folded(), cases[i].text))
			test__fail(__FILE__, __LINE__, "%s: %s", cases[i].keys, written);
		CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
		CHECK_INT(r.node_count, cases[i].nodes);
		CHECK_INT(r.group_count, keys.count);
		CHECK_INT(r.threads_by_pattern, 0);
		CHECK_INT(r.nodes[0].total, 7);
		for (uint32_t n = 1; n < r.node_count; n++) {
			uint8_t kind = r.labels[r.nodes[n].label].kind;
			bool group = kind == LABEL_PROCESS || kind == LABEL_THREAD || kind == LABEL_CGROUP;

			CHECK_INT(group, r.nodes[n].depth <= r.group_count);
			CHECK(r.nodes[n].total > 0);
		}
		report__free(&r);
		tear_down();
	}
}

/* Every stack has all the levels, also one of which the profile did not keep them. */
TEST(report_shows_groups_that_the_profile_does_not_know)
{
	struct groups keys;

	set_up();
	start();
	frame(foo_id, 0);
	send(2);
	CHECK_INT(groups__parse("thread,process,cgroup", &keys), 0);
	show = &keys;
	CHECK_STRING(folded(), "[unknown thread];[unknown process];[unknown cgroup];Foo#foo 2\n");
	CHECK_INT(groups__parse("thread-pattern", &keys), 0);
	CHECK_STRING(folded(), "[unknown thread];Foo#foo 2\n");
	tear_down();
}

/* The pid or tid is told apart from a name that looks as if it had one. */
TEST(report_has_the_numbers_of_groups)
{
	struct groups keys;
	struct report r;

	set_up();
	CHECK_INT(groups__parse("process,thread", &resolver.groups), 0);
	processes.rows[0] = (struct process_row){ .pid = 7, .command = "ruby a.rb" };
	fake__thread(&ruby, 3, 30, "odd (5)", NULL);
	send_in(30, 3, 101, 1);
	send_in(30, 3, 102, 1);			/* on several native threads */
	fake__thread(&ruby, 4, 40, "odd", NULL);
	send_in(40, 4, 5, 4);
	start();
	sample.event.kind = SAMPLE_NATIVE;
	send(1);
	resolve__name_threads(&resolver, &vm);
	resolve__name_processes(&resolver);
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.node_count, 1 + 1 + 3 * 2);
	for (uint32_t i = 1; i < r.node_count; i++) {
		const struct report_label *l = &r.labels[r.nodes[i].label];

		if (l->kind == LABEL_PROCESS)
			CHECK_INT(l->number, 7);
		else if (!strcmp(l->name, "[native thread ruby (42)]"))
			CHECK_INT(l->number, 42);
		else if (l->kind == LABEL_THREAD)
			CHECK_INT(l->number, l->total == 4 ? 5 : 0);
		else
			CHECK_INT(l->number, 0);
	}
	report__free(&r);
	/* Of several. */
	CHECK_INT(groups__parse("thread-pattern,cgroup", &keys), 0);
	show = &keys;
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	for (uint32_t i = 0; i < r.label_count; i++)
		CHECK_INT(r.labels[i].number, 0);
	report__free(&r);
	tear_down();
}

TEST(report_shows_patterns_of_many_threads)
{
	struct groups all;
	struct report r;

	set_up_threads();
	CHECK_INT(groups__parse("process,thread", &all), 0);
	for (uint32_t i = 0; i < 48; i++) {
		char name[16];

		snprintf(name, sizeof(name), "job-%u", i);
		fake__thread(&ruby, 10 + i, 100 + i, name, NULL);
		send_in(100 + i, 10 + i, 1000 + i, 1);
	}
	send_in(30, 3, 103, 5);
	resolver.groups.patterns_allowed = true;
	resolve__name_threads(&resolver, &vm);
	/* 48 of one pattern, and another thread: each is shown. */
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.threads_by_pattern, 0);
	CHECK_INT(r.node_count, 1 + 2 * 49);
	report__free(&r);
	fake__thread(&ruby, 60, 160, "job-48", NULL);
	send_in(160, 60, 1060, 1);
	resolve__name_threads(&resolver, &vm);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.threads_by_pattern, 49);
	CHECK_INT(r.group_count, 1);
	CHECK_INT(r.groups.keys[0], GROUP_THREAD_PATTERN);
	report__free(&r);
	CHECK_STRING(folded(), "[thread job-*];Foo#foo 49\n[thread puma:*];Foo#foo 5\n");
	/* Asked for by name: each of them. */
	resolver.groups.patterns_allowed = false;
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.threads_by_pattern, 0);
	CHECK_INT(r.node_count, 1 + 2 * 50);
	report__free(&r);
	tear_down();
}

/* A method of that name in a file; "" for one without a file. */
static uint32_t method_in(const char *name, const char *path, uint32_t line)
{
	uint32_t id = fake__record(&ruby, *path ? RB_DEBUG_EXT_BODY : RB_DEBUG_EXT_CMETHOD, name, 0, 0);

	if (*path) {
		fake__set_path(fake__get(&ruby, id), path);
		fake__set_code(fake__get(&ruby, id), 10, line);
	}
	return id;
}

/* One stack for the method of each path, once for the first, twice for the second ... */
static void send_methods(const char *name, const char *const *paths)
{
	for (int i = 0; paths[i]; i++) {
		start();
		frame(method_in(name, paths[i], 100), 0);
		send(i + 1);
	}
}

TEST(report_tells_files_of_one_name_apart)
{
	static const struct {
		const char *paths[6], *text;
	} cases[] = {
		{ { "/app/lib/a/init.rb" }, "x 1\n" },
		{ { "/app/lib/a/init.rb", "/app/lib/a/init.rb" }, "x 3\n" },
		{ { "/app/one.rb", "/app/two.rb" }, "x one.rb 1\nx two.rb 2\n" },
		/* Equal base names. */
		{ { "/app/lib/a/init.rb", "/app/lib/b/init.rb", "/app/lib/c.rb" },
		  "x a/init.rb 1\nx b/init.rb 2\nx c.rb 3\n" },
		{ { "/v1/lib/a/init.rb", "/v2/lib/a/init.rb", "/v2/lib/b/init.rb", "/v2/lib/b/init.rb" },
		  "x b/init.rb 7\nx v1/lib/a/init.rb 1\nx v2/lib/a/init.rb 2\n" },
		/* Equal to the root. */
		{ { "/lib/a.rb", "lib/a.rb", "/x/lib/a.rb", "a.rb" },
		  "x /lib/a.rb 1\nx a.rb 4\nx lib/a.rb 2\nx x/lib/a.rb 3\n" },
		/* Parts of a path are equal or not. */
		{ { "/init.rb", "/xinit.rb", "/a/xinit.rb" }, "x /xinit.rb 2\nx a/xinit.rb 3\nx init.rb 1\n" },
		{ { "/a//b.rb", "/b.rb", "a/b.rb/", "b.rb/" }, "x /b.rb 2\nx a//b.rb 1\nx a/b.rb/ 3\nx b.rb/ 4\n" },
		/* In C: no path, and one method whatever class it is in. */
		{ { "", "" }, "x 3\n" },
		{ { "", "/app/one.rb" }, "x 1\nx one.rb 2\n" },
		{ { "/app/one.rb", "", "/lib/one.rb", "" }, "x 6\nx app/one.rb 1\nx lib/one.rb 3\n" },
		/* Evaluated strings. */
		{ { "(eval at /app/a.rb:1)", "(eval at /app/a.rb:2)", "/app/a.rb" },
		  "x (eval at a.rb:1) 1\nx (eval at a.rb:2) 2\nx a.rb 3\n" },
		{ { "(eval at (eval at /app/a.rb:1):7)", "(eval at (eval at /lib/a.rb:1):7)", "(irb)" },
		  "x (eval at (eval at app/a.rb:1):7) 1\nx (eval at (eval at lib/a.rb:1):7) 2\nx (irb) 3\n" },
		/* Nothing in a path ends a frame or a count. */
		{ { "/a;b/my file 2", "/a/my file 2" }, "x a/my file_2 2\nx a:b/my file_2 1\n" },
		{ { "/a/1 2", "/a/3 4.5", "/a/6 7x" }, "x 1_2 1\nx 3_4.5 2\nx 6 7x 3\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up();
		send_methods("x", cases[i].paths);
		if (strcmp(folded(), cases[i].text))
			test__fail(__FILE__, __LINE__, "case %zu: %s", i, written);
		tear_down();
	}
}

TEST(report_tells_files_apart_in_all_outputs)
{
	static const char *const paths[] = { "/app/lib/a/init.rb", "/app/lib/b/init.rb", NULL };
	struct report r;
	const char *s;

	set_up();
	send_methods("<top (required)>", paths);
	send_methods("y", (const char *const[]){ "/app/lib/y.rb", NULL });
	CHECK_STRING(folded(), "<top (required)> a/init.rb 1\n<top (required)> b/init.rb 2\ny 1\n");
	/* The place is there anyway. */
	CHECK_STRING(render(&output_folded, true, false), "<top (required)> /app/lib/a/init.rb:101 1\n"
		     "<top (required)> /app/lib/b/init.rb:101 2\ny /app/lib/y.rb:101 1\n");
	s = render(&output_summary, false, false);
	CHECK(strstr(s, "  <top (required)> b/init.rb  /app/lib/b/init.rb:100\n"));
	CHECK(strstr(s, "  y                           /app/lib/y.rb:100\n"));
	s = render(&output_flamegraph, false, false);
	CHECK(strstr(s, "[\"\\u003ctop (required)\\u003e a/init.rb\",\"/app/lib/a/init.rb:100\",0]"));
	CHECK(strstr(s, ">&lt;top (required)&gt; b/init.rb</text>"));
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.label_count, 3);
	CHECK_INT(r.labels[0].bare, strlen("<top (required)>"));
	CHECK_STRING(r.labels[0].name + r.labels[0].bare, " a/init.rb");
	CHECK_INT(r.labels[2].bare, 1);
	report__free(&r);
	tear_down();
}

/* Each of its allocations fails once: that is said, and nothing leaks. */
TEST(report_says_when_memory_is_short)
{
	static const char *const paths[] = { "/app/lib/a/init.rb", "/app/lib/b/init.rb", "", NULL };
	struct groups all;
	struct report r;
	unsigned int at, err = 1;

	set_up_threads();
	CHECK_INT(groups__parse("cgroup,process,thread-pattern,thread", &all), 0);
	resolver.groups = all;
	send_methods("x", paths);
	send_in(30, 3, 103, 1);
	for (at = 1; err && at < 1000; at++) {
		no_memory_at = at;
		err = (unsigned int)-build_report(&r, REPORT_BY_CODE);
		CHECK(!err || err == ENOMEM);
		frames__free(&frames);
	}
	no_memory_at = 0;
	CHECK(at > 30 && at < 1000);
	CHECK_INT(r.samples, 7);
	report__free(&r);
	tear_down();
}

TEST(report_leaves_out_what_was_merged_away)
{
	static const char *const paths[] = { "/app/lib/a/init.rb", "/app/lib/b/init.rb", NULL };
	struct report r;

	set_up();
	send_methods("x", paths);
	CHECK_STRING(folded(), "x a/init.rb 1\nx b/init.rb 2\n");
	/* As if [merged] had taken the first one. */
	tree.nodes[1].frame = tree.nodes[2].frame;
	CHECK_STRING(folded(), "x 3\n");
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.label_count, 1);
	report__free(&r);
	tear_down();
}

TEST(report_of_nothing)
{
	set_up();
	CHECK_STRING(folded(), "");
	CHECK(strstr(render(&output_summary, false, false), "samples taken 0 ") != NULL);
	CHECK(strstr(render(&output_flamegraph, false, false), "</svg>") != NULL);
	tear_down();
}

TEST(output_escapes_names_everywhere)
{
	const char *evil = "</script>]]><img src=x onerror=alert(1)>;\"'&\\\033[2J";
	const char *s;

	set_up();
	fake__set_name(fake__get(&ruby, bar_id), evil, strlen(evil));
	fake__set_path(fake__get(&ruby, bar_id), "<p>;\"\n");
	start();
	frame(bar_id, 0);
	frame(main_id, 0);
	send(1);
	s = folded();
	CHECK(!strchr(s, '\033') && strstr(s, "<main>;Foo#</script>]]><img src=x onerror=alert(1)>:\"'&\\\\x1B[2J 1\n"));
	for (int html = 0; html < 2; html++) {
		const char *first, *last;

		s = render(&output_flamegraph, false, html);
		CHECK(!strchr(s, '\033'));
		CHECK(!strstr(s, "<img") && !strstr(s, "<p>") && !strstr(s, "<app>"));
		/* One script, which ends where we end it. */
		first = strstr(s, "</script>");
		CHECK(first != NULL);
		last = strstr(first + 1, "</script>");
		CHECK(last == NULL);
		if (!html) {
			first = strstr(s, "<script><![CDATA[");
			CHECK(first != NULL);
			CHECK(strstr(first, "]]>") == strstr(first, "]]></script>"));
		}
		CHECK(strstr(s, "\\u003c/script\\u003e]]\\u003e") != NULL);
	}
	s = render(&output_summary, false, false);
	CHECK(!strchr(s, '\033'));
	tear_down();
}

TEST(output_file_appears_whole_or_not_at_all)
{
	char directory[] = "/tmp/extprof-test-XXXXXX", path[64], link[64], content[64] = "";
	struct output_file file;
	struct stat st;
	FILE *f;

	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/out", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	f = fopen(path, "w");
	fputs("before", f);
	fclose(f);
	chmod(path, 0640);
	CHECK_INT(symlink("out", link), 0);

	/* Discarded: as it was. */
	CHECK_INT(output__open(&file, link, &diag), 0);
	fputs("after", file.stream);
	output__discard(&file);
	f = fopen(path, "r");
	CHECK(fgets(content, sizeof(content), f) != NULL);
	fclose(f);
	CHECK_STRING(content, "before");

	/* Committed, through the link, which stays one. */
	CHECK_INT(output__open(&file, link, &diag), 0);
	fputs("after", file.stream);
	CHECK_INT(output__commit(&file, &diag), 0);
	f = fopen(path, "r");
	CHECK(fgets(content, sizeof(content), f) != NULL);
	fclose(f);
	CHECK_STRING(content, "after");
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0640);
	CHECK_INT(lstat(link, &st), 0);
	CHECK(S_ISLNK(st.st_mode));

	/* No trace of temporary files. */
	unlink(link);
	unlink(path);
	CHECK_INT(rmdir(directory), 0);

	/* Refused before anything is recorded. */
	CHECK(output__open(&file, "/dev/null/x", &diag) < 0);
	CHECK_INT(output__check("/dev/null/x", &diag), -ENOTDIR);
	/* It would be written to a hidden file, and could not be renamed. */
	CHECK_INT(output__check("", &diag), -ENOENT);
	CHECK_INT(diag.code, DIAG_OUTPUT);
	CHECK_INT(output__open(&file, "", &diag), -ENOENT);
	CHECK_STRING(diag.text, "cannot write a file without a name: No such file or directory");
	CHECK_INT(diag.code, DIAG_OUTPUT);
	CHECK(output__open(&file, "/tmp", &diag) < 0);
	CHECK_INT(diag.code, DIAG_OUTPUT);

	/* A device is written to, and a full one is an error. */
	CHECK_INT(output__open(&file, "/dev/full", &diag), 0);
	fputs("x", file.stream);
	CHECK(output__commit(&file, &diag) < 0);
	CHECK_INT(diag.code, DIAG_OUTPUT);
	CHECK_STRING(diag.text, "cannot write /dev/full: No space left on device");
	CHECK_INT(stat("/dev/full", &st), 0);
	CHECK(S_ISCHR(st.st_mode));
}

TEST(output_is_chosen_by_name_and_suffix)
{
	CHECK(output__by_name("folded") == &output_folded);
	CHECK(output__by_name("nonsense") == NULL);
	CHECK(output__by_path("a.b.SVG") == &output_flamegraph);
	CHECK(output__by_path("x.html") == &output_flamegraph);
	CHECK(output__by_path("x.txt") == &output_folded);
	CHECK(output__by_path("-") == &output_folded);
}
