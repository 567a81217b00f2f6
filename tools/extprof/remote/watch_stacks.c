/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/watch_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "remote/snapshot.h"
#include "remote/watch_tasks.h"

/* Bytes of stacks that are kept of one process.  Beyond, a stack is read at each look. */
#define KEPT_MAX (64u << 20)
/*
 * To compare the mappings of a process takes time, and the process chooses how many it has.  Where a stack takes so much CPU
 * time, native functions are left out for so many times as long.  One alone can take longer by chance: the last ones count, each
 * by one part in so many.
 */
#define NATIVE_COSTS 2000000u
#define NATIVE_RESTS 20u
#define NATIVE_PARTS 8u
/* Samples at one look for the time that the reader was held up. */
#define SAMPLES_MAX 1000u

/* -- sending --------------------------------------------------------------------------------------- */

static struct source_counters *counters_of(struct watch *w, uint32_t source)
{
	return source == SOURCE_CPU ? &w->cpu_counters : &w->wait_counters;
}

static void lose(struct watch *w, uint32_t source, uint8_t reason, uint64_t samples)
{
	struct source_counters *c = counters_of(w, source);

	c->taken += samples;
	c->lost[reason] += samples;
}

/* A sample with that stack. */
static void send(struct watch *w, struct watcher *by, struct sample_event *stack, uint32_t source, uint64_t ns,
		 const struct wait_state *wait)
{
	stack->source = (uint16_t)source;
	stack->value = ns;
	stack->count = 1;
	stack->state = wait ? wait->state : 0;
	stack->detail = wait ? wait->detail : 0;
	event_queue__put_sample(by->queue, stack, counters_of(w, source));
}

/* The time is put into what one look at a random moment of it saw, and could be of the state before, too. */
static void doubt(struct watch *w, uint32_t before, uint32_t now, uint64_t ns)
{
	uint64_t square = (ns / 1000) * (ns / 1000);

	w->doubts[now] += square;
	if (before != now)
		w->doubts[before] += square;
}

/* Are stacks of waits wanted?  Else the lengths of waits are enough. */
static bool wants_stacks(const struct watcher *by)
{
	return by->waits && !by->figures;
}

/* Send for how long the thread was blocked in the wait that it has a stack of. */
static void send_blocked(struct watch *w, struct watcher *by, struct watched_thread *e)
{
	static const struct wait_state runnable = { .state = STATE_RUNNABLE };

	if (e->elsewhere)
		e->blocked = e->runnable = 0;
	if (wants_stacks(by) && e->blocked) {
		if (e->stack)
			send(w, by, e->stack, SOURCE_SCHED, e->blocked, &e->wait);
		else
			lose(w, SOURCE_SCHED, e->lost ? e->lost : LOSS_NO_STACK, 1);
	}
	e->blocked = 0;
	/* It waited for a CPU before it went on from there, or after it was preempted there. */
	if (wants_stacks(by) && e->runnable >= by->period && e->stack) {
		send(w, by, e->stack, SOURCE_SCHED, e->runnable, &runnable);
		e->runnable = 0;
	}
}

static void drop(struct watch *w, struct watched_thread *e)
{
	if (e->stack)
		w->bytes -= event_queue__sample_size(e->stack);
	free(e->stack);
	e->stack = NULL;
	e->taken = false;
}

static void keep(struct watch *w, struct watched_thread *e, struct sample_event *stack)
{
	e->stack = stack;
	if (stack)
		w->bytes += event_queue__sample_size(stack);
}

void watch_stacks__end(struct watch *w, struct watcher *by, struct watched_thread *e, bool lives)
{
	static const struct wait_state runnable = { .state = STATE_RUNNABLE };
	struct account_event event = { .e = { .kind = SAMPLE_ACCOUNT, .source = SOURCE_SCHED } };

	/* Where it was then nobody saw: in what it was seen in last. */
	if (e->unseen) {
		doubt(w, e->wait.state, e->wait.state, e->unseen);
		e->account.time[e->wait.state] += e->unseen;
		e->blocked += e->unseen;
		e->unseen = 0;
	}
	send_blocked(w, by, e);
	if (wants_stacks(by) && e->runnable && e->stack)
		send(w, by, e->stack, SOURCE_SCHED, e->runnable, &runnable);
	else if (wants_stacks(by) && e->runnable >= by->period)
		lose(w, SOURCE_SCHED, LOSS_NO_STACK, 1);
	e->runnable = 0;
	if (by->waits && e->seen > e->account.first) {
		e->account.until = e->seen;
		event.e.flags = (lives ? SAMPLE_LIVES : 0) | (by->shared ? SAMPLE_SHARED : 0);
		event.e.process = w->process;
		event.e.vm = w->vm;
		event.e.tid = e->account.tid;
		event.e.time = e->seen;
		event.account = e->account;
		/* It has no native thread of its own. */
		if (e->t.flags & RB_DEBUG_EXT_THREAD_MN && e->account.thread)
			event.account.tid = event.e.tid = 0;
		event_queue__put(by->queue, &event, sizeof(event));
	}
	if (!lives)
		drop(w, e);
}

