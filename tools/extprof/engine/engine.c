/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop of a recording: what is done at each step. */
#include "engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "engine/state.h"
#include "parser/helper.h"
#include "ruby/name_retention.h"

/* How often samples are drained.  Names have to be read while the target
 * lives, and what was started by us may not live long. */
#define TICK_PID (50 * MS)
#define TICK_COMMAND (10 * MS)
/* The time between two steps of a long recording: while no process is younger than SETTLED_AFTER, and the last step took fewer
 * than SETTLED_EVENTS. */
#define TICK_SETTLED (200 * MS)
#define SETTLED_AFTER (10 * SECOND)
#define SETTLED_EVENTS 1024u
/* A process may live for some ms only, and its memory has the names of what it called first. */
#define TICK_NEW (2 * MS)
#define PROCESS_IS_NEW (50 * MS)
#define THREADS_ARE_YOUNG (50 * MS)

/* For samples at a stretch: there is more to look after. */
#define DRAIN_TIMEOUT (200 * MS)

/* The first search of a process goes on so long after the caller wants control back. */
#define INTERRUPTED_WAIT (200 * MS)

/* How often to look for CPUs that have come and for memory that has gone; the other one if there is much of it. */
#define LOOK_INTERVAL (500 * MS)
#define LOOK_INTERVAL_MOST (2 * SECOND)
/* How often to read the names of threads again that have been sampled meanwhile: what a thread
 * that ends was called last is known if it lived so long with the name.  The other one if there are many. */
#define NAMES_INTERVAL (100 * MS)
#define NAMES_INTERVAL_MOST SECOND
/* ahead.c reads the table of threads of a process that runs so often at least, and a bit more for its own time. */
#define TABLES_INTERVAL_MOST (3 * SECOND)

/* Is one of those that the caller named being searched? */
static bool is_searching(const struct engine *e)
{
	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i] && e->set.list[i]->wanted && e->set.list[i]->search)
			return true;
	return false;
}

int engine__begin(struct engine *e, struct diag *d)
{
	struct pollfd fds[] = {
		{ .fd = searcher__fd(e->searcher), .events = POLLIN },
		{ .fd = e->settings.interrupt_fd, .events = POLLIN },
	};
	uint64_t until = UINT64_MAX;
	int err;

	if (e->settings.delay)
		e->resume_at = deadline__now() + e->settings.delay;
	/* The command has executed something by now. */
	engine__drain_lifecycle(e);
	err = engine__search(e, d);
	/* Processes that have their ruby already are sampled when this returns.  A user who interrupts the wait for a
	 * slow search does not wait long. */
	while (!err && !e->settings.command && is_searching(e) && deadline__now() < until) {
		poll(fds, fds[1].revents ? 1 : 2, fds[1].revents ? (int)(INTERRUPTED_WAIT / MS) : -1);
		if (fds[1].revents && until == UINT64_MAX)
			until = deadline__now() + INTERRUPTED_WAIT;
		engine__drain_lifecycle(e);
		err = engine__search(e, d);
	}
	return err;
}

int engine__fd(const struct engine *e)
{
	return e->epoll_fd;
}

/* Programs whose memory has gone, and of which nothing was told: events can be lost.  A process that ends
 * gives its memory back before its end is told: it is looked at twice. */
static void check_memory(struct engine *e)
{
	for (uint32_t i = 0; i < e->set.count; i++) {
		struct process *p = e->set.list[i];
		struct run_mark mark;

		if (!p || !p->vm || p->shares_vm || !p->vm->space ||
		    (!vm__is_due(p->vm, &p->vm->marks.lives, &mark) && !p->memory_gone))
			continue;
		p->vm->marks.lives = mark;
		if (address_space__lives(p->vm->space))
			p->memory_gone = false;
		else if (!p->memory_gone)
			p->memory_gone = true;
		else
			engine__look_again(e, p, p->cpu_seen);
	}
}

static void keep_names(struct engine *e)
{
	for (uint32_t i = 0; i < e->set.vm_count; i++)
		if (e->set.vms[i])
			engine__keep_names(e->set.vms[i]);
}

uint64_t engine__interval(uint64_t least, uint64_t most, uint64_t from)
{
	uint64_t interval = (deadline__cpu_time() - from) * SHARE_OF_LOOKS;

	return interval < least ? least : interval > most ? most : interval;
}

/* Threads can change their names. */
static void refresh_names(struct engine *e, uint64_t now)
{
	uint64_t from = deadline__cpu_time();

	for (uint32_t i = 0; i < e->set.vm_count; i++) {
		struct vm *vm = e->set.vms[i];

		/* Where tables of threads are read, ahead.c takes the names from them. */
		if (vm && !vm->exited && now >= vm->threads_at + engine__longest(e, TABLES_INTERVAL_MOST))
			threads__refresh(&vm->threads, false);
	}
	e->names_at = now + engine__interval(NAMES_INTERVAL, engine__longest(e, NAMES_INTERVAL_MOST), from);
}

/* Do the work that is not urgent. */
static void look_around(struct engine *e, uint64_t now)
{
	uint64_t from;

	if (now >= e->ask_at && !e->paused) {
		e->ask_at = now + NAME_RETENTION_INTERVAL;
		keep_names(e);
	}
	if (now >= e->names_at)
		refresh_names(e, now);
	if (!e->paused)
		engine__read_ahead(e, now);
	engine__figures_memory(e, now);
	engine__step_heap(e, now);
	if (!e->behind)
		engine__select(e, now);
	if (now < e->look_at)
		return;
	if (e->started && !e->paused)
		session__follow(e->session);
	from = deadline__cpu_time();
	check_memory(e);
	helpers__rest(now);
	e->look_at = now + engine__interval(LOOK_INTERVAL, LOOK_INTERVAL_MOST, from);
}

