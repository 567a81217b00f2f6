/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/stuck.h"

#include <errno.h>
#include <stdlib.h>

/* The error of the time of a thread's wait, which Ruby notes in steps of 10 ms, and of that of a look: at most so much. */
#define TIME_ERROR_MAX 1000000000ull
#define TIME_ERROR_PART 8u

/* A thread that was told.  Its serial is its own, while threads can share native threads. */
struct stuck_told {
	uint64_t serial;
	uint64_t place;
	uint64_t at;		/* CLOCK_MONOTONIC, ns */
	uint64_t ran, slices;	/* of its native thread at that time, if it has one of its own */
};

struct stuck_history {
	struct stuck_told *told;	/* by serial; only of threads that live */
	size_t told_count;
	struct stuck_place {
		uint64_t place;
		unsigned int dumps;
		uint64_t last;	/* when the last one was made */
	} places[STUCK_PLACES_MAX];
	unsigned int place_count, place_next;
	bool failed;		/* the last time */
};

/* One judgement. */
struct judging {
	struct still_process *p;
	struct stuck_history *h;
	const struct extprof_dump_result *r;
	uint64_t now, length;
	struct stuck_finding found;
	bool is_new;		/* a thread with work was not told */
	uint64_t youngest;	/* ns: so long a thread with work has not run */
	bool hangs_on;		/* a new one stands still, or will without running: no count says when to look again */
};

void stuck_history__free(struct stuck_history *h)
{
	if (h)
		free(h->told);
	free(h);
}

/* -- threads -------------------------------------------------------------------------------------- */

static uint64_t time_error(uint64_t length)
{
	return length / TIME_ERROR_PART < TIME_ERROR_MAX ? length / TIME_ERROR_PART : TIME_ERROR_MAX;
}

/* The counts of the scheduler for a thread; NULL: it has no native thread of its own. */
static const struct still_thread *task_of(const struct judging *j, const struct extprof_dump_thread *t)
{
	return t->shared || !t->tid ? NULL : still_process__thread(j->p, t->tid);
}

/* So long it has neither run nor begun another wait, ns; UINT64_MAX: for longer than anybody knows. */
static uint64_t age_of(const struct judging *j, const struct extprof_dump_thread *t)
{
	const struct still_thread *task = task_of(j, t);
	uint64_t error = time_error(j->length), age = t->since > UINT64_MAX - error ? UINT64_MAX : t->since + error, rest;

	if (!task)
		return age == UINT64_MAX ? 0 : age;
	rest = j->now > task->since ? j->now - task->since : 0;
	return rest < age ? rest : age;
}

static bool has_label(const struct extprof_dump_thread *t)
{
	for (size_t i = 0; i < t->fiber_count; i++)
		if (!t->fibers[i]->created && (t->fibers[i]->label_count || t->fibers[i]->trace_id))
			return true;
	return false;
}

/* A hash of what the thread runs; never 0. */
static uint64_t place_of(const struct extprof_dump_thread *t)
{
	const struct extprof_stack *s = t->fiber_count ? t->fibers[0]->stack : NULL;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; s && i < s->count; i++) {
		for (const char *c = s->frames[i]->name; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
		hash = (hash ^ (uint32_t)s->frames[i]->line) * 0x100000001b3ull;
	}
	return hash | 1;
}

/* -- what was told -------------------------------------------------------------------------------- */

