/* SPDX-License-Identifier: BSD-2-Clause */
/* The look at all threads: their accounts, settled with what each of them does now. */
#include "engine/figures_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "engine/state.h"
#include "engine/thread_look.h"
#include "source/figures.h"
#include "source/sched.h"

/* A thread that lived at the look. */
struct looked {
	uint32_t tid;		/* as seen from here */
	struct sched_thread thread;
};

/* The process that is looked at. */
struct process_look {
	const struct process *p;
	struct figures_process *f;
	struct thread_look look;
};

/* It has been blocked so far: waiting for what? */
static void add_blocked(const struct process_look *l, struct sched_thread *t)
{
	const struct table_thread *thread = thread_look__find(&l->look, t->account.tid);
	struct thread_head head;
	struct wait_class c;
	uint64_t gvl;

	if (thread)
		memcpy(&head, &thread->t, sizeof(head));
	c = thread_look__classify(t, thread ? &head : NULL);
	gvl = c.gvl ? gvl_part(t, &head) : 0;
	if (thread && !t->account.thread) {
		t->account.thread = head.serial;
		t->account.thread_slot = thread->slot;
	}
	t->account.time[c.state] += t->blocked - gvl;
	t->account.time[STATE_GVL] += gvl;
}

/* Put what it does now, since t->since, into its account. */
static void settle(const struct process_look *l, uint32_t tid, struct sched_thread *t)
{
	t->account.until = l->look.now > t->since ? l->look.now : t->since;
	t->account.time[STATE_RUNNING] += thread_look__settle(&l->look, tid, t);
	if (t->blocked)
		add_blocked(l, t);
	t->account.time[STATE_STOPPED] += t->stopped;
	t->account.time[STATE_RUNNABLE] += t->runnable;
}

/* Threads that wait for the GVL at this moment. */
static void count_waiting(const struct process_look *l)
{
	for (uint32_t i = 0; l->look.has_tables && i < l->look.tables.thread_count; i++) {
		const struct rb_debug_ext_thread *t = &l->look.tables.threads[i].t;
		uint64_t ns = l->look.now > t->ready_at ? l->look.now - t->ready_at : 0;

		if (t->state != RB_DEBUG_EXT_THREAD_READY || !t->ready_at)
			continue;
		l->f->waiting++;
		if (ns > l->f->waiting_longest)
			l->f->waiting_longest = ns;
	}
}

static void note_name(struct process_look *l, const struct thread_account *a)
{
	struct vm *vm = l->p ? l->p->vm : NULL;

	/* The thread with the longest wait is to have its name. */
	if (vm && a->thread && a->thread_slot && !vm->exited &&
	    (l->f->gvl_longest.thread == a->thread || l->f->gvl_longest_interval.thread == a->thread))
		threads__note(&vm->threads, a->thread, a->thread_slot, a->tid);
}

static void open_process(struct engine *e, struct process_look *l, uint32_t number)
{
	l->p = process_set__find(&e->set, number);
	l->f = figures__find(&e->figures->sums, number);
	if (!l->p || !l->f || l->p->state == PROCESS_ENDED)
		return;
	thread_look__open(&l->look, l->p, process__is_readable(l->p) ? l->p->vm : NULL);
	if (l->f->missing[FIGURE_GVL_WAITS])
		return;
	count_waiting(l);
}

static void close_process(struct process_look *l)
{
	thread_look__close(&l->look);
	l->p = NULL;
	l->f = NULL;
}

static void on_thread(void *context, uint32_t tid, const struct sched_thread *thread)
{
	struct engine_figures *f = context;

	if (array__reserve(&f->looked, f->looked_count, 1, &f->looked_room, SCHED_THREADS_MAX, sizeof(*f->looked))) {
		f->threads_without_row++;
		return;
	}
	f->looked[f->looked_count++] = (struct looked){ .tid = tid, .thread = *thread };
}

static int by_process(const void *a, const void *b)
{
	uint32_t x = ((const struct looked *)a)->thread.account.process, y = ((const struct looked *)b)->thread.account.process;

	return x < y ? -1 : x > y;
}

/* Copies of all threads, with what they do now.  0 or -ENOMEM. */
int figures_parts__look_at_threads(struct engine *e, uint64_t *now)
{
	struct engine_figures *f = e->figures;
	struct process_look l = { 0 };
	int err;

	f->looked_count = 0;
	f->threads_without_row = 0;
	err = session__threads_now(e->session, on_thread, f);
	l.look.now = *now = deadline__now();
	/* Without BPF the account of each is whole. */
	if (f->looks_only || !f->looked_count)
		return err;
	qsort(f->looked, f->looked_count, sizeof(*f->looked), by_process);
	for (uint32_t i = 0; i < f->looked_count && !err; i++) {
		struct looked *t = &f->looked[i];

		if (!i || t->thread.account.process != t[-1].thread.account.process) {
			close_process(&l);
			open_process(e, &l, t->thread.account.process);
		}
		settle(&l, t->tid, &t->thread);
	}
	close_process(&l);
	thread_look__free(&l.look);
	return err;
}

/* They live, unless their end has been told meanwhile. */
void figures_parts__add_living(struct engine *e)
{
	struct engine_figures *f = e->figures;
	struct process_look l = { 0 };

	for (uint32_t i = 0; i < f->looked_count; i++) {
		const struct thread_account *a = &f->looked[i].thread.account;

		l.f = figures__find(&f->sums, a->process);
		l.p = process_set__find(&e->set, a->process);
		if (!l.f || map64__get(&f->ended_now, figures_parts__key(a)) != MAP64_NONE)
			continue;
		figures__add_account(&l.f->living, a);
		figures__note_longest(&f->sums, l.f, a);
		note_name(&l, a);
		l.f->threads++;
	}
}

