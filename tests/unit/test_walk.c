/* SPDX-License-Identifier: BSD-2-Clause */
/* The walker on the host, with a fault in each of its reads. */
#include "test.h"

#include <stdlib.h>

#include "fake.h"
#include "ruby/layout.h"

static int reads, fail_at;	/* count from 1; 0: none fails */
static void (*before)(int read);

static long read_target(void *to, uint32_t size, uint64_t address)
{
	if (++reads == fail_at)
		return -14;
	if (before)
		before(reads);
	if (address < 4096 || address >> 47)
		return -14;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return 0;
}

#include "wire/walk.h"

static struct rb_debug_ext_section section;
static struct fake vm;
static struct fake_ec *ec;
static struct target_config config;
static struct walk_scratch scratch;
static uint64_t thread_area[40];	/* the thread pointer is at 32 */
static struct rb_debug_ext_thread *thread;
static struct rb_debug_ext_ec *ec_slot;

#define TID 4711
#define SERIAL 70000000000ull

/* The number of reads before the thread is looked for, and of reads to find it. */
#define READS_EC 4
#define READS_THREAD 2

static void set_up(uint32_t frames)
{
	struct layout l = { .address = (uintptr_t)&section };

	fake__init(&vm, &section);
	ec = fake__ec(frames + 1);
	thread = fake__thread(&vm, 5, SERIAL, "worker", ec);
	thread->tid = TID;
	ec_slot = fake__ec_slot(&vm, ec, 9, 5);
	fake__push(ec, RB_DEBUG_EXT_ID_NONE, 0);
	for (uint32_t i = 1; i < frames; i++)
		fake__push(ec, 100 + i, 0x1000 + 8 * i);
	thread_area[32 + FAKE_TLS / 8] = (uintptr_t)ec;
	l.section = section;
	layout__config(&l, &config);
	config.vm = 1;
	reads = fail_at = 0;
	before = NULL;
}

static int walk(void)
{
	int reason;

	memset(&scratch, 0x5a, sizeof(scratch));
	memset(&scratch.event, 0, sizeof(scratch.event));
	scratch.event.tid = TID;
	reads = 0;
	reason = walk__thread(&scratch, &config, (uintptr_t)(thread_area + 32));
	if (reason)
		loss_hit[reason]++;
	else if (scratch.event.truncated)
		trunc_hit[scratch.event.truncated]++;
	return reason;
}

TEST(walk_gives_all_frames_innermost_first)
{
	set_up(5);
	((struct fake_frame *)ec->cfp)->jit_return = 1;
	ec->label = 4242;
	CHECK_INT(walk(), 0);
	CHECK_INT((int)scratch.event.label, 4242);
	CHECK_INT(scratch.event.kind, SAMPLE_RUBY);
	CHECK_INT(scratch.event.nr_frames, 5);
	CHECK_INT(scratch.event.truncated, 0);
	CHECK_INT(scratch.event.left_out, 0);
	CHECK_INT(scratch.event.ec_slot, 9);
	CHECK_INT(scratch.event.thread, SERIAL);
	CHECK_INT(scratch.event.thread_slot, 5);
	CHECK_INT(scratch.event.flags, 0);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(scratch.frames[i].id, 104 - i);
		CHECK_INT(scratch.frames[i].pc, 0x1000 + 8 * (4 - i));
		CHECK_INT(scratch.frames[i].flags, i == 0 ? FRAME_JIT_RETURN : 0);
	}
	CHECK_INT(scratch.frames[4].id, 0);
}

static struct fake_frame *frame_at(uint32_t i)
{
	return (struct fake_frame *)ec->cfp + i;
}

