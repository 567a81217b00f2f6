/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof top --at: the screen as it was at a moment of the history. */
#ifndef EXTPROF_TOP_AT_H
#define EXTPROF_TOP_AT_H

#include "cli/top.h"

/* The exit status; a message was printed. */
int top_at__run(const struct top_options *options);

#endif /* EXTPROF_TOP_AT_H */
