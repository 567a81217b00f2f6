/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All that the BPF program knows about the kernel.  The structures name the
 * few fields that are used; CO-RE finds their offsets in the running kernel's
 * BTF when the program is loaded, so that no vmlinux.h is needed to build.
 */
#ifndef EXTPROF_KERNEL_H
#define EXTPROF_KERNEL_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "ruby/debug_external.h"	/* uint64_t and so on */

#define PF_EXITING 0x00000004	/* include/linux/sched.h, unchanged since 2.6 */
#define PIDTYPE_TGID 1		/* include/linux/pid_types.h, since 4.19 */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct signal_struct {
	struct pid *pids[4];
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};
#elif defined(__TARGET_ARCH_arm64)
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
#else
#error "this architecture's thread pointer is not known here"
#endif

struct task_struct {
	unsigned int flags;
	struct pid *thread_pid;
	struct signal_struct *signal;
	void *mm;
	unsigned long long self_exec_id;
	struct thread_struct thread;
};

struct timerqueue_node {
	long long expires;
};

struct hrtimer {
	struct timerqueue_node node;
};

struct hw_perf_event {
	struct hrtimer hrtimer;
};

struct perf_event {
	struct hw_perf_event hw;
};

struct bpf_perf_event_data_kern {
	struct perf_event *event;
};

#pragma clang attribute pop

/* Since 6.2.  A program with a call to it is refused before (5.13 to 5.15 even
 * if that is never reached): session.c chooses among two. */
extern void *bpf_cast_to_kern_ctx(void *context) __ksym __weak;

/* Only its presence is asked for, see task__user_ip(). */
enum bpf_func_id___probe { BPF_FUNC_task_pt_regs___probe = 175 };

static __always_inline uint64_t task__thread_pointer(struct task_struct *task)
{
	/* Exact for the current task: the C library sets it by arch_prctl and
	 * clone, which store it here, not by wrfsbase. */
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

/* The innermost pid namespace of a struct pid and the number there. */
static __always_inline int pid__innermost(struct pid *pid, uint32_t *inum, uint32_t *nr)
{
	struct pid_namespace *ns;
	struct upid *upid;
	uint32_t level;

	if (!pid || bpf_core_read(&level, sizeof(level), &pid->level))
		return -1;
	if (level > 32)		/* MAX_PID_NS_LEVEL */
		return -1;
	upid = (void *)pid + bpf_core_field_offset(pid->numbers) +
	       level * bpf_core_type_size(struct upid);
	if (bpf_core_read(nr, sizeof(*nr), &upid->nr) ||
	    bpf_core_read(&ns, sizeof(ns), &upid->ns) ||
	    bpf_core_read(inum, sizeof(*inum), &ns->ns.inum))
		return -1;
	return 0;
}

static __always_inline int regs__in_user(const bpf_user_pt_regs_t *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (regs->cs & 3) == 3;
#else
	return (regs->pstate & 0xf) == 0;
#endif
}

static __always_inline uint64_t regs__ip(const bpf_user_pt_regs_t *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->rip;
#else
	return regs->pc;
#endif
}

/* When the timer that runs the program was due, CLOCK_MONOTONIC; 0 unknown. */
static __always_inline uint64_t timer__due(struct bpf_perf_event_data *ctx)
{
	struct bpf_perf_event_data_kern *data = bpf_cast_to_kern_ctx(ctx);

	/* A cpu-clock event is an hrtimer. */
	if (!bpf_core_field_exists(data->event->hw.hrtimer.node.expires))
		return 0;
	return (uint64_t)BPF_CORE_READ(data, event, hw.hrtimer.node.expires);
}

/* The user space ip of the current task, which is in the kernel. */
static __always_inline uint64_t task__user_ip(void)
{
	bpf_user_pt_regs_t *regs;
	uint64_t ip = 0;

	/* Since 5.15; without it the ip is unknown (0). */
	if (!bpf_core_enum_value_exists(enum bpf_func_id___probe, BPF_FUNC_task_pt_regs___probe))
		return 0;
	regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_kernel(&ip, sizeof(ip), &regs->rip);
#else
	bpf_probe_read_kernel(&ip, sizeof(ip), &regs->pc);
#endif
	return ip;
}

#endif /* EXTPROF_KERNEL_H */
