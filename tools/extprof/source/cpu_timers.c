/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/cpu_timers.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/permission.h"

#define ONLINE_FILE "/sys/devices/system/cpu/online"

static bool is_clock(const struct cpu_timers *t)
{
	return t->type == PERF_TYPE_SOFTWARE && t->config == PERF_COUNT_SW_CPU_CLOCK;
}

/* The file, or -1 and errno; ENODEV: the CPU is offline. */
static int open_event(const struct cpu_timers *t, int cpu)
{
	struct perf_event_attr attr = {
		.type = t->type,
		.size = sizeof(attr),
		.config = t->config,
		.sample_period = t->period,
		.disabled = 1,
		/* The kernel throttles an event that fired too often since the last
		 * scheduler tick.  An idle CPU has no tick, so the event would be
		 * throttled when the target wakes up there. */
		.exclude_idle = is_clock(t),
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* 0 also if the CPU is offline. */
static int open_timer(struct cpu_timers *t, int cpu, struct diag *d)
{
	int fd = open_event(t, cpu);

	if (fd < 0 && errno == ENODEV)
		return 0;
	if (fd < 0) {
		int err = -errno;

		if (err == -EPERM || err == -EACCES) {
			permission__missing(d, err, "open perf events of all processes");
		} else {
			diag__set(d, DIAG_NO_BPF, -err,
				  "cannot open a%s perf event on CPU %d: %s", is_clock(t) ? " cpu-clock" : "",
				  cpu, strerror(-err));
			if (t->type == PERF_TYPE_HARDWARE && (err == -ENOENT || err == -EOPNOTSUPP))
				diag__hint(d, "this machine has no such counter; a virtual machine has none unless its "
					   "hypervisor gives it some");
			if (err == -EMFILE)
				diag__hint(d, "one file per CPU is needed: raise ulimit -n");
		}
		return err;
	}
	t->fds[cpu] = fd;
	t->links[cpu] = bpf_program__attach_perf_event(t->program, fd);
	if (!t->links[cpu]) {
		int err = -errno;

		if (err == -EPERM || err == -EACCES)
			return permission__missing(d, err, "attach a BPF program to a perf event");
		return diag__set(d, DIAG_NO_BPF, -err,
				 "cannot attach to the timer of CPU %d: %s",
				 cpu, strerror(-err));
	}
	/* Attaching enables the event. */
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	t->online++;
	return 0;
}

static void close_timer(struct cpu_timers *t, int cpu)
{
	if (t->links[cpu])
		t->online--;
	bpf_link__destroy(t->links[cpu]);
	t->links[cpu] = NULL;
	if (t->fds[cpu] >= 0)
		close(t->fds[cpu]);
	t->fds[cpu] = -1;
}

int cpu_timers__open(struct cpu_timers *t, struct bpf_program *program, int cpus, uint64_t period,
		     struct diag *d)
{
	return cpu_timers__open_event(t, program, cpus, period, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, d);
}

int cpu_timers__open_event(struct cpu_timers *t, struct bpf_program *program, int cpus, uint64_t period,
			   uint32_t type, uint64_t config, struct diag *d)
{
	t->type = type;
	t->config = config;
	t->program = program;
	t->period = period;
	t->fds = malloc((size_t)cpus * sizeof(*t->fds));
	t->links = calloc((size_t)cpus, sizeof(*t->links));
	if (!t->fds || !t->links)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	t->cpus = cpus;
	for (int cpu = 0; cpu < cpus; cpu++)
		t->fds[cpu] = -1;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int err = open_timer(t, cpu, d);

		if (err)
			return err;
	}
	if (!t->online)
		return diag__set(d, DIAG_NO_BPF, ENODEV, "no CPU has such a perf event");
	return 0;
}

int cpu_timers__start(struct cpu_timers *t, struct diag *d)
{
	for (int cpu = 0; cpu < t->cpus; cpu++) {
		if (t->fds[cpu] >= 0 && ioctl(t->fds[cpu], PERF_EVENT_IOC_ENABLE, 0))
			return diag__set(d, DIAG_INTERNAL, errno,
					 "cannot start the timer of CPU %d: %s", cpu, strerror(errno));
	}
	return 0;
}

void cpu_timers__stop(struct cpu_timers *t)
{
	/* Disabling is a call on the event's CPU: no program runs after it. */
	for (int cpu = 0; cpu < t->cpus; cpu++)
		if (t->fds[cpu] >= 0)
			ioctl(t->fds[cpu], PERF_EVENT_IOC_DISABLE, 0);
}

int cpu_timers__set_period(struct cpu_timers *t, uint64_t period)
{
	t->period = period;
	for (int cpu = 0; cpu < t->cpus; cpu++)
		if (t->fds[cpu] >= 0 && ioctl(t->fds[cpu], PERF_EVENT_IOC_PERIOD, &period))
			return -errno;
	return 0;
}

/* True if the CPU is sampled or offline. */
static bool follow_cpu(struct cpu_timers *t, int cpu, struct diag *d)
{
	int fd;

	if (t->fds[cpu] >= 0) {
		/* When a CPU goes offline and comes back, its event does not start again
		 * and must be replaced. */
		fd = open_event(t, cpu);
		if (fd >= 0)
			close(fd);
		else if (errno == ENODEV)
			close_timer(t, cpu);
		return true;
	}
	if (open_timer(t, cpu, d) ||
	    (t->fds[cpu] >= 0 && ioctl(t->fds[cpu], PERF_EVENT_IOC_ENABLE, 0))) {
		close_timer(t, cpu);
		return false;
	}
	return true;
}

void cpu_timers__follow(struct cpu_timers *t)
{
	char text[sizeof(t->online_text)] = "";
	struct diag d = { 0 };
	uint32_t unsampled = 0;
	FILE *f = fopen(ONLINE_FILE, "re");

	if (!f)
		return;
	if (fgets(text, sizeof(text), f) && strcmp(text, t->online_text)) {
		strcpy(t->online_text, text);
		/* A container may show another list: the list only tells when to look. */
		for (int cpu = 0; cpu < t->cpus; cpu++)
			unsampled += !follow_cpu(t, cpu, &d);
		/* Each look finds the same CPUs again: the numbers are not added. */
		if (unsampled > t->unsampled)
			t->unsampled = unsampled;
	}
	fclose(f);
}

void cpu_timers__close(struct cpu_timers *t)
{
	for (int cpu = 0; cpu < t->cpus; cpu++)
		close_timer(t, cpu);
	free(t->links);
	free(t->fds);
	memset(t, 0, sizeof(*t));
}
