// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Follows processes through fork, exec and exit, in the kernel: a child is known before its
 * first instruction, with the layout that its parent has.  Nothing here runs unless a process
 * forks, executes or ends.
 */
#include "bpf/common.bpf.h"
#include "wire/lifecycle.h"

char LICENSE[] SEC("license") __weak = "Dual BSD/GPL";

/* Every process that executes something is told, also those that are not followed. */
const volatile uint32_t tell_all = 0;
/* Children are not sampled, only told of. */
const volatile uint32_t watch_children = 0;

/* Events that found no room in the ring, and children that found none among the targets. */
uint64_t events_lost = 0;
uint64_t targets_full = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LIFECYCLE_RING_SIZE);
} lifecycle SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGETS_MAX);
	__type(key, struct ended_key);
	__type(value, struct target_key);
} ended SEC(".maps");

/* How many numbers each CPU has given out. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} numbers SEC(".maps");

/* A number of a process or of a VM that nobody has; 0 never.  (An atomic addition that gives
 * the sum is new in 5.12.) */
static __always_inline uint32_t new_number(void)
{
	uint32_t zero = 0, *given = bpf_map_lookup_elem(&numbers, &zero);

	if (!given)
		return 0;
	return NUMBER_MAKE(++*given, bpf_get_smp_processor_id(), cpus);
}