TEST(walk_takes_the_pc_below_a_clause_from_the_clause)
{
	set_up(200);
	frame_at(3)->ext_debug |= (uint64_t)(uint32_t)-7 << 32;
	/* The first frame of the next chunk, and a clause below a clause. */
	frame_at(WALK_CHUNK_BYTES / sizeof(struct fake_frame) - 1)->ext_debug |= 5ull << 32;
	frame_at(WALK_CHUNK_BYTES / sizeof(struct fake_frame))->ext_debug |= 6ull << 32;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.nr_frames, 200);
	for (uint32_t i = 0; i < 199; i++) {
		uint32_t first = WALK_CHUNK_BYTES / sizeof(struct fake_frame);
		int moved = i == 4 ? -7 : i == first ? 5 : i == first + 1 ? 6 : 0;

		CHECK_INT(scratch.frames[i].id, 100 + 199 - i);
		CHECK_INT(scratch.frames[i].pc, 0x1000 + 8 * (199 - (int)i + moved));
	}
}

TEST(walk_is_right_at_every_depth_around_the_chunks)
{
	static const uint32_t depths[] = {
		1, 2, 63, 64, 65, 127, 128, 129, 1000, 2047, 2048, 2049, 2112, 5000, 10000,
		12000, 16383, 16384, 16385, 20000
	};

	for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
		uint32_t depth = depths[d], shown = depth > SAMPLE_FRAMES_MAX ? SAMPLE_FRAMES_MAX : depth;

		set_up(depth);
		CHECK_INT(walk(), 0);
		CHECK_INT(scratch.event.nr_frames, shown);
		CHECK_INT(scratch.event.left_out, depth - shown);
		CHECK_INT(scratch.event.truncated, depth > SAMPLE_FRAMES_MAX ? TRUNC_DEPTH : 0);
		for (uint32_t i = 0; i < shown; i++)
			CHECK_INT(scratch.frames[i].id, i == depth - 1 ? 0 : 100 + depth - 1 - i);
	}
}

TEST(walk_takes_any_frame_size)
{
	/* Frames of another size: the same bytes read with another stride. */
	for (uint32_t size = WALK_FRAME_SIZE_MIN; size <= WALK_FRAME_SIZE_MAX; size += 8) {
		uint32_t frames = 300;
		uint64_t words = size / 8 * frames;
		uint64_t *stack = calloc(words, 8);
		struct layout l = { .address = (uintptr_t)&section };

		set_up(1);
		l.section = section;
		l.section.frame_size = (uint16_t)size;
		l.section.frame_pc = 8;
		l.section.frame_ext_debug = (uint16_t)(size - 8);
		l.section.frame_jit_return = 16;
		layout__config(&l, &config);
		for (uint32_t i = 0; i < frames; i++) {
			stack[i * size / 8 + 1] = 7000 + i;
			stack[i * size / 8 + size / 8 - 1] = i + 3;
		}
		ec->vm_stack = ec->cfp = (uintptr_t)stack;
		ec->vm_stack_size = words;
		CHECK_INT(walk(), 0);
		CHECK_INT(scratch.event.nr_frames, frames);
		for (uint32_t i = 0; i < frames; i++) {
			CHECK_INT(scratch.frames[i].id, i + 3);
			CHECK_INT(scratch.frames[i].pc, 7000 + i);
		}
		free(stack);
	}
}

