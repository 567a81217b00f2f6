/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ruby threads that share native threads (M:N, ractors).  The scheduler tells nothing of one that has no native thread.
 * So processes that have such threads are looked at again and again: what each says of itself is its account, and the
 * stacks of waits without a native thread are read from outside.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/array.h"
#include "engine/state.h"
#include "remote/parked.h"
#include "remote/watch.h"
#include "source/sched.h"

/* How often to look, and how often to see whether processes have such threads. */
#define LOOK_INTERVAL (10 * MS)
#define SCAN_INTERVAL (30 * MS)
/* A scan of many processes comes so late at the latest. */
#define SCAN_INTERVAL_MOST (300 * MS)
/* A program that had no such threads and fibers for so long seldom gets some.  It is asked in one scan of so many. */
#define SETTLED_AFTER (10 * SECOND)
#define SETTLED_TURNS 4u
/* The look takes at most one part in so many of a CPU: accounts are made of it.  It and the scan go by what the last COSTS
 * ones took on average.  What one look finds must not say when the next one is: a look at fibers that wait for something new
 * takes longer, and of short waits fewer would be seen than of long ones. */
#define SHARE 50u
#define COSTS 32u
#define QUEUE_MAX (16u << 20)

struct watched {
	uint32_t process, vm;		/* their numbers */
	struct watch watch;
	struct parked parked;
};

struct engine_shared {
	struct watcher watcher;
	struct event_queue queue;
	struct watched **list;
	uint32_t count;
	size_t room;
	uint64_t look_at, scan_at;	/* CLOCK_MONOTONIC, ns */
	uint64_t look_cost, scan_cost;	/* CPU time of one, on average, ns */
	uint32_t cost_count;		/* processes that look_cost is of */
	uint64_t scanned_at;		/* the last time */
	uint32_t scans;			/* how many there were */
};

void engine__free_shared(struct engine *e)
{
	struct engine_shared *s = e->shared;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++) {
		parked__free(&s->list[i]->parked);
		watch__close(&s->list[i]->watch, &s->watcher);
		free(s->list[i]);
	}
	free(s->list);
	event_queue__free(&s->queue);
	walker__free(s->watcher.walker);
	free(s);
	e->shared = NULL;
}

/* Ruby takes it from the coarse clock. */
static uint64_t step_of_since(void)
{
	struct timespec t;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &t) ? 0 : (uint64_t)t.tv_nsec;
}

static struct engine_shared *create(const struct engine *e)
{
	struct engine_shared *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	event_queue__init(&s->queue, QUEUE_MAX);
	s->watcher = (struct watcher){
		.shared = true, .waits = true, .period = LOOK_INTERVAL, .queue = &s->queue, .walker = walker__new(),
		.began = e->started_at, .step = step_of_since(),
	};
	if (!s->watcher.walker) {
		event_queue__free(&s->queue);
		free(s);
		return NULL;
	}
	s->scanned_at = e->started_at;
	if (getrandom(&s->watcher.random, sizeof(s->watcher.random), GRND_NONBLOCK) < 0)
		s->watcher.random = e->started_at;
	return s;
}

static bool is_watched(const struct engine_shared *s, const struct process *p)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i]->process == p->number && s->list[i]->vm == p->vm->number)
			return true;
	return false;
}

static bool is_shared(const struct rb_debug_ext_thread *t)
{
	return t->flags & RB_DEBUG_EXT_THREAD_MN;
}

/* Has the program threads that share native threads, or fibers that a scheduler may park?  Many processes are asked, and
 * again and again. */
static bool has_shared(struct vm *vm)
{
	struct run_mark mark;
	int any;

	if (!vm__is_due(vm, &vm->marks.shared, &mark) || layout__refresh(&vm->layout, &vm->memory))
		return false;
	any = tables__any(&vm->layout, &vm->memory, is_shared, parked__can_park);
	if (!any)
		vm->marks.shared = mark;
	return any == 1;
}

static void add(struct engine_shared *s, const struct process *p)
{
	uint64_t now = deadline__now(), before = p->from > s->scanned_at ? p->from : s->scanned_at;
	uint64_t unseen = before < now ? now - before : 0;
	struct watched *w = calloc(1, sizeof(*w));
	struct diag unused;

	if (!w || array__reserve(&s->list, s->count, 1, &s->room, TARGETS_MAX, sizeof(*s->list)) ||
	    watch__open(&w->watch, p->pid, p->key.pid == (uint32_t)p->pid, &p->vm->layout, &unused)) {
		free(w);
		return;
	}
	w->process = w->watch.process = p->number;
	w->vm = w->watch.vm = p->vm->number;
	w->parked = (struct parked){
		.process = w->process, .vm = w->vm, .layout = &w->watch.layout, .memory = &w->watch.space->memory,
		.walker = s->watcher.walker, .queue = &s->queue, .counters = &w->watch.wait_counters,
		/* Fibers that are parked now were not at the last scan.  How long they are is not known: no more than between two
		 * looks is believed. */
		.looked_at = now - (unseen < LOOK_INTERVAL ? unseen : LOOK_INTERVAL) / 2,
	};
	s->list[s->count++] = w;
}

/* Is it asked in this scan? */
static bool has_turn(const struct engine_shared *s, const struct process *p, uint64_t now)
{
	return now < p->from + SETTLED_AFTER || (p->number + s->scans) % SETTLED_TURNS == 0;
}

