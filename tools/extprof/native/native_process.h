/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings of a process, now and before. */
#ifndef EXTPROF_NATIVE_PROCESS_H
#define EXTPROF_NATIVE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/budget.h"
#include "native/native_blocks.h"
#include "native/native_work.h"

/* Mappings that are no more, of one process. */
#define NATIVE_PAST_MAX 1024u

/* Known from looks: it was there from the end of one until the beginning of another one. */
struct native_mapped {
	uint64_t start, end;
	uint64_t offset;	/* of its beginning in the file */
	uint32_t file;		/* NATIVE_NO_FILE: there are too many */
	uint64_t from;		/* CLOCK_MONOTONIC; 0: it was there at the first look */
};

struct native_process {
	uint32_t vm;		/* 0: the slot is free */
	pid_t pid;		/* 0: it has ended */
	uint64_t began;		/* as of proc__started() */
	uint64_t vm_code;
	struct budget_share files, rules, names;	/* that it has had first */
	uint32_t jit;		/* number of its map in jit_maps.h, JIT_NONE none */
	uint64_t executed;	/* as in native_work */
	struct native_ranges {
		struct native_range *list;	/* by address */
		uint32_t count;
	} ranges, ranges_before;	/* code in no file, as the last two looks have found it */
	struct native_mapped *list;	/* by address */
	uint32_t count;
	size_t room;
	struct native_mapped *past;	/* by time */
	uint32_t past_count;
	size_t past_room;
	struct native_block block;	/* that the kernel reads */
	uint64_t seen_at;	/* by a look; 0: by none */
	struct unwind_seen seen;	/* before that look */
	uint64_t hash;		/* of what that look has found */
	uint64_t looked_at;	/* also if it failed */
	uint64_t took;		/* by the last look, ns */
	bool looking, sampled;	/* sampled: since the last look */
	bool look;		/* something was in no file that is known */
	bool dirty;		/* the kernel has something else */
	bool fixed;		/* its mappings do not change, and nobody looks at them */
	bool confirmed;		/* a look has found what the kernel has, and it is not told yet */
};

void native_process__free(struct native_process *p);
/* A look between these times has found these, by address; it takes them.  True: something has changed. */
bool native_process__saw(struct native_process *p, struct native_mapped *list, uint32_t count, uint64_t from, uint64_t until);
/*
 * The mapping at an address at that time, for a walk that found something mapped there then: the last mapping that had
 * been seen there.  The walk ends where the mapping is another one (UNWIND_END_CHANGED).  NULL: nothing had been seen.
 */
const struct native_mapped *native_process__find(const struct native_process *p, uint64_t address, uint64_t time);
/* A look has found this code in no file, by address; it takes it. */
void native_process__saw_ranges(struct native_process *p, struct native_range *list, uint32_t count);
/* Was code in no file seen there? */
bool native_process__has_range(const struct native_process *p, uint64_t address);
/* 0 or -ENOMEM. */
int native_process__copy(struct native_process *p, const struct native_process *from);

#endif /* EXTPROF_NATIVE_PROCESS_H */
