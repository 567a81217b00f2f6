/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events of processes that are followed: fork, exec and exit.  The kernel sends them in a ring
 * of their own, so that a flood of samples loses no event.  The event of a fork is sent before
 * the first sample of the child is taken.
 */
#ifndef EXTPROF_LIFECYCLE_H
#define EXTPROF_LIFECYCLE_H

#include "wire/sample.h"

/* The nth number that a CPU gives out, n from 1.  User space is the CPU `cpus`. */
#define NUMBER_MAKE(n, cpu, cpus) ((n) * ((cpus) + 1) + (cpu))

/* Only programs of one build exchange these numbers: they may change. */
enum process_event_kind {
	PROCESS_FORKED = 1,	/* a child of a process that is followed */
	PROCESS_EXECUTED = 2,	/* it runs another program now */
	PROCESS_EXITED = 3,	/* its last thread ends; cpu_time can be too small by one tick of the scheduler */
	PROCESS_FREED = 4,	/* cpu_time is final */
	PROCESS_MEMORY = 5,	/* it ends: a struct memory_event, before EXITED */
};

/* The lifecycle ring, in bytes.  Pieces of memory are sent only while half of it is free. */
#define LIFECYCLE_RING_SIZE (1u << 21)

#define MEMORY_PIECE_MAX 4096u

/* A piece of the memory of a process that ends, as it was then. */
struct memory_event {
	uint64_t time;		/* CLOCK_MONOTONIC, ns */
	uint32_t kind;		/* PROCESS_MEMORY */
	uint32_t process;	/* target_config::process */
	uint32_t vm;		/* target_config::vm */
	uint32_t length;	/* bytes that follow, at most MEMORY_PIECE_MAX */
	uint64_t address;	/* of the first one */
	/* uint8_t bytes[length]; */
};

struct process_event {
	uint64_t time;		/* CLOCK_MONOTONIC, ns */
	uint32_t kind;		/* enum process_event_kind */
	uint32_t process;	/* target_config::process; 0: of a process that is not followed */
	uint32_t pid;		/* FORKED, EXECUTED: in the reader's pid namespace; 0: it is not in there */
	uint32_t parent;	/* FORKED: target_config::process of the parent */
	uint32_t vm;		/* FORKED: target_config::vm of the child, 0 none */
	uint32_t parent_vm;	/* FORKED: that of the parent */
	uint32_t records_end;	/* FORKED: all ids below had been given out by then; 0 unknown */
	uint32_t exit_code;	/* EXITED: as of wait(2) */
	uint32_t flags;		/* target_config::flags of the process */
	uint32_t uid;		/* FORKED, EXECUTED: real user */
	uint64_t started;	/* CLOCK_BOOTTIME, ns: with the pid it names the process for ever */
	uint64_t cpu_time;	/* EXECUTED, EXITED, FREED: of all its threads until then, ns; FORKED: that it used before
				 * its parent was followed, 0: it is younger */
	struct target_key key;	/* FORKED, EXECUTED */
	char comm[TASK_COMM_SIZE];	/* FORKED, EXECUTED */
	/* EXITED, FREED: in the life of the process; of the times only the proportion is exact. */
	uint64_t user_time, system_time;	/* ns */
	uint64_t minor_faults, major_faults;
};

#define LIFECYCLE_ASSERT(name, expr) typedef char lifecycle_assert_##name[(expr) ? 1 : -1]
LIFECYCLE_ASSERT(event, sizeof(struct process_event) == 120);
LIFECYCLE_ASSERT(memory, sizeof(struct memory_event) == 32);
#undef LIFECYCLE_ASSERT

/* A process that has ended.  Its pid numbers are given back before it is freed. */
struct ended_key {
	uint64_t started;	/* CLOCK_BOOTTIME, ns */
	uint64_t pid;		/* in the outermost pid namespace */
};

#endif /* EXTPROF_LIFECYCLE_H */
