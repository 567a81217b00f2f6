/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures of a recording (settings::figures): what profile/figures.h adds up, from the kernel's accounts, from
 * probes and from what processes publish.
 */
#ifndef EXTPROF_ENGINE_FIGURES_H
#define EXTPROF_ENGINE_FIGURES_H

#include "engine/engine.h"
#include "profile/figures.h"
#include "source/session.h"

/* One system call of all processes together. */
struct call_sum {
	uint32_t number;	/* as syscall_key::number */
	struct syscall_sum now, before;
};

/* Different system calls that have a row.  Linux has less than 500. */
#define CALL_SUMS_MAX 1024u

struct engine_figures {
	struct figures sums;
	struct call_sum *calls;
	uint32_t call_count;
	size_t call_room;
	uint64_t at;		/* the last look, CLOCK_MONOTONIC, ns; 0: none so far */
	uint64_t at_before;	/* the one before it, where the interval begins */
	uint64_t begun;		/* the first process was attached; 0: not yet */
	/* Sums of all processes together. */
	struct session_losses losses;
	uint64_t threads_without_row, calls_without_row;	/* there was no memory for them */
	struct source_counters alloc, gc;	/* of these sources */
	struct received alloc_received, gc_received;
	uint64_t alloc_interval;
	bool looks_only;	/* what threads do is known from looks: without BPF */
	bool has_calls;		/* settings::syscall_figures */
	/* Inside of the engine: see engine/figures_parts.h. */
	uint64_t next_look, next_amounts, next_memory;
	uint32_t random;
	uint8_t *ractor_slots;
	struct map64 ended_now;
	struct looked *looked;
	uint32_t looked_count;
	size_t looked_room;
};

/*
 * Look at all figures now.  After engine__finish() the last look is that of the end.  0 or -errno.  The figures
 * are the engine's.
 */
int engine__figures(struct engine *e, const struct engine_figures **figures, struct diag *d);
/* The figures of this look were shown: the next interval begins where the look was.  0 or -errno. */
int engine__figures_next(struct engine *e, struct diag *d);
#endif /* EXTPROF_ENGINE_FIGURES_H */
