/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces tools/extprof/bpf/kernel.h: a kernel that does what a test says. */
#ifndef KERNEL_FAKE_H
#define KERNEL_FAKE_H

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>

#include "wire/wait_details.h"
#include "wire/sample.h"
#include "wire/states.h"
#include "wire/unwind.h"

#define SEC(name)
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline))
/* Two files of tests include what the programs share. */
#define __weak __attribute__((weak))

#define PF_EXITING 4
#define PROC_PID_INIT_INO 0xeffffffcu

struct pid {
	uint32_t pidns, nr;
};

/* The registers of a thread in a system call; number -1: it is in none. */
struct pt_regs___kernel {
	int number;
	uint64_t first, second, third, fourth, ip;
};

struct file {
	uint32_t mode;
	struct wait_file file;	/* what is told of it */
};

struct task_struct {
	unsigned int flags, state;
	int pid, tgid;
	unsigned long nvcsw, nivcsw;
	struct pt_regs___kernel *registers;
	struct file *open;	/* all of its file descriptors; NULL: none is open */
	struct pid *thread_pid, *thread_group;
	void *mm;
	unsigned long long self_exec_id;
	uint64_t thread_pointer;
	int in_compat_call;
	uint64_t run_delay, runs;
	int interrupted;
	struct {
		uint64_t sum_exec_runtime;
	} se;
};

/* As much of them as probes need. */
typedef struct {
	uint64_t ip, a, b, c, d;
	int user;
} bpf_user_pt_regs_t;

struct bpf_perf_event_data {
	struct {
		uint64_t ip;
		int user;
	} regs;
};

struct hrtimer {
	uint64_t function, due;
};

/* The mapping at each address. */
struct vm_area_struct {
	unsigned long vm_flags;
};

/* What the tests set and look at. */
struct kernel_fake {
	uint64_t now, due, pid_tgid, user_ip;
	uint64_t takes;		/* ns that each look at the clock takes */
	uint32_t cpu;
	struct task_struct task;
	int (*read_user)(void *to, uint32_t size, uint64_t address);
	int no_scratch, no_counters, ring_full;
	uint64_t ring_waiting;
	uint64_t sent_flags;
	uint32_t sent;
	uint64_t sent_size;
	uint32_t random;
	int no_registers;
	uint64_t stack[200];		/* functions of the kernel, innermost first, and how many; < 0: an error */
	long stack_count;
	struct user_registers registers;
	struct vm_area_struct mapping;
	int no_mapping;			/* the error of a look at it */
	/* Of maps that test_bpf.c does not have. */
	void *(*lookup)(void *map, const void *key);
	long (*update)(void *map, const void *key, const void *value);
	/* What was reserved last, and submitted. */
	uint8_t reserved[1024];
	uint32_t submitted;
};

extern struct kernel_fake kernel;

