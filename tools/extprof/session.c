/* SPDX-License-Identifier: BSD-2-Clause */
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "extprof.skel.h"

#define RING_MIN (1u << 20)
#define RING_MAX (64u << 20)

#define ONLINE_FILE "/sys/devices/system/cpu/online"
#define TICKLESS_FILE "/sys/devices/system/cpu/nohz_full"

struct session {
	struct extprof_bpf *skel;
	struct bpf_program *program;	/* of the skeleton's the one for timer and kernel */
	struct ring_buffer *ring;
	int *perf_fds;
	struct bpf_link **links;
	struct bpf_link *tick_link;	/* while the tick runs the program */
	uint32_t tick_hz;	/* 0: our own timers */
	struct tick tick;
	int cpus;		/* possible ones: length of the arrays */
	int online;
	char online_text[4096];	/* when last looked at */
	uint32_t unsampled;	/* CPUs that came and could not be sampled */
	uint64_t period;
	session_callback callback;
	void *context;
	char log[256];		/* libbpf's last complaint */
};

/* libbpf reports by a callback without context. */
static struct session *logging;

static int keep_log(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[256];

	if (level != LIBBPF_WARN || !logging)
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	/* The first one is the cause; the others follow from it. */
	if (!logging->log[0])
		snprintf(logging->log, sizeof(logging->log), "%s", line);
	return 0;
}

/* All that loading and attaching need? */
static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return false;
#define HAS(cap) (data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap))
	return HAS(CAP_SYS_ADMIN) || (HAS(CAP_BPF) && HAS(CAP_PERFMON));
#undef HAS
}

static int no_permission(struct diag *d, int err, const char *what, const char *or_else)
{
	diag__set(d, STATUS_PERMISSION, -err, "no permission to %s", what);
	if (has_capabilities())
		diag__hint(d, "extprof has the capabilities, so something else forbids it: a container's "
			   "seccomp profile or user namespace, a security module, or the kernel's "
			   "lockdown (/sys/kernel/security/lockdown)%s", or_else);
	else
		diag__hint(d, "run extprof as root or give it the capabilities CAP_BPF and CAP_PERFMON "
			   "(before Linux 5.8: CAP_SYS_ADMIN), and CAP_SYS_PTRACE for processes of other "
			   "users: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep extprof");
	return err;
}

static int load_failed(struct session *s, int err, struct diag *d)
{
	/* The verifier refuses with EACCES too. */
	if (err == -EPERM || (err == -EACCES && !has_capabilities()))
		return no_permission(d, err, "load a BPF program",
				     s->tick_hz ? "; --timer=clock may be allowed" : "");
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		diag__set(d, STATUS_NO_BPF, -err,
			  "this kernel does not describe its types (no /sys/kernel/btf/vmlinux)");
		diag__hint(d, "extprof needs a kernel built with CONFIG_DEBUG_INFO_BTF=y, "
			   "as those of all common distributions are since 2021");
		return err;
	}
	diag__set(d, STATUS_NO_BPF, -err, "this kernel does not take the BPF program: %s%s%s",
		  strerror(-err), s->log[0] ? "; " : "", s->log);
	diag__hint(d, "extprof needs Linux 5.11 or later with CONFIG_BPF_SYSCALL, "
		   "CONFIG_BPF_EVENTS and CONFIG_PERF_EVENTS%s",
		   s->tick_hz ? "; --timer=clock needs less" : "");
	return err;
}

