/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The states of a thread: at each moment it is in exactly one of them.  The source `sched` measures how long, from one
 * event of the scheduler to the next.
 */
#ifndef EXTPROF_STATES_H
#define EXTPROF_STATES_H

#include "wire/sample.h"

/* sample_event::state of SOURCE_SCHED.  Ids are part of recordings: append only. */
enum thread_state {
	STATE_RUNNING = 0,	/* on a CPU */
	STATE_RUNNABLE = 1,	/* it could run, and has no CPU */
	STATE_GVL = 2,		/* waits for the GVL of its ractor */
	STATE_IO = 3,		/* in a system call that reads, writes or waits for a file */
	STATE_SLEEP = 4,
	STATE_MUTEX = 5,
	STATE_QUEUE = 6,
	STATE_CONDVAR = 7,
	STATE_JOIN = 8,
	STATE_PROCESS = 9,	/* waits for another process */
	STATE_RACTOR = 10,
	STATE_NATIVE = 11,	/* in a lock of native code, or another system call */
	STATE_FAULT = 12,	/* waits for its memory */
	STATE_STOPPED = 13,	/* by a signal or a debugger */
	STATE_PARKED = 14,	/* of a fiber: its thread runs others */
	STATE_MAX
};

/* Room to append without another layout. */
#define STATE_ROOM 16

/*
 * sample_event::detail of SOURCE_SCHED.
 * bits 0-15: number of the system call + 1, 0 none; 16-19: enum file_kind; 20-27: why Ruby says that it
 * waits, 0 unknown; 28: it has the GVL meanwhile; 32-63: file descriptor + 1, 0 none.
 */
#define DETAIL_CALL(detail) ((uint32_t)((detail) & 0xffff))
#define DETAIL_FILE(detail) ((uint32_t)((detail) >> 16 & 15))
#define DETAIL_KIND(detail) ((uint32_t)((detail) >> 20 & 255))
#define DETAIL_HAS_GVL(detail) ((uint32_t)((detail) >> 28 & 1))
#define DETAIL_FD(detail) ((uint32_t)((detail) >> 32))
#define DETAIL_MAKE(call, file, kind, has_gvl, fd) \
	((uint64_t)((call) & 0xffff) | (uint64_t)((file) & 15) << 16 | (uint64_t)((kind) & 255) << 20 | \
	 (uint64_t)(has_gvl) << 28 | (uint64_t)(fd) << 32)

enum file_kind {
	FILE_UNKNOWN = 0,
	FILE_REGULAR = 1,
	FILE_DIRECTORY = 2,
	FILE_PIPE = 3,
	FILE_SOCKET = 4,
	FILE_DEVICE = 5,
	FILE_TERMINAL = 7,
	FILE_OTHER = 6,
	/* Files that are in no file system: */
	FILE_EVENTFD = 8,
	FILE_TIMERFD = 9,
	FILE_SIGNALFD = 10,
	FILE_PIDFD = 11,
	FILE_INOTIFY = 12,
	FILE_EPOLL = 13,
	FILE_KINDS
};

/* The kind of a system call, as it matters to a thread that waits in it. */
enum call_kind {
	CALL_OTHER = 0,
	CALL_FD = 1,		/* IO, its first argument is a file descriptor */
	CALL_POLL = 2,		/* IO, its first argument is an array of `struct pollfd`, the second one its length */
	CALL_IO = 3,		/* IO without a file descriptor */
	CALL_SLEEP = 4,
	CALL_PROCESS = 5,
	CALL_FUTEX = 6,
	CALL_NONE = 7,		/* the thread is in no system call */
};

#define CALLS_MAX 512

/* The account of one thread.  The times make up its life: the sum of time[] is until - first. */
struct thread_account {
	uint64_t first, until;		/* CLOCK_MONOTONIC, ns */
	uint64_t time[STATE_ROOM];	/* ns */
	uint64_t waits[STATE_ROOM];	/* how often it was in the state; of RUNNING: how often it got a CPU */
	uint32_t process;		/* target_config::process */
	uint32_t vm;
	uint32_t tid;			/* in its own pid namespace */
	uint32_t thread_slot;		/* of the Ruby thread; 0 unknown */
	uint64_t thread;		/* its serial; 0: no Ruby thread, or not known */
	char comm[TASK_COMM_SIZE];
	/* How often it was switched out, in its life, and before `first`: because it had to wait, and because another
	 * thread got the CPU. */
	uint64_t voluntary, involuntary;
	uint64_t voluntary_before, involuntary_before;
	/* If the recording wants figures: the longest wait for the GVL that ended in an interval of the recording, by
	 * interval % 2, and the number of that interval. */
	struct longest_wait {
		uint64_t ns, interval;
	} longest[2];
};

