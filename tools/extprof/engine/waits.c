/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that wait when the recording ends.  Their stacks are read from here.  The kernel has counted how often
 * each got a CPU: while that number is the same, the thread has not run, and its stack is that of its wait.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/state.h"
#include "engine/thread_look.h"
#include "native/native_work.h"
#include "process/proc.h"
#include "remote/event_queue.h"
#include "remote/page_cache.h"
#include "remote/wait_state.h"
#include "remote/walker.h"
#include "source/sched.h"

/* State of the look at waiting threads. */
struct reading {
	struct engine *e;
	struct walker *walker;
	struct session_waits waits;
	/* The process that was looked at last; 0 none. */
	uint32_t process;
	struct process *p;
	struct target_config config;
	struct thread_look look;	/* at the end */
	struct unwind_view view;	/* no rows: native functions are not wanted, or not known */
	struct page_cache *cache;	/* for them */
	/* A process has its share of the time: what it has in its tables decides how long a look at it takes. */
	struct budget time;		/* ns */
	uint64_t from, until;		/* of the look at this process, and of all looks; CLOCK_MONOTONIC, ns */
};

/*
 * Native functions of threads that wait: a thread has what it waits in mapped until it goes on, so one look at the mappings serves
 * for all of a process.
 */
static void look_at_code(struct reading *r, const struct process *p, const struct vm *vm)
{
	r->view.rows = NULL;
	if (!r->cache || !native__view(r->e->native_frames.native, vm->number, &r->view))
		return;
	if (native_work__hash(p->pid, NULL) != r->view.hash)
		r->view.rows = NULL;
	else
		page_cache__use(r->cache, &vm->memory);
}

static void end_turn(struct reading *r)
{
	if (r->p)
		budget__add(&r->p->at_end, (int64_t)(deadline__now() - r->from));
}

static void begin_turn(struct reading *r)
{
	uint64_t now = deadline__now(), left = now < r->until ? r->until - now : 0, share;

	r->from = now;
	if (!r->p->at_end.of)
		r->p->at_end = (struct budget_share){ .of = &r->time, .user = r->p->vm ? r->p->vm->symbols.share.user : r->p->uid };
	share = budget__left(&r->p->at_end);
	deadline__start(&r->e->reads, -1, now + (share < left ? share : left));
}

static void look_at(struct reading *r, uint32_t number)
{
	struct vm *vm;

	if (r->process == number)
		return;
	end_turn(r);
	thread_look__close(&r->look);
	r->process = number;
	r->p = process_set__find(&r->e->set, number);
	if (r->p && r->p->state == PROCESS_ENDED)
		r->p = NULL;
	if (!r->p)
		return;
	begin_turn(r);
	vm = r->p->vm;
	thread_look__open(&r->look, r->p, vm);
	r->view.rows = NULL;
	if (!r->look.has_tables)
		return;
	look_at_code(r, r->p, vm);
	layout__config(&vm->layout, &r->config);
	r->config.pid = vm->layout.section.pid;
}

/* Count a sample that is made here. */
static void count(struct reading *r, uint32_t process, int reason, uint8_t truncated)
{
	struct source_counters c = { .taken = 1 };

	if (reason)
		c.lost[reason] = 1;
	else if (truncated)
		c.truncated[truncated] = 1;
	else
		c.whole = 1;
	session__add_counters(r->e->session, process, SOURCE_SCHED, &c);
}

/* The parts of a wait that is not over. */
struct parts {
	struct {
		uint32_t state;
		uint64_t ns;
	} list[4];
	uint64_t detail;
	struct wait_details details;
};

/* By the rule of bpf/sched.bpf.c. */
static uint64_t chosen(const struct reading *r, const struct sched_thread *t, uint32_t state, uint64_t ns)
{
	uint64_t quantum = r->waits.quantum;

	if (r->waits.states && !(r->waits.states >> state & 1))
		return 0;
	if (!ns || ns >= quantum)
		return ns;
	return t->owed[state] + ns >= quantum ? quantum : 0;
}

