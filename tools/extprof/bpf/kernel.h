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
#include "wire/sample.h"
#include "wire/unwind.h"

#define PF_EXITING 0x00000004	/* include/linux/sched.h, unchanged since 2.6 */
#define PF_KTHREAD 0x00200000	/* the same */
#define PIDTYPE_TGID 1		/* include/linux/pid_types.h, since 4.19 */
#define PROC_PID_INIT_INO 0xeffffffcu	/* include/linux/proc_ns.h, since 3.8 */

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

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	struct pid *pids[4];
	unsigned long long sum_sched_runtime;
	uint64_t utime, stime;		/* ns, as the kernel's ticks found them */
	unsigned long min_flt, maj_flt;
};

struct sched_entity {
	uint64_t sum_exec_runtime;
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};

struct thread_info {
	uint32_t status;
};
#elif defined(__TARGET_ARCH_arm64)
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};

struct thread_info {
	unsigned long flags;
};
#else
#error "this architecture's thread pointer is not known here"
#endif

struct vm_area_struct {
	unsigned long vm_flags;
};

struct super_block {
	unsigned int s_dev;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

/* The names that the kernel has: those of bpf_user_pt_regs_t are other ones. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs___kernel {
	unsigned long ax, di, si, dx, r10, orig_ax, ip;
};
#else
struct pt_regs___kernel {
	unsigned long long regs[31];
	unsigned long long pc;
	unsigned long long orig_x0;
	int syscallno;
};
#endif

struct sched_info {
	unsigned long pcount;		/* how often it got a CPU */
	unsigned long long run_delay;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	unsigned int __state;		/* since 5.14 */
	int pid, tgid;
	void *stack;
	unsigned long nvcsw, nivcsw;	/* switches to another thread */
	unsigned long min_flt, maj_flt;
	uint64_t utime, stime;
	struct files_struct *files;
	int exit_code;
	uint64_t start_boottime;	/* since 5.5 */
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	void *mm;
	unsigned long long self_exec_id;
	struct thread_struct thread;
};

struct task_struct___old {
	long state;
};

struct timerqueue_node {
	long long expires;
};

struct hrtimer {
	struct timerqueue_node node;
	void *function;
};

struct hw_perf_event {
	struct hrtimer hrtimer;
};

struct perf_event {
	struct hw_perf_event hw;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;	/* NULL: that was the last one */
};

struct bpf_perf_event_data_kern {
	struct perf_event *event;
};

#pragma clang attribute pop

/* Since 6.2.  A program with a call to it is refused before (5.13 to 5.15 even
 * if that is never reached): session.c chooses among two. */
extern void *bpf_cast_to_kern_ctx(void *context) __ksym __weak;

/* These ids are only used to ask whether the kernel has the helper. */
enum bpf_func_id___probe {
	BPF_FUNC_get_current_task_btf___probe = 158,	/* since 5.11 */
	BPF_FUNC_task_pt_regs___probe = 175		/* since 5.15 */
};

/*
 * Kernel memory is read by plain loads from a pointer whose type the verifier
 * knows.  Before 5.11 there is none for the current task, and each load is a
 * call of a helper, which costs some 40 ns.
 */
#ifndef KERNEL_LOADS		/* the unit tests build with 0, too */
#define KERNEL_LOADS \
	bpf_core_enum_value_exists(enum bpf_func_id___probe, BPF_FUNC_get_current_task_btf___probe)
#endif
#define KERNEL_READ(from, field) (KERNEL_LOADS ? (from)->field : BPF_CORE_READ(from, field))

static __always_inline struct task_struct *task__current(void)
{
	return KERNEL_LOADS ? (void *)bpf_get_current_task_btf() : (void *)bpf_get_current_task();
}

static __always_inline uint64_t task__thread_pointer(struct task_struct *task)
{
	/* Exact for the current task: the C library sets it by arch_prctl and
	 * clone, which store it here, not by wrfsbase. */
#if defined(__TARGET_ARCH_x86)
	return KERNEL_READ(task, thread.fsbase);
#else
	return KERNEL_READ(task, thread.uw.tp_value);
#endif
}

/* The entry of a struct pid for its innermost pid namespace.  NULL: the innermost
 * namespace is the outermost one, or `pid` is damaged. */