/* sched_thread::off */
enum thread_off {
	OFF_NOT = 0,		/* it has a CPU */
	OFF_YES = 1,
	OFF_UNKNOWN = 2,	/* it was there before the recording, and nothing was seen of it so far */
};

/* waits_paused of the BPF programs: what they do while nothing is measured. */
enum waits_pause {
	WAITS_RUN = 0,
	WAITS_HELD = 1,		/* add new threads */
	WAITS_RESTING = 2,	/* also send the accounts of those that end */
};

/* sched_thread::out */
enum thread_out {
	OUT_RUNNABLE = 0,	/* it could go on */
	OUT_BLOCKED = 1,
	OUT_STOPPED = 2,
};

/* Parts of one system call in different states. */
#define PARTS_MAX 4

/* A wait, by what the kernel and Ruby say of it. */
struct wait_class {
	uint32_t state;		/* enum thread_state, of the time that is not `gvl` */
	uint32_t wait_kind;	/* enum rb_debug_ext_wait_kind; 0: Ruby does not say that the thread waits */
	uint32_t has_gvl;	/* meanwhile */
	uint32_t gvl;		/* it ends with a wait for the GVL, see gvl_part() */
};

/* A thread that is followed.  Its own switches and system calls change this; only `woken` is stored by others. */
struct sched_thread {
	/* The fields that each switch needs come first, in two lines of the cache. */
	uint64_t since;		/* it is on or off the CPU; CLOCK_MONOTONIC, ns */
	uint64_t woken;		/* it was blocked and can run since then; 0: not yet */
	uint32_t off;		/* enum thread_off */
	uint32_t out;		/* enum thread_out, while it is off */
	uint32_t in_call;	/* while it is off: in a system call, that will end */
	uint32_t sent;		/* while it is off outside of a system call: its stack was sent under this number; 0 not */
	uint32_t call;		/* while it is off in a system call: its number */
	uint32_t sequence;	/* last number of such stacks */
	/* Time that is not in the account yet.  Its state is known when the wait, or the system call in which the
	 * thread waits, is over. */
	uint64_t blocked, runnable, stopped;	/* ns */
	uint64_t call_from;	/* when it was blocked for the first time of these */
	uint64_t from, to;	/* when it was last */
	/* While it is off: how often it has been switched out, and how often it has got a CPU, since it was made. */
	uint64_t switches, runs;	/* runs: 0 unknown */
	uint64_t ran;		/* while it is off: its CPU time until then, by the kernel's account; 0 unknown */
	uint64_t slot;		/* address of the Ruby thread's slot in the process; 0 unknown */
	struct thread_account account;
	/* Short waits that no sample stands for yet, see wait_quantum. */
	uint64_t owed[STATE_ROOM];
	uint64_t owed_waits[STATE_ROOM];
	uint32_t settled;	/* for user space, at the end */
	uint32_t seen_as;	/* its tid in the pid namespace of the reader */
	/* The samples to be sent of the wait that is over. */
	struct wait_class class;
	uint32_t parts;
	uint32_t known;		/* account.thread is the thread that waited: Ruby has just said it */
	uint32_t number, kind;	/* of the system call that it waited in */
	int ruby_fd;	/* the descriptor that Ruby said; -1: none */
	uint32_t reserved;
	uint64_t detail;
	struct sched_part {
		uint64_t value, count;
		uint64_t state;
	} part[PARTS_MAX];
};

/* A thread by its tids in the outermost pid namespace and in that of the reader. */
struct sched_tid {
	uint32_t global, seen_as;
};

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* The head of struct rb_debug_ext_thread, without its name. */
struct thread_head {
	uint32_t generation, state;
	uint64_t since;
	uint32_t tid, ractor;
	uint64_t serial, thread, thread_pointer;
	uint32_t flags, wait_kind;
	uint64_t state_seq, ready_at, wait_object, wait_func;
	int wait_fd;
	uint32_t wait_thread_slot;
};

