/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "ruby/name_retention.h"

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

static struct vm *current(struct engine *r)
{
	return r->attached ? r->vms[r->vm_count - 1] : NULL;
}

static int wait_for(struct engine *r, int fd, struct diag *d)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &e))
		return diag__set(d, STATUS_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	return 0;
}

/* From here on, something new is begun until then at most, or until a signal.
 * The end of the recording is no reason to break a sample off. */
static void set_deadlines(struct engine *r, uint64_t until, uint64_t reads_until)
{
	deadline__start(&r->deadline, r->signal_fd, until);
	deadline__start(&r->reads, -1, reads_until);
	r->target.deadline = &r->deadline;
	if (current(r))
		current(r)->space->deadline = &r->reads;
}

/* Without permission to write names may expire, and are counted then. */
static void keep_names(struct engine *r, const struct vm *s)
{
	name_retention__ask(s->space->mem, &s->layout);
	r->ask_at = deadline__now() + NAME_RETENTION_INTERVAL;
}

/* Find the section of what the process runs now and sample it.  -EAGAIN: not
 * yet; other errors as in target.h and layout.h. */
static int attach(struct engine *r, struct diag *d)
{
	struct target_config config;
	struct vm *s = NULL;
	int err;

	if (r->vm_count == VMS_MAX)
		return diag__set(d, STATUS_INTERNAL, ENOSPC, "the process executes too often");
	err = target__find_section(&r->target, d);
	if (err)
		return err;
	err = vm__open(&s, &r->target, &r->table, d);
	if (err)
		return err;
	layout__config(&s->layout, &config);
	config.vm = r->vm_count + 1;
	keep_names(r, s);
	err = session__add_target(r->session, &r->target.key, &config, d);
	if (err)
		goto cleanup;
	/* What fails here leaves nothing behind that search() would go on with. */
	if (!r->started) {
		r->cpu_start = r->cpu_last = cpu_time(&r->target);
		err = session__start(r->session, d);
		if (err)
			goto cleanup;
		r->started = true;
		r->started_at = deadline__now();
		r->started_wall = time(NULL);
	}
	r->vms[r->vm_count++] = s;
	s = NULL;
	target__refresh(&r->target);
	r->attached = true;
	r->changed_known = false;
	r->attached_at = deadline__now();
cleanup:
	vm__drop(s, &r->target);
	return err;
}

static struct vm *vm_of(void *context, uint32_t number)
{
	const struct engine *r = context;

	return number && number <= r->vm_count ? r->vms[number - 1] : NULL;
}

int engine__find(struct engine *r, const struct options *o, struct diag *d)
{
	sigset_t mask;
	int err;

	memset(r, 0, sizeof(*r));
	r->options = o;
	r->target.pidfd = r->epoll_fd = r->signal_fd = -1;
	r->spawn.go = r->spawn.result = -1;
	r->resolver.tree = &r->tree;
	r->resolver.vm_of = vm_of;
	r->resolver.context = r;
	r->resolver.processes = &r->processes;
	if (o->threads)
		groups__add(&r->resolver.groups, GROUP_THREAD);
	r->resolver.groups.patterns_allowed = true;
	if (tree__init(&r->tree) || processes__add(&r->processes) == PROCESS_NONE) {
		err = diag__set(d, STATUS_INTERNAL, ENOMEM, "out of memory");
		goto cleanup;
	}
	if (o->command) {
		err = spawn__prepare(&r->spawn, o->command, o->keep_root, d);
		if (err)
			goto cleanup;
	}
	err = target__open(&r->target, o->command ? r->spawn.pid : o->pid, d);
	if (err)
		goto cleanup;
	/* A wrong pid is told before missing permissions for BPF are. */
	if (!o->command) {
		err = target__find_section(&r->target, d);
		if (err && d->status != STATUS_NOT_READY)
			goto cleanup;
		err = 0;	/* engine__open() looks again */
	}
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->masked = true;
	r->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->signal_fd < 0 || r->epoll_fd < 0)
		err = diag__set(d, STATUS_INTERNAL, errno, "cannot wait for signals: %s",
				strerror(errno));
cleanup:
	if (err)
		engine__close(r);
	return err;
}