static __always_inline struct upid *pid__innermost(struct pid *pid)
{
	uint32_t level = KERNEL_READ(pid, level);

	if (!level || level > 32)	/* MAX_PID_NS_LEVEL */
		return NULL;
	return (void *)pid + bpf_core_field_offset(pid->numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* The thread's number in its innermost pid namespace; 0 none. */
static __always_inline uint32_t task__tid(struct task_struct *task, uint32_t global)
{
	struct pid *pid = KERNEL_READ(task, thread_pid);
	struct upid *upid = pid ? pid__innermost(pid) : NULL;
	uint32_t nr = 0;

	if (pid && !upid)
		return global;
	if (upid)
		bpf_core_read(&nr, sizeof(nr), &upid->nr);
	return nr;
}

/* The innermost pid namespace of the process and its pid there.  `global` is its pid in
 * the outermost one. */
static __always_inline int task__key(struct task_struct *task, uint32_t global,
				     struct target_key *key)
{
	struct signal_struct *signal = KERNEL_READ(task, signal);
	struct pid *pid = signal ? KERNEL_READ(signal, pids[PIDTYPE_TGID]) : NULL;
	struct pid_namespace *ns;
	struct upid *upid;

	if (!pid)
		return -1;
	upid = pid__innermost(pid);
	if (!upid) {
		key->pidns = PROC_PID_INIT_INO;
		key->pid = global;
		return 0;
	}
	if (bpf_core_read(&key->pid, sizeof(key->pid), &upid->nr) ||
	    bpf_core_read(&ns, sizeof(ns), &upid->ns) ||
	    bpf_core_read(&key->pidns, sizeof(key->pidns), &ns->ns.inum))
		return -1;
	return 0;
}

/* The number of `pid` in the pid namespace with that inode; 0: it is not in that namespace.  `global` is its number in
 * the outermost namespace. */
static __always_inline uint32_t pid__in(struct pid *pid, uint32_t global, uint32_t pidns)
{
	uint32_t level = pid ? KERNEL_READ(pid, level) : 0;

	if (pidns == PROC_PID_INIT_INO)
		return global;
	for (uint32_t i = 1; pid && i <= 32; i++) {	/* MAX_PID_NS_LEVEL */
		struct upid *upid = (void *)pid + bpf_core_field_offset(pid->numbers) +
				    i * bpf_core_type_size(struct upid);
		struct pid_namespace *ns;
		uint32_t inum, nr;

		if (i > level)
			break;
		if (!bpf_core_read(&ns, sizeof(ns), &upid->ns) &&
		    !bpf_core_read(&inum, sizeof(inum), &ns->ns.inum) && inum == pidns &&
		    !bpf_core_read(&nr, sizeof(nr), &upid->nr))
			return nr;
	}
	return 0;
}

/* The same of a process. */
static __always_inline uint32_t task__pid_in(struct task_struct *task, uint32_t global, uint32_t pidns)
{
	struct signal_struct *signal = KERNEL_READ(task, signal);

	return pid__in(signal ? KERNEL_READ(signal, pids[PIDTYPE_TGID]) : NULL, global, pidns);
}

/* The same of a thread. */
static __always_inline uint32_t task__tid_in(struct task_struct *task, uint32_t global, uint32_t pidns)
{
	return pid__in(KERNEL_READ(task, thread_pid), global, pidns);
}

/* Is it another thread than the first one of its process? */
static __always_inline int task__is_thread(struct task_struct *task)
{
	return KERNEL_READ(task, pid) != KERNEL_READ(task, tgid);
}

static __always_inline uint32_t task__global_pid(struct task_struct *task)
{
	return (uint32_t)KERNEL_READ(task, tgid);
}

/* When its process was made, CLOCK_BOOTTIME, ns.  This and the pid name the process for good. */
static __always_inline uint64_t task__started(struct task_struct *task)
{
	struct task_struct *leader = KERNEL_READ(task, group_leader);

	return leader ? KERNEL_READ(leader, start_boottime) : 0;
}

static __always_inline uint64_t task__memory(struct task_struct *task)
{
	return (uint64_t)KERNEL_READ(task, mm);
}

static __always_inline int task__shares_memory(struct task_struct *task, struct task_struct *other)
{
	return KERNEL_READ(task, mm) == KERNEL_READ(other, mm);
}

/* Does a thread of its process go on? */
static __always_inline int task__group_lives(struct task_struct *task)
{
	struct signal_struct *signal = KERNEL_READ(task, signal);

	return signal && KERNEL_READ(signal, live.counter) > 0;
}

static __always_inline uint32_t task__exit_code(struct task_struct *task)
{
	return (uint32_t)KERNEL_READ(task, exit_code);
}

/* CPU time of all threads that have been released, ns. */
static __always_inline uint64_t task__released_cpu_time(struct task_struct *task)
{
	struct signal_struct *signal = KERNEL_READ(task, signal);

	return signal ? KERNEL_READ(signal, sum_sched_runtime) : 0;
}

/* CPU time of a process whose last thread is `task`, ns.  The first thread waits to be released
 * until the process is. */
static __always_inline uint64_t task__cpu_time(struct task_struct *task)
{
	struct task_struct *leader = KERNEL_READ(task, group_leader);
	uint64_t sum = task__released_cpu_time(task) + KERNEL_READ(task, se.sum_exec_runtime);

	if (leader && leader != task)
		sum += KERNEL_READ(leader, se.sum_exec_runtime);
	return sum;
}

/* Resources that a process has used besides its CPU time. */
struct process_use {
	uint64_t user, system;		/* ns; only their proportion is exact */
	uint64_t minor, major;		/* page faults */
};

static __always_inline void task__add_use(struct task_struct *task, struct process_use *use)
{
	use->user += KERNEL_READ(task, utime);
	use->system += KERNEL_READ(task, stime);
	use->minor += KERNEL_READ(task, min_flt);
	use->major += KERNEL_READ(task, maj_flt);
}

/* Sum up the use of the process whose last thread is `task`.  `released`: this thread has been released. */
static __always_inline void task__process_use(struct task_struct *task, int released, struct process_use *use)
{
	struct task_struct *leader = KERNEL_READ(task, group_leader);
	struct signal_struct *signal = KERNEL_READ(task, signal);

	use->user = use->system = use->minor = use->major = 0;
	if (signal) {
		use->user = KERNEL_READ(signal, utime);
		use->system = KERNEL_READ(signal, stime);
		use->minor = KERNEL_READ(signal, min_flt);
		use->major = KERNEL_READ(signal, maj_flt);
	}
	if (released)
		return;
	task__add_use(task, use);
	if (leader && leader != task)
		task__add_use(leader, use);
}

/* How long the current thread has waited for a CPU in its life, ns; 0: the kernel does not know
 * (CONFIG_SCHED_INFO). */
static __always_inline uint64_t task__run_delay(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? KERNEL_READ(task, sched_info.run_delay) : 0;
}

/* How often the thread has got a CPU in its life; 0: the kernel does not know. */
static __always_inline uint64_t task__runs(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.pcount) ? KERNEL_READ(task, sched_info.pcount) : 0;
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
	struct perf_event *event = data->event;
	uint64_t due;

	/* The hrtimer of a cpu-clock event is in a union within a union.  The verifier would
	 * take a plain load for a field of another kind of event. */
	if (!bpf_core_field_exists(event->hw.hrtimer.node.expires) ||
	    bpf_core_read(&due, sizeof(due), &event->hw.hrtimer.node.expires))
		return 0;
	return due;
}

/* The user space ip of the current task, which is in the kernel now, at least in the
 * interrupt that runs this. */
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

/* The registers of the current thread in user space.  0, or an error.  Also if it was interrupted there: the kernel has put them at the end of its stack. */
static __always_inline int task__user_registers(struct user_registers *r)
{
	bpf_user_pt_regs_t *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());

#if defined(__TARGET_ARCH_x86)
	return bpf_probe_read_kernel(&r->ip, sizeof(r->ip), &regs->rip) ||
	       bpf_probe_read_kernel(&r->sp, sizeof(r->sp), &regs->rsp) ||
	       bpf_probe_read_kernel(&r->bp, sizeof(r->bp), &regs->rbp);
#else
	return bpf_probe_read_kernel(&r->ip, sizeof(r->ip), &regs->pc) ||
	       bpf_probe_read_kernel(&r->sp, sizeof(r->sp), &regs->sp) ||
	       bpf_probe_read_kernel(&r->bp, sizeof(r->bp), &regs->regs[29]) ||
	       bpf_probe_read_kernel(&r->lr, sizeof(r->lr), &regs->regs[30]);
#endif
}

