/* SPDX-License-Identifier: BSD-2-Clause */
/* In place of tools/extprof/kernel.h: a kernel that does what a test says. */
#ifndef KERNEL_FAKE_H
#define KERNEL_FAKE_H

#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>

#define SEC(name)
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline))

#define PF_EXITING 4
#define PIDTYPE_TGID 1

struct pid {
	uint32_t pidns, nr;
};

struct signal_struct {
	struct pid *pids[4];
};

struct task_struct {
	unsigned int flags;
	struct pid *thread_pid;
	struct signal_struct *signal;
	void *mm;
	unsigned long long self_exec_id;
	uint64_t thread_pointer;
};

struct bpf_perf_event_data {
	struct {
		uint64_t ip;
		int user;
	} regs;
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
};

extern struct kernel_fake kernel;

void *fake_lookup(void *map, const void *key);
long fake_ringbuf_output(void *map, void *data, uint64_t size, uint64_t flags);

#define bpf_map_lookup_elem(map, key) fake_lookup(map, key)
#define bpf_ringbuf_output(map, data, size, flags) fake_ringbuf_output(map, data, size, flags)
#define bpf_ringbuf_query(map, flags) (kernel.ring_waiting)
#define bpf_get_smp_processor_id() (kernel.cpu)
#define bpf_ktime_get_ns() (kernel.now += kernel.takes)
#define bpf_get_current_pid_tgid() (kernel.pid_tgid)
#define bpf_get_current_task() ((uintptr_t)&kernel.task)
#define bpf_get_current_comm(buffer, size) ((void)strncpy(buffer, "fake", size))
#define bpf_probe_read_user(to, size, from) kernel.read_user(to, size, (uintptr_t)(from))
#define bpf_core_field_exists(field) ((void)(field), 1)
#define BPF_CORE_READ(s, ...) FIELD_PICK(s, __VA_ARGS__, FIELD_2, FIELD_1)
#define FIELD_PICK(s, a, b, name, ...) FIELD_CALL_##name(s, a, b)
#define FIELD_CALL_FIELD_2(s, a, b) ((s)->a->b)
#define FIELD_CALL_FIELD_1(s, a, b) ((s)->a)

static inline uint64_t task__thread_pointer(struct task_struct *task)
{
	return task->thread_pointer;
}

static inline int pid__innermost(struct pid *pid, uint32_t *inum, uint32_t *nr)
{
	if (!pid)
		return -1;
	*inum = pid->pidns;
	*nr = pid->nr;
	return 0;
}

#define regs__in_user(regs) ((regs)->user)
#define regs__ip(regs) ((regs)->ip)
#define task__user_ip() (kernel.user_ip)
#define timer__due(ctx) ((void)(ctx), kernel.due)

#endif /* KERNEL_FAKE_H */