/* -- reading --------------------------------------------------------------------------------------- */

int watch_stacks__add(struct stacks_of *of, uint32_t thread, enum stack_use use, uint64_t ns)
{
	if (array__reserve(&of->list, of->count, 1, &of->room, UINT32_MAX, sizeof(*of->list)))
		return -ENOMEM;
	of->list[of->count++] = (struct wanted_stack){ .thread = thread, .use = use, .ns = ns };
	return 0;
}

void watch_stacks__free(struct stacks_of *of)
{
	free(of->list);
}

/* The native thread; NULL: it has none now. */
static struct watched_task *task_of(const struct stacks_of *of, const struct watched_thread *e)
{
	return e->task == UINT32_MAX ? NULL : &of->watch->native[e->task];
}

/* Is the stack that was read still that of the thread?  It has got no CPU since, or Ruby counts that it goes on with
 * the same wait. */
static bool unchanged(const struct stacks_of *of, const struct watched_thread *e)
{
	const struct watched_task *task = task_of(of, e);

	if (!e->taken)
		return false;
	if (task && task->now.got == e->got)
		return true;
	return e->t.state_seq && e->t.state_seq == e->seq &&
	       e->t.state != RB_DEBUG_EXT_THREAD_RUNNING && e->t.serial;
}

/* The result of one read. */
struct outcome {
	struct sample_event *stack;	/* NULL: `lost` says why; of the caller */
	uint8_t lost;
	struct task task;		/* the kernel's part of it; tid 0: no native thread */
	uint64_t got;			/* turns that it had then */
	uint64_t seq;
	struct rb_debug_ext_thread t;
};

static bool stopped_task(void *context, uint32_t tid, struct task *task)
{
	return stop__task(context, tid, task);
}

/* Native functions are those that are published now; *view is the caller's. */
static struct snapshot_source source_of(const struct stacks_of *of, struct stop *stop, const struct memory *memory,
					struct unwind_view *view)
{
	bool native = of->by->unwind && deadline__now() >= of->watch->native_at &&
		      unwind_tables__view(of->by->unwind, of->watch->vm, view);

	return (struct snapshot_source){
		.layout = &of->watch->layout, .memory = memory, .tasks = &of->watch->tasks,
		.frozen = stop ? PROOF_STOPPED : PROOF_NONE, .task_of = stop ? stopped_task : NULL, .context = stop,
		.native = native ? view : NULL, .cache = native ? of->by->cache : NULL,
	};
}

static void read_native(struct stacks_of *of, const struct watched_thread *e, struct stop *stop, struct outcome *o)
{
	const struct watched_task *task = task_of(of, e);
	struct unwind_view view;
	struct snapshot_source source = source_of(of, stop, &of->watch->space->memory, &view);

	o->stack = snapshot__bare(&source, of->by->walker, task->tid, task->inner, &o->task);
	if (!o->stack) {
		o->lost = LOSS_NO_MEMORY;
		return;
	}
	o->stack->time = deadline__now();
	memcpy(o->stack->comm, e->account.comm, sizeof(o->stack->comm));
	o->got = task->now.got;
}

/* 0, or -errno of reading the memory. */
static int read_ruby(struct stacks_of *of, const struct watched_thread *e, struct stop *stop,
		     const struct memory *memory, struct outcome *o)
{
	struct unwind_view view;
	struct snapshot_source source = source_of(of, stop, memory, &view);
	const struct watched_task *task = task_of(of, e);
	struct snapshot_thread thread = { .slot = e->slot };
	struct snapshot_ec ec;
	int err = snapshot__thread(&source, of->by->walker, &thread, &ec);

	if (err || thread.t.serial != e->key || ec.torn || !ec.event || !ec.proof) {
		free(ec.event);
		/* It has ended meanwhile. */
		o->lost = ec.lost ? ec.lost : LOSS_TORN;
		return err == -ENOENT || err == -EAGAIN || err == -EFAULT || err == -EINVAL ? 0 : err;
	}
	o->stack = ec.event;
	o->task = thread.task;
	o->t = thread.t;
	o->seq = thread.t.state_seq;
	o->got = ec.proof == PROOF_OFF_CPU ? thread.task.runs : task ? task->now.got : 0;
	o->stack->thread = thread.t.serial;
	o->stack->thread_slot = thread.slot;
	return 0;
}

