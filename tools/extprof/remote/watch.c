/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "remote/watch_stacks.h"
#include "remote/watch_tasks.h"

/* A process that makes reads last is given up for this look. */
#define LOOK_TIMEOUT 200000000ull
#define THREADS_MAX (64u << 10)
/* Not a serial of Ruby's, which count from 1. */
#define NATIVE_KEY (1ull << 63)
#define NO_TASK UINT32_MAX

/* -- opening --------------------------------------------------------------------------------------- */

int watch__open(struct watch *w, pid_t pid, bool same_namespace, const struct layout *layout, struct diag *d)
{
	int err;

	memset(w, 0, sizeof(*w));
	w->tasks.dir = -1;
	w->pid = pid;
	w->layout = *layout;
	w->space = address_space__open(pid, &err);
	if (!w->space)
		return diag__set(d, DIAG_PERMISSION, -err, "cannot read the memory of process %d: %s", pid, strerror(-err));
	w->space->deadline = &w->deadline;
	deadline__start(&w->deadline, -1, deadline__now() + LOOK_TIMEOUT);
	/* The process may run another program since the section was found. */
	err = layout__refresh(&w->layout, &w->space->memory);
	if (!err)
		err = tasks__open(&w->tasks, pid, same_namespace);
	if (!err)
		return 0;
	address_space__close(w->space);
	return diag__set(d, DIAG_NOT_READY, -err, "cannot watch process %d: %s", pid, strerror(-err));
}

/* The arguments and the result of the thread below. */
struct try_stop {
	struct watch *watch;
	struct diag *d;
	int err;
};

static void *try_stop(void *context)
{
	struct try_stop *t = context;
	struct stop stop;

	t->err = stop__begin_thread(&stop, &t->watch->tasks, t->watch->pid, NULL, t->d);
	stop__end(&stop, NULL);
	return NULL;
}

/* In a thread of its own: the kernel lets go of what has not stopped in time when that ends. */
int watch__try_stop(struct watch *w, struct diag *d)
{
	struct try_stop t = { .watch = w, .d = d };
	pthread_t thread;
	int err = pthread_create(&thread, NULL, try_stop, &t);

	if (err)
		return diag__set(d, DIAG_INTERNAL, err, "cannot start a thread: %s", strerror(err));
	pthread_join(thread, NULL);
	/* One that gets no CPU is busy, and may be stopped. */
	return t.err == -ETIMEDOUT ? 0 : t.err;
}

/* -- the set of threads ------------------------------------------------------------------------------ */

static struct watched_thread *add_thread(struct watch *w, struct watcher *by, uint64_t key, uint64_t now)
{
	struct watched_thread *e;

	if (array__reserve(&w->threads, w->thread_count, 1, &w->thread_room, THREADS_MAX, sizeof(*w->threads)) ||
	    map64__add(&w->thread_map, key, w->thread_count))
		return NULL;
	e = &w->threads[w->thread_count++];
	memset(e, 0, sizeof(*e));
	e->key = key;
	e->task = NO_TASK;
	e->seen = now;
	e->wait.state = STATE_NATIVE;
	e->lost = LOSS_NO_STACK;
	e->elsewhere = by->shared && key & NATIVE_KEY;
	/* The first sample comes anywhere in the first period. */
	by->random = hash__mix(by->random + key + now);
	e->cpu = by->random % by->period;
	e->account = (struct thread_account){ .first = now, .until = now, .process = w->process, .vm = w->vm };
	return e;
}

static struct watched_thread *find_thread(struct watch *w, struct watcher *by, uint64_t key, uint64_t now)
{
	uint32_t i = map64__get(&w->thread_map, key);
	struct watched_thread *e = i == MAP64_NONE ? add_thread(w, by, key, now) : &w->threads[i];

	if (e)
		e->look = w->look;
	return e;
}