/* Copy the stack.  0 or a loss_reason. */
static int copy_stack(struct reading *r, uint32_t tid, const struct sched_thread *t,
		      const struct rb_debug_ext_thread *thread, const struct task *task)
{
	struct sample_event *e = walker__event(r->walker);
	uint64_t ec;
	int reason = 0;

	if (thread) {
		const struct vm *vm = r->p->vm;

		if (tables__current_ec(&vm->layout, &vm->memory, thread, &ec))
			return LOSS_EC_READ;
		reason = walker__walk(r->walker, &vm->memory, &r->config, ec, t->account.tid);
	} else {
		walker__bare(r->walker, t->account.tid);
		memcpy(e->comm, t->account.comm, sizeof(e->comm));
	}
	if (!reason && r->view.rows && task->ip && task->sp) {
		page_cache__forget(r->cache);
		walker__unwind(r->walker, &r->cache->memory, &r->config, task, &r->view);
	}
	if (!reason && !thread_look__has_stayed(&r->look, tid, t))
		reason = LOSS_NO_STACK;
	e->source = SOURCE_SCHED;
	e->time = r->look.now;
	e->ip = task->ip;
	e->vm = t->account.vm;
	e->process = t->account.process;
	e->tid = t->account.tid;
	if (t->in_call)
		e->flags |= SAMPLE_IN_KERNEL;
	return reason;
}

/* Have the next samples of the thread tell more of the wait. */
static void send_details(struct reading *r, const struct sample_event *sample, struct wait_details *details)
{
	details->e = *sample;
	details->e.kind = SAMPLE_DETAILS;
	details->e.nr_frames = 0;
	details->e.flags &= ~SAMPLE_HAS_MACHINE;
	states__event(&r->e->states, &r->e->resolver, details, sizeof(*details));
}

static void send(struct reading *r, uint32_t tid, const struct sched_thread *t, struct parts *parts,
		 const struct rb_debug_ext_thread *thread, const struct task *task)
{
	struct sample_event *e = walker__event(r->walker);
	int reason = -1;

	for (int i = 0; i < 4; i++) {
		uint64_t value = chosen(r, t, parts->list[i].state, parts->list[i].ns);

		if (!value)
			continue;
		if (reason < 0)
			reason = task ? copy_stack(r, tid, t, thread, task) : LOSS_NO_STACK;
		count(r, t->account.process, reason, e->truncated);
		if (reason)
			continue;
		e->state = parts->list[i].state;
		e->value = value;
		e->count = 1;
		e->detail = parts->detail;
		if (r->waits.details) {
			send_details(r, e, &parts->details);
			e->flags |= SAMPLE_HAS_DETAILS;
		}
		states__event(&r->e->states, &r->e->resolver, e, event_queue__sample_size(e));
	}
}

/* The last look at the GVL may not have been sent. */
static void take_last_look(struct reading *r, const struct sched_thread *t, uint32_t ractor)
{
	struct hold_event hold;

	if (session__last_look(r->e->session, t->account.process, ractor, &hold)) {
		hold.e.vm = t->account.vm;
		states__event(&r->e->states, &r->e->resolver, &hold, sizeof(hold));
	}
}

/* Find the holder of the lock.  Use the note that the BPF program made; if the wait began before the recording, use
 * Ruby's own wait_thread_slot. */
static void find_holder(struct reading *r, const struct sched_thread *t, const struct thread_head *head,
			struct wait_details *details)
{
	struct wait_details noted = { .file = { 0 } };
	struct rb_debug_ext_thread other;
	bool is_held = head->wait_kind == RB_DEBUG_EXT_WAIT_JOIN || head->wait_kind == RB_DEBUG_EXT_WAIT_MUTEX;