static uint32_t ring_size(uint32_t rate, int cpus)
{
	/* Half a second of stacks of 100 frames on all CPUs. */
	uint64_t wanted = (uint64_t)rate * (uint32_t)cpus * 1700 / 2;
	uint32_t size = RING_MIN;

	while (size < wanted && size < RING_MAX)
		size *= 2;
	return size;
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

/* The file, or -1 and errno; ENODEV: the CPU is offline. */
static int open_event(const struct session *s, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = s->period,
		.disabled = 1,
		/* The kernel throttles what has fired too often since the last
		 * scheduler tick, which an idle CPU has not: the target would
		 * be missed when it wakes up there. */
		.exclude_idle = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* 0 also if the CPU is offline. */
static int open_timer(struct session *s, int cpu, struct diag *d)
{
	int fd = open_event(s, cpu);

	if (fd < 0 && errno == ENODEV)
		return 0;
	if (fd < 0) {
		int err = -errno;

		if (err == -EPERM || err == -EACCES) {
			no_permission(d, err, "open perf events of all processes", "");
		} else {
			diag__set(d, STATUS_NO_BPF, -err,
				  "cannot open a cpu-clock perf event on CPU %d: %s",
				  cpu, strerror(-err));
			if (err == -EMFILE)
				diag__hint(d, "one file per CPU is needed: raise ulimit -n");
		}
		return err;
	}
	s->perf_fds[cpu] = fd;
	s->links[cpu] = bpf_program__attach_perf_event(s->program, fd);
	if (!s->links[cpu]) {
		int err = -errno;

		if (err == -EPERM || err == -EACCES)
			return no_permission(d, err, "attach a BPF program to a perf event", "");
		return diag__set(d, STATUS_NO_BPF, -err,
				 "cannot attach to the timer of CPU %d: %s",
				 cpu, strerror(-err));
	}
	/* Attaching enables it. */
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	s->online++;
	return 0;
}

static void close_timer(struct session *s, int cpu)
{
	if (s->links[cpu])
		s->online--;
	bpf_link__destroy(s->links[cpu]);
	s->links[cpu] = NULL;
	if (s->perf_fds[cpu] >= 0)
		close(s->perf_fds[cpu]);
	s->perf_fds[cpu] = -1;
}

static int open_timers(struct session *s, struct diag *d)
{
	for (int cpu = 0; cpu < s->cpus; cpu++) {
		int err = open_timer(s, cpu, d);

		if (err)
			return err;
	}
	if (!s->online)
		return diag__set(d, STATUS_NO_BPF, ENODEV, "no CPU has a cpu-clock perf event");
	return 0;
}

static uint64_t resolution(clockid_t clock)
{
	struct timespec t;

	return clock_getres(clock, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* What sample_tick() knows the tick by. */
static int find_tick(struct tick *tick, struct diag *d)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	int err = f ? timer__find_function(f, &tick->function) : -errno;

	if (f)
		fclose(f);
	if (err == -EPERM || err == -EACCES) {
		diag__set(d, STATUS_PERMISSION, -err, "no permission to see addresses in /proc/kallsyms");
		/* 2 hides them from root too. */
		diag__hint(d, read_number("/proc/sys/kernel/kptr_restrict") >= 2 ?
			   "sysctl kernel.kptr_restrict=1 shows them to root, or sample with --timer=clock" :
			   "run extprof as root or give it the capability CAP_SYSLOG too, or sample "
			   "with --timer=clock");
	} else if (err) {
		diag__set(d, STATUS_NO_BPF, -err,
			  "the scheduler's tick is not to be found in this kernel's /proc/kallsyms");
		diag__hint(d, "sample with --timer=clock");
	}
	return err;
}

static int open_tick(struct session *s, uint32_t rate, struct diag *d)
{
	struct tick tick = {
		.ns = resolution(CLOCK_MONOTONIC_COARSE),
		.timer_ns = resolution(CLOCK_MONOTONIC),
	};
	FILE *f = fopen(TICKLESS_FILE, "re");
	int err;

	if (f && !fgets(tick.tickless, sizeof(tick.tickless), f))
		tick.tickless[0] = '\0';
	if (f)
		fclose(f);
	err = timer__check_tick(rate, &tick, d);
	if (!err)
		err = find_tick(&tick, d);
	if (err)
		return err;
	s->tick = tick;
	s->tick_hz = timer__tick_hz(tick.ns);
	s->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (s->online < 1)
		return diag__set(d, STATUS_INTERNAL, ENODEV, "cannot count the CPUs");
	return 0;
}

static int attach_tick(struct session *s, struct diag *d)
{
	int err;

	s->tick_link = bpf_program__attach(s->program);
	if (s->tick_link)
		return 0;
	err = -errno;
	if (err == -EPERM || err == -EACCES)
		return no_permission(d, err, "attach a BPF program to a tracepoint",
				     "; --timer=clock may be allowed");
	diag__set(d, STATUS_NO_BPF, -err, "cannot attach to the scheduler's tick: %s", strerror(-err));
	diag__hint(d, "sample with --timer=clock");
	return err;
}

static int on_sample(void *context, void *data, size_t size)
{
	struct session *s = context;

	return s->callback(s->context, data, size) ? 0 : -ECANCELED;
}

int session__open(struct session **session, const struct session_options *options, struct diag *d)
{
	unsigned long max_rate = read_number("/proc/sys/kernel/perf_event_max_sample_rate");
	struct bpf_program *program;
	struct session *s;
	bool by_tick, timed;
	int err;

	*session = NULL;
	if (options->size != sizeof(*options))
		return diag__set(d, STATUS_INTERNAL, EINVAL, "wrong size of session_options");
	if (options->rate < 1 || options->rate > SESSION_RATE_MAX)
		return diag__set(d, STATUS_USAGE, EINVAL, "the rate must be 1 to %u per second",
				 SESSION_RATE_MAX);
	if (options->timer == TIMER_CLOCK && max_rate && options->rate > max_rate) {
		/* The kernel would throttle, and not tell how much. */
		diag__set(d, STATUS_USAGE, EINVAL,
			  "a rate of %u is above kernel.perf_event_max_sample_rate (%lu)",
			  options->rate, max_rate);
		diag__hint(d, "sample slower, or: sysctl kernel.perf_event_max_sample_rate=%u",
			   options->rate);
		return -EINVAL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, STATUS_INTERNAL, ENOMEM, "out of memory");
	s->period = 1000000000ull / options->rate;
	s->cpus = libbpf_num_possible_cpus();
	if (s->cpus < 1) {
		err = diag__set(d, STATUS_INTERNAL, ENODEV, "cannot count the CPUs");
		goto cleanup;
	}
	s->perf_fds = malloc((size_t)s->cpus * sizeof(*s->perf_fds));
	for (int i = 0; s->perf_fds && i < s->cpus; i++)
		s->perf_fds[i] = -1;
	s->links = calloc((size_t)s->cpus, sizeof(*s->links));
	if (!s->perf_fds || !s->links) {
		err = diag__set(d, STATUS_INTERNAL, ENOMEM, "out of memory");
		goto cleanup;
	}

	logging = s;
	libbpf_set_print(keep_log);
	if (options->timer == TIMER_TICK && (err = open_tick(s, options->rate, d)))
		goto cleanup;
	/* libbpf raises RLIMIT_MEMLOCK only for kernels before 5.11, which
	 * charge maps to it, and goes on if it may not. */
	s->skel = extprof_bpf__open();
	if (!s->skel) {
		err = load_failed(s, -errno, d);
		goto cleanup;
	}
	timed = libbpf_find_vmlinux_btf_id("bpf_cast_to_kern_ctx", BPF_TRACE_FENTRY) > 0;
	by_tick = options->timer == TIMER_TICK;
	s->program = by_tick ? s->skel->progs.sample_tick :
		     timed ? s->skel->progs.sample_timed : s->skel->progs.sample;
	bpf_object__for_each_program(program, s->skel->obj)
		bpf_program__set_autoload(program, program == s->program);
	s->skel->rodata->period = s->period;
	s->skel->rodata->tick_rate = options->rate;
	s->skel->rodata->tick_hz = s->tick_hz;
	s->skel->rodata->tick_ns = s->tick.ns;
	s->skel->rodata->tick_function = s->tick.function;
	s->skel->rodata->wakeup_bytes = ring_size(options->rate, s->cpus) / 4;
	if ((err = bpf_map__set_max_entries(s->skel->maps.samples,
					    ring_size(options->rate, s->cpus))) ||
	    (err = bpf_map__set_max_entries(s->skel->maps.scratch, (uint32_t)s->cpus)) ||
	    (err = extprof_bpf__load(s->skel))) {
		err = load_failed(s, err, d);
		goto cleanup;
	}
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.samples), on_sample, s, NULL);
	if (!s->ring) {
		err = diag__set(d, STATUS_NO_BPF, errno, "cannot map the ring buffer: %s",
				strerror(errno));
		goto cleanup;
	}
	err = by_tick ? 0 : open_timers(s, d);
	if (err)
		goto cleanup;
	*session = s;
	s = NULL;
cleanup:
	session__close(s);
	return err;
}

void session__close(struct session *s)
{
	if (!s)
		return;
	session__stop(s);
	for (int i = 0; s->links && s->perf_fds && i < s->cpus; i++)
		close_timer(s, i);
	ring_buffer__free(s->ring);
	extprof_bpf__destroy(s->skel);
	free(s->links);
	free(s->perf_fds);
	if (logging == s)
		logging = NULL;
	free(s);
}

int session__add_target(struct session *s, const struct target_key *key,
			const struct target_config *config, struct diag *d)
{
	int err = bpf_map_update_elem(bpf_map__fd(s->skel->maps.targets), key, config, BPF_ANY);

	if (err)
		return diag__set(d, STATUS_INTERNAL, -err, "cannot set the target: %s",
				 strerror(-err));
	return 0;
}

static void init_thinning(const struct session *s, struct cpu_counters *counters)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)time(NULL) << 32 | (uint32_t)getpid();
	for (int i = 0; i < s->cpus; i++)
		thinning__init(&counters[i].thinning, s->tick_hz,
			       seed + (uint64_t)i * 0x9e3779b97f4a7c15ull);
}

