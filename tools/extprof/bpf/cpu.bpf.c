// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A timer on each CPU runs sample() in the context of whatever it interrupts;
 * so does the scheduler's tick with sample_tick().  In a thread of a target,
 * the stack is that thread's and cannot change while we read it.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") __weak = "Dual BSD/GPL";

/* Nanoseconds between two samples. */
const volatile uint64_t period = 0;
/* Of the scheduler's ticks so many of so many are samples. */
const volatile uint32_t tick_rate = 1;
const volatile uint32_t tick_hz = 1;
const volatile uint64_t tick_ns = 0;
/* What its timer calls. */
const volatile uint64_t tick_function = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct thinning);
} thinnings SEC(".maps");

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
	struct hit h = { .source = SOURCE_CPU };
	int in_user;

	if (hit__find(&h) || hit__count(&h))
		return 0;
	in_user = regs__in_user(&ctx->regs);
	hit__sample(&h, 1, in_user ? 0 : SAMPLE_IN_KERNEL,
		    in_user ? regs__ip(&ctx->regs) : task__user_ip());
	if (timed)
		COUNT(h.c->missed, missed(timer__due(ctx), period));
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
	struct hit h = { .source = SOURCE_CPU };
	struct thinning *thinning;
	uint32_t zero = 0;

	if (hrtimer__function(timer) != tick_function)
		return 0;
	/* First, whatever the tick came upon: hit__find() touches much more memory,
	 * which is not in the cache by now. */
	thinning = bpf_map_lookup_elem(&thinnings, &zero);
	if (!thinning || !thinning__take(thinning, tick_rate, tick_hz) || hit__find(&h) || hit__count(&h))
		return 0;
	hit__sample(&h, 1, 0, task__user_ip());
	/* Both CLOCK_MONOTONIC.  Only at samples: so of all ticks missed we see
	 * the share that would have been samples. */
	COUNT(h.c->missed, missed(hrtimer__due(timer), tick_ns));
	return 0;
}
