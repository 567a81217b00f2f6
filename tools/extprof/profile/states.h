/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states of threads over time: the account of each thread, and stacks that wait for their length.  The source
 * `sched` sends the stack of a thread that loses its CPU outside of a system call at once, and its length when the
 * thread goes on.
 */
#ifndef EXTPROF_PROFILE_STATES_H
#define EXTPROF_PROFILE_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "profile/holders.h"
#include "profile/resolve.h"
#include "profile/thread_rows.h"
#include "wire/wait_details.h"
#include "wire/states.h"

/* Bound of the table; the accounts of others are added up in one row. */
#define STATES_THREADS_MAX (64u << 10)

/* Amounts that a live thread's account had when the profile began anew. */
struct account_base {
	uint32_t process, tid;
	uint64_t thread;	/* if tid is 0 */
	uint64_t until, life;	/* CLOCK_MONOTONIC, ns; ns */
	uint64_t time[STATE_ROOM], waits[STATE_ROOM];
};

/* Zero-initialise. */
struct states {
	struct thread_row *rows;
	uint32_t count;
	size_t room;
	struct thread_account others;	/* sums of those that found no room; until - first: their lives */
	uint32_t other_count;
	uint64_t lost;		/* accounts that were lost, see session_losses::threads */
	/* Accounts are shown without what is here. */
	struct account_base *bases;
	uint32_t base_count;
	struct map64 base_map;	/* hash of process and tid, or serial of the thread -> number in bases */
	/* Rows that are not ended: hashes of process and tid, and of process and serial -> number of the row. */
	struct map64 living;
	uint64_t moved;		/* ns that lives were moved by since then */
	/* Hash of process and tid: native threads that several Ruby threads share.  Their accounts come from looks. */
	struct map64 shared;
	/* Stacks that wait, by process and tid. */
	struct waiting_stack {
		struct sample_event *event;	/* with its frames; NULL: a free place */
		size_t size;
	} *stacks;
	uint32_t stack_count;
	size_t stack_room;
	struct map64 stack_map;		/* hash of process and tid -> place */
	/* By CPU: what was told last of a wait.  The samples of the wait follow from the same CPU. */
	struct wait_details *all_details;
	uint32_t details_count;
	size_t details_room;
	struct holders holders;		/* who had which GVL when */
	struct sample_event *second;	/* for the second sample of an event, with its frames */
	size_t second_room;		/* bytes */
};

void states__free(struct states *s);
/* A copy of the accounts for a report.  0 or -ENOMEM. */
int states__copy_rows(const struct states *s, struct thread_rows *to);

/* Take one event from the ring buffer, of any source. */
void states__event(struct states *s, struct resolver *c, const void *data, size_t size);

/* The same for an event that there was no time to look at. */
void states__skip(struct states *s, struct resolver *c, const void *data, size_t size);

/* The account of a thread: of one that has ended, or of one that lives when the recording ends.  0 or -ENOMEM. */
int states__add_account(struct states *s, struct resolver *c, const struct thread_account *account, bool ended);
/* That native thread is shared by Ruby threads: only accounts with SAMPLE_SHARED count.  0 or -ENOMEM. */
int states__share(struct states *s, uint32_t process, uint32_t tid);
bool states__is_shared(const struct states *s, uint32_t process, uint32_t tid);
/*
 * After the accounts of all that live were added: who has none any more has ended, and nobody has told so.  An account that
 * is added from now on takes the place of what the same thread has.
 */
void states__settle(struct states *s);
/* The beginnings of all lives have been moved by the length of a pause, ns. */
void states__moved(struct states *s, uint64_t ns);
/* The profile begins anew: accounts that are added from now on are shown without what they have now.  0 or -ENOMEM:
 * nothing has changed. */
int states__restart(struct states *s);
/* Give the threads of the VM the names that are known now, before a report and before the VM is closed.  0 or
 * -ENOMEM. */
int states__name_threads(struct states *s, const struct vm *vm);

/* The recording ends at `now`, CLOCK_MONOTONIC, ns: that is the end of the wait of a stack that waits, too. */
void states__end_wait(struct states *s, struct resolver *c, const struct sched_thread *thread, uint64_t now);
/* After that: stacks of which nothing is known are lost. */
void states__end(struct states *s, struct resolver *c);

#endif /* EXTPROF_PROFILE_STATES_H */
