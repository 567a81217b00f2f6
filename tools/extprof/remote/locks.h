/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the owners of the mutexes that threads wait for.
 *
 * The interface tells whose a mutex was when the wait began.  With two waiters that is wrong after the first unlock.
 * The mutex itself contains the address of the fiber that has it now, and the addresses of all fibers are known.  So no
 * layout of a Mutex is needed: a word of the mutex that is the address of a fiber names the owner.
 */
#ifndef EXTPROF_LOCKS_H
#define EXTPROF_LOCKS_H

#include "remote/snapshot.h"

/*
 * Set `lock` and `lock_owner` of each thread that waits for a mutex.  In a process that runs, only threads count that
 * have waited from the read of their stack until all owners were read.  So the results are of one moment.  0, -ENOMEM
 * or -errno of reading the memory.
 */
int locks__read(struct snapshot *s, const struct snapshot_source *source);

#endif /* EXTPROF_LOCKS_H */
