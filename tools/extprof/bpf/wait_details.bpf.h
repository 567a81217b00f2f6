/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Details of a wait, if the user asks for them: its file, the holder of the lock that it waits for, and who ends it.
 * They are noted when the wait begins or ends.  They are sent when the wait is over, before the samples of it.  A part
 * of sched.bpf.c.
 *
 * When a thread begins to sleep and when it becomes ready is told by the VM's probe `thread_state`.  A note has the
 * thread's count of changes of its state (state_seq): that tells whether it belongs to the wait that ends.
 */
#ifndef EXTPROF_WAIT_DETAILS_BPF_H
#define EXTPROF_WAIT_DETAILS_BPF_H

/* Like EXTPROF_KERNEL: the unit tests define it as a fake. */
#ifndef EXTPROF_KERNEL_FILE
#define EXTPROF_KERNEL_FILE "bpf/kernel_file.h"
#endif

#include "bpf/common.bpf.h"
#include EXTPROF_KERNEL_FILE
#include "bpf/peer.bpf.h"
#include "bpf/probe.bpf.h"
#include "wire/wait_details.h"
#include "wire/states.h"

/* Not 0: nothing is measured.  WAITS_HELD: user space puts the sums together, and what is here stays as it is. */
volatile uint32_t waits_paused = 0;
/* A mask of WAIT_DETAIL_. */
const volatile uint32_t details_wanted = 0;
/* By number of the system call. */
const volatile uint8_t call_kinds[CALLS_MAX] = { 0 };

/* Allocated in advance, like `threads`. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct details_key);
	__type(value, struct wait_details);
} all_details SEC(".maps");

/* Allocated in advance: before 6.1 the kernel allows no other map in the program of a timer. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct gvl_key);
	__type(value, struct gvl_watch);
} gvl_looks SEC(".maps");

static __always_inline struct wait_details *details__find(uint32_t process, uint32_t tid)
{
	struct details_key key = { .process = process, .tid = tid };

	return bpf_map_lookup_elem(&all_details, &key);
}

static __always_inline struct wait_details *details__make(uint32_t process, uint32_t tid)
{
	static const struct wait_details none = { 0 };
	struct details_key key = { .process = process, .tid = tid };
	struct wait_details *a = bpf_map_lookup_elem(&all_details, &key);

	if (a)
		return a;
	bpf_map_update_elem(&all_details, &key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&all_details, &key);
}

static __always_inline void details__forget(uint32_t process, uint32_t tid)
{
	struct details_key key = { .process = process, .tid = tid };

	bpf_map_delete_elem(&all_details, &key);
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
static __always_inline void details__note_file(struct wait_details *a, struct task_struct *task, uint32_t fd)
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
__weak __noinline int details_begin(uint32_t process, uint32_t tid, uint32_t number)
{
	struct task_struct *task = task__current();
	struct wait_details *a = details__make(process, tid);
	uint32_t kind = number < CALLS_MAX ? call_kinds[number & (CALLS_MAX - 1)] : CALL_OTHER;

	if (a && details_wanted & WAIT_DETAIL_FILE)
		details__note_file(a, task, regs__fd(task__regs(task), kind, STATE_NATIVE, -1));
	return 0;
}

#include "bpf/waker.bpf.h"

/* -- who holds it ------------------------------------------------------------------------------- */

/* A field of the thread's own slot. */
#define SLOT_READ(a, field, to) \
	read_target(&(to), sizeof(to), (a)->slot + __builtin_offsetof(struct rb_debug_ext_thread, field))

/* Where is the slot of the current thread, which has that serial? */
static __always_inline void details__find_slot(const struct target_config *cfg, const struct peer_tables *tables,
					     struct task_struct *task, struct wait_details *a, uint64_t serial,
					     uint32_t state)
{
	uint32_t slot = peer__current_slot(cfg, tables, task);
	uint64_t found = 0;

	/* A thread that runs for the first time has no EC yet, but it has the GVL. */
	if (!slot && state == RB_DEBUG_EXT_THREAD_RUNNING)
		slot = tables->gvl_thread_slot;
	a->serial = 0;
	a->slot_number = slot;
	a->slot = peer__slot(cfg, tables, slot);
	if (a->slot && !SLOT_READ(a, serial, found) && found == serial)
		a->serial = serial;
}