/* Is all known that is recorded, so that names need not be read at once? */
static bool is_settled(const struct engine *e, uint64_t now)
{
	return engine__is_long(e) && now >= e->new_at + SETTLED_AFTER && e->drained < SETTLED_EVENTS;
}

uint64_t engine__wait(const struct engine *e)
{
	uint64_t now = deadline__now(), wait, until;

	if (engine__has_more(e))
		return 0;
	wait = e->settings.command || e->new_vms.count || now < e->young_threads_at + THREADS_ARE_YOUNG ? TICK_COMMAND :
	       is_settled(e, now) ? TICK_SETTLED : TICK_PID;
	if (now < e->new_at + PROCESS_IS_NEW)
		wait = TICK_NEW;
	until = engine__search_wait(e, now);
	if (until < wait)
		wait = until;
	until = engine__figures_wait(e, now);
	if (until < wait)
		wait = until;
	until = engine__shared_wait(e, now);
	if (until < wait)
		wait = until;
	until = engine__end_of_duration(e);
	if (e->resume_at && e->resume_at < until)
		until = e->resume_at;
	if (until <= now)
		return 0;
	return until - now < wait ? until - now : wait;
}

/* Has all ended that the recording is about? */
static bool all_ended(const struct engine *e, uint64_t now)
{
	if (e->settings.selection.all || e->set.wanted_live)
		return false;
	if (!e->settings.selection.subprocesses)
		return true;
	for (uint32_t i = 0; i < e->set.count; i++) {
		const struct process *p = e->set.list[i];

		/* Other programs that they left behind are not waited for.  A process that was made, or has executed
		 * something, only now may be a ruby that starts: a daemon's first parent ends before its ruby was
		 * found. */
		if (p && ((p->state == PROCESS_SAMPLED && !(p->vm && p->vm->plain)) ||
			  ((p->state == PROCESS_LOOKED_FOR || p->state == PROCESS_SAMPLED) && !p->given_up && !p->refused &&
			   (p->why.code == DIAG_NOT_READY || now < p->backoff.since + BACKOFF_STARTING))))
			return false;
	}
	return true;
}

/* Was each wanted process that lives given up? */
static bool all_given_up(const struct engine *e)
{
	if (!e->why.text[0])
		return false;
	for (uint32_t i = 0; i < e->set.count; i++) {
		const struct process *p = e->set.list[i];

		if (p && p->wanted && !p->given_up && p->state != PROCESS_ENDED)
			return false;
	}
	return true;
}

int engine__step(struct engine *e, struct diag *d)
{
	uint64_t now = deadline__now(), until = engine__end_of_duration(e);
	int err, drained;

	if (now >= until) {
		engine__set_ended(e, "duration");
		return 1;
	}
	err = engine__end_delay(e, now, d);
	if (err)
		return err;
	deadline__start(&e->deadline, e->settings.interrupt_fd, until);
	deadline__start(&e->reads, -1, now + READS_TIMEOUT);
	e->drain_until = now + DRAIN_TIMEOUT;
	e->snapshot = e->fresh = false;
	engine__drain_lifecycle(e);
	engine__bind_children(e);
	now = deadline__now();
	drained = engine__drain(e);
	e->behind = drained == -ECANCELED;
	e->drained = drained < 0 ? UINT32_MAX : (uint32_t)drained;
	if (!e->behind)
		e->drained_at = now;
	engine__step_shared(e, now);
	engine__release_command(e, now);
	err = engine__search(e, d);
	engine__release_command(e, now);
	/* Also of what has just been found: it may end soon. */
	engine__update_vms(e, false);
	engine__step_natives(e);
	engine__step_revisions(e);
	engine__step_titles(e);
	engine__step_contexts(e);
	engine__free_gone(e, now);
	if (!e->behind)
		engine__clean_up(e);
	if (err)
		return err;
	if (!e->set.sampled && all_given_up(e)) {
		*d = e->why;
		return -ENOENT;
	}
	if (all_ended(e, now)) {
		if (!e->ended)
			engine__set_ended(e, "the process ended");
		return 1;
	}
	engine__figures_step(e, now);
	engine__step_triggers(e, now);
	if (engine__step_recording(e, deadline__now()) || engine__rotate(e)) {
		engine__set_ended(e, "the file of the recording cannot be written");
		return 1;
	}
	look_around(e, deadline__now());
	return 0;
}

void engine__set_ended(struct engine *e, const char *why)
{
	e->ended = why;
}

enum reader_kind engine__reader(const struct engine *e, const struct diag **why)
{
	if (why)
		*why = &e->why_reader;
	return e->reader;
}

void engine__progress(struct engine *e, struct progress *p)
{
	struct source_counters c;
	struct received received;

	memset(p, 0, sizeof(*p));
	p->waiting = !e->started && !(e->paused && e->set.sampled);
	p->paused = e->paused;
	for (uint32_t i = 0; i < e->set.count; i++) {
		if (!e->set.list[i])
			continue;
		engine__take_counters(e, e->set.list[i]);
		p->processes += e->set.list[i]->state == PROCESS_SAMPLED;
	}
	engine__tell_losses(e, false);
	engine__total(e, UINT32_MAX, &c, &received);
	p->samples = c.taken + e->segments.taken;
	p->lost = e->segments.lost + accounting__known_losses(&c, &received);
	if (e->started) {
		uint64_t now = deadline__now(), elapsed = engine__recorded(e, e->started_at, now);

		p->elapsed = (double)elapsed / 1e9;
		p->pauses = (double)(now - e->started_at - elapsed) / 1e9;
	}
}
