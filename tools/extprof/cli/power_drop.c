/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/uprobe_multi.h"
#include "cli/power.h"

#define CAPS_MAX 64

static uint64_t get(cap_t state, cap_flag_t flag)
{
	uint64_t mask = 0;

	for (cap_value_t cap = 0; cap < CAPS_MAX && cap < (cap_value_t)cap_max_bits(); cap++) {
		cap_flag_value_t value;

		if (!cap_get_flag(state, cap, flag, &value) && value == CAP_SET)
			mask |= 1ull << cap;
	}
	return mask;
}

static void set(cap_t state, cap_flag_t flag, uint64_t mask)
{
	cap_clear_flag(state, flag);
	for (cap_value_t cap = 0; cap < CAPS_MAX; cap++)
		if (mask >> cap & 1)
			cap_set_flag(state, flag, 1, &cap, CAP_SET);
}

static bool has_old_kernel(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 11));
}

static bool set_effective(cap_t state, uint64_t effective)
{
	set(state, CAP_EFFECTIVE, effective);
	return !cap_set_proc(state);
}

/* A timer as the one of mode cpu, which never runs. */
static bool may_open_timer(cap_t state, uint64_t effective)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000, .disabled = 1,
	};
	int fd;

	if (!set_effective(state, effective))
		return false;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* An event for a probe in no file. */
static bool may_open_probe(cap_t state, uint64_t effective, uint32_t type)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr) };
	int fd;

	if (!set_effective(state, effective))
		return false;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

/* perf's number for probes in programs; 0: it has none. */
static uint32_t probe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	unsigned int type = 0;

	if (f && fscanf(f, "%u", &type) != 1)
		type = 0;
	if (f)
		fclose(f);
	return type;
}

/*
 * Kernels of some distributions refuse CAP_PERFMON while kernel.perf_event_paranoid is 3 or 4.  And those that were mended for
 * CVE-2025-38466 refuse it for probes, unless they are attached by links of the kind uprobe_multi.
 */
static bool perf_wants_admin(cap_t state, const struct power_needs *n, uint64_t permitted, uint64_t effective)
{
	uint64_t admin = 1ull << CAP_SYS_ADMIN, wanted = power__wanted(n, permitted);
	bool wants = false;

	if (n->kernel && effective & admin & ~wanted) {
		uint32_t type = uprobe_multi__exists() ? 0 : probe_type();

		wants = (!may_open_timer(state, wanted & effective) && may_open_timer(state, (wanted | admin) & effective)) ||
			(type && !may_open_probe(state, wanted & effective, type) &&
			 may_open_probe(state, (wanted | admin) & effective, type));
		set_effective(state, effective);
	}
	return wants;
}

/* May the memory of another process be opened, which has all capabilities that this one has? */
static bool may_read_who_has_more(cap_t state, uint64_t with, uint64_t effective)
{
	/* Its end sends no SIGCHLD. */
	pid_t parent = getpid(), pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	char path[32];
	int fd = -1;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	if (pid < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	if (set_effective(state, with))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	set_effective(state, effective);
	if (fd >= 0)
		close(fd);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return fd >= 0;
}

void power__give_back(const struct power_needs *needs)
{
	struct power_needs n = *needs;
	cap_t state = cap_get_proc();
	uint64_t permitted, effective, wanted;

	if (!state) {
		fprintf(stderr, "extprof: the capabilities are not known, and none is given back: %s\n", strerror(errno));
		return;
	}
	permitted = get(state, CAP_PERMITTED);
	effective = get(state, CAP_EFFECTIVE);
	n.locked_memory = has_old_kernel();
	n.admin = perf_wants_admin(state, &n, permitted, effective);
	wanted = power__wanted(&n, permitted);
	/* Where all of them do not help either, they are not kept. */
	if (n.processes && wanted != permitted && !may_read_who_has_more(state, wanted & effective, effective) &&
	    may_read_who_has_more(state, effective, effective)) {
		n.only_equals = true;
		wanted = power__wanted(&n, permitted);
	}
	/* This takes a capability itself, CAP_SETPCAP.  The last step does without. */
	for (cap_value_t cap = 0; cap < CAPS_MAX && cap_get_bound(cap) >= 0; cap++)
		if (cap_get_bound(cap) > 0)
			cap_drop_bound(cap);
	set(state, CAP_PERMITTED, wanted);
	set(state, CAP_EFFECTIVE, wanted & effective);
	/* The kernel takes a capability that is not inheritable out of the ambient set, too. */
	set(state, CAP_INHERITABLE, 0);
	if (cap_set_proc(state))
		fprintf(stderr, "extprof: capabilities cannot be given back: %s\n", strerror(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fprintf(stderr, "extprof: no_new_privs cannot be set: %s\n", strerror(errno));
	cap_free(state);
}