static void set_identity(const struct stacks_of *of, const struct watched_thread *e, struct sample_event *stack)
{
	stack->vm = of->watch->vm;
	stack->process = of->watch->process;
	stack->tid = e->account.tid;
}

/* Samples of CPU time, if the thread has not blocked until its stack was read. */
static void settle_cpu(struct stacks_of *of, struct watched_thread *e, struct outcome *o, bool stopped)
{
	const struct watched_task *task = task_of(of, e);
	uint64_t samples = e->cpu / of->by->period, voluntary;

	e->cpu -= samples * of->by->period;
	if (samples > SAMPLES_MAX)
		samples = SAMPLES_MAX;
	/* To stop counts as to block, once. */
	if (o->stack && (turns__voluntary(&of->watch->tasks, task->tid, &voluntary) ||
			 voluntary - task->now.voluntary > stopped)) {
		free(o->stack);
		o->stack = NULL;
		o->lost = LOSS_TORN;
	}
	if (!o->stack) {
		lose(of->watch, SOURCE_CPU, o->lost, samples);
		return;
	}
	set_identity(of, e, o->stack);
	for (uint64_t i = 0; i < samples; i++)
		send(of->watch, of->by, o->stack, SOURCE_CPU, of->by->period, NULL);
	/* Normally time waiting for a CPU is sent with the next wait.  This stack serves as well, so send it now. */
	if (wants_stacks(of->by) && e->runnable >= of->by->period) {
		static const struct wait_state runnable = { .state = STATE_RUNNABLE };

		send(of->watch, of->by, o->stack, SOURCE_SCHED, e->runnable, &runnable);
		e->runnable = 0;
	}
	free(o->stack);
}

static void set_wait(struct stacks_of *of, struct watched_thread *e, const struct rb_debug_ext_thread *t)
{
	const struct task *task = task_of(of, e) ? &e->last : NULL;
	struct wait_state now;

	wait_state__of(&now, e->account.thread ? t : NULL, task && task->tid ? task : NULL, of->watch->pid, &of->watch->space->memory);
	if (task && !task->tid)
		now.state = STATE_NATIVE;
	if (e->taken && (now.state != e->wait.state || now.detail != e->wait.detail))
		send_blocked(of->watch, of->by, e);
	if (!e->taken || now.state != e->wait.state)
		e->account.waits[now.state]++;
	e->wait = now;
}

static void add_wait(struct watched_thread *e, uint64_t ns)
{
	e->unseen = 0;
	e->blocked += ns;
	e->account.time[e->wait.state] += ns;
}

void watch_stacks__wait_on(struct watched_thread *e, uint64_t ns)
{
	e->blocked += ns;
	e->account.time[e->wait.state] += ns;
}

void watch_stacks__wait_for_gvl(struct watch *w, struct watcher *by, struct watched_thread *e)
{
	send_blocked(w, by, e);
	e->wait = (struct wait_state){ .state = STATE_GVL };
	e->account.waits[STATE_GVL]++;
}

/* The thread is in the same wait as at the last look; only what Ruby says of it can have changed. */
static void go_on(struct stacks_of *of, struct watched_thread *e, uint64_t ns)
{
	const struct watched_task *task = task_of(of, e);

	if (task)
		e->got = task->now.got;
	set_wait(of, e, &e->t);
	add_wait(e, ns);
}

static void settle_wait(struct stacks_of *of, struct watched_thread *e, struct outcome *o, uint64_t ns)
{
	uint32_t before = e->wait.state;

	/* The time so far belongs to the wait before. */
	send_blocked(of->watch, of->by, e);
	drop(of->watch, e);
	e->elsewhere = false;
	if (o->stack && o->task.tid && o->task.state == 'R') {
		/* It went on before its stack was read. */
		e->unseen = ns;
		free(o->stack);
		return;
	}
	e->last = o->task;
	set_wait(of, e, o->stack && e->account.thread ? &o->t : &e->t);
	e->lost = o->stack ? 0 : o->lost;
	e->got = o->got;
	e->seq = o->seq;
	if (o->stack) {
		set_identity(of, e, o->stack);
		keep(of->watch, e, o->stack);
		e->taken = of->watch->bytes <= KEPT_MAX;
	}
	doubt(of->watch, before, e->wait.state, ns);
	add_wait(e, ns);
	if (e->stack && !e->taken) {
		send_blocked(of->watch, of->by, e);
		drop(of->watch, e);
	}
}

