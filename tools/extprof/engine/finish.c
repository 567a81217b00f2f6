/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a recording, and moments in it when nothing is sampled, so that all counts agree. */
#include <errno.h>

#include "engine/state.h"

/* For the samples that wait at the end, and for the last names. */
#define FINISH_TIMEOUT (5 * SECOND)
static void set_deadlines(struct engine *e, uint64_t until, uint64_t reads_until)
{
	deadline__start(&e->deadline, e->settings.interrupt_fd, until);
	deadline__start(&e->reads, -1, reads_until);
	e->drain_until = until;
}

/* Stacks of threads that wait are read now, however long ago the last step began. */
static void read_waits(struct engine *e)
{
	uint64_t now = deadline__now();

	set_deadlines(e, now + e->waits_time, now + e->waits_time);
	engine__read_waits(e);
}

/* The same, as the profile ends or a part of it: how full heaps are. */
static void read_heaps(struct engine *e)
{
	uint64_t now = deadline__now();

	set_deadlines(e, now + e->waits_time, now + e->waits_time);
	for (uint32_t i = 0; i < e->set.count; i++) {
		const struct process *p = e->set.list[i];
		struct heap_size *heap;

		/* The last row is of several. */
		if (!p || p->row >= PROCESS_ROWS_MAX)
			continue;
		heap = &e->rows.rows[p->row].heap;
		engine__read_heap(p, heap);
		/* A new program counts its objects from 0: the count does not continue that of the old one. */
		if (e->from != e->started_at && p->executed_at >= e->from)
			heap->allocated = 0;
	}
}

/* No more samples come: the rest is no more than the ring holds, and what was put aside. */
static void drain_rest(struct engine *e)
{
	uint64_t now = deadline__now();

	set_deadlines(e, now + FINISH_TIMEOUT, now + FINISH_TIMEOUT + READS_TIMEOUT);
	aside__begin_end(&e->aside, e->set.vms, e->set.vm_count);
	while (engine__drain(e) == -ECANCELED || e->aside.count) {
		if (deadline__over(&e->deadline)) {
			engine__skip_rest(e);
			break;
		}
		engine__update_vms(e, true);
	}
	aside__end_end(&e->aside);
}

static void read_last_names(struct engine *e)
{
	/* No sample is broken off any more.  A signal from now on, or one that has
	 * ended the drain, ends these reads too. */
	engine__update_last(e, deadline__now() + FINISH_TIMEOUT);
}

static int never_sampled(const struct engine *e, struct diag *d)
{
	const struct process *p = NULL;

	for (uint32_t i = 0; i < e->set.count && !p; i++)
		if (e->set.list[i] && e->set.list[i]->wanted)
			p = e->set.list[i];
	if (!p) {
		if (e->settings.selection.all)
			diag__set(d, DIAG_NO_PROCESS, ESRCH, "no process of this machine runs a ruby with the "
				  "debugging interface that was to be profiled");
		else
			diag__set(d, DIAG_NO_PROCESS, ESRCH, "the processes have ended");
		return -ESRCH;
	}
	*d = e->why.text[0] ? e->why : p->why;
	if (!d->text[0])
		diag__set(d, DIAG_NOT_READY, EINTR, "there was no time to search process %d", p->pid);
	if (p->state == PROCESS_ENDED && d->code != DIAG_NO_INTERFACE && d->code != DIAG_NOT_RUBY) {
		diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d ended before its ruby was ready", p->pid);
		if (p->why.text[0])
			diag__hint(d, "when last looked at: %s", p->why.text);
	}
	return -ESRCH;
}

static void take_all_counters(struct engine *e)
{
	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i])
			engine__take_counters(e, e->set.list[i]);
}

void engine__read_all_cpu_times(struct engine *e)
{
	for (uint32_t i = 0; i < e->set.count; i++)
		if (e->set.list[i])
			engine__read_cpu_time(e, e->set.list[i]);
}

/* To be called when nothing is measured any more, and again for children that were found meanwhile. */
static void end_cpu_times(struct engine *e)
{
	for (uint32_t i = 0; i < e->set.count; i++) {
		struct process *p = e->set.list[i];

		if (p && !p->cpu_ended)
			p->cpu_ended = engine__read_cpu_time(e, p);
	}
}