struct bpf_iter_meta {
	void *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

void *fake_lookup(void *map, const void *key);
long fake_update(void *map, const void *key, const void *value);
long fake_delete(void *map, const void *key);
long fake_ringbuf_output(void *map, void *data, uint64_t size, uint64_t flags);

#define bpf_map_lookup_elem(map, key) fake_lookup(map, key)
#define bpf_map_update_elem(map, key, value, flags) fake_update(map, key, value)
#define bpf_ringbuf_output(map, data, size, flags) fake_ringbuf_output(map, data, size, flags)
#define bpf_ringbuf_query(map, flags) (kernel.ring_waiting)
#define bpf_get_stack(context, to, size, flags) fake_stack(context, to, size)
#define bpf_seq_write(to, data, size) ((void)(to), (void)(data), (void)(size))
#define bpf_map_delete_elem(map, key) fake_delete(map, key)
#define bpf_get_smp_processor_id() (kernel.cpu)
#define bpf_ktime_get_ns() (kernel.now += kernel.takes)
#define bpf_get_current_pid_tgid() (kernel.pid_tgid)
#define bpf_get_current_comm(buffer, size) ((void)strncpy(buffer, "fake", size))
#define bpf_probe_read_user(to, size, from) kernel.read_user(to, size, (uintptr_t)(from))
#define bpf_get_prandom_u32() (kernel.random)
#define bpf_probe_read_kernel(to, size, from) (kernel.no_registers ? -EFAULT : (memcpy(to, from, size), 0))
#define bpf_core_field_exists(field) ((void)(field), 1)
#define KERNEL_READ(from, field) ((from)->field)
#define task__current() (&kernel.task)

static inline long fake_stack(const void *context, void *to, uint64_t size)
{
	long got = kernel.stack_count * (long)sizeof(kernel.stack[0]);

	if (!context || got < 0)
		return -EFAULT;
	if (got > (long)size)
		got = (long)size;
	memcpy(to, kernel.stack, (size_t)got);
	return got;
}

static inline uint64_t task__thread_pointer(struct task_struct *task)
{
	return task->thread_pointer;
}

static inline uint32_t task__tid(struct task_struct *task, uint32_t global)
{
	(void)global;
	return task->thread_pid ? task->thread_pid->nr : 0;
}

static inline uint64_t task__runs(struct task_struct *task)
{
	return task->runs;
}

static inline int task__key(struct task_struct *task, uint32_t global, struct target_key *key)
{
	(void)global;
	if (!task->thread_group)
		return -1;
	key->pidns = task->thread_group->pidns;
	key->pid = task->thread_group->nr;
	return 0;
}

#define bpf_ringbuf_reserve(map, size, flags) (kernel.ring_full ? NULL : (void *)kernel.reserved)
#define bpf_ringbuf_submit(data, flags) ((void)(data), kernel.submitted++)

#define TASK_STOPPED_OR_TRACED 12u
#define task__state(task) ((task)->state)
#define task__regs(task) ((task)->registers)
#define task__file(task, fd) ((void)(fd), (task)->open)
#define file__kind(file) file_kind((file)->mode)
#define file__describe(from, to) (*(to) = (from)->file)
#define task__memory(task) ((uint64_t)(uintptr_t)(task)->mm)
#define task__global_pid(task) ((uint32_t)(task)->tgid)
#define regs__call(regs) ((regs)->number)
#define regs__ended_call(regs) ((regs)->number)

static inline void regs__arguments(struct pt_regs___kernel *regs, uint64_t *first, uint64_t *second)
{
	*first = regs->first;
	*second = regs->second;
}

static inline void regs__more_arguments(struct pt_regs___kernel *regs, uint64_t *third, uint64_t *fourth)
{
	*third = regs->third;
	*fourth = regs->fourth;
}

#define context__address(context) ((uint64_t)(uintptr_t)(context))
#define task__does_it_itself(task, address) ((void)(address), !(task)->interrupted)
#define task__tid_in(task, global, pidns) ((void)(task), (void)(pidns), (global))
#define task__pid_in(task, global, pidns) ((void)(task), (void)(pidns), (global))
#define task__run_delay(task) ((task)->run_delay)
#define task__user_registers(r) (*(r) = kernel.registers, kernel.no_registers)

static inline long bpf_find_vma(struct task_struct *task, uint64_t address,
				long (*found)(struct task_struct *task, struct vm_area_struct *vma, void *context), void *context,
				uint64_t flags)
{
	(void)address, (void)flags;
	return kernel.no_mapping ? kernel.no_mapping : found(task, &kernel.mapping, context);
}

static inline long bpf_loop(uint32_t count, long (*step)(uint32_t i, void *context), void *context, uint64_t flags)
{
	uint32_t i = 0;

	(void)flags;
	while (i < count && !step(i++, context))
		;
	return i;
}

#define regs__in_user(regs) ((regs)->user)
#define regs__ip(regs) ((regs)->ip)
#define task__user_ip() (kernel.user_ip)
#define task__in_compat_call(task) ((task)->in_compat_call)
#define regs__user_ip(regs) ((regs)->ip)
#define hrtimer__function(timer) ((timer)->function)
#define hrtimer__due(timer) ((timer)->due)
#define timer__due(ctx) ((void)(ctx), kernel.due)

#endif /* KERNEL_FAKE_H */
