/* SPDX-License-Identifier: BSD-2-Clause */
/* Which version of the code ran: what the processes of a profile say of their commit and of their deployment. */
#ifndef EXTPROF_REPORT_VERSION_H
#define EXTPROF_REPORT_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"

/* One of them, over time.  Zero-initialise. */
struct version_span {
	char first[136], last[136];	/* clean; "": unknown */
	uint64_t first_at, last_at;	/* when the process of each began to be followed, ns since 1970 */
	bool several;			/* there were others than `first` */
};

struct report_version {
	struct version_span commit, deployment;
};

/* Add a process: `resource` is its list, see base/attributes.h; NULL: nothing is known. */
void report_version__add(struct report_version *v, const char *resource, uint64_t at);
/* Add those of another profile. */
void report_version__join(struct report_version *v, const struct report_version *of);
/* "commit 0123456789ab; deployment v42"; of several the first and the last one.  Nothing if nothing is known. */
void report_version__add_text(const struct report_version *v, struct text *to);
/* {"commit": ..., "last_commit": ..., "several_commits": ..., "deployment": ..., "last_deployment": ...,
 * "several_deployments": ...}, whole; null: nothing is known. */
json_t *report_version__json(const struct report_version *v);
/* "0123456789ab", "0123456789ab..fedcba987654"; "" is unknown. */
void version_span__add_text(const struct version_span *s, struct text *to);

#endif /* EXTPROF_REPORT_VERSION_H */
