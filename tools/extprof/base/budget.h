/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is kept of all processes, and who has how much of it.  Time is shared in the same way.
 *
 * The shares of one user may grow as long as they are together no larger than what is still free, and one share as long
 * as it is no larger than what its user may still take.  So the processes of one user take half of all at most, and one
 * process takes half of that.  Whoever comes later finds room, also another process of the same user.
 */
#ifndef EXTPROF_BUDGET_H
#define EXTPROF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_USERS_MAX 64u

struct budget {
	uint64_t max, used;	/* bytes, or ns; max 0: no bound */
	uint32_t user_count;
	struct budget_user {
		uint32_t user;
		uint64_t used;
	} users[BUDGET_USERS_MAX];	/* more users share the last place */
};

struct budget_share {
	struct budget *of;	/* NULL: no bounds */
	uint32_t user;
	uint64_t used;
};

/* NULL is a share without bounds. */

/* May the share take so many bytes? */
bool budget__has(const struct budget_share *s, uint64_t bytes);
/* Take them if it may. */
bool budget__take(struct budget_share *s, uint64_t bytes);
/* How many it may take; UINT64_MAX: there is no bound. */
uint64_t budget__left(const struct budget_share *s);
/* They are in use already, or (less than 0) no longer. */
void budget__add(struct budget_share *s, int64_t bytes);

#endif /* EXTPROF_BUDGET_H */