int session__start(struct session *s, struct diag *d)
{
	struct cpu_counters *zeros = calloc((size_t)s->cpus, sizeof(*zeros));
	uint32_t zero = 0;

	if (zeros && s->tick_hz)
		init_thinning(s, zeros);
	/* The timers ran for a moment when the program was attached. */
	if (!zeros || bpf_map_update_elem(bpf_map__fd(s->skel->maps.counters), &zero, zeros, BPF_ANY)) {
		free(zeros);
		return diag__set(d, STATUS_INTERNAL, ENOMEM, "cannot reset the counters");
	}
	free(zeros);
	if (s->tick_hz)
		return attach_tick(s, d);
	for (int i = 0; i < s->cpus; i++) {
		if (s->perf_fds[i] >= 0 && ioctl(s->perf_fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return diag__set(d, STATUS_INTERNAL, errno,
					 "cannot start the timer of CPU %d: %s", i, strerror(errno));
	}
	return 0;
}

void session__stop(struct session *s)
{
	/* Disabling is a call on the event's CPU: no program runs after it. */
	for (int i = 0; s->perf_fds && i < s->cpus; i++)
		if (s->perf_fds[i] >= 0)
			ioctl(s->perf_fds[i], PERF_EVENT_IOC_DISABLE, 0);
	if (s->tick_link) {
		bpf_link__destroy(s->tick_link);
		s->tick_link = NULL;
		/* A tick that is in the program is a reader for RCU. */
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	}
}

/* Whether it is sampled, or offline. */
static bool follow_cpu(struct session *s, int cpu, struct diag *d)
{
	int fd;

	if (s->perf_fds[cpu] >= 0) {
		/* The event of a CPU that went is not started again when that
		 * comes back: then there has to be another one. */
		fd = open_event(s, cpu);
		if (fd >= 0)
			close(fd);
		else if (errno == ENODEV)
			close_timer(s, cpu);
		return true;
	}
	if (open_timer(s, cpu, d) ||
	    (s->perf_fds[cpu] >= 0 && ioctl(s->perf_fds[cpu], PERF_EVENT_IOC_ENABLE, 0))) {
		close_timer(s, cpu);
		return false;
	}
	return true;
}

void session__follow_cpus(struct session *s)
{
	char text[sizeof(s->online_text)] = "";
	struct diag d = { 0 };
	uint32_t unsampled = 0;
	FILE *f;

	/* The tick is there on every CPU. */
	if (s->tick_hz)
		return;
	f = fopen(ONLINE_FILE, "re");
	if (!f)
		return;
	if (fgets(text, sizeof(text), f) && strcmp(text, s->online_text)) {
		strcpy(s->online_text, text);
		/* In a container the list may be another one: it only says when to look. */
		for (int cpu = 0; cpu < s->cpus; cpu++)
			unsampled += !follow_cpu(s, cpu, &d);
		/* The same ones are met at each look. */
		if (unsampled > s->unsampled)
			s->unsampled = unsampled;
	}
	fclose(f);
}

int session__fd(const struct session *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

int session__drain(struct session *s, session_callback callback, void *context)
{
	s->callback = callback;
	s->context = context;
	return ring_buffer__consume(s->ring);
}

void session__counters(const struct session *s, struct cpu_counters *total)
{
	struct cpu_counters *values = calloc((size_t)s->cpus, sizeof(*values));
	uint32_t zero = 0;

	memset(total, 0, sizeof(*total));
	if (!values)
		return;
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &zero, values))
		goto cleanup;
	for (int cpu = 0; cpu < s->cpus; cpu++) {
		const struct cpu_counters *c = &values[cpu];

		total->missed += c->missed;
		total->taken += c->taken;
		total->whole += c->whole;
		for (int i = 0; i < TRUNC_MAX; i++)
			total->truncated[i] += c->truncated[i];
		for (int i = 0; i < LOSS_MAX; i++)
			total->lost[i] += c->lost[i];
	}
cleanup:
	free(values);
}

uint32_t session__cpus(const struct session *s)
{
	return (uint32_t)s->online;
}

uint32_t session__unsampled(const struct session *s)
{
	return s->unsampled;
}

uint64_t session__period(const struct session *s)
{
	return s->period;
}