/* The time when the thread began what it does now, which it did not do at `from`.  The clock of `since` has steps, and
 * is late by half a step in the mean.  If the time is beyond the bounds, the difference is made up for the next
 * time. */
static uint64_t began_at(struct watched_thread *e, const struct watcher *by, const struct rb_debug_ext_thread *t,
			 uint64_t from, uint64_t to)
{
	int64_t step = (int64_t)by->step, beyond;
	uint64_t at;

	if (t->state == RB_DEBUG_EXT_THREAD_READY && t->ready_at)
		return t->ready_at < from ? from : t->ready_at > to ? to : t->ready_at;
	at = t->since + (uint64_t)(step / 2 - e->carry);
	e->carry = 0;
	if (at >= from && at <= to)
		return at;
	beyond = (int64_t)((at < from ? from : to) - at);
	if (beyond <= step && beyond >= -step)
		e->carry = beyond;
	return at < from ? from : to;
}

/* The thread became ready, and has run since.  We did not see how long it waited for the GVL.  Estimate it from the
 * share of all looks that found the thread ready. */
static void split(struct watched_thread *e, uint64_t ns)
{
	uint64_t gvl = (uint64_t)((double)ns * (e->looks_ready + 1.0) / ((double)e->looks_ready + e->looks_running + 2.0));

	e->account.time[STATE_GVL] += gvl;
	e->account.time[STATE_RUNNING] += ns - gvl;
}

/* Its wait was over at ready_at. */
static void end_wait(struct watch *w, struct watcher *by, struct watched_thread *e, const struct rb_debug_ext_thread *t)
{
	watch_stacks__wait_on(e, t->ready_at - e->seen);
	e->seen = t->ready_at;
	if (t->state == RB_DEBUG_EXT_THREAD_RUNNING)
		watch_stacks__wait_for_gvl(w, by, e);
}

/*
 * Measure what a thread that shares native threads did since the last look, from what Ruby says of it: *t is its slot
 * now, e->t its slot at the last look.
 */
static void measure_shared(struct watch *w, struct watcher *by, struct watched_thread *e,
			   const struct rb_debug_ext_thread *t, uint64_t now)
{
	uint32_t before = e->t.state;
	bool runs = t->state == RB_DEBUG_EXT_THREAD_RUNNING, ran = before == RB_DEBUG_EXT_THREAD_RUNNING;
	bool became_ready, ended = false;
	uint64_t at;

	if (by->skips)
		return;
	e->looks_ready += t->state == RB_DEBUG_EXT_THREAD_READY;
	e->looks_running += runs;
	e->rest = 0;
	if (!e->t.serial)	/* nobody has looked before */
		e->seen = e->account.first = began_at(e, by, t, by->began, now);
	if (!e->t.serial || t->state_seq == e->t.state_seq) {
		if (runs)
			e->account.time[STATE_RUNNING] += now - e->seen;
		else
			e->rest = now - e->seen;
		e->seen = now;
		return;
	}
	became_ready = t->ready_at > e->seen && t->ready_at <= now;
	if (became_ready && !ran && before != RB_DEBUG_EXT_THREAD_READY) {
		end_wait(w, by, e, t);
		ended = true;
	}
	at = began_at(e, by, t, e->seen, now);
	if (runs && (ended || before == RB_DEBUG_EXT_THREAD_READY)) {
		watch_stacks__wait_on(e, at - e->seen);
	} else if (became_ready && at > e->seen && (ended || (runs && t->ready_at < at))) {
		uint64_t ready_at = ended ? e->seen : t->ready_at;

		e->account.time[STATE_RUNNING] += ready_at - e->seen;
		if (runs)
			e->account.time[STATE_GVL] += at - ready_at;
		else
			split(e, at - ready_at);
	} else if (runs && !ran) {
		watch_stacks__wait_on(e, at - e->seen);
	} else {
		e->account.time[STATE_RUNNING] += at - e->seen;
	}
	if (runs)
		e->account.time[STATE_RUNNING] += now - at;
	else
		e->rest = now - at;
	e->account.waits[STATE_RUNNING]++;
	e->seen = now;
}