/* The innermost frame's pc is the one at which the frame goes on. */
TEST(walk_marks_the_pc_that_says_nothing)
{
	struct {
		uint32_t frames;
		uint64_t resume_pc;
		bool marked;
	} cases[] = {
		{ 5, 0x1000 + 8 * 4, true }, { 5, 0x1000 + 8 * 3, false }, { 5, 1, false }, { 5, 0, false },
		{ 1, 0, false },	/* its pc is 0, too */
		{ 200, 0x1000 + 8 * 199, true }, { 200, 0x1000 + 8 * (199 - 64), false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int without = 0; without < 2; without++) {
			struct layout l = { .address = (uintptr_t)&section };

			set_up(cases[i].frames);
			ec->resume_pc = cases[i].resume_pc;
			if (without) {		/* an older interpreter */
				l.section = section;
				l.section.ec_resume_pc = 0;
				layout__config(&l, &config);
			}
			CHECK_INT(walk(), 0);
			CHECK_INT(scratch.event.nr_frames, cases[i].frames);
			CHECK_INT(scratch.event.ec_slot, 9);
			CHECK_INT(scratch.frames[0].flags, cases[i].marked && !without ? FRAME_RESUMES : 0);
			for (uint32_t j = 1; j < cases[i].frames; j++)
				CHECK_INT(scratch.frames[j].flags, 0);
		}
	}
	set_up(3);
	ec->resume_pc = 0x1000 + 8 * 2;
	((struct fake_frame *)ec->cfp)->jit_return = 1;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.frames[0].flags, FRAME_RESUMES | FRAME_JIT_RETURN);
}

TEST(walk_names_each_failed_read)
{
	static const int expected[] = {
		LOSS_SECTION_READ, LOSS_TLS_READ, LOSS_EC_READ, LOSS_EC_READ,
	};
	const int first = READS_EC + READS_THREAD + 1;	/* of the frames */
	int all;

	set_up(200);
	CHECK_INT(walk(), 0);
	all = reads;
	CHECK_INT(all, first + 3);	/* 200 frames are four chunks */
	for (int i = 1; i <= all; i++) {
		fail_at = i;
		if (i <= READS_EC) {
			CHECK_INT(walk(), expected[i - 1]);
			CHECK_INT(reads, i);	/* nothing is read after a failure */
		} else if (i < first) {
			/* The thread is unknown; the stack is whole. */
			CHECK_INT(walk(), 0);
			CHECK_INT(scratch.event.thread, 0);
			CHECK_INT(scratch.event.flags, SAMPLE_THREAD_UNREAD);
			CHECK_INT(scratch.event.truncated, 0);
			CHECK_INT(scratch.event.nr_frames, 200);
		} else if (i == first) {
			CHECK_INT(walk(), LOSS_FRAMES_READ);
			CHECK_INT(reads, i);
		} else {
			CHECK_INT(walk(), 0);
			CHECK_INT(scratch.event.truncated, TRUNC_FRAMES_READ);
			CHECK_INT(scratch.event.nr_frames, 64 * (i - first));
			CHECK_INT(scratch.event.left_out, 200 - 64 * (i - first));
			CHECK_INT(scratch.frames[0].id, 299);
		}
	}
}

TEST(walk_refuses_impossible_geometry)
{
	struct {
		const char *what;
		uint64_t stack, words, cfp;
	} cases[] = {
		{ "cfp below the stack", 0x10000, 64, 0x10000 - 64 },
		{ "cfp above the stack", 0x10000, 64, 0x10000 + 64 * 8 + 64 },
		{ "cfp far away", 0x10000, 64, 0x7f0000000000 },
		{ "not a whole number of frames", 0x10000, 64, 0x10000 + 8 },
		{ "misaligned stack", 0x10001, 64, 0x10001 },
		{ "empty stack", 0x10000, 0, 0x10000 },
		{ "huge stack", 0x10000, 1ull << 60, 0x10000 },
		{ "stack larger than the bound", 0x10000, WALK_STACK_WORDS_MAX + 1, 0x10000 },
		{ "end wraps", ~0ull - 4095 - 7, 1 << 20, ~0ull - 4095 },
		{ "all bits", ~0ull, ~0ull, ~0ull },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int before;

		set_up(1);
		ec->vm_stack = cases[i].stack;
		ec->vm_stack_size = cases[i].words;
		ec->cfp = cases[i].cfp;
		before = walk();
		if (before != LOSS_GEOMETRY)
			test__fail(__FILE__, __LINE__, "%s: reason %d", cases[i].what, before);
		CHECK_INT(reads, READS_EC + READS_THREAD);	/* no frame was touched */
	}
}

