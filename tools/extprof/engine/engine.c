/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/deadline.h"
#include "base/text.h"
#include "process/target.h"
#include "profile/resolve.h"
#include "ruby/name_retention.h"
#include "source/session.h"

#define MS 1000000ull
#define SECOND 1000000000ull

/* How often samples are drained.  Names have to be read while the target
 * lives, and what was started by us may not live long. */
#define TICK_PID (50 * MS)
#define TICK_COMMAND (10 * MS)
/* How often to ask whether the process has executed something, while there is
 * nothing to sample: seldom enough, and no ruby starts in less. */
#define TICK_EXEC (10 * MS)

/* Records to read ahead at each tick. */
#define PREFETCH 2000u

/* How long a ruby may be starting, or between fork and its adaptation. */
#define READY_TIMEOUT (10 * SECOND)
/* A ruby without the interface may be about to execute another one. */
#define WRONG_RUBY_TIMEOUT (3 * SECOND)

/* For samples at a stretch: there is more to look after. */
#define DRAIN_TIMEOUT (200 * MS)
/* For the samples that wait at the end, and for the last names. */
#define FINISH_TIMEOUT (5 * SECOND)
/* For what was being read when the time for more was over: a sample has to be
 * whole.  What a tick may read takes a tenth of it. */
#define READS_TIMEOUT (2 * SECOND)

/* How often to look for CPUs that have come and for names of threads. */
#define LOOK_INTERVAL (500 * MS)

/* Programs that one process may execute one after another. */
#define VMS_MAX 256

struct engine {
	struct settings settings;
	struct target target;
	struct session *session;
	struct tree tree;
	struct symbol_table table;
	struct frames frames;
	struct processes processes;	/* one row */
	struct resolver resolver;
	struct vm *vms[VMS_MAX];
	uint32_t vm_count;

	bool started;		/* the timers run */
	bool attached;		/* the last vm is what runs now */
	bool exited;
	bool behind;		/* samples wait that there was no time for */
	uint64_t started_at, ended_at;	/* CLOCK_MONOTONIC, ns */
	uint64_t ask_at;	/* for names to be kept; CLOCK_MONOTONIC, ns */
	uint64_t look_at;	/* for CPUs and threads; CLOCK_MONOTONIC, ns */
	struct backoff backoff;	/* while it is searched */
	uint64_t search_until;	/* 0: as long as the process lives */
	uint64_t changed_seen;	/* lost samples with reason section-changed ... */
	bool changed_known;	/* ... since the last vm was attached */
	uint64_t cpu_start, cpu_last;	/* CPU time of the process, ns */
	time_t started_wall;
	struct deadline deadline;	/* with what the loop is at */
	struct deadline reads;		/* with one that it has begun */
	uint64_t drain_until;	/* CLOCK_MONOTONIC, ns */
	const char *ended;	/* why; NULL: not yet */
	struct diag search;	/* why there is no vm */

	int epoll_fd;
};

/* CPU time of all threads of the process, ns; 0 if unknown. */
static uint64_t cpu_time(const struct target *target)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(target->pid, &clock) || clock_gettime(clock, &t) ||
	    !target__has_pid(target))
		return 0;
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static struct vm *current(struct engine *e)
{
	return e->attached ? e->vms[e->vm_count - 1] : NULL;
}

static int wait_for(struct engine *e, int fd, struct diag *d)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return diag__set(d, DIAG_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	return 0;
}

/* From here on, something new is begun until then at most, or until a signal.
 * The end of the recording is no reason to break a sample off. */
static void set_deadlines(struct engine *e, uint64_t until, uint64_t reads_until)
{
	deadline__start(&e->deadline, e->settings.interrupt_fd, until);
	deadline__start(&e->reads, -1, reads_until);
	e->target.deadline = &e->deadline;
	if (current(e))
		current(e)->space->deadline = &e->reads;
}

/* Without permission to write names may expire, and are counted then. */
static void keep_names(struct engine *e, const struct vm *s)
{
	name_retention__ask(s->space->mem, &s->layout);
	e->ask_at = deadline__now() + NAME_RETENTION_INTERVAL;
}

