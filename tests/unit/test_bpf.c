/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF program, compiled for the host, with kernel_fake.h as its kernel. */
#include "test.h"

#include <errno.h>

#include "fake.h"
#include "ruby/layout.h"

#define EXTPROF_KERNEL "kernel_fake.h"
#include "bpf/alloc.bpf.c"
#include "bpf/context.bpf.c"
#include "bpf/cpu.bpf.c"
#include "bpf/event.bpf.c"
#include "bpf/gc.bpf.c"
#include "bpf/syscall.bpf.c"

#define TID 4712
#define PIDNS 77

struct kernel_fake kernel;
uint64_t bpf_lost(enum loss_reason reason);

#define CPUS 2
#define PROCESS 31
/* Any but that of the timer. */
#define SOURCE_OTHER 1

static struct unwind_row unwind_list[64];
static struct unwind_mapping unwind_files[8];
static struct unwind_process unwind_target;
static uint32_t unwind_row_count, unwind_mapping_count;
static struct unwind_changes changes;
static bool unwind_known, unwind_has_changed, no_room_for_changes;
static struct usdt_arguments place;
static struct usdt_key place_key;
static struct gc_pause gc_pause;
static bool gc_known;
static struct walk_scratch cpu_scratches[CPUS * 2];
#define cpu_scratch (cpu_scratches[kernel.cpu])
static struct ring_use ring_use[RING_USERS_MAX];
static struct thinning tick_thinning;
static struct syscall_begun begun;
static uint64_t passed[EVENT_SLOTS];
static bool call_has_begun, no_room_for_calls;
static bool counters_made;
static struct source_counters source_counters;
static struct target_config target;
static struct target_key target_key;

static struct rb_debug_ext_section section;
static struct fake vm;
static struct fake_ec *ec;
static uint64_t thread_area[32];
static struct pid tgid, tid;
static int in_mm;
static struct bpf_perf_event_data context;

void *fake_lookup(void *map, const void *key)
{
	const struct counter_key *whose = key;

	if (map == &counters) {
		return kernel.no_counters || !counters_made || whose->process != PROCESS ? NULL : &source_counters;
	}
	if (map == &scratch) {
		uint32_t index = *(const uint32_t *)key;

		return kernel.no_scratch || index >= CPUS * 2 ? NULL : &cpu_scratches[index];
	}
	if (map == &ring_users)
		return *(const uint32_t *)key < RING_USERS_MAX ? &ring_use[*(const uint32_t *)key] : NULL;
	if (map == &thinnings)
		return &tick_thinning;
	if (map == &probe_places)
		return !memcmp(key, &place_key, sizeof(place_key)) ? &place : NULL;
	if (map == &gc_pauses)
		return gc_known && *(const uint32_t *)key == target.vm ? &gc_pause : NULL;
	if (map == &events_passed)
		return &passed[*(const uint32_t *)key];
	if (map == &syscalls_begun)
		return call_has_begun && *(const uint32_t *)key == (uint32_t)kernel.pid_tgid ? &begun : NULL;
	if (map == &unwind_rows)
		return *(const uint32_t *)key < unwind_row_count ? &unwind_list[*(const uint32_t *)key] : NULL;
	if (map == &unwind_mappings)
		return *(const uint32_t *)key < unwind_mapping_count ? &unwind_files[*(const uint32_t *)key] : NULL;
	if (map == &unwind_processes)
		return unwind_known && *(const uint32_t *)key == target.vm ? &unwind_target : NULL;
	if (map == &unwind_changes)
		return unwind_has_changed && *(const uint32_t *)key == target.vm ? &changes : NULL;
	if (map == &targets)
		return memcmp(key, &target_key, sizeof(target_key)) ? NULL : &target;
	return kernel.lookup ? kernel.lookup(map, key) : NULL;
}

long fake_update(void *map, const void *key, const void *value)
{
	if (map == &gc_pauses) {
		gc_pause = *(const struct gc_pause *)value;
		gc_known = true;
		return 0;
	}
	if (map == &syscalls_begun) {
		if (no_room_for_calls)
			return -E2BIG;
		begun = *(const struct syscall_begun *)value;
		call_has_begun = true;
		return 0;
	}
	if (map == &unwind_changes) {
		if (no_room_for_changes)
			return -E2BIG;
		changes = *(const struct unwind_changes *)value;
		unwind_has_changed = true;
		return 0;
	}
	if (map != &counters && kernel.update)
		return kernel.update(map, key, value);
	if (map != &counters || kernel.no_counters)
		return -E2BIG;
	source_counters = *(const struct source_counters *)value;
	counters_made = true;
	return 0;
}

long fake_delete(void *map, const void *key)
{
	if (map == &gc_pauses) {
		gc_known = false;
		return 0;
	}
	if (map != &syscalls_begun)
		return kernel.update(map, key, NULL);
	call_has_begun = false;
	return 0;
}

long fake_ringbuf_output(void *map, void *data, uint64_t size, uint64_t flags)
{
	(void)map, (void)data;
	if (kernel.ring_full)
		return -EAGAIN;
	kernel.sent++;
	kernel.sent_size = size;
	kernel.sent_flags = flags;
	return 0;
}

static int read_user(void *to, uint32_t size, uint64_t address)
{
	if (address < 4096)
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return 0;
}

static void set_up(uint32_t frames)
{
	struct layout l = { .address = (uintptr_t)&section };

	fake__init(&vm, &section);
	ec = fake__ec(frames + 1);
	for (uint32_t i = 0; i < frames; i++)
		fake__push(ec, i, 0);
	fake__thread(&vm, 1, 77, "worker", ec)->tid = TID;
	fake__ec_slot(&vm, ec, 1, 1);
	thread_area[32 + FAKE_TLS / 8] = (uintptr_t)ec;
	l.section = section;
	layout__config(&l, &target);
	target.vm = 1;
	target.process = PROCESS;
	*(volatile uint32_t *)(uintptr_t)&cpus = CPUS;
	((volatile uint32_t *)(uintptr_t)source_slots)[SOURCE_OTHER] = 1;
	((volatile uint32_t *)(uintptr_t)source_slots)[SOURCE_ALLOC] = 1;
	((volatile uint32_t *)(uintptr_t)source_slots)[SOURCE_GC] = 1;
	target_key = (struct target_key){ .pidns = PIDNS, .pid = section.pid };

	memset(&source_counters, 0, sizeof(source_counters));
	counters_made = true;
	memset(&kernel, 0, sizeof(kernel));
	memset(cpu_scratches, 0, sizeof(struct walk_scratch));
	memset(&cpu_scratches[CPUS], 0, sizeof(struct walk_scratch));
	tgid = (struct pid){ PIDNS, section.pid };
	tid = (struct pid){ PIDNS, TID };
	kernel.now = 1000000;
	kernel.pid_tgid = 1ull << 32 | 1;
	kernel.read_user = read_user;
	kernel.task.thread_group = &tgid;
	kernel.task.thread_pid = &tid;
	kernel.task.mm = &in_mm;
	kernel.task.self_exec_id = 5;
	kernel.task.thread_pointer = (uintptr_t)(thread_area + 32);
	context.regs.ip = 0x1234;
	context.regs.user = 1;
}

uint64_t bpf_lost(enum loss_reason reason)
{
	return source_counters.lost[reason];
}

/* Whatever happens, the sums agree. */
static bool balanced(void)
{
	uint64_t sum = source_counters.whole;

	for (int i = 0; i < TRUNC_MAX; i++)
		sum += source_counters.truncated[i];
	if (sum != kernel.sent)
		return false;
	for (int i = 0; i < LOSS_MAX; i++)
		sum += source_counters.lost[i];
	return sum == source_counters.taken;
}

TEST(bpf_sends_a_whole_sample)
{
	set_up(10);
	sample(&context);
	CHECK_INT(source_counters.taken, 1);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event) + 10 * sizeof(struct sample_frame));
	CHECK_INT(cpu_scratch.event.tid, TID);
	CHECK_INT(cpu_scratch.event.ip, 0x1234);
	CHECK_INT(cpu_scratch.event.flags, 0);
	CHECK_INT(cpu_scratch.event.vm, 1);
	CHECK_INT(cpu_scratch.event.process, PROCESS);
	CHECK_INT(cpu_scratch.event.source, SOURCE_CPU);
	CHECK_INT(cpu_scratch.event.value, period);
	CHECK_INT(cpu_scratch.event.count, 1);
	CHECK_INT(cpu_scratch.event.thread, 77);
	CHECK_INT(cpu_scratch.event.thread_slot, 1);
	CHECK_STRING(cpu_scratch.event.comm, "");
	CHECK(balanced());
	context.regs.user = 0;
	kernel.user_ip = 0x5678;
	sample(&context);
	CHECK_INT(cpu_scratch.event.ip, 0x5678);
	CHECK_INT(cpu_scratch.event.flags, SAMPLE_IN_KERNEL);
	CHECK(balanced());
}

