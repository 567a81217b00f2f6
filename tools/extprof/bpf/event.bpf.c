// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events of the user's choice, in the thread in which they happen.  Each event has a program of its own,
 * which says its number: attach cookies would do that with one program, and need Linux 5.15.
 */
#include "bpf/common.bpf.h"
#include "bpf/unwind.bpf.h"
#include "wire/event.h"

/* A sample stands for so many events. */
const volatile uint64_t event_period[EVENT_SLOTS] = { 0 };
/* The kernel runs the program for each event, and here one of so many is taken. */
const volatile uint64_t event_every[EVENT_SLOTS] = { 0 };

/* How many came on each CPU since the last one that was taken.  By the number of the event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENT_SLOTS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} events_passed SEC(".maps");

/* Only events of followed processes count. */
static __always_inline int is_due(uint32_t number)
{
	uint64_t every = event_every[number & (EVENT_SLOTS - 1)], *passed;

	if (every <= 1)
		return 1;
	passed = bpf_map_lookup_elem(&events_passed, &number);
	if (!passed || ++*passed < every)
		return 0;
	*passed = 0;
	return 1;
}

static __always_inline int sample_event(void *ctx, uint32_t number, uint32_t flags, uint64_t ip, int native)
{
	uint64_t period = event_period[number & (EVENT_SLOTS - 1)];
	struct hit h = {
		.source = SOURCE_EVENT, .preemptible = 1, .value = period, .count = period, .detail = number,
		.context = ctx,
	};

	if (sampling_paused || hit__find(&h) || !is_due(number) || hit__count(&h))
		return 0;
	hit__sample_native(&h, (uint8_t)flags, ip, native);
	return 0;
}

static __noinline int take_event(void *ctx, uint32_t number, uint32_t flags, uint64_t ip)
{
	return sample_event(ctx, number, flags, ip, 0);
}

/* The same with native stacks.  Programs of their own: see sample_native(). */
static __noinline int take_native(void *ctx, uint32_t number, uint32_t flags, uint64_t ip)
{
	return sample_event(ctx, number, flags, ip, 1);
}

#define IN_KERNEL(ctx) (regs__in_user(&(ctx)->regs) ? 0 : SAMPLE_IN_KERNEL)
#define USER_IP(ctx) (regs__in_user(&(ctx)->regs) ? regs__ip(&(ctx)->regs) : task__user_ip())

/* take: take_event or take_native. */
#define PROGRAMS(number, perf, trace, probe, take)					\
	SEC("perf_event") int perf(struct bpf_perf_event_data *ctx)			\
	{										\
		return take(ctx, number, IN_KERNEL(ctx), USER_IP(ctx));			\
	}										\
	SEC("tracepoint") int trace(void *ctx)						\
	{										\
		return take(ctx, number, SAMPLE_IN_KERNEL, task__user_ip());		\
	}										\
	SEC("uprobe") int probe(bpf_user_pt_regs_t *ctx)				\
	{										\
		return take(ctx, number, 0, regs__ip(ctx));				\
	}

#define EVENT(number)									\
	PROGRAMS(number, event_perf_##number, event_trace_##number, event_probe_##number, take_event) \
	PROGRAMS(number, native_perf_##number, native_trace_##number, native_probe_##number, take_native)

EVENT(0)
EVENT(1)
EVENT(2)
EVENT(3)
EVENT(4)
EVENT(5)
EVENT(6)
EVENT(7)