	session__wait_details(r->e->session, t->account.process, t->account.tid, &noted);
	if (details__has_gvl_holder(&noted, head->serial, head->state, head->state_seq))
		details->gvl_holder = noted.gvl_holder;
	details->ractor = head->ractor;
	details->gvl_from = head->ready_at > t->call_from ? head->ready_at : t->call_from;
	details->gvl_to = head->state == RB_DEBUG_EXT_THREAD_READY ? r->look.now : 0;
	if (details->gvl_to)
		take_last_look(r, t, head->ractor);
	if (details__has_holder(&noted, head->serial, head->state, head->state_seq)) {
		details->holder = noted.holder;
		return;
	}
	/* The wait would be over if that thread had ended: its slot is still its own. */
	if (!is_held || !head->wait_thread_slot ||
	    tables__read_thread(&r->p->vm->layout, &r->p->vm->memory, head->wait_thread_slot, &other) || !other.thread)
		return;
	details->holder = (struct wait_peer){
		.kind = PEER_THREAD, .thread = other.serial, .slot = head->wait_thread_slot, .tid = other.tid,
		.vm = t->account.vm, .process = t->account.process,
	};
}

/* Find who ended the part of the wait that is over. */
static void find_waker(struct reading *r, const struct sched_thread *t, const struct thread_head *head, uint64_t gvl,
		       struct wait_details *details)
{
	struct wait_details noted = { .file = { 0 } };

	session__wait_details(r->e->session, t->account.process, t->account.tid, &noted);
	details->gvl_waker = noted.gvl_waker;
	if (t->off == OFF_YES && !t->woken)
		details->gvl_waker.kind = PEER_NOBODY;
	if (!gvl)
		details->waker = details->gvl_waker;
	else if (details__has_waker(&noted, head->serial, head->state, head->state_seq))
		details->waker = noted.waker;
}

/* Find the states of the wait, and its details. */
static void classify(struct reading *r, const struct sched_thread *t, const struct rb_debug_ext_thread *thread,
		     const struct task *task, uint64_t blocked, struct parts *parts)
{
	struct thread_head head = { 0 };
	struct wait_class c;
	uint64_t gvl;

	if (thread)
		memcpy(&head, thread, sizeof(head));
	c = thread_look__classify(t, thread ? &head : NULL);
	gvl = c.gvl ? gvl_part(t, &head) : 0;
	parts->list[0].state = c.state;
	parts->list[0].ns = blocked - gvl;
	parts->list[1].state = STATE_GVL;
	parts->list[1].ns = gvl;
	if (!task || !t->in_call)
		return;
	parts->detail = wait_state__detail(&c, thread ? &head : NULL, task->call, task->args, r->p->pid,
					   r->p->vm && r->p->vm->space ? &r->p->vm->memory : NULL,
					   r->waits.details & WAIT_DETAIL_FILE, &parts->details.file);
	if (thread && r->waits.details & WAIT_DETAIL_HOLDER)
		find_holder(r, t, &head, &parts->details);
	if (r->waits.details & WAIT_DETAIL_WAKER)
		find_waker(r, t, &head, gvl, &parts->details);
}

static void account(struct sched_thread *t, uint32_t state, uint64_t ns)
{
	if (!ns)
		return;
	t->account.time[state] += ns;
	t->account.waits[state]++;
}

/* The thread is waiting now, or its last wait is not in its account yet. */
static void end_wait(struct reading *r, uint32_t tid, struct sched_thread *t)
{
	const struct table_thread *found = thread_look__find(&r->look, t->account.tid);
	const struct rb_debug_ext_thread *thread = found ? &found->t : NULL;
	struct parts parts = { { { STATE_NATIVE, 0 }, { STATE_GVL, 0 }, { STATE_STOPPED, t->stopped },
				 { STATE_RUNNABLE, t->runnable } }, 0, { .file = { 0 } } };
	struct task task, *known = NULL;

	if (t->off != OFF_NOT && thread_look__has_stayed(&r->look, tid, t) &&
	    !tasks__look(&r->look.tasks, (pid_t)tid, &task))
		known = &task;
	if (thread && known && !t->account.thread) {
		t->account.thread = thread->serial;
		t->account.thread_slot = found->slot;
	}
	classify(r, t, known ? thread : NULL, known, t->blocked, &parts);
	send(r, tid, t, &parts, thread, known);
	for (int i = 0; i < 4; i++)
		account(t, parts.list[i].state, parts.list[i].ns);
	t->blocked = t->runnable = t->stopped = 0;
}

