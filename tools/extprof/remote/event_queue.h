/* SPDX-License-Identifier: BSD-2-Clause */
/* Events on their way from the thread that makes them to the one that takes them, as a ring buffer of BPF has them. */
#ifndef EXTPROF_EVENT_QUEUE_H
#define EXTPROF_EVENT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/sample.h"

struct event_queue {
	pthread_mutex_t lock;
	char *data;		/* of `size` bytes, from `begin`: a size_t and the event, and so on */
	size_t begin, end, room, max;
	uint32_t refused;	/* events that found no room */
};

/* `max`: bytes at most. */
void event_queue__init(struct event_queue *q, size_t max);
void event_queue__free(struct event_queue *q);

/* 0, or -ENOSPC: there is no room, and the event is counted as refused. */
int event_queue__put(struct event_queue *q, const void *event, size_t size);

/* A sample with its frames, in bytes. */
static inline size_t event_queue__sample_size(const struct sample_event *e)
{
	const struct sample_machine *m = sample__machine(e);

	return sizeof(*e) + e->nr_frames * sizeof(struct sample_frame) +
	       (m ? SAMPLE_MACHINE_HEAD + (m->nr_kernel + m->nr_native) * sizeof(m->address[0]) : 0);
}

/* Put a sample, and count it: as whole, as truncated, or as lost if there is no room. */
void event_queue__put_sample(struct event_queue *q, const struct sample_event *e, struct source_counters *counters);

/*
 * Hand the events to the callback, until there is none or the callback wants no more.  How many, or -ECANCELED.
 * The callback may call this function again, and others may put meanwhile.
 */
int event_queue__drain(struct event_queue *q, bool (*callback)(void *context, const void *data, size_t size),
		       void *context);

#endif /* EXTPROF_EVENT_QUEUE_H */
