/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trigger stuck>TIME of extprof daemon: a process has work and does nothing.  A thread of its own looks at the processes
 * that are recorded, and keeps a dump of one that is stuck beside the recordings.
 */
#ifndef EXTPROF_DAEMON_STUCK_H
#define EXTPROF_DAEMON_STUCK_H

#include <stdint.h>

#include "cli/options.h"
#include "daemon/folder.h"

#define STUCK_LEAST 1000000000ull
#define STUCK_MOST (24 * 3600 * 1000000000ull)

/* ns of "stuck>30s".  0, or -EINVAL: it is another trigger, or no time from a second to a day. */
int daemon_stuck__parse(const char *text, uint64_t *length);

struct daemon_stuck;

/*
 * Begin to look.  *stuck NULL: no such trigger is set, and nothing is done.  The folder outlives it.  `keep_for`: so old, s,
 * a dump may become.  0 or -errno with *e.
 */
int daemon_stuck__begin(struct daemon_stuck **stuck, const struct options *o, const struct folder *folder, uint64_t keep_for,
			struct extprof_error *e);
/*
 * To be called each second: the processes that are recorded are taken over, and what was found is told and recorded.  Returns
 * how many triggers of the recording have fired by that.
 */
unsigned int daemon_stuck__step(struct daemon_stuck *stuck, struct extprof_recording *recording);
/* NULL is fine. */
void daemon_stuck__end(struct daemon_stuck *stuck);

#endif /* EXTPROF_DAEMON_STUCK_H */
