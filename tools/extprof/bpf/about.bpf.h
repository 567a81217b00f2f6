/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Details of a wait, if the user asks for them: its file, the holder of the lock that it waits for, and who ends it.
 * They are noted when the wait begins or ends.  They are sent when the wait is over, before the samples of it.  A part
 * of sched.bpf.c.
 *
 * When a thread begins to sleep and when it becomes ready is told by the VM's probe `thread_state`.  A note has the
 * thread's count of changes of its state (state_seq): that tells whether it belongs to the wait that ends.
 */
#ifndef EXTPROF_ABOUT_BPF_H
#define EXTPROF_ABOUT_BPF_H

/* Like EXTPROF_KERNEL: the unit tests define it as a fake. */
#ifndef EXTPROF_KERNEL_FILE
#define EXTPROF_KERNEL_FILE "bpf/kernel_file.h"
#endif

#include "bpf/common.bpf.h"
#include EXTPROF_KERNEL_FILE
#include "bpf/party.bpf.h"
#include "bpf/probe.bpf.h"
#include "wire/wait_details.h"
#include "wire/states.h"

/* A mask of ABOUT_. */
const volatile uint32_t about_wanted = 0;
/* By number of the system call. */
const volatile uint8_t call_kinds[CALLS_MAX] = { 0 };

/* Allocated in advance, like `threads`. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct about_key);
	__type(value, struct wait_about);
} abouts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gvl_key);
	__type(value, struct gvl_holds);
} gvl_holders SEC(".maps");

static __always_inline struct wait_about *about__find(uint32_t process, uint32_t tid)
{
	struct about_key key = { .process = process, .tid = tid };

	return bpf_map_lookup_elem(&abouts, &key);
}

static __always_inline struct wait_about *about__make(uint32_t process, uint32_t tid)
{
	static const struct wait_about none = { 0 };
	struct about_key key = { .process = process, .tid = tid };
	struct wait_about *a = bpf_map_lookup_elem(&abouts, &key);

	if (a)
		return a;
	bpf_map_update_elem(&abouts, &key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&abouts, &key);
}

static __always_inline void about__forget(uint32_t process, uint32_t tid)
{
	struct about_key key = { .process = process, .tid = tid };

	bpf_map_delete_elem(&abouts, &key);
}

/* The file descriptor that the wait of the current thread is on, as wait__fd(). */
static __always_inline uint32_t regs__fd(struct pt_regs___kernel *regs, uint32_t kind, uint32_t state, int ruby_fd)
{
	uint64_t first = 0, second = 0;
	int polled = -1;

	if (kind == CALL_FD || kind == CALL_POLL)
		regs__arguments(regs, &first, &second);
	if (call__polls_one(kind, second) && read_target(&polled, sizeof(polled), first))
		polled = -1;
	return wait__fd(kind, first, polled, state, ruby_fd);
}

/* The current thread waits on the file of `fd` - 1: note what that is. */
static __always_inline void about__note_file(struct wait_about *a, struct task_struct *task, uint32_t fd)
{
	struct file *file = fd ? task__file(task, fd - 1) : NULL;

	a->file.fd = 0;
	if (!file)
		return;
	file__describe(file, &a->file);
	a->file.fd = fd;
}

/*
 * The current thread leaves its CPU in the system call for the first time: the file is still the one that
 * the call has.  A function of its own, and not static: the verifier follows it once.
 */
__weak __noinline int about_begins(uint32_t process, uint32_t tid, uint32_t number)
{
	struct task_struct *task = task__current();
	struct wait_about *a = about__make(process, tid);
	uint32_t kind = number < CALLS_MAX ? call_kinds[number & (CALLS_MAX - 1)] : CALL_OTHER;

	if (a && about_wanted & ABOUT_FILE)
		about__note_file(a, task, regs__fd(task__regs(task), kind, STATE_NATIVE, -1));
	return 0;
}

#include "bpf/waker.bpf.h"

/* -- who holds it ------------------------------------------------------------------------------- */

/* A field of the thread's own slot. */
#define SLOT_READ(a, field, to) \
	read_target(&(to), sizeof(to), (a)->slot + __builtin_offsetof(struct rb_debug_ext_thread, field))

