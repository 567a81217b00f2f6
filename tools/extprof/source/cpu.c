/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of what runs: by a timer of our own on each CPU, or by the scheduler's tick. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "extprof.skel.h"
#include "source/cpu_timers.h"
#include "source/permission.h"
#include "source/source.h"
#include "source/timer_cost.h"

struct source {
	struct source_options options;
	struct bpf_program *program;	/* the one for this timer and this kernel */
	struct cpu_timers timers;
	struct bpf_link *tick_link;	/* while the tick runs the program */
	uint32_t tick_hz;		/* 0: our own timers */
	struct tick tick;
	int cpus;			/* possible ones */
	int online;			/* that have a tick */
	uint64_t period;		/* ns */
};

static int read_tick(struct source *s, struct diag *d)
{
	int err = timer__read_tick(s->options.rate, &s->tick, d);

	if (err)
		return err;
	s->tick_hz = timer__tick_hz(s->tick.ns);
	s->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (s->online < 1)
		return diag__set(d, DIAG_INTERNAL, ENODEV, "cannot count the CPUs");
	return 0;
}

static int check_rate(const struct source_options *o, struct diag *d)
{
	unsigned long most = timer__max_rate();

	if (o->rate < 1 || o->rate > SOURCE_RATE_MAX)
		return diag__set(d, DIAG_USAGE, EINVAL, "the rate must be 1 to %u per second", SOURCE_RATE_MAX);
	if (o->timer != TIMER_CLOCK)
		return 0;
	if (most && o->rate > most) {
		/* The kernel would throttle, and not tell how much. */
		diag__set(d, DIAG_USAGE, EINVAL,
			  "a rate of %u is above kernel.perf_event_max_sample_rate (%lu)", o->rate, most);
		diag__hint(d, "sample slower, or: sysctl kernel.perf_event_max_sample_rate=%u", o->rate);
		return -EINVAL;
	}
	return timer_cost__check(o->rate, d);
}

static void detach(struct source *s)
{
	bpf_link__destroy(s->tick_link);
	s->tick_link = NULL;
}

static void cpu__destroy(struct source *s)
{
	if (!s)
		return;
	detach(s);
	cpu_timers__close(&s->timers);
	free(s);
}

static int cpu__create(struct source **source, const struct source_options *o, struct diag *d)
{
	struct source *s;
	int err;

	*source = NULL;
	if (o->size != sizeof(*o))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of source_options");
	err = check_rate(o, d);
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->options = *o;
	s->period = 1000000000ull / o->rate;
	s->cpus = libbpf_num_possible_cpus();
	if (s->cpus < 1)
		err = diag__set(d, DIAG_INTERNAL, ENODEV, "cannot count the CPUs");
	else if (o->timer == TIMER_TICK)
		err = read_tick(s, d);
	if (err) {
		cpu__destroy(s);
		return err;
	}
	*source = s;
	return 0;
}

/* Tell the programs the rate. */
static void set_period(const struct source *s, struct extprof_bpf *skel)
{
	skel->bss->period = s->period;
	skel->data->tick_rate = s->options.rate;
}

static int cpu__configure(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	bool timed = libbpf_find_vmlinux_btf_id("bpf_cast_to_kern_ctx", BPF_TRACE_FENTRY) > 0;

	(void)d;
	s->program = s->options.native ? skel->progs.sample_native : s->options.timer == TIMER_TICK ? skel->progs.sample_tick :
		     timed ? skel->progs.sample_timed : skel->progs.sample;
	bpf_program__set_autoload(s->program, true);
	set_period(s, skel);
	skel->rodata->tick_hz = s->tick_hz;
	skel->rodata->tick_ns = s->tick.ns;
	skel->rodata->tick_function = s->tick.function;
	return 0;
}

static int cpu__open(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	(void)skel;
	return s->tick_hz ? 0 : cpu_timers__open(&s->timers, s->program, s->cpus, s->period, d);
}

static int init_thinning(const struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	/* The kernel rounds the values of all CPUs up to 8 bytes. */
	struct thinning *values = calloc((size_t)s->cpus, sizeof(*values));
	uint64_t seed = 0;
	uint32_t zero = 0;
	int err = -ENOMEM;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)time(NULL) << 32 | (uint32_t)getpid();
	for (int i = 0; values && i < s->cpus; i++)
		thinning__init(&values[i], s->tick_hz, seed + (uint64_t)i * 0x9e3779b97f4a7c15ull);
	if (values)
		err = bpf_map_update_elem(bpf_map__fd(skel->maps.thinnings), &zero, values, BPF_ANY);
	free(values);
	return err ? diag__set(d, DIAG_INTERNAL, -err, "cannot set which ticks are samples") : 0;
}

static int attach_tick(struct source *s, struct diag *d)
{
	int err;

	if (!s->tick_link)
		s->tick_link = bpf_program__attach(s->program);
	if (s->tick_link)
		return 0;
	err = -errno;
	if (err == -EPERM || err == -EACCES)
		permission__missing(d, err, "attach a BPF program to a tracepoint");
	else
		diag__set(d, DIAG_NO_BPF, -err, "cannot attach to the scheduler's tick: %s", strerror(-err));
	if (d->code != DIAG_PERMISSION || permission__granted())
		diag__advise(d, ADVICE_CLOCK, 0);
	return err;
}

static int cpu__start(struct source *s, struct extprof_bpf *skel, struct diag *d)
{
	int err;

	if (!s->tick_hz)
		return cpu_timers__start(&s->timers, d);
	err = init_thinning(s, skel, d);
	return err ? err : attach_tick(s, d);
}

static void cpu__stop(struct source *s)
{
	cpu_timers__stop(&s->timers);
}

/* To disable a timer is a call on its CPU: no program runs after it. */
static bool cpu__lingers(const struct source *s)
{
	return s->tick_hz != 0;
}

static int cpu__set_rate(struct source *s, struct extprof_bpf *skel, uint32_t rate, struct diag *d)
{
	struct source_options o = s->options;
	int err;

	o.rate = rate;
	err = check_rate(&o, d);
	if (!err && s->tick_hz)
		err = timer__check_tick(rate, &s->tick, d);
	if (err)
		return err;
	err = cpu_timers__set_period(&s->timers, 1000000000ull / rate);
	if (err) {
		cpu_timers__set_period(&s->timers, s->period);
		return diag__set(d, DIAG_NO_BPF, -err, "the timers do not take a rate of %u: %s", rate, strerror(-err));
	}
	s->options.rate = rate;
	s->period = 1000000000ull / rate;
	set_period(s, skel);
	return 0;
}

static void cpu__follow(struct source *s)
{
	/* The tick is there on every CPU. */
	if (!s->tick_hz)
		cpu_timers__follow(&s->timers);
}

static void cpu__facts(const struct source *s, struct source_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	snprintf(facts->text, sizeof(facts->text), "on-CPU at %u Hz by the %s", s->options.rate,
		 timer_names[s->options.timer]);
	facts->period = s->period;
	facts->cpus = (uint32_t)(s->tick_hz ? s->online : s->timers.online);
	facts->unsampled_cpus = s->timers.unsampled;
}

const struct source_ops source_cpu = {
	.id = SOURCE_CPU,
	.create = cpu__create,
	.configure = cpu__configure,
	.open = cpu__open,
	.start = cpu__start,
	.lingers = cpu__lingers,
	.stop = cpu__stop,
	.rest = detach,
	.detach = detach,
	.set_rate = cpu__set_rate,
	.follow = cpu__follow,
	.facts = cpu__facts,
	.destroy = cpu__destroy,
};