/* The current thread is about to sleep: the slot of the owner of the Mutex, or of the thread that is joined; 0: none. */
static __always_inline uint32_t details__sleeps_for(struct wait_details *a)
{
	uint32_t kind = 0, slot = 0;

	a->holder.kind = PEER_UNKNOWN;
	if (SLOT_READ(a, wait_kind, kind) || (kind != RB_DEBUG_EXT_WAIT_JOIN && kind != RB_DEBUG_EXT_WAIT_MUTEX) ||
	    SLOT_READ(a, wait_thread_slot, slot))
		return 0;
	return slot;
}

/* 0: it is not known, and is the main one. */
static __always_inline uint32_t ractor_or_main(uint32_t ractor)
{
	return ractor ? ractor : 1;
}

static __always_inline struct gvl_watch *look__make(uint32_t process, uint32_t ractor)
{
	static const struct gvl_watch none = { 0 };
	struct gvl_key key = { .process = process, .ractor = ractor };
	struct gvl_watch *look = bpf_map_lookup_elem(&gvl_looks, &key);

	if (look)
		return look;
	bpf_map_update_elem(&gvl_looks, &key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&gvl_looks, &key);
}

/* Send the last look. */
static __always_inline void look__send(struct target_config *cfg, struct gvl_watch *w, uint32_t ractor)
{
	struct hold_event *e;

	w->waits = 0;
	w->number++;
	/* The reader sees by the number that one is missing. */
	e = ring__take(cfg, sizeof(*e)) ? NULL : bpf_ringbuf_reserve(&samples, sizeof(*e), 0);
	if (!e)
		return;
	__builtin_memset(&e->e, 0, sizeof(e->e));
	e->e.time = w->time;
	e->e.ip = w->ip;
	e->e.source = SOURCE_SCHED;
	e->e.kind = SAMPLE_HOLD;
	e->e.vm = cfg->vm;
	e->e.process = cfg->process;
	e->e.detail = w->number;
	e->e.extra = ractor;
	e->e.state = w->look;
	e->peer = w->peer;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* 0: the caller may change it, and calls look__leave().  If two look at the same moment, one of them is enough. */
static __always_inline int look__enter(struct gvl_watch *w)
{
	__sync_fetch_and_add(&w->users, 1);
	if (*(volatile uint32_t *)&w->users == 1)
		return 0;
	__sync_fetch_and_add(&w->users, -1);
	return -1;
}

static __always_inline void look__leave(struct gvl_watch *w)
{
	__sync_fetch_and_add(&w->users, -1);
}

/* A thread has the GVL of the ractor, and is there.  Threads on several CPUs see that.  `ip`: in its JIT code; 0: not known. */
static __always_inline void look__note(struct target_config *cfg, uint32_t ractor, const struct wait_peer *p,
				       uint32_t reason, uint64_t ip)
{
	struct gvl_watch *w;
	uint64_t now;

	ractor = ractor_or_main(ractor);
	w = look__make(cfg->process, ractor);
	if (!w || look__enter(w))
		return;
	now = bpf_ktime_get_ns();
	if (w->look == reason && reason != LOOK_TURN && w->peer.thread == p->thread && w->peer.id == p->id &&
	    w->peer.ruby[0].pc == p->ruby[0].pc)
		goto leave;
	if (w->waits && now - w->time >= HOLD_SHORT)
		look__send(cfg, w, ractor);
	w->time = now;
	w->ip = ip;
	w->look = reason;
	w->waits = 1;
	w->peer = *p;
	/* The timer comes at any moment, be it of a short time. */
	if (reason == LOOK_CLOCK)
		look__send(cfg, w, ractor);
leave:
	look__leave(w);
}

/* A wait for the GVL is over: whoever had it until now is to be known. */
static __always_inline void look__settle(struct target_config *cfg, uint32_t ractor)
{
	struct gvl_key key = { .process = cfg->process, .ractor = ractor_or_main(ractor) };
	struct gvl_watch *w = bpf_map_lookup_elem(&gvl_looks, &key);

	if (!w || !w->waits || bpf_ktime_get_ns() - w->time < HOLD_SHORT || look__enter(w))
		return;
	if (w->waits)
		look__send(cfg, w, key.ractor);
	look__leave(w);
}

/* The ractor of the current thread, which has these details, if any.  If it is not known, it is the main one. */
static __always_inline uint32_t look__ractor(struct hit *h, struct wait_details **a)
{
	*a = details__find(h->cfg->process, task__tid(h->task, h->tid));
	return ractor_or_main(*a ? (*a)->ractor : 0);
}

/*
 * The slot of the current thread, if it has the GVL of its ractor; else 0.  This and note_look() are functions of their
 * own, and not static: the verifier follows them once, and their stacks are not part of one another.
 */
__weak __noinline uint32_t slot_with_gvl(void)
{
	struct hit h = { .source = SOURCE_SCHED };
	struct peer_tables tables;
	struct wait_details *a;
	uint32_t slot, ractor;

	if (hit__find(&h) || !h.cfg->section || h.cfg->flags & TARGET_WATCHED || peer__tables(h.cfg, &tables))
		return 0;
	ractor = look__ractor(&h, &a);
	slot = peer__gvl(h.cfg, &tables, ractor);
	if (!slot || (a && a->slot_number ? a->slot_number : peer__current_slot(h.cfg, &tables, h.task)) != slot)
		return 0;
	return slot;
}

/* The address of that slot; 0: it cannot be read. */
static __always_inline uint64_t look__slot(const struct target_config *cfg, uint32_t slot)
{
	struct peer_tables tables;

	return peer__tables(cfg, &tables) ? 0 : peer__slot(cfg, &tables, slot);
}

/* The current thread, which has that slot and the GVL: note the method that it is in. */
__weak __noinline int note_look(uint32_t slot, uint32_t reason)
{
	struct hit h = { .source = SOURCE_SCHED };
	struct wait_peer p;
	struct wait_details *a;
	uint32_t ractor;
	uint64_t at;

	if (hit__find(&h))
		return 0;
	at = look__slot(h.cfg, slot);
	__builtin_memset(&p, 0, sizeof(p));
	if (peer__at(h.cfg, at, slot, &p, PEER_ONCE))
		return 0;
	ractor = look__ractor(&h, &a);
	look__note(h.cfg, ractor, &p, reason, task__user_ip());
	return 0;
}

/* If the current thread has the GVL: send or note where it is. */
static __always_inline void look__at_current(uint32_t reason)
{
	uint32_t slot = slot_with_gvl();

	if (slot)
		note_look(slot, reason);
}

/* A timer looks at what runs. */
SEC("perf_event")
int waits_look(void *context)
{
	(void)context;
	if (!waits_paused)
		look__at_current(LOOK_CLOCK);
	return 0;
}

/*
 * The thread has another state: note who has what it waits for.  A thread that has become ready waits for the GVL; if
 * another thread has made it ready, that can be who has it.
 */
static __always_inline void details__note_holder(struct target_config *cfg, const struct peer_tables *tables,
					       struct wait_details *a, uint32_t state, int own)
{
	/* In a map: the verifier does not follow its values. */
	struct wait_peer *p = &a->gvl_holder;
	uint32_t slot = 0;
	uint64_t seq = 0;

	p->kind = PEER_UNKNOWN;
	if (state == RB_DEBUG_EXT_THREAD_SLEEPING)
		slot = details__sleeps_for(a);
	else if (SLOT_READ(a, ractor, a->ractor))
		return;
	else if (state == RB_DEBUG_EXT_THREAD_READY)
		slot = peer__gvl(cfg, tables, a->ractor);
	else if (state == RB_DEBUG_EXT_THREAD_RUNNING && own)
		slot = a->slot_number;
	/* One place, so that the verifier follows it once. */
	if (!slot || SLOT_READ(a, state_seq, seq) || peer__of_slot(cfg, tables, slot, p, PEER_TRIES))
		return;
	p->seq = seq;
	if (state != RB_DEBUG_EXT_THREAD_SLEEPING) {
		look__note(cfg, a->ractor, p, state == RB_DEBUG_EXT_THREAD_READY && own ? LOOK_OTHER : LOOK_TURN, 0);
		return;
	}
	a->holder = *p;
	p->kind = PEER_UNKNOWN;
}

/* The state of a thread of the current process has changed.  Not static: the verifier follows it once. */
__weak __noinline int note_state(uint64_t serial, uint32_t state, uint32_t tid)
{
	struct hit h = { .source = SOURCE_SCHED };
	struct peer_tables tables;
	struct wait_details *a;
	int own;

	if (hit__find(&h) || peer__tables(h.cfg, &tables))
		return 0;
	/* It has no native thread yet. */
	if (!tid)
		return 0;
	own = tid == task__tid(h.task, h.tid);
	a = details__make(h.cfg->process, tid);
	if (!a)
		return 0;
	if (own && a->serial != serial)
		details__find_slot(h.cfg, &tables, h.task, a, serial, state);
	/* Another thread cannot tell where the slot of this one is.  It tells itself in its first wait. */
	if (a->serial != serial)
		return 0;
	if (details_wanted & WAIT_DETAIL_WAKER && state == RB_DEBUG_EXT_THREAD_READY && !own)
		waker__made_ready(a);
	if (details_wanted & WAIT_DETAIL_HOLDER)
		details__note_holder(h.cfg, &tables, a, state, own);
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
	note_state(arguments[0], (uint32_t)arguments[2], (uint32_t)arguments[3]);
	return 0;
}

/* The call is over, and Ruby says this of the thread, which waited: forget notes that are of another wait. */
static __always_inline void details__settle(struct wait_details *a, const struct sched_thread *t, const struct thread_head *head)
{
	if (!details__has_holder(a, head->serial, head->state, head->state_seq))
		a->holder.kind = PEER_UNKNOWN;
	if (!details__has_gvl_holder(a, head->serial, head->state, head->state_seq))
		a->gvl_holder.kind = PEER_UNKNOWN;
	a->ractor = head->ractor;
	a->gvl_from = head->ready_at > t->call_from ? head->ready_at : t->call_from;
	a->gvl_to = head->state == RB_DEBUG_EXT_THREAD_READY ? t->to : 0;
}

/* -- sending -------------------------------------------------------------------------------------- */

/* Send it before the samples of the current thread.  1: it was sent.  0: there is nothing to tell, or
 * no room: then the samples have no such frame. */
static __always_inline int details__send(const struct hit *h, const struct sched_thread *t)
{
	struct wait_details *a = details__find(t->account.process, t->account.tid);
	int sent;

	if (!a)
		return 0;
	if (details_wanted & WAIT_DETAIL_HOLDER && a->gvl_to)
		look__settle(h->cfg, a->ractor);
	a->e.time = bpf_ktime_get_ns();
	a->e.source = SOURCE_SCHED;
	a->e.kind = SAMPLE_DETAILS;
	a->e.vm = h->cfg->vm;
	a->e.process = t->account.process;
	a->e.tid = t->account.tid;
	a->e.cpu = bpf_get_smp_processor_id();
	sent = !ring__take(h->cfg, sizeof(*a)) && !bpf_ringbuf_output(&samples, a, sizeof(*a), BPF_RB_NO_WAKEUP);
	waker__forget(a);
	return sent;
}

#endif /* EXTPROF_WAIT_DETAILS_BPF_H */