static void scan(struct engine *e, struct engine_shared *s, uint64_t now)
{
	for (uint32_t i = 0; i < e->set.count; i++) {
		const struct process *p = e->set.list[i];

		if (p && has_turn(s, p, now) && process__is_readable(p) && !is_watched(s, p) && has_shared(p->vm))
			add(s, p);
	}
	s->scans++;
}

static bool on_event(void *context, const void *data, size_t size)
{
	struct engine *e = context;

	states__event(&e->states, &e->resolver, data, size);
	return true;
}

/* The counters of a process are in its row already if it was freed. */
static void add_counters(struct engine *e, uint32_t process, uint32_t source, const struct source_counters *c)
{
	struct process *p = process_set__find(&e->set, process);

	if (!p || !p->freed) {
		session__add_counters(e->session, process, source, c);
		return;
	}
	source_counters__add(&e->kernel[source], c);
	if (process__row(&e->set, p))
		source_counters__add(&e->rows.rows[p->row].kernel, c);
}

/* Count and resolve what the looks at a process gave. */
static void take(struct engine *e, struct watched *w)
{
	struct engine_shared *s = e->shared;
	struct source_counters *c = &w->watch.wait_counters;

	for (uint32_t i = 0; i < w->watch.native_count; i++)
		if (w->watch.native[i].shared)
			states__share(&e->states, w->process, w->watch.native[i].inner);
	event_queue__drain(&s->queue, on_event, e);
	if (c->taken)
		add_counters(e, w->process, SOURCE_SCHED, c);
	*c = (struct source_counters){ 0 };
}

static bool goes_on(const struct engine *e, const struct watched *w)
{
	const struct process *p = process_set__find(&e->set, w->process);

	return p && p->state == PROCESS_SAMPLED && p->vm && p->vm->number == w->vm;
}

static void leave(struct engine *e, struct watched *w)
{
	take(e, w);
	parked__free(&w->parked);
	watch__close(&w->watch, &e->shared->watcher);
	take(e, w);
	free(w);
}

/* Look at all, or take their accounts too. */
static void look(struct engine *e, struct engine_shared *s, bool flush)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		struct watched *w = s->list[i];

		if (goes_on(e, w) && watch__look(&w->watch, &s->watcher, true) != -ESRCH) {
			watch__give_time(&w->watch, deadline__now());
			parked__look(&w->parked, deadline__now());
			if (flush) {
				watch__flush(&w->watch, &s->watcher);
				parked__flush(&w->parked);
			}
			take(e, w);
			s->list[kept++] = w;
			continue;
		}
		leave(e, w);
	}
	s->count = kept;
}

static bool is_wanted(const struct engine *e)
{
	struct session_waits waits;

	return e->started && !e->paused && !e->figures && session__waits(e->session, &waits);
}

/* When to do it again: it took CPU time since `from`. */
static uint64_t next(struct engine_shared *s, uint64_t interval, uint64_t most, uint32_t share, uint64_t *cost, uint64_t from)
{
	uint64_t now = deadline__now(), took = deadline__cpu_time() - from;

	/* The first look costs much more than those that follow: it does not count as if all were so. */
	*cost = *cost - *cost / COSTS + took / COSTS;
	s->watcher.random = hash__mix(s->watcher.random + now);
	if (interval < *cost * share)
		interval = *cost * share < most ? *cost * share : most;
	return now + interval / 2 + s->watcher.random % interval;
}

void engine__step_shared(struct engine *e, uint64_t now)
{
	struct engine_shared *s;
	uint64_t from;

	if (!is_wanted(e))
		return;
	if (!e->shared)
		e->shared = create(e);
	s = e->shared;
	if (!s)
		return;
	from = deadline__cpu_time();
	if (now >= s->scan_at) {
		scan(e, s, now);
		s->scanned_at = now;
		s->scan_at = next(s, SCAN_INTERVAL, engine__longest(e, SCAN_INTERVAL_MOST), SHARE_OF_LOOKS,
				  &s->scan_cost, from);
	}
	if (s->count < s->cost_count)
		s->look_cost = s->look_cost * s->count / s->cost_count;
	s->cost_count = s->count;
	from = deadline__cpu_time();
	if (s->count && deadline__now() >= s->look_at) {
		look(e, s, false);
		s->look_at = next(s, LOOK_INTERVAL, UINT64_MAX, SHARE, &s->look_cost, from);
	}
}

uint64_t engine__shared_wait(const struct engine *e, uint64_t now)
{
	const struct engine_shared *s = e->shared;

	/* The first look is at once.  If there was no memory for it, it is tried again. */
	if (!s)
		return is_wanted(e) ? MS : UINT64_MAX;
	if (!s->count)
		return UINT64_MAX;
	return s->look_at > now ? s->look_at - now : 0;
}

void engine__leave_shared(struct engine *e)
{
	struct engine_shared *s = e->shared;
	uint32_t kept = 0;

	for (uint32_t i = 0; s && i < s->count; i++) {
		if (goes_on(e, s->list[i]))
			s->list[kept++] = s->list[i];
		else
			leave(e, s->list[i]);
	}
	if (s)
		s->count = kept;
}

void engine__skip_shared(struct engine *e)
{
	struct engine_shared *s = e->shared;
	uint64_t now = deadline__now();

	if (!s)
		return;
	s->watcher.began = s->scanned_at = now;
	for (uint32_t i = 0; i < s->count; i++) {
		watch__skip(&s->list[i]->watch, &s->watcher);
		s->list[i]->parked.looked_at = now;
	}
}

void engine__flush_shared(struct engine *e)
{
	if (e->shared)
		look(e, e->shared, true);
}