/* Find the section of what the process runs now and sample it.  -EAGAIN: not
 * yet; other errors as in target.h and layout.h. */
static int attach(struct engine *e, struct diag *d)
{
	struct target_config config;
	struct vm *s = NULL;
	int err;

	if (e->vm_count == VMS_MAX)
		return diag__set(d, DIAG_INTERNAL, ENOSPC, "the process executes too often");
	err = target__find_section(&e->target, d);
	if (err)
		return err;
	err = vm__open(&s, &e->target, &e->table, d);
	if (err)
		return err;
	layout__config(&s->layout, &config);
	config.vm = e->vm_count + 1;
	keep_names(e, s);
	err = session__add_target(e->session, &e->target.key, &config, d);
	if (err)
		goto cleanup;
	/* What fails here leaves nothing behind that search() would go on with. */
	if (!e->started) {
		e->cpu_start = e->cpu_last = cpu_time(&e->target);
		err = session__start(e->session, d);
		if (err)
			goto cleanup;
		e->started = true;
		e->started_at = deadline__now();
		e->started_wall = time(NULL);
	}
	e->vms[e->vm_count++] = s;
	s = NULL;
	target__refresh(&e->target);
	e->attached = true;
	e->changed_known = false;
cleanup:
	vm__drop(s, &e->target);
	return err;
}

static struct vm *vm_of(void *context, uint32_t number)
{
	const struct engine *e = context;

	return number && number <= e->vm_count ? e->vms[number - 1] : NULL;
}

int engine__create(struct engine **engine, const struct settings *settings, struct diag *d)
{
	const struct selection *sel = &settings->selection;
	struct engine *e;
	int err;

	*engine = NULL;
	if (settings->size != sizeof(*settings))
		return diag__set(d, DIAG_INTERNAL, EINVAL, "wrong size of settings");
	if (sel->pid_count != 1 || sel->all || sel->by_user || sel->name || sel->cgroup ||
	    (sel->subprocesses && !settings->command))
		return diag__set(d, DIAG_USAGE, ENOSYS, "not yet: only one process can be profiled");
	e = calloc(1, sizeof(*e));
	if (!e)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	e->settings = *settings;
	e->target.pidfd = e->epoll_fd = -1;
	e->resolver.tree = &e->tree;
	e->resolver.vm_of = vm_of;
	e->resolver.context = e;
	e->resolver.processes = &e->processes;
	e->resolver.groups = settings->groups;
	groups__add_mask(&e->resolver.groups, settings->labels);
	if (settings->group_by_default)
		groups__add(&e->resolver.groups, GROUP_PROCESS);
	if (tree__init(&e->tree) || processes__add(&e->processes) == PROCESS_NONE) {
		err = diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
		goto cleanup;
	}
	err = target__open(&e->target, sel->pids[0], d);
	if (err)
		goto cleanup;
	/* A wrong pid is told before missing permissions for BPF are. */
	if (!settings->command) {
		err = target__find_section(&e->target, d);
		if (err && d->code != DIAG_NOT_READY)
			goto cleanup;
		err = 0;	/* engine__begin() looks again */
	}
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->epoll_fd < 0)
		err = diag__set(d, DIAG_INTERNAL, errno, "cannot wait: %s", strerror(errno));
cleanup:
	if (err)
		engine__destroy(e);
	else
		*engine = e;
	return err;
}

int engine__open(struct engine *e, struct diag *d)
{
	struct session_options options = { .size = sizeof(options), .rate = e->settings.rate,
					   .timer = e->settings.timer };
	int err;

	err = session__open(&e->session, &options, d);
	if (err)
		return err;
	err = wait_for(e, e->target.pidfd, d);
	return err ? err : wait_for(e, session__fd(e->session), d);
}

int engine__begin(struct engine *e, struct diag *d)
{
	int err;

	backoff__reset(&e->backoff, deadline__now());
	if (e->settings.command) {
		target__refresh(&e->target);
		return 0;
	}
	set_deadlines(e, UINT64_MAX, UINT64_MAX);
	err = attach(e, d);
	/* The caller knows about a signal that ended the search. */
	if (err && d->code == DIAG_NOT_READY) {
		e->search_until = deadline__now() + READY_TIMEOUT;
		e->search = *d;
		err = 0;
	}
	return err;
}

