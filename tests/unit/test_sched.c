/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF programs that measure waits, with kernel_fake.h as their kernel: what is accounted, and as what. */
#include "test.h"

#include <errno.h>
#include <stddef.h>

#define EXTPROF_KERNEL "kernel_fake.h"
#define EXTPROF_KERNEL_FILE "kernel_fake.h"
#include "bpf/sched.bpf.c"

#define TID 4712
/* As test_bpf.c has it. */
#define PROCESS 31

uint64_t bpf_lost(enum loss_reason reason);
void bpf_set_up_wait(uint32_t ec_flags);
const struct sample_event *bpf_wait(void);

static struct sched_thread thread;
static bool followed;
static struct task_struct task, other;
static struct pt_regs___kernel registers, no_call = { .number = -1 };

static void *lookup(void *map, const void *key)
{
	return map == &threads && followed && *(const uint32_t *)key == TID ? &thread : NULL;
}

static long update(void *map, const void *key, const void *value)
{
	if (map != &threads || *(const uint32_t *)key != TID)
		return -E2BIG;
	followed = value != NULL;
	return 0;
}

static void begin(uint32_t off)
{
	memset(&kernel, 0, sizeof(kernel));
	memset(&thread, 0, sizeof(thread));
	kernel.lookup = lookup;
	kernel.update = update;
	kernel.now = 1000;
	kernel.pid_tgid = (uint64_t)TID << 32 | TID;
	task = (struct task_struct){ .pid = TID, .tgid = TID, .registers = &registers };
	other = (struct task_struct){ .pid = 1, .tgid = 1, .registers = &no_call };
	registers = (struct pt_regs___kernel){ .number = -1 };
	kernel.task = task;
	thread.account.process = PROCESS;
	thread.account.first = thread.since = kernel.now;
	thread.off = off;
	followed = true;
	((volatile uint8_t *)(uintptr_t)call_kinds)[0] = CALL_FD;
	wait_quantum = 0;
	*(volatile uint32_t *)(uintptr_t)&waits_end_on_cpu = 0;
	*(volatile uint32_t *)(uintptr_t)&states_sampled = ~0u;
}

/* The same on a kernel that tells in a thread that it has got a CPU. */
static void begin_on_cpu(uint32_t off)
{
	begin(off);
	*(volatile uint32_t *)(uintptr_t)&waits_end_on_cpu = 1;
}

/* The thread leaves the CPU after `ran` ns. */
static void out(uint64_t ran, bool preempted, uint32_t state)
{
	uint64_t args[] = { preempted, (uintptr_t)&task, (uintptr_t)&other };

	kernel.now += ran;
	task.state = state;
	waits_switch(args);
	task.state = 0;
}

static void wake(uint64_t after)
{
	uint64_t args[] = { (uintptr_t)&task };

	kernel.now += after;
	waits_wakeup(args);
}

static void in(uint64_t after)
{
	uint64_t args[] = { 0, (uintptr_t)&other, (uintptr_t)&task };

	kernel.now += after;
	waits_switch(args);
}

/* It has got a CPU, and is told so. */
static void on_cpu(bool another_ran)
{
	uint64_t args[] = { another_ran };

	kernel.task = task;
	waits_on_cpu(args);
}

static void call_ends(void)
{
	uint64_t args[] = { 0, 0 };

	waits_call_ends(args);
}

/* Its life is in its states, and what is not settled yet. */
static bool whole(void)
{
	uint64_t sum = thread.blocked + thread.runnable + thread.stopped;

	for (int i = 0; i < STATE_ROOM; i++)
		sum += thread.account.time[i];
	return sum == thread.since - thread.account.first;
}

