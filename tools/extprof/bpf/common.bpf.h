/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Code that all BPF programs share: the maps, the search for the target of the current thread, and the beginning and
 * sending of a sample.  bpftool links the programs into one object.  The definitions here are weak, so that the object
 * has them once.
 */
#ifndef EXTPROF_COMMON_BPF_H
#define EXTPROF_COMMON_BPF_H

/* The unit tests define EXTPROF_KERNEL as a fake kernel. */
#ifndef EXTPROF_KERNEL
#define EXTPROF_KERNEL "bpf/kernel.h"
#endif
#include EXTPROF_KERNEL

static __always_inline long read_target(void *to, uint32_t size, uint64_t address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

struct walk_scratch;
int copy_chunk(uint32_t index);
int copy_round(uint32_t index);
#define walk_chunk(s) copy_chunk((s)->index)
#define walk_round(s) copy_round((s)->index)

/* Not 0: samples have the functions of user space in which they were taken.  Only some programs can tell them. */
const volatile uint32_t native_stacks __weak = 0;
#define walk_wants_flags native_stacks

#include "wire/walk.h"

/* CPUs that are possible. */
const volatile uint32_t cpus __weak = 1;
/* The pid namespace of the reader. */
const volatile uint32_t reader_pidns __weak = PROC_PID_INIT_INO;
/* Not 0: samples have the functions of the kernel in which they were taken. */
const volatile uint32_t kernel_stacks __weak = 0;
/* Where the scratch of each source begins, in CPUs: those that are not used have none. */
#define SOURCE_SLOTS 8u
const volatile uint32_t source_slots[SOURCE_SLOTS] __weak = { 0 };
/* Wake the reader when so many bytes wait.  It also looks now and then by itself. */
const volatile uint64_t wakeup_bytes __weak = 1 << 20;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} samples SEC(".maps") __weak;

/* Its size. */
const volatile uint64_t ring_size __weak = 4 << 20;
/* Grows by 1 each time the reader begins to read.  It reads all that is there then. */
volatile uint32_t ring_turn __weak = 0;

/* Not 0: nothing is sampled.  What waits measure has a flag of its own: waits_paused. */
volatile uint32_t sampling_paused __weak = 0;

/* Indexed by target_config::user. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RING_USERS_MAX);
	__type(key, uint32_t);
	__type(value, struct ring_use);
} ring_users SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGETS_MAX);
	__type(key, struct target_key);
	__type(value, struct target_config);
} targets SEC(".maps") __weak;

/* Indexed by source and CPU.  A per-CPU array cannot hold values of this size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct walk_scratch);
} scratch SEC(".maps") __weak;

/* Programs interrupt each other: they count by atomic additions. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGETS_MAX);	/* for each source that is used */
	__type(key, struct counter_key);
	__type(value, struct source_counters);
} counters SEC(".maps") __weak;

__weak __noinline int copy_chunk(uint32_t index)
{
	struct walk_scratch *s = bpf_map_lookup_elem(&scratch, &index);

	return s ? walk__chunk(s) : 0;
}

__weak __noinline int copy_round(uint32_t index)
{
	struct walk_scratch *s = bpf_map_lookup_elem(&scratch, &index);

	return s ? walk__round(s) : WALK_DONE;
}

/* A thread of a target that is to be sampled: the current thread. */
struct hit {
	struct task_struct *task;
	uint32_t tid;
	uint32_t source;	/* enum sample_source */
	/* These have the same meaning as in sample_event. */
	uint64_t value, count, detail, more;
	uint32_t state, extra;
	uint32_t samples;	/* that the event stands for; 0: one */
	uint32_t thread_slot;
	uint64_t thread;	/* the Ruby thread, if it is known; 0: it is read */
	/* Not 0: this enum loss_reason is why there can be no sample. */
	uint32_t loss;
	/* Another thread may run on this CPU before the program ends, and run it too: programs on probes,
	 * since Linux 6.0. */
	uint32_t preemptible;
	void *context;		/* of the program, for the kernel's stack; NULL: it is not in the kernel */
	struct target_config *cfg;
	struct source_counters *c;
};

#define COUNT(counter, n) __sync_fetch_and_add(&(counter), n)

static __always_inline struct source_counters *process_counters(uint32_t process, uint32_t source)
{
	static const struct source_counters none = { 0 };
	struct counter_key key = { .process = process, .source = source };
	struct source_counters *c = bpf_map_lookup_elem(&counters, &key);

	if (c)
		return c;
	/* Another CPU may do the same. */
	bpf_map_update_elem(&counters, &key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&counters, &key);
}

/* 0 if the current thread belongs to a process that is followed.  Sets all of `h` but the counters. */
static __always_inline int hit__find(struct hit *h)
{
	struct target_key key = {};
	uint64_t ids = bpf_get_current_pid_tgid();

	if (!ids)
		return -1;	/* an interrupt of an idle CPU */
	h->tid = (uint32_t)ids;
	h->task = task__current();
	if (task__key(h->task, ids >> 32, &key))
		return -1;
	h->cfg = bpf_map_lookup_elem(&targets, &key);
	return h->cfg ? 0 : -1;
}