TEST(walk_knows_when_nothing_runs)
{
	set_up(3);
	thread_area[32 + FAKE_TLS / 8] = 0;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.kind, SAMPLE_NATIVE);

	set_up(3);
	ec->cfp = 0;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.kind, SAMPLE_RUBY);
	CHECK_INT(scratch.event.nr_frames, 0);

	set_up(3);
	ec->vm_stack = 0;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.nr_frames, 0);

	set_up(3);
	ec->cfp = ec->vm_stack + 8 * ec->vm_stack_size;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.nr_frames, 0);
}

TEST(walk_checks_the_section_each_time)
{
	set_up(3);
	section.magic[7] ^= 1;
	CHECK_INT(walk(), LOSS_SECTION_CHANGED);
	set_up(3);
	section.pid++;
	CHECK_INT(walk(), LOSS_FORKED);
	set_up(3);
	section.state = RB_DEBUG_EXT_STARTING;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.kind, SAMPLE_STARTING);
	section.state = RB_DEBUG_EXT_ENDED;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.kind, SAMPLE_ENDED);
	section.state = 77;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.kind, SAMPLE_ENDED);
	CHECK_INT(reads, 1);
}

TEST(walk_marks_gc_in_its_own_thread_only)
{
	set_up(3);
	section.gc_phase = RB_DEBUG_EXT_GC_MARK;
	section.gc_tid = TID;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.gc_phase, RB_DEBUG_EXT_GC_MARK);
	CHECK_INT(scratch.event.nr_frames, 3);
	section.gc_tid = TID + 1;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.gc_phase, 0);
}

TEST(walk_marks_compiling_in_its_own_thread_only)
{
	set_up(3);
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.flags & SAMPLE_COMPILES, 0);
	section.jit_compile_tid = TID;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.flags & SAMPLE_COMPILES, SAMPLE_COMPILES);
	CHECK_INT(scratch.event.nr_frames, 3);
	section.jit_compile_tid = TID + 1;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.flags & SAMPLE_COMPILES, 0);
}

TEST(walk_knows_an_ec_without_a_slot)
{
	/* A thread that starts or ends: nothing went wrong. */
	set_up(3);
	ec->slot = 0;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.thread, 0);
	CHECK_INT(scratch.event.flags, 0);
	CHECK_INT(scratch.event.nr_frames, 3);
}

/* The tables do not say which thread it is. */
static void slot_of_another_ec(void) { ec_slot->ec += 64; }
static void slot_free(void) { memset(ec_slot, 0, sizeof(*ec_slot)); }
static void slot_written(void) { ec_slot->generation++; }
static void slot_beyond(void) { section.ec_slots_end = 9; }
static void slot_of_no_chunk(void) { vm.ec_dir[0] = 0; }
static void slot_unmapped(void) { vm.ec_dir[0] = 64; }
static void no_ec_table(void) { section.ec_dir = 0; }
static void no_thread(void) { ec_slot->thread_slot = 0; }
static void no_serial(void) { ec_slot->thread_serial = 0; }

TEST(walk_names_no_thread_when_it_is_not_sure)
{
	static void (*const cases[])(void) = {
		slot_of_another_ec, slot_free, slot_written, slot_beyond, slot_of_no_chunk,
		slot_unmapped, no_ec_table, no_thread, no_serial,
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int reason;

		set_up(3);
		cases[i]();
		reason = walk();
		if (reason || scratch.event.thread || scratch.event.thread_slot ||
		    scratch.event.flags != SAMPLE_THREAD_UNREAD || scratch.event.nr_frames != 3)
			test__fail(__FILE__, __LINE__, "case %zu: reason %d, thread %llu, flags %d", i,
				   reason, (unsigned long long)scratch.event.thread,
				   scratch.event.flags);
	}
}