TEST(sched_a_wait_in_a_call)
{
	begin(OFF_NOT);
	registers.number = 0;
	out(50, false, 1);
	wake(200);
	in(30);
	CHECK_INT(thread.account.time[STATE_RUNNING], 50);
	CHECK_INT(thread.blocked, 200);
	CHECK_INT(thread.runnable, 30);
	/* It is not known yet what the call is. */
	CHECK(whole());
	call_ends();
	CHECK(whole());
	/* The target is not known here: what Ruby says is not either, and the process is not sampled. */
	CHECK_INT(thread.account.time[STATE_IO] + thread.account.time[STATE_RUNNABLE] + thread.blocked +
		  thread.runnable, 230);
}

TEST(sched_preempted_in_user_space)
{
	begin(OFF_NOT);
	out(10, true, 1);	/* the state is that of who is about to sleep */
	in(70);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 70);
	CHECK_INT(thread.account.waits[STATE_RUNNABLE], 1);
	CHECK_INT(thread.account.time[STATE_FAULT], 0);
	CHECK(whole());
}

TEST(sched_page_fault_and_stop)
{
	begin(OFF_NOT);
	out(10, false, 2);
	wake(100);
	in(5);
	CHECK_INT(thread.account.time[STATE_FAULT], 100);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 5);
	out(10, false, 4);
	wake(1000);
	in(0);
	CHECK_INT(thread.account.time[STATE_STOPPED], 1000);
	CHECK(whole());
}

TEST(sched_woken_before_it_left)
{
	begin(OFF_NOT);
	wake(10);
	CHECK_INT(thread.woken, 0);
	registers.number = 0;
	out(0, false, 1);
	in(40);		/* the wakeup was not seen: all of it is the wait */
	CHECK_INT(thread.blocked, 40);
	CHECK_INT(thread.runnable, 0);
	CHECK(whole());
}

TEST(sched_was_there_before_the_recording)
{
	/* Blocked outside of a call: nobody has read the stack. */
	begin(OFF_UNKNOWN);
	wake(100);
	in(1);
	CHECK_INT(thread.account.time[STATE_FAULT], 100);
	CHECK_INT(bpf_lost(LOSS_NO_STACK), 1);
	loss_hit[LOSS_NO_STACK]++;
	CHECK(whole());
	/* In a call. */
	begin(OFF_UNKNOWN);
	registers.number = 0;
	wake(100);
	in(1);
	CHECK_INT(thread.blocked, 100);
	CHECK_INT(thread.call_from, 1000);
	CHECK(whole());
	/* It ran. */
	begin(OFF_UNKNOWN);
	registers.number = 0;
	out(500, false, 1);
	CHECK_INT(thread.account.time[STATE_RUNNING], 500);
	CHECK_INT(thread.off, OFF_YES);
	CHECK(whole());
}

TEST(sched_several_waits_in_a_call)
{
	begin(OFF_NOT);
	registers.number = 0;
	for (int i = 0; i < 3; i++) {
		out(10, false, 1);
		wake(100);
		in(3);
	}
	CHECK_INT(thread.blocked, 300);
	CHECK_INT(thread.runnable, 9);
	CHECK_INT(thread.call_from, 1010);
	CHECK_INT(thread.to - thread.from, 100);
	CHECK(whole());
}

/* Nothing of the wait is left for the end of the call. */
TEST(sched_on_cpu_a_wait_in_a_call)
{
	begin_on_cpu(OFF_NOT);
	registers.number = 0;
	out(50, false, 1);
	wake(200);
	in(30);
	CHECK_INT(thread.blocked, 200);
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_IO], 200);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 30);
	CHECK_INT(thread.blocked + thread.runnable, 0);
	CHECK_INT(thread.parts, 2);
	CHECK_INT(thread.part[0].state, STATE_IO);
	CHECK_INT(thread.part[0].value, 200);
	CHECK_INT(thread.part[1].state, STATE_RUNNABLE);
	CHECK_INT(thread.part[1].value, 30);
	CHECK(whole());
	/* The next wait of the same call is another one. */
	out(10, false, 1);
	wake(5);
	in(1);
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_IO], 205);
	CHECK_INT(thread.account.waits[STATE_IO], 2);
	CHECK_INT(thread.part[0].value, 5);
	CHECK(whole());
}