int engine__open(struct engine *r, struct diag *d)
{
	const struct options *o = r->options;
	struct session_options session_options = { .size = sizeof(session_options), .rate = o->rate,
						   .timer = o->timer };
	int err;

	err = session__open(&r->session, &session_options, d);
	if (err)
		goto cleanup;
	if ((err = wait_for(r, r->signal_fd, d)) || (err = wait_for(r, r->target.pidfd, d)) ||
	    (err = wait_for(r, session__fd(r->session), d)))
		goto cleanup;
	backoff__reset(&r->backoff, deadline__now());
	if (o->command) {
		err = spawn__go(&r->spawn, o->command, d);
		if (!err)
			target__refresh(&r->target);
		goto cleanup;
	}
	set_deadlines(r, UINT64_MAX, UINT64_MAX);
	err = attach(r, d);
	/* A signal that ended the search is for engine__run(). */
	if (err && d->status == STATUS_NOT_READY) {
		r->search_until = deadline__now() + READY_TIMEOUT;
		err = 0;
	}
cleanup:
	if (err)
		engine__close(r);
	return err;
}

static bool on_sample(void *context, const void *data, size_t size)
{
	struct engine *r = context;

	resolve__event(&r->resolver, data, size);
	/* What is new in the next one can be read after the next update. */
	if (current(r) && current(r)->symbols.work <= 0)
		return false;
	return !deadline__over(&r->deadline) && deadline__now() < r->drain_until;
}

static bool on_late_sample(void *context, const void *data, size_t size)
{
	struct engine *r = context;

	resolve__skip(&r->resolver, data, size);
	return true;
}

/* Until the next look for the section, or for whether it is worth one. */
static uint64_t search_wait(const struct engine *r, uint64_t now)
{
	uint64_t wait = r->backoff.next > now ? r->backoff.next - now : BACKOFF_MIN;

	return wait < TICK_EXEC ? wait : TICK_EXEC;
}

/* Look for the section; sets *end if that has become pointless. */
static int search(struct engine *r, bool *end, struct diag *d)
{
	uint64_t now = deadline__now();
	int err;

	if (target__executed(&r->target))
		backoff__reset(&r->backoff, now);
	if (now < r->backoff.next)
		return 0;
	err = attach(r, &r->search);
	now = deadline__now();
	backoff__failed(&r->backoff, now, err && r->search.status == STATUS_NOT_READY);
	if (!err) {
		r->search_until = 0;
		return 0;
	}
	if (r->vm_count)
		return 0;	/* exec of something else: until it ends */
	if (r->search.status == STATUS_NO_INTERFACE) {
		if (!r->search_until)
			r->search_until = now + WRONG_RUBY_TIMEOUT;
	} else if (r->search.status == STATUS_VERSION || r->search.status == STATUS_PERMISSION ||
		   r->search.status == STATUS_NO_BPF || r->search.status == STATUS_INTERNAL) {
		*end = true;
	} else if (r->options->command) {
		r->search_until = 0;
	}
	if (r->search_until && now > r->search_until)
		*end = true;
	if (*end) {
		*d = r->search;
		return err;
	}
	return 0;
}

/* Ask for its names in time.  Has the process executed another program? */
static void check_vm(struct engine *r)
{
	struct vm *s = current(r);
	struct source_counters c;
	int err;

	if (deadline__now() >= r->ask_at)
		keep_names(r, s);
	err = symbols__update(&s->symbols, false);
	if (!err && r->options->command)
		symbols__prefetch(&s->symbols, PREFETCH);
	session__counters(r->session, &c);
	/* What was lost until it was attached is no sign of yet another one;
	 * nor what a CPU was about to count then: it has by now. */
	if (!r->changed_known)
		r->changed_seen = c.lost[LOSS_SECTION_CHANGED];
	r->changed_known = true;
	if (err == -ENODATA || err == -EFAULT || err == -ESRCH ||
	    c.lost[LOSS_SECTION_CHANGED] > r->changed_seen) {
		vm__set_exited(s);
		address_space__leave(s->space);
		r->attached = false;
		backoff__reset(&r->backoff, deadline__now());
	}
}

/* What the terminal sends, it sends to the command as well. */
static void forward(const struct engine *r, const struct signalfd_siginfo *info)
{
	if (info->ssi_code != SI_KERNEL)
		kill(r->spawn.pid, (int)info->ssi_signo);
}