TEST(bpf_tells_the_name_of_other_threads)
{
	set_up(10);
	thread_area[32 + FAKE_TLS / 8] = 0;
	sample(&context);
	CHECK_INT(cpu_scratch.event.kind, SAMPLE_NATIVE);
	CHECK_STRING(cpu_scratch.event.comm, "fake");
	set_up(10);
	ec->slot = 0;
	sample(&context);
	CHECK_INT(cpu_scratch.event.kind, SAMPLE_RUBY);
	CHECK_STRING(cpu_scratch.event.comm, "fake");
}

TEST(bpf_ignores_all_but_the_target)
{
	set_up(10);
	kernel.pid_tgid = 0;	/* idle */
	sample(&context);
	kernel.pid_tgid = 1;
	tgid.nr++;
	sample(&context);
	tgid.nr--;
	tgid.pidns++;		/* the same pid in another namespace */
	sample(&context);
	kernel.task.thread_group = NULL;
	sample(&context);
	CHECK_INT(source_counters.taken, 0);
	CHECK_INT(kernel.sent, 0);
	kernel.task.thread_group = &tgid;
	tgid.pidns--;
	kernel.no_counters = 1;
	sample(&context);
	CHECK_INT(source_counters.taken, 0);
	CHECK_INT(kernel.sent, 0);
	kernel.no_counters = 0;
	sample(&context);
	CHECK_INT(source_counters.taken, 1);
}

/* Who sends more than can be read leaves room in the ring: for others of the same user, and for other users. */
TEST(bpf_shares_the_ring)
{
	uint64_t size = sizeof(struct sample_event) + 10 * sizeof(struct sample_frame), sent, of_other = 0;

	set_up(10);
	memset(ring_use, 0, sizeof(ring_use));
	target.ring = (struct ring_use){ 0 };
	target.user = 5;
	kernel.ring_waiting = 0;
	for (sent = 0; !source_counters.lost[LOSS_RING_SHARE] && sent < ring_size; kernel.ring_waiting = sent += size)
		sample(&context);
	/* One process has a fourth, ... */
	CHECK(sent > ring_size / 4 - size && sent < ring_size / 4 + 2 * size);
	loss_hit[LOSS_RING_SHARE] += source_counters.lost[LOSS_RING_SHARE];
	CHECK_INT(source_counters.taken, source_counters.whole + source_counters.lost[LOSS_RING_SHARE]);
	/* ... another one of the user half of that, ... */
	target.ring = (struct ring_use){ 0 };
	for (; source_counters.lost[LOSS_RING_SHARE] == 1 && of_other < ring_size; kernel.ring_waiting = sent + (of_other += size))
		sample(&context);
	CHECK(of_other > ring_size / 8 - 2 * size && of_other < ring_size / 8 + 2 * size);
	/* ... and another user a part of the rest. */
	target.ring = (struct ring_use){ 0 };
	target.user = 6;
	sample(&context);
	CHECK_INT(source_counters.lost[LOSS_RING_SHARE], 2);
	/* The reader reads: what was sent before counts no more. */
	target.user = 5;
	ring_turn++;
	kernel.ring_waiting = 0;
	sample(&context);
	CHECK_INT(source_counters.lost[LOSS_RING_SHARE], 2);
	target.user = 0;
}

TEST(bpf_counts_each_loss)
{
	set_up(10);
	kernel.ring_full = 1;
	sample(&context);
	CHECK_INT(source_counters.lost[LOSS_RING_FULL], 1);
	loss_hit[LOSS_RING_FULL]++;
	kernel.ring_full = 0;
	kernel.no_scratch = 1;
	sample(&context);
	CHECK_INT(source_counters.lost[LOSS_NO_SCRATCH], 1);
	loss_hit[LOSS_NO_SCRATCH]++;
	kernel.no_scratch = 0;
	kernel.task.thread_pointer = 64;
	sample(&context);
	CHECK_INT(source_counters.lost[LOSS_TLS_READ], 1);
	kernel.task.thread_pointer = (uintptr_t)(thread_area + 32);
	sample(&context);
	kernel.task.self_exec_id++;
	sample(&context);
	CHECK_INT(source_counters.lost[LOSS_SECTION_CHANGED], 1);
	/* User space sets the target again after an exec. */
	target.exec_id = 0;
	sample(&context);
	CHECK_INT(source_counters.whole, 2);
	CHECK_INT(source_counters.taken, 6);
	CHECK(balanced());
}

TEST(bpf_counts_truncation)
{
	set_up(20000);
	sample(&context);
	CHECK_INT(source_counters.truncated[TRUNC_DEPTH], 1);
	CHECK_INT(cpu_scratch.event.left_out, 20000 - SAMPLE_FRAMES_MAX);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event) +
		  SAMPLE_FRAMES_MAX * sizeof(struct sample_frame));
	kernel.ring_full = 1;
	sample(&context);
	CHECK_INT(source_counters.truncated[TRUNC_DEPTH], 1);
	CHECK(balanced());
}

/* Ruby's stack ends with a SystemStackError after 11,000 frames or so: all of those are there. */
TEST(bpf_sends_deep_stacks_whole)
{
	set_up(12000);
	sample(&context);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(cpu_scratch.event.nr_frames, 12000);
	CHECK_INT(cpu_scratch.event.left_out, 0);
	CHECK_INT(cpu_scratch.frames[11999].id, cpu_scratch.frames[0].id - 11999);
}

TEST(bpf_makes_the_counters_of_a_process_at_its_first_sample)
{
	set_up(3);
	counters_made = false;
	sample(&context);
	sample(&context);
	CHECK_INT(source_counters.taken, 2);
	CHECK_INT(source_counters.whole, 2);
	CHECK(balanced());
}

TEST(bpf_counts_what_it_does_not_follow)
{
	set_up(3);
	target.section = 0;	/* no ruby, or not yet */
	sample(&context);
	CHECK_INT(source_counters.unfollowed, 1);
	set_up(3);
	target.flags = TARGET_WATCHED;
	sample(&context);
	CHECK_INT(source_counters.unfollowed, 1);
	CHECK_INT(source_counters.taken, 0);
	CHECK_INT(kernel.sent, 0);
	/* The process has ended: while its last thread does, the samples are its own; then
	 * another process can have the pid. */
	set_up(3);
	target.flags = TARGET_EXITED;
	kernel.task.flags = PF_EXITING;
	sample(&context);
	CHECK_INT(source_counters.taken, 1);
	kernel.task.flags = 0;
	sample(&context);
	CHECK_INT(source_counters.taken, 1);
	CHECK(balanced());
}

TEST(bpf_walks_a_child_before_its_first_step)
{
	set_up(5);
	section.pid++;		/* its parent's */
	sample(&context);
	CHECK_INT(source_counters.lost[LOSS_FORKED], 1);
	loss_hit[LOSS_FORKED]++;
	target.flags = TARGET_FORKED;
	sample(&context);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(cpu_scratch.event.nr_frames, 5);
	CHECK(balanced());
}


static struct { uint64_t at; bool done; } interrupt;

static int read_user_interrupted(void *to, uint32_t size, uint64_t address)
{
	/* In the middle of its frames, the timer's program runs on the same CPU. */
	if (address >= interrupt.at && !interrupt.done) {
		struct pid *own = kernel.task.thread_pid;
		static struct pid other = { PIDNS, TID + 1 };

		interrupt.done = true;
		kernel.task.thread_pid = &other;
		sample(&context);
		kernel.task.thread_pid = own;
	}
	return read_user(to, size, address);
}

TEST(bpf_survives_a_program_that_interrupts_the_walk_of_another)
{
	struct walk_scratch *mine = &cpu_scratches[SOURCE_OTHER * CPUS];
	struct hit h = { .source = SOURCE_OTHER, .value = 77, .count = 3, .detail = 5, .state = 2 };

	set_up(600);
	interrupt.at = ec->cfp + 300 * target.frame_size;
	interrupt.done = false;
	kernel.read_user = read_user_interrupted;
	CHECK(!hit__find(&h) && !hit__count(&h));
	hit__sample(&h, 0, 0);
	CHECK(interrupt.done);
	CHECK_INT(source_counters.taken, 2);
	CHECK_INT(source_counters.whole, 2);
	CHECK(balanced());
	/* Each has its own sample. */
	CHECK_INT(mine->event.source, SOURCE_OTHER);
	CHECK_INT(mine->event.value, 77);
	CHECK_INT(mine->event.count, 3);
	CHECK_INT(mine->event.detail, 5);
	CHECK_INT(mine->event.state, 2);
	CHECK_INT(mine->event.tid, TID);
	CHECK_INT(cpu_scratches[0].event.tid, TID + 1);
	CHECK_INT(cpu_scratches[0].event.source, SOURCE_CPU);
	for (int i = 0; i < 600; i++)
		if (mine->frames[i].id != cpu_scratches[0].frames[i].id || mine->frames[i].id == 0)
			CHECK_INT(mine->frames[i].id, cpu_scratches[0].frames[i].id);
	CHECK_INT(mine->event.nr_frames, 600);
	CHECK_INT(cpu_scratches[0].event.nr_frames, 600);
}

