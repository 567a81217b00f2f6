// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A timer on each CPU runs sample() in the context of the thread that it interrupts.
 * The scheduler's tick does the same with sample_tick().  The interrupted thread does
 * not run meanwhile, so its stack cannot change during the read.
 */
#include "bpf/common.bpf.h"
#include "bpf/unwind.bpf.h"

char LICENSE[] SEC("license") __weak = "Dual BSD/GPL";

/* Nanoseconds between two samples.  It changes while no timer runs. */
volatile uint64_t period = 0;
/* tick_rate of tick_hz ticks of the scheduler are samples; as `period`. */
volatile uint32_t tick_rate = 1;
const volatile uint32_t tick_hz = 1;
const volatile uint64_t tick_ns = 0;
/* Address of the kernel function that the tick's timer calls. */
const volatile uint64_t tick_function = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct thinning);
} thinnings SEC(".maps");

/*
 * How many interrupts became due after the one that runs this.  None of them will
 * come: a hypervisor had taken the CPU, interrupts were disabled, or this program ran.
 * All of them belong to this thread, as only an interrupt could have ended its turn.
 */
static __always_inline uint64_t missed(uint64_t due, uint64_t interval)
{
	uint64_t now = bpf_ktime_get_ns();

	return interval && due && now > due ? (now - due) / interval : 0;
}

static __always_inline int tick(struct bpf_perf_event_data *ctx, int timed)
{
	struct hit h = { .source = SOURCE_CPU, .value = period, .count = 1, .context = ctx };
	int in_user;

	if (sampling_paused || hit__find(&h) || hit__count(&h))
		return 0;
	in_user = regs__in_user(&ctx->regs);
	hit__sample(&h, in_user ? 0 : SAMPLE_IN_KERNEL,
		    in_user ? regs__ip(&ctx->regs) : task__user_ip());
	if (timed)
		COUNT(h.c->missed, missed(timer__due(ctx), period));
	return 0;
}

/* One of the programs is loaded.  Why there are two with a timer: see timer__due(). */
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

/* The same with native stacks.  A program of its own: older kernels refuse the call of bpf_loop() even where it is never
 * reached. */
SEC("perf_event")
int sample_native(struct bpf_perf_event_data *ctx)
{
	struct hit h = { .source = SOURCE_CPU, .value = period, .count = 1, .context = ctx };
	int in_user;

	if (sampling_paused || hit__find(&h) || hit__count(&h))
		return 0;
	in_user = regs__in_user(&ctx->regs);
	hit__sample_native(&h, in_user ? 0 : SAMPLE_IN_KERNEL, in_user ? regs__ip(&ctx->regs) : task__user_ip(), 1);
	COUNT(h.c->missed, missed(timer__due(ctx), period));
	return 0;
}

/* At the end of a system call that maps code, before anything of it can run: the dynamic linker holds its lock. */
SEC("tp_btf/sys_exit")
int note_mapped(uint64_t *args)
{
	struct pt_regs___kernel *regs = (void *)args[0];
	int call = regs__ended_call(regs);
	struct hit h = { 0 };

	if ((call == CALL_MMAP || call == CALL_MPROTECT || call == CALL_MREMAP || call == CALL_PKEY_MPROTECT) &&
	    !hit__find(&h) && h.cfg->vm && !task__in_compat_call(h.task))
		unwind__note_call(&h, regs, call, (int64_t)args[1]);
	return 0;
}

/*
 * The scheduler's tick comes anyway, so a sample costs no interrupt of its own.  This
 * runs for every hrtimer of the machine.
 */
SEC("tp_btf/hrtimer_expire_entry")
int sample_tick(uint64_t *args)
{
	struct hrtimer *timer = (void *)args[0];
	struct hit h = { .source = SOURCE_CPU, .value = period, .count = 1 };
	struct thinning *thinning;
	uint32_t zero = 0;

	if (sampling_paused || hrtimer__function(timer) != tick_function)
		return 0;
	/* thinning__take() comes first and counts every tick: hit__find() is slower, as it
	 * touches memory that is not in the cache. */
	thinning = bpf_map_lookup_elem(&thinnings, &zero);
	if (!thinning || !thinning__take(thinning, tick_rate, tick_hz) || hit__find(&h) || hit__count(&h))
		return 0;
	hit__sample(&h, 0, task__user_ip());
	/* Both times are CLOCK_MONOTONIC.  Missed ticks are counted at samples only: that
	 * gives the share of them that would have been samples. */
	COUNT(h.c->missed, missed(hrtimer__due(timer), tick_ns));
	return 0;
}
