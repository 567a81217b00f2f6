/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that a reader without BPF follows.  Their changes are found by looking: at a pidfd that tells of the
 * end, at the memory, which goes with an exec, and at new pids for children.
 */
#ifndef EXTPROF_FOLLOWED_H
#define EXTPROF_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include "process/address_space.h"
#include "remote/event_queue.h"
#include "remote/watch.h"
#include "wire/lifecycle.h"

struct followed {
	uint32_t number;		/* target_config::process */
	struct target_key key;
	pid_t pid;			/* as seen from here */
	int pidfd;			/* -1: it has ended, or is not followed any more */
	uint32_t flags;			/* TARGET_WATCHED: only children and its end are of interest */
	struct address_space *space;	/* that it runs in: gone after exec; NULL: may not be opened */
	struct watch *watch;		/* NULL: it is not sampled */
	struct parked *parked;		/* its parked fibers; NULL: they are not looked at */
	uint64_t since;			/* it is followed; CLOCK_BOOTTIME, ns */
	uint64_t cpu_time;		/* that was seen last, ns */
};

struct followed_set {
	struct followed **list;
	uint32_t count;
	size_t room;
	int epoll_fd;			/* with the pidfds */
	struct event_queue *events;	/* where struct process_event goes */
	struct watcher *watcher;
	uint32_t (*new_number)(void *context);
	void *context;
	bool follow_children;		/* they are sampled; else only watched */
	bool tell_all;			/* tell of each new process of the machine */
	pid_t last_pid;			/* the newest one that was looked at */
	int loadavg;			/* open: it tells of the newest pid */
};

/* 0 or -errno.  The rest of *s is set by the caller. */
int followed__init(struct followed_set *s);
void followed__free(struct followed_set *s);

/* 0; -EEXIST: it is followed; -ESRCH, -ENOMEM. */
int followed__add(struct followed_set *s, const struct target_key *key, pid_t pid, uint32_t number, uint32_t flags);
struct followed *followed__find(const struct followed_set *s, const struct target_key *key);
struct followed *followed__by_number(const struct followed_set *s, uint32_t number);
/* It is not followed any more; its counters stay. */
void followed__leave(struct followed_set *s, struct followed *f);
/* With its counters. */
void followed__forget(struct followed_set *s, struct followed *f);

/* Stop sampling it. */
void followed__unwatch(struct followed_set *s, struct followed *f);

/* Processes that have ended, as epoll_fd has become readable. */
void followed__take_ends(struct followed_set *s);
/* Look for execs and new children. */
void followed__look(struct followed_set *s);

#endif /* EXTPROF_FOLLOWED_H */