TEST(sched_on_cpu_outside_of_a_call)
{
	uint64_t lost = bpf_lost(LOSS_NO_STACK);

	begin_on_cpu(OFF_NOT);
	out(10, true, 1);
	CHECK_INT(thread.sent, 0);
	in(70);
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 70);
	CHECK_INT(thread.parts, 1);
	CHECK_INT(thread.part[0].state, STATE_RUNNABLE);
	out(10, false, 2);
	wake(100);
	in(5);
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_FAULT], 100);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 75);
	CHECK_INT(thread.parts, 2);
	out(10, false, 4);
	wake(1000);
	in(0);
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_STOPPED], 1000);
	CHECK_INT(thread.part[0].state, STATE_STOPPED);
	CHECK(whole());
	/* A thread that was blocked before the recording has its stack now. */
	begin_on_cpu(OFF_UNKNOWN);
	wake(100);
	in(1);
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_FAULT], 100);
	CHECK_INT(thread.parts, 2);
	CHECK_INT(bpf_lost(LOSS_NO_STACK), lost);
	CHECK(whole());
}

TEST(sched_on_cpu_nothing_ran_meanwhile)
{
	begin_on_cpu(OFF_NOT);
	out(10, true, 1);
	in(70);
	on_cpu(false);
	CHECK_INT(thread.runnable, 70);
	on_cpu(true);
	CHECK_INT(thread.runnable, 0);
	/* An idle CPU. */
	out(10, true, 1);
	kernel.pid_tgid = 0;
	on_cpu(true);
	CHECK_INT(thread.off, OFF_YES);
	CHECK(whole());
}

/* The kernel does not tell in a new thread that it has got its first CPU.  Its wait has no stack: that of the next one
 * is another. */
TEST(sched_on_cpu_first_wait)
{
	begin_on_cpu(OFF_YES);
	thread.out = OUT_RUNNABLE;
	registers.number = 0;
	in(70);
	CHECK_INT(thread.runnable, 70);
	out(10, false, 1);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 70);
	CHECK_INT(thread.runnable, 0);
	wake(300);
	in(4);
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_IO], 300);
	CHECK_INT(thread.part[1].value, 4);
	CHECK(whole());
}

/* The switch was not told: it is found running. */
TEST(sched_on_cpu_unseen_run)
{
	begin_on_cpu(OFF_NOT);
	task.se.sum_exec_runtime = 5000;
	out(10, true, 0);
	task.se.sum_exec_runtime += 300;
	kernel.now += 370;
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 70);
	CHECK_INT(thread.off, OFF_NOT);
	CHECK(whole());
}

/* Only these are samples.  The account has all. */
TEST(sched_states_that_are_sampled)
{
	begin_on_cpu(OFF_NOT);
	*(volatile uint32_t *)(uintptr_t)&states_sampled = 1u << STATE_RUNNABLE;
	registers.number = 0;
	out(50, false, 1);
	wake(200);
	in(30);
	on_cpu(true);
	CHECK_INT(thread.account.time[STATE_IO], 200);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 30);
	CHECK_INT(thread.parts, 1);
	CHECK_INT(thread.part[0].state, STATE_RUNNABLE);
	CHECK_INT(thread.owed[STATE_IO], 0);
}

