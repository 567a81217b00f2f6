/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Details of a wait besides its state: its file, the holder of the lock that the thread waited for, and who ended the
 * wait.  They are recorded only if the user asks for them, see source_options::about. */
#ifndef EXTPROF_WAIT_DETAILS_H
#define EXTPROF_WAIT_DETAILS_H

#include "wire/sample.h"

/* The details that are wanted, a mask. */
#define WAIT_DETAIL_FILE 1u
#define WAIT_DETAIL_HOLDER 2u
#define WAIT_DETAIL_WAKER 4u

/* The same size as in sockaddr_un.  A shorter path ends with a 0. */
#define WAIT_DETAIL_PATH_SIZE 108u

/* The families of addresses that are told, as in <sys/socket.h>. */
#define WAIT_DETAIL_UNIX 1u
#define WAIT_DETAIL_INET 2u
#define WAIT_DETAIL_INET6 10u

/* An open file, as it was when the wait began. */
struct wait_file {
	uint32_t fd;		/* file descriptor + 1, 0: the wait is on none, or on several */
	uint32_t kind;		/* enum file_kind */
	uint64_t inode;
	uint32_t device;	/* of the inode, as the kernel has it: major << 20 | minor */
	/* For a socket: 0 unknown, or the family of its addresses. */
	uint16_t family;
	uint16_t port, peer_port;
	uint16_t reserved16;
	uint8_t address[16], peer[16];	/* 4 bytes of INET; in the order of the network */
	uint32_t path_size;		/* UNIX: bytes of `path` that are known */
	char path[WAIT_DETAIL_PATH_SIZE];	/* UNIX: of the peer, or its own if that has none; begins with 0 if it is abstract */
};

/* wait_peer::kind */
enum peer_kind {
	PEER_UNKNOWN = 0,
	PEER_THREAD = 1,	/* of a process that is followed; `thread` 0: no Ruby thread */
	/* Only for the one that ended a wait: */
	PEER_TASK = 2,		/* a native thread of a process that is followed, or another process */
	PEER_INTERRUPT = 3,	/* of a device, the network or another CPU */
	PEER_TIMER = 4,		/* the time was over that it was to wait for at most */
	PEER_NOBODY = 5,	/* the wait is not over */
};

/* The innermost frames of Ruby code that are noted: if the first one is a part of Ruby itself, the next one is of who
 * called it. */
#define PEER_CALLERS 2u

struct peer_frame {
	uint32_t id;		/* record; 0: there is none */
	uint32_t flags;		/* FRAME_JIT_RETURN, of the innermost frame */
	uint64_t pc;
};

/* Another thread that has to do with the wait, as it was at that moment. */
struct wait_peer {
	uint64_t seq;		/* the waiting thread's state_seq at that moment */
	uint64_t thread;	/* serial of the Ruby thread */
	uint32_t slot;		/* its index in the table of threads */
	uint32_t id;		/* record of its innermost method then, in C or in Ruby; 0 unknown */
	struct peer_frame ruby[PEER_CALLERS];	/* that method, or what called it; innermost first */
	uint32_t kind;		/* enum peer_kind */
	uint32_t vm, process;	/* as in sample_event */
	uint32_t tid;		/* in its own pid namespace; of another process its pid as the reader sees it, 0: it does not */
	char comm[TASK_COMM_SIZE];	/* of PEER_TASK */
};

/* A thread: the number of its process, and its tid in its own pid namespace. */
struct details_key {
	uint32_t process, tid;
};

/*
 * Sent before the samples of the wait, from the same CPU.  Those have SAMPLE_HAS_DETAILS.
 */
struct wait_details {
	struct sample_event e;	/* kind SAMPLE_DETAILS */
	struct wait_file file;
	struct wait_peer holder;	/* of the Mutex, or who is joined; when the wait began */
	struct wait_peer gvl_holder;	/* who had it when the thread became ready */
	uint64_t gvl_from, gvl_to;	/* it waited for the GVL at the end of that time; CLOCK_MONOTONIC, ns; gvl_to 0: it did not */
	/*
	 * The peers that ended the wait.  If the thread waited for the GVL afterwards, `waker` made it ready, and
	 * `gvl_waker` had it go on; else both are the same.  Until the wait is over, `gvl_waker` is the last peer that
	 * woke it up in the kernel.
	 */
	struct wait_peer waker, gvl_waker;
	/* The waiting thread itself: the address of its slot in the table of threads, and its serial there; 0 unknown. */
	uint64_t slot, serial;
	uint32_t slot_number, ractor;
};

/* The ractor whose GVL a thread of that process holds.  1: the main one. */
struct gvl_key {
	uint32_t process, ractor;
};

/* The reason of a look at the thread that has a GVL. */
enum hold_look {
	LOOK_CLOCK = 1,		/* a timer: any moment of its work */
	LOOK_LEAVES = 2,	/* it leaves its CPU, and may come back with the GVL */
	LOOK_TURN = 3,		/* it has got the GVL, or makes another thread ready: that says little of its work */
	LOOK_OTHER = 4,		/* another thread has become ready, which may be at any moment of its work */
};

/* ns.  Who has had the GVL for less time is not told, unless the timer has seen it: threads may hand it on 50,000 times a
 * second.  Of waits that are shorter it is told who had the GVL when they began. */
#define HOLD_SHORT 200000ull

/* The last look at a GVL. */
struct gvl_watch {
	uint64_t number;	/* of looks that were to be sent */
	uint64_t time, ip;
	uint32_t look;		/* enum hold_look; 0: there was none */
	uint32_t waits;		/* it is to be sent as soon as it has lasted long enough */
	uint32_t users;		/* programs that are at it */
	uint32_t reserved;
	struct wait_peer peer;
};

/* Sent for looks at who has a GVL, and where it is then.  Looks that say the same one after the other are one. */
struct hold_event {
	/* kind SAMPLE_HOLD; `detail` is gvl_watch::number, `extra` the ractor, `state` enum hold_look, `ip` that of the holder */
	struct sample_event e;
	struct wait_peer peer;
};

/* Do the notes belong to the wait of which Ruby says `state` and `state_seq` now? */
static inline __attribute__((always_inline)) int details__has_holder(const struct wait_details *a, uint64_t serial,
								    uint32_t state, uint64_t seq)
{
	uint64_t since = seq - a->holder.seq;

	/* Noted when it began to sleep; it can have become ready since, which a thread can tell twice. */
	if (!a->holder.kind || !a->holder.seq || a->serial != serial)
		return 0;
	return state == RB_DEBUG_EXT_THREAD_READY ? since == 1 || since == 2 : !since;
}

static inline __attribute__((always_inline)) int details__has_gvl_holder(const struct wait_details *a, uint64_t serial,
									uint32_t state, uint64_t seq)
{
	return a->gvl_holder.kind && a->gvl_holder.seq && a->serial == serial && state == RB_DEBUG_EXT_THREAD_READY &&
	       seq - a->gvl_holder.seq <= 1;
}

/* Was it `waker` who made the thread ready? */
static inline __attribute__((always_inline)) int details__has_waker(const struct wait_details *a, uint64_t serial,
								   uint32_t state, uint64_t seq)
{
	return a->waker.kind && a->waker.seq && a->serial == serial && state == RB_DEBUG_EXT_THREAD_READY &&
	       seq - a->waker.seq <= 1;
}

typedef char details_assert_file[sizeof(struct wait_file) == 176 ? 1 : -1];

#endif /* EXTPROF_WAIT_DETAILS_H */