static int find_ruby_threads(struct watch *w, struct watcher *by, uint64_t now)
{
	for (uint32_t i = 0; i < w->tables.thread_count; i++) {
		const struct table_thread *in = &w->tables.threads[i];
		struct watched_task *task = watch_tasks__find(w, in->t.tid);
		struct watched_thread *e;

		if (!in->t.serial || in->t.serial & NATIVE_KEY)
			continue;	/* no ruby writes that */
		if (by->shared && !(in->t.flags & RB_DEBUG_EXT_THREAD_MN))
			continue;
		e = find_thread(w, by, in->t.serial, now);
		if (!e)
			return -ENOMEM;
		/* The kernel's counts are of one native thread. */
		if (e->account.tid != in->t.tid && task)
			task->moved = false;
		if (in->t.tid && !task)
			watch_tasks__list_again(w);
		if (task) {
			task->ruby = true;
			task->shared |= in->t.flags & RB_DEBUG_EXT_THREAD_MN;
		}
		if (by->shared)
			measure_shared(w, by, e, &in->t, now);
		e->task = task && !by->shared ? (uint32_t)(task - w->native) : NO_TASK;
		e->t = in->t;
		e->slot = in->slot;
		e->account.thread = in->t.serial;
		e->account.thread_slot = in->slot;
		e->account.tid = in->t.tid;
	}
	return 0;
}

static int find_native_threads(struct watch *w, struct watcher *by, uint64_t now)
{
	for (uint32_t i = 0; i < w->native_count; i++) {
		struct watched_task *task = &w->native[i];
		uint64_t key = NATIVE_KEY | (uint64_t)task->tid;
		struct watched_thread *e;
		bool first;

		if (!task->known || (by->shared && !task->shared))
			continue;
		if (task->ruby) {
			/* A Ruby thread uses this native thread now.  Count the time for the Ruby thread. */
			uint32_t place = map64__get(&w->thread_map, key);

			e = place == MAP64_NONE ? NULL : &w->threads[place];
			if (!e)
				continue;
			e->look = w->look;
			e->account.first += now - e->seen;
			e->seen = now;
			e->task = NO_TASK;
			continue;
		}
		first = map64__get(&w->thread_map, key) == MAP64_NONE;
		e = find_thread(w, by, key, now);
		if (!e)
			return -ENOMEM;
		if (e->task == NO_TASK)
			task->moved = false;
		e->task = i;
		e->account.tid = task->inner;
		if (first)
			proc__comm(w->pid, task->tid, e->account.comm, TASK_COMM_SIZE);
	}
	return 0;
}

/* Those that this look has not found have ended. */
static int remove_ended(struct watch *w, struct watcher *by)
{
	uint32_t kept = 0;
	int err = 0;

	for (uint32_t i = 0; i < w->thread_count; i++) {
		if (w->threads[i].look == w->look) {
			w->threads[kept++] = w->threads[i];
			continue;
		}
		watch_stacks__end(w, by, &w->threads[i], false);
	}
	if (kept == w->thread_count)
		return 0;
	w->thread_count = kept;
	map64__clear(&w->thread_map);
	for (uint32_t i = 0; i < kept && !err; i++)
		err = map64__add(&w->thread_map, w->threads[i].key, i);
	return err;
}

/* -- what each thread did ---------------------------------------------------------------------------- */

static uint64_t take(int64_t *from, uint64_t most)
{
	uint64_t n = *from > 0 ? (uint64_t)*from : 0;

	if (n > most)
		n = most;
	*from -= (int64_t)n;
	return n;
}

static const struct watched_task *task_of(const struct watch *w, const struct watched_thread *e)
{
	return e->task == NO_TASK ? NULL : &w->native[e->task];
}

