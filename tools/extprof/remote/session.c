/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/deadline.h"
#include "remote/followed.h"
#include "remote/page_cache.h"
#include "remote/parked.h"
#include "source/sched.h"

#define SECOND 1000000000ull
/* How often to look for execs and children. */
#define LIFE_INTERVAL 20000000ull
/* How often to look for threads that stop late. */
#define LATER_INTERVAL 1000000ull
#define SAMPLES_MAX (64u << 20)
#define LIFECYCLE_MAX (8u << 20)
/* The loop of the engine looks by itself now and then; it is woken when so much waits. */
#define WAKE_BYTES (1u << 20)

struct remote_session {
	struct session session;
	struct session_options options;
	pthread_t thread;
	bool running;			/* the thread */
	pthread_mutex_t lock;		/* of all below, but for the queues */
	struct followed_set set;
	struct watcher watcher;
	struct event_queue samples, lifecycle;
	int wake_fd;			/* eventfd: tells the thread that something has changed */
	int ready_fd;			/* eventfd: tells the caller that something waits */
	bool started, ending;
	bool rested;			/* a pause is about to be over */
	uint32_t numbers;		/* given out */
	uint64_t began;			/* looks are counted from here; CLOCK_MONOTONIC, ns */
	uint64_t look;			/* number of the next one */
	uint64_t look_at;		/* its time */
	uint64_t looks;			/* that were made */
	uint64_t interval;		/* that the next longest waits are of */
	uint64_t late;			/* looks that were left out, since those before took too long */
};

static struct remote_session *own(const struct session *session)
{
	return (struct remote_session *)session;
}

static void signal_fd(int fd)
{
	uint64_t one = 1;

	/* It cannot fail but by overflow, and is readable then. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

static void clear_fd(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) < 0)
		return;
}

/* -- the thread -------------------------------------------------------------------------------------- */

/* Each period has one look, at a random moment: so no rhythm of a program hides from it. */
static void plan(struct remote_session *s, uint64_t now)
{
	uint64_t period = s->watcher.period, due = s->began + s->look * period;

	if (now > due + period) {
		uint64_t left_out = (now - due) / period;

		s->late += left_out;
		s->look += left_out;
		due += left_out * period;
	}
	s->watcher.random = hash__mix(s->watcher.random + s->look);
	s->look_at = due + s->watcher.random % period;
	s->look++;
}

static void look_at_all(struct remote_session *s)
{
	for (uint32_t i = 0; i < s->set.count; i++) {
		struct followed *f = s->set.list[i];

		if (f->watch && f->watch->space)
			watch__look(f->watch, &s->watcher, true);
		if (f->parked && f->watch->space) {
			watch__give_time(f->watch, deadline__now());
			parked__look(f->parked, deadline__now());
		}
	}
}

static void sleep_until(struct remote_session *s, uint64_t until)
{
	struct pollfd fds[] = { { .fd = s->wake_fd, .events = POLLIN },
				{ .fd = s->set.epoll_fd, .events = POLLIN } };
	uint64_t now = deadline__now(), wait = until > now ? until - now : 0;
	struct timespec t = { .tv_sec = (time_t)(wait / SECOND), .tv_nsec = (long)(wait % SECOND) };

	if (ppoll(fds, 2, &t, NULL) > 0 && fds[0].revents)
		clear_fd(s->wake_fd);
}

static void *run(void *context)
{
	struct remote_session *s = context;
	uint64_t life_at = 0, now, until;
	bool ending = false;

	while (!ending) {
		pthread_mutex_lock(&s->lock);
		now = deadline__now();
		followed__take_ends(&s->set);
		if (now >= life_at) {
			followed__look(&s->set);
			life_at = deadline__now() + LIFE_INTERVAL;
		}
		if (s->started && now >= s->look_at) {
			look_at_all(s);
			s->looks++;
			plan(s, deadline__now());
		}
		stop_later__poll(&s->watcher.later);
		until = s->started && s->look_at < life_at ? s->look_at : life_at;
		/* A thread that has stopped too late waits for that. */
		if (s->watcher.later.count && until > now + LATER_INTERVAL)
			until = now + LATER_INTERVAL;
		ending = s->ending;
		if (s->lifecycle.end > s->lifecycle.begin || s->samples.end - s->samples.begin > WAKE_BYTES)
			signal_fd(s->ready_fd);
		pthread_mutex_unlock(&s->lock);
		if (!ending)
			sleep_until(s, until);
	}
	return NULL;
}

static int start_thread(struct remote_session *s, struct diag *d)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return diag__set(d, DIAG_INTERNAL, err, "cannot start a thread: %s", strerror(err));
	s->running = true;
	return 0;
}