/* The kernel samples what is on a native thread. */
static bool is_elsewhere(const struct stacks_of *of, const struct watched_thread *e)
{
	return of->by->shared && (!e->account.thread || e->t.tid);
}

/* Settle a wait whose stack is not to be read: read only its state. */
static void settle_unread(struct stacks_of *of, struct watched_thread *e, uint64_t ns)
{
	const struct watched_task *task = task_of(of, e);
	struct outcome o = { .lost = LOSS_NO_STACK, .got = task ? task->now.got : 0, .seq = e->t.state_seq };

	if (!task || tasks__look(&of->watch->tasks, task->tid, &o.task))
		o.task.tid = 0;
	settle_wait(of, e, &o, ns);
	/* Its state is not read again until it has changed. */
	if (of->by->figures && !e->unseen)
		e->taken = true;
	if (is_elsewhere(of, e))
		e->elsewhere = e->taken = true;
}

static bool needs_read(const struct stacks_of *of, const struct wanted_stack *wanted)
{
	const struct watched_thread *e = &of->watch->threads[wanted->thread];

	if (!of->read || !(wanted->use == STACK_OF_CPU || wants_stacks(of->by)))
		return false;
	if (is_elsewhere(of, e))
		return false;
	return wanted->use == STACK_OF_CPU || !unchanged(of, e);
}

/*
 * Stop the thread for the read.  Only this one: to stop a thread that waits would wake it, and Ruby's timer thread, if
 * it is woken a hundred times a second, never ends the turn of the thread that has the GVL.
 */
static int read_stopped(struct stacks_of *of, struct watched_thread *e, struct outcome *o)
{
	const struct watched_task *task = task_of(of, e);
	struct watcher *by = of->by;
	struct diag d = { 0 };
	struct stop stop;
	int err = stop__begin_thread(&stop, &of->watch->tasks, task->tid, &by->later, &d);

	if (!err && e->account.thread)
		err = read_ruby(of, e, &stop, &of->watch->space->memory, o);
	else if (!err)
		read_native(of, e, &stop, o);
	else
		o->lost = err == -ESRCH ? LOSS_TORN : LOSS_NOT_STOPPED, err = 0;
	stop__end(&stop, &by->later);
	e->stopped += (int64_t)stop.duration;
	by->stops++;
	by->stopped += stop.duration;
	if (stop.duration > by->longest_stop)
		by->longest_stop = stop.duration;
	return err;
}

/* A stack with native functions, or one that may have them, took so much CPU time. */
static void rest_if_slow(struct watch *w, uint64_t took)
{
	if (deadline__now() < w->native_at)
		return;
	w->native_cost += took / NATIVE_PARTS - w->native_cost / NATIVE_PARTS;
	if (w->native_cost > NATIVE_COSTS)
		w->native_at = deadline__now() + NATIVE_RESTS * took;
}

static int read_one(struct stacks_of *of, const struct wanted_stack *wanted)
{
	struct watched_thread *e = &of->watch->threads[wanted->thread];
	/* A thread without Ruby code has no other stack than that of native functions. */
	bool stopped = of->by->stop && wanted->use == STACK_OF_CPU && (e->account.thread || of->by->unwind);
	struct outcome o = { .lost = LOSS_NO_STACK };
	uint64_t began = of->by->unwind ? deadline__cpu_time() : 0;
	int err = 0;

	if (stopped)
		err = read_stopped(of, e, &o);
	else if (!e->account.thread)
		read_native(of, e, NULL, &o);
	else
		err = read_ruby(of, e, NULL, &of->watch->space->memory, &o);
	if (of->by->unwind)
		rest_if_slow(of->watch, deadline__cpu_time() - began);
	if (wanted->use == STACK_OF_CPU)
		settle_cpu(of, e, &o, stopped);
	else
		settle_wait(of, e, &o, wanted->ns);
	return err;
}

int watch_stacks__read(struct stacks_of *of)
{
	int err = 0;

	for (uint32_t i = 0; i < of->count; i++) {
		const struct wanted_stack *wanted = &of->list[i];
		struct watched_thread *e = &of->watch->threads[wanted->thread];

		/* The process ends: its threads have lived up to now nevertheless. */
		if (err && wanted->use == STACK_OF_WAIT)
			e->unseen = wanted->ns;
		else if (err)
			continue;
		else if (needs_read(of, wanted))
			err = read_one(of, wanted);
		else if (wanted->use == STACK_OF_WAIT && unchanged(of, e))
			go_on(of, e, wanted->ns);
		else if (wanted->use == STACK_OF_WAIT)
			settle_unread(of, e, wanted->ns);
	}
	return err;
}
