/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of the programs on the scheduler's events, asked for while they run. */
#include <bpf/bpf.h>
#include <string.h>

#include "source/figures.h"
#include "source/sched.h"
#include "source/sched_parts.h"

void sched__set_interval(struct source *s, uint64_t interval)
{
	*s->interval = interval;
}

bool sched_thread__is_torn(const struct sched_thread *t)
{
	uint64_t sum = t->blocked + t->runnable + t->stopped;

	for (int i = 0; i < STATE_ROOM; i++)
		sum += t->account.time[i];
	return sum != t->since - t->account.first;
}

/* A thread changes what is copied in less time than a copy takes. */
#define COPY_TRIES 16

static bool copy_thread(const struct source *s, uint32_t tid, struct sched_thread *t)
{
	for (int i = 0; i < COPY_TRIES; i++) {
		if (bpf_map_lookup_elem(s->threads_fd, &tid, t))
			return false;
		if (!sched_thread__is_torn(t))
			return true;
	}
	return true;
}

int sched__each_now(const struct source *s, thread_callback callback, void *context)
{
	struct map64 seen = { 0 };
	uint32_t *key = NULL, next;
	struct sched_thread t;
	int err = 0;

	/* When the thread of a key ends meanwhile, the walk begins anew. */
	for (uint32_t n = 0; n <= 4 * SCHED_THREADS_MAX && !err; n++) {
		if (bpf_map_get_next_key(s->threads_fd, key, &next))
			break;
		key = &next;
		if (map64__get(&seen, next) != MAP64_NONE || !copy_thread(s, next, &t))
			continue;
		err = map64__add(&seen, next, 0);
		if (!err)
			callback(context, t.seen_as, &t);
	}
	map64__free(&seen);
	return err;
}

void sched__gvl_waits(const struct source *s, uint32_t process, struct histogram *to)
{
	if (bpf_map_lookup_elem(s->gvl_waits_fd, &process, to))
		memset(to, 0, sizeof(*to));
}

void sched__forget(const struct source *s, uint32_t process)
{
	/* Only the main ractor is forgotten; others are few. */
	struct gvl_key key = { .process = process, .ractor = 1 };

	bpf_map_delete_elem(s->gvl_waits_fd, &process);
	if (s->options.details)
		bpf_map_delete_elem(s->looks_fd, &key);
}

void sched__losses(const struct source *s, struct session_losses *losses)
{
	losses->gvl_waits = *s->gvl_waits_lost;
	losses->threads = s->lost + *s->full + *s->accounts_lost;
}
