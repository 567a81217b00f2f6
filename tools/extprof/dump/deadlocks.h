/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that wait for one another in a circle. */
#ifndef EXTPROF_DEADLOCKS_H
#define EXTPROF_DEADLOCKS_H

#include "extprof.h"

/*
 * Set `deadlocked` and `deadlock` of each thread that is in such a circle.  The threads are sorted by serial, have all but this,
 * and it is false.  A wait of which it is not known now whom it is for, or that ends by itself, is none.
 * 0 or -ENOMEM.
 */
int deadlocks__find(struct extprof_dump_thread *const *threads, size_t count);

#endif /* EXTPROF_DEADLOCKS_H */