TEST(bpf_tells_a_thread_that_ends)
{
	set_up(10);
	kernel.task.flags = PF_EXITING;
	sample(&context);
	CHECK_INT(cpu_scratch.event.kind, SAMPLE_EXITING);
	kernel.task.flags = 0;
	kernel.task.mm = NULL;
	sample(&context);
	CHECK_INT(cpu_scratch.event.kind, SAMPLE_EXITING);
	CHECK_INT(source_counters.whole, 2);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event));
	CHECK(balanced());
}

TEST(bpf_counts_ticks_that_the_target_missed)
{
	set_up(1);
	period = 100;
	kernel.now = kernel.due = 1000;
	sample_timed(&context);
	kernel.now = 1099;	/* late, not missed */
	sample_timed(&context);
	CHECK_INT(source_counters.missed, 0);
	kernel.now = 1100;	/* one missed */
	sample_timed(&context);
	CHECK_INT(source_counters.missed, 1);
	kernel.now = 1999;	/* nine */
	sample_timed(&context);
	CHECK_INT(source_counters.missed, 10);
	/* The tick was for another process, or for an idle CPU. */
	tgid.nr++;
	sample_timed(&context);
	tgid.nr--;
	kernel.pid_tgid = 0;
	sample_timed(&context);
	kernel.pid_tgid = 1;
	CHECK_INT(source_counters.missed, 10);
	/* The time of the program itself makes ticks late, too. */
	kernel.now = 1000;
	kernel.takes = 150;
	sample_timed(&context);
	CHECK_INT(source_counters.missed, 13);
	kernel.takes = 0;
	/* A clock that is behind; a kernel that does not tell; the other program. */
	kernel.now = 500;
	sample_timed(&context);
	kernel.now = 5000;
	sample(&context);
	kernel.due = 0;
	sample_timed(&context);
	CHECK_INT(source_counters.missed, 13);
	/* They are beside the sums. */
	CHECK_INT(source_counters.taken, 8);
	CHECK(balanced());
	period = 0;
}

static void set_tick(uint32_t rate, uint32_t hz)
{
	tick_rate = rate;
	*(volatile uint32_t *)(uintptr_t)&tick_hz = hz;
	*(volatile uint64_t *)(uintptr_t)&tick_ns = 1000000000 / hz;
	*(volatile uint64_t *)(uintptr_t)&tick_function = 0xffff1234;
	thinning__init(&tick_thinning, hz, 1);
}

TEST(bpf_samples_by_the_tick)
{
	struct hrtimer tick_timer = { .function = 0xffff1234, .due = 1000000 };
	struct hrtimer other = { .function = 0xffff1230 };
	uint64_t timer_args[2] = { (uintptr_t)&tick_timer }, other_args[2] = { (uintptr_t)&other };

	set_up(10);
	set_tick(250, 250);
	kernel.user_ip = 0x5678;
	sample_tick(timer_args);
	CHECK_INT(source_counters.taken, 1);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(cpu_scratch.event.ip, 0x5678);
	CHECK_INT(cpu_scratch.event.tid, TID);
	/* Another timer; an idle CPU; another process. */
	sample_tick(other_args);
	kernel.pid_tgid = 0;
	sample_tick(timer_args);
	kernel.pid_tgid = 1;
	tgid.nr++;
	sample_tick(timer_args);
	tgid.nr--;
	kernel.no_counters = 1;
	sample_tick(timer_args);
	kernel.no_counters = 0;
	CHECK_INT(source_counters.taken, 1);
	set_tick(99, 250);
	for (int i = 0; i < 2500; i++)
		sample_tick(timer_args);
	CHECK(source_counters.taken >= 990 && source_counters.taken <= 992);
	CHECK_INT(source_counters.missed, 0);
	CHECK(balanced());
}

TEST(bpf_counts_ticks_of_the_kernel_that_were_missed)
{
	struct hrtimer tick_timer = { .function = 0xffff1234, .due = 1000000 };
	uint64_t args[2] = { (uintptr_t)&tick_timer };

	set_up(1);
	set_tick(250, 250);
	kernel.now = 4999999;	/* late */
	sample_tick(args);
	CHECK_INT(source_counters.missed, 0);
	kernel.now = 13000000;
	sample_tick(args);
	CHECK_INT(source_counters.missed, 3);
	tgid.nr++;
	sample_tick(args);
	CHECK_INT(source_counters.missed, 3);
	tgid.nr--;
	/* Of the missed ticks, the share that would have been samples. */
	source_counters.missed = 0;
	set_tick(100, 250);
	for (int i = 0; i < 2500; i++)
		sample_tick(args);
	CHECK(source_counters.missed >= 3 * 999 && source_counters.missed <= 3 * 1001);
	CHECK(balanced());
}

TEST(bpf_wakes_the_reader_when_much_waits)
{
	int woken = 0;

	set_up(1);
	*(volatile uint64_t *)(uintptr_t)&wakeup_bytes = 1000;
	for (int i = 0; i < 20; i++) {
		kernel.ring_waiting = 999;
		sample(&context);
		CHECK_INT(kernel.sent_flags, BPF_RB_NO_WAKEUP);
		kernel.ring_waiting = 1000;
		sample(&context);
		CHECK_INT(kernel.sent_flags, BPF_RB_FORCE_WAKEUP);
	}
	/* If there is room for many, it asks before one in so many. */
	set_up(1);
	*(volatile uint64_t *)(uintptr_t)&wakeup_bytes = kernel.ring_waiting = 1 << 20;
	for (uint32_t i = 0; i < 3 * EVENTS_UNASKED; i++) {
		sample(&context);
		woken += kernel.sent_flags == BPF_RB_FORCE_WAKEUP;
	}
	CHECK_INT(woken, 3);
	/* And before each that is large. */
	set_up(FRAMES_UNASKED + 1);
	kernel.ring_waiting = 1 << 20;
	for (int i = 0; i < 2; i++) {
		sample(&context);
		CHECK_INT(kernel.sent_flags, BPF_RB_FORCE_WAKEUP);
	}
}

/* -- the probe of allocations ------------------------------------------------------------------ */

#define PLACE 0x5000

static bpf_user_pt_regs_t registers;

/* An object of `size` bytes of class 9, which stands for `weight` bytes. */
static void allocate(uint64_t size, uint64_t weight)
{
	target.file = 7;
	place_key = (struct usdt_key){ .distance = target.section - PLACE, .file = 7 };
	memset(&place, 0xff, sizeof(place));
	place.offset[0] = offsetof(bpf_user_pt_regs_t, c);
	place.offset[1] = offsetof(bpf_user_pt_regs_t, a);
	place.offset[2] = offsetof(bpf_user_pt_regs_t, b);
	registers = (bpf_user_pt_regs_t){ .ip = PLACE, .a = size, .b = weight, .c = 9 };
	allocated(&registers);
}

#define alloc_event (cpu_scratches[CPUS].event)

TEST(bpf_allocations_have_class_bytes_and_objects)
{
	set_up(10);
	allocate(40, 524308);
	CHECK_INT(source_counters.taken, 1);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(alloc_event.source, SOURCE_ALLOC);
	CHECK_INT(alloc_event.detail, 9);
	CHECK_INT(alloc_event.value, 524308);
	CHECK_INT(alloc_event.nr_frames, 10);
	CHECK_INT(alloc_event.ip, PLACE);
	/* 13107 and 28 / 40 */
	CHECK_INT(alloc_event.count, 13108);
	kernel.random = 40 * 100 + 27;
	allocate(40, 524308);
	CHECK_INT(alloc_event.count, 13108);
	kernel.random = 40 * 100 + 28;
	allocate(40, 524308);
	CHECK_INT(alloc_event.count, 13107);
	CHECK(balanced());
}

TEST(bpf_allocations_are_rounded_without_bias)
{
	uint64_t sum = 0;

	set_up(1);
	for (kernel.random = 0; kernel.random < 640; kernel.random++) {
		allocate(640, 1000);
		sum += alloc_event.count;
	}
	CHECK_INT(sum, 1000);
}

