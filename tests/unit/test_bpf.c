/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF program, compiled for the host, with kernel_fake.h as its kernel. */
#include "test.h"

#include <errno.h>

#include "fake.h"
#include "ruby/layout.h"

#define EXTPROF_KERNEL "kernel_fake.h"
#include "bpf/alloc.bpf.c"
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

static struct usdt_arguments place;
static struct usdt_key place_key;
static struct gc_pause gc_pause;
static bool gc_known;
static struct walk_scratch cpu_scratches[CPUS * 2];
#define cpu_scratch (cpu_scratches[kernel.cpu])
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
	*(volatile uint64_t *)(uintptr_t)&period = 100;
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
	*(volatile uint64_t *)(uintptr_t)&period = 0;
}

static void set_tick(uint32_t rate, uint32_t hz)
{
	*(volatile uint32_t *)(uintptr_t)&tick_rate = rate;
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
	alloc_paused = 1;
	allocate(40, 100);
	CHECK_INT(source_counters.taken, 0);
	alloc_paused = 0;
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

static void set_up_gc(void)
{
	set_up(10);
	gc_pause = (struct gc_pause){ .known = 5 };
	gc_known = true;
	gc_partial = 0;
	gc_paused = 0;
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
	gc_paused = 1;
	phase(RB_DEBUG_EXT_GC_MARK, 6400, 6);
	gc_paused = 0;
	phase(RB_DEBUG_EXT_GC_NONE, 6400, 6);
	CHECK_INT(alloc_event.value, 12800);
	CHECK_INT(gc__mark_ns(&alloc_event), 6400);
	gc_paused = 1;
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
	CHECK(sent_machine()->kernel[4] == kernel.stack[4]);
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
		  sizeof(struct sample_machine));
	CHECK(sent_machine()->kernel[KERNEL_FRAMES_MAX - 1] == kernel.stack[KERNEL_FRAMES_MAX - 1]);
	/* Of a thread without Ruby code. */
	thread_area[32 + FAKE_TLS / 8] = 0;
	sample(&context);
	CHECK_INT(cpu_scratch.event.kind, SAMPLE_NATIVE);
	CHECK_INT(kernel.sent_size, sizeof(struct sample_event) + sizeof(struct sample_machine));
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
