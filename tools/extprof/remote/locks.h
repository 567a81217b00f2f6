/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has the mutexes that threads wait for.
 *
 * The interface tells whose a mutex was when the wait began.  With two waiters that is wrong after the first unlock.
 * The mutex itself has the address of the fiber that has it now, and those of all fibers are known.  So no
 * layout of a Mutex is needed: the word of it that is the address of a fiber is that of its owner.
 */
#ifndef EXTPROF_LOCKS_H
#define EXTPROF_LOCKS_H

#include "remote/snapshot.h"

/*
 * Set `lock` and `lock_owner` of each thread that waits for a mutex.  Of a process that runs, only of those that
 * have waited from the read of their stack until all owners were read: what is set is of one moment.
 * 0, -ENOMEM or -errno of reading the memory.
 */
int locks__read(struct snapshot *s, const struct snapshot_source *source);

#endif /* EXTPROF_LOCKS_H */