/* Put what it is doing at the end into its account. */
static void settle(struct reading *r, uint32_t tid, struct sched_thread *t)
{
	account(t, STATE_RUNNING, thread_look__settle(&r->look, tid, t));
	if (t->in_call || r->waits.ends_on_cpu) {
		if (has_unsettled(t))
			end_wait(r, tid, t);
		return;
	}
	states__end_wait(&r->e->states, &r->e->resolver, t, r->look.now);
	account(t, STATE_FAULT, t->blocked);
	account(t, STATE_STOPPED, t->stopped);
	account(t, STATE_RUNNABLE, t->runnable);
	t->blocked = t->stopped = t->runnable = 0;
}

static bool end_thread(struct reading *r, uint32_t tid, struct sched_thread *t)
{
	if (t->settled)
		return false;
	look_at(r, t->account.process);
	/* It has had its time: its threads have no stacks. */
	if (r->p && deadline__over(&r->e->reads))
		thread_look__close(&r->look);
	/* A ruby that was taken for another program at first. */
	if (r->p && r->p->vm)
		t->account.vm = r->p->vm->number;
	if (r->p)
		proc__comm(r->p->pid, (pid_t)tid, t->account.comm, sizeof(t->account.comm));
	if (r->p)
		settle(r, tid, t);
	else	/* the process is gone, and its threads with it */
		account(t, STATE_RUNNING, r->look.now > t->since ? r->look.now - t->since : 0);
	t->account.until = r->look.now > t->since ? r->look.now : t->since;
	if (!states__is_shared(&r->e->states, t->account.process, t->account.tid) &&
	    states__add_account(&r->e->states, &r->e->resolver, &t->account, false))
		r->e->states.other_count++;
	t->settled = 1;
	return true;
}

/* Its stack must be read now, or it is known to run. */
static bool end_at_once(void *context, uint32_t tid, struct sched_thread *t)
{
	const struct reading *r = context;

	return (t->off != OFF_YES || t->in_call || r->waits.ends_on_cpu) && end_thread(context, tid, t);
}

static bool end_other(void *context, uint32_t tid, struct sched_thread *t)
{
	return end_thread(context, tid, t);
}

static void end_all(struct engine *e, const struct session_waits *waits, bool at_once)
{
	struct reading r = { .e = e, .look.now = waits->stopped_at, .waits = *waits, .walker = walker__new(), .until = e->reads.until };
	uint64_t now = deadline__now();

	if (!r.walker)
		return;
	/* If the processes were chosen, each may have all. */
	if (e->settings.selection.all)
		r.time.max = r.until > now ? r.until - now : 1;
	/* Without memory the stacks say that their functions are missing. */
	if (e->resolver.native)
		r.cache = page_cache__new(NULL);
	walker__want_kinds(r.walker, r.cache);
	session__each_thread(e->session, at_once ? end_at_once : end_other, &r);
	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i])
			e->set.list[i]->at_end = (struct budget_share){ 0 };
	deadline__start(&e->reads, -1, r.until);
	thread_look__free(&r.look);
	walker__free(r.walker);
	free(r.cache);
}

void engine__read_waits(struct engine *e)
{
	struct session_waits waits;

	/* A session without BPF has the accounts of those that live among its events. */
	if (session__waits(e->session, &waits))
		end_all(e, &waits, true);
	engine__flush_shared(e);
}

void engine__end_waits(struct engine *e)
{
	struct session_losses losses;
	struct session_waits waits;

	if (!e->started || !session__waits(e->session, &waits))
		return;
	end_all(e, &waits, false);
	states__end(&e->states, &e->resolver);
	session__losses(e->session, &losses);
	e->states.lost = losses.threads - e->lost_accounts;
}