TEST(bpf_allocations_that_cannot_be_read_are_lost)
{
	set_up(10);
	allocate(0, 1);
	allocate(1ull << 32, 1);
	allocate(40, 1ull << 49);
	CHECK_INT(source_counters.lost[LOSS_PROBE], 3);
	kernel.no_registers = 1;
	allocate(40, 100);
	kernel.no_registers = 0;
	CHECK_INT(source_counters.lost[LOSS_PROBE], 4);
	/* In another file than that of the place. */
	target.section += 8;
	registers.ip = PLACE;
	allocated(&registers);
	CHECK_INT(source_counters.lost[LOSS_PROBE], 5);
	target.section -= 8;
	/* In a file that says the same of this distance, or something else: what counts is which file it is. */
	target.file++;
	allocated(&registers);
	CHECK_INT(source_counters.lost[LOSS_PROBE], 6);
	target.file--;
	source_counters.lost[LOSS_PROBE]--;
	source_counters.taken--;
	/* No argument in a register. */
	place.offset[1] = USDT_NOWHERE;
	allocated(&registers);
	place.offset[1] = sizeof(registers) - 7;
	allocated(&registers);
	CHECK_INT(source_counters.lost[LOSS_PROBE], 7);
	CHECK_INT(source_counters.taken, 7);
	loss_hit[LOSS_PROBE]++;
	allocate(40, 100);
	CHECK_INT(source_counters.whole, 1);
	CHECK(balanced());
}

TEST(bpf_allocations_pause)
{
	set_up(10);
	sampling_paused = 1;
	allocate(40, 100);
	CHECK_INT(source_counters.taken, 0);
	sampling_paused = 0;
	allocate(40, 100);
	CHECK_INT(source_counters.taken, 1);
	/* Of children that are not to be sampled, and before the section is known. */
	target.flags = TARGET_WATCHED;
	allocate(40, 100);
	target.flags = 0;
	target.section = 0;
	allocate(40, 100);
	CHECK_INT(source_counters.unfollowed, 2);
	CHECK_INT(source_counters.taken, 1);
}

/* While the walk reads memory, another thread takes the CPU and allocates, too. */
static uint32_t preemptions;

static int read_and_preempt(void *to, uint32_t size, uint64_t address)
{
	kernel.read_user = read_user;
	preemptions++;
	allocate(80, 200);
	return read_user(to, size, address);
}

TEST(bpf_allocations_do_not_share_scratch_memory)
{
	set_up(10);
	kernel.read_user = read_and_preempt;
	preemptions = 0;
	allocate(40, 100);
	CHECK_INT(preemptions, 1);
	CHECK_INT(source_counters.lost[LOSS_SCRATCH_BUSY], 1);
	CHECK_INT(source_counters.whole, 1);
	/* That of the first one. */
	CHECK_INT(alloc_event.value, 100);
	loss_hit[LOSS_SCRATCH_BUSY]++;
	allocate(40, 100);
	CHECK_INT(source_counters.whole, 2);
	CHECK_INT(cpu_scratches[CPUS].users, 0);
	CHECK(balanced());
	/* A timer has memory of its own. */
	cpu_scratches[CPUS].users = 1;
	sample(&context);
	CHECK_INT(source_counters.whole, 3);
}

/* -- system calls ---------------------------------------------------------------------------- */

static struct pt_regs___kernel call_regs;

static void choose_call(uint32_t number)
{
	memset((void *)(uintptr_t)syscall_bits, 0, sizeof(syscall_bits));
	memset((void *)(uintptr_t)syscall_no_return, 0, sizeof(syscall_no_return));
	((volatile uint64_t *)(uintptr_t)syscall_bits)[number / 64] |= 1ull << number % 64;
	*(volatile uint32_t *)(uintptr_t)&syscall_all = 0;
	call_has_begun = no_room_for_calls = false;
}

static int call(int (*program)(uint64_t *), uint64_t number)
{
	uint64_t args[2] = { (uintptr_t)&call_regs, number };

	call_regs = (struct pt_regs___kernel){ .number = (int)number, .ip = 0x77 };
	return program(args);
}

TEST(bpf_calls_that_are_chosen)
{
	set_up(10);
	choose_call(257);
	call(syscall_enter, 257);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(cpu_scratch.event.source, SOURCE_SYSCALL);
	CHECK_INT(cpu_scratch.event.detail, 257);
	CHECK_INT(cpu_scratch.event.count, 1);
	CHECK_INT(cpu_scratch.event.ip, 0x77);
	CHECK_INT(cpu_scratch.event.nr_frames, 10);
	/* 257 has the bit 1 of the word 4; others have that bit, that word, or are no number of the table. */
	call(syscall_enter, 1);
	call(syscall_enter, 256);
	call(syscall_enter, SYSCALL_NUMBERS + 257);
	call(syscall_enter, UINT64_MAX);
	CHECK_INT(source_counters.taken, 1);
	*(volatile uint32_t *)(uintptr_t)&syscall_all = 1;
	call(syscall_enter, SYSCALL_NUMBERS + 257);
	CHECK_INT(source_counters.taken, 2);
	/* Skipped by a debugger. */
	call(syscall_enter, UINT64_MAX);
	CHECK_INT(source_counters.taken, 2);
	CHECK(balanced());
}

TEST(bpf_calls_by_chance)
{
	set_up(10);
	choose_call(257);
	*(volatile uint32_t *)(uintptr_t)&syscall_every = 10;
	for (kernel.random = 0; kernel.random < 100; kernel.random++)
		call(syscall_enter, 257);
	/* One in ten, of which each stands for ten. */
	CHECK_INT(source_counters.taken, 10);
	CHECK_INT(cpu_scratch.event.count, 10);
	CHECK_INT(cpu_scratch.event.value, 10);
	kernel.random = 0;
	*(volatile uint32_t *)(uintptr_t)&syscall_every = 1;
	CHECK(balanced());
}

TEST(bpf_calls_of_32_bit_code)
{
	set_up(10);
	choose_call(20);
	kernel.task.in_compat_call = 1;
	call(syscall_enter, 20);
	call(syscall_begin, 20);
	CHECK(!call_has_begun);
	CHECK_INT(source_counters.taken, 0);
	*(volatile uint32_t *)(uintptr_t)&syscall_all = 1;
	call(syscall_enter, 20);
	CHECK_INT(source_counters.taken, 1);
	CHECK(cpu_scratch.event.detail == (20 | SYSCALL_COMPAT));
}

TEST(bpf_calls_have_durations)
{
	set_up(10);
	choose_call(257);
	call(syscall_begin, 257);
	CHECK(call_has_begun);
	CHECK_INT(source_counters.taken, 0);
	kernel.now += 12345;
	call(syscall_end, 257);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(cpu_scratch.event.value, 12345);
	CHECK_INT(cpu_scratch.event.detail, 257);
	/* That began before the recording, or was not chosen. */
	call(syscall_end, 257);
	CHECK_INT(source_counters.taken, 1);
	/* Of another process. */
	target_key.pid++;
	call(syscall_begin, 257);
	CHECK(!call_has_begun);
	target_key.pid--;
	/* That does not return. */
	((volatile uint64_t *)(uintptr_t)syscall_no_return)[257 / 64] = 1ull << 257 % 64;
	call(syscall_begin, 257);
	CHECK(!call_has_begun);
	CHECK_INT(source_counters.whole, 2);
	CHECK_INT(cpu_scratch.event.value, 0);
	CHECK(balanced());
}

TEST(bpf_calls_that_do_not_return_as_they_began)
{
	set_up(10);
	choose_call(59);
	call(syscall_begin, 59);
	/* The process executes another program. */
	target.section = 0;
	call(syscall_end, 59);
	CHECK_INT(source_counters.lost[LOSS_SECTION_CHANGED], 1);
	CHECK_INT(source_counters.unfollowed, 0);
	target.section = (uintptr_t)&section;
	/* Another thread has the number by now, and comes from another call. */
	call(syscall_begin, 59);
	call(syscall_end, 60);
	CHECK_INT(source_counters.lost[LOSS_SECTION_CHANGED], 2);
	no_room_for_calls = true;
	call(syscall_begin, 59);
	CHECK_INT(source_counters.lost[LOSS_TOO_MANY_CALLS], 1);
	loss_hit[LOSS_TOO_MANY_CALLS]++;
	no_room_for_calls = false;
	call(syscall_begin, 59);
	syscall_begun__lose(&source_counters);
	CHECK_INT(source_counters.lost[LOSS_UNFINISHED], 1);
	loss_hit[LOSS_UNFINISHED]++;
	CHECK_INT(source_counters.taken, 4);
	CHECK(balanced());
	/* Its ruby is not known yet. */
	call_has_begun = false;
	target.section = 0;
	call(syscall_begin, 59);
	CHECK(!call_has_begun);
	CHECK_INT(source_counters.unfollowed, 1);
}

/* -- the probe of the collector ---------------------------------------------------------------- */