/* The description of the thread changes meanwhile; its identity does not. */
TEST(walk_names_the_thread_whatever_its_own_slot_says)
{
	set_up(3);
	thread->generation++;	/* its name, or its native thread, is being written */
	thread->tid = 0;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.thread, SERIAL);
	CHECK_INT(scratch.event.flags, 0);
	set_up(3);
	section.thread_dir = 0;
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.thread, SERIAL);
}

/* A TLS pointer that lies: another EC gets the slot while it is looked at. */
static int reuse_at;

static void reuse(int read)
{
	static struct fake_ec other;

	if (read == reuse_at)
		ec_slot = fake__ec_slot(&vm, &other, 9, 6);
}

TEST(walk_never_names_another_thread_when_the_slot_is_reused)
{
	for (reuse_at = 1; reuse_at <= READS_EC + READS_THREAD + 2; reuse_at++) {
		set_up(3);
		fake__thread(&vm, 6, SERIAL + 2, "third", NULL);
		before = reuse;
		CHECK_INT(walk(), 0);
		CHECK_INT(scratch.event.nr_frames, 3);
		if (scratch.event.thread && scratch.event.thread != SERIAL)
			test__fail(__FILE__, __LINE__, "read %d: thread %llu", reuse_at,
				   (unsigned long long)scratch.event.thread);
	}
}

/* Fields of the EC that fit in one read, and fields that are too far apart for it. */
TEST(walk_reads_an_ec_of_any_layout)
{
	static const uint16_t offsets[][3] = {	/* vm_stack, vm_stack_size, cfp */
		{ 0, 8, 16 }, { 16, 8, 0 }, { 56, 0, 24 }, { 64, 0, 24 }, { 8, 1000, 500 },
		{ 4000, 8, 4040 }, { 4000, 4056, 4008 }, { 65528, 65520, 65472 },
	};
	static const uint16_t resume_pc[] = { 65008, 65008, 64992, 65016, 65008, 64, 8, 65528 - 16 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct layout l = { .address = (uintptr_t)&section };
		uint8_t *moved;
		const struct fake_ec *from;

		set_up(200);
		from = ec;
		moved = calloc(1, 1 << 17);
		l.section = section;
		l.section.ec_vm_stack = offsets[i][0];
		l.section.ec_vm_stack_size = offsets[i][1];
		l.section.ec_cfp = offsets[i][2];
		l.section.ec_slot = 65000;
		l.section.ec_resume_pc = resume_pc[i];
		memcpy(moved + offsets[i][0], &from->vm_stack, 8);
		memcpy(moved + offsets[i][1], &from->vm_stack_size, 8);
		memcpy(moved + offsets[i][2], &from->cfp, 8);
		memcpy(moved + 65000, &from->slot, 4);
		memcpy(moved + resume_pc[i], &(uint64_t){ 0x1000 + 8 * 199 }, 8);
		layout__config(&l, &config);
		thread_area[32 + FAKE_TLS / 8] = (uintptr_t)moved;
		ec_slot->ec = (uintptr_t)moved;
		CHECK_INT(walk(), 0);
		CHECK_INT(scratch.event.nr_frames, 200);
		CHECK_INT(scratch.frames[0].id, 299);
		CHECK_INT(scratch.frames[0].flags, FRAME_RESUMES);
		CHECK_INT(scratch.event.thread, SERIAL);
		/* Each read of its fields can fail. */
		for (fail_at = 3; fail_at <= (resume_pc[i] == 65008 ? 4 : 5); fail_at++)
			CHECK_INT(walk(), LOSS_EC_READ);
		free(moved);
	}
}

