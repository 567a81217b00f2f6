// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Measures how long the threads of targets do not run, and why.
 *
 * The scheduler tells when a thread leaves its CPU, when it is woken up, and when it gets a CPU again, so the time off
 * the CPU is known exactly.  The stack of a thread does not change while it is off the CPU.  So the stack is read in
 * the thread's own context, after the wait.  By then we know how long the wait was and what Ruby says about it, so we
 * walk only the stacks of waits that become samples.
 *
 * Kernels with the tracepoint sched_exit_tp (since 6.16) tell it when the thread has got a CPU again.  Older
 * ones tell it at the end of the system call in which the thread waited, and all system calls of the machine
 * pay for that.  There a thread that is in no system call when it leaves the CPU is read at once: another
 * thread got the CPU, or its memory is not there.  The length of such a wait is sent when it goes on.
 */
#include "bpf/common.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/wait_details.bpf.h"
#include "wire/histogram.h"
#include "wire/states.h"

char LICENSE[] SEC("license") __weak = "Dual BSD/GPL";

/* ns.  A wait of this length or more is a sample of its own.  Shorter ones add up, for each thread and state,
 * and one of them is the sample of so much.  0: each wait is a sample. */
volatile uint64_t wait_quantum = 0;

/* States of which waits are samples, a mask of 1u << enum thread_state.  All are in the accounts. */
const volatile uint32_t states_sampled = ~0u;

/* Not 0: no wait becomes a sample.  Only the accounts and the lengths of waits for the GVL are recorded. */
const volatile uint32_t waits_as_figures = 0;

/* Not 0: the kernel tells in the thread that it has got a CPU, and a wait is settled then. */
const volatile uint32_t waits_end_on_cpu = 0;

/* Threads that ended while WAITS_HELD. */
uint64_t waits_ended_unseen = 0;
/* Grows by 1 with each interval of figures. */
volatile uint64_t waits_interval = 0;

/* Threads that found no room, and accounts that were not sent. */
uint64_t threads_full = 0;
uint64_t accounts_lost = 0;

/* By tid in the outermost pid namespace.  Not allocated when it is needed: the scheduler must not wait. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sched_thread);
} threads SEC(".maps");

/* How long threads waited for the GVL, by target_config::process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct histogram);
} gvl_waits SEC(".maps");

/* Waits that found no room there. */
uint64_t gvl_waits_lost = 0;

static __always_inline struct sched_thread *thread__find(uint32_t tid)
{
	return bpf_map_lookup_elem(&threads, &tid);
}

/* Add `ns` in that state to the account of the thread. */
static __always_inline void account(struct sched_thread *t, uint32_t state, uint64_t ns)
{
	t->account.time[state & (STATE_ROOM - 1)] += ns;
	t->account.waits[state & (STATE_ROOM - 1)]++;
}

/* Is the wait a sample, and of what?  It is in the account. */
static __always_inline void choose(struct sched_thread *t, uint32_t state, uint64_t ns)
{
	uint32_t i = state & (STATE_ROOM - 1);
	struct sched_part part = { .state = state, .value = ns, .count = 1 };

	if (waits_as_figures || !(states_sampled >> i & 1))
		return;
	if (ns < wait_quantum) {
		t->owed[i] += ns;
		t->owed_waits[i]++;
		if (t->owed[i] < wait_quantum)
			return;
		t->owed[i] -= wait_quantum;
		part.value = wait_quantum;
		part.count = t->owed_waits[i];
		t->owed_waits[i] = 0;
	}
	t->part[t->parts & (PARTS_MAX - 1)] = part;
	t->parts++;
}

/* -- off the CPU ------------------------------------------------------------------------- */

/* A thread can be off the CPU outside of a system call in these. */
#define STATES_OUTSIDE (1u << STATE_RUNNABLE | 1u << STATE_FAULT | 1u << STATE_STOPPED)

/* It leaves the CPU outside of a system call: this is the moment to read its stack. */
static __always_inline void send_stack(struct sched_thread *t, void *context, int native)
{
	struct hit h = { .source = SOURCE_SCHED, .context = context };
	struct walk_scratch *s;
	int reason = 0;

	t->sent = 0;
	if (waits_as_figures || !(states_sampled & STATES_OUTSIDE) || hit__find(&h) || hit__count(&h))
		return;
	s = hit__walk(&h, SAMPLE_WAITS, task__user_ip(), &reason);
	if (!s)
		return;
	if (native && !reason)
		unwind_add(s->index, h.cfg);
	h.detail = ++t->sequence;
	h.state = t->out == OUT_RUNNABLE ? STATE_RUNNABLE : t->out == OUT_STOPPED ? STATE_STOPPED : STATE_FAULT;
	if (!hit__send(&h, s, reason))
		t->sent = t->sequence;
}