/* The phase begins `after` ns later. */
static void phase(uint32_t to, uint64_t after, uint64_t count)
{
	target.file = 7;
	place_key = (struct usdt_key){ .distance = target.section - PLACE, .file = 7 };
	memset(&place, 0xff, sizeof(place));
	place.offset[0] = offsetof(bpf_user_pt_regs_t, a);
	place.offset[1] = offsetof(bpf_user_pt_regs_t, b);
	place.offset[2] = offsetof(bpf_user_pt_regs_t, c);
	kernel.now += after;
	registers = (bpf_user_pt_regs_t){ .ip = PLACE, .a = to, .b = TID, .c = count };
	gc_phase_changed(&registers);
}

TEST(bpf_changes_the_place_of_contexts_and_nothing_else)
{
	uint64_t args[] = { PIDNS, 0, 0, 7, (uint64_t)-64ll };
	struct target_config before;

	set_up(1);
	args[1] = target_key.pid;
	args[2] = target.vm;
	before = target;
	CHECK_INT(process_context(args), 0);
	CHECK(target.context_module == 7 && target.context_offset == -64);
	/* Of another VM, which it runs by now, and of another process. */
	args[2]++;
	args[3] = 8;
	CHECK_INT(process_context(args), 1);
	args[2]--;
	args[1]++;
	CHECK_INT(process_context(args), 1);
	CHECK(target.context_module == 7);
	before.context_module = 7;
	before.context_offset = -64;
	CHECK(!memcmp(&before, &target, sizeof(before)));
	args[1]--;
	args[3] = args[4] = 0;
	CHECK_INT(process_context(args), 0);
	CHECK(!target.context_module);
}

static void set_up_gc(void)
{
	set_up(10);
	gc_pause = (struct gc_pause){ .known = 5 };
	gc_known = true;
	gc_partial = 0;
	sampling_paused = 0;
}

TEST(bpf_gc_sends_a_pause_at_its_end)
{
	set_up_gc();
	kernel.task.run_delay = 1000;
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 6);
	phase(RB_DEBUG_EXT_GC_MARK, 6400, 6);
	kernel.task.run_delay += 500;
	phase(RB_DEBUG_EXT_GC_ENTER, 64000, 6);
	phase(RB_DEBUG_EXT_GC_SWEEP, 640, 6);
	phase(RB_DEBUG_EXT_GC_COMPACT, 1280, 6);
	phase(RB_DEBUG_EXT_GC_SWEEP, 2560, 6);
	phase(RB_DEBUG_EXT_GC_ENTER, 64, 6);
	CHECK_INT(source_counters.taken, 0);
	phase(RB_DEBUG_EXT_GC_NONE, 64, 6);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(alloc_event.source, SOURCE_GC);
	CHECK_INT(alloc_event.value, 6400 + 64000 + 640 + 1280 + 2560 + 64 + 64);
	CHECK_INT(alloc_event.count, 1);
	CHECK_INT(gc__mark_ns(&alloc_event), 64000);
	CHECK_INT(gc__sweep_ns(&alloc_event), 1280 + 64);
	CHECK_INT(gc__compact_ns(&alloc_event), 2560);
	CHECK_INT(alloc_event.more, 500);
	CHECK_INT(alloc_event.extra, 0);
	CHECK_INT(alloc_event.thread, 77);
	/* The next one has nothing of it. */
	phase(RB_DEBUG_EXT_GC_ENTER, 1000000, 7);
	phase(RB_DEBUG_EXT_GC_NONE, 128, 7);
	CHECK_INT(alloc_event.value, 128);
	CHECK_INT(gc__mark_ns(&alloc_event), 0);
	CHECK_INT(source_counters.whole, 2);
	CHECK_INT(gc_partial, 0);
	CHECK(balanced());
}

/* Nothing can be read but the section and what the thread pointer leads to. */
static int read_no_frames(void *to, uint32_t size, uint64_t address)
{
	return address >= ec->vm_stack && address < ec->vm_stack + 8 * ec->vm_stack_size ? -EFAULT : read_user(to, size, address);
}

TEST(bpf_gc_needs_no_frames)
{
	set_up_gc();
	kernel.read_user = read_no_frames;
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 6);
	phase(RB_DEBUG_EXT_GC_NONE, 100, 6);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(alloc_event.value, 100);
	CHECK_INT(alloc_event.nr_frames, 0);
	/* An allocation does. */
	allocate(40, 100);
	CHECK_INT(source_counters.lost[LOSS_FRAMES_READ], 1);
	CHECK_INT(cpu_scratches[CPUS].users, 0);
	CHECK(balanced());
}

TEST(bpf_gc_has_the_reason_of_newer_rubies)
{
	set_up_gc();
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 6);
	place.offset[3] = offsetof(bpf_user_pt_regs_t, d);
	registers.a = RB_DEBUG_EXT_GC_NONE;
	registers.d = 0x804 | 7ull << 32;
	gc_phase_changed(&registers);
	CHECK_INT(alloc_event.extra, 0x804 | 7 << 16);
}

TEST(bpf_gc_counts_pauses_apart_that_began_before)
{
	set_up_gc();
	/* In the middle of one. */
	phase(RB_DEBUG_EXT_GC_SWEEP, 0, 6);
	phase(RB_DEBUG_EXT_GC_NONE, 100, 6);
	CHECK_INT(gc_partial, 1);
	/* Between the phases of one, which looks as a beginning does. */
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 5);
	phase(RB_DEBUG_EXT_GC_NONE, 100, 5);
	CHECK_INT(gc_partial, 2);
	/* Only the end is seen. */
	phase(RB_DEBUG_EXT_GC_NONE, 100, 6);
	CHECK_INT(gc_partial, 3);
	CHECK_INT(source_counters.taken, 0);
	/* Not attached to yet. */
	gc_known = false;
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 7);
	phase(RB_DEBUG_EXT_GC_NONE, 100, 7);
	CHECK_INT(gc_partial, 3);
	CHECK_INT(source_counters.taken, 0);
}

TEST(bpf_gc_knows_children_from_the_start)
{
	set_up_gc();
	gc_known = false;
	target.flags = TARGET_FORKED;
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 1);
	CHECK(gc_known);
	phase(RB_DEBUG_EXT_GC_NONE, 100, 1);
	CHECK_INT(source_counters.whole, 1);
	CHECK_INT(alloc_event.value, 100);
	CHECK(!gc_known);	/* no room is kept for it */
	target.flags |= TARGET_WATCHED;
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 2);
	CHECK(!gc_known);
}

TEST(bpf_gc_follows_phases_while_it_is_paused)
{
	set_up_gc();
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 6);
	sampling_paused = 1;
	phase(RB_DEBUG_EXT_GC_MARK, 6400, 6);
	sampling_paused = 0;
	phase(RB_DEBUG_EXT_GC_NONE, 6400, 6);
	CHECK_INT(alloc_event.value, 12800);
	CHECK_INT(gc__mark_ns(&alloc_event), 6400);
	sampling_paused = 1;
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 7);
	phase(RB_DEBUG_EXT_GC_NONE, 10, 7);
	CHECK_INT(source_counters.taken, 1);
	CHECK_INT(gc_pause.phase, RB_DEBUG_EXT_GC_NONE);
}

TEST(bpf_gc_loses_what_makes_no_sense)
{
	set_up_gc();
	phase(RB_DEBUG_EXT_GC_COMPACT + 1, 0, 6);
	CHECK_INT(source_counters.lost[LOSS_PROBE], 1);
	kernel.no_registers = 1;
	phase(RB_DEBUG_EXT_GC_ENTER, 0, 6);
	CHECK_INT(source_counters.lost[LOSS_PROBE], 2);
	CHECK_INT(gc_pause.phase, RB_DEBUG_EXT_GC_NONE);
	CHECK(balanced());
}

static void choose_event(uint32_t number, uint64_t period, uint64_t every)
{
	((volatile uint64_t *)(uintptr_t)event_period)[number] = period;
	((volatile uint64_t *)(uintptr_t)event_every)[number] = every;
	memset(passed, 0, sizeof(passed));
}

/* -- functions of user space ------------------------------------------------------------------ */

/* A stack of 64 words, room for a VM stack behind it, and two files with code at CODE and at LIBRARY. */
#define CODE 0x400000ull
#define LIBRARY 0x7f0000000000ull
static uint64_t native_stack[(1 << 17) + 4096];
#define AT(i) ((uint64_t)(uintptr_t)&native_stack[i])

static void add_row(uint32_t pc, uint8_t rule, uint16_t cfa, uint8_t rbp)
{
	unwind_list[unwind_row_count++] = (struct unwind_row){ pc, cfa, rule, rbp };
}

static void set_ec_flags(uint32_t flags)
{
	((struct rb_debug_ext_ec *)(uintptr_t)vm.ec_dir[0])[1].flags = flags;
}