TEST(walk_survives_a_corrupt_configuration)
{
	/* layout.c would refuse it; the walker must not rely on that. */
	set_up(100);
	config.frame_size = 0;
	CHECK_INT(walk(), LOSS_GEOMETRY);
	set_up(100);
	config.frames_per_chunk = 0;
	CHECK_INT(walk(), LOSS_GEOMETRY);
	set_up(100);
	config.frames_per_chunk = 1000;
	CHECK_INT(walk(), LOSS_GEOMETRY);
	set_up(100);
	config.ec_span = 0xffff;
	CHECK_INT(walk(), LOSS_EC_READ);
	set_up(100);
	config.frame_pc = 0xfff8;
	config.frame_ext_debug = 0xfff8;
	CHECK_INT(walk(), 0);
}

/* Other layouts have other neighbours, and an interface may have no labels. */
TEST(walk_reads_labels_wherever_they_are)
{
	set_up(3);
	ec->label = 4242;
	config.ec_resume_pc = 0;
	CHECK_INT(walk(), 0);
	CHECK_INT((int)scratch.event.label, 4242);
	CHECK_INT(scratch.event.ec_slot, 9);
	config.ec_label = 0;
	CHECK_INT(walk(), 0);
	CHECK_INT((int)scratch.event.label, 0);
	CHECK_INT(scratch.event.ec_slot, 9);
}

/* -- the trace --------------------------------------------------------------------------------- */

static struct trace_record record;

/* The last read of what belongs to the EC: that of its tail.  Two reads of the record follow. */
#define READ_TAIL READS_EC

static void set_up_trace(void)
{
	set_up(3);
	for (int i = 0; i < 16; i++)
		record.context.trace[i] = (uint8_t)(0xa0 + i);
	for (int i = 0; i < 8; i++)
		record.context.span[i] = (uint8_t)(0x10 + i);
	record.valid = TRACE_VALID;
	record.attributes = 0xffff;
	ec->context = (uintptr_t)&record;
}

/* What a sample says of its trace never changes the rest of it. */
static void check_trace(enum trace_state state)
{
	const struct trace_context none = { 0 };

	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.nr_frames, 3);
	CHECK_INT(scratch.event.truncated, 0);
	CHECK_INT(scratch.event.thread, SERIAL);
	CHECK_INT(scratch.event.trace_state, state);
	CHECK(!memcmp(&scratch.event.context, state == TRACE_SET ? &record.context : &none, sizeof(none)));
}

TEST(walk_reads_the_trace)
{
	set_up(3);
	check_trace(TRACE_NONE);
	CHECK_INT(reads, READS_EC + READS_THREAD + 1);
	set_up_trace();
	check_trace(TRACE_SET);
	CHECK_INT(reads, READS_EC + READS_THREAD + 3);
	/* Other layouts have other neighbours, and other interfaces have no traces. */
	config.ec_resume_pc = 0;
	check_trace(TRACE_SET);
	set_up_trace();
	ec->jit_sp[1] = ec->context;
	ec->context = 0;
	config.ec_context = offsetof(struct fake_ec, jit_sp[1]);
	check_trace(TRACE_SET);
	config.ec_context = 0;
	ec->context = (uintptr_t)&record;
	check_trace(TRACE_NONE);
	/* A trace without a span, and the other way round. */
	set_up_trace();
	memset(record.context.span, 0, sizeof(record.context.span));
	check_trace(TRACE_SET);
	set_up_trace();
	memset(record.context.trace, 0, sizeof(record.context.trace));
	check_trace(TRACE_NONE);
}

static void check_marks(uint16_t first, uint16_t second, uint16_t third)
{
	CHECK_INT(walk(), 0);
	CHECK_INT(scratch.event.label, 7);
	CHECK_INT(scratch.event.label_marks[0], first);
	CHECK_INT(scratch.event.label_marks[1], second);
	CHECK_INT(scratch.event.label_marks[2], third);
}

/* The thread's table of modules, as glibc has it: its length is two words before it. */
static struct {
	uint64_t count, unused;
	struct {
		uint64_t memory, to_free;
	} module[4];
} modules;

