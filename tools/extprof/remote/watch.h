/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads of one program of one process, looked at again and again from outside: what each did since the last
 * look, and samples of it.
 *
 * How long a thread had a CPU, and waited for one, the kernel counts.  The rest of the time it was blocked, and
 * the look tells for what.  Each period of CPU time is a sample, with the stack of a look at which the thread had a
 * CPU, or had lost one to others.  So a thread that was asleep is never shown as running, and the samples make up the
 * CPU time, whoever this reader takes a CPU from.
 */
#ifndef EXTPROF_WATCH_H
#define EXTPROF_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "process/address_space.h"
#include "remote/event_queue.h"
#include "remote/stop.h"
#include "remote/tables.h"
#include "remote/turns.h"
#include "remote/unwind_tables.h"
#include "remote/wait_state.h"
#include "remote/walker.h"
#include "ruby/layout.h"
#include "wire/sample.h"
#include "wire/states.h"

/* State that all watches of a reader share. */
struct watcher {
	bool stop;			/* stop a thread that has a CPU while its stack is read */
	bool cpu, waits;		/* samples of SOURCE_CPU and of SOURCE_SCHED are wanted */
	/* Watch only threads that share native threads (M:N), and these native threads.  What Ruby threads do on them
	 * is sampled elsewhere. */
	bool shared;
	uint64_t began;			/* `shared`: what they did since then counts; CLOCK_MONOTONIC, ns */
	uint64_t step;			/* `shared`: of the clock of rb_debug_ext_thread::since, ns */
	bool skips;			/* during watch__skip() */
	bool figures;			/* of SOURCE_SCHED only the accounts of threads, and no samples */
	uint64_t interval;		/* number of this interval: see thread_account::longest */
	uint64_t period;		/* ns of CPU time that a sample stands for */
	struct event_queue *queue;	/* where they go */
	struct walker *walker;
	struct unwind_tables *unwind;	/* NULL: native functions are not wanted */
	struct page_cache *cache;	/* for them */
	uint64_t random;		/* state of a generator */
	uint32_t open_files;		/* of watched threads */
	struct stop_later later;
	uint64_t stops, stopped, longest_stop;	/* how often threads were stopped, and how long; ns */
};

/* A native thread. */
struct watched_task {
	pid_t tid;		/* as seen from here */
	uint32_t inner;		/* in the process's namespace */
	int fd;			/* its schedstat; -1 */
	bool known, moved;	/* `now` was read; since the last look it was, too */
	bool came_later;	/* it was not on the first list of threads */
	bool fresh;		/* this is the first look at it, and it was made since the look before */
	bool ruby;		/* a Ruby thread has it now */
	bool shared;		/* one that shares native threads had it */
	uint32_t listed;	/* number of the list that has it */
	struct turns before, now;
};

/* A Ruby thread, or a native one that no Ruby thread has. */
struct watched_thread {
	uint64_t key;			/* serial of the Ruby thread; or NATIVE_KEY | tid as seen from here */
	uint32_t look;			/* number of the last look that found it */
	uint32_t task;			/* its native thread; UINT32_MAX: it has none now */
	struct rb_debug_ext_thread t;	/* as of the last look */
	uint32_t slot;
	uint32_t named;			/* number of the look at which the kernel's name of it was read; 0: never */
	uint64_t seen;			/* CLOCK_MONOTONIC, ns: the account goes up to here */
	/* Time that the kernel has counted and that is in no state yet; ns. */
	int64_t running, waiting_for_cpu;
	int64_t stopped;		/* by this reader */
	uint64_t unseen;		/* it was blocked, and nobody looked */
	/* watcher::shared: looks that found it waiting for the GVL, and running; what `since` is to be made up for. */
	uint32_t looks_ready, looks_running;
	int64_t carry;
	uint64_t rest;			/* the same: this is to go into the wait that the look found; ns */
	uint64_t cpu;			/* CPU time that no sample stands for */
	uint64_t blocked, runnable;	/* and the same of these two states */
	struct wait_state wait;		/* what `blocked` is of */
	/* Its stack of the last time that it was read. */
	struct sample_event *stack;	/* NULL: none */
	uint8_t lost;			/* why there is none */
	bool elsewhere;			/* samples of `blocked` are not for this reader */
	bool taken;			/* it was read, ... */
	uint64_t got, seq;		/* ... when it had got a CPU so often, and had changed its state so often */
	struct task last;		/* what the kernel said of it then */
	struct thread_account account;
};

struct watch {
	pid_t pid;
	uint32_t process, vm;		/* their numbers, for samples */
	struct address_space *space;
	struct layout layout;
	struct tasks tasks;
	struct deadline deadline;
	struct tables tables;
	struct watched_task *native;
	uint32_t native_count;
	size_t native_room;
	struct map64 native_map;	/* inner tid -> number in `native` */
	struct watched_thread *threads;
	uint32_t thread_count;
	size_t thread_room;
	struct map64 thread_map;	/* key -> number in `threads` */
	uint32_t look;			/* number of the last look */
	uint64_t listed_at;		/* native threads were listed; CLOCK_MONOTONIC, ns */
	uint32_t listed;
	/* By state: the sum of the squares of the times, in us, that one look put into it or took from it. */
	uint64_t doubts[STATE_ROOM];
	size_t bytes;			/* of stacks that are kept */
	uint64_t native_at;		/* native functions are read from then on; CLOCK_MONOTONIC, ns */
	uint64_t native_cost;		/* CPU time of a stack with them, of the last ones; ns */
	struct source_counters cpu_counters, wait_counters;
};

/*
 * Begin.  `layout`: the section that was found there, which is checked again.  0, -ENODATA: the process runs another
 * program now, or -errno of opening its memory or its threads.  Nothing is to be closed after an error.
 */
int watch__open(struct watch *w, pid_t pid, bool same_namespace, const struct layout *layout, struct diag *d);
/* Do not count what the threads did since the last look. */
void watch__skip(struct watch *w, struct watcher *by);
/* Send the accounts and samples that are due, as of threads that have ended, and free all. */
void watch__close(struct watch *w, struct watcher *by);

/* Look at all threads.  `stacks`: read those that are needed.  0; -ESRCH the memory is gone; or -errno. */
int watch__look(struct watch *w, struct watcher *by, bool stacks);
/* The memory of the process may be read for so long as one look takes at most: for another look than that at its threads. */
void watch__give_time(struct watch *w, uint64_t now);
/* Look at all threads, and call back with the account of each as of now. */
void watch__accounts(struct watch *w, struct watcher *by,
		     void (*callback)(void *context, const struct thread_account *account), void *context);
/* Send what is due of all threads: the recording ends, or what there is so far is to be shown. */
void watch__flush(struct watch *w, struct watcher *by);

/* Can threads of the process be stopped?  0 or -errno with the diagnosis. */
int watch__try_stop(struct watch *w, struct diag *d);

#endif /* EXTPROF_WATCH_H */
