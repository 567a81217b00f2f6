/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a native thread of another process had a CPU, from what the kernel counts of it.  Each time that it gets a CPU
 * is a turn.  It has a CPU at this moment if it got one once more often than it lost one.
 */
#ifndef EXTPROF_TURNS_H
#define EXTPROF_TURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "remote/task.h"

struct turns {
	uint64_t got;		/* how often it got a CPU */
	uint64_t lost;		/* how often it lost one ... */
	uint64_t voluntary;	/* ... since it had to wait for something, of these */
	uint64_t runtime;	/* ns on a CPU; of one that runs it can be too small by a tick of the scheduler */
	uint64_t delay;		/* ns that it waited for a CPU, up to its last turn */
	char state;		/* of /proc: R, S, D, T, t, ... */
	bool on_cpu;
};

/*
 * Read all of that as of one moment.  `fd` is its open schedstat, or -1; *again: what was read of the thread before,
 * or NULL: if it had no CPU and has got none since, only the numbers are compared.  0 or -errno: -ESRCH it has
 * ended, -ENOTSUP this kernel does not count, -EAGAIN it got or lost a CPU during each try.
 */
int turns__read(const struct tasks *t, pid_t tid, int fd, const struct turns *again, struct turns *turns);

/* Open its schedstat, so that the next reads are cheap.  -1: it cannot be opened. */
int turns__open(const struct tasks *t, pid_t tid);

/* Only the number of times that it blocked.  0 or -errno. */
int turns__voluntary(const struct tasks *t, pid_t tid, uint64_t *voluntary);

#endif /* EXTPROF_TURNS_H */