/* The counters of its process. */
static __always_inline int hit__count(struct hit *h)
{
	h->c = process_counters(h->cfg->process, h->source);
	return h->c ? 0 : -1;
}

/*
 * Programs that can be preempted share the scratch memory of their CPU with the programs that preempt them.  The first
 * to increment the counter owns the memory.  If two increment it at once, both may give up.  (An atomic addition that
 * returns a value needs newer processors of BPF.)
 */
static __always_inline int scratch__enter(struct walk_scratch *s)
{
	__sync_fetch_and_add(&s->users, 1);
	if (*(volatile uint32_t *)&s->users == 1)
		return 0;
	__sync_fetch_and_add(&s->users, -1);
	return -1;
}

static __always_inline void scratch__leave(struct walk_scratch *s)
{
	__sync_fetch_and_add(&s->users, -1);
}

/* Walk the stack of the current thread.  Returns 0 or a loss_reason. */
static __always_inline int take(struct walk_scratch *s, struct target_config *cfg,
				struct task_struct *task, uint8_t flags, uint64_t ip)
{
	uint64_t mm = (uint64_t)KERNEL_READ(task, mm), exec_id = 0;

	if (KERNEL_READ(task, flags) & PF_EXITING || !mm) {
		s->event.kind = SAMPLE_EXITING;
		return 0;
	}
	if (bpf_core_field_exists(task->self_exec_id))
		exec_id = KERNEL_READ(task, self_exec_id) + 1;
	/* During an exec the memory changes before the exec is reported. */
	if (!cfg->exec_id) {
		cfg->exec_id = exec_id;
		cfg->mm = mm;
	} else if (cfg->exec_id != exec_id || cfg->mm != mm) {
		return LOSS_SECTION_CHANGED;
	}

	s->event.flags = flags;
	s->event.ip = ip;
	return walk__thread(s, cfg, task__thread_pointer(task));
}

/*
 * It takes a call to ask the ring how much waits for the reader.  So each CPU asks before one in so many events, and
 * before each event with more frames.  If the reader is to be woken up for less than what all CPUs can send meanwhile,
 * they ask before each event.
 */
#define EVENTS_UNASKED 16u
#define FRAMES_UNASKED 64u
#define BYTES_UNASKED (EVENTS_UNASKED * (sizeof(struct sample_event) + FRAMES_UNASKED * sizeof(struct sample_frame)))

/* A process that has sent no more than this part of the ring, and a user who has not, may send without a question. */
#define RING_UNASKED 32u

static __always_inline uint32_t ring__sent(struct ring_use *u, uint32_t turn)
{
	/* Programs on other CPUs can do the same now: then some bytes are not counted. */
	if (u->turn != turn) {
		u->bytes = 0;
		u->turn = turn;
	}
	return u->bytes;
}

/*
 * May the process send so many bytes?  All processes of one user may have as much as is free, and one process half of
 * what its user may still have: so one that sends more than the reader can read leaves room for the others.  (The same
 * rule as in base/budget.h.)
 */
static __always_inline int ring__take(struct target_config *cfg, uint64_t size)
{
	uint32_t place = cfg->user & (RING_USERS_MAX - 1), turn = ring_turn;
	struct ring_use *user = bpf_map_lookup_elem(&ring_users, &place);
	uint64_t of_process, of_user, waits;

	if (!user)
		return 0;
	of_process = ring__sent(&cfg->ring, turn) + size;
	of_user = ring__sent(user, turn) + size;
	if (of_user > ring_size / RING_UNASKED) {
		waits = bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) + size;
		if (of_user + waits > ring_size || 2 * of_process > ring_size - of_user - waits)
			return LOSS_RING_SHARE;
	}
	COUNT(cfg->ring.bytes, (uint32_t)size);
	COUNT(user->bytes, (uint32_t)size);
	return 0;
}

static __always_inline int emit(struct target_config *cfg, struct walk_scratch *s)
{
	uint64_t nr = s->event.nr_frames, size;
	uint64_t flags = BPF_RB_NO_WAKEUP;

	if (nr > SAMPLE_FRAMES_MAX)
		return LOSS_MALFORMED;
	if ((wakeup_bytes < BYTES_UNASKED * cpus || nr > FRAMES_UNASKED || !(s->sent++ % EVENTS_UNASKED)) &&
	    bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) >= wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	size = sizeof(s->event) + nr * sizeof(struct sample_frame);
	if ((kernel_stacks || native_stacks) && s->event.flags & SAMPLE_HAS_MACHINE) {
		uint64_t more = s->machine_size;

		walk_opaque(more);
		if (more > sizeof(struct sample_machine))
			return LOSS_MALFORMED;
		/* Else the compiler adds before it compares, and the verifier knows no bound of the sum. */
		walk_opaque(size);
		size += more;
	}
	if (ring__take(cfg, size))
		return LOSS_RING_SHARE;
	if (bpf_ringbuf_output(&samples, &s->event, size, flags))
		return LOSS_RING_FULL;
	return 0;
}

