/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader without BPF: its queue, what threads wait for, and samples of a VM by hand. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"
#include "memory_fake.h"
#include "remote/event_queue.h"
#include "remote/wait_state.h"
#include "remote/watch_stacks.h"
#include "source/sched.h"

/* -- the queue ----------------------------------------------------------------------------------------- */

static struct event_queue queue;
static int taken, stop_after;
static size_t taken_bytes;

static bool take_event(void *context, const void *data, size_t size)
{
	const unsigned char *event = data;

	for (size_t i = 0; i < size; i++)
		if (event[i] != (unsigned char)size)
			return false;
	taken++;
	taken_bytes += size;
	/* Others may put meanwhile. */
	if (context)
		event_queue__put(&queue, "\1", 1);
	return taken != stop_after;
}

static int put(size_t size)
{
	unsigned char event[256];

	memset(event, (int)size, sizeof(event));
	return event_queue__put(&queue, event, size);
}

TEST(event_queue_gives_back_what_was_put)
{
	event_queue__init(&queue, 1 << 20);
	taken = 0, taken_bytes = 0, stop_after = -1;
	for (size_t i = 1; i <= 200; i++)
		CHECK_INT(put(i), 0);
	CHECK_INT(event_queue__drain(&queue, take_event, NULL), 200);
	CHECK_INT(taken_bytes, 200 * 201 / 2);
	CHECK_INT(event_queue__drain(&queue, take_event, NULL), 0);
	/* One that wants no more, and the rest. */
	for (size_t i = 1; i <= 10; i++)
		CHECK_INT(put(i), 0);
	taken = 0, stop_after = 4;
	CHECK_INT(event_queue__drain(&queue, take_event, NULL), -ECANCELED);
	CHECK_INT(event_queue__drain(&queue, take_event, NULL), 6);
	/* What comes meanwhile. */
	CHECK_INT(put(3), 0);
	taken = 0, stop_after = 5;
	CHECK_INT(event_queue__drain(&queue, take_event, &queue), -ECANCELED);
	CHECK_INT(taken, 5);
	event_queue__free(&queue);
}

TEST(event_queue_is_bounded_and_counts_what_it_refuses)
{
	int room = 0;

	event_queue__init(&queue, 100000);
	while (!put(200))
		room++;
	CHECK(room > 400 && room < 500);
	CHECK_INT(put(200), -ENOSPC);
	CHECK_INT(queue.refused, 2);
	taken = 0, stop_after = 100;
	CHECK_INT(event_queue__drain(&queue, take_event, NULL), -ECANCELED);
	/* The room at the begin is used again. */
	for (int i = 0; i < 100; i++)
		CHECK_INT(put(200), 0);
	CHECK_INT(put(200), -ENOSPC);
	event_queue__free(&queue);
}

/* -- states ---------------------------------------------------------------------------------------------- */

static uint32_t state_of(const struct rb_debug_ext_thread *thread, char state, int64_t call)
{
	struct task task = { .tid = 1, .state = state, .call = call };
	struct wait_state w;
	struct memory_fake memory;

	memory_fake__init(&memory);
	wait_state__of(&w, thread, state ? &task : NULL, getpid(), &memory.memory);
	return w.state;
}

