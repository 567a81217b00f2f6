/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session without BPF: a thread of this process looks at the processes at the rate, and reads their memory.  The
 * right to read the memory is enough for that: the same user, or CAP_SYS_PTRACE.
 */
#ifndef EXTPROF_REMOTE_SESSION_H
#define EXTPROF_REMOTE_SESSION_H

#include "source/session.h"

/* The most looks a second. */
#define REMOTE_RATE_MAX 10000u

/* The sources that it has, a mask of 1u << enum sample_source. */
#define REMOTE_SOURCES (1u << SOURCE_CPU | 1u << SOURCE_SCHED)

/*
 * Follow processes from now on; nothing is sampled yet.  `stop`: stop each thread that has a CPU while its stack
 * is read.  Sources that it does not have are left out.  0 or -errno with a diagnosis.
 */
int remote_session__open(struct session **session, const struct session_options *options, bool stop, struct diag *d);

#endif /* EXTPROF_REMOTE_SESSION_H */