int engine__fd(const struct engine *e)
{
	return e->epoll_fd;
}

static bool on_sample(void *context, const void *data, size_t size)
{
	struct engine *e = context;

	resolve__event(&e->resolver, data, size);
	/* What is new in the next one can be read after the next update. */
	if (current(e) && current(e)->symbols.work <= 0)
		return false;
	return !deadline__over(&e->deadline) && deadline__now() < e->drain_until;
}

static bool on_late_sample(void *context, const void *data, size_t size)
{
	struct engine *e = context;

	resolve__skip(&e->resolver, data, size);
	return true;
}

/* Until the next look for the section, or for whether it is worth one. */
static uint64_t search_wait(const struct engine *e, uint64_t now)
{
	uint64_t wait = e->backoff.next > now ? e->backoff.next - now : BACKOFF_MIN;

	return wait < TICK_EXEC ? wait : TICK_EXEC;
}

/* Look for the section; sets *end if that has become pointless. */
static int search(struct engine *e, bool *end, struct diag *d)
{
	uint64_t now = deadline__now();
	int err;

	if (target__executed(&e->target))
		backoff__reset(&e->backoff, now);
	if (now < e->backoff.next)
		return 0;
	err = attach(e, &e->search);
	now = deadline__now();
	backoff__failed(&e->backoff, now, err && e->search.code == DIAG_NOT_READY);
	if (!err) {
		e->search_until = 0;
		return 0;
	}
	if (e->vm_count)
		return 0;	/* exec of something else: until it ends */
	if (e->search.code == DIAG_NO_INTERFACE) {
		if (!e->search_until)
			e->search_until = now + WRONG_RUBY_TIMEOUT;
	} else if (e->search.code == DIAG_VERSION || e->search.code == DIAG_PERMISSION ||
		   e->search.code == DIAG_NO_BPF || e->search.code == DIAG_INTERNAL) {
		*end = true;
	} else if (e->settings.command) {
		e->search_until = 0;
	}
	if (e->search_until && now > e->search_until)
		*end = true;
	if (*end) {
		*d = e->search;
		return err;
	}
	return 0;
}

/* Ask for its names in time.  Has the process executed another program? */
static void check_vm(struct engine *e)
{
	struct vm *s = current(e);
	struct source_counters c;
	int err;

	if (deadline__now() >= e->ask_at)
		keep_names(e, s);
	err = symbols__update(&s->symbols, false);
	if (!err && e->settings.command)
		symbols__prefetch(&s->symbols, PREFETCH);
	session__counters(e->session, &c);
	/* What was lost until it was attached is no sign of yet another one;
	 * nor what a CPU was about to count then: it has by now. */
	if (!e->changed_known)
		e->changed_seen = c.lost[LOSS_SECTION_CHANGED];
	e->changed_known = true;
	if (err == -ENODATA || err == -EFAULT || err == -ESRCH ||
	    c.lost[LOSS_SECTION_CHANGED] > e->changed_seen) {
		vm__set_exited(s);
		address_space__leave(s->space);
		e->attached = false;
		backoff__reset(&e->backoff, deadline__now());
	}
}

static void finish(struct engine *e)
{
	uint64_t now;

	if (e->started)
		session__stop(e->session);
	e->ended_at = deadline__now();
	for (uint32_t i = 0; e->exited && i < e->vm_count; i++)
		vm__set_exited(e->vms[i]);
	now = deadline__now();
	set_deadlines(e, now + FINISH_TIMEOUT, now + FINISH_TIMEOUT + READS_TIMEOUT);
	e->drain_until = e->deadline.until;
	/* No more come: the rest is no more than the ring holds. */
	while (session__drain(e->session, on_sample, e) == -ECANCELED) {
		if (deadline__over(&e->deadline)) {
			session__drain(e->session, on_late_sample, e);
			break;
		}
		if (current(e))
			symbols__update(&current(e)->symbols, false);
	}
	now = deadline__now();
	set_deadlines(e, now + FINISH_TIMEOUT, now + FINISH_TIMEOUT);
	if (current(e)) {
		/* No sample is broken off any more. A signal from now on, or one that has
		 * ended the drain, ends these reads too. */
		current(e)->space->deadline = &e->deadline;
		symbols__update(&current(e)->symbols, true);
		threads__refresh(&current(e)->threads, true);
	}
}

