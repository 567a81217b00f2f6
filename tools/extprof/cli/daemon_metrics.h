/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of extprof daemon that Prometheus reads. */
#ifndef EXTPROF_CLI_DAEMON_METRICS_H
#define EXTPROF_CLI_DAEMON_METRICS_H

#include "cli/options.h"
#include "daemon/metrics.h"
#include "extprof.h"

struct output_owner;

/* Zero-initialise. */
struct daemon_metrics {
	const char *path, *key;	/* the caller's; path NULL: there is no file */
	struct metrics *metrics;
	const char *states[METRICS_STATES_MAX], *mode_of_states;
	bool failed;		/* it could not be written last time */
};

/* Take what the options say.  Counters go on if it is the same file and label as before.  0 or -errno. */
int daemon_metrics__begin(struct daemon_metrics *m, const struct options *o, struct extprof_error *e);
/* Count what is recorded, before it begins.  0 or -errno. */
int daemon_metrics__watch(struct daemon_metrics *m, struct extprof_recording *recording, struct extprof_error *e);
/* Write the file.  If that fails a message says so, once, and the recording goes on. */
void daemon_metrics__write(struct daemon_metrics *m, const struct metrics_facts *facts, const struct output_owner *owner);
void daemon_metrics__free(struct daemon_metrics *m);

#endif /* EXTPROF_CLI_DAEMON_METRICS_H */
