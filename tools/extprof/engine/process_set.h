/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that a recording follows, each with the state that it is in.  The kernel has the
 * same set (source/session.h); events tell what it changes in there.
 */
#ifndef EXTPROF_PROCESS_SET_H
#define EXTPROF_PROCESS_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/budget.h"
#include "base/map64.h"
#include "engine/search.h"
#include "engine/settings.h"
#include "profile/processes.h"
#include "ruby/vm.h"
#include "source/session.h"

/* Rows of the profile; processes beyond share one more. */
#define PROCESS_ROWS_MAX 16384u

enum process_state {
	PROCESS_LOOKED_FOR = 1,	/* is there a ruby in it?  It is searched now and then. */
	PROCESS_SAMPLED,	/* it has a VM that the kernel samples */
	PROCESS_WATCHED,	/* not to be sampled: only its CPU time is of interest */
	PROCESS_ENDED,		/* its last thread has ended; its CPU time may not be final */
};

struct process {
	uint32_t number;	/* target_config::process */
	uint32_t row;		/* in the profile; PROCESS_NONE none yet */
	uint32_t parent;	/* number; 0 not followed */
	pid_t pid;
	struct target_key key;
	uint64_t started;	/* CLOCK_BOOTTIME, ns; 0 unknown */
	enum process_state state;
	bool wanted;		/* the caller named it: the recording is about it */
	bool born;		/* its birth was seen: all that it has used counts */
	bool followed;		/* found because a process that is followed made it */
	bool given_up;		/* there is no ruby in it, until it executes something */
	bool refused;		/* it does not fit the selection now */
	bool no_files;		/* it was counted as one that could not be opened */
	uint64_t ended_at;	/* ENDED: when that was told; CLOCK_MONOTONIC, ns */
	bool freed;		/* what the kernel counted for it is final, and in its row */
	struct source_counters taken[SOURCE_MAX];	/* the part of the kernel's counts that is in its row by now */
	struct vm *vm;		/* SAMPLED: of what it runs now */
	bool ended_sampled;	/* ENDED: it had a VM */
	uint32_t last_vm;	/* ENDED: number of that, 0 none of its own */
	bool shares_vm;		/* that is its parent's, as it has that one's memory */
	struct target target;	/* pidfd -1: not opened */
	struct search *search;	/* that runs; NULL none */
	bool search_is_old;	/* it has executed something since that search began */
	bool memory_gone;	/* when last looked at */
	uint64_t executed_at;	/* CLOCK_MONOTONIC; 0: not since it is followed */
	bool executed;		/* at least once, since it is followed */
	struct backoff backoff;
	uint64_t search_until;	/* CLOCK_MONOTONIC, ns; 0: as long as it lives */
	struct diag why;	/* there is no VM */
	uint64_t cpu_seen;	/* CPU time that is accounted for in the row, ns */
	bool cpu_ended;		/* that at the end of the recording */
	uint64_t cpu_before;	/* without a row; the row has it when this program turns out to be a ruby */
	uint64_t from;		/* followed since; CLOCK_MONOTONIC, ns */
	uint32_t file;		/* target_config::file, of what it runs now */
	uint32_t uid;
	char comm[TASK_COMM_SIZE];
	char *own_name, *revision;	/* lists, see process/own_name.h and revision.h; NULL: nothing */
	bool knows_revision;		/* `revision` was looked for */
	/* The place of its threads' contexts. */
	struct process_context {
		bool known;
		bool sent;		/* the kernel has one, or has had one */
		bool look;		/* it is looked for now */
		uint64_t at, since;	/* it was looked for; it is known, or not: CLOCK_MONOTONIC, ns */
		uint64_t file;		/* context_look::file of it; 0: none */
		struct run_mark mark;	/* before it was looked for */
		struct trace_place place;
	} context;
	struct budget_share at_end;	/* of the time for a look at all threads; ns */
	uint64_t title_at;	/* its title was read again; CLOCK_MONOTONIC, ns */
	struct run_mark title_mark, figures_mark;	/* before the last look of this kind, see vm__is_due() */
};

struct process_set {
	struct process **list;	/* in the order of their coming; NULL: freed */
	uint32_t count, live;
	size_t room;
	struct map64 by_number;	/* place in list */
	struct vm **vms;	/* by place; NULL: closed */
	uint32_t vm_count;
	size_t vm_room;
	struct map64 vm_by_number;
	struct processes *rows;
	uint32_t wanted_live;	/* that the caller named */
	uint32_t sampled;	/* that have been, so far */
};

/* All zero but for the rows. */
void process_set__init(struct process_set *set, struct processes *rows);
void process_set__free(struct process_set *set);

/* A process with that number; NULL: out of memory.  It is looked for. */
struct process *process_set__add(struct process_set *set, uint32_t number, pid_t pid);
/* NULL: there is none. */
struct process *process_set__find(const struct process_set *set, uint32_t number);
/* By pid, of those that have not ended; slow. */
struct process *process_set__by_pid(const struct process_set *set, pid_t pid);
/* Nothing of what it said of itself, and of its commit, is known. */
void process__forget_own(struct process *p);
/* Is it sampled, and can its ruby be looked at?  That of one which shares its parent's memory is looked at in the parent. */
bool process__is_readable(const struct process *p);
/* It is not needed any more; its row stays. */
void process_set__remove(struct process_set *set, struct process *p);

/* From now on that number is that of this VM, which the set closes.  0 or -ENOMEM. */
int process_set__add_vm(struct process_set *set, uint32_t number, struct vm *vm);
struct vm *process_set__vm(const struct process_set *set, uint32_t number);
/* Samples of it are all resolved: close it. */
void process_set__close_vm(struct process_set *set, struct vm *vm);

/* Its row in the profile, made if it has none; NULL: out of memory. */
struct process_row *process__row(struct process_set *set, struct process *p);

/* Its CPU time was `cpu_time` in all, ns: what is new of it was used in the state that it has. */
void process__account_cpu(struct process_set *set, struct process *p, uint64_t cpu_time);

#endif /* EXTPROF_PROCESS_SET_H */