static int never_sampled(const struct engine *e, struct diag *d)
{
	*d = e->search;
	if (!d->text[0])
		diag__set(d, DIAG_NOT_READY, EINTR, "there was no time to search process %d",
			  e->target.pid);
	if (e->exited && d->code != DIAG_NO_INTERFACE && d->code != DIAG_NOT_RUBY) {
		diag__set(d, DIAG_NO_PROCESS, ESRCH,
			  "process %d ended before its ruby was ready", e->target.pid);
		if (e->search.text[0])
			diag__hint(d, "when last looked at: %s", e->search.text);
	}
	return -ESRCH;
}

uint64_t engine__wait(const struct engine *e)
{
	uint64_t now = deadline__now(), wait, until;

	if (e->behind)
		return 0;
	if (!e->attached)
		wait = search_wait(e, now);
	else
		wait = e->settings.command ? TICK_COMMAND : TICK_PID;
	if (!e->started || !e->settings.duration)
		return wait;
	until = e->started_at + e->settings.duration;
	if (until <= now)
		return 0;
	return until - now < wait ? until - now : wait;
}

/* CPU time so far; has the process ended? */
static void look_at_process(struct engine *e)
{
	uint64_t cpu = cpu_time(&e->target);

	if (cpu > e->cpu_last)
		e->cpu_last = cpu;
	e->exited = e->exited || target__exited(&e->target);
}

int engine__step(struct engine *e, struct diag *d)
{
	uint64_t until = UINT64_MAX, now;
	bool end = false;
	int err = 0;

	look_at_process(e);
	if (e->exited) {
		if (!e->ended)
			engine__set_ended(e, "the process ended");
		return 1;
	}
	now = deadline__now();
	if (e->started && e->settings.duration) {
		until = e->started_at + e->settings.duration;
		if (now >= until) {
			engine__set_ended(e, "duration");
			return 1;
		}
	}
	set_deadlines(e, until, now + READS_TIMEOUT);
	e->drain_until = now + DRAIN_TIMEOUT;
	e->behind = session__drain(e->session, on_sample, e) == -ECANCELED;
	if (e->attached)
		check_vm(e);
	else
		err = search(e, &end, d);
	if (end)
		return err;
	now = deadline__now();
	if (now >= e->look_at) {
		e->look_at = now + LOOK_INTERVAL;
		if (e->started)
			session__follow_cpus(e->session);
		if (current(e))
			threads__refresh(&current(e)->threads, false);
	}
	return 0;
}

void engine__set_ended(struct engine *e, const char *why)
{
	e->ended = why;
}

int engine__finish(struct engine *e, struct diag *d)
{
	look_at_process(e);
	if (e->exited && !e->ended)
		engine__set_ended(e, "the process ended");
	finish(e);
	for (uint32_t i = 0; i < e->vm_count; i++)
		if (resolve__name_threads(&e->resolver, e->vms[i]))
			return diag__set(d, DIAG_INTERNAL, ENOMEM,
					 "out of memory for the names of threads");
	return e->vm_count ? 0 : never_sampled(e, d);
}

void engine__progress(const struct engine *e, struct progress *p)
{
	struct source_counters c;

	memset(p, 0, sizeof(*p));
	p->waiting = !e->started;
	session__counters(e->session, &c);
	p->samples = c.taken;
	for (int i = 0; i < LOSS_MAX; i++)
		p->lost += c.lost[i] + e->resolver.received.lost[i];
	if (e->started)
		p->elapsed = (double)(deadline__now() - e->started_at) / 1e9;
}

