/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/event_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN (64u << 10)
#define ALIGNED(size) (((size) + 7) & ~(size_t)7)

void event_queue__init(struct event_queue *q, size_t max)
{
	memset(q, 0, sizeof(*q));
	pthread_mutex_init(&q->lock, NULL);
	q->max = max;
}

void event_queue__free(struct event_queue *q)
{
	free(q->data);
	q->data = NULL;
	pthread_mutex_destroy(&q->lock);
}

/* Room for so many bytes behind the last event.  0; -ENOSPC: there is no memory. */
static int reserve(struct event_queue *q, size_t size)
{
	size_t room = q->room ? q->room : ROOM_MIN;
	char *data;

	if (q->begin) {
		memmove(q->data, q->data + q->begin, q->end - q->begin);
		q->end -= q->begin;
		q->begin = 0;
	}
	while (room < q->end + size)
		room *= 2;
	if (room == q->room)
		return 0;
	data = realloc(q->data, room);
	if (!data)
		return -ENOSPC;
	q->data = data;
	q->room = room;
	return 0;
}

int event_queue__put(struct event_queue *q, const void *event, size_t size)
{
	size_t bytes = sizeof(size) + ALIGNED(size);
	int err = 0;

	pthread_mutex_lock(&q->lock);
	if (q->end - q->begin + bytes > q->max)
		err = -ENOSPC;
	else if (q->end + bytes > q->room)
		err = reserve(q, bytes);
	if (err) {
		q->refused++;
	} else {
		memcpy(q->data + q->end, &size, sizeof(size));
		memcpy(q->data + q->end + sizeof(size), event, size);
		q->end += bytes;
	}
	pthread_mutex_unlock(&q->lock);
	return err;
}

/* Take the first event out.  The caller frees it; NULL: there is none, or no memory for it now. */
static void *take(struct event_queue *q, size_t *size)
{
	void *event = NULL;

	pthread_mutex_lock(&q->lock);
	if (q->begin < q->end) {
		memcpy(size, q->data + q->begin, sizeof(*size));
		event = malloc(*size);
		if (event) {
			memcpy(event, q->data + q->begin + sizeof(*size), *size);
			q->begin += sizeof(*size) + ALIGNED(*size);
		}
		if (q->begin == q->end)
			q->begin = q->end = 0;
	}
	pthread_mutex_unlock(&q->lock);
	return event;
}

void event_queue__put_sample(struct event_queue *q, const struct sample_event *e, struct source_counters *counters)
{
	counters->taken++;
	if (event_queue__put(q, e, event_queue__sample_size(e)))
		counters->lost[LOSS_RING_FULL]++;
	else if (e->truncated)
		counters->truncated[e->truncated]++;
	else
		counters->whole++;
}

int event_queue__drain(struct event_queue *q, bool (*callback)(void *context, const void *data, size_t size),
		       void *context)
{
	bool more = true;
	size_t size;
	void *event;
	int n = 0;

	while (more && (event = take(q, &size))) {
		more = callback(context, event, size);
		free(event);
		n++;
	}
	return more ? n : -ECANCELED;
}
