/* SPDX-License-Identifier: BSD-2-Clause */
/* The account of each thread: how long it was in each state. */
#ifndef EXTPROF_THREAD_ROWS_H
#define EXTPROF_THREAD_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/states.h"

struct thread_row {
	struct thread_account account;
	char *name;		/* clean; NULL not known */
	int pid;		/* of its process, as extprof's pid namespace has it; 0 not known, or of several */
	const char *host;	/* as in struct process_row */
	bool ended;
	bool based;		/* what states::bases has of it is taken away */
	bool old;		/* a later account of it takes its place */
};

/* Zero-initialise. */
struct thread_rows {
	struct thread_row *rows;
	uint32_t count;
	size_t room;
	struct thread_account others;	/* sums of those that found no room; until - first: their lives */
	uint32_t other_count;
	uint64_t lost;		/* accounts that were lost, see session_losses::threads */
};

/* A copy that shares nothing with it.  0 or -ENOMEM: *to is empty. */
int thread_rows__copy(struct thread_rows *to, const struct thread_rows *from);
void thread_rows__free(struct thread_rows *r);

#endif /* EXTPROF_THREAD_ROWS_H */
