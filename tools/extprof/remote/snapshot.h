/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All threads and fibers of a VM with their stacks, read from outside.  Each stack is of one moment, and the
 * snapshot says how that is known; or it is torn, and the part that is certain is kept.
 *
 * How a read of a running process is proven.  The thread is off its CPU at one moment of the read, and the kernel's
 * count of how often it got a CPU is the same before and after: so it did not run, and nothing changed.
 *  - A thread that is blocked is off the CPU.
 *  - A thread that runs is taken off by the scheduler, as the reader goes to the same CPU for a
 *    moment: two threads cannot run on one CPU.  The reader needs no privilege for that, and the thread is not
 *    stopped: it waits for its turn, as beside any other program.
 *  - A thread that has no native thread (M:N) waits, and counts the changes of its state.
 *  - Where the kernel does not count, or the CPU is not allowed, several copies have to be equal.
 */
#ifndef EXTPROF_SNAPSHOT_H
#define EXTPROF_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/page_cache.h"
#include "remote/tables.h"
#include "remote/task.h"
#include "remote/walker.h"
#include "ruby/layout.h"

/* How it is known that a stack is of one moment. */
enum snapshot_proof {
	PROOF_NONE = 0,		/* it is not: torn, or not readable */
	PROOF_OFF_CPU,		/* the thread did not run during the read */
	PROOF_EQUAL,		/* SNAPSHOT_COPIES copies were equal */
	PROOF_STOPPED,		/* the reader had stopped the process */
	PROOF_CORE,		/* the memory is a core file's */
	PROOF_WAIT,		/* the thread waited, and its count of changes of state was the same afterwards */
};

/* Copies that have to be equal where nothing better can be had. */
#define SNAPSHOT_COPIES 4
/* Tries for one thread. */
#define SNAPSHOT_TRIES 8
/* Threads are stopped one by one for their native stacks for so long together, ns. */
#define SNAPSHOT_STOPS_MAX 5000000000ull
/* Bytes of stacks that are kept: a hostile process can claim 2^30 frames. */
#define SNAPSHOT_BYTES_MAX (64ull << 20)

/* Why the current stack of a thread has no native functions. */
enum snapshot_native {
	NATIVE_HAS = 0,			/* it has them, or they were not asked for */
	NATIVE_MOVED,			/* the thread ran while it was read, or the stack is not of one moment */
	NATIVE_NO_THREAD,		/* it has no native thread now */
	NATIVE_REFUSED,			/* it runs, and may not be stopped */
	NATIVE_TRACED,			/* it runs, and a debugger has it */
	NATIVE_NOT_STOPPED,		/* it does not stop in time: it is in an uninterruptible wait, or gets no CPU */
	NATIVE_NOT_RESTARTED,		/* it waits in a call that a stop would end */
	NATIVE_CHANGED,			/* code was mapped since the mappings were looked at */
	NATIVE_NO_TIME,			/* other threads have taken SNAPSHOT_STOPS_MAX */
	NATIVE_NOT_MAPPED,		/* the mappings of the process could not be read */
	NATIVE_REASONS
};

struct snapshot_ec {
	struct rb_debug_ext_ec e;
	uint32_t slot;
	bool current;			/* its thread runs it, or ran it last */
	uint64_t resumed_by;		/* address of the EC of the fiber that resumed it; 0: none, or not told */
	uint8_t proof;			/* enum snapshot_proof */
	uint8_t lost;			/* enum loss_reason: why there is no stack; 0: there is one */
	uint8_t tries;
	bool torn;			/* it changed during each try: the frames are those that all copies had */
	uint32_t changing;		/* if torn: innermost frames of the last copy that are not kept */
	struct sample_event *event;	/* with what belongs to it behind it, see sample.h; NULL if and only if lost */
	uint32_t size;			/* of that, bytes */
	uint8_t native;			/* enum snapshot_native, of the current one */
};