static void on_signal(struct engine *r, bool *end)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		r->ended = info.ssi_signo == SIGINT ? "Ctrl-C" : "terminated";
		/* The terminal sends Ctrl-C to the command as well, which may
		 * want to end in an orderly way: record that too.  The second
		 * one ends the recording at once. */
		if (r->options->command && !r->signals_seen) {
			forward(r, &info);
			if (info.ssi_signo != SIGINT)
				*end = true;
		} else {
			*end = true;
		}
		r->signals_seen++;
	}
}

static void progress(struct engine *r, uint64_t now)
{
	struct source_counters c;
	struct progress p = { .waiting = !r->started };

	if (!r->on_progress)
		return;
	session__counters(r->session, &c);
	p.samples = c.taken;
	for (int i = 0; i < LOSS_MAX; i++)
		p.lost += c.lost[i] + r->resolver.received.lost[i];
	p.elapsed = r->started ? (double)(now - r->started_at) / 1e9 : 0;
	r->on_progress(r->context, &p);
}

static void finish(struct engine *r)
{
	uint64_t now;

	if (r->started)
		session__stop(r->session);
	r->ended_at = deadline__now();
	for (uint32_t i = 0; r->exited && i < r->vm_count; i++)
		vm__set_exited(r->vms[i]);
	now = deadline__now();
	set_deadlines(r, now + FINISH_TIMEOUT, now + FINISH_TIMEOUT + READS_TIMEOUT);
	r->drain_until = r->deadline.until;
	/* No more come: the rest is no more than the ring holds. */
	while (session__drain(r->session, on_sample, r) == -ECANCELED) {
		if (deadline__over(&r->deadline)) {
			session__drain(r->session, on_late_sample, r);
			break;
		}
		if (current(r))
			symbols__update(&current(r)->symbols, false);
	}
	now = deadline__now();
	set_deadlines(r, now + FINISH_TIMEOUT, now + FINISH_TIMEOUT);
	if (current(r)) {
		/* No sample is broken off any more. A signal from now on, or one that has
		 * ended the drain, ends these reads too. */
		current(r)->space->deadline = &r->deadline;
		symbols__update(&current(r)->symbols, true);
		threads__refresh(&current(r)->threads, true);
	}
}

static int never_sampled(const struct engine *r, struct diag *d)
{
	*d = r->search;
	if (r->exited && d->status != STATUS_NO_INTERFACE && d->status != STATUS_NOT_RUBY) {
		diag__set(d, STATUS_NO_PROCESS, ESRCH,
			  "process %d ended before its ruby was ready", r->target.pid);
		if (r->search.text[0])
			diag__hint(d, "when last looked at: %s", r->search.text);
	}
	return -ESRCH;
}

int engine__run(struct engine *r, struct diag *d)
{
	uint64_t tick = r->options->command ? TICK_COMMAND : TICK_PID;
	uint64_t next_progress = 0;
	bool end = false, behind = false;
	int err = 0, unnamed = 0;

	while (!end) {
		uint64_t now = deadline__now(), wait = r->attached ? tick : search_wait(r, now);
		uint64_t until = UINT64_MAX;
		struct epoll_event events[4];
		uint64_t cpu;
		int n;

		if (r->started && r->options->duration) {
			until = r->started_at + r->options->duration;
			if (now >= until) {
				r->ended = "duration";
				break;
			}
			if (until - now < wait)
				wait = until - now;
		}
		if (behind)
			wait = 0;
		n = epoll_wait(r->epoll_fd, events, 4, (int)((wait + MS - 1) / MS));
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == r->signal_fd)
				on_signal(r, &end);
			if (events[i].data.fd == r->target.pidfd)
				r->exited = end = true;
		}
		cpu = cpu_time(&r->target);
		if (cpu > r->cpu_last)
			r->cpu_last = cpu;
		if (r->exited)
			break;
		now = deadline__now();
		set_deadlines(r, until, now + READS_TIMEOUT);
		r->drain_until = now + DRAIN_TIMEOUT;
		behind = session__drain(r->session, on_sample, r) == -ECANCELED;
		if (r->attached)
			check_vm(r);
		else
			err = search(r, &end, d);
		now = deadline__now();
		if (now >= next_progress) {
			progress(r, now);
			next_progress = now + SECOND / 2;
			if (r->started)
				session__follow_cpus(r->session);
			if (current(r))
				threads__refresh(&current(r)->threads, false);
		}
	}
	if (r->exited && !r->ended)
		r->ended = "the process ended";
	finish(r);
	for (uint32_t i = 0; i < r->vm_count && !unnamed; i++)
		unnamed = resolve__name_threads(&r->resolver, r->vms[i]);
	if (!err && unnamed)
		err = diag__set(d, STATUS_INTERNAL, ENOMEM, "out of memory for the names of threads");
	if (!err && !r->vm_count)
		err = never_sampled(r, d);
	if (err && r->options->command && !r->exited)
		kill(r->spawn.pid, SIGTERM);
	return err;
}

