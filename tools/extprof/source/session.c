/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "source/cpu_timers.h"
#include "extprof.skel.h"
#include "source/permission.h"
#include "source/timer_cost.h"

#define RING_MIN (1u << 20)
#define RING_MAX (64u << 20)

struct session {
	struct extprof_bpf *skel;
	struct bpf_program *program;	/* of the skeleton's the one for timer and kernel */
	struct ring_buffer *ring;
	struct cpu_timers timers;
	struct bpf_link *tick_link;	/* while the tick runs the program */
	uint32_t tick_hz;	/* 0: our own timers */
	struct tick tick;
	int cpus;		/* possible ones */
	int online;		/* that have a tick */
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

static int load_failed(struct session *s, int err, struct diag *d)
{
	/* The verifier refuses with EACCES too. */
	if (err == -EPERM || (err == -EACCES && !permission__granted())) {
		permission__missing(d, err, "load a BPF program");
		goto advise;
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		diag__set(d, DIAG_NO_BPF, -err,
			  "this kernel does not describe its types (no /sys/kernel/btf/vmlinux)");
		diag__hint(d, "extprof needs a kernel built with CONFIG_DEBUG_INFO_BTF=y, "
			   "as those of all common distributions are since 2021");
		return err;
	}
	diag__set(d, DIAG_NO_BPF, -err, "this kernel does not take the BPF program: %s%s%s",
		  strerror(-err), s->log[0] ? "; " : "", s->log);
	diag__hint(d, "extprof needs Linux 5.11 or later with CONFIG_BPF_SYSCALL, "
		   "CONFIG_BPF_EVENTS and CONFIG_PERF_EVENTS");
advise:
	/* The clock needs less, but the same capabilities. */
	if (s->tick_hz && permission__granted())
		diag__advise(d, ADVICE_CLOCK, 0);
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

static int open_tick(struct session *s, uint32_t rate, struct diag *d)
{
	int err = timer__read_tick(rate, &s->tick, d);

	if (err)
		return err;
	s->tick_hz = timer__tick_hz(s->tick.ns);
	s->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (s->online < 1)
		return diag__set(d, DIAG_INTERNAL, ENODEV, "cannot count the CPUs");
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
		permission__missing(d, err, "attach a BPF program to a tracepoint");
	else
		diag__set(d, DIAG_NO_BPF, -err, "cannot attach to the scheduler's tick: %s",
			  strerror(-err));
	/* Without the capabilities the clock is forbidden too. */
	if (d->code != DIAG_PERMISSION || permission__granted())
		diag__advise(d, ADVICE_CLOCK, 0);
	return err;
}

static int on_sample(void *context, void *data, size_t size)
{
	struct session *s = context;

	return s->callback(s->context, data, size) ? 0 : -ECANCELED;
}

int session__open(struct session **session, const struct session_options *options, struct diag *d)
{
	unsigned long max_rate = timer__max_rate();
	struct bpf_program *program;
	struct session *s;
	bool by_tick, timed;
	int err;

	*session = NULL;
	if (options->size != sizeof(*options))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of session_options");
	if (options->rate < 1 || options->rate > SESSION_RATE_MAX)
		return diag__set(d, DIAG_USAGE, EINVAL, "the rate must be 1 to %u per second",
				 SESSION_RATE_MAX);
	if (options->timer == TIMER_CLOCK && max_rate && options->rate > max_rate) {
		/* The kernel would throttle, and not tell how much. */
		diag__set(d, DIAG_USAGE, EINVAL,
			  "a rate of %u is above kernel.perf_event_max_sample_rate (%lu)",
			  options->rate, max_rate);
		diag__hint(d, "sample slower, or: sysctl kernel.perf_event_max_sample_rate=%u",
			   options->rate);
		return -EINVAL;
	}
	if (options->timer == TIMER_CLOCK && (err = timer_cost__check(options->rate, d)))
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->period = 1000000000ull / options->rate;
	s->cpus = libbpf_num_possible_cpus();
	if (s->cpus < 1) {
		err = diag__set(d, DIAG_INTERNAL, ENODEV, "cannot count the CPUs");
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
		err = diag__set(d, DIAG_NO_BPF, errno, "cannot map the ring buffer: %s",
				strerror(errno));
		goto cleanup;
	}
	err = by_tick ? 0 : cpu_timers__open(&s->timers, s->program, s->cpus, s->period, d);
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
	cpu_timers__close(&s->timers);
	ring_buffer__free(s->ring);
	extprof_bpf__destroy(s->skel);
	if (logging == s)
		logging = NULL;
	free(s);
}

int session__add_target(struct session *s, const struct target_key *key,
			const struct target_config *config, struct diag *d)
{
	int err = bpf_map_update_elem(bpf_map__fd(s->skel->maps.targets), key, config, BPF_ANY);

	if (err)
		return diag__set(d, DIAG_INTERNAL, -err, "cannot set the target: %s",
				 strerror(-err));
	return 0;
}

static void init_thinning(const struct session *s, struct source_counters *counters)
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
	struct source_counters *zeros = calloc((size_t)s->cpus, sizeof(*zeros));
	uint32_t zero = 0;

	if (zeros && s->tick_hz)
		init_thinning(s, zeros);
	/* The timers ran for a moment when the program was attached. */
	if (!zeros || bpf_map_update_elem(bpf_map__fd(s->skel->maps.counters), &zero, zeros, BPF_ANY)) {
		free(zeros);
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "cannot reset the counters");
	}
	free(zeros);
	return s->tick_hz ? attach_tick(s, d) : cpu_timers__start(&s->timers, d);
}

void session__stop(struct session *s)
{
	cpu_timers__stop(&s->timers);
	if (s->tick_link) {
		bpf_link__destroy(s->tick_link);
		s->tick_link = NULL;
		/* A tick that is in the program is a reader for RCU. */
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	}
}

void session__follow_cpus(struct session *s)
{
	/* The tick is there on every CPU. */
	if (!s->tick_hz)
		cpu_timers__follow(&s->timers);
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

void session__counters(const struct session *s, struct source_counters *total)
{
	struct source_counters *values = calloc((size_t)s->cpus, sizeof(*values));
	uint32_t zero = 0;

	memset(total, 0, sizeof(*total));
	if (!values)
		return;
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &zero, values))
		goto cleanup;
	for (int cpu = 0; cpu < s->cpus; cpu++) {
		const struct source_counters *c = &values[cpu];

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
	return (uint32_t)(s->tick_hz ? s->online : s->timers.online);
}

uint32_t session__unsampled(const struct session *s)
{
	return s->timers.unsampled;
}

uint64_t session__period(const struct session *s)
{
	return s->period;
}
