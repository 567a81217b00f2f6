/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose turn it is: how much of the time of a step goes to each process and to each user, and what waits for more.
 *
 * A process can make its stacks slow to resolve.  So each process, and all processes of one user, have a
 * share of the time of a step.  Samples beyond it are put aside, those of the other processes are taken, and what waits
 * comes after them, first that of whoever has had least.  Memory for what waits is shared in the same way (base/budget.h).
 */
#ifndef EXTPROF_ASIDE_H
#define EXTPROF_ASIDE_H

#include "base/budget.h"
#include "profile/resolve.h"
#include "ruby/vm.h"

struct aside_queue;

/* Zeros, but for the budget. */
struct aside {
	bool open;		/* samples may be put aside */
	uint64_t turn;		/* which one it is */
	bool ends;		/* it is one of those at the end */
	uint32_t user_count;
	struct aside_user {
		uint32_t user;
		uint64_t turn, spent, at_end;
	} users[BUDGET_USERS_MAX];	/* more users share the last place */
	struct aside_queue **queues;
	uint32_t count;
	size_t room;
	struct budget budget;	/* bytes */
};

void aside__init(struct aside *a);
void aside__free(struct aside *a);

/* Another turn: all have time again. */
void aside__begin_turn(struct aside *a);
/* From now on the turns are those at the end, with a bound of them all. */
void aside__begin_end(struct aside *a, struct vm *const *vms, uint32_t count);
void aside__end_end(struct aside *a);

/* Have the VM and its user time left in this turn? */
bool aside__has_time(struct aside *a, const struct vm *vm);
/* Had they all the time that they may have at the end? */
bool aside__has_had_all(struct aside *a, const struct vm *vm);
/* ns that their user may still have at the end, or the VM if that is less. */
uint64_t aside__left_at_end(struct aside *a, const struct vm *vm);
/* A number for the user, below BUDGET_USERS_MAX, that stays the same. */
uint32_t aside__place_of(struct aside *a, const struct vm *vm);
void aside__spend(struct aside *a, struct vm *vm, uint64_t ns);

/* For the resolver: is the sample to be resolved now?  Else it is put aside, if there is room. */
enum resolve_turn aside__turn(struct aside *a, struct vm *vm, const struct sample_event *e, size_t size,
			      const struct wait_details *details);

/* Resolve what waits, until that moment (CLOCK_MONOTONIC, ns), as far as its turn has come. */
void aside__serve(struct aside *a, struct resolver *c, uint64_t until);
/* Does a sample of the process wait?  By target_config::process. */
bool aside__has_samples_of(const struct aside *a, uint32_t process);
/* Count all that waits as not read. */
void aside__skip(struct aside *a, struct resolver *c);

#endif /* EXTPROF_ASIDE_H */