/* -- the functions of a session -------------------------------------------------------------------- */

static void remote__close(struct session *session)
{
	struct remote_session *s = own(session);

	if (s->running) {
		pthread_mutex_lock(&s->lock);
		s->ending = true;
		pthread_mutex_unlock(&s->lock);
		signal_fd(s->wake_fd);
		pthread_join(s->thread, NULL);
	}
	followed__free(&s->set);
	event_queue__free(&s->samples);
	event_queue__free(&s->lifecycle);
	walker__free(s->watcher.walker);
	unwind_tables__free(s->watcher.unwind);
	free(s->watcher.cache);
	stop_later__free(&s->watcher.later);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->ready_fd >= 0)
		close(s->ready_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int remote__start(struct session *session, uint64_t *began, struct diag *d)
{
	struct remote_session *s = own(session);

	(void)d;
	pthread_mutex_lock(&s->lock);
	s->started = true;
	s->began = *began = deadline__now();
	s->look = 0;
	for (uint32_t i = 0; i < s->set.count; i++) {
		struct followed *f = s->set.list[i];

		if (s->rested && f->watch && f->watch->space)
			watch__skip(f->watch, &s->watcher);
		if (f->parked)
			f->parked->looked_at = s->began;
	}
	s->rested = false;
	plan(s, s->began);
	pthread_mutex_unlock(&s->lock);
	signal_fd(s->wake_fd);
	return 0;
}

static void remote__stop(struct session *session)
{
	struct remote_session *s = own(session);

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; s->started && i < s->set.count; i++) {
		struct followed *f = s->set.list[i];

		if (f->watch && f->watch->space)
			watch__flush(f->watch, &s->watcher);
		if (s->started && f->parked)
			parked__flush(f->parked);
	}
	s->started = false;
	pthread_mutex_unlock(&s->lock);
}

static int check_rate(uint32_t rate, struct diag *d)
{
	if (rate < 1 || rate > REMOTE_RATE_MAX)
		return diag__set(d, DIAG_USAGE, EINVAL, "without eBPF the rate must be 1 to %u per second", REMOTE_RATE_MAX);
	return 0;
}