static int fill_row(struct engine *r)
{
	struct process_row *row = &r->processes.rows[0];
	const struct vm *s = r->vms[r->vm_count - 1];

	row->pid = r->target.pid;
	text__clean(row->command, sizeof(row->command), r->target.command);
	text__clean(row->ruby_version, sizeof(row->ruby_version), s->layout.section.ruby_version);
	if (r->exited)
		snprintf(row->ended, sizeof(row->ended), "ended");
	row->started = r->started_at;
	row->ended_at = r->ended_at;
	row->cpu_time = r->cpu_last - r->cpu_start;
	session__counters(r->session, &row->kernel);
	return resolve__name_processes(&r->resolver);
}

int engine__report(struct engine *r, enum report_detail detail, struct report *report,
		     struct diag *d)
{
	const struct vm *s = r->vms[r->vm_count - 1];
	struct report_meta *m = &report->meta;
	struct source_counters counters;

	if (fill_row(r) || frames__take(&r->frames, &r->tree, &r->table) ||
	    report__build(report, &r->tree, &r->frames, &r->resolver.groups,
			  r->options->lines ? REPORT_BY_LINE : detail))
		return diag__set(d, STATUS_INTERNAL, ENOMEM, "out of memory for the report");
	report->processes = &r->processes;
	text__clean(m->command, sizeof(m->command), r->target.command);
	text__clean(m->ruby_version, sizeof(m->ruby_version), s->layout.section.ruby_version);
	text__clean(m->ruby_description, sizeof(m->ruby_description),
		    s->layout.section.ruby_description);
	snprintf(m->ended, sizeof(m->ended), "%s", r->ended ? r->ended : "");
	m->pid = r->target.pid;
	m->rate = r->options->rate;
	snprintf(m->source, sizeof(m->source), "on-CPU at %u Hz by the %s", r->options->rate,
		 timer_names[r->options->timer]);
	m->period = session__period(r->session);
	m->cpus = session__cpus(r->session);
	m->unsampled_cpus = session__unsampled(r->session);
	m->started = r->started_wall;
	m->started_at = r->started_at;
	m->duration = (double)(r->ended_at - r->started_at) / 1e9;
	m->cpu_time = r->cpu_last - r->cpu_start;
	m->frames = r->resolver.frames;
	m->unknown_frames = r->resolver.unknown_frames;
	m->unreadable_names += r->resolver.unreadable_names;
	m->crowded_names += r->resolver.crowded_names;
	m->jit_leaves = r->resolver.jit_leaves;
	m->jit_exact = r->resolver.jit_exact;
	m->gc_samples = r->resolver.gc_samples;
	m->unknown_threads = r->resolver.unknown_threads;
	session__counters(r->session, &counters);
	m->missed = counters.missed;
	accounting__settle(&m->accounting, &counters, &r->resolver.received);
	return 0;
}

void engine__wait(struct engine *r)
{
	struct pollfd fds[] = {
		{ .fd = r->signal_fd, .events = POLLIN },
		{ .fd = r->target.pidfd, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	while (!spawn__ended(&r->spawn, r->target.pidfd < 0)) {
		poll(fds, 2, -1);
		while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info))
			forward(r, &info);
	}
}

void engine__close(struct engine *r)
{
	struct signalfd_siginfo info;

	session__close(r->session);
	for (uint32_t i = 0; i < r->vm_count; i++)
		vm__close(r->vms[i]);
	symbol_table__free(&r->table);
	frames__free(&r->frames);
	processes__free(&r->processes);
	tree__free(&r->tree);
	target__close(&r->target);
	spawn__close(&r->spawn);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	/* What came when all was over must not end us now. */
	while (r->signal_fd >= 0 && read(r->signal_fd, &info, sizeof(info)) == sizeof(info))
		;
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	if (r->masked)
		sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	memset(r, 0, sizeof(*r));
	r->target.pidfd = r->epoll_fd = r->signal_fd = -1;
	r->spawn.go = r->spawn.result = -1;
}
