/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/timer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000000ull

#define TICKLESS_FILE "/sys/devices/system/cpu/nohz_full"

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
	/* The function's names over time, oldest first.  In kernels of the oldest name the
	 * newest one was another function, so an older name wins. */
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
		diag__set(d, DIAG_NO_BPF, ENODEV, "cannot tell how often this kernel's tick comes");
		diag__advise(d, ADVICE_CLOCK, 0);
		return -ENODEV;
	}
	if (rate > hz) {
		diag__set(d, DIAG_USAGE, EINVAL,
			  "a rate of %u is above that of this kernel's tick, %u per second", rate, hz);
		diag__hint(d, "sample at %u or slower", hz);
		diag__advise(d, ADVICE_CLOCK, 0);
		return -EINVAL;
	}
	/* The tick is an hrtimer only if hrtimers are finer than the tick. */
	if (tick->timer_ns >= tick->ns) {
		diag__set(d, DIAG_NO_BPF, ENODEV, "this kernel's timers have no high resolution");
		diag__advise(d, ADVICE_CLOCK, 0);
		return -ENODEV;
	}
	/* A kernel without such CPUs that could have them says "(null)". */
	if (length && strncmp(tick->tickless, "(null)", length)) {
		diag__set(d, DIAG_NO_BPF, ENODEV, "the tick stops on busy CPUs here: %.*s (nohz_full)",
			  (int)length, tick->tickless);
		diag__advise(d, ADVICE_CLOCK, 0);
		return -ENODEV;
	}
	return 0;
}

/* 0 also if there is no such file. */
static unsigned long read_number(const char *path)
{
	unsigned long number = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lu", &number) != 1)
		number = 0;
	fclose(f);
	return number;
}

unsigned long timer__max_rate(void)
{
	return read_number("/proc/sys/kernel/perf_event_max_sample_rate");
}

static uint64_t resolution(clockid_t clock)
{
	struct timespec t;

	return clock_getres(clock, &t) ? 0 : (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Find the function by which sample_tick() recognises the tick. */
static int find_tick(struct tick *tick, struct diag *d)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	int err = f ? timer__find_function(f, &tick->function) : -errno;

	if (f)
		fclose(f);
	if (err == -EPERM || err == -EACCES) {
		diag__set(d, DIAG_PERMISSION, -err, "no permission to see addresses in /proc/kallsyms");
		/* 2 hides them from root too. */
		diag__hint(d, read_number("/proc/sys/kernel/kptr_restrict") >= 2 ?
			   "sysctl kernel.kptr_restrict=1 shows them to root" :
			   "run extprof as root or give it the capability CAP_SYSLOG too");
		diag__advise(d, ADVICE_CLOCK, 0);
	} else if (err) {
		diag__set(d, DIAG_NO_BPF, -err,
			  "the scheduler's tick is not to be found in this kernel's /proc/kallsyms");
		diag__advise(d, ADVICE_CLOCK, 0);
	}
	return err;
}

int timer__read_tick(uint32_t rate, struct tick *tick, struct diag *d)
{
	FILE *f = fopen(TICKLESS_FILE, "re");
	int err;

	memset(tick, 0, sizeof(*tick));
	tick->ns = resolution(CLOCK_MONOTONIC_COARSE);
	tick->timer_ns = resolution(CLOCK_MONOTONIC);
	if (f && !fgets(tick->tickless, sizeof(tick->tickless), f))
		tick->tickless[0] = '\0';
	if (f)
		fclose(f);
	err = timer__check_tick(rate, tick, d);
	return err ? err : find_tick(tick, d);
}