/* It has not blocked since the last look. */
static bool stayed(const struct watched_task *task)
{
	return task->moved && task->now.voluntary == task->before.voluntary;
}

static void count_switches(struct thread_account *a, const struct turns *before, const struct turns *now)
{
	a->voluntary += now->voluntary - before->voluntary;
	a->involuntary += (now->lost - now->voluntary) - (before->lost - before->voluntary);
}

/* Looks after which the name of a thread is read again. */
#define NAMED_LOOKS 16u

/* A wait for the GVL that a look met.  Nobody knows when a wait that is over has ended. */
static void note_gvl_wait(const struct watch *w, const struct watcher *by, struct watched_thread *e, uint64_t now)
{
	struct longest_wait *l = &e->account.longest[by->interval % 2];

	if (!by->figures || e->t.state != RB_DEBUG_EXT_THREAD_READY || !e->t.ready_at || now <= e->t.ready_at)
		return;
	if (l->interval != by->interval)
		*l = (struct longest_wait){ .interval = by->interval };
	if (now - e->t.ready_at <= l->ns)
		return;
	l->ns = now - e->t.ready_at;
	/* The thread can have ended when its own name is to be read. */
	if (task_of(w, e) && (!e->named || w->look - e->named >= NAMED_LOOKS)) {
		proc__comm(w->pid, task_of(w, e)->tid, e->account.comm, TASK_COMM_SIZE);
		e->named = w->look;
	}
}

/* Put the time since the last look into the account, all but what it was blocked for now: that is returned, ns. */
static uint64_t measure(struct watch *w, struct watched_thread *e, uint64_t now)
{
	const struct watched_task *task = task_of(w, e);
	uint64_t rest = now - e->seen, running, runnable, late;

	e->seen = now;
	if (!task || !task->known)
		return rest;
	if (task->fresh)
		count_switches(&e->account, &(struct turns){ 0 }, &task->now);
	if (task->moved) {
		count_switches(&e->account, &task->before, &task->now);
		e->running += (int64_t)(task->now.runtime - task->before.runtime);
		e->waiting_for_cpu += (int64_t)(task->now.delay - task->before.delay);
		e->cpu += task->now.runtime - task->before.runtime;
		e->account.waits[STATE_RUNNING] += task->now.got - task->before.got;
	}
	running = take(&e->running, rest);
	rest -= running;
	runnable = take(&e->waiting_for_cpu, rest);
	rest -= runnable;
	late = take(&e->stopped, rest);
	rest -= late;
	e->account.time[STATE_STOPPED] += late;
	/* The kernel counts some times late.  They are a part of the time that was not known. */
	late = take(&e->running, e->unseen);
	e->unseen -= late;
	running += late;
	late = take(&e->waiting_for_cpu, e->unseen);
	e->unseen -= late;
	runnable += late;
	if (task->now.on_cpu || task->now.state == 'R') {
		if (!stayed(task)) {
			e->unseen += rest;
		} else if (task->now.on_cpu) {
			/* The kernel counts it at its next tick. */
			running += rest;
			e->running -= (int64_t)rest;
		} else {
			runnable += rest;
			e->waiting_for_cpu -= (int64_t)rest;
		}
		rest = 0;
	}
	e->account.time[STATE_RUNNING] += running;
	e->account.time[STATE_RUNNABLE] += runnable;
	e->runnable += runnable;
	return rest;
}

/* Is a sample of its CPU time due, and can it be taken now?  The stack of one that has blocked is that of its wait. */
static bool cpu_is_due(const struct watch *w, const struct watcher *by, const struct watched_thread *e)
{
	const struct watched_task *task = task_of(w, e);

	return by->cpu && task && task->known && e->cpu >= by->period &&
	       (task->now.on_cpu || (task->now.state == 'R' && stayed(task)));
}