static void set_up_native(uint64_t ip, uint32_t sp, uint64_t bp)
{
	set_up(3);
	*(volatile uint32_t *)(uintptr_t)&native_stacks = 1;
	unwind_row_count = 0;
	add_row(0x100, UNWIND_SP | UNWIND_BEGINS, 1, 0);	/* at the beginning */
	add_row(0x101, UNWIND_SP, 2, 2);			/* push rbp */
	add_row(0x104, UNWIND_FP, 2, 2);			/* mov rbp, rsp */
	add_row(0x120, UNWIND_NONE, 0, 0);
	add_row(0x200, UNWIND_SP | UNWIND_BEGINS, 4, 0);	/* without a frame pointer */
	add_row(0x240, UNWIND_OTHER | UNWIND_BEGINS, 0, 0);
	add_row(0x260, UNWIND_SP | UNWIND_BEGINS, 2, UNWIND_LOST);
	add_row(0x280, UNWIND_SIGNAL | UNWIND_BEGINS, 0, 0);
	add_row(0x290, UNWIND_FP_DEREF | UNWIND_BEGINS, 1, UNWIND_AT_RBP);
	add_row(0x2a0, UNWIND_SP_DEREF | UNWIND_BEGINS, (16 + 3) | 1 << UNWIND_DEREF_PLUS, 3);
	add_row(0x300, UNWIND_PLT | UNWIND_BEGINS, 11, 0);
	add_row(0x340, UNWIND_OUTERMOST | UNWIND_BEGINS, 0, 0);
	unwind_files[0] = (struct unwind_mapping){ CODE, CODE + 0x1000, CODE, 0, unwind_row_count };
	unwind_files[1] = (struct unwind_mapping){ LIBRARY, LIBRARY + 0x1000, LIBRARY, 0, 0 };
	unwind_target = (struct unwind_process){ .table = 2 << 16, .vm = target.vm };
	unwind_mapping_count = 2;
	unwind_known = true;
	unwind_has_changed = no_room_for_changes = false;
	unwind_unnoted = 0;
	memset(native_stack, 0, 64 * sizeof(native_stack[0]));
	/* The root fiber of a thread. */
	set_ec_flags(1);
	kernel.registers = (struct user_registers){ .ip = ip, .sp = AT(sp), .bp = bp };
}

static const struct sample_machine *native_sample(void)
{
	sample_native(&context);
	*(volatile uint32_t *)(uintptr_t)&native_stacks = 0;
	return sample__machine(&cpu_scratch.event);
}

static uint64_t native_size(const struct sample_machine *m)
{
	return sizeof(struct sample_event) + 3 * sizeof(struct sample_frame) + SAMPLE_MACHINE_HEAD + m->nr_native * 8u;
}

/* Through functions with and without a frame pointer, to the first one. */
TEST(bpf_follows_native_stacks)
{
	const struct sample_machine *m;

	set_up_native(CODE + 0x210, 0, 0x1111);
	native_stack[3] = CODE + 0x110;		/* returns into the function with a frame pointer: CFA 4 */
	kernel.registers.bp = AT(8);
	native_stack[8] = 0x2222;		/* its caller's rbp, CFA 10 */
	native_stack[9] = CODE + 0x30c;		/* in the table of imported functions, the second half of an entry */
	native_stack[11] = CODE + 0x348;	/* CFA 12 */
	m = native_sample();
	CHECK_INT(m->native_end, UNWIND_END_OUTERMOST);
	CHECK_INT(m->nr_native, 4);
	CHECK_INT(kernel.sent_size, native_size(m));
	CHECK(m->address[0] == CODE + 0x210 && m->address[1] == CODE + 0x110 && m->address[2] == CODE + 0x30c &&
	      m->address[3] == CODE + 0x348);
	CHECK(balanced());
}

TEST(bpf_follows_native_stacks_through_signals)
{
	const struct sample_machine *m;

	set_up_native(CODE + 0x100, 0, 0x1111);
	native_stack[0] = CODE + 0x281;		/* the handler returns there, CFA 1 */
	native_stack[1 + SIGNAL_RIP / 8] = CODE + 0x200;	/* interrupted at the first instruction of a function */
	native_stack[1 + SIGNAL_RSP / 8] = AT(40);
	native_stack[1 + SIGNAL_RBP / 8] = 0x3333;
	native_stack[43] = CODE + 0x345;
	m = native_sample();
	CHECK_INT(m->native_end, UNWIND_END_OUTERMOST);
	CHECK_INT(m->nr_native, 4);
	CHECK(m->address[2] == CODE + 0x200);
}

/* The stack pointer of before is on the stack, which is aligned; rbp is below what was pushed before. */
TEST(bpf_follows_native_stacks_by_what_is_on_them)
{
	const struct sample_machine *m;

	set_up_native(CODE + 0x2a2, 0, 0x1111);
	native_stack[3] = AT(10);	/* the CFA is 8 bytes above */
	native_stack[8] = AT(20);	/* rbp */
	native_stack[10] = CODE + 0x110;
	native_stack[20] = 0;
	native_stack[21] = CODE + 0x345;
	m = native_sample();
	CHECK_INT(m->native_end, UNWIND_END_OUTERMOST);
	CHECK_INT(m->nr_native, 3);
	CHECK(m->address[1] == CODE + 0x110 && m->address[2] == CODE + 0x345);
	/* It is not above what was called. */
	set_up_native(CODE + 0x2a2, 8, 0x1111);
	native_stack[11] = AT(2);
	m = native_sample();
	CHECK_INT(m->native_end, UNWIND_END_ORDER);
}

TEST(bpf_follows_native_stacks_that_are_aligned)
{
	const struct sample_machine *m;

	set_up_native(CODE + 0x292, 0, 0);
	kernel.registers.bp = AT(6);
	native_stack[5] = AT(20);	/* the CFA */
	native_stack[6] = AT(30);	/* rbp of the caller */
	native_stack[19] = CODE + 0x110;
	native_stack[30] = 0;
	native_stack[31] = CODE + 0x345;
	m = native_sample();
	CHECK_INT(m->native_end, UNWIND_END_OUTERMOST);
	CHECK_INT(m->nr_native, 3);
}

TEST(bpf_says_why_native_stacks_end)
{
	static const struct {
		uint64_t back;
		uint32_t end;
	} cases[] = {
		{ CODE + 0x130, UNWIND_END_NO_RULES }, { CODE + 0x50, UNWIND_END_NO_RULES }, { LIBRARY + 5, UNWIND_END_NO_RULES },
		{ LIBRARY + 0x2000, UNWIND_END_NO_FILE }, { 5, UNWIND_END_NO_FILE }, { CODE + 0x245, UNWIND_END_RULE },
		{ CODE + 0x345, UNWIND_END_OUTERMOST },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up_native(CODE + 0x100, 0, 0);
		native_stack[0] = cases[i].back;
		CHECK_INT(native_sample()->native_end, cases[i].end);
		CHECK(balanced());
	}
	/* rbp is lost in a function, and the next one needs it. */
	set_up_native(CODE + 0x262, 0, AT(20));
	native_stack[1] = CODE + 0x110;
	CHECK_INT(native_sample()->native_end, UNWIND_END_FP);
	/* A caller whose frame would be within that of the function. */
	set_up_native(CODE + 0x110, 30, AT(2));
	CHECK_INT(native_sample()->native_end, UNWIND_END_ORDER);
	/* A stack that cannot be read. */
	set_up_native(CODE + 0x110, 0, 16);
	kernel.registers.sp = 8;
	CHECK_INT(native_sample()->native_end, UNWIND_END_STACK);
	set_up_native(CODE + 0x100, 0, 0);
	unwind_known = false;
	CHECK_INT(native_sample()->native_end, UNWIND_END_NO_FILE);
	/* The kernel has given the memory of the entry to another process. */
	set_up_native(CODE + 0x100, 0, 0);
	unwind_target.vm++;
	CHECK_INT(native_sample()->native_end, UNWIND_END_NO_FILE);
	CHECK_INT(native_sample()->nr_native, 0);
}

/* A function at CODE that one at LIBRARY has called. */
static void set_up_library(void)
{
	set_up_native(CODE + 0x100, 0, 0);
	unwind_files[1].rows = unwind_row_count;
	native_stack[0] = LIBRARY + 0x205;	/* CFA 1 */
	native_stack[4] = CODE + 0x345;
}

/* At the end of a system call. */
static void called_with(int number, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth, uint64_t result)
{
	struct pt_regs___kernel regs = { .number = number, .first = first, .second = second, .third = third, .fourth = fourth };
	uint64_t args[] = { (uintptr_t)&regs, result };

	note_mapped(args);
}

static void map_code(uint64_t at, uint64_t size)
{
	called_with(CALL_MMAP, 0, size, 5, 0, at);
}

/* A look at the mappings begins. */
static uint64_t seen_now(void)
{
	return unwind_has_changed ? changes.count : 0;
}

/* What such a look has found is published. */
static void publish(uint64_t seen)
{
	unwind_target.table = 2 << 16 | seen << 32;
	unwind_target.unnoted = (uint32_t)unwind_unnoted;
	unwind_known = true;
}

