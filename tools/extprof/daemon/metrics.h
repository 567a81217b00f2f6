/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of what rubies have used, in the text format of Prometheus: for each kind of process, and for each value of one
 * label if one is chosen.  Processes whose names differ in numbers are of one kind.  The number of counters is bounded: values
 * that come later are counted as "(other)".
 */
#ifndef EXTPROF_DAEMON_METRICS_H
#define EXTPROF_DAEMON_METRICS_H

#include <stdint.h>
#include <stdio.h>

#define METRICS_PROCESSES_MAX 128u
/* Values of one kind of process. */
#define METRICS_VALUES_MAX 256u
/* Values of all kinds: each has a line for each counter and state. */
#define METRICS_SERIES_MAX 1024u
/* Values for which there is no room, and a value that could not be read. */
#define METRICS_OTHER "(other)"
#define METRICS_UNKNOWN "(unknown)"
#define METRICS_STATES_MAX 32u
/* Bytes of a name or of a value of a label; the rest is cut. */
#define METRICS_TEXT_MAX 128u

enum metrics_counter { METRIC_CPU, METRIC_GC, METRIC_ALLOC, METRICS };

struct metrics;

/* Something that the rest of extprof knows of the daemon. */
struct metrics_facts {
	double cpu_time;	/* s, of extprof itself */
	uint32_t rate;		/* samples a second */
	uint32_t processes;	/* that are sampled now */
	uint64_t samples, lost;
	uint64_t triggers;	/* that fired */
	uint64_t files, bytes;	/* of its folder */
};

/* `key`: of the label; NULL: none.  NULL: out of memory. */
struct metrics *metrics__create(const char *key);
/* NULL is fine. */
void metrics__destroy(struct metrics *m);

/* Add ns or bytes.  `value` of the label; NULL: the process has not set it.  0 or -ENOMEM. */
int metrics__add(struct metrics *m, const char *process, const char *value, enum metrics_counter what, uint64_t amount);
/* Add samples that were lost.  0 or -ENOMEM. */
int metrics__add_lost(struct metrics *m, const char *process, uint64_t count);
/* Add ns of threads in a state, which has a number below METRICS_STATES_MAX. */
int metrics__add_state(struct metrics *m, const char *process, const char *value, unsigned int state, uint64_t ns);

/* Write all.  `states`: their names by number; NULL: there is none.  The caller looks for errors of the stream. */
void metrics__write(const struct metrics *m, const struct metrics_facts *facts, const char *const *states, FILE *to);

#endif /* EXTPROF_DAEMON_METRICS_H */
