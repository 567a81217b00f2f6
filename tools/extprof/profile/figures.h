/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures of processes: how much CPU time, how many waits, pauses and allocations.  Each is a sum that
 * only grows.  An interval is the difference of two sums, so intervals add up to the whole.
 */
#ifndef EXTPROF_PROFILE_FIGURES_H
#define EXTPROF_PROFILE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map64.h"
#include "profile/gc_pauses.h"
#include "profile/histogram.h"
#include "ruby/heap_size.h"
#include "wire/lifecycle.h"
#include "wire/states.h"

/* Sums, all of the same type: see sums__add().  Times are in ns. */
struct sums {
	uint64_t cpu, user;
	uint64_t minor_faults, major_faults;
	uint64_t voluntary, involuntary;	/* switches */
	uint64_t lives;				/* of threads */
	uint64_t time[STATE_ROOM];		/* of threads, by state */
	uint64_t waits[STATE_ROOM];
	/* Looks at who has the GVL, of all ractors together. */
	uint64_t looks, held;
	uint64_t contended;			/* looks at which a thread waited for it */
	uint64_t thread_looks;			/* looks at what threads do, if these are all that is known of them */
	uint64_t doubts[STATE_ROOM];		/* see session_looks::doubts */
	uint64_t gc_looks[GC_PARTS];		/* looks that met a collection, by its phase */
	uint64_t gc_reason_looks[2][GC_REASONS];
	uint64_t gc_cycles, gc_major_cycles;
	uint64_t gc_pauses, gc_time, gc_waited;	/* waited: for a CPU */
	uint64_t gc_parts[GC_PARTS];
	uint64_t gc_reason_pauses[2][GC_REASONS], gc_reason_time[2][GC_REASONS];	/* minor, major */
	uint64_t alloc_samples, alloc_bytes, alloc_objects;	/* slots */
	uint64_t malloc_samples, malloc_bytes;
	uint64_t alloc_object_squares;		/* of what each sample adds to `alloc_objects`: its variance */
};

void sums__add(struct sums *to, const struct sums *s);
void sums__subtract(struct sums *from, const struct sums *s);

/* The longest of something, and of which thread.  ns 0: there was none. */
struct longest {
	uint64_t ns;
	uint64_t thread;	/* its serial; 0 unknown */
	uint32_t slot;		/* of the Ruby thread, at that time */
	uint32_t tid;		/* in its own pid namespace */
	char name[320];		/* clean; "": not known */
};

/* Whether a figure is known of a process. */
enum figure {
	FIGURE_CPU,
	FIGURE_SWITCHES,
	FIGURE_FAULTS,
	FIGURE_MEMORY,
	FIGURE_HEAP,
	FIGURE_STATES,
	FIGURE_GVL,		/* who has it */
	FIGURE_CONTENTION,	/* whether others wait for it */
	FIGURE_GVL_WAITS,
	FIGURE_GC_CYCLES,
	FIGURE_GC_PAUSES,
	FIGURE_GC_REASONS,
	FIGURE_ALLOC,
	FIGURE_MALLOC,
	FIGURES,
	/* Figures that depend on the kind of the recording, and not on a process. */
	FIGURE_GVL_WAIT_MET = FIGURES,
	FIGURE_THREAD_LOOKS,
	FIGURE_CALLS,
	ALL_FIGURES
};

/* Amounts that a process has used in its whole life, by the kernel's account. */
struct process_amounts {
	uint64_t cpu, user, minor_faults, major_faults;
};

/* Its memory as it was seen last, bytes. */
struct process_memory {
	uint64_t resident, anonymous, file, shared, swapped, peak;
};

/* A thread that has the GVL while others wait for it. */
struct holder {
	uint64_t thread;	/* serial; 0: of those without a row of their own */
	uint32_t slot, tid;
	uint64_t looks;		/* all */
	uint64_t looks_before;	/* the interval */
	char *name;		/* clean; NULL: not known */
};

/* Holders of one process that have a row each. */
#define HOLDERS_MAX 256u