/* It has gone on after a wait outside of a system call. */
static __always_inline void send_length(struct sched_thread *t, uint64_t blocked, uint64_t runnable, uint64_t now)
{
	struct sample_event *e;
	struct source_counters *c;

	if (!t->sent)
		return;
	e = bpf_ringbuf_reserve(&samples, sizeof(*e), 0);
	if (!e)
		return;		/* the reader counts the stack that it waits with */
	__builtin_memset(e, 0, sizeof(*e));
	e->time = now;
	e->source = SOURCE_SCHED;
	e->kind = SAMPLE_RESUMED;
	e->vm = t->account.vm;
	e->process = t->account.process;
	e->tid = t->account.tid;
	e->detail = t->sent;
	e->value = t->out == OUT_RUNNABLE ? runnable : blocked;
	e->count = t->out == OUT_RUNNABLE ? 0 : runnable;
	e->state = t->out == OUT_RUNNABLE ? STATE_RUNNABLE : t->out == OUT_STOPPED ? STATE_STOPPED : STATE_FAULT;
	/* Two states are two samples. */
	if (e->count) {
		c = process_counters(t->account.process, SOURCE_SCHED);
		if (c) {
			COUNT(c->taken, 1);
			COUNT(c->whole, 1);
		} else {
			e->count = 0;
		}
	}
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* It got a CPU at that moment. */
static __always_inline void goes_on(struct sched_thread *t, struct task_struct *task, uint64_t now)
{
	uint64_t until, blocked, runnable;
	struct source_counters *c;

	if (t->off == OFF_UNKNOWN) {
		int call = regs__call(task__regs(task));

		t->in_call = call >= 0;
		t->call = (uint32_t)call;
		t->out = t->woken ? OUT_BLOCKED : OUT_RUNNABLE;
		t->sent = 0;
		c = t->in_call || waits_as_figures || waits_end_on_cpu ? NULL :
		    process_counters(t->account.process, SOURCE_SCHED);
		if (c) {
			COUNT(c->taken, 1);
			COUNT(c->lost[LOSS_NO_STACK], 1);
		}
	}
	until = t->out == OUT_RUNNABLE ? t->since : t->woken > t->since ? t->woken : now;
	if (until > now)
		until = now;
	blocked = until - t->since;
	runnable = now - until;
	if (t->in_call || waits_end_on_cpu) {
		add_unsettled(t, blocked, runnable);
	} else {
		if (blocked)
			account(t, t->out == OUT_STOPPED ? STATE_STOPPED : STATE_FAULT, blocked);
		if (runnable)
			account(t, STATE_RUNNABLE, runnable);
		send_length(t, blocked, runnable, now);
	}
	t->off = OFF_NOT;
	t->since = now;
}

/* Put the time that was not settled into the account, without a stack. */
static __always_inline void account_rest(struct sched_thread *t)
{
	if (t->blocked)
		account(t, t->in_call ? STATE_NATIVE : STATE_FAULT, t->blocked);
	if (t->runnable)
		account(t, STATE_RUNNABLE, t->runnable);
	if (t->stopped)
		account(t, STATE_STOPPED, t->stopped);
	t->blocked = t->runnable = t->stopped = 0;
}

/* It is found running, and nobody told that it got a CPU. */
static __always_inline void goes_on_unseen(struct sched_thread *t, struct task_struct *task, uint64_t now)
{
	goes_on(t, task, now - ran_unseen(t, KERNEL_READ(task, se.sum_exec_runtime), now));
}

static __always_inline void leaves(struct task_struct *task, int preempted, uint64_t now, void *context, int native)
{
	struct sched_thread *t = thread__find((uint32_t)KERNEL_READ(task, pid));
	uint32_t state;
	int call;

	if (!t)
		return;
	if (t->off == OFF_YES)
		goes_on_unseen(t, task, now);
	/* A thread's first wait: the kernel does not tell in the thread that it is over. */
	if (waits_end_on_cpu && has_unsettled(t))
		account_rest(t);
	account(t, STATE_RUNNING, now - t->since);
	t->since = now;
	t->woken = 0;
	/* The kernel has counted this switch. */
	t->account.voluntary = KERNEL_READ(task, nvcsw);
	t->account.involuntary = KERNEL_READ(task, nivcsw);
	t->switches = t->account.voluntary + t->account.involuntary;
	t->runs = task__runs(task);
	t->ran = KERNEL_READ(task, se.sum_exec_runtime);
	state = task__state(task);
	t->out = preempted || !state ? OUT_RUNNABLE :
		 state & TASK_STOPPED_OR_TRACED ? OUT_STOPPED : OUT_BLOCKED;
	call = regs__call(task__regs(task));
	t->in_call = call >= 0;
	t->call = (uint32_t)call;
	t->off = OFF_YES;
	if (details_wanted && t->in_call && !has_unsettled(t))
		details_begin(t->account.process, t->account.tid, t->call);
	/* If it keeps the GVL, others wait for the method that it is in. */
	if (details_wanted & WAIT_DETAIL_HOLDER)
		look__at_current(LOOK_LEAVES);
	if (!t->in_call && !waits_end_on_cpu)
		send_stack(t, context, native);
}

static __always_inline int switches(uint64_t *args, int native)
{
	struct task_struct *prev = (void *)args[1], *next = (void *)args[2];
	uint64_t now = bpf_ktime_get_ns();
	struct sched_thread *t;

	if (waits_paused)
		return 0;
	leaves(prev, args[0] & 1, now, args, native);
	t = thread__find((uint32_t)KERNEL_READ(next, pid));
	if (t && t->off != OFF_NOT)
		goes_on(t, next, now);
	return 0;
}

SEC("tp_btf/sched_switch")
int waits_switch(uint64_t *args)
{
	return switches(args, 0);
}

/* The same with native stacks.  Programs of their own, here and below: see sample_native(). */
SEC("tp_btf/sched_switch")
int waits_switch_native(uint64_t *args)
{
	return switches(args, 1);
}

SEC("tp_btf/sched_wakeup")
int waits_wakeup(uint64_t *args)
{
	struct task_struct *task = (void *)args[0];
	struct sched_thread *t = thread__find((uint32_t)KERNEL_READ(task, pid));

	if (t && t->off != OFF_NOT && !t->woken && !waits_paused)
		t->woken = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_waking")
int waits_waking(uint64_t *args)
{
	struct task_struct *task = (void *)args[0];
	struct sched_thread *t = thread__find((uint32_t)KERNEL_READ(task, pid));

	if (t && !waits_paused)
		note_waker(t->account.process, t->account.tid, context__address(args));
	return 0;
}

/* -- a wait is over ------------------------------------------------------------------------------ */

/* Find the slot of the Ruby thread that runs.  It stays the same for most threads. */
static __always_inline void find_slot(struct sched_thread *t, struct hit *h)
{
	uint32_t index = source_slots[SOURCE_SCHED & (SOURCE_SLOTS - 1)] * cpus + bpf_get_smp_processor_id();
	struct walk_scratch *s = bpf_map_lookup_elem(&scratch, &index);
	struct walk_tail tail;
	uint64_t ec = 0;

	t->slot = 0;
	/* It was a program without a ruby when it was found, or is one now. */
	if (h->cfg->vm && t->account.vm != h->cfg->vm) {
		t->account.vm = h->cfg->vm;
		t->account.thread = t->account.thread_slot = 0;
	}
	if (!s || !h->cfg->section)
		return;
	__builtin_memset(&s->event, 0, sizeof(s->event));
	if (walk__section(s, h->cfg, t->account.tid) || s->event.kind != SAMPLE_RUBY ||
	    read_target(&ec, sizeof(ec), task__thread_pointer(h->task) + (uint64_t)h->cfg->tls_current_ec) || !ec ||
	    walk__ec_tail(h->cfg, ec, &tail))
		return;
	s->event.ec_slot = tail.slot;
	walk__identify(s, h->cfg, ec);
	if (!s->event.thread)
		return;
	t->account.thread = s->event.thread;
	t->account.thread_slot = s->event.thread_slot;
	t->slot = walk__slot(s->section.thread_dir, s->section.thread_slots_end, s->section.thread_slot_size,
			     s->event.thread_slot);
}

/* Read what Ruby says about the thread that runs.  0 if it was read; not 0: the thread is not a Ruby thread, or it is
 * not sampled (any more). */
static __always_inline int read_head(struct sched_thread *t, struct thread_head *head)
{
	struct hit h = { .source = SOURCE_SCHED };

	if (t->slot && !read_target(head, sizeof(*head), t->slot) && head->tid == t->account.tid &&
	    head->serial == t->account.thread)
		return 0;
	if (hit__find(&h))
		return -1;
	find_slot(t, &h);
	return !t->slot || read_target(head, sizeof(*head), t->slot) || head->serial != t->account.thread;
}

/* After settle_call(), set t->detail: which call it was, and on which file.  Not static: the verifier follows it once. */
__weak __noinline int describe_call(uint32_t tid)
{
	struct task_struct *task = task__current();
	struct sched_thread *t = thread__find(tid);
	struct wait_details *a = NULL;
	uint32_t fd, number;
	struct file *file;

	if (!t)
		return 0;
	number = t->number;
	fd = regs__fd(task__regs(task), t->kind, t->class.state, t->ruby_fd);
	if (details_wanted & WAIT_DETAIL_FILE)
		a = details__make(t->account.process, t->account.tid);
	/* Only Ruby knew it. */
	if (a && a->file.fd != fd)
		details__note_file(a, task, fd);
	if (a && fd) {
		t->detail = DETAIL_MAKE(number + 1, a->file.kind, t->class.wait_kind, t->class.has_gvl, fd);
		return 0;
	}
	file = fd ? task__file(task, fd - 1) : NULL;
	t->detail = DETAIL_MAKE(number + 1, file ? file__kind(file) : FILE_UNKNOWN, t->class.wait_kind,
				t->class.has_gvl, fd);
	return 0;
}

/* A wait for the GVL is over. */
static __always_inline void count_gvl_wait(struct sched_thread *t, uint64_t ns)
{
	static const struct histogram none = { 0 };
	uint64_t interval = waits_interval;
	struct longest_wait *longest = &t->account.longest[interval & 1];
	uint32_t process = t->account.process;
	uint64_t class = histogram__class(ns);
	struct histogram *h = bpf_map_lookup_elem(&gvl_waits, &process);

	if (longest->interval != interval || longest->ns < ns) {
		longest->interval = interval;
		longest->ns = ns;
	}
	if (!h) {
		bpf_map_update_elem(&gvl_waits, &process, &none, BPF_NOEXIST);
		h = bpf_map_lookup_elem(&gvl_waits, &process);
	}
	/* The compiler knows this bound, and the verifier does not. */
	asm volatile("" : "+r"(class));
	if (h && class < HISTOGRAM_CLASSES)
		__sync_fetch_and_add(&h->counts[class], 1);
	else
		__sync_fetch_and_add(&gvl_waits_lost, 1);
}

static __always_inline void settle_part(struct sched_thread *t, uint32_t state, uint64_t ns)
{
	if (!ns)
		return;
	account(t, state, ns);
	choose(t, state, ns);
}

/* The current thread waited outside of a system call: put the time into the account, and choose what is to be sent. */
static __always_inline void settle_other(struct sched_thread *t)
{
	t->parts = 0;
	t->detail = 0;
	settle_part(t, STATE_FAULT, t->blocked);
	settle_part(t, STATE_STOPPED, t->stopped);
	settle_part(t, STATE_RUNNABLE, t->runnable);
	t->blocked = t->runnable = t->stopped = 0;
}

/*
 * The current thread waited in a system call: put the time into the account, and choose what is to be sent.
 * `result`: of the call, if it is over.  A function of its own, and not static: the verifier follows it once.
 */
__weak __noinline int settle_call(uint32_t tid, long result)
{
	struct pt_regs___kernel *regs = task__regs(task__current());
	struct sched_thread *t = thread__find(tid);
	struct thread_head head = { 0 };
	uint32_t number, kind = CALL_OTHER;
	struct wait_class *c;
	uint64_t gvl;

	if (!t)
		return 0;
	t->parts = 0;
	number = waits_end_on_cpu ? t->call : (uint32_t)regs__ended_call(regs);
	if (number < CALLS_MAX)
		kind = call_kinds[number & (CALLS_MAX - 1)];
	t->known = !read_head(t, &head);
	/* The verifier does not track values in a map.  If it tracked the class, it would follow the rest once for each
	 * class. */
	c = &t->class;
	*c = wait_classify(kind, t->known != 0, &head);
	asm volatile("" ::: "memory");
	gvl = c->gvl ? gvl_part(t, &head) : 0;
	settle_part(t, c->state, t->blocked - gvl);
	settle_part(t, STATE_GVL, gvl);
	if (waits_as_figures && gvl)
		count_gvl_wait(t, gvl);
	settle_part(t, STATE_STOPPED, t->stopped);
	settle_part(t, STATE_RUNNABLE, t->runnable);
	t->blocked = t->runnable = t->stopped = 0;
	/* A waker that was noted is to be forgotten in any case. */
	if (details_wanted & WAIT_DETAIL_WAKER || (t->parts && details_wanted & WAIT_DETAIL_HOLDER)) {
		struct wait_details *a = details__make(t->account.process, t->account.tid);

		if (a && t->parts && details_wanted & WAIT_DETAIL_HOLDER)
			details__settle(a, t, &head);
		if (a && t->parts && details_wanted & WAIT_DETAIL_WAKER)
			waker__settle(a, &head, gvl, waker__timed_out(kind, result));
		else if (a)
			waker__forget(a);
	}
	t->number = number;
	t->kind = kind;
	t->ruby_fd = t->known ? head.wait_fd : -1;
	return 0;
}

/* Send what was chosen of the current thread's wait. */
static __always_inline void send_parts(struct sched_thread *t, uint8_t flags, void *context, int native)
{
	struct hit h = { .source = SOURCE_SCHED, .samples = 1, .context = context };
	uint32_t parts = t->parts;
	struct walk_scratch *s;
	struct sched_part *last;
	int reason = 0;

	if (!parts || hit__find(&h) || hit__count(&h))
		return;
	if (details_wanted && flags & SAMPLE_IN_KERNEL && details__send(&h, t))
		flags |= SAMPLE_HAS_DETAILS;
	if (flags & SAMPLE_IN_KERNEL && t->known) {
		h.thread = t->account.thread;
		h.thread_slot = t->account.thread_slot;
	}
	s = hit__walk(&h, flags, task__user_ip(), &reason);
	if (!s)
		return;
	if (native && !reason)
		unwind_add(s->index, h.cfg);
	h.detail = t->detail;
	/* Most waits end with one for a CPU: the two are one event. */
	last = &t->part[(parts - 1) & (PARTS_MAX - 1)];
	if (parts > 1 && last->state == STATE_RUNNABLE) {
		h.more = last->value;
		h.extra = (uint32_t)last->count;
		h.samples = 2;
		parts--;
	}
	for (uint32_t i = 0; i < PARTS_MAX; i++) {
		if (i >= parts)
			break;
		h.value = t->part[i].value;
		h.count = t->part[i].count;
		h.state = (uint32_t)t->part[i].state;
		hit__send(&h, s, reason);
		h.more = h.extra = 0;
		h.samples = 1;
	}
}

/* Has the current thread waited since it was settled last? */
static __always_inline int has_waited(struct sched_thread *t)
{
	if (waits_paused)
		return 0;
	if (t->off == OFF_YES)
		goes_on_unseen(t, task__current(), bpf_ktime_get_ns());
	return has_unsettled(t);
}

/* The current thread has waited: settle it, and send what was chosen.  `call_ends`: in a system call, which had that result.  If the
 * verifier knew at the end that it was in a call it would follow more. */
static __always_inline void wait_ends(struct sched_thread *t, uint32_t tid, int call_ends, long result, void *context, int native)
{
	if (call_ends || t->in_call)
		settle_call(tid, result);
	else
		settle_other(t);
	if ((call_ends || t->in_call) && t->parts)
		describe_call(tid);
	send_parts(t, call_ends || t->in_call ? SAMPLE_IN_KERNEL : 0, context, native);
}

/* The current thread has got a CPU. */
static __always_inline int gets_cpu(uint64_t *args, int native)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct sched_thread *t;

	/* No other thread ran meanwhile, or there is nothing to run. */
	if (!(args[0] & 1) || !tid)
		return 0;
	t = thread__find(tid);
	if (!t || !has_waited(t))
		return 0;
	wait_ends(t, tid, 0, 0, args, native);
	return 0;
}

SEC("tp_btf/sched_exit_tp")
int waits_on_cpu(uint64_t *args)
{
	return gets_cpu(args, 0);
}

SEC("tp_btf/sched_exit_tp")
int waits_on_cpu_native(uint64_t *args)
{
	return gets_cpu(args, 1);
}

/* A system call ends.  For kernels that do not tell when a thread has got a CPU, and for --waker. */
static __always_inline int ends_call(uint64_t *args, int native)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct sched_thread *t = thread__find(tid);

	if (!t || !has_waited(t))
		return 0;
	/* The kernel has left the functions in which the thread waited. */
	wait_ends(t, tid, 1, (long)args[1], NULL, native);
	return 0;
}