TEST(walk_reads_the_trace_of_a_thread)
{
	uint64_t memory[4] = { 0, 0, (uintptr_t)&record, 0 };
	struct trace_record of_fiber;

	/* At a distance from the thread pointer. */
	set_up_trace();
	ec->context = 0;
	thread_area[30] = (uintptr_t)&record;
	check_trace(TRACE_NONE);
	config.context_module = TRACE_IN_THREAD;
	config.context_offset = -16;
	check_trace(TRACE_SET);
	CHECK_INT(reads, READS_EC + READS_THREAD + 4);
	/* What the fiber has comes first, also if it is not valid. */
	of_fiber = record;
	of_fiber.valid = 0;
	ec->context = (uintptr_t)&of_fiber;
	check_trace(TRACE_NOT_VALID);
	ec->context = 0;
	thread_area[30] = 0;
	check_trace(TRACE_NONE);
	thread_area[30] = 8;
	check_trace(TRACE_UNREAD);
	thread_area[30] = 0;
	/* In the memory of a module. */
	thread_area[32 + WALK_MODULES / 8] = (uintptr_t)&modules.module;
	modules.count = 3;
	modules.module[3].memory = (uintptr_t)memory;
	config.context_module = 3;
	config.context_offset = 16;
	check_trace(TRACE_SET);
	for (int i = 1; i <= 4; i++) {
		fail_at = READ_TAIL + i;
		check_trace(TRACE_UNREAD);
	}
	fail_at = 0;
	/* The thread has not used it: an older table is shorter, or its memory is not allocated. */
	modules.count = 2;
	check_trace(TRACE_NONE);
	modules.count = 3;
	modules.module[3].memory = UINT64_MAX;
	check_trace(TRACE_NONE);
	modules.module[3].memory = 0;
	check_trace(TRACE_NONE);
	thread_area[32 + WALK_MODULES / 8] = 0;
	check_trace(TRACE_UNREAD);
	config.context_module = 0;
	check_trace(TRACE_NONE);
}

TEST(walk_reads_the_marks_of_labels)
{
	set_up(3);
	ec->label = 7;
	memcpy(ec->marks, (uint16_t[]){ 1, 65535, 3, 4 }, sizeof(ec->marks));
	check_marks(1, 65535, 3);
	CHECK_INT(reads, READS_EC + READS_THREAD + 1);
	/* Somewhere else. */
	memcpy(ec->jit_sp, ec->marks, sizeof(ec->marks));
	memset(ec->marks, 0xff, sizeof(ec->marks));
	config.ec_label_marks = offsetof(struct fake_ec, jit_sp);
	check_marks(1, 65535, 3);
	config.ec_resume_pc = 0;
	check_marks(1, 65535, 3);
	/* An interface of before has none. */
	config.ec_label_marks = 0;
	check_marks(0, 0, 0);
}

static void change_span(int read)
{
	record.context.span[7] ^= read == READ_TAIL + 2;
}

static void take_back(int read)
{
	if (read == READ_TAIL + 2)
		record.valid = 0;
}

TEST(walk_takes_no_trace_that_is_not_certain)
{
	static const uint64_t wrong[] = { 1, 8, 4095 };

	for (int valid = 0; valid < 256; valid++) {
		set_up_trace();
		record.valid = (uint8_t)valid;
		check_trace(valid == TRACE_VALID ? TRACE_SET : TRACE_NOT_VALID);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_up_trace();
		ec->context = wrong[i];
		check_trace(TRACE_UNREAD);
	}
	/* A fault in one of its reads. */
	for (int i = 1; i <= 2; i++) {
		set_up_trace();
		fail_at = READ_TAIL + i;
		check_trace(TRACE_UNREAD);
	}
	/* It changes between them, and stays valid; or is taken back. */
	set_up_trace();
	before = change_span;
	check_trace(TRACE_NOT_VALID);
	set_up_trace();
	before = take_back;
	check_trace(TRACE_NOT_VALID);
}
