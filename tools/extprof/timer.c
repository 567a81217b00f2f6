/* SPDX-License-Identifier: BSD-2-Clause */
#include "timer.h"

#include <errno.h>
#include <string.h>

#define SECOND 1000000000ull

const char *const timer_names[TIMER_KINDS] = {
	[TIMER_CLOCK] = "clock",
	[TIMER_TICK] = "tick",
};

int timer__by_name(const char *name, enum timer_kind *kind)
{
	for (int i = 0; i < TIMER_KINDS; i++) {
		if (!strcmp(timer_names[i], name)) {
			*kind = (enum timer_kind)i;
			return 0;
		}
	}
	return -EINVAL;
}

uint32_t timer__tick_hz(uint64_t tick_ns)
{
	/* CONFIG_HZ is 24 to 1200 wherever there is one. */
	if (tick_ns < SECOND / 10000 || tick_ns > SECOND)
		return 0;
	return (uint32_t)((SECOND + tick_ns / 2) / tick_ns);
}

int timer__find_function(FILE *symbols, uint64_t *function)
{
	/* One after the other in the course of time; the newest was the name of
	 * something else in the time of the oldest. */
	static const char *const names[] = {
		"tick_sched_timer", "tick_nohz_highres_handler", "tick_nohz_handler",
	};
	size_t best = sizeof(names) / sizeof(names[0]);
	unsigned long long address;
	char line[512], name[128], module[2];

	while (best && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%llx %*c %127s %1s", &address, name, module) != 2)
			continue;	/* a module's, or no symbol */
		for (size_t i = 0; i < best; i++) {
			if (!strcmp(name, names[i])) {
				best = i;
				*function = address;
			}
		}
	}
	if (best == sizeof(names) / sizeof(names[0]))
		return -ENOENT;
	return *function ? 0 : -EPERM;
}

int timer__check_tick(uint32_t rate, const struct tick *tick, struct diag *d)
{
	size_t length = strcspn(tick->tickless, "\n");
	uint32_t hz = timer__tick_hz(tick->ns);

	if (!hz) {
		diag__set(d, STATUS_NO_BPF, ENODEV, "cannot tell how often this kernel's tick comes");
		diag__hint(d, "sample with --timer=clock");
		return -ENODEV;
	}
	if (rate > hz) {
		diag__set(d, STATUS_USAGE, EINVAL,
			  "a rate of %u is above that of this kernel's tick, %u per second", rate, hz);
		diag__hint(d, "sample at %u or slower, or with --timer=clock", hz);
		return -EINVAL;
	}
	/* It is a hrtimer only if those are better than itself. */
	if (tick->timer_ns >= tick->ns) {
		diag__set(d, STATUS_NO_BPF, ENODEV, "this kernel's timers have no high resolution");
		diag__hint(d, "sample with --timer=clock");
		return -ENODEV;
	}
	/* A kernel that could have such CPUs and has none says "(null)". */
	if (length && strncmp(tick->tickless, "(null)", length)) {
		diag__set(d, STATUS_NO_BPF, ENODEV, "the tick stops on busy CPUs here: %.*s (nohz_full)",
			  (int)length, tick->tickless);
		diag__hint(d, "sample with --timer=clock");
		return -ENODEV;
	}
	return 0;
}
