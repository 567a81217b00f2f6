/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads and fibers of a dump that are the same but for their names and times: they are shown together. */
#ifndef EXTPROF_CLI_DUMP_GROUPS_H
#define EXTPROF_CLI_DUMP_GROUPS_H

#include <stdint.h>

#include "extprof.h"

struct dump_groups {
	uint32_t *count;	/* of the first of its kind: how many there are; of the others 0 */
	uint32_t *next;		/* the next one that is the same; 0: it is the last */
};

/* Group all threads.  `again`: tell those that have moved from those that have not.  0 or -ENOMEM. */
int dump_groups__of_threads(struct dump_groups *g, const struct extprof_dump_result *r, bool again);
/* Group all fibers of a thread. */
int dump_groups__of_fibers(struct dump_groups *g, const struct extprof_dump_thread *t, bool again);
/* Leave each one alone in its group. */
int dump_groups__of_none(struct dump_groups *g, size_t count);
void dump_groups__free(struct dump_groups *g);

#endif /* EXTPROF_CLI_DUMP_GROUPS_H */