/* Why the stack of set_up_library() ends. */
static uint32_t end_of_library(void)
{
	*(volatile uint32_t *)(uintptr_t)&native_stacks = 1;
	return native_sample()->native_end;
}

/* Where code was mapped nothing is known until the mappings are read again: the stack ends before that. */
TEST(bpf_does_not_follow_native_stacks_into_what_has_changed)
{
	set_up_library();
	CHECK_INT(end_of_library(), UNWIND_END_OUTERMOST);
	CHECK_INT(native_sample()->nr_native, 3);
	/* Nothing runs where no code is, and what failed has changed nothing. */
	called_with(CALL_MMAP, LIBRARY, 0x1000, 3, 0, LIBRARY);
	called_with(CALL_MMAP, LIBRARY, 0x1000, 5, 0, (uint64_t)-ENOMEM);
	called_with(CALL_MPROTECT, LIBRARY, 0x1000, 3, 0, 0);
	called_with(CALL_MREMAP, CODE, 0x1000, 0x1000, 1, LIBRARY);
	called_with(11, LIBRARY, 0x1000, 5, 0, 0);
	CHECK(!unwind_has_changed);
	/* Another place. */
	map_code(LIBRARY + 0x1000, 0x1000);
	map_code(LIBRARY - 0x1000, 0xfff);
	CHECK_INT(seen_now(), 2);
	for (int i = 0; i < 6; i++) {
		set_up_library();
		if (i == 0)
			map_code(LIBRARY - 0x1000, 0x3000);
		else if (i == 1)
			called_with(CALL_MPROTECT, LIBRARY, 1, 5, 0, 0);
		else if (i == 2)
			called_with(CALL_PKEY_MPROTECT, LIBRARY, 0x1000, 7, 0, 0);
		else if (i == 3)
			called_with(CALL_MREMAP, CODE + 0x10000, 0x1000, 0x1000, 3, LIBRARY);
		else if (i == 4)
			kernel.mapping.vm_flags = VM_EXEC;
		else
			kernel.no_mapping = -EBUSY;
		/* A larger one than before. */
		if (i >= 4)
			called_with(CALL_MREMAP, LIBRARY - 0x1000, 0x1000, 0x2000, 0, LIBRARY - 0x1000);
		CHECK_INT(seen_now(), 1);
		CHECK_INT(end_of_library(), UNWIND_END_CHANGED);
		CHECK_INT(native_sample()->nr_native, 1);
		CHECK(balanced());
		/* A look that has begun since. */
		publish(seen_now());
		CHECK_INT(end_of_library(), UNWIND_END_OUTERMOST);
	}
}

/* What changes after a look has begun is distrusted, whatever was published then, and however late the look's is. */
TEST(bpf_distrusts_what_has_changed_since_a_look_began)
{
	uint64_t seen;

	set_up_library();
	/* The library is in no mappings that are published, the look finds it, and then another one comes. */
	unwind_known = false;
	seen = seen_now();
	map_code(LIBRARY, 0x1000);
	publish(seen);
	CHECK_INT(end_of_library(), UNWIND_END_CHANGED);
	publish(seen_now());
	CHECK_INT(end_of_library(), UNWIND_END_OUTERMOST);
	/* Several: the places between them are distrusted, too. */
	set_up_library();
	map_code(CODE + 0x10000, 0x1000);
	seen = seen_now();
	map_code(LIBRARY + 0x1000, 0x1000);
	publish(seen);
	CHECK_INT(end_of_library(), UNWIND_END_OUTERMOST);
	publish(0);
	CHECK_INT(end_of_library(), UNWIND_END_CHANGED);
	publish(seen_now());
	CHECK_INT(end_of_library(), UNWIND_END_OUTERMOST);
}

/* Of more changes than are kept nobody knows where they were. */
TEST(bpf_distrusts_everything_after_many_changes)
{
	set_up_library();
	for (uint32_t i = 0; i < 10 * UNWIND_CHANGES; i++)
		map_code(LIBRARY + 0x1000, 0x1000);
	publish(9 * UNWIND_CHANGES);
	CHECK_INT(end_of_library(), UNWIND_END_OUTERMOST);
	publish(9 * UNWIND_CHANGES - 1);
	CHECK_INT(end_of_library(), UNWIND_END_CHANGED);
	CHECK_INT(native_sample()->nr_native, 0);
	/* One that is about to be written, or that one before has written late. */
	publish(9 * UNWIND_CHANGES);
	changes.list[3].to -= UNWIND_CHANGES;
	CHECK_INT(end_of_library(), UNWIND_END_CHANGED);
	CHECK_INT(native_sample()->nr_native, 0);
	changes.list[3].to += UNWIND_CHANGES;
	changes.list[3].from -= UNWIND_CHANGES;
	CHECK_INT(end_of_library(), UNWIND_END_CHANGED);
	/* Their number has 32 bits beside the mappings. */
	changes.list[3].from += UNWIND_CHANGES;
	changes.count += 0xffffffffull - 10 * UNWIND_CHANGES;
	publish(changes.count & 0xffffffff);
	map_code(LIBRARY + 0x1000, 0x1000);
	map_code(LIBRARY + 0x1000, 0x1000);
	CHECK_INT(end_of_library(), UNWIND_END_OUTERMOST);
	map_code(LIBRARY, 0x1000);
	CHECK_INT(end_of_library(), UNWIND_END_CHANGED);
	unwind_has_changed = false;
}

/* More processes than there is room for. */
TEST(bpf_distrusts_everything_if_a_change_was_not_noted)
{
	set_up_library();
	no_room_for_changes = true;
	map_code(CODE + 0x10000, 0x1000);
	CHECK(!unwind_has_changed);
	CHECK_INT(end_of_library(), UNWIND_END_CHANGED);
	CHECK_INT(native_sample()->nr_native, 0);
	publish(0);
	CHECK_INT(end_of_library(), UNWIND_END_OUTERMOST);
	unwind_unnoted = 0;
}

/* The JIT's code is in no mapping that is looked up. */
TEST(bpf_does_not_note_code_of_the_jit)
{
	set_up_library();
	section.jit_start = LIBRARY;
	section.jit_end = LIBRARY + 0x1000;
	section.jit_flags = RB_DEBUG_EXT_JIT_FRAME_POINTER;
	target.jit_flags = offsetof(struct rb_debug_ext_section, jit_flags);
	called_with(CALL_MPROTECT, LIBRARY, 0x1000, 5, 0, 0);
	CHECK_INT(seen_now(), 0);
	called_with(CALL_MPROTECT, LIBRARY, 0x1001, 5, 0, 0);
	called_with(CALL_MPROTECT, LIBRARY - 0x1000, 0x1000, 5, 0, 0);
	CHECK_INT(seen_now(), 2);
	section.jit_flags = 0;
	called_with(CALL_MPROTECT, LIBRARY, 0x1000, 5, 0, 0);
	CHECK_INT(seen_now(), 3);
	section.jit_start = section.jit_end = 0;
}

/* -- the native stack of one fiber, and the Ruby frames of another ------------------------------ */

static void move_vm_stack(uint64_t to)
{
	uint64_t frames = ec->cfp - ec->vm_stack;

	CHECK(to + ec->vm_stack_size * 8 <= AT(sizeof(native_stack) / sizeof(native_stack[0])));
	memmove((void *)(uintptr_t)to, (void *)(uintptr_t)ec->vm_stack, ec->vm_stack_size * 8);
	ec->vm_stack = to;
	ec->cfp = to + frames;
}

/* A function that a fiber's first one has called, whose stack ends at word 9; the VM stack of the EC begins `off` bytes
 * behind. */
static const struct sample_machine *sample_of_fiber(uint32_t flags, int64_t off)
{
	set_up_native(CODE + 0x100, 0, 0);
	native_stack[0] = CODE + 0x205;
	native_stack[4] = CODE + 0x206;
	set_ec_flags(flags);
	move_vm_stack(AT(9) + (uint64_t)off);
	return native_sample();
}

TEST(bpf_does_not_take_the_stack_of_another_fiber)
{
	const struct sample_machine *m = sample_of_fiber(0, 0);

	CHECK_INT(m->native_end, UNWIND_END_OUTERMOST);
	CHECK_INT(m->nr_native, 3);
	CHECK_INT(sample_of_fiber(0, 48)->native_end, UNWIND_END_OUTERMOST);
	/* The EC is another fiber's, above or below, or the thread's own. */
	CHECK_INT(sample_of_fiber(0, 64)->native_end, UNWIND_END_FIBER);
	CHECK_INT(sample_of_fiber(0, -8)->native_end, UNWIND_END_FIBER);
	CHECK_INT(sample_of_fiber(0, 1 << 20)->native_end, UNWIND_END_FIBER);
	CHECK_INT(sample_of_fiber(1, 0)->native_end, UNWIND_END_FIBER);
	CHECK_INT(sample_of_fiber(1, 0)->nr_native, 0);
	CHECK(balanced());
	/* The thread's own stack, and the EC of a fiber. */
	set_up_native(CODE + 0x342, 0, 0);
	CHECK_INT(native_sample()->native_end, UNWIND_END_OUTERMOST);
	set_up_native(CODE + 0x342, 0, 0);
	set_ec_flags(0);
	CHECK_INT(native_sample()->native_end, UNWIND_END_FIBER);
	/* Whose EC it is is not known. */
	set_up_native(CODE + 0x342, 0, 0);
	section.ec_slots_end = 1;
	CHECK_INT(native_sample()->native_end, UNWIND_END_FIBER);
}

