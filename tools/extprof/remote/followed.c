/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/followed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/deadline.h"
#include "process/proc.h"
#include "process/target.h"
#include "remote/parked.h"

#define FOLLOWED_MAX 8192u
/* More new pids than that are not looked at one by one. */
#define PIDS_AT_ONCE 2048

int followed__init(struct followed_set *s)
{
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	return s->epoll_fd < 0 ? -errno : 0;
}

static void close_pidfd(struct followed_set *s, struct followed *f)
{
	if (f->pidfd < 0)
		return;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, f->pidfd, NULL);
	close(f->pidfd);
	f->pidfd = -1;
}

void followed__unwatch(struct followed_set *s, struct followed *f)
{
	if (!f->watch || !f->watch->space)
		return;
	if (f->parked)
		parked__free(f->parked);
	free(f->parked);
	f->parked = NULL;
	watch__close(f->watch, s->watcher);
	/* Its counters are of the process, whatever it runs. */
	f->watch->space = NULL;
	f->watch->threads = NULL;
	f->watch->thread_count = 0;
	f->watch->tasks.dir = -1;
}

void followed__leave(struct followed_set *s, struct followed *f)
{
	close_pidfd(s, f);
	followed__unwatch(s, f);
	address_space__close(f->space);
	f->space = NULL;
}

static void free_one(struct followed_set *s, struct followed *f)
{
	followed__leave(s, f);
	free(f->watch);
	free(f);
}

void followed__forget(struct followed_set *s, struct followed *f)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i] != f)
			s->list[kept++] = s->list[i];
	s->count = kept;
	free_one(s, f);
}

void followed__free(struct followed_set *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free_one(s, s->list[i]);
	free(s->list);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s->loadavg >= 0)
		close(s->loadavg);
}

/* Find the process among those that live. */
struct followed *followed__find(const struct followed_set *s, const struct target_key *key)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i]->pidfd >= 0 && s->list[i]->key.pid == key->pid && s->list[i]->key.pidns == key->pidns)
			return s->list[i];
	return NULL;
}

struct followed *followed__by_number(const struct followed_set *s, uint32_t number)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i]->number == number)
			return s->list[i];
	return NULL;
}

static struct followed *by_pid(const struct followed_set *s, pid_t pid)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i]->pidfd >= 0 && s->list[i]->pid == pid)
			return s->list[i];
	return NULL;
}

int followed__add(struct followed_set *s, const struct target_key *key, pid_t pid, uint32_t number, uint32_t flags)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct timespec now;
	struct followed *f;
	int err;

	if (followed__find(s, key))
		return -EEXIST;
	if (array__reserve(&s->list, s->count, 1, &s->room, FOLLOWED_MAX, sizeof(*s->list)))
		return -ENOMEM;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	clock_gettime(CLOCK_BOOTTIME, &now);
	*f = (struct followed){
		.number = number, .key = *key, .pid = pid, .flags = flags,
		.since = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec,
	};
	f->pidfd = proc__keep_file((int)syscall(SYS_pidfd_open, pid, 0));
	event.data.ptr = f;
	if (f->pidfd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, f->pidfd, &event)) {
		err = -errno;
		close_pidfd(s, f);
		free(f);
		return err;
	}
	f->space = address_space__open(pid, &err);
	s->list[s->count++] = f;
	return 0;
}

/* -- what becomes of them ---------------------------------------------------------------------------- */

static void read_cpu_time(struct followed *f)
{
	uint64_t used = proc__cpu_time(f->pid);

	if (used)
		f->cpu_time = used;
}

static void tell(struct followed_set *s, struct process_event *ev)
{
	ev->time = deadline__now();
	event_queue__put(s->events, ev, sizeof(*ev));
}

static void ended(struct followed_set *s, struct followed *f)
{
	struct process_event ev = { .kind = PROCESS_FREED, .process = f->number };

	/* Its samples come first. */
	followed__leave(s, f);
	ev.cpu_time = f->cpu_time;
	tell(s, &ev);
}

