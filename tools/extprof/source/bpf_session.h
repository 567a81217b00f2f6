/* SPDX-License-Identifier: BSD-2-Clause */
/* A session of BPF programs: loaded as one object, with the rings that they send by and the processes that they
 * follow. */
#ifndef EXTPROF_BPF_SESSION_H
#define EXTPROF_BPF_SESSION_H

#include "source/session.h"

/* Load the programs and follow processes from now on; nothing is sampled yet.  -errno with a
 * diagnosis.  It may set libbpf's log callback for the moment. */
int bpf_session__open(struct session **session, const struct session_options *options, struct diag *d);

#endif /* EXTPROF_BPF_SESSION_H */