static int by_serial(const void *a, const void *b)
{
	const struct stuck_told *x = a, *y = b;

	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static const struct stuck_told *told_of(const struct judging *j, const struct extprof_dump_thread *t)
{
	const struct stuck_told wanted = { .serial = t->serial };

	return j->h->told_count ? bsearch(&wanted, j->h->told, j->h->told_count, sizeof(wanted), by_serial) : NULL;
}

/*
 * A thread that was told, went on, and waits in the same place again waits there for work: it reads what somebody sends it
 * now and then.  A label says that it has some.
 */
static bool is_known(const struct judging *j, const struct extprof_dump_thread *t)
{
	const struct stuck_told *told = told_of(j, t);

	return told && told->place == place_of(t) && !t->deadlocked && !has_label(t);
}

static bool has_work(const struct judging *j, const struct extprof_dump_thread *t)
{
	return !t->idle && t->state != EXTPROF_THREAD_CREATED && !is_known(j, t);
}

/* Has it not run since it was told? */
static bool is_told(const struct judging *j, const struct extprof_dump_thread *t)
{
	const struct stuck_told *told = told_of(j, t);
	const struct still_thread *task = task_of(j, t);

	if (!told || told->place != place_of(t))
		return false;
	if (task)
		return told->ran == task->ran && told->slices == task->slices;
	/* Its wait is older than that. */
	return t->since == UINT64_MAX || j->now - told->at <= t->since + time_error(j->length);
}

static struct stuck_place *find_place(struct stuck_history *h, uint64_t place)
{
	for (unsigned int i = 0; i < h->place_count; i++)
		if (h->places[i].place == place)
			return &h->places[i];
	return NULL;
}

static bool place_wants_dump(struct stuck_history *h, uint64_t place)
{
	const struct stuck_place *known = find_place(h, place);

	return !known || known->dumps < STUCK_DUMPS_MAX;
}

/* A dump of that time has it: once, however many threads are there. */
static void count_dump(struct stuck_history *h, uint64_t place, uint64_t now)
{
	struct stuck_place *known = find_place(h, place);

	if (!known) {
		known = &h->places[h->place_next++ % STUCK_PLACES_MAX];
		h->place_count += h->place_count < STUCK_PLACES_MAX;
		*known = (struct stuck_place){ .place = place };
	}
	known->dumps += known->last != now;
	known->last = now;
}

/* All with work were told just now.  What was told of others that live stays.  Without memory they are told again. */
static void mark_told(struct judging *j)
{
	struct stuck_told *list = calloc(j->r->thread_count + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return;
	for (size_t i = 0; i < j->r->thread_count; i++) {
		const struct extprof_dump_thread *t = j->r->threads[i];
		const struct still_thread *task = task_of(j, t);
		const struct stuck_told *old = told_of(j, t);

		if (has_work(j, t))
			list[count++] = (struct stuck_told){
				.serial = t->serial, .place = place_of(t), .at = j->now,
				.ran = task ? task->ran : 0, .slices = task ? task->slices : 0,
			};
		else if (old)
			list[count++] = *old;
	}
	qsort(list, count, sizeof(*list), by_serial);
	free(j->h->told);
	j->h->told = list;
	j->h->told_count = count;
}

static void count_dumps(struct judging *j)
{
	for (size_t i = 0; i < j->r->thread_count; i++)
		if (has_work(j, j->r->threads[i]) && !is_told(j, j->r->threads[i]))
			count_dump(j->h, place_of(j->r->threads[i]), j->now);
}

/* -- the judgement -------------------------------------------------------------------------------- */

/* Is it one whose native thread says nothing any more, while it stands still or will do so for `length`? */
static bool hangs_on(const struct judging *j, const struct extprof_dump_thread *t, uint64_t age)
{
	const struct still_thread *task = task_of(j, t);

	if (age >= j->length)
		return !is_told(j, t);
	return !task || (j->now > task->since && j->now - task->since >= j->length);
}

/* A thread that waits for the GVL does not tell why the GVL is not free. */
static void name_thread(struct stuck_finding *f, const struct extprof_dump_thread *t)
{
	for (unsigned int i = 0; i < STUCK_NAMED_MAX; i++) {
		if (f->threads[i] && (f->threads[i]->state != EXTPROF_THREAD_READY || t->state == EXTPROF_THREAD_READY))
			continue;
		f->threads[i] = t;
		return;
	}
}

static void look_at_threads(struct judging *j)
{
	struct stuck_finding *f = &j->found;

	for (size_t i = 0; i < j->r->thread_count; i++) {
		const struct extprof_dump_thread *t = j->r->threads[i];
		uint64_t age;

		if (!has_work(j, t))
			continue;
		age = age_of(j, t);
		j->youngest = age < j->youngest ? age : j->youngest;
		j->hangs_on |= hangs_on(j, t, age);
		name_thread(f, t);
		f->count++;
		if (is_told(j, t))
			continue;
		j->is_new = true;
		f->wants_dump |= place_wants_dump(j->h, place_of(t));
	}
}

static enum stuck_verdict fail(struct judging *j)
{
	bool again = j->h && j->h->failed;

	j->p->again = j->now + j->length;
	if (j->h)
		j->h->failed = true;
	return again ? STUCK_FAILED_AGAIN : STUCK_FAILED;
}

enum stuck_verdict stuck__judge(struct still_process *p, const struct extprof_dump_result *r, uint64_t now, uint64_t length,
				stuck_tell_fn tell, void *context)
{
	struct judging j = { .p = p, .r = r, .now = now, .length = length, .youngest = UINT64_MAX, .found = { .dump = r } };

	if (!p->history)
		p->history = calloc(1, sizeof(*p->history));
	j.h = p->history;
	if (!r || !j.h)
		return fail(&j);
	look_at_threads(&j);
	/* Somebody who has just been at work says nothing of those who stand still: they are looked at again. */
	if (j.youngest < length && j.hangs_on) {
		p->again = now + length - j.youngest;
		return STUCK_LATER;
	}
	if (j.youngest < length)
		j.is_new = false;
	if (j.is_new && tell(context, &j.found))
		return fail(&j);
	j.h->failed = false;
	still_process__judged(p, now, length);
	if (!j.is_new)
		return STUCK_RESTS;
	if (j.found.wants_dump)
		count_dumps(&j);
	mark_told(&j);
	return STUCK_TOLD;
}