void followed__take_ends(struct followed_set *s)
{
	struct epoll_event events[64];
	int n = epoll_wait(s->epoll_fd, events, 64, 0);

	for (int i = 0; i < n; i++) {
		struct followed *f = events[i].data.ptr;

		/* The pid is its own until it is waited for. */
		if (f->pidfd < 0)
			continue;
		read_cpu_time(f);
		ended(s, f);
	}
}

static void executed(struct followed_set *s, struct followed *f)
{
	struct process_event ev = { .kind = PROCESS_EXECUTED, .process = f->number, .pid = (uint32_t)f->pid,
				    .flags = f->flags, .key = f->key };
	struct proc_status status;
	int err;

	followed__unwatch(s, f);
	address_space__close(f->space);
	f->space = address_space__open(f->pid, &err);
	if (!proc_status__read(&status, f->pid, 0))
		ev.uid = status.users[0];
	proc__comm(f->pid, 0, ev.comm, sizeof(ev.comm));
	ev.cpu_time = f->cpu_time;
	tell(s, &ev);
}

/* -- children ---------------------------------------------------------------------------------------- */

static void child_came(struct followed_set *s, const struct followed *parent, pid_t pid, const struct proc_status *status)
{
	struct process_event ev = { .kind = PROCESS_FORKED, .pid = (uint32_t)pid, .parent = parent->number,
				    .uid = status->users[0] };
	struct target target;
	uint64_t started;
	struct diag d;

	if (target__open(&target, pid, &d))
		return;
	ev.key = target.key;
	/* A child that is older than the look at its parent has used CPU time that is not of this recording. */
	started = proc__started(pid);
	if (started && started < parent->since)
		ev.cpu_time = proc__cpu_time(pid);
	target__close(&target);
	ev.process = s->new_number(s->context);
	ev.flags = s->follow_children ? parent->flags & TARGET_WATCHED : TARGET_WATCHED;
	proc__comm(pid, 0, ev.comm, sizeof(ev.comm));
	if (!followed__add(s, &ev.key, pid, ev.process, ev.flags))
		tell(s, &ev);
}

static void look_at(struct followed_set *s, pid_t pid)
{
	struct process_event ev = { .kind = PROCESS_EXECUTED, .pid = (uint32_t)pid };
	const struct followed *parent;
	struct proc_status status;

	if (proc_status__read(&status, pid, 0) || status.group != pid || by_pid(s, pid))
		return;
	parent = by_pid(s, status.parent);
	if (parent)
		child_came(s, parent, pid, &status);
	else if (s->tell_all)
		tell(s, &ev);
}

static void look_at_all(struct followed_set *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			look_at(s, pid);
	}
	closedir(dir);
}

/* The newest pid of this namespace; 0 unknown. */
static pid_t newest_pid(const struct followed_set *s)
{
	char text[128], *last;
	ssize_t n = s->loadavg < 0 ? -1 : pread(s->loadavg, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	last = strrchr(text, ' ');
	return last ? (pid_t)strtol(last + 1, NULL, 10) : 0;
}

/* Pids are given out in order, so most looks need one read. */
static void look_for_children(struct followed_set *s)
{
	pid_t newest = newest_pid(s), last = s->last_pid;

	s->last_pid = newest;
	if (newest && newest == last)
		return;
	if (!newest || !last || newest < last || newest - last > PIDS_AT_ONCE) {
		look_at_all(s);
		return;
	}
	for (pid_t pid = last + 1; pid <= newest; pid++)
		look_at(s, pid);
}

static bool memory_is_gone(const struct followed *f)
{
	return (f->space && !address_space__lives(f->space)) ||
	       (f->watch && f->watch->space && !address_space__lives(f->watch->space));
}

void followed__look(struct followed_set *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct followed *f = s->list[i];

		if (f->pidfd < 0)
			continue;
		read_cpu_time(f);
		/* A process that ends loses its memory first.  Its pidfd tells of the end, so this is not an exec. */
		if (memory_is_gone(f) && !proc__is_exiting(f->pid, 0))
			executed(s, f);
	}
	look_for_children(s);
}