/* Where is the slot of the current thread, which has that serial? */
static __always_inline void about__find_slot(const struct target_config *cfg, const struct party_tables *tables,
					     struct task_struct *task, struct wait_about *a, uint64_t serial,
					     uint32_t state)
{
	uint32_t slot = party__current_slot(cfg, tables, task);
	uint64_t found = 0;

	/* A thread that runs for the first time has no EC yet, but it has the GVL. */
	if (!slot && state == RB_DEBUG_EXT_THREAD_RUNNING)
		slot = tables->gvl_thread_slot;
	a->serial = 0;
	a->slot_number = slot;
	a->slot = party__slot(cfg, tables, slot);
	if (a->slot && !SLOT_READ(a, serial, found) && found == serial)
		a->serial = serial;
}

/* The current thread is about to sleep.  Note the owner of the Mutex, or the thread that is joined. */
static __always_inline void about__sleeps(const struct target_config *cfg, const struct party_tables *tables,
					  struct wait_about *a)
{
	uint32_t kind = 0, slot = 0;
	uint64_t seq = 0;

	a->holder.kind = PARTY_UNKNOWN;
	if (SLOT_READ(a, wait_kind, kind) || (kind != RB_DEBUG_EXT_WAIT_JOIN && kind != RB_DEBUG_EXT_WAIT_MUTEX) ||
	    SLOT_READ(a, wait_thread_slot, slot) || SLOT_READ(a, state_seq, seq) || !slot)
		return;
	if (!party__of_slot(cfg, tables, slot, &a->holder))
		a->holder.seq = seq;
}

/* ns.  The holder's method is looked at as often, besides when it leaves its CPU. */
#define HOLDER_LOOK 500000ull

/* `ractor` 0: it is not known, and is the main one. */
static __always_inline struct gvl_key holds__key(uint32_t process, uint32_t ractor)
{
	return (struct gvl_key){ .process = process, .ractor = ractor ? ractor : 1 };
}

static __always_inline struct gvl_holds *holds__make(uint32_t process, uint32_t ractor)
{
	static const struct gvl_holds none = { 0 };
	struct gvl_key key = holds__key(process, ractor);
	struct gvl_holds *holds = bpf_map_lookup_elem(&gvl_holders, &key);

	if (holds)
		return holds;
	bpf_map_update_elem(&gvl_holders, &key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&gvl_holders, &key);
}

/* The thread in that slot has the GVL, and is in that method.  Threads on several CPUs see that. */
static __always_inline void holds__add(struct gvl_holds *holds, const struct wait_party *p)
{
	struct gvl_hold *last, *hold;

	__sync_fetch_and_add(&holds->users, 1);
	/* If two look at the same moment, one of them is enough. */
	if (*(volatile uint32_t *)&holds->users != 1)
		goto leave;
	last = &holds->hold[(holds->next - 1) & (GVL_HOLDS - 1)];
	holds->looked_at = bpf_ktime_get_ns();
	if (last->from && last->party.thread == p->thread && last->party.id == p->id)
		goto leave;
	hold = &holds->hold[holds->next & (GVL_HOLDS - 1)];
	hold->from = holds->looked_at;
	hold->party = *p;
	holds->next++;
leave:
	__sync_fetch_and_add(&holds->users, -1);
}

/*
 * A thread leaves its CPU.  Note who has the GVL of its ractor now, and in which method.  A thread that keeps the GVL
 * and waits notes that itself, with the method that waits.  A holder that computes is seen when other threads leave
 * their CPUs: Ruby's timer wakes up each 10 ms while threads wait for the GVL.  Not static: the verifier follows it
 * once.
 */
__weak __noinline int note_holder(uint32_t process, uint32_t tid)
{
	struct wait_about *a = about__find(process, tid);
	struct hit h = { .source = SOURCE_SCHED };
	struct wait_party p = { .kind = PARTY_UNKNOWN };
	struct party_tables tables;
	struct gvl_holds *holds;
	uint32_t slot;

	if (hit__find(&h) || party__tables(h.cfg, &tables))
		return 0;
	slot = party__gvl(h.cfg, &tables, a ? a->ractor : 1);
	holds = slot ? holds__make(process, a ? a->ractor : 1) : NULL;
	if (!holds || (!(a && a->slot_number == slot) && bpf_ktime_get_ns() - holds->looked_at < HOLDER_LOOK) ||
	    party__of_slot(h.cfg, &tables, slot, &p) || party__tables(h.cfg, &tables))
		return 0;
	/* It has given the GVL away meanwhile. */
	if (party__gvl(h.cfg, &tables, a ? a->ractor : 1) == slot)
		holds__add(holds, &p);
	return 0;
}