/* Three functions, and a sample of theirs. */
static void check_native(const struct walk_scratch *s)
{
	const struct sample_machine *m = sample__machine(&s->event);

	CHECK(m);
	CHECK_INT(m->native_end, UNWIND_END_OUTERMOST);
	CHECK_INT(m->nr_native, 3);
	CHECK_INT(s->users, 0);
	CHECK(balanced());
}

static void set_up_three(void)
{
	set_up_native(CODE + 0x100, 0, 0);
	native_stack[0] = CODE + 0x205;
	native_stack[4] = CODE + 0x345;
}

TEST(bpf_events_calls_and_allocations_have_native_stacks)
{
	uint64_t args[2];
	struct pt_regs___kernel regs = { .number = 20 };

	set_up_three();
	choose_event(0, 1, 1);
	native_trace_0(&context);
	check_native(&cpu_scratch);
	set_up_three();
	native_perf_0(&context);
	check_native(&cpu_scratch);
	set_up_three();
	registers = (bpf_user_pt_regs_t){ .ip = CODE + 0x100 };
	native_probe_0(&registers);
	check_native(&cpu_scratch);
	/* Of another program that is interrupted there. */
	set_up_three();
	cpu_scratch.users = 1;
	native_probe_0(&registers);
	CHECK_INT(source_counters.lost[LOSS_SCRATCH_BUSY], 1);
	CHECK_INT(cpu_scratch.users, 1);
	cpu_scratch.users = 0;
	args[0] = (uintptr_t)&regs;
	args[1] = 20;
	set_up_three();
	choose_call(20);
	syscall_enter_native(args);
	check_native(&cpu_scratch);
	set_up_three();
	syscall_begin_native(args);
	CHECK_INT(source_counters.taken, 0);
	syscall_end_native(args);
	check_native(&cpu_scratch);
	set_up_three();
	allocate(40, 100);
	CHECK(!sample__machine(&alloc_event));
	allocated_native(&registers);
	check_native(&cpu_scratches[CPUS]);
	malloced_native(&registers);
	check_native(&cpu_scratches[CPUS]);
	CHECK_INT(alloc_event.state, ALLOC_MALLOC);
	CHECK_INT(source_counters.whole, 3);
	*(volatile uint32_t *)(uintptr_t)&native_stacks = 0;
}

/* For test_sched.c: the current thread is one of a target, in three functions; its EC has these flags. */
void bpf_set_up_wait(uint32_t ec_flags)
{
	set_up_native(CODE + 0x100, 0, 0);
	native_stack[0] = CODE + 0x205;
	native_stack[4] = CODE + 0x345;
	set_ec_flags(ec_flags);
	/* What a walk before has left there. */
	memset(&cpu_scratches[CPUS].ec, 0xff, sizeof(cpu_scratches[CPUS].ec));
}

/* What was sent of it last. */
const struct sample_event *bpf_wait(void)
{
	*(volatile uint32_t *)(uintptr_t)&native_stacks = 0;
	return &cpu_scratches[CPUS].event;
}

/* -- functions of the kernel ----------------------------------------------------------------- */

static void want_kernel(uint32_t wanted)
{
	*(volatile uint32_t *)(uintptr_t)&kernel_stacks = wanted;
}

static void set_up_kernel(uint32_t frames, long functions)
{
	set_up(frames);
	want_kernel(1);
	kernel.stack_count = functions;
	for (long i = 0; i < functions; i++)
		kernel.stack[i] = 0xffffffff81000000ull + (uint64_t)i;
}

static const struct sample_machine *sent_machine(void)
{
	return sample__machine(&cpu_scratch.event);
}

TEST(bpf_sends_functions_of_the_kernel)
{
	set_up_kernel(10, 5);
	context.regs.user = 0;
	sample(&context);
	CHECK_INT(cpu_scratch.event.flags, SAMPLE_IN_KERNEL | SAMPLE_HAS_MACHINE);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event) + 10 * sizeof(struct sample_frame) + SAMPLE_MACHINE_HEAD + 5 * 8);
	CHECK(sent_machine() == (const void *)&cpu_scratch.frames[10]);
	CHECK_INT(sent_machine()->nr_kernel, 5);
	CHECK(sent_machine()->address[4] == kernel.stack[4]);
	/* What it had is not that of the next sample. */
	kernel.stack_count = 0;
	sample(&context);
	CHECK_INT(cpu_scratch.event.flags, SAMPLE_IN_KERNEL);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event) + 10 * sizeof(struct sample_frame));
	kernel.stack_count = -1;
	sample(&context);
	CHECK_INT(cpu_scratch.event.flags, SAMPLE_IN_KERNEL);
	CHECK_INT(source_counters.whole, 3);
	CHECK(balanced());
	want_kernel(0);
	kernel.stack_count = 5;
	sample(&context);
	CHECK_INT(cpu_scratch.event.flags, SAMPLE_IN_KERNEL);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event) + 10 * sizeof(struct sample_frame));
}

TEST(bpf_has_room_for_functions_of_the_kernel)
{
	set_up_kernel(20000, KERNEL_FRAMES_MAX + 20);
	sample(&context);
	CHECK_INT(sent_machine()->nr_kernel, KERNEL_FRAMES_MAX);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event) + SAMPLE_FRAMES_MAX * sizeof(struct sample_frame) +
		  SAMPLE_MACHINE_HEAD + KERNEL_FRAMES_MAX * sizeof(uint64_t));
	CHECK(sent_machine()->address[KERNEL_FRAMES_MAX - 1] == kernel.stack[KERNEL_FRAMES_MAX - 1]);
	/* Of a thread without Ruby code. */
	thread_area[32 + FAKE_TLS / 8] = 0;
	sample(&context);
	CHECK_INT(cpu_scratch.event.kind, SAMPLE_NATIVE);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event) + SAMPLE_MACHINE_HEAD + KERNEL_FRAMES_MAX * sizeof(uint64_t));
	want_kernel(0);
	CHECK(balanced());
}

TEST(bpf_events_and_calls_have_functions_of_the_kernel)
{
	set_up_kernel(3, 4);
	choose_event(0, 1, 1);
	event_trace_0(&context);
	CHECK_INT(sent_machine()->nr_kernel, 4);
	kernel.stack_count = 0;
	registers = (bpf_user_pt_regs_t){ .ip = 0x55 };
	event_probe_0(&registers);
	CHECK(!sent_machine());
	want_kernel(0);
}

/* -- events ---------------------------------------------------------------------------------- */

TEST(bpf_events_say_which_they_are)
{
	set_up(10);
	choose_event(0, 1, 1);
	choose_event(7, 1000, 1);
	event_perf_7(&context);
	CHECK_INT(cpu_scratch.event.source, SOURCE_EVENT);
	CHECK_INT(cpu_scratch.event.detail, 7);
	CHECK_INT(cpu_scratch.event.count, 1000);
	CHECK_INT(cpu_scratch.event.value, 1000);
	CHECK_INT(cpu_scratch.event.ip, 0x1234);
	kernel.user_ip = 0x99;
	event_trace_0(NULL);
	CHECK_INT(cpu_scratch.event.detail, 0);
	CHECK_INT(cpu_scratch.event.count, 1);
	CHECK_INT(cpu_scratch.event.ip, 0x99);
	registers = (bpf_user_pt_regs_t){ .ip = 0x55 };
	event_probe_0(&registers);
	CHECK_INT(cpu_scratch.event.ip, 0x55);
	CHECK_INT(source_counters.whole, 3);
	CHECK_INT(cpu_scratch.users, 0);
	CHECK(balanced());
}

TEST(bpf_every_third_event_is_a_sample)
{
	set_up(10);
	choose_event(1, 3, 3);
	for (int i = 0; i < 8; i++)
		event_trace_1(NULL);
	CHECK_INT(source_counters.whole, 2);
	/* Those of other processes do not count. */
	target_key.pid++;
	event_trace_1(NULL);
	target_key.pid--;
	CHECK_INT(source_counters.whole, 2);
	event_trace_1(NULL);
	CHECK_INT(source_counters.whole, 3);
}