/* Stop sampling: the counts of the kernel and the samples that arrived agree only while nothing is sampled. */
void engine__hold(struct engine *e)
{
	session__pause(e->session);
	e->paused_at = deadline__now();
	engine__read_all_cpu_times(e);
	read_heaps(e);
	if (!e->figures)
		read_waits(e);
	session__stop(e->session);
	drain_rest(e);
	if (!e->figures)
		engine__end_waits(e);
	states__settle(&e->states);
	take_all_counters(e);
}

/* After engine__hold(). */
static int go_on(struct engine *e, struct diag *d)
{
	int err;

	/* The CPU time since the pause counts nowhere. */
	e->paused = true;
	engine__read_all_cpu_times(e);
	e->paused = false;
	err = session__start(e->session, &e->resumed_at, d);
	states__moved(&e->states, e->resumed_at - e->paused_at);
	return err;
}

int engine__snapshot(struct engine *e, struct diag *d)
{
	if (!e->started)
		return diag__set(d, DIAG_NOT_READY, EAGAIN, e->paused && e->set.sampled ? "nothing was recorded so far" :
				 "no ruby was found so far");
	if (e->paused) {
		/* That it paused is where it was put together. */
		e->paused_at = e->resumed_at = deadline__now();
		engine__settle_heap(e);
		e->snapshot = true;
		return 0;
	}
	engine__hold(e);
	engine__settle_heap(e);
	engine__want_maps(e);
	e->snapshot = true;
	return go_on(e, d);
}

int engine__set_rate(struct engine *e, uint32_t rate, struct diag *d)
{
	struct diag why = { 0 };
	bool runs = e->started && !e->paused;
	int err, refused;

	if (e->recording.writer)
		return diag__set(d, DIAG_USAGE, EBUSY, "a recording that is written into a file has one rate");
	if (!e->fresh)
		return diag__set(d, DIAG_USAGE, EBUSY, "the rate changes between two windows: after extprof_recording_restart()");
	if (runs)
		engine__hold(e);
	refused = session__set_rate(e->session, rate, &why);
	if (!refused)
		e->settings.rate = rate;
	err = runs ? go_on(e, d) : 0;
	if (!err && refused)
		*d = why;
	return err ? err : refused;
}

uint32_t engine__rate(const struct engine *e)
{
	return e->settings.rate;
}

int engine__finish(struct engine *e, struct diag *d)
{
	uint32_t sampled = e->set.sampled;

	gate__close(e->gate);
	e->gate = NULL;
	if (e->started)
		engine__figures_end(e);
	if (e->started && !e->paused)
		session__pause(e->session);
	e->ended_at = deadline__now();
	end_cpu_times(e);
	if (e->started)
		read_heaps(e);
	if (e->started && !e->paused) {
		if (!e->figures)
			read_waits(e);
		session__stop(e->session);
	}
	if (e->started)
		session__detach(e->session);
	engine__drain_lifecycle(e);
	engine__bind_children(e);
	engine__read_own_names(e);
	engine__restore_intervals(e);
	end_cpu_times(e);
	drain_rest(e);
	engine__drain_lifecycle(e);
	if (!e->figures && !e->paused)
		engine__end_waits(e);
	if (!e->paused)
		states__settle(&e->states);
	take_all_counters(e);
	engine__settle_heap(e);
	read_last_names(e);
	engine__finish_natives(e);
	engine__tell_losses(e, true);
	if (e->set.wanted_live == 0 && !e->ended)
		e->ended = "the process ended";
	if (sampled && !e->started) {
		diag__set(d, DIAG_OK, 0, e->settings.delay ? "nothing was recorded: the delay was not over" :
			  "nothing was recorded: it was paused from the start to the end");
		return 1;
	}
	if (e->paused)
		engine__record_pause(e, e->paused_since, e->ended_at);
	if (sampled) {
		engine__end_recording(e);
		/* The last file may have got its first samples now. */
		engine__remove_segments(e);
	}
	return sampled ? 0 : never_sampled(e, d);
}