static __always_inline uint32_t state_of_wait(uint32_t kind)
{
	switch (kind) {
	case RB_DEBUG_EXT_WAIT_SLEEP:
		return STATE_SLEEP;
	case RB_DEBUG_EXT_WAIT_JOIN:
		return STATE_JOIN;
	case RB_DEBUG_EXT_WAIT_MUTEX:
		return STATE_MUTEX;
	case RB_DEBUG_EXT_WAIT_MUTEX_SLEEP:
	case RB_DEBUG_EXT_WAIT_CONDVAR:
		return STATE_CONDVAR;
	case RB_DEBUG_EXT_WAIT_QUEUE:
	case RB_DEBUG_EXT_WAIT_SIZED_QUEUE:
		return STATE_QUEUE;
	case RB_DEBUG_EXT_WAIT_IO:
	case RB_DEBUG_EXT_WAIT_IO_READ:
	case RB_DEBUG_EXT_WAIT_IO_WRITE:
	case RB_DEBUG_EXT_WAIT_IO_SELECT:
		return STATE_IO;
	case RB_DEBUG_EXT_WAIT_PROCESS:
		return STATE_PROCESS;
	case RB_DEBUG_EXT_WAIT_RACTOR:
		return STATE_RACTOR;
	default:
		return STATE_MAX;
	}
}

static __always_inline uint32_t state_of_call(uint32_t kind)
{
	switch (kind) {
	case CALL_FD:
	case CALL_POLL:
	case CALL_IO:
		return STATE_IO;
	case CALL_SLEEP:
		return STATE_SLEEP;
	case CALL_PROCESS:
		return STATE_PROCESS;
	case CALL_NONE:
		return STATE_FAULT;
	default:
		return STATE_NATIVE;
	}
}

/*
 * Tell the class of a wait.  Only this function decides it: for the kernel's programs, for the end of a recording, for
 * `extprof stat` and for looks from outside.  `call`: enum call_kind; `is_ruby`: *head is known.
 */
static __always_inline struct wait_class wait_classify(uint32_t call, int is_ruby, const struct thread_head *head)
{
	struct wait_class c = { .state = state_of_call(call) };
	uint32_t said;

	/* Outside of a system call the thread waits for its memory, whatever Ruby has it do. */
	if (!is_ruby || call == CALL_NONE)
		return c;
	c.has_gvl = head->state == RB_DEBUG_EXT_THREAD_RUNNING;
	/* A running thread still shows the wait_kind of its last wait. */
	c.wait_kind = c.has_gvl ? RB_DEBUG_EXT_WAIT_NONE : head->wait_kind;
	c.gvl = call == CALL_FUTEX && head->state == RB_DEBUG_EXT_THREAD_READY;
	said = state_of_wait(c.wait_kind);
	/* A file or a process is waited for in other calls: this is a lock of the VM, before or after that wait.  Threads
	 * that share native threads wait for their files here. */
	if (call == CALL_FUTEX && (said == STATE_IO || said == STATE_PROCESS) && !(head->flags & RB_DEBUG_EXT_THREAD_MN))
		return c;
	if (said != STATE_MAX)
		c.state = said;
	else if (call == CALL_FUTEX && head->state == RB_DEBUG_EXT_THREAD_SLEEPING)
		c.state = STATE_SLEEP;
	return c;
}

/* The same of a thread that has no native thread at the moment: Ruby has put it aside. */
static __always_inline struct wait_class wait_classify_aside(const struct thread_head *head)
{
	struct wait_class c = wait_classify(CALL_FUTEX, 1, head);

	if (head->state == RB_DEBUG_EXT_THREAD_READY)
		c.state = STATE_GVL;
	else if (c.has_gvl)
		c.state = STATE_RUNNABLE;
	else if (state_of_wait(c.wait_kind) != STATE_MAX)
		c.state = state_of_wait(c.wait_kind);
	return c;
}

/* Is the descriptor that the call waits for in memory, in the struct pollfd at its first argument? */
static __always_inline int call__polls_one(uint32_t call, uint64_t second)
{
	return call == CALL_POLL && second == 1;
}

/*
 * The file descriptor that a wait is on, + 1; 0: none, or several.  `first`: argument of the call; `polled`: what
 * is in memory if call__polls_one(), -1: it was not read; `ruby_fd`: what Ruby says, below 0: nothing.
 */
static __always_inline uint32_t wait__fd(uint32_t call, uint64_t first, int polled, uint32_t state, int ruby_fd)
{
	if (call == CALL_FD)
		return (uint32_t)first + 1;
	if (call == CALL_POLL)
		return (uint32_t)polled + 1;
	/* Only Ruby knows it. */
	return (call == CALL_FUTEX || call == CALL_NONE) && state == STATE_IO && ruby_fd >= 0 ?
	       (uint32_t)ruby_fd + 1 : 0;
}

