/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF program, its timers and its ring buffer. */
#ifndef EXTPROF_SESSION_H
#define EXTPROF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "wire/sample.h"
#include "source/timer.h"

/* The kernel's cpu-clock does not go below 10 us. */
#define SESSION_RATE_MAX 100000u

struct session;

struct session_options {
	size_t size;		/* of this structure */
	uint32_t rate;		/* samples per second and CPU */
	enum timer_kind timer;
};

/* Load the program, open our timers; nothing runs yet. */
int session__open(struct session **session, const struct session_options *options, struct diag *d);
void session__close(struct session *session);

int session__add_target(struct session *session, const struct target_key *key,
			const struct target_config *config, struct diag *d);
int session__start(struct session *session, struct diag *d);
/* After this no more samples are taken; those that wait can be drained. */
void session__stop(struct session *session);

/* Sample CPUs that have come online too; to be called now and then while it runs. */
void session__follow_cpus(struct session *session);

/* Readable when many samples wait. */
int session__fd(const struct session *session);

/* Returns whether to go on with the next one. */
typedef bool (*session_callback)(void *context, const void *data, size_t size);

/* Hand the waiting samples to the callback, also those that come meanwhile.  How
 * many, or -errno; -ECANCELED: the callback wanted no more. */
int session__drain(struct session *session, session_callback callback, void *context);

/* The sums over all CPUs. */
void session__counters(const struct session *session, struct source_counters *total);

uint32_t session__cpus(const struct session *session);
/* CPUs that came online and could not be sampled. */
uint32_t session__unsampled(const struct session *session);
uint64_t session__period(const struct session *session);	/* ns */

#endif /* EXTPROF_SESSION_H */
