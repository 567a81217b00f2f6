/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Notes who ends the waits of threads, if the user asks for it.  The kernel reports a wakeup in the context of the
 * thread that does it.  A thread that waits for another one and for the GVL after that is woken up once, when it gets
 * the GVL.  The VM's probe `thread_state` tells who ended its first wait: it runs in the thread that made the other one
 * ready.  A part of sched.bpf.c.
 */
#ifndef EXTPROF_WAKER_BPF_H
#define EXTPROF_WAKER_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/peer.bpf.h"
#include "wire/wait_details.h"

/* Describe the current thread.  *p is in a map, and all zero. */
static __always_inline void waker__current(struct wait_peer *p)
{
	struct hit h = { .source = SOURCE_SCHED };
	struct task_struct *task = task__current();
	uint64_t ids = bpf_get_current_pid_tgid();
	struct peer_tables tables;

	if (!hit__find(&h) && h.cfg->section && !(h.cfg->flags & TARGET_WATCHED)) {
		if (!peer__tables(h.cfg, &tables) && !peer__current(h.cfg, &tables, h.task, p))
			return;
		p->process = h.cfg->process;
		p->vm = h.cfg->vm;
		p->tid = task__tid(task, (uint32_t)ids);
	} else {
		p->tid = task__pid_in(task, (uint32_t)(ids >> 32), reader_pidns);
	}
	bpf_get_current_comm(p->comm, sizeof(p->comm));
	p->kind = PEER_TASK;
}

/* The current thread wakes that one up.  Not static: the verifier follows it once. */
__weak __noinline int note_waker(uint32_t process, uint32_t tid, uint64_t context)
{
	struct wait_details *a = details__make(process, tid);

	if (!a)
		return 0;
	__builtin_memset(&a->gvl_waker, 0, sizeof(a->gvl_waker));
	/* A CPU that has nothing to do has no thread. */
	if (bpf_get_current_pid_tgid() && task__does_it_itself(task__current(), context))
		waker__current(&a->gvl_waker);
	else
		a->gvl_waker.kind = PEER_INTERRUPT;
	return 0;
}

/* The current thread has made another one ready, that slept until now. */
static __always_inline void waker__made_ready(struct wait_details *a)
{
	uint64_t seq = 0;

	__builtin_memset(&a->waker, 0, sizeof(a->waker));
	if (read_target(&seq, sizeof(seq), a->slot + __builtin_offsetof(struct rb_debug_ext_thread, state_seq)))
		return;
	waker__current(&a->waker);
	a->waker.seq = seq;
}

/* Did the call end because its time was over? */
static __always_inline int waker__timed_out(uint32_t kind, long result)
{
	return kind == CALL_FUTEX ? result == -110 /* ETIMEDOUT */ :
	       (kind == CALL_POLL || kind == CALL_IO || kind == CALL_SLEEP) && !result;
}

/* The call is over.  It had `gvl` ns of waiting for the GVL at its end. */
static __always_inline void waker__settle(struct wait_details *a, const struct thread_head *head, uint64_t gvl,
					  int timed_out)
{
	if (timed_out && a->gvl_waker.kind == PEER_INTERRUPT)
		a->gvl_waker.kind = PEER_TIMER;
	if (!gvl)
		a->waker = a->gvl_waker;
	else if (!details__has_waker(a, head->serial, head->state, head->state_seq))
		a->waker.kind = PEER_UNKNOWN;
}

/* The noted wakers belong to a wait that is over. */
static __always_inline void waker__forget(struct wait_details *a)
{
	a->waker.kind = a->gvl_waker.kind = PEER_UNKNOWN;
}

#endif /* EXTPROF_WAKER_BPF_H */