SEC("tp_btf/sys_exit")
int waits_call_ends(uint64_t *args)
{
	return ends_call(args, 0);
}

SEC("tp_btf/sys_exit")
int waits_call_ends_native(uint64_t *args)
{
	return ends_call(args, 1);
}

/* -- the beginning and the end of threads ---------------------------------------------------------- */

/* A thread has been made, in its creator. */
SEC("tp_btf/sched_wakeup_new")
int waits_new(uint64_t *args)
{
	static const struct sched_thread none = { 0 };
	struct task_struct *task = (void *)args[0];
	uint32_t tid = (uint32_t)KERNEL_READ(task, pid);
	struct target_key key = {};
	struct target_config *cfg;
	struct sched_thread *t;

	if (!task__memory(task) || task__key(task, task__global_pid(task), &key))
		return 0;
	cfg = bpf_map_lookup_elem(&targets, &key);
	if (!cfg || !walk__is_known(cfg) || cfg->flags & TARGET_WATCHED)
		return 0;
	if (bpf_map_update_elem(&threads, &tid, &none, BPF_ANY)) {
		__sync_fetch_and_add(&threads_full, 1);
		return 0;
	}
	t = thread__find(tid);
	if (!t)
		return 0;
	t->account.process = cfg->process;
	t->account.vm = cfg->vm;
	t->account.tid = task__tid(task, tid);
	t->seen_as = task__tid_in(task, tid, reader_pidns);
	t->account.first = t->since = bpf_ktime_get_ns();
	for (int i = 0; wait_quantum && i < STATE_MAX; i++)
		t->owed[i] = ((uint64_t)bpf_get_prandom_u32() * wait_quantum) >> 32;
	t->out = OUT_RUNNABLE;
	t->off = OFF_YES;
	return 0;
}