struct figures_process {
	uint32_t number;	/* target_config::process */
	pid_t pid;
	char command[256];	/* clean; "": not known */
	char ruby_version[32], interface[16];
	bool ended;
	bool freed;		/* the kernel knows nothing more of it */
	bool is_ruby;		/* it has, or had, a VM: others are not shown */
	char *missing[FIGURES];	/* why it is not known; NULL: it is */
	struct sums sums;	/* all but those of living threads */
	struct sums living;	/* of living threads, as of the last look at them */
	struct sums before;	/* both together, at the end of the last interval */
	struct process_amounts amounts;	/* as of the last look; see `amounts_known` */
	bool amounts_known;
	struct process_memory memory;	/* all 0: it was not seen so far */
	struct heap_size heap;		/* as it was seen last; `slots` 0: it was not seen so far */
	uint32_t heap_vm;		/* number of the VM that it is of */
	uint64_t cycles, major_cycles;	/* the same of what its VM counts */
	uint64_t thread_looks, doubts[STATE_ROOM];	/* the same of looks */
	uint32_t cycles_vm;	/* number of that VM; 0: none so far */
	struct histogram *gvl, *gvl_before;	/* NULL: no wait */
	struct histogram *gc, *gc_before;
	struct longest gvl_longest, gvl_longest_interval;	/* of waits that are over */
	struct longest gc_longest, gc_longest_interval;
	uint32_t waiting;	/* threads that wait for the GVL now */
	uint64_t waiting_longest;	/* and how long one of them has, ns */
	uint32_t threads;	/* that live now */
	struct holder *holders;
	uint32_t holder_count;
	size_t holder_room;
};

/* Processes with a row of their own.  If there are more, those that have ended are added up in one row. */
#define FIGURES_PROCESSES_MAX 1024u

/* Zero-initialise. */
struct figures {
	struct figures_process **list;	/* in the order of their coming; [0]: those that were added up, see above */
	uint32_t count;
	size_t room;
	struct map64 by_number;		/* place in list; of those that were added up not */
	uint64_t interval;		/* its number */
	uint64_t alloc_received, gc_received;	/* events that arrived */
	bool frozen;			/* the end has been taken: what comes later does not count */
};

void figures__free(struct figures *f);

/* The process with that number, made if it is new.  NULL: out of memory. */
struct figures_process *figures__process(struct figures *f, uint32_t number);
/* NULL: there is none. */
struct figures_process *figures__find(const struct figures *f, uint32_t number);
/* The processes that have ended are in a row of their own no longer, if there are many.  0 or -ENOMEM. */
int figures__tidy(struct figures *f);

/* It is not known, for that reason; the first reason stays. */
void figures__miss(struct figures_process *p, enum figure figure, const char *why);

/* The process begins to count from these amounts; if it was known already, what has been used since counts. */
void figures__set_amounts(struct figures_process *p, const struct process_amounts *amounts);
/* The same of the collections that a VM has counted. */
void figures__set_cycles(struct figures_process *p, uint32_t vm, uint64_t cycles, uint64_t major);

/* The same of how often one has looked at what threads do; doubts: STATE_ROOM numbers, which begin again at 0 with another
 * program. */
void figures__set_thread_looks(struct figures_process *p, uint64_t looks, const uint64_t *doubts);

/* A pause, an allocation, the end of a thread. */
int figures__add_pause(struct figures_process *p, const struct sample_event *e);	/* 0 or -ENOMEM */
void figures__add_allocation(struct figures_process *p, const struct sample_event *e);
/* Add an account to the sums of the process, or to those of its living threads. */
void figures__add_account(struct sums *to, const struct thread_account *a);
/* The longest wait of the thread, if it was in this interval. */
void figures__note_longest(struct figures *f, struct figures_process *p, const struct thread_account *a);

/* One look met a collection: its phase, cause and flags as the interface has them; cause 0: not told.  The cause
 * counts while it marks, sweeps or compacts. */
void figures__add_gc_look(struct figures_process *p, uint32_t phase, uint32_t cause, uint32_t flags);
/* One look: `ractors` GVLs of which `held` are held; in `contended` of them a thread waits. */
void figures__add_look(struct figures_process *p, uint32_t held, uint32_t contended);
/* The thread had the GVL and another one waited.  NULL: out of memory. */
struct holder *figures__add_holder(struct figures_process *p, uint64_t thread);

/* The sums of the process until now. */
void figures__sums(const struct figures_process *p, struct sums *to);
/* The next interval begins. */
int figures__next_interval(struct figures *f);

#endif /* EXTPROF_PROFILE_FIGURES_H */
