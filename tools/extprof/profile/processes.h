/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a profile.  A row stays after its process has ended, so that a report needs no
 * live process.
 */
#ifndef EXTPROF_PROCESSES_H
#define EXTPROF_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "profile/accounting.h"
#include "ruby/heap_size.h"
#include "wire/sample.h"

#define PROCESS_NONE UINT32_MAX
/* Bound of the table, about 40 MB.  The samples of others are in the sums of the whole profile only. */
#define PROCESSES_MAX (32u << 10)

struct process_row {
	int pid;			/* as extprof's pid namespace has it; 0 unknown */
	uint32_t parent;		/* number of a row; PROCESS_NONE: its parent is not in the profile */
	uint32_t uid;
	char command[256];		/* clean; the last one that was read */
	char ruby_version[32];		/* clean; "": no ruby was found in it */
	char ended[48];			/* how, for display: "exit 0", "SIGKILL"; "": it still runs */
	bool replaced;			/* it executed another program, in which no ruby was found (yet) */
	bool watched;			/* a child that was not to be sampled: only its CPU time is known */
	char *cgroup;			/* clean path; NULL unknown */
	char *cwd;			/* its working directory when it was found, clean; NULL unknown */
	char *executable;		/* the path of its program, clean; NULL unknown */
	char *resource;			/* clean: "service.name=shop,..." as in OTEL_RESOURCE_ATTRIBUTES, see process/own_name.h;
					 * NULL: nothing */
	uint64_t started, ended_at;	/* CLOCK_MONOTONIC, ns: from when to when it was followed; 0 not yet */
	/* CPU time by the kernel's account, ns: while its layout was known, and besides that, before
	 * it was attached, after it executed another program, and of a process that is no ruby. */
	uint64_t cpu_time, cpu_time_unfollowed;
	/* For all sources: what the kernel counted for the process, and what arrived of it. */
	struct source_counters kernel;
	struct received received;
	uint64_t cpu_taken;		/* of kernel.taken, by the timer */
	uint64_t lost_told;		/* of its losses: see engine__each_loss() */
	uint32_t frame;			/* number of its group frame; 0 none yet */
	struct heap_size heap;		/* as it was seen last; `slots` 0: it is not known */
	const char *host;		/* of a time of recordings of several machines, else NULL; of whoever has the row */
	uint64_t resident;		/* of a time of a recording: bytes of memory, as it was seen last; 0: it is not known */
};

/* Zero-initialise. */
struct processes {
	struct process_row *rows;	/* by number */
	uint32_t count;
	size_t room;
};

/* The number of a new row, or PROCESS_NONE when out of memory or over PROCESSES_MAX.  Rows move then. */
uint32_t processes__add(struct processes *p);
/*
 * Forget all rows of which `kept` is false.  number[i] becomes the new number of row i, or PROCESS_NONE.  Both have a place
 * for each row.
 */
void processes__drop(struct processes *p, const bool *kept, uint32_t *number);
/* The profile begins anew: the same, and what the other rows have counted is forgotten, too. */
void processes__restart(struct processes *p, const bool *kept, uint32_t *number);
/* A copy that shares nothing with it.  0 or -ENOMEM: *to is empty. */
int processes__copy(struct processes *to, const struct processes *p);
void processes__free(struct processes *p);

/* Was it profiled, or is it only in the table for the CPU time that it used? */
bool process_row__is_followed(const struct process_row *row);
/* How many were profiled. */
uint32_t processes__followed(const struct processes *p);

/* The account of one process: what the kernel counted, and what arrived. */
void process_row__account(const struct process_row *row, struct accounting *a);

#endif /* EXTPROF_PROCESSES_H */
