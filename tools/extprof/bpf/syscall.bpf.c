// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * System calls, in the thread that makes them: its stack is that of the call from the entry to the exit.
 * All system calls of the machine run these, so the choice by number comes first: that is one load.
 *
 * With durations the stack is read at the exit, when the duration is known: it is the same one, as the
 * thread cannot run Ruby code in between, and nothing but a time has to be kept of a call.
 *
 * Until Linux 6.18 these are not preempted.  The tracepoints may fault since 6.13, so later ones may be.
 */
#include "bpf/common.bpf.h"
#include "bpf/unwind.bpf.h"
#include "wire/syscall.h"

/* One bit for each number; `syscall_all`: those above as well. */
const volatile uint64_t syscall_bits[SYSCALL_NUMBERS / 64] = { 0 };
const volatile uint32_t syscall_all = 0;
/* The chosen calls that do not return to their caller. */
const volatile uint64_t syscall_no_return[SYSCALL_NUMBERS / 64] = { 0 };

/*
 * Without durations: one of so many calls is a sample, which stands for all of them.  Which one is left to chance: calls
 * come in patterns, and of a read and a write in turns every tenth call would always be a write.
 */
const volatile uint32_t syscall_every = 1;

/* Calls that have not returned, by the thread's number in the outermost pid namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct syscall_begun);
} syscalls_begun SEC(".maps");

/* Not 0: no call becomes a sample, and only sums are counted. */
const volatile uint32_t syscalls_as_figures = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct syscall_key);
	__type(value, struct syscall_sum);
} syscall_sums SEC(".maps");

/* Calls that are in no sum: there was no room. */
uint64_t syscalls_lost = 0;

static __always_inline int is_in(const volatile uint64_t *bits, uint64_t number)
{
	return bits[number / 64 & (SYSCALL_NUMBERS / 64 - 1)] >> (number & 63) & 1;
}

static __always_inline int is_chosen(uint64_t number)
{
	return number < SYSCALL_NUMBERS ? is_in(syscall_bits, number) : syscall_all != 0;
}

/* 0: it is not to be counted.  Sets `detail`. */
static __always_inline int chosen_call(struct hit *h, uint64_t number)
{
	/* A debugger or seccomp had it skipped, or it is not of 64 bits and only such ones are chosen. */
	if ((int64_t)number < 0 || hit__find(h))
		return 0;
	h->detail = number;
	if (!task__in_compat_call(h->task))
		return 1;
	h->detail |= SYSCALL_COMPAT;
	return syscall_all != 0;
}

static __always_inline int is_drawn(void)
{
	return syscall_every <= 1 || bpf_get_prandom_u32() % syscall_every == 0;
}

/* The stack of a followed thread at a call that is chosen. */
static __always_inline void sample_call(struct hit *h, uint64_t ip, int native)
{
	if (!hit__count(h))
		hit__sample_native(h, 0, ip, native);
}

static __always_inline int enters(uint64_t *args, int native)
{
	struct hit h = {
		.source = SOURCE_SYSCALL, .preemptible = 1, .value = syscall_every, .count = syscall_every, .context = args,
	};

	if (!sampling_paused && is_chosen(args[1]) && is_drawn() && chosen_call(&h, args[1]))
		sample_call(&h, regs__user_ip((struct pt_regs___kernel *)args[0]), native);
	return 0;
}

SEC("tp_btf/sys_enter")
int syscall_enter(uint64_t *args)
{
	return enters(args, 0);
}

/* The same with native stacks.  Programs of their own, here and below: see sample_native(). */
SEC("tp_btf/sys_enter")
int syscall_enter_native(uint64_t *args)
{
	return enters(args, 1);
}

static __always_inline int begins(uint64_t *args, int native)
{
	struct hit h = { .source = SOURCE_SYSCALL, .preemptible = 1, .count = 1, .context = args };
	uint64_t number = args[1];
	struct syscall_begun begun;

	if (sampling_paused || !is_chosen(number) || !chosen_call(&h, number))
		return 0;
	if (!walk__is_known(h.cfg) || h.cfg->flags & TARGET_WATCHED || is_in(syscall_no_return, number)) {
		if (syscalls_as_figures)
			return 0;
		/* A call that does not return has no duration. */
		sample_call(&h, regs__user_ip((struct pt_regs___kernel *)args[0]), native);
		return 0;
	}
	begun.process = h.cfg->process;
	begun.number = number;
	begun.reserved = 0;
	begun.entered = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&syscalls_begun, &h.tid, &begun, BPF_ANY)) {
		if (syscalls_as_figures) {
			__sync_fetch_and_add(&syscalls_lost, 1);
			return 0;
		}
		h.loss = LOSS_TOO_MANY_CALLS;
		sample_call(&h, 0, native);
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int syscall_begin(uint64_t *args)
{
	return begins(args, 0);
}

SEC("tp_btf/sys_enter")
int syscall_begin_native(uint64_t *args)
{
	return begins(args, 1);
}

static __always_inline void sum_call(const struct syscall_begun *begun, uint64_t number, uint64_t ns)
{
	struct syscall_key key = { .process = begun->process,
				   .number = (uint32_t)number | (number & SYSCALL_COMPAT ? SYSCALL_SUM_COMPAT : 0) };
	static const struct syscall_sum none = { 0 };
	struct syscall_sum *sum = bpf_map_lookup_elem(&syscall_sums, &key);

	if (!sum) {
		bpf_map_update_elem(&syscall_sums, &key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&syscall_sums, &key);
	}
	if (!sum) {
		__sync_fetch_and_add(&syscalls_lost, 1);
		return;
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
}

static __always_inline int ends(uint64_t *args, int native)
{
	struct hit h = { .source = SOURCE_SYSCALL, .preemptible = 1, .count = 1, .context = args };
	uint64_t now = bpf_ktime_get_ns();
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct syscall_begun *entry, begun;

	if (sampling_paused)
		return 0;
	entry = bpf_map_lookup_elem(&syscalls_begun, &tid);
	if (!entry)
		return 0;
	begun = *entry;
	bpf_map_delete_elem(&syscalls_begun, &tid);
	/* The thread that began it has ended without an exit, and this one has its number. */
	if (regs__ended_call((struct pt_regs___kernel *)args[0]) != (int)begun.number || hit__find(&h) ||
	    h.cfg->process != begun.process || !walk__is_known(h.cfg)) {
		if (syscalls_as_figures)
			return 0;
		h.c = process_counters(begun.process, SOURCE_SYSCALL);
		if (h.c) {
			COUNT(h.c->taken, 1);
			COUNT(h.c->lost[LOSS_SECTION_CHANGED], 1);
		}
		return 0;
	}
	h.value = now - begun.entered;
	h.detail = begun.number;
	if (task__in_compat_call(h.task))
		h.detail |= SYSCALL_COMPAT;
	if (syscalls_as_figures)
		sum_call(&begun, h.detail, h.value);
	else
		sample_call(&h, regs__user_ip((struct pt_regs___kernel *)args[0]), native);
	return 0;
}

SEC("tp_btf/sys_exit")
int syscall_end(uint64_t *args)
{
	return ends(args, 0);
}

SEC("tp_btf/sys_exit")
int syscall_end_native(uint64_t *args)
{
	return ends(args, 1);
}