/* The functions of the kernel that the thread is in, behind its frames. */
static __always_inline void add_kernel(struct hit *h, struct walk_scratch *s)
{
	uint64_t nr = s->event.nr_frames;
	struct sample_machine *m;
	long size;

	if (!kernel_stacks || !h->context)
		return;
	walk_opaque(nr);
	if (nr > SAMPLE_FRAMES_MAX)
		return;
	m = (struct sample_machine *)((uint8_t *)s->frames + nr * sizeof(struct sample_frame));
	size = bpf_get_stack(h->context, m->address, KERNEL_FRAMES_MAX * sizeof(m->address[0]), 0);
	if (size <= 0)
		return;
	m->nr_kernel = (uint16_t)((uint64_t)size / sizeof(m->address[0]));
	m->nr_native = 0;
	m->native_end = m->reserved[0] = m->reserved[1] = m->reserved[2] = 0;
	s->machine_size = (uint32_t)(SAMPLE_MACHINE_HEAD + (uint64_t)size);
	s->event.flags |= SAMPLE_HAS_MACHINE;
}

/*
 * Walk the stack of the current thread into the scratch memory of its source.  `ip`: the instruction in user space,
 * also when the kernel was interrupted.  NULL: there is nothing to send, and the counters are up to date.  *reason: 0,
 * or a loss_reason that hit__send() counts.  If the hit is preemptible, the caller calls scratch__leave() afterwards.
 */
static __always_inline struct walk_scratch *hit__walk(struct hit *h, uint8_t flags, uint64_t ip, int *reason)
{
	struct source_counters *c = h->c;
	struct task_struct *task = h->task;
	uint32_t cpu = bpf_get_smp_processor_id();
	uint32_t index = source_slots[h->source & (SOURCE_SLOTS - 1)] * cpus + cpu;
	struct walk_scratch *s;

	/* The process that was followed has given its pid back, and another one has it. */
	if (h->cfg->flags & TARGET_EXITED && !(KERNEL_READ(task, flags) & PF_EXITING))
		return NULL;
	if (!walk__is_known(h->cfg) || h->cfg->flags & TARGET_WATCHED) {
		COUNT(c->unfollowed, 1);
		return NULL;
	}
	if (h->loss) {
		COUNT(c->taken, 1);
		COUNT(c->lost[h->loss & (LOSS_MAX - 1)], 1);
		return NULL;
	}
	s = bpf_map_lookup_elem(&scratch, &index);
	if (!s) {
		COUNT(c->taken, 1);
		COUNT(c->lost[LOSS_NO_SCRATCH], 1);
		return NULL;
	}
	if (h->preemptible && scratch__enter(s)) {
		COUNT(c->taken, 1);
		COUNT(c->lost[LOSS_SCRATCH_BUSY], 1);
		return NULL;
	}
	s->index = index;
	__builtin_memset(&s->event, 0, sizeof(s->event));
	s->event.time = bpf_ktime_get_ns();
	s->event.source = (uint16_t)h->source;
	s->event.vm = h->cfg->vm;
	s->event.process = h->cfg->process;
	s->event.tid = task__tid(task, h->tid);
	s->event.cpu = cpu;
	s->event.thread = h->thread;
	s->event.thread_slot = h->thread_slot;
	*reason = take(s, h->cfg, task, flags, ip);
	/* The thread that the caller knows has no stack now. */
	if (s->event.kind != SAMPLE_RUBY)
		s->event.thread = s->event.thread_slot = 0;
	if (!*reason)
		add_kernel(h, s);
	if (!*reason && !s->event.thread)
		bpf_get_current_comm(s->event.comm, sizeof(s->event.comm));
	return s;
}

/* Send what was walked, with the amounts in the hit, and count the outcome.  `reason`: the one that hit__walk() gave.
 * Can be called more than once.  0, or the loss_reason. */
static __always_inline int hit__send(struct hit *h, struct walk_scratch *s, int reason)
{
	struct source_counters *c = h->c;
	uint64_t samples = h->samples ? h->samples : 1;

	COUNT(c->taken, samples);
	s->event.value = h->value;
	s->event.count = h->count;
	s->event.detail = h->detail;
	s->event.state = h->state;
	s->event.extra = h->extra;
	s->event.more = h->more;
	if (!reason)
		reason = emit(h->cfg, s);
	if (reason)
		COUNT(c->lost[reason & (LOSS_MAX - 1)], samples);
	else if (s->event.truncated)
		COUNT(c->truncated[s->event.truncated & (TRUNC_MAX - 1)], samples);
	else
		COUNT(c->whole, samples);
	return reason;
}

/* Sample the current thread and count the outcome.  `ip`: see hit__walk(). */
static __always_inline void hit__sample(struct hit *h, uint8_t flags, uint64_t ip)
{
	int reason = 0;
	struct walk_scratch *s = hit__walk(h, flags, ip, &reason);

	if (!s)
		return;
	hit__send(h, s, reason);
	if (h->preemptible)
		scratch__leave(s);
}

#endif /* EXTPROF_COMMON_BPF_H */