/* Of the time that it was blocked, since when was it ready? */
TEST(sched_part_that_waits_for_the_gvl)
{
	struct thread_head head = { .state = RB_DEBUG_EXT_THREAD_READY };

	begin(OFF_NOT);
	thread.blocked = 100;
	thread.call_from = thread.from = 1000;
	thread.to = 1100;
	head.ready_at = 1060;
	CHECK_INT(gvl_part(&thread, &head), 40);
	head.ready_at = 900;
	CHECK_INT(gvl_part(&thread, &head), 100);
	head.ready_at = 1100;
	CHECK_INT(gvl_part(&thread, &head), 0);
	head.ready_at = 2000;
	CHECK_INT(gvl_part(&thread, &head), 0);
	/* Woken twice: it was ready in the second part. */
	thread.blocked = 150;
	thread.call_from = 800;
	head.ready_at = 900;
	CHECK_INT(gvl_part(&thread, &head), 100);
}

/* The kernel did not tell that it got a CPU: how long it has run says when. */
TEST(sched_unseen_run)
{
	struct sched_thread thread = { .since = 1000, .ran = 500, .off = OFF_YES };

	CHECK_INT(ran_unseen(&thread, 500, 2000), 0);
	CHECK_INT(ran_unseen(&thread, 700, 2000), 200);
	/* Never longer than it was off, and not by a count that is older. */
	CHECK_INT(ran_unseen(&thread, 1600, 2000), 1000);
	CHECK_INT(ran_unseen(&thread, 400, 2000), 0);
	CHECK_INT(ran_unseen(&thread, 700, 900), 0);
	/* Of a thread that was not seen to leave. */
	thread.ran = 0;
	CHECK_INT(ran_unseen(&thread, 700, 2000), 0);
}

/* It leaves twice, and nobody tells that it ran in between: the wait and the run are accounted apart. */
TEST(sched_unseen_run_is_accounted)
{
	begin(OFF_NOT);
	task.se.sum_exec_runtime = 5000;
	out(10, true, 0);
	/* It waits for 70 ns and runs for 300. */
	task.se.sum_exec_runtime += 300;
	out(370, true, 0);
	in(20);
	CHECK_INT(thread.account.time[STATE_RUNNABLE], 70 + 20);
	CHECK_INT(thread.account.time[STATE_RUNNING], 10 + 300);
	CHECK_INT(thread.account.waits[STATE_RUNNABLE], 2);
}

/* Short waits: what is chosen stands for all, and the rest is owed. */
TEST(sched_short_waits_stand_for_others)
{
	uint64_t sum = 0, waits = 0, given = 0;

	begin(OFF_NOT);
	wait_quantum = 1000;
	for (uint64_t i = 0; i < 500; i++) {
		uint64_t ns = i % 37 * 40 + 1;

		thread.parts = 0;
		given += ns;
		choose(&thread, STATE_SLEEP, ns);
		if (!thread.parts)
			continue;
		sum += thread.part[0].value;
		waits += thread.part[0].count;
		CHECK(thread.part[0].value == (ns < 1000 ? 1000 : ns));
	}
	CHECK_INT(sum + thread.owed[STATE_SLEEP], given);
	CHECK_INT(waits + thread.owed_waits[STATE_SLEEP], 500);
	CHECK(thread.owed[STATE_SLEEP] < 1000);
	wait_quantum = 0;
}

TEST(sched_the_end_of_a_thread)
{
	struct account_event e;
	uint64_t args[] = { 0 };

	begin(OFF_NOT);
	registers.number = 0;
	out(50, false, 1);
	wake(200);
	in(30);
	kernel.now += 20;
	waits_exit(args);
	CHECK(!followed);
	CHECK_INT(kernel.submitted, 1);
	memcpy(&e, kernel.reserved, sizeof(e));
	CHECK_INT(e.e.kind, SAMPLE_ACCOUNT);
	CHECK_INT(e.account.until - e.account.first, 300);
	CHECK_INT(e.account.time[STATE_RUNNING], 70);
	CHECK_INT(e.account.time[STATE_NATIVE], 200);
	CHECK_INT(e.account.time[STATE_RUNNABLE], 30);
	/* No room for it: that is counted. */
	begin(OFF_NOT);
	kernel.ring_full = 1;
	accounts_lost = 0;
	waits_exit(args);
	CHECK_INT(accounts_lost, 1);
	CHECK(!followed);
}

