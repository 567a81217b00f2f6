/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/messages.h"
#include "cli/power.h"

#define MS 1000000ull
/* When nothing is recorded any more, keys and signals are looked at so often, ms. */
#define OVER_WAIT 100

void run__init(struct run *r, struct options *options, const struct run_ops *ops, void *context)
{
	*r = (struct run){ .options = options, .ops = ops, .context = context, .epoll_fd = -1 };
	signals__init(&r->signals);
	spawn__init(&r->spawn);
}

bool run__has_live_line(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb"));
}

/* Take the line of the terminal away, or write it anew. */
static void live_line(const struct run *r, const char *text)
{
	if (!r->quiet && run__has_live_line())
		fprintf(stderr, "\r%s\033[K", text);
	fflush(stderr);
}

int run__wait_for(struct run *r, int fd, struct extprof_error *e)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (!epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return 0;
	return message__set(e, EXTPROF_INTERNAL, errno, "cannot wait: %s", strerror(errno));
}

/* -- the beginning ------------------------------------------------------------------------------------ */

/* The screen has the terminal: what COMMAND writes to it would spoil it, and it must not take the keys. */
static int spawn_beside_screen(struct run *r, struct extprof_error *e)
{
	int kept[3] = { -1, -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC), err;

	for (int fd = 0; fd < 3 && null >= 0; fd++) {
		if (!isatty(fd))
			continue;
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (kept[fd] >= 0)
			dup2(null, fd);
	}
	err = spawn__prepare(&r->spawn, r->options->command, options__has(r->options, OPTION_KEEP_ROOT),
			     &r->signals.old_mask, e);
	for (int fd = 0; fd < 3; fd++) {
		if (kept[fd] < 0)
			continue;
		dup2(kept[fd], fd);
		close(kept[fd]);
	}
	if (null >= 0)
		close(null);
	return err;
}

static int prepare_command(struct run *r, struct extprof_error *e)
{
	struct extprof_recording_options *o = &r->options->recording;
	int err;

	if (!r->options->command)
		return 0;
	if (r->ops->takes_terminal)
		err = spawn_beside_screen(r, e);
	else
		err = spawn__prepare(&r->spawn, r->options->command, options__has(r->options, OPTION_KEEP_ROOT),
				     &r->signals.old_mask, e);
	o->command = o->hold_command = true;
	o->pids = &r->spawn.pid;
	o->pid_count = 1;
	return err;
}

int run__create(struct run *r, struct extprof_error *e)
{
	int err = extprof_recording_create(&r->recording, &r->options->recording, e);

	if (err)
		return err;
	signals__block(&r->signals);
	return extprof_recording_open(r->recording, e);
}

/* Did a signal come before anything was measured? */
static int check_interrupt(const struct run *r, struct extprof_error *e)
{
	struct pollfd fd = { .fd = r->signals.interrupt_fd, .events = POLLIN };

	if (poll(&fd, 1, 0) <= 0)
		return 0;
	return message__set(e, EXTPROF_NOT_READY, EINTR, "nothing was measured yet");
}

void run__tell_reader(const struct run *r)
{
	const char *why, *reader = extprof_recording_reader(r->recording, &why);

	if (why)
		fprintf(stderr, "extprof: %s: the memory of the processes is read from outside instead%s (--reader %s)\n",
			why, strcmp(reader, "stop") ? "" : ", and a thread that has a CPU is stopped for it", reader);
}