/* Major numbers of terminals: the kernel's Documentation/admin-guide/devices.txt. */
static __always_inline uint32_t device_kind(uint32_t major)
{
	return major == 4 || major == 5 || (major >= 136 && major <= 143) ? FILE_TERMINAL : FILE_DEVICE;
}

/* The kind of a file that is in no file system, by the first 8 bytes of the name that the kernel gives it: "[eventfd]",
 * "inotify". */
static __always_inline uint32_t anonymous_kind(uint64_t name)
{
	uint64_t n = (name & 0xff) == '[' ? name >> 8 : name;

	switch (n & 0xffffff) {
	case 'e' | 'v' << 8 | 'e' << 16:
		return (n >> 40 & 0xff) == 'f' ? FILE_EVENTFD : FILE_EPOLL;	/* that is eventpoll */
	case 't' | 'i' << 8 | 'm' << 16:
		return FILE_TIMERFD;
	case 's' | 'i' << 8 | 'g' << 16:
		return FILE_SIGNALFD;
	case 'p' | 'i' << 8 | 'd' << 16:
		return FILE_PIDFD;
	case 'i' | 'n' << 8 | 'o' << 16:
		return FILE_INOTIFY;
	default:
		return FILE_OTHER;
	}
}

/* By the mode of its inode, 0 unknown. */
static __always_inline uint32_t file_kind(uint32_t mode)
{
	switch (mode & 0170000) {
	case 0100000:
		return FILE_REGULAR;
	case 0040000:
		return FILE_DIRECTORY;
	case 0010000:
		return FILE_PIPE;
	case 0140000:
		return FILE_SOCKET;
	case 0020000:
	case 0060000:
		return FILE_DEVICE;
	case 0:
		return mode ? FILE_OTHER : FILE_UNKNOWN;
	default:
		return FILE_OTHER;
	}
}

/* Is there time that is not in the account yet? */
static __always_inline int has_unsettled(const struct sched_thread *t)
{
	return (t->blocked | t->runnable | t->stopped) != 0;
}

/* It was off the CPU: since `since` blocked for so long, then runnable; ns.  The account gets it later. */
static __always_inline void add_unsettled(struct sched_thread *t, uint64_t blocked, uint64_t runnable)
{
	t->runnable += runnable;
	if (t->out == OUT_STOPPED) {
		t->stopped += blocked;
	} else if (blocked) {
		if (!t->blocked)
			t->call_from = t->since;
		t->blocked += blocked;
		t->from = t->since;
		t->to = t->since + blocked;
	}
}

/*
 * A thread that is off the CPU by what was told: how long has it run since, if its CPU time is `ran`?  It got a CPU
 * then, and nobody told.  A kernel can hide the switches of some threads, and with those the switches to others.
 */
static __always_inline uint64_t ran_unseen(const struct sched_thread *t, uint64_t ran, uint64_t now)
{
	uint64_t most = now > t->since ? now - t->since : 0;

	if (!t->ran || ran <= t->ran)
		return 0;
	return ran - t->ran < most ? ran - t->ran : most;
}

/* How long the thread waited for the GVL at the end of the time that it was blocked in the call. */
static __always_inline uint64_t gvl_part(const struct sched_thread *t, const struct thread_head *head)
{
	uint64_t ready = head->ready_at, part;

	if (ready <= t->call_from)
		return t->blocked;
	if (ready >= t->to)
		return 0;
	part = t->to - (ready > t->from ? ready : t->from);
	return part < t->blocked ? part : t->blocked;
}

/* Sent when a thread has ended. */
struct account_event {
	struct sample_event e;	/* kind SAMPLE_ACCOUNT */
	struct thread_account account;
};

#define STATES_ASSERT(name, expr) typedef char states_assert_##name[(expr) ? 1 : -1]
STATES_ASSERT(account, sizeof(struct thread_account) == 16 + 16 * STATE_ROOM + 16 + 8 + TASK_COMM_SIZE + 32 + 32);
STATES_ASSERT(room, (int)STATE_MAX <= STATE_ROOM);
#define SAME_PLACE(field) (__builtin_offsetof(struct thread_head, field) == \
			   __builtin_offsetof(struct rb_debug_ext_thread, field))
STATES_ASSERT(head, SAME_PLACE(state) && SAME_PLACE(since) && SAME_PLACE(tid) && SAME_PLACE(serial) &&
	      SAME_PLACE(wait_kind) && SAME_PLACE(state_seq) && SAME_PLACE(ready_at) && SAME_PLACE(wait_fd) &&
	      SAME_PLACE(wait_thread_slot));
#undef SAME_PLACE
#undef STATES_ASSERT

#endif /* EXTPROF_STATES_H */