/* A note belongs to one wait: the count of changes of the thread's state tells. */
TEST(sched_notes_of_another_wait)
{
	struct wait_details a = {
		.serial = 5, .holder = { .kind = PEER_THREAD, .seq = 10 }, .gvl_holder = { .kind = PEER_THREAD, .seq = 11 },
	};

	CHECK(details__has_holder(&a, 5, RB_DEBUG_EXT_THREAD_SLEEPING, 10));
	CHECK(details__has_holder(&a, 5, RB_DEBUG_EXT_THREAD_READY, 11));
	CHECK(!details__has_holder(&a, 5, RB_DEBUG_EXT_THREAD_SLEEPING, 13));
	CHECK(!details__has_holder(&a, 5, RB_DEBUG_EXT_THREAD_READY, 14));
	CHECK(!details__has_holder(&a, 5, RB_DEBUG_EXT_THREAD_READY, 9));
	CHECK(!details__has_holder(&a, 6, RB_DEBUG_EXT_THREAD_SLEEPING, 10));
	CHECK(details__has_gvl_holder(&a, 5, RB_DEBUG_EXT_THREAD_READY, 11));
	CHECK(details__has_gvl_holder(&a, 5, RB_DEBUG_EXT_THREAD_READY, 12));
	CHECK(!details__has_gvl_holder(&a, 5, RB_DEBUG_EXT_THREAD_READY, 13));
	CHECK(!details__has_gvl_holder(&a, 5, RB_DEBUG_EXT_THREAD_READY, 10));
	CHECK(!details__has_gvl_holder(&a, 5, RB_DEBUG_EXT_THREAD_SLEEPING, 11));
	/* A note without a count belongs to no wait. */
	a.holder.seq = a.gvl_holder.seq = 0;
	CHECK(!details__has_holder(&a, 5, RB_DEBUG_EXT_THREAD_SLEEPING, 0));
	CHECK(!details__has_gvl_holder(&a, 5, RB_DEBUG_EXT_THREAD_READY, 0));
}

/* -- looks at who has a GVL ---------------------------------------------------------------------- */

static struct gvl_watch watched;
static struct hold_event held;

static void *lookup_watch(void *map, const void *key)
{
	const struct gvl_key *whose = key;

	return map == &gvl_looks && whose->process == PROCESS && whose->ractor == 1 ? &watched : NULL;
}

/* The number of the event that the look made; 0: none. */
static uint64_t look(uint64_t after, uint32_t reason, uint64_t thread, uint64_t pc)
{
	struct target_config cfg = { .process = PROCESS, .vm = 3 };
	struct wait_peer p = { .kind = PEER_THREAD, .thread = thread, .id = 7, .ruby = { { .id = 7, .pc = pc } } };

	kernel.now += after;
	memset(kernel.reserved, 0, sizeof(kernel.reserved));
	look__note(&cfg, 0, &p, reason, 99);
	memcpy(&held, kernel.reserved, sizeof(held));
	return held.e.kind == SAMPLE_HOLD ? held.e.detail : 0;
}

/* A look of the timer is sent at once, but not again if it is the same; and what is missing is seen by the numbers. */
TEST(sched_looks_at_the_gvl)
{
	begin(OFF_NOT);
	kernel.lookup = lookup_watch;
	memset(&watched, 0, sizeof(watched));
	CHECK_INT(look(10, LOOK_CLOCK, 5, 800), 1);
	CHECK(held.e.process == PROCESS && held.e.vm == 3 && held.e.extra == 1 && held.e.state == LOOK_CLOCK && held.e.ip == 99 &&
	      held.e.time == kernel.now && held.peer.thread == 5 && held.peer.ruby[0].pc == 800);
	CHECK_INT(look(10, LOOK_CLOCK, 5, 800), 0);
	CHECK_INT(look(10, LOOK_CLOCK, 5, 808), 2);
	CHECK_INT(look(10, LOOK_CLOCK, 6, 808), 3);
	kernel.ring_full = 1;
	CHECK_INT(look(10, LOOK_CLOCK, 6, 816), 0);
	kernel.ring_full = 0;
	CHECK_INT(look(10, LOOK_CLOCK, 6, 824), 5);
	/* Another program is at it. */
	watched.users = 1;
	CHECK_INT(look(10, LOOK_CLOCK, 6, 832), 0);
	CHECK_INT(watched.users, 1);
	watched.users = 0;
	CHECK_INT(look(10, LOOK_CLOCK, 6, 832), 6);
}

