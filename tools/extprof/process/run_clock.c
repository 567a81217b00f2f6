/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/run_clock.h"

#include <time.h>

#include "base/deadline.h"

#define SECOND 1000000000ull

/* The id that clock_getcpuclockid(3) would give.  That function asks the kernel whether there is such a process, which is asked here anyway. */
static clockid_t clock_of(pid_t pid)
{
	return (clockid_t)(~(unsigned int)pid << 3 | 2);
}

static uint64_t read_clock(pid_t pid)
{
	struct timespec t;

	/* 0 would be the own process. */
	if (pid <= 0 || clock_gettime(clock_of(pid), &t))
		return 0;
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

bool run_clock__has_run(struct run_clock *c, const struct run_mark *last, struct run_mark *now)
{
	uint64_t at = deadline__now();
	bool has_run;

	if (!c->read_at || at >= c->read_at + RUN_CLOCK_AGE) {
		c->cpu_time = read_clock(c->pid);
		c->read_at = at;
	}
	has_run = !c->cpu_time || c->cpu_time != last->cpu_time;
	*now = (struct run_mark){ .cpu_time = c->cpu_time, .at = at };
	return has_run;
}

bool run_clock__is_due(struct run_clock *c, const struct run_mark *last, struct run_mark *now)
{
	uint64_t at = last->at;

	return run_clock__has_run(c, last, now) || now->at >= at + RUN_CLOCK_SELDOM;
}