TEST(wait_state_is_that_of_the_call_and_of_what_ruby_says)
{
	struct rb_debug_ext_thread t = { .state = RB_DEBUG_EXT_THREAD_SLEEPING, .wait_kind = RB_DEBUG_EXT_WAIT_QUEUE,
					 .wait_fd = UINT32_MAX };

	CHECK_INT(state_of(NULL, 'S', SYS_read), STATE_IO);
	CHECK_INT(state_of(NULL, 'S', SYS_futex), STATE_NATIVE);
	CHECK_INT(state_of(NULL, 'T', SYS_read), STATE_STOPPED);
	CHECK_INT(state_of(NULL, 'D', -1), STATE_FAULT);
	CHECK_INT(state_of(&t, 'S', SYS_futex), STATE_QUEUE);
	t.wait_kind = RB_DEBUG_EXT_WAIT_JOIN;
	CHECK_INT(state_of(&t, 'S', SYS_futex), STATE_JOIN);
	t.wait_kind = 0;
	CHECK_INT(state_of(&t, 'S', SYS_futex), STATE_SLEEP);
	t.state = RB_DEBUG_EXT_THREAD_READY;
	CHECK_INT(state_of(&t, 'S', SYS_futex), STATE_GVL);
	/* It has no native thread now. */
	CHECK_INT(state_of(&t, 0, 0), STATE_GVL);
	t.state = RB_DEBUG_EXT_THREAD_SLEEPING;
	t.wait_kind = RB_DEBUG_EXT_WAIT_RACTOR;
	CHECK_INT(state_of(&t, 0, 0), STATE_RACTOR);
	/* It has the GVL: what it said before does not count. */
	t.state = RB_DEBUG_EXT_THREAD_RUNNING;
	t.wait_kind = RB_DEBUG_EXT_WAIT_QUEUE;
	CHECK_INT(state_of(&t, 'S', SYS_read), STATE_IO);
}

/* -- samples --------------------------------------------------------------------------------------------- */

#define SERIAL 4711u
#define PERIOD 1000000u

static struct rb_debug_ext_section section;
static struct fake vm;
static struct memory_fake memory;
static struct fake_ec *ec;
static struct address_space space;
static struct watch watch;
static struct watcher watcher;
static struct watched_task task;
static struct watched_thread thread;

/* A thread that used so much CPU time, and is this process's own for the kernel. */
static bool set_up(uint64_t cpu)
{
	struct diag d = { 0 };

	fake__init(&vm, &section);
	ec = fake__ec(20);
	fake__push(ec, RB_DEBUG_EXT_ID_NONE, 0);
	for (uint32_t k = 1; k <= 4; k++)
		fake__push(ec, k, 0x1000 + 8 * k);
	fake__thread(&vm, 5, SERIAL, "first", ec)->state = RB_DEBUG_EXT_THREAD_RUNNING;
	fake__ec_slot(&vm, ec, 1, 5)->serial = 12;
	memory_fake__init(&memory);
	space = (struct address_space){ .memory = memory.memory, .mem = -1, .maps = -1 };
	watch = (struct watch){ .pid = getpid(), .process = 7, .vm = 8, .space = &space, .native = &task,
				.native_count = 1, .threads = &thread, .thread_count = 1 };
	if (layout__read(&watch.layout, &space.memory, (uintptr_t)&section, &d) || tasks__open(&watch.tasks, getpid(), true))
		return false;
	task = (struct watched_task){ .tid = getpid(), .inner = (uint32_t)getpid(), .fd = -1, .known = true };
	turns__read(&watch.tasks, task.tid, -1, NULL, &task.now);
	thread = (struct watched_thread){ .key = SERIAL, .task = 0, .slot = 5, .cpu = cpu };
	thread.account.thread = SERIAL;
	event_queue__init(&queue, 1 << 20);
	watcher = (struct watcher){ .cpu = true, .waits = true, .period = PERIOD, .queue = &queue, .walker = walker__new() };
	return watcher.walker != NULL;
}

static void tear_down(void)
{
	tasks__close(&watch.tasks);
	walker__free(watcher.walker);
	event_queue__free(&queue);
}

static uint64_t cpu_samples, wait_samples, value_sum, strange;

static bool count_sample(void *context, const void *data, size_t size)
{
	const struct sample_event *e = data;

	(void)context;
	(void)size;
	if (e->source == SOURCE_CPU)
		cpu_samples++;
	else
		wait_samples++;
	value_sum += e->value;
	strange += e->process != 7 || e->vm != 8 || e->thread != SERIAL || e->nr_frames != 5;
	return true;
}

static int read_as(enum stack_use use, uint64_t ns)
{
	struct stacks_of of = { .watch = &watch, .by = &watcher, .read = true };
	int err = watch_stacks__add(&of, 0, use, ns);

	if (!err)
		err = watch_stacks__read(&of);
	watch_stacks__free(&of);
	return err;
}