/* For a reader in a pid namespace of its own: the tids of all threads in there, as struct sched_tid. */
SEC("iter/task")
int waits_tids(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct sched_tid tid;

	if (!task)
		return 0;
	tid.global = (uint32_t)KERNEL_READ(task, pid);
	tid.seen_as = task__tid_in(task, tid.global, reader_pidns);
	if (tid.seen_as)
		bpf_seq_write(context->meta->seq, &tid, sizeof(tid));
	return 0;
}

/* The thread is no longer followed. */
static __always_inline void thread__end(uint32_t tid)
{
	struct sched_thread *t = thread__find(tid);
	uint64_t now = bpf_ktime_get_ns();
	struct account_event *e;

	if (!t)
		return;
	if (waits_paused == WAITS_HELD) {
		__sync_fetch_and_add(&waits_ended_unseen, 1);
		return;
	}
	if (waits_paused) {
		/* Its account is that of the moment when it paused.  One that began later has none. */
		now = t->since;
		if (now == t->account.first)
			goto forget;
	} else {
		account(t, STATE_RUNNING, now - t->since);
		/* It ends within the call. */
		account_rest(t);
	}
	t->account.until = now;
	bpf_get_current_comm(t->account.comm, sizeof(t->account.comm));
	e = bpf_ringbuf_reserve(&samples, sizeof(*e), 0);
	if (e) {
		__builtin_memset(&e->e, 0, sizeof(e->e));
		e->e.time = now;
		e->e.source = SOURCE_SCHED;
		e->e.kind = SAMPLE_ACCOUNT;
		e->e.vm = t->account.vm;
		e->e.process = t->account.process;
		e->e.tid = t->account.tid;
		e->e.thread = t->account.thread;
		e->e.thread_slot = t->account.thread_slot;
		__builtin_memcpy(&e->account, &t->account, sizeof(e->account));
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	} else {
		__sync_fetch_and_add(&accounts_lost, 1);
	}
forget:
	if (details_wanted)
		details__forget(t->account.process, t->account.tid);
	bpf_map_delete_elem(&threads, &tid);
}

SEC("tp_btf/sched_process_exit")
int waits_exit(uint64_t *args)
{
	(void)args;
	thread__end((uint32_t)bpf_get_current_pid_tgid());
	return 0;
}

/* The other threads have ended.  A thread that was not the first one of its process has another tid now. */
SEC("tp_btf/sched_process_exec")
int waits_exec(uint64_t *args)
{
	thread__end((uint32_t)args[1]);
	return 0;
}