/* The thread has become ready.  Note who has the GVL. */
static __always_inline void about__is_ready(const struct target_config *cfg, const struct party_tables *tables,
					    struct wait_about *a)
{
	struct gvl_holds *holds;
	uint64_t seq = 0;
	uint32_t holder;

	a->gvl_holder.kind = PARTY_UNKNOWN;
	if (SLOT_READ(a, state_seq, seq) || SLOT_READ(a, ractor, a->ractor))
		return;
	holder = party__gvl(cfg, tables, a->ractor);
	if (!holder || party__of_slot(cfg, tables, holder, &a->gvl_holder))
		return;
	a->gvl_holder.seq = seq;
	holds = holds__make(cfg->process, a->ractor);
	if (holds)
		holds__add(holds, &a->gvl_holder);
}

/* The current thread, whose slot has that number, has got the GVL. */
static __always_inline void about__runs(const struct target_config *cfg, const struct party_tables *tables,
					struct wait_about *own, uint32_t slot)
{
	struct wait_party p = { .kind = PARTY_UNKNOWN };
	struct gvl_holds *holds;

	if (SLOT_READ(own, ractor, own->ractor) || party__of_slot(cfg, tables, slot, &p))
		return;
	holds = holds__make(cfg->process, own->ractor);
	if (holds)
		holds__add(holds, &p);
}

/* A new thread has become ready: it has no native thread yet, and the current thread, which made it, has the GVL. */
static __always_inline void about__is_made(const struct target_config *cfg, const struct party_tables *tables,
					   struct task_struct *task, uint64_t serial)
{
	struct wait_about *a = about__make(cfg->process, ABOUT_NEW | (uint32_t)serial);

	if (!a || party__current(cfg, tables, task, &a->gvl_holder))
		return;
	a->serial = serial;
	a->gvl_holder.seq = 2;	/* it has been created, and is ready */
}

/* The state of a thread of the current process has changed.  Not static: the verifier follows it once. */
__weak __noinline int note_state(uint64_t serial, uint32_t old, uint32_t state, uint32_t tid)
{
	struct hit h = { .source = SOURCE_SCHED };
	struct party_tables tables;
	struct wait_about *a;
	int own;

	if (hit__find(&h) || party__tables(h.cfg, &tables))
		return 0;
	if (!tid) {
		if (about_wanted & ABOUT_HOLDER && old == RB_DEBUG_EXT_THREAD_CREATED && state == RB_DEBUG_EXT_THREAD_READY)
			about__is_made(h.cfg, &tables, h.task, serial);
		return 0;
	}
	own = tid == task__tid(h.task, h.tid);
	a = about__make(h.cfg->process, tid);
	if (!a)
		return 0;
	if (own && a->serial != serial) {
		about__find_slot(h.cfg, &tables, h.task, a, serial, state);
		about__forget(h.cfg->process, ABOUT_NEW | (uint32_t)serial);
	}
	/* Another thread cannot tell where the slot of this one is.  It tells itself in its first wait. */
	if (a->serial != serial)
		return 0;
	if (about_wanted & ABOUT_WAKER && state == RB_DEBUG_EXT_THREAD_READY && !own)
		waker__made_ready(a);
	if (!(about_wanted & ABOUT_HOLDER))
		return 0;
	if (state == RB_DEBUG_EXT_THREAD_SLEEPING)
		about__sleeps(h.cfg, &tables, a);
	else if (state == RB_DEBUG_EXT_THREAD_READY)
		about__is_ready(h.cfg, &tables, a);
	else if (state == RB_DEBUG_EXT_THREAD_RUNNING && own)
		about__runs(h.cfg, &tables, a, a->slot_number);
	return 0;
}