/* Turns that are over soon are not sent: there can be too many. */
TEST(sched_short_turns_of_the_gvl)
{
	struct target_config cfg = { .process = PROCESS, .vm = 3 };
	uint64_t at;

	begin(OFF_NOT);
	kernel.lookup = lookup_watch;
	memset(&watched, 0, sizeof(watched));
	CHECK_INT(look(10, LOOK_TURN, 5, 800), 0);
	CHECK_INT(look(HOLD_SHORT - 1, LOOK_TURN, 6, 800), 0);
	at = kernel.now;
	/* It had it long enough. */
	CHECK_INT(look(HOLD_SHORT, LOOK_LEAVES, 7, 800), 1);
	CHECK(held.peer.thread == 6 && held.e.time == at && held.e.state == LOOK_TURN);
	/* When a wait is over, who had the GVL until then is sent, if it was for long. */
	look__settle(&cfg, 0);
	CHECK_INT(watched.number, 1);
	kernel.now += HOLD_SHORT;
	look__settle(&cfg, 2);
	CHECK_INT(watched.number, 1);
	look__settle(&cfg, 0);
	memcpy(&held, kernel.reserved, sizeof(held));
	CHECK(watched.number == 2 && held.e.detail == 2 && held.peer.thread == 7);
	look__settle(&cfg, 0);
	CHECK_INT(watched.number, 2);
	CHECK_INT(look(HOLD_SHORT, LOOK_TURN, 8, 800), 0);
}

/* -- native stacks ----------------------------------------------------------------------------- */

/* A thread of test_bpf.c waits in a call, or in none; 1: its EC is its root fiber's. */
static void set_up_native_wait(uint32_t on_cpu, int call, uint32_t ec_flags)
{
	begin(OFF_NOT);
	bpf_set_up_wait(ec_flags);
	kernel.lookup = lookup;
	kernel.update = update;
	kernel.pid_tgid = (uint64_t)TID << 32 | TID;
	kernel.task.pid = kernel.task.tgid = TID;
	kernel.task.registers = &registers;
	task = kernel.task;
	registers.number = call;
	thread.account.tid = TID;
	thread.account.first = thread.since = kernel.now;
	*(volatile uint32_t *)(uintptr_t)&waits_end_on_cpu = on_cpu;
}

/* It leaves the CPU, and has one again, or its call ends. */
static const struct sample_machine *native_wait(uint32_t on_cpu, int call, uint32_t ec_flags)
{
	uint64_t switch_args[] = { 0, (uintptr_t)&task, (uintptr_t)&other }, args[] = { 1, 0 };

	set_up_native_wait(on_cpu, call, ec_flags);
	kernel.now += 10;
	task.state = 1;
	waits_switch_native(switch_args);
	task.state = 0;
	if (!on_cpu && call < 0)
		return sample__machine(bpf_wait());
	wake(200);
	in(30);
	if (on_cpu)
		waits_on_cpu_native(args);
	else
		waits_call_ends_native(args);
	return sample__machine(bpf_wait());
}

