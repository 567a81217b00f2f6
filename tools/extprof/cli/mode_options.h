/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that belong to single modes. */
#ifndef EXTPROF_MODE_OPTIONS_H
#define EXTPROF_MODE_OPTIONS_H

#include <argp.h>

#include "cli/options.h"

enum {
	OPTION_SYSCALL = 0x200,
	OPTION_LATENCY,
	OPTION_STATE,
	OPTION_WAITS,
	OPTION_FD,
	OPTION_HOLDER,
	OPTION_WAKER,
};

/* As a parser of argp: ARGP_ERR_UNKNOWN if the option is none of these. */
error_t mode_options__parse(struct options *o, int key, char *arg, struct argp_state *state);

/* All options are known: choose the modes that they imply, and check that they belong to the modes. */
error_t mode_options__finish(struct options *o, struct argp_state *state);

#endif /* EXTPROF_MODE_OPTIONS_H */
