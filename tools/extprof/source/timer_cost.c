/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/timer_cost.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/deadline.h"

#define SECOND 1000000000ull
#define MS 1000000ull

/* Time of the BPF program for a stack of 300 frames. */
#define SAMPLE_NS 3000u

/* Fewer interrupts are too few for an estimate. */
#define COUNT_MIN 5u

/* Bounds of real time: when others use the CPU too, and when they leave almost nothing of it. */
#define TIME_MAX (40 * MS)
#define TIME_MAX_STARVED (500 * MS)

void timer_cost__add(struct timer_gaps *g, uint64_t gap)
{
	uint32_t i;

	/* Another thread or the hypervisor had the CPU. */
	if (gap >= TIMER_COST_PERIOD)
		return;
	g->ran += gap;
	if (!g->least || gap < g->least)
		g->least = gap;
	i = g->count;
	if (i == TIMER_COST_COUNT + 1) {
		if (gap <= g->longest[--i])
			return;
	} else {
		g->count++;
	}
	for (; i && g->longest[i - 1] < gap; i--)
		g->longest[i] = g->longest[i - 1];
	g->longest[i] = gap;
}

uint64_t timer_cost__estimate(const struct timer_gaps *g)
{
	/* There were `due` interrupts by our timer, so they are among the longest gaps.  Other
	 * interrupts are longer or few.  So the gap at three quarters of `due` is one of ours. */
	uint64_t due = g->ran / TIMER_COST_PERIOD;

	if (due > g->count)
		due = g->count;
	if (due < COUNT_MIN)
		return 0;
	return g->longest[due * 3 / 4] - g->least;
}

int timer_cost__judge(uint32_t rate, uint64_t interrupt, struct diag *d)
{
	uint64_t most = SECOND / 2 / (interrupt + SAMPLE_NS), advised;

	if (rate <= TIMER_COST_RATE_SAFE)
		return 0;
	if (!interrupt) {
		diag__set(d, DIAG_USAGE, EAGAIN,
			  "a rate of %u may take more than half of each CPU: what an interrupt takes here cannot "
			  "be measured, as extprof gets too little CPU time", rate);
		diag__hint(d, "sample at %u or slower, or try again", TIMER_COST_RATE_SAFE);
		return -EAGAIN;
	}
	if (rate <= most)
		return 0;
	/* Advise clearly less: the next measurement may differ. */
	advised = most * 3 / 4 / 1000 * 1000;
	if (advised < TIMER_COST_RATE_SAFE)
		advised = TIMER_COST_RATE_SAFE;
	diag__set(d, DIAG_USAGE, EINVAL,
		  "a rate of %u would take more than half of each CPU: here one interrupt of a timer takes "
		  "%.1f us, and a sample up to %u us", rate, (double)interrupt / 1e3, SAMPLE_NS / 1000);
	diag__hint(d, "sample at %u or slower", (unsigned int)advised);
	return -EINVAL;
}

/* 0, or -errno: the event cannot be opened. */
static int measure(struct timer_gaps *g)
{
	/* The event counts on this thread's CPU only: other CPUs are not disturbed. */
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = TIMER_COST_PERIOD,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t start, last, now;

	if (fd < 0)
		return -errno;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	start = last = deadline__now();
	do {
		now = deadline__now();
		timer_cost__add(g, now - last);
		last = now;
	} while (g->ran < TIMER_COST_COUNT * TIMER_COST_PERIOD &&
		 now - start < (g->ran < COUNT_MIN * TIMER_COST_PERIOD ? TIME_MAX_STARVED : TIME_MAX));
	close(fd);
	return 0;
}

int timer_cost__check(uint32_t rate, struct diag *d)
{
	struct timer_gaps gaps = { 0 };

	if (rate <= TIMER_COST_RATE_SAFE)
		return 0;
	/* If the event cannot be opened, cpu_timers__open() tells why. */
	if (measure(&gaps))
		return 0;
	return timer_cost__judge(rate, timer_cost__estimate(&gaps), d);
}