static __always_inline struct process_event *event__new(uint32_t kind, const struct target_config *cfg)
{
	struct process_event *e = bpf_ringbuf_reserve(&lifecycle, sizeof(*e), 0);

	if (!e) {
		__sync_fetch_and_add(&events_lost, 1);
		return NULL;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->time = bpf_ktime_get_ns();
	e->kind = kind;
	if (cfg) {
		e->process = cfg->process;
		e->vm = cfg->vm;
		e->flags = cfg->flags;
		e->started = cfg->started;
	}
	return e;
}

/* Which process it is, as the reader sees it, and who runs.  The event is about the current task or its child. */
static __always_inline void event__name(struct process_event *e, struct task_struct *task, uint32_t global,
					const struct target_key *key)
{
	e->pid = task__pid_in(task, global, reader_pidns);
	e->uid = (uint32_t)bpf_get_current_uid_gid();
	e->key = *key;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
}

/* How many ids have been given out, as the current process has it. */
static __always_inline uint32_t records_end(const struct target_config *cfg)
{
	uint32_t end = 0;

	if (!cfg->section ||
	    read_target(&end, sizeof(end), cfg->section + __builtin_offsetof(struct rb_debug_ext_section, records_end)))
		return 0;
	return end;
}

#include "bpf/remains.bpf.h"

SEC("tp_btf/sched_process_fork")
int process_fork(uint64_t *args)
{
	struct task_struct *parent = (void *)args[0], *child = (void *)args[1];
	struct target_config *from, cfg;
	struct target_key key = {}, child_key = {};
	struct process_event *e;

	if (task__is_thread(child))
		return 0;
	if (task__key(parent, bpf_get_current_pid_tgid() >> 32, &key))
		return 0;
	from = bpf_map_lookup_elem(&targets, &key);
	if (!from || task__key(child, task__global_pid(child), &child_key))
		return 0;
	cfg = *from;
	cfg.process = new_number();
	cfg.started = task__started(child);
	cfg.flags &= ~TARGET_EXITED;
	if (watch_children)
		cfg.flags |= TARGET_WATCHED;
	if (task__shares_memory(parent, child)) {
		/* The section is the parent's and has the parent's pid. */
		cfg.flags |= TARGET_SHARED;
	} else {
		cfg.flags = (cfg.flags & ~TARGET_SHARED) | TARGET_FORKED;
		cfg.pid = child_key.pid;
		cfg.mm = task__memory(child);
		/* This runs in the parent, so its memory is the one that is read. */
		cfg.records_end = records_end(from);
		if (walk__is_known(&cfg))
			cfg.vm = new_number();
	}
	if (bpf_map_update_elem(&targets, &child_key, &cfg, BPF_ANY)) {
		__sync_fetch_and_add(&targets_full, 1);
		return 0;
	}
	e = event__new(PROCESS_FORKED, &cfg);
	if (!e)
		return 0;
	event__name(e, child, task__global_pid(child), &child_key);
	e->parent = from->process;
	e->parent_vm = from->vm;
	e->records_end = cfg.records_end;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int process_exec(uint64_t *args)
{
	struct task_struct *task = (void *)args[0];
	struct target_key key = {};
	struct target_config *cfg;
	struct process_event *e;

	if (task__key(task, bpf_get_current_pid_tgid() >> 32, &key))
		return 0;
	cfg = bpf_map_lookup_elem(&targets, &key);
	if (!cfg && !tell_all)
		return 0;
	if (cfg) {
		/* The layout describes the old program. */
		cfg->section = 0;
		cfg->vm = 0;
		cfg->exec_id = 0;
		cfg->records_end = 0;
		cfg->flags &= ~(TARGET_FORKED | TARGET_SHARED | TARGET_PLAIN);
	}
	e = event__new(PROCESS_EXECUTED, cfg);
	if (!e)
		return 0;
	if (!cfg)
		e->started = task__started(task);
	event__name(e, task, bpf_get_current_pid_tgid() >> 32, &key);
	e->cpu_time = task__cpu_time(task);
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	return 0;
}

static __always_inline void event__set_use(struct process_event *e, struct task_struct *task, int released)
{
	struct process_use use;

	task__process_use(task, released, &use);
	e->user_time = use.user;
	e->system_time = use.system;
	e->minor_faults = use.minor;
	e->major_faults = use.major;
}

/* This runs for each thread.  The process ends with its last thread. */
SEC("tp_btf/sched_process_exit")
int process_exit(uint64_t *args)
{
	struct task_struct *task = (void *)args[0];
	struct ended_key end_key = { .started = task__started(task), .pid = task__global_pid(task) };
	struct target_key key = {};
	struct target_config *cfg;
	struct process_event *e;

	if (task__group_lives(task) || task__key(task, bpf_get_current_pid_tgid() >> 32, &key))
		return 0;
	cfg = bpf_map_lookup_elem(&targets, &key);
	if (!cfg || cfg->flags & TARGET_EXITED)
		return 0;
	cfg->flags |= TARGET_EXITED;
	remains__send(cfg, task);
	/* A target that was not found by its fork has no start time yet. */
	cfg->started = end_key.started;
	bpf_map_update_elem(&ended, &end_key, &key, BPF_ANY);
	e = event__new(PROCESS_EXITED, cfg);
	if (!e)
		return 0;
	e->exit_code = task__exit_code(task);
	e->cpu_time = task__cpu_time(task);
	event__set_use(e, task, 0);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

/*
 * This runs some time after the parent has waited for the process.  Nothing runs in its name any
 * more, so its CPU time is complete.  Another process may have its pid by now.
 */
SEC("tp_btf/sched_process_free")
int process_free(uint64_t *args)
{
	struct task_struct *task = (void *)args[0];
	struct ended_key end_key = { .started = task__started(task), .pid = task__global_pid(task) };
	struct target_key *found, key;
	struct target_config *cfg;
	struct process_event *e;

	if (task__is_thread(task))
		return 0;
	found = bpf_map_lookup_elem(&ended, &end_key);
	if (!found)
		return 0;
	key = *found;
	bpf_map_delete_elem(&ended, &end_key);
	cfg = bpf_map_lookup_elem(&targets, &key);
	if (!cfg || cfg->started != end_key.started)
		return 0;
	e = event__new(PROCESS_FREED, cfg);
	if (e) {
		e->cpu_time = task__released_cpu_time(task);
		event__set_use(e, task, 1);
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&targets, &key);
	return 0;
}