TEST(sched_waits_have_native_stacks)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t on_cpu = i & 1;
		int call = i & 2 ? 0 : -1;
		const struct sample_machine *m = native_wait(on_cpu, call, 1);

		CHECK(m);
		CHECK_INT(m->native_end, UNWIND_END_OUTERMOST);
		CHECK_INT(m->nr_native, 3);
		CHECK_INT(bpf_wait()->nr_frames, 3);
		CHECK_INT(bpf_wait()->thread, 77);
		CHECK_INT(bpf_wait()->flags & SAMPLE_WAITS, on_cpu || call == 0 ? 0 : SAMPLE_WAITS);
		CHECK_INT(kernel.sent, 1);
		/* The EC is another fiber's: what an earlier walk has read of an EC is not looked at. */
		m = native_wait(on_cpu, call, 0);
		CHECK_INT(m->native_end, UNWIND_END_FIBER);
		CHECK_INT(m->nr_native, 0);
	}
	/* Without the option there are none. */
	set_up_native_wait(1, 0, 1);
	out(10, false, 1);
	wake(200);
	in(30);
	on_cpu(true);
	CHECK(!sample__machine(bpf_wait()));
	CHECK_INT(bpf_wait()->nr_frames, 3);
}

/* By the names that the kernel gives to files of no file system. */
TEST(sched_who_ended_a_wait)
{
	struct thread_head head = { .serial = 5, .state = RB_DEBUG_EXT_THREAD_READY, .state_seq = 11 };
	struct wait_details a = { .serial = 5, .waker = { .kind = PEER_THREAD, .thread = 8, .seq = 10 },
				.gvl_waker = { .kind = PEER_TASK } };

	/* It waited for another thread, and for the GVL then. */
	waker__settle(&a, &head, 70, 0);
	CHECK(a.waker.kind == PEER_THREAD && a.waker.thread == 8 && a.gvl_waker.kind == PEER_TASK);
	/* That was told of another wait. */
	head.state_seq = 13;
	waker__settle(&a, &head, 70, 0);
	CHECK(a.waker.kind == PEER_UNKNOWN && a.gvl_waker.kind == PEER_TASK);
	/* It did not wait for the GVL. */
	waker__settle(&a, &head, 0, 1);
	CHECK(a.waker.kind == PEER_TASK);
	a.gvl_waker.kind = PEER_INTERRUPT;
	waker__settle(&a, &head, 0, 0);
	CHECK(a.waker.kind == PEER_INTERRUPT);
	waker__settle(&a, &head, 0, 1);
	CHECK(a.waker.kind == PEER_TIMER && a.gvl_waker.kind == PEER_TIMER);
	CHECK(waker__timed_out(CALL_FUTEX, -ETIMEDOUT) && !waker__timed_out(CALL_FUTEX, 0));
	CHECK(waker__timed_out(CALL_POLL, 0) && !waker__timed_out(CALL_POLL, 1) && waker__timed_out(CALL_SLEEP, 0));
	/* The end of a file, or a lock. */
	CHECK(!waker__timed_out(CALL_FD, 0) && !waker__timed_out(CALL_OTHER, 0));
}

TEST(sched_kinds_of_files)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} names[] = {
		{ "[eventfd]", FILE_EVENTFD }, { "[eventpoll]", FILE_EPOLL }, { "[timerfd]", FILE_TIMERFD },
		{ "[signalfd]", FILE_SIGNALFD }, { "[pidfd]\0", FILE_PIDFD }, { "inotify\0", FILE_INOTIFY },
		{ "[io_uring]", FILE_OTHER }, { "\0\0\0\0\0\0\0\0", FILE_OTHER }, { "[userfaultfd]", FILE_OTHER },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t name;

		memcpy(&name, names[i].name, sizeof(name));
		CHECK_INT(anonymous_kind(name), names[i].kind);
	}
	CHECK_INT(device_kind(136), FILE_TERMINAL);
	CHECK_INT(device_kind(5), FILE_TERMINAL);
	CHECK_INT(device_kind(1), FILE_DEVICE);
}