SEC("uprobe")
int waits_state_changed(bpf_user_pt_regs_t *regs)
{
	struct hit h = { .source = SOURCE_SCHED };
	uint64_t arguments[4];	/* serial, old state, new state, tid */

	if (hit__find(&h) || !h.cfg->section || h.cfg->flags & TARGET_WATCHED ||
	    probe__arguments(regs, h.cfg, arguments))
		return 0;
	note_state(arguments[0], (uint32_t)arguments[1], (uint32_t)arguments[2], (uint32_t)arguments[3]);
	return 0;
}

/* Set a->gvl_holder to the thread and method that had the GVL longest while the thread waited for it, from `ready` to
 * `to`. */
static __always_inline void about__longest(struct wait_about *a, uint32_t process, uint64_t ready, uint64_t to)
{
	struct gvl_key key = holds__key(process, a->ractor);
	struct gvl_holds *holds = bpf_map_lookup_elem(&gvl_holders, &key);
	uint64_t from, until, first;
	uint32_t place;

	if (!holds)
		return;
	a->hold_first = to;
	a->hold_best = 0;
	a->hold_longest = GVL_HOLDS;
	for (uint32_t i = 0; i < GVL_HOLDS; i++) {
		place = (uint32_t)(holds->next + i) & (GVL_HOLDS - 1);
		from = holds->hold[place].from;
		until = i + 1 < GVL_HOLDS ? holds->hold[(place + 1) & (GVL_HOLDS - 1)].from : to;
		if (!from || from >= to || until <= ready)
			continue;
		if (from < a->hold_first)
			a->hold_first = from;
		if (from < ready)
			from = ready;
		if (until > to)
			until = to;
		if (until - from > a->hold_best) {
			a->hold_best = until - from;
			a->hold_longest = place;
		}
	}
	place = a->hold_longest;
	first = a->hold_first;
	/* The ring may not reach back to the begin of a long wait.  The first holder had the GVL in the time before the
	 * ring. */
	if (place < GVL_HOLDS && (!a->gvl_holder.kind || a->hold_best > (first > ready ? first - ready : 0)))
		a->gvl_holder = holds->hold[place & (GVL_HOLDS - 1)].party;
}

/* The call is over, and Ruby says this of the thread, which waited until `to`: forget notes that are of another wait. */
static __always_inline void about__settle(struct wait_about *a, uint32_t process, const struct thread_head *head,
					  uint64_t to)
{
	struct wait_about *made = NULL;

	if (a->serial != head->serial)
		made = about__find(process, ABOUT_NEW | (uint32_t)head->serial);
	/* Its first wait. */
	if (made && about__has_gvl_holder(made, head->serial, head->state, head->state_seq)) {
		a->gvl_holder = made->gvl_holder;
		a->holder.kind = PARTY_UNKNOWN;
	} else {
		if (!about__has_holder(a, head->serial, head->state, head->state_seq))
			a->holder.kind = PARTY_UNKNOWN;
		if (!about__has_gvl_holder(a, head->serial, head->state, head->state_seq))
			a->gvl_holder.kind = PARTY_UNKNOWN;
	}
	a->ractor = head->ractor;
	if (head->state == RB_DEBUG_EXT_THREAD_READY)
		about__longest(a, process, head->ready_at, to);
}

/* -- sending -------------------------------------------------------------------------------------- */

/* Send it before the samples of the current thread.  1: it was sent.  0: there is nothing to tell, or
 * no room: then the samples have no such frame. */
static __always_inline int about__send(const struct hit *h, const struct sched_thread *t)
{
	struct wait_about *a = about__find(t->account.process, t->account.tid);
	int sent;

	if (!a)
		return 0;
	a->e.time = bpf_ktime_get_ns();
	a->e.source = SOURCE_SCHED;
	a->e.kind = SAMPLE_ABOUT;
	a->e.vm = h->cfg->vm;
	a->e.process = t->account.process;
	a->e.tid = t->account.tid;
	a->e.cpu = bpf_get_smp_processor_id();
	sent = !ring__take(h->cfg, sizeof(*a)) && !bpf_ringbuf_output(&samples, a, sizeof(*a), BPF_RB_NO_WAKEUP);
	waker__forget(a);
	return sent;
}

#endif /* EXTPROF_ABOUT_BPF_H */
