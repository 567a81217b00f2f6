/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of the source of waits, for its files. */
#ifndef EXTPROF_SCHED_PARTS_H
#define EXTPROF_SCHED_PARTS_H

#include "base/map64.h"
#include "source/cpu_timers.h"
#include "source/ruby_probe.h"
#include "source/source.h"

#define PROGRAMS_MAX 4
/* ns between two looks at what runs: no multiple of what programs like to do. */
#define LOOK_PERIOD 1003009u
/* Programs that tell of new threads and ended ones.  They run as long as the session is open. */
#define LIVES 3

struct source {
	struct source_options options;
	struct bpf_program *programs[PROGRAMS_MAX];
	struct bpf_link *links[PROGRAMS_MAX];
	int program_count;
	struct bpf_program *lives[LIVES];
	struct bpf_link *life_links[LIVES];
	const uint64_t *full, *accounts_lost;	/* counters of the kernel */
	const volatile uint64_t *ended_unseen;
	uint64_t ended_seen;	/* of those, that were looked for */
	volatile uint32_t *paused;
	volatile uint64_t *interval;
	const uint64_t *gvl_waits_lost;
	int threads_fd, gvl_waits_fd;
	uint64_t quantum;	/* ns; 0: each wait is a sample */
	uint64_t stopped_at;	/* CLOCK_MONOTONIC, ns; 0: it has not been stopped */
	uint64_t pause;		/* the last one, ns */
	uint64_t lost;		/* threads that user space found no room for */
	int details_fd, looks_fd;
	/* If extprof is in a pid namespace of its own: the tids in the outermost one, by those that are seen from here. */
	bool nested;
	bool ends_on_cpu;	/* as waits_end_on_cpu of the BPF programs */
	struct bpf_link *tids_link;
	struct map64 tids;
	/* For --holder: what runs with the GVL is looked at so often. */
	struct bpf_program *look;
	struct cpu_timers timers;
	struct ruby_probe probe;	/* thread_state, if who holds what or who ends a wait is asked for */
};

#endif /* EXTPROF_SCHED_PARTS_H */
