// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A timer on each CPU runs sample() in the context of whatever it interrupts;
 * so does the scheduler's tick with sample_tick().  In a thread of a target,
 * the stack is that thread's and cannot change while we read it.
 */
/* The unit tests put a kernel of their own here. */
#ifndef EXTPROF_KERNEL
#define EXTPROF_KERNEL "bpf/kernel.h"
#endif
#include EXTPROF_KERNEL

static __always_inline long read_target(void *to, uint32_t size, uint64_t address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

struct walk_scratch;
int copy_chunk(uint32_t cpu);
#define walk_chunk(s) copy_chunk(bpf_get_smp_processor_id())

#include "wire/walk.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Nanoseconds between two samples. */
const volatile uint64_t period = 0;
/* Of the scheduler's ticks so many of so many are samples. */
const volatile uint32_t tick_rate = 1;
const volatile uint32_t tick_hz = 1;
const volatile uint64_t tick_ns = 0;
/* What its timer calls. */
const volatile uint64_t tick_function = 0;
/* Wake the reader when this much is waiting; it also looks by itself. */
const volatile uint64_t wakeup_bytes = 1 << 20;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGETS_MAX);
	__type(key, struct target_key);
	__type(value, struct target_config);
} targets SEC(".maps");

/* Indexed by CPU.  A per-CPU array cannot hold values of this size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct walk_scratch);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct source_counters);
} counters SEC(".maps");

__noinline int copy_chunk(uint32_t cpu)
{
	struct walk_scratch *s = bpf_map_lookup_elem(&scratch, &cpu);

	return s ? walk__chunk(s) : 0;
}

/* Returns 0 or a loss_reason. */
static __always_inline int take(struct walk_scratch *s, struct target_config *cfg,
				struct task_struct *task, uint8_t flags, uint64_t ip)
{
	uint64_t exec_id = 0;

	if (KERNEL_READ(task, flags) & PF_EXITING || !KERNEL_READ(task, mm)) {
		s->event.kind = SAMPLE_EXITING;
		return 0;
	}
	if (bpf_core_field_exists(task->self_exec_id))
		exec_id = KERNEL_READ(task, self_exec_id) + 1;
	if (!cfg->exec_id)
		cfg->exec_id = exec_id;
	else if (cfg->exec_id != exec_id)
		return LOSS_SECTION_CHANGED;

	s->event.flags = flags;
	s->event.ip = ip;
	return walk__thread(s, cfg, task__thread_pointer(task));
}

static __always_inline int emit(struct walk_scratch *s)
{
	uint64_t nr = s->event.nr_frames;
	uint64_t flags = BPF_RB_NO_WAKEUP;

	if (nr > SAMPLE_FRAMES_MAX)
		return LOSS_MALFORMED;
	if (bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) >= wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&samples, &s->event,
			       sizeof(s->event) + nr * sizeof(struct sample_frame), flags))
		return LOSS_RING_FULL;
	return 0;
}

/* A thread of a target, which was interrupted. */
struct hit {
	struct task_struct *task;
	uint32_t tid;
	struct target_config *cfg;
	struct source_counters *c;
};

static __always_inline struct source_counters *own_counters(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&counters, &zero);
}

/* All of it but the counters. */
static __always_inline int find(struct hit *h)
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

/* `ip`: in user space, whatever was interrupted. */
static __always_inline void sample_task(struct hit *h, uint8_t flags, uint64_t ip)
{
	struct source_counters *c = h->c;
	uint32_t cpu = bpf_get_smp_processor_id();
	struct walk_scratch *s;
	int reason;

	c->taken++;
	s = bpf_map_lookup_elem(&scratch, &cpu);
	if (!s) {
		c->lost[LOSS_NO_SCRATCH]++;
		return;
	}
	__builtin_memset(&s->event, 0, sizeof(s->event));
	s->event.time = bpf_ktime_get_ns();
	s->event.source = SOURCE_CPU;
	s->event.value = 1;
	s->event.vm = h->cfg->vm;
	s->event.tid = task__tid(h->task, h->tid);
	s->event.cpu = cpu;
	reason = take(s, h->cfg, h->task, flags, ip);
	if (!reason) {
		if (!s->event.thread)
			bpf_get_current_comm(s->event.comm, sizeof(s->event.comm));
		reason = emit(s);
	}
	if (reason)
		c->lost[reason & (LOSS_MAX - 1)]++;
	else if (s->event.truncated)
		c->truncated[s->event.truncated & (TRUNC_MAX - 1)]++;
	else
		c->whole++;
}

/*
 * Interrupts that have become due since the one that we run for, none of which
 * will come: the CPU was away (hypervisor), had interrupts disabled, or was
 * here.  It was in this thread all the time, which only an interrupt could end.
 */
static __always_inline uint64_t missed(uint64_t due, uint64_t interval)
{
	uint64_t now = bpf_ktime_get_ns();

	return interval && due && now > due ? (now - due) / interval : 0;
}

static __always_inline int tick(struct bpf_perf_event_data *ctx, int timed)
{
	struct hit h;
	int in_user;

	if (find(&h))
		return 0;
	h.c = own_counters();
	if (!h.c)
		return 0;
	in_user = regs__in_user(&ctx->regs);
	sample_task(&h, in_user ? 0 : SAMPLE_IN_KERNEL,
		    in_user ? regs__ip(&ctx->regs) : task__user_ip());
	if (timed)
		h.c->missed += missed(timer__due(ctx), period);
	return 0;
}

/* One of the programs is loaded; which of these two, see timer__due(). */
SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	return tick(ctx, 0);
}

SEC("perf_event")
int sample_timed(struct bpf_perf_event_data *ctx)
{
	return tick(ctx, 1);
}

/*
 * The scheduler's tick interrupts anyway; a sample then costs no interrupt.  All
 * hrtimers come by here.
 */
SEC("tp_btf/hrtimer_expire_entry")
int sample_tick(uint64_t *args)
{
	struct hrtimer *timer = (void *)args[0];
	struct hit h;

	if (hrtimer__function(timer) != tick_function)
		return 0;
	/* First, whatever the tick came upon: find() touches much more memory,
	 * which is not in the cache by now. */
	h.c = own_counters();
	if (!h.c || !thinning__take(&h.c->thinning, tick_rate, tick_hz) || find(&h))
		return 0;
	sample_task(&h, 0, task__user_ip());
	/* Both CLOCK_MONOTONIC.  Only at samples: so of all ticks missed we see
	 * the share that would have been samples. */
	h.c->missed += missed(hrtimer__due(timer), tick_ns);
	return 0;
}
