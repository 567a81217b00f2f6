/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/thread_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ruby/vm.h"
#include "source/call_kinds.h"

void thread_look__open(struct thread_look *l, const struct process *p, struct vm *vm)
{
	thread_look__close(l);
	l->has_tasks = !tasks__open(&l->tasks, p->pid, true);
	if (vm && vm->space && !vm->plain && !layout__refresh(&vm->layout, &vm->memory))
		l->has_tables = !tables__read(&l->tables, &vm->layout, &vm->memory);
}

void thread_look__close(struct thread_look *l)
{
	if (l->has_tasks)
		tasks__close(&l->tasks);
	l->has_tasks = l->has_tables = false;
}

void thread_look__free(struct thread_look *l)
{
	thread_look__close(l);
	tables__free(&l->tables);
}

const struct table_thread *thread_look__find(const struct thread_look *l, uint32_t tid)
{
	for (uint32_t i = 0; l->has_tables && i < l->tables.thread_count; i++)
		if (l->tables.threads[i].t.tid == tid)
			return &l->tables.threads[i];
	return NULL;
}

/* How often the thread has been switched out; UINT64_MAX: it is gone. */
static uint64_t switches_of(const struct thread_look *l, uint32_t tid)
{
	struct proc_status s;

	return proc_status__read(&s, l->tasks.pid, (pid_t)tid) ? UINT64_MAX : s.voluntary + s.involuntary;
}

bool thread_look__has_stayed(const struct thread_look *l, uint32_t tid, const struct sched_thread *t)
{
	struct task task;
	uint64_t runs;

	if (!l->has_tasks)
		return false;
	if (t->runs && !tasks__runs(&l->tasks, (pid_t)tid, &runs))
		return runs == t->runs;
	/* While a thread runs, the count of its switches out stays the same.  So it must be off the CPU, too. */
	return !tasks__look(&l->tasks, (pid_t)tid, &task) && task.off_cpu && switches_of(l, tid) == t->switches;
}

/* A thread of which nothing was seen: where has it been all the time? */
static void find_unknown(const struct thread_look *l, uint32_t tid, struct sched_thread *t)
{
	struct task task;

	t->out = OUT_RUNNABLE;
	t->in_call = 0;
	t->off = OFF_NOT;
	if (!l->has_tasks || tasks__look(&l->tasks, (pid_t)tid, &task) || task.state == 'R')
		return;
	t->off = OFF_YES;
	t->in_call = task.call >= 0;
	t->call = (uint32_t)task.call;
	t->out = task.state == 'T' || task.state == 't' ? OUT_STOPPED : OUT_BLOCKED;
}

uint64_t thread_look__settle(const struct thread_look *l, uint32_t tid, struct sched_thread *t)
{
	uint64_t ns = l->now > t->since ? l->now - t->since : 0, ran = 0, blocked = 0;

	if (t->off == OFF_UNKNOWN)
		find_unknown(l, tid, t);
	else if (l->has_tasks)
		ran = tasks__ran_unseen(&l->tasks, (pid_t)tid, t, l->now);
	if (t->off == OFF_NOT)
		return ns;
	ns -= ran;
	if (t->out != OUT_RUNNABLE)
		blocked = t->woken > t->since && t->woken - t->since < ns ? t->woken - t->since : ns;
	add_unsettled(t, blocked, ns - blocked);
	/* Its stack is another one now. */
	if (ran)
		t->off = OFF_NOT;
	return ran;
}

struct wait_class thread_look__classify(const struct sched_thread *t, const struct thread_head *head)
{
	return wait_classify(t->in_call ? call_kind(t->call) : CALL_NONE, head != NULL, head);
}