static int remote__set_rate(struct session *session, uint32_t rate, struct diag *d)
{
	struct remote_session *s = own(session);
	int err = check_rate(rate, d);

	if (err)
		return err;
	pthread_mutex_lock(&s->lock);
	s->options.source_options.rate = rate;
	s->watcher.period = SECOND / rate;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static void remote__rest(struct session *session)
{
	own(session)->rested = true;
}

/* Without memory they are not shown. */
static void watch_fibers(struct remote_session *s, struct followed *f)
{
	struct watch *w = f->watch;

	f->parked = calloc(1, sizeof(*f->parked));
	if (f->parked)
		*f->parked = (struct parked){
			.process = w->process, .vm = w->vm, .layout = &w->layout, .memory = &w->space->memory,
			.walker = s->watcher.walker, .queue = &s->samples, .counters = &w->wait_counters,
			.looked_at = deadline__now(),
		};
}

static int open_watch(struct remote_session *s, struct followed *f, const struct source_target *target, struct diag *d)
{
	struct layout layout = { .address = target->section, .section = *target->contract };
	struct source_counters cpu = { 0 }, waits = { 0 };
	int err, unused;

	if (f->watch) {
		cpu = f->watch->cpu_counters;
		waits = f->watch->wait_counters;
		followed__unwatch(&s->set, f);
	} else {
		f->watch = calloc(1, sizeof(*f->watch));
	}
	if (!f->watch)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	err = watch__open(f->watch, f->pid, f->key.pid == (uint32_t)f->pid, &layout, d);
	if (!err && s->watcher.stop)
		err = watch__try_stop(f->watch, d);
	if (err && f->watch->space)
		watch__close(f->watch, &s->watcher);
	if (err)
		memset(f->watch, 0, sizeof(*f->watch)), f->watch->tasks.dir = -1;
	/* An exec that nobody has told of is over: what was found is what runs now. */
	if (!err && f->space && !address_space__lives(f->space)) {
		address_space__close(f->space);
		f->space = address_space__open(f->pid, &unused);
	}
	f->watch->process = f->number;
	f->watch->vm = target->vm;
	f->watch->cpu_counters = cpu;
	f->watch->wait_counters = waits;
	if (!err && s->watcher.waits && !s->watcher.figures)
		watch_fibers(s, f);
	return err;
}

static int remote__add_ruby(struct session *session, const struct source_target *target, uint32_t *failed,
			    struct diag *d)
{
	struct remote_session *s = own(session);
	struct followed *f;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	f = followed__by_number(&s->set, target->process);
	/* It may have ended meanwhile. */
	if (f && f->pidfd >= 0)
		err = open_watch(s, f, target, d);
	if (err)
		*failed |= REMOTE_SOURCES;
	pthread_mutex_unlock(&s->lock);
	return err;
}

static uint32_t next_number(void *context)
{
	return ++((struct remote_session *)context)->numbers;
}

static uint32_t remote__new_number(struct session *session)
{
	struct remote_session *s = own(session);
	uint32_t n;

	pthread_mutex_lock(&s->lock);
	n = next_number(s);
	pthread_mutex_unlock(&s->lock);
	return n;
}

static int remote__add_target(struct session *session, const struct target_key *key, pid_t pid,
			      const struct target_config *config)
{
	struct remote_session *s = own(session);
	int err;

	pthread_mutex_lock(&s->lock);
	err = followed__add(&s->set, key, pid, config->process, config->flags);
	pthread_mutex_unlock(&s->lock);
	return err;
}

static void remote__remove_target(struct session *session, const struct target_key *key)
{
	struct remote_session *s = own(session);
	struct followed *f;

	pthread_mutex_lock(&s->lock);
	f = followed__find(&s->set, key);
	if (f)
		followed__leave(&s->set, f);
	pthread_mutex_unlock(&s->lock);
}

static void remote__drop(struct session *session, const struct target_key *key, uint32_t process,
			 const struct target_config *config)
{
	struct remote_session *s = own(session);
	struct followed *f;

	pthread_mutex_lock(&s->lock);
	f = followed__by_number(&s->set, process);
	if (f && f->pidfd >= 0) {
		/* Counters of the old number are asked for once more. */
		followed__leave(&s->set, f);
		followed__add(&s->set, key, f->pid, config->process, config->flags);
	}
	pthread_mutex_unlock(&s->lock);
}

static int remote__fd(const struct session *session)
{
	return own(session)->ready_fd;
}

static int remote__drain(struct session *session, session_callback callback, void *context)
{
	struct remote_session *s = own(session);

	clear_fd(s->ready_fd);
	return event_queue__drain(&s->samples, callback, context);
}

static int remote__drain_lifecycle(struct session *session, session_callback callback, void *context)
{
	struct remote_session *s = own(session);

	return event_queue__drain(&s->lifecycle, callback, context);
}

static const struct source_counters *counters_of(const struct followed *f, enum sample_source source)
{
	if (!f || !f->watch)
		return NULL;
	return source == SOURCE_CPU ? &f->watch->cpu_counters : source == SOURCE_SCHED ? &f->watch->wait_counters : NULL;
}

static void remote__counters(const struct session *session, uint32_t process, enum sample_source source,
			     struct source_counters *counters)
{
	struct remote_session *s = own(session);
	const struct source_counters *c;

	memset(counters, 0, sizeof(*counters));
	pthread_mutex_lock(&s->lock);
	c = counters_of(followed__by_number(&s->set, process), source);
	if (c)
		*counters = *c;
	pthread_mutex_unlock(&s->lock);
}

static void remote__forget_counters(struct session *session, uint32_t process)
{
	struct remote_session *s = own(session);
	struct followed *f;

	pthread_mutex_lock(&s->lock);
	f = followed__by_number(&s->set, process);
	if (f)
		followed__forget(&s->set, f);
	pthread_mutex_unlock(&s->lock);
}

static uint64_t remote__lost_events(const struct session *session)
{
	return own(session)->lifecycle.refused;
}

static void remote__facts(const struct session *session, enum sample_source source, struct source_facts *facts)
{
	const struct remote_session *s = own(session);
	const char *how = s->watcher.stop ? "from outside with the thread stopped" : "from outside";

	memset(facts, 0, sizeof(*facts));
	facts->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	facts->period = s->watcher.period;
	if (source == SOURCE_CPU)
		snprintf(facts->text, sizeof(facts->text), "on-CPU at %u Hz, read %s",
			 s->options.source_options.rate, how);
	else if (source == SOURCE_SCHED)
		snprintf(facts->text, sizeof(facts->text), "states at %u Hz, read %s",
			 s->options.source_options.rate, how);
}

static void remote__begin_interval(struct session *session, uint64_t interval)
{
	struct remote_session *s = own(session);

	pthread_mutex_lock(&s->lock);
	s->interval = interval;
	pthread_mutex_unlock(&s->lock);
}

struct account_receiver {
	thread_callback callback;
	void *context;
};

static void on_account(void *context, const struct thread_account *account)
{
	const struct account_receiver *r = context;
	const struct sched_thread thread = { .account = *account };

	r->callback(r->context, account->tid, &thread);
}

/* The longest waits until now belong to the interval that ends with this look. */
static int remote__threads_now(const struct session *session, thread_callback callback, void *context)
{
	struct account_receiver receiver = { .callback = callback, .context = context };
	struct remote_session *s = own(session);

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; s->started && i < s->set.count; i++) {
		struct followed *f = s->set.list[i];

		if (f->watch && f->watch->space)
			watch__accounts(f->watch, &s->watcher, on_account, &receiver);
	}
	s->watcher.interval = s->interval;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static void remote__looks(const struct session *session, uint32_t process, struct session_looks *looks)
{
	struct remote_session *s = own(session);
	const struct followed *f;

	memset(looks, 0, sizeof(*looks));
	pthread_mutex_lock(&s->lock);
	looks->count = s->looks;
	f = followed__by_number(&s->set, process);
	if (f && f->watch && f->watch->space)
		memcpy(looks->doubts, f->watch->doubts, sizeof(looks->doubts));
	pthread_mutex_unlock(&s->lock);
}

static bool remote__unwind(const struct session *session, struct unwind_maps *maps)
{
	struct unwind_tables *tables = own(session)->watcher.unwind;

	if (tables)
		unwind_tables__maps(tables, maps);
	return tables;
}

static const struct session_ops ops = {
	.close = remote__close,
	.start = remote__start,
	.stop = remote__stop,
	.rest = remote__rest,
	.set_rate = remote__set_rate,
	.add_ruby = remote__add_ruby,
	.new_number = remote__new_number,
	.add_target = remote__add_target,
	.remove_target = remote__remove_target,
	.drop = remote__drop,
	.fd = remote__fd,
	.drain = remote__drain,
	.drain_lifecycle = remote__drain_lifecycle,
	.counters = remote__counters,
	.forget_counters = remote__forget_counters,
	.lost_events = remote__lost_events,
	.facts = remote__facts,
	.looks = remote__looks,
	.begin_interval = remote__begin_interval,
	.threads_now = remote__threads_now,
	.unwind = remote__unwind,
};

int remote_session__open(struct session **session, const struct session_options *o, bool stop, struct diag *d)
{
	struct remote_session *s;
	int err;

	*session = NULL;
	err = check_rate(o->source_options.rate, d);
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->session.ops = &ops;
	s->options = *o;
	pthread_mutex_init(&s->lock, NULL);
	event_queue__init(&s->samples, SAMPLES_MAX);
	event_queue__init(&s->lifecycle, LIFECYCLE_MAX);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->watcher = (struct watcher){
		.stop = stop, .cpu = o->sources & 1u << SOURCE_CPU, .waits = o->sources & 1u << SOURCE_SCHED,
		.figures = o->source_options.figures,
		.period = SECOND / o->source_options.rate, .queue = &s->samples, .walker = walker__new(),
	};
	if (o->source_options.native) {
		s->watcher.unwind = unwind_tables__new();
		s->watcher.cache = page_cache__new(NULL);
	}
	if (getrandom(&s->watcher.random, sizeof(s->watcher.random), GRND_NONBLOCK) < 0)
		s->watcher.random = deadline__now();
	s->set = (struct followed_set){ .events = &s->lifecycle, .watcher = &s->watcher, .new_number = next_number,
					.context = s, .follow_children = o->follow_children, .tell_all = o->tell_all };
	err = followed__init(&s->set);
	if (!err && (!s->watcher.walker || s->wake_fd < 0 || s->ready_fd < 0 ||
		     (o->source_options.native && (!s->watcher.unwind || !s->watcher.cache))))
		err = -ENOMEM;
	if (err)
		diag__set(d, DIAG_INTERNAL, -err, "cannot read processes: %s", strerror(-err));
	else
		err = start_thread(s, d);
	if (err)
		remote__close(&s->session);
	else
		*session = &s->session;
	return err;
}