static int begin(struct run *r, struct extprof_error *e)
{
	int err;

	/* The search may take long: a signal ends extprof meanwhile, as it ends any program. */
	live_line(r, "extprof: starting ...");
	err = r->ops->create ? r->ops->create(r, e) : run__create(r, e);
	live_line(r, "");
	if (err)
		return err;
	if (!r->quiet)
		run__tell_reader(r);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return message__set(e, EXTPROF_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	if ((err = run__wait_for(r, r->signals.interrupt_fd, e)) ||
	    (err = run__wait_for(r, extprof_recording_fd(r->recording), e)) ||
	    (r->ops->prepare && (err = r->ops->prepare(r, e))) || (err = check_interrupt(r, e)) ||
	    (r->options->command && (err = spawn__go(&r->spawn, r->options->command, e))))
		return err;
	err = extprof_recording_begin(r->recording, e);
	r->began = clock__now();
	return err;
}

static bool has_tracefs(void)
{
	return !faccessat(AT_FDCWD, "/sys/kernel/tracing/events", F_OK, AT_EACCESS) ||
	       !faccessat(AT_FDCWD, "/sys/kernel/debug/tracing/events", F_OK, AT_EACCESS);
}

static void give_back_power(const struct run *r)
{
	const struct extprof_recording_options *o = &r->options->recording;
	bool from_outside = o->reader && (!strcmp(o->reader, "nonblocking") || !strcmp(o->reader, "stop"));
	const struct power_needs needs = {
		.processes = true,
		.kernel = !from_outside || r->ops->begins_again,
		.command = o->command,
		.tracefs = (o->event_count || r->ops->begins_again) && !has_tracefs(),
	};

	power__give_back(&needs);
}

static void on_log(void *context, const char *line)
{
	char clean[1024];

	(void)context;
	extprof_clean(clean, sizeof(clean), line);
	fprintf(stderr, "extprof: %s\n", clean);
}

int run__begin(struct run *r, struct extprof_error *e)
{
	int err = sudo__find(&r->sudo, e);

	if (err)
		return err;
	if (r->options->recording.verbose)
		r->options->recording.log = on_log;
	r->owner = r->sudo.found ? &r->sudo.user : NULL;
	if ((r->ops->check && (err = r->ops->check(r, e))) || (err = signals__open(&r->signals, e)) ||
	    (err = prepare_command(r, e)))
		return err;
	r->options->recording.interrupt_fd = &r->signals.interrupt_fd;
	/* The command is there, and waits: it has all that extprof had. */
	give_back_power(r);
	return begin(r, e);
}

/* -- the loop -------------------------------------------------------------------------------------------- */

static void on_interrupt(struct run *r)
{
	struct signalfd_siginfo info;

	while (signals__next(r->signals.interrupt_fd, &info)) {
		r->why = info.ssi_signo == SIGINT ? "Ctrl-C" : "terminated";
		extprof_recording_set_ended(r->recording, r->why);
		/* The terminal sends Ctrl-C to the command as well, which may want to end in an orderly way: measure that
		 * too.  The second one ends the recording at once. */
		if (r->options->command && !r->interrupts) {
			spawn__forward(&r->spawn, &info);
			r->end |= info.ssi_signo != SIGINT || r->ops->ends_command;
		} else {
			r->end = true;
		}
		r->interrupts++;
		r->signal = (int)info.ssi_signo;
	}
}

/* The options that chose the processes, for messages. */
static const char *choice_of(const struct run *r, char *to, size_t size)
{
	static const enum option_id ids[] = { OPTION_NAME, OPTION_BY_USER, OPTION_BY_CGROUP };
	size_t n = 0;

	*to = '\0';
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (r->options->values[ids[i]].given && n < size)
			n += (size_t)snprintf(to + n, size - n, " --%s %s", option_rows[ids[i]].name,
					      r->options->values[ids[i]].text);
	return to;
}

/* Without a process.  UINT64_MAX: never. */
static uint64_t end_of_wait(const struct run *r)
{
	const struct extprof_recording_options *o = &r->options->recording;

	return o->duration && !o->start_paused ? r->began + o->delay + o->duration : UINT64_MAX;
}

/*
 * Processes that are chosen by conditions need not be there.  Say so, and keep to the duration, which begins with the
 * first process otherwise.
 */
static int check_waiting(struct run *r, struct extprof_error *e)
{
	const struct extprof_recording_options *o = &r->options->recording;
	struct extprof_progress p = { .size = sizeof(p) };
	char choice[256];

	/* To ask how it goes takes as long as there are processes. */
	if (!o->all || r->options->command || r->over || r->begun || extprof_recording_progress(r->recording, &p))
		return 0;
	r->begun = !p.waiting;
	if (r->begun)
		return 0;
	choice_of(r, choice, sizeof(choice));
	if (!r->said_waiting && !r->quiet) {
		live_line(r, "");
		message__set(e, EXTPROF_NO_PROCESS, ESRCH, "no ruby process%s%s yet; waiting",
			     *choice ? " matches" : " is there", choice);
		fprintf(stderr, "extprof: %s\n", e->text);
	}
	r->said_waiting = true;
	if (clock__now() < end_of_wait(r))
		return 0;
	message__set(e, EXTPROF_NO_PROCESS, ESRCH, "no ruby process%s%s in %.3g s: nothing was recorded",
		     *choice ? " matched" : " was there", choice, (double)o->duration / 1e9);
	return 1;
}

static int wait_ms(const struct run *r)
{
	uint64_t wait, now = clock__now(), until = r->next;

	if (r->over)
		return OVER_WAIT;
	wait = extprof_recording_wait(r->recording);
	if (r->said_waiting && end_of_wait(r) < (until ? until : UINT64_MAX))
		until = end_of_wait(r);
	if (until && until < now + wait)
		wait = until > now ? until - now : 0;
	/* Rounded up: what is too early would be called again at once. */
	wait = (wait + MS - 1) / MS;
	return wait < INT32_MAX ? (int)wait : INT32_MAX;
}

/* 1: the recording has ended. */
static int step(struct run *r, struct extprof_error *e)
{
	int done = extprof_recording_step(r->recording, e);

	/* With others the processes do not end with it. */
	if (!done && r->options->command && r->options->recording.all && spawn__is_over(&r->spawn)) {
		r->why = "the command ended";
		extprof_recording_set_ended(r->recording, r->why);
		done = 1;
	}
	if (done <= 0)
		return done;
	r->over = true;
	if (r->ops->ended)
		return r->ops->ended(r, e);
	r->end = true;
	return 0;
}

static int turn(struct run *r, struct extprof_error *e)
{
	struct epoll_event events[4];
	int err = 0;

	/* A change of the screen's size interrupts this. */
	epoll_wait(r->epoll_fd, events, 4, wait_ms(r));
	on_interrupt(r);
	if (!r->over && (!r->end || !r->ops->ended))
		err = step(r, e);
	if (!err && r->ops->stepped)
		err = r->ops->stepped(r, e);
	if (!err && !r->end)
		err = check_waiting(r, e);
	if (!err && !r->end && !r->over && r->next && clock__now() >= r->next)
		err = r->ops->tick(r, e);
	return err;
}

int run__go(struct run *r, struct extprof_error *e)
{
	int err = 0;

	while (!err && !r->end)
		err = turn(r, e);
	if (!err && !r->ops->ended)
		err = extprof_recording_finish(r->recording, e);
	live_line(r, "");
	/* A command that cannot be measured is of no use to who wants to know. */
	if (err < 0 && r->options->command && !spawn__ended(&r->spawn, false))
		kill(r->spawn.pid, SIGTERM);
	return err;
}

bool run__hint_at_children(const struct run *r, char *to, size_t size)
{
	struct extprof_report *report;
	uint64_t used;

	if (r->options->recording.subprocesses || r->options->recording.all ||
	    extprof_recording_report(r->recording, &report, NULL))
		return false;
	used = extprof_report_facts(report)->children_cpu_time;
	extprof_report_destroy(report);
	/* Less than 10 ms is not known. */
	if (used < 10 * MS)
		return false;
	snprintf(to, size, "its children used %.2f s of CPU time: -s shows them too", (double)used / 1e9);
	return true;
}

/* -- the end ------------------------------------------------------------------------------------------------ */

int run__command_status(struct run *r, int status)
{
	bool over;

	if (!r->options->command || !r->spawn.pid || r->spawn.go >= 0)
		return status;
	over = spawn__is_over(&r->spawn);
	if (r->ops->ends_command && !over)
		kill(r->spawn.pid, SIGTERM);
	/* We started the command, so we wait for it. */
	spawn__wait(&r->spawn, r->signals.interrupt_fd);
	return status || (r->ops->ends_command && !over) ? status : spawn__exit_status(&r->spawn);
}

void run__free(struct run *r)
{
	extprof_recording_destroy(r->recording);
	spawn__close(&r->spawn);
	signals__close(&r->signals);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	options__free(r->options);
}