static bool is_blocked(const struct watch *w, const struct watcher *by, const struct watched_thread *e)
{
	const struct watched_task *task = task_of(w, e);

	/* The native thread of a Ruby thread that is not known yet: nothing can be said of it. */
	if (!task)
		return !(e->key & NATIVE_KEY) && (by->shared ? e->t.state != RB_DEBUG_EXT_THREAD_RUNNING : !e->t.tid);
	return task->known && !task->now.on_cpu && task->now.state != 'R';
}

/* -- looks ------------------------------------------------------------------------------------------- */

void watch__give_time(struct watch *w, uint64_t now)
{
	deadline__start(&w->deadline, -1, now + LOOK_TIMEOUT);
}

static int find_threads(struct watch *w, struct watcher *by, uint64_t now)
{
	int err;

	watch__give_time(w, now);
	err = layout__refresh(&w->layout, &w->space->memory);
	if (!err)
		err = tables__read_threads(&w->tables, &w->layout, &w->space->memory);
	if (!err)
		err = watch_tasks__look(w, by, now);
	w->look++;
	if (!err)
		err = find_ruby_threads(w, by, now);
	if (!err)
		err = find_native_threads(w, by, now);
	return err ? err : remove_ended(w, by);
}

int watch__look(struct watch *w, struct watcher *by, bool stacks)
{
	uint64_t now = deadline__now();
	struct stacks_of of = { .watch = w, .by = by, .read = stacks };
	int err = find_threads(w, by, now);

	if (err)
		return err;
	for (uint32_t i = 0; i < w->thread_count && !err; i++) {
		struct watched_thread *e = &w->threads[i];
		uint64_t rest = by->shared && !(e->key & NATIVE_KEY) ? e->rest : measure(w, e, now);

		note_gvl_wait(w, by, e, now);
		if (is_blocked(w, by, e))
			err = watch_stacks__add(&of, i, STACK_OF_WAIT, rest + e->unseen);
		else if (rest)
			e->unseen += rest;
		else if (stacks && cpu_is_due(w, by, e))
			err = watch_stacks__add(&of, i, STACK_OF_CPU, 0);
	}
	if (!err)
		err = watch_stacks__read(&of);
	watch_stacks__free(&of);
	return err;
}

void watch__accounts(struct watch *w, struct watcher *by,
		     void (*callback)(void *context, const struct thread_account *account), void *context)
{
	/* If it cannot be looked at any more, the accounts are those of the last look. */
	watch__look(w, by, false);
	for (uint32_t i = 0; i < w->thread_count; i++) {
		const struct watched_thread *e = &w->threads[i];
		struct thread_account account = e->account;

		account.until = e->seen;
		account.time[e->wait.state] += e->unseen;
		callback(context, &account);
	}
}

void watch__flush(struct watch *w, struct watcher *by)
{
	if (watch__look(w, by, false))
		for (uint32_t i = 0; i < w->thread_count; i++)
			w->threads[i].taken = false;
	for (uint32_t i = 0; i < w->thread_count; i++)
		watch_stacks__end(w, by, &w->threads[i], true);
}

void watch__skip(struct watch *w, struct watcher *by)
{
	uint64_t now = deadline__now();

	by->skips = true;
	if (find_threads(w, by, now)) {
		/* It is gone, or tells nothing now. */
		by->skips = false;
		return;
	}
	by->skips = false;
	for (uint32_t i = 0; i < w->thread_count; i++) {
		struct watched_thread *e = &w->threads[i];

		e->account.first += now - e->seen;
		e->seen = now;
		e->rest = 0;
	}
}

void watch__close(struct watch *w, struct watcher *by)
{
	for (uint32_t i = 0; i < w->thread_count; i++)
		watch_stacks__end(w, by, &w->threads[i], false);
	free(w->threads);
	map64__free(&w->thread_map);
	watch_tasks__free(w, by);
	tables__free(&w->tables);
	tasks__close(&w->tasks);
	address_space__close(w->space);
}
