/* SPDX-License-Identifier: BSD-2-Clause */
/* The budget of extprof daemon: if it costs more, it takes fewer samples in the next file. */
#ifndef EXTPROF_CLI_DAEMON_COST_H
#define EXTPROF_CLI_DAEMON_COST_H

#include <stdint.h>

#include "cli/options.h"
#include "daemon/own_cost.h"
#include "extprof.h"

/* daemon_cost__begin() fills it.  There is nothing to free. */
struct daemon_cost {
	struct own_cost cost;	/* with the budget, and the rate that fits it */
	uint64_t asked;		/* files that were begun when another one was asked for; UINT64_MAX: none was */
};

/* CPU time of this process, s. */
double daemon_cost__cpu_time(void);
/* A recording with these options begins. */
void daemon_cost__begin(struct daemon_cost *c, const struct options *o);
/*
 * To be called often.  If the rate is to be another one, tell it and ask the recording for a file with that rate.  `made`: files
 * that the recording has begun.  0, or -errno with *e.
 */
int daemon_cost__watch(struct daemon_cost *c, struct extprof_recording *recording, uint64_t made, struct extprof_error *e);

#endif /* EXTPROF_CLI_DAEMON_COST_H */