/* The state of the mutex that a thread waits for; see locks.h. */
enum snapshot_lock { LOCK_UNKNOWN, LOCK_OWNED, LOCK_FREE };

struct snapshot_thread {
	struct rb_debug_ext_thread t;	/* as it was during the read of the stack */
	uint32_t slot;
	struct task task;		/* the same of its native thread; tid 0: it has none now */
	uint32_t first_ec, ec_count;	/* in snapshot::ecs */
	uint8_t lock;			/* enum snapshot_lock */
	uint64_t lock_owner;		/* serial of the thread that has the mutex */
};

struct snapshot {
	struct rb_debug_ext_section section;	/* a copy of its beginning */
	struct snapshot_thread *threads;	/* by serial: oldest first */
	uint32_t thread_count;
	struct snapshot_ec *ecs;		/* by thread, the current one first, then by serial */
	uint32_t ec_count;
	uint64_t began, ended;			/* CLOCK_MONOTONIC, ns */
	uint64_t bytes;				/* of stacks */
	uint32_t torn;				/* ECs */
	uint32_t lost;				/* ECs without a stack, for another reason */
	uint32_t left_out;			/* threads and ECs beyond the bounds */
	uint32_t retried;			/* tries that were given up since the thread had run */
	uint32_t stops;				/* threads that were stopped one by one, also too late */
	uint64_t stopped, longest_stop;		/* all of that with the waiting for it, and of one thread, ns */
};

/* The process or core file that a snapshot is taken of. */
struct snapshot_source {
	struct layout *layout;			/* refreshed by snapshot__take() */
	const struct memory *memory;
	struct tasks *tasks;			/* NULL: nothing runs (a core file), or is known of threads */
	enum snapshot_proof frozen;		/* PROOF_STOPPED or PROOF_CORE; else PROOF_NONE: it may run */
	/* The state of a native thread of what is frozen; NULL: ask `tasks`, or nobody.  `tid` as in the process. */
	bool (*task_of)(void *context, uint32_t tid, struct task *task);
	void *context;
	/*
	 * NULL: native functions are not wanted.  A thread whose registers the kernel does not tell is stopped by itself for the
	 * read: by the calling thread, whose end lets go of a thread that has not stopped in time.
	 */
	const struct unwind_view *native;
	/* The same for a reader that samples, NULL: this is none.  No thread is stopped for native functions; where code has been
	 * mapped meanwhile, that is why the native stack ends. */
	struct page_cache *cache;
};

/*
 * Read all threads and fibers.  0, -ENOMEM, or -errno of reading the memory: -ESRCH the process is gone,
 * -EINTR the deadline was over, -ENODATA the process runs another program now.  The caller frees *s with
 * snapshot__free() in any case.
 *
 * The CPU affinity of the calling thread is changed for a moment and set back.
 */
int snapshot__take(struct snapshot *s, const struct snapshot_source *source);
void snapshot__free(struct snapshot *s);

/* NULL: the event has no native functions. */
static inline const struct sample_machine *snapshot_ec__machine(const struct snapshot_ec *ec)
{
	return ec->event ? sample__machine(ec->event) : NULL;
}

/*
 * The same for one thread, for a reader that samples: the stack of what it runs now.  *thread has `slot` set.
 * The caller frees ec->event.  0 or as above; -ENOENT: the slot is free, or the thread has no EC.
 */
int snapshot__thread(const struct snapshot_source *source, struct walker *walker, struct snapshot_thread *thread,
		     struct snapshot_ec *ec);
/*
 * The same of a native thread that runs no Ruby code.  `tid` as seen from here, `inner` as in the process.  *task is what the
 * kernel said of it.  The event has native functions if the thread was seen not to run during the read.  NULL: no memory.
 */
struct sample_event *snapshot__bare(const struct snapshot_source *source, struct walker *walker, pid_t tid, uint32_t inner,
				    struct task *task);

#endif /* EXTPROF_SNAPSHOT_H */