/* Bits of a task's state, include/linux/sched.h. */
#define TASK_STOPPED_OR_TRACED 0x0cu

/* Why it does not run; 0: it could.  For a task that is being switched out. */
static __always_inline uint32_t task__state(struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return KERNEL_READ(task, __state);
	return (uint32_t)KERNEL_READ(old, state);
}

/* The registers that a thread had when it entered the kernel. */
static __always_inline struct pt_regs___kernel *task__regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___probe, BPF_FUNC_task_pt_regs___probe))
		return (void *)bpf_task_pt_regs(task);
	/* They are at the end of its kernel stack, which had 16 KiB in those kernels. */
	return (void *)((uint64_t)KERNEL_READ(task, stack) + 16384 -
			bpf_core_type_size(struct pt_regs___kernel));
}

/* By loads where the verifier knows the pointer, that is where there is the helper. */
#define REGS_READ(regs, field) \
	(bpf_core_enum_value_exists(enum bpf_func_id___probe, BPF_FUNC_task_pt_regs___probe) ? \
	 (regs)->field : BPF_CORE_READ(regs, field))

/* Number of the system call that a thread is in, which will end with a sys_exit; -1: it is in none. */
static __always_inline int regs__call(struct pt_regs___kernel *regs)
{
#if defined(__TARGET_ARCH_x86)
	/* The result is -ENOSYS until there is another one.  A thread that leaves the kernel after sys_exit, or
	 * that an interrupt or a fault brought there, is in no system call. */
	return REGS_READ(regs, ax) == (uint64_t)-38 ? (int)REGS_READ(regs, orig_ax) : -1;
#else
	uint64_t first = 0, result = 1;
	int number = -1;

	/* The first argument and the result are in one register. */
	if (bpf_core_read(&number, sizeof(number), &regs->syscallno) ||
	    bpf_core_read(&first, sizeof(first), &regs->orig_x0) ||
	    bpf_core_read(&result, sizeof(result), &regs->regs[0]) || first != result)
		return -1;
	return number;
#endif
}

