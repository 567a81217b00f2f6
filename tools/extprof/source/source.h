/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources make samples.  Each source has a `struct source_ops` in a file of its own, and a line in the table of
 * source.c.  The session (session.h) loads the BPF programs of those that are used as one object, and receives what
 * they send.  A user asks for modes, not for sources: see mode.h.
 */
#ifndef EXTPROF_SOURCE_H
#define EXTPROF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "source/timer.h"
#include "wire/wait_details.h"
#include "wire/sample.h"

/* The kernel's cpu-clock does not go below 10 us. */
#define SOURCE_RATE_MAX 100000u

struct extprof_bpf;
struct source;
struct syscall_set;
struct event_spec;
struct places;
struct ruby_file;

struct source_options {
	size_t size;		/* of this structure */
	struct places *places;	/* for places__want(), in the files of rubies */
	uint32_t rate;		/* samples per second and CPU */
	enum timer_kind timer;
	uint64_t alloc_interval; /* of modes alloc and heap: bytes between two samples, on average */
	bool slots_only;	/* alloc: without memory of malloc */
	const struct syscall_set *syscalls; /* of mode syscall; NULL or none: all */
	bool syscall_latency;	/* of mode syscall: with durations */
	const struct event_spec *events; /* of mode event; they stay until the source is destroyed */
	uint32_t event_count;
	uint64_t event_period;	/* of modes event and syscall: a sample stands for so many; 0: as each event says, each call */
	uint32_t details;	/* sched: what is told of waits besides their state, a mask of WAIT_DETAIL_ */
	bool figures, call_figures;	/* sched, and syscall: no samples but sums, see source/figures.h */
	uint32_t states;	/* sched: of which waits are samples, a mask of 1u << enum thread_state; 0: all */
	bool each_wait;		/* sched: each wait is a sample; else short ones stand for others, by the rate */
	bool native;		/* samples have the functions of user space that they were taken in */
	bool plain;		/* the same of processes without a ruby */
	bool kernel;		/* samples have the functions of the kernel that they were taken in */
};

/* A ruby that was found, for sources that attach to its binary. */
struct source_target {
	uint32_t process;	/* target_config::process */
	uint32_t vm;		/* target_config::vm */
	int pid;		/* as seen from here */
	uint64_t section;	/* address of the contract's section in its memory; 0: it runs no ruby */
	const struct rb_debug_ext_section *contract;	/* a copy of it */
	const struct ruby_file *file;	/* where the section is from */
	struct places *places;	/* that source_ops::create wanted in it */
	/* Does any process that is followed run the file of that number?  NULL: not known. */
	bool (*uses)(const void *engine, uint32_t file);
	/* Read the memory of a ruby that was added, by the number of its VM.  0 or -errno; -ESRCH: it is gone. */
	int (*read)(const void *engine, uint32_t vm, uint64_t address, void *to, size_t size);
	const void *engine;	/* of `uses` and `read` */
};

/* How samples are taken; for the report. */
struct source_facts {
	char text[96];		/* "on-CPU at 99 Hz by the clock" */
	uint64_t period;	/* ns between two samples of one CPU; 0: not at intervals */
	uint32_t cpus;		/* that are sampled */
	uint32_t unsampled_cpus; /* that came online and could not be */
	/* For mode gc: pauses of which one end was not seen. */
	uint64_t begun_before, not_ended;
};

struct source_ops {
	enum sample_source id;
	/* Check the options, before anything is loaded.  0 or -errno. */
	int (*create)(struct source **s, const struct source_options *o, struct diag *d);
	/* Have its programs loaded (none is by itself) and set their constants and the sizes of its
	 * maps: the object is open and not loaded. */
	int (*configure)(struct source *s, struct extprof_bpf *skel, struct diag *d);
	/* The object is loaded: open the timers or events, which do not run yet. */
	int (*open)(struct source *s, struct extprof_bpf *skel, struct diag *d);
	/* Attach its programs, unless they are, and start its timers.  The programs take no sample: sampling_paused is set. */
	int (*start)(struct source *s, struct extprof_bpf *skel, struct diag *d);
	/* All sources have started: it is measured from that moment on, which is now.  NULL: nothing to do. */
	void (*go)(struct source *s, uint64_t now);
	/* From this moment on nothing is measured, beside sampling_paused: stop() follows soon.  NULL: nothing to do. */
	void (*pause)(struct source *s);
	/* Can a program of it still take a sample after the pause, until the kernel's next grace period of RCU?  NULL: yes.  False:
	 * stop() waits for those that run. */
	bool (*lingers)(const struct source *s);
	/* Programs that took a sample have ended.  They stay attached: the kernel takes some ms for each to attach it again.
	 * NULL: nothing to do. */
	void (*stop)(struct source *s);
	/* It was stopped, or not started, and is started later: take away what the processes pay for.  NULL: nothing to do. */
	void (*rest)(struct source *s);
	/* It was stopped: from the next start on there are so many samples per second.  0 or -errno: nothing has changed.
	 * NULL: its samples have no rate. */
	int (*set_rate)(struct source *s, struct extprof_bpf *skel, uint32_t rate, struct diag *d);
	/* A ruby was found, before or after the start.  0 or -errno: it is not sampled by this source.
	 * NULL: nothing to do. */
	int (*add)(struct source *s, const struct source_target *target, struct diag *d);
	bool adds_all;	/* `add` is called for programs without a ruby, too */
	/* The process is sampled no more, and goes on.  NULL: nothing to do. */
	void (*drop)(struct source *s, uint32_t process);
	/* The recording is over, after the last stop: leave the processes as they were.  NULL: nothing to do. */
	void (*detach)(struct source *s);
	/* To be called now and then while it runs: CPUs come and go.  NULL: nothing to do. */
	void (*follow)(struct source *s);
	void (*facts)(const struct source *s, struct source_facts *facts);
	void (*destroy)(struct source *s);
};

/* NULL: there is none. */
const struct source_ops *source__by_id(enum sample_source id);

extern const struct source_ops source_cpu, source_alloc, source_gc, source_sched, source_syscall,
	source_event;

#endif /* EXTPROF_SOURCE_H */