TEST(watch_takes_a_sample_for_each_period_of_cpu_time)
{
	CHECK(set_up(3 * PERIOD + 17));
	CHECK_INT(read_as(STACK_OF_CPU, 0), 0);
	CHECK_INT(watch.cpu_counters.taken, 3);
	CHECK_INT(watch.cpu_counters.whole, 3);
	CHECK_INT(thread.cpu, 17);
	cpu_samples = wait_samples = value_sum = 0;
	CHECK_INT(event_queue__drain(&queue, count_sample, NULL), 3);
	CHECK_INT(cpu_samples, 3);
	CHECK_INT(value_sum, 3 * PERIOD);
	CHECK_INT(strange, 0);
	tear_down();
}

/* The innermost frame becomes another one before each read. */
static void change(int read)
{
	((struct fake_frame *)(uintptr_t)ec->cfp)->ext_debug = (uint32_t)read;
}

TEST(watch_loses_a_sample_whose_stack_changes)
{
	CHECK(set_up(2 * PERIOD));
	memory.before = change;
	CHECK_INT(read_as(STACK_OF_CPU, 0), 0);
	CHECK_INT(watch.cpu_counters.taken, 2);
	CHECK_INT(watch.cpu_counters.whole, 0);
	CHECK_INT(watch.cpu_counters.lost[LOSS_TORN], 2);
	loss_hit[LOSS_TORN] += watch.cpu_counters.lost[LOSS_TORN];
	CHECK_INT(thread.cpu, 0);
	tear_down();
}

TEST(watch_loses_a_sample_of_a_thread_that_blocked_meanwhile)
{
	CHECK(set_up(PERIOD));
	/* As if it had blocked twice since. */
	task.now.voluntary -= 2;
	CHECK_INT(read_as(STACK_OF_CPU, 0), 0);
	CHECK_INT(watch.cpu_counters.lost[LOSS_TORN], 1);
	tear_down();
}

TEST(watch_loses_a_sample_of_a_thread_that_cannot_be_stopped)
{
	CHECK(set_up(PERIOD));
	watcher.stop = true;
	/* Nobody traces a thread of its own process. */
	CHECK_INT(read_as(STACK_OF_CPU, 0), 0);
	CHECK_INT(watch.cpu_counters.lost[LOSS_NOT_STOPPED], 1);
	loss_hit[LOSS_NOT_STOPPED] += watch.cpu_counters.lost[LOSS_NOT_STOPPED];
	tear_down();
}

/* A thread that waits and has no native thread: only what Ruby says is known of it. */
TEST(watch_adds_up_a_wait_and_reads_its_stack_once)
{
	struct rb_debug_ext_thread *slot;
	int reads;

	CHECK(set_up(0));
	slot = (struct rb_debug_ext_thread *)(uintptr_t)vm.thread_dir[0] + 5;
	slot->state = RB_DEBUG_EXT_THREAD_SLEEPING;
	slot->wait_kind = RB_DEBUG_EXT_WAIT_QUEUE;
	slot->state_seq = 3;
	slot->tid = 0;
	thread.task = UINT32_MAX;
	thread.t = *slot;
	CHECK_INT(read_as(STACK_OF_WAIT, 1000), 0);
	CHECK_INT(thread.wait.state, STATE_QUEUE);
	reads = memory.reads;
	CHECK_INT(read_as(STACK_OF_WAIT, 2000), 0);
	CHECK_INT(memory.reads, reads);
	CHECK_INT(thread.blocked, 3000);
	CHECK_INT(watch.wait_counters.taken, 0);
	/* It waits for the GVL now, with the same stack. */
	slot->state = RB_DEBUG_EXT_THREAD_READY;
	slot->state_seq = 4;
	thread.t = *slot;
	CHECK_INT(read_as(STACK_OF_WAIT, 500), 0);
	CHECK_INT(thread.wait.state, STATE_GVL);
	CHECK_INT(watch.wait_counters.whole, 1);
	thread.seen = 4000;
	watch_stacks__end(&watch, &watcher, &thread, false);
	CHECK_INT(watch.wait_counters.whole, 2);
	CHECK_INT(thread.account.time[STATE_QUEUE], 3000);
	CHECK_INT(thread.account.time[STATE_GVL], 500);
	tear_down();
}