/* The same at sys_exit, when the result is known. */
static __always_inline int regs__ended_call(struct pt_regs___kernel *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (int)REGS_READ(regs, orig_ax);
#else
	int number = -1;

	bpf_core_read(&number, sizeof(number), &regs->syscallno);
	return number;
#endif
}

/* The first two arguments of the system call. */
static __always_inline void regs__arguments(struct pt_regs___kernel *regs, uint64_t *first, uint64_t *second)
{
#if defined(__TARGET_ARCH_x86)
	bpf_core_read(first, sizeof(*first), &regs->di);
	bpf_core_read(second, sizeof(*second), &regs->si);
#else
	bpf_core_read(first, sizeof(*first), &regs->orig_x0);
	bpf_core_read(second, sizeof(*second), &regs->regs[1]);
#endif
}

/* The next two. */
static __always_inline void regs__more_arguments(struct pt_regs___kernel *regs, uint64_t *third, uint64_t *fourth)
{
#if defined(__TARGET_ARCH_x86)
	bpf_core_read(third, sizeof(*third), &regs->dx);
	bpf_core_read(fourth, sizeof(*fourth), &regs->r10);
#else
	bpf_core_read(third, sizeof(*third), &regs->regs[2]);
	bpf_core_read(fourth, sizeof(*fourth), &regs->regs[3]);
#endif
}

/* Does the current task make a call of 32-bit code? */
static __always_inline int task__in_compat_call(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return (KERNEL_READ(task, thread_info.status) & 2) != 0;	/* TS_COMPAT, arch/x86/include/asm/thread_info.h */
#else
	return (KERNEL_READ(task, thread_info.flags) >> 22 & 1) != 0;	/* TIF_32BIT, arch/arm64/include/asm/thread_info.h */
#endif
}

/* The instruction pointer in user space when the thread entered the kernel. */
static __always_inline uint64_t regs__user_ip(struct pt_regs___kernel *regs)
{
#if defined(__TARGET_ARCH_x86)
	return KERNEL_READ(regs, ip);
#else
	return KERNEL_READ(regs, pc);
#endif
}

/* The address of the memory where a program on a tracepoint has its arguments. */
static __always_inline uint64_t context__address(const void *context)
{
	/* The verifier allows no other arithmetic with this pointer. */
	uint64_t distance = (uint64_t)context - (uint64_t)bpf_get_current_task_btf();

	asm volatile("" : "+r"(distance));
	return distance + bpf_get_current_task();
}

/*
 * Does the current thread itself do what the tracepoint tells, or an interrupt that came meanwhile?  `address`: that of
 * the context.  Interrupts have a stack of their own, but for those that come in user space.  The kernel's own count of
 * interrupts has no address that a program may know unless the kernel has CONFIG_KALLSYMS_ALL.
 */
static __always_inline int task__does_it_itself(struct task_struct *task, uint64_t address)
{
	struct pt_regs___kernel *regs = task__regs(task);
	uint64_t stack = (uint64_t)KERNEL_READ(task, stack);

	/* The registers are at the end of the stack. */
	if (!stack || address < stack || address - stack > (uint64_t)regs - stack)
		return 0;
	return KERNEL_READ(task, flags) & (PF_KTHREAD | PF_EXITING) || regs__call(regs) >= 0;
}

static __always_inline uint64_t hrtimer__function(struct hrtimer *timer)
{
	return (uint64_t)KERNEL_READ(timer, function);
}

/* When it was due, by its clock. */
static __always_inline uint64_t hrtimer__due(struct hrtimer *timer)
{
	return KERNEL_READ(timer, node.expires);
}

#endif /* EXTPROF_KERNEL_H */
