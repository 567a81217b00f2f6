/* SPDX-License-Identifier: BSD-2-Clause */
/* Pauses of a recording: their time is not recorded, and the processes pay nothing. */
#include <errno.h>

#include "engine/state.h"

bool engine__is_paused(const struct engine *e)
{
	return e->paused;
}

uint64_t engine__paused(const struct engine *e, uint64_t until)
{
	return e->paused_here + (e->paused && until > e->paused_since ? until - e->paused_since : 0);
}

uint64_t engine__recorded(const struct engine *e, uint64_t from, uint64_t until)
{
	uint64_t pauses = from == e->from ? e->paused_here : e->paused_all;

	if (e->paused && until > e->paused_since)
		until = e->paused_since;
	return until > from + pauses ? until - from - pauses : 0;
}

uint64_t engine__end_of_duration(const struct engine *e)
{
	if (!e->started || e->paused || !e->settings.duration)
		return UINT64_MAX;
	return e->started_at + e->paused_all + e->settings.duration;
}

int engine__pause(struct engine *e, struct diag *d)
{
	if (e->paused)
		return diag__set(d, DIAG_USAGE, EALREADY, "it is paused already");
	if (e->started) {
		engine__hold(e);
		/* Code whose name is not known yet can be gone when it goes on. */
		engine__update_vms(e, true);
	}
	session__rest(e->session);
	e->paused_since = e->paused_at;
	e->paused = true;
	return 0;
}

int engine__resume(struct engine *e, struct diag *d)
{
	int err;

	if (!e->paused)
		return diag__set(d, DIAG_USAGE, EALREADY, "it is not paused");
	e->resume_at = 0;
	e->ask_at = 0;
	/* The CPU time that processes used in the pause counts nowhere. */
	engine__read_all_cpu_times(e);
	engine__resume_heap(e);
	if (!e->started) {
		e->paused = false;
		return e->set.sampled ? engine__start(e, d) : 0;
	}
	err = session__start(e->session, &e->resumed_at, d);
	engine__skip_shared(e);
	states__moved(&e->states, e->resumed_at - e->paused_since);
	e->paused_all += e->resumed_at - e->paused_since;
	e->paused_here += e->resumed_at - e->paused_since;
	e->paused = false;
	engine__record_pause(e, e->paused_since, e->resumed_at);
	return err;
}

int engine__end_delay(struct engine *e, uint64_t now, struct diag *d)
{
	return e->resume_at && now >= e->resume_at ? engine__resume(e, d) : 0;
}