/* Sampling goes on: what waits is drained as far as a step would do it. */
static int report_so_far(struct engine *e)
{
	uint64_t now = deadline__now();
	int err = 0;

	set_deadlines(e, UINT64_MAX, now + READS_TIMEOUT);
	e->drain_until = now + DRAIN_TIMEOUT;
	e->behind = session__drain(e->session, on_sample, e) == -ECANCELED;
	for (uint32_t i = 0; i < e->vm_count && !err; i++)
		err = resolve__name_threads(&e->resolver, e->vms[i]);
	return err;
}

static int fill_row(struct engine *e)
{
	struct process_row *row = &e->processes.rows[0];
	const struct vm *s = e->vms[e->vm_count - 1];

	row->pid = e->target.pid;
	text__clean(row->command, sizeof(row->command), e->target.command);
	text__clean(row->ruby_version, sizeof(row->ruby_version), s->layout.section.ruby_version);
	if (e->exited)
		snprintf(row->ended, sizeof(row->ended), "ended");
	row->started = e->started_at;
	row->ended_at = e->ended_at;
	row->cpu_time = e->cpu_last - e->cpu_start;
	session__counters(e->session, &row->kernel);
	if (!e->ended_at)
		accounting__so_far(&row->kernel, &row->received);
	return resolve__name_processes(&e->resolver);
}

int engine__report(struct engine *e, enum report_detail detail, uint32_t labels,
		   struct report *report, struct diag *d)
{
	struct groups show = e->settings.groups;
	struct report_meta *m = &report->meta;
	struct source_counters counters;
	const struct vm *s;

	memset(report, 0, sizeof(*report));
	if (!e->vm_count)
		return diag__set(d, DIAG_NOT_READY, EAGAIN, "there is no profile yet: no ruby was found so far");
	s = e->vms[e->vm_count - 1];
	if (!e->ended_at && report_so_far(e))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the report");
	if (e->settings.group_by_default && processes__followed(&e->processes) > 1)
		groups__add_outermost(&show, GROUP_PROCESS);
	groups__add_mask(&show, labels);
	if (fill_row(e) || frames__take(&e->frames, &e->tree, &e->table) ||
	    report__build(report, &e->tree, &e->frames, &show,
			  e->settings.lines ? REPORT_BY_LINE : detail))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the report");
	report->processes = &e->processes;
	text__clean(m->command, sizeof(m->command), e->target.command);
	text__clean(m->ruby_version, sizeof(m->ruby_version), s->layout.section.ruby_version);
	text__clean(m->ruby_description, sizeof(m->ruby_description),
		    s->layout.section.ruby_description);
	snprintf(m->ended, sizeof(m->ended), "%s", e->ended ? e->ended : "");
	m->pid = e->target.pid;
	m->rate = e->settings.rate;
	snprintf(m->source, sizeof(m->source), "on-CPU at %u Hz by the %s", e->settings.rate,
		 timer_names[e->settings.timer]);
	m->period = session__period(e->session);
	m->cpus = session__cpus(e->session);
	m->unsampled_cpus = session__unsampled(e->session);
	m->started = e->started_wall;
	m->started_at = e->started_at;
	m->duration = (double)((e->ended_at ? e->ended_at : deadline__now()) - e->started_at) / 1e9;
	m->cpu_time = e->cpu_last - e->cpu_start;
	m->frames = e->resolver.frames;
	m->unknown_frames = e->resolver.unknown_frames;
	m->unreadable_names += e->resolver.unreadable_names;
	m->crowded_names += e->resolver.crowded_names;
	m->jit_leaves = e->resolver.jit_leaves;
	m->jit_exact = e->resolver.jit_exact;
	m->gc_samples = e->resolver.gc_samples;
	m->unknown_threads = e->resolver.unknown_threads;
	session__counters(e->session, &counters);
	m->missed = counters.missed;
	if (!e->ended_at)
		accounting__so_far(&counters, &e->resolver.received);
	accounting__settle(&m->accounting, &counters, &e->resolver.received);
	return 0;
}

void engine__destroy(struct engine *e)
{
	if (!e)
		return;
	session__close(e->session);
	for (uint32_t i = 0; i < e->vm_count; i++)
		vm__close(e->vms[i]);
	symbol_table__free(&e->table);
	frames__free(&e->frames);
	processes__free(&e->processes);
	tree__free(&e->tree);
	target__close(&e->target);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	free(e);
}
