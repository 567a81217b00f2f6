/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/stop.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/deadline.h"
#include "base/directory.h"
#include "process/proc.h"

#define THREADS_MAX 65536
/* A thread in an uninterruptible wait stops when it is over. */
#define TIMEOUT 200000000ull
/* Most stop at once: for so long their stops are looked for without a pause. */
#define SPIN 200000ull
#define LOOK_INTERVAL 20000l	/* ns */

struct stopped {
	pid_t tid;
	bool waiting;		/* it was told to stop, and has not yet */
	bool gone;
	bool in_call;		/* it waited in a system call */
	int signal;		/* to be delivered when it goes on; 0 none */
	struct task task;
};

void task__set_registers(struct task *task, const void *registers)
{
	const struct user_regs_struct *r = registers;

	task->call = -1;
#if defined(__x86_64__)
	task->ip = r->rip;
	task->sp = r->rsp;
	task->bp = r->rbp;
	task->has_bp = true;
	/* -1: it did not come by a system call. */
	if ((int64_t)r->orig_rax >= 0) {
		const uint64_t args[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };

		task->call = (int64_t)r->orig_rax;
		memcpy(task->args, args, sizeof(args));
	}
#elif defined(__aarch64__)
	/* The number of the call is not among them. */
	task->ip = r->pc;
	task->sp = r->sp;
	task->bp = r->regs[29];
	task->lr = r->regs[30];
	task->has_bp = true;
#endif
}

/* Did it wait in its system call?  It does the call again then, or is told that it was interrupted: it has no result yet. */
static bool was_waiting(const struct user_regs_struct *r, const struct task *task)
{
#if defined(__x86_64__)
	int64_t result = (int64_t)r->rax;

	/* The kernel's own -ERESTARTSYS and the like are not in errno.h. */
	return task->call >= 0 && (result == -EINTR || (result <= -512 && result >= -516));
#else
	/* The call is set up again before the stop: nothing tells it apart. */
	(void)r;
	return task->call >= 0;
#endif
}

static void read_registers(struct stopped *t)
{
	struct user_regs_struct regs = { 0 };
	struct iovec io = { .iov_base = &regs, .iov_len = sizeof(regs) };

	if (!ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_PRSTATUS, &io) && io.iov_len == sizeof(regs))
		task__set_registers(&t->task, &regs);
#if defined(__aarch64__)
	int number;

	io = (struct iovec){ .iov_base = &number, .iov_len = sizeof(number) };
	if (!ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_ARM_SYSTEM_CALL, &io) && number >= 0) {
		t->task.call = number;
		memcpy(t->task.args, &regs, sizeof(t->task.args));
	}
#endif
	t->in_call = was_waiting(&regs, &t->task);
	/* It leaves the call that it is in. */
	if (!t->in_call)
		t->task.call = -1;
}

static int not_stopped(pid_t pid, struct diag *d)
{
	diag__set(d, DIAG_NOT_READY, ETIMEDOUT, "a thread of process %d did not stop: it is in an "
		  "uninterruptible wait, or gets no CPU", pid);
	diag__hint(d, "read the process without stopping it");
	return -ETIMEDOUT;
}

static int refused(pid_t pid, pid_t tid, struct diag *d)
{
	struct proc_status s, own;

	if (!proc_status__read(&s, pid, tid) && s.tracer) {
		/* This process was told to stop it before, and waits for that. */
		if (!proc_status__read(&own, getpid(), s.tracer))
			return not_stopped(pid, d);
		diag__set(d, DIAG_PERMISSION, EBUSY, "process %d is traced by process %d already, a debugger or "
			  "strace", pid, s.tracer);
		diag__hint(d, "end that first, or read the process without stopping it");
		return -EBUSY;
	}
	diag__set(d, DIAG_PERMISSION, EPERM, "no permission to stop process %d", pid);
	diag__hint(d, "%s; or read the process without stopping it", proc__advice());
	return -EPERM;
}

static uint32_t stopped_count(const struct stop *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++)
		n += !s->list[i].gone;
	return n;
}

static bool has(const struct stop *s, pid_t tid)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i].tid == tid)
			return true;
	return false;
}

static int seize(struct stop *s, pid_t tid)
{
	struct stopped *t;

	if (array__reserve(&s->list, s->count, 1, &s->room, THREADS_MAX, sizeof(*s->list)))
		return -ENOMEM;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		s->refused = tid;
		return -errno;
	}
	t = &s->list[s->count++];
	memset(t, 0, sizeof(*t));
	t->tid = t->task.tid = tid;
	t->task.call = t->task.cpu = -1;
	return 0;
}

/* Seize the threads that are not in the list.  How many, or -errno. */
static int seize_new(struct stop *s, const struct tasks *tasks)
{
	DIR *dir = directory__open(tasks->dir, ".");
	struct dirent *entry;
	int err = 0, n = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || has(s, tid))
			continue;
		err = seize(s, tid);
		/* It has ended, or ends. */
		if (err == -ESRCH || (err == -EPERM && proc__is_exiting(tasks->pid, tid)))
			err = 0;
		else if (!err)
			n++;
	}
	closedir(dir);
	return err ? err : n;
}

enum seen { SEEN_NOTHING, SEEN_STOP, SEEN_END };

/* A stop: the event, or 0 and the signal that was about to be delivered. */
struct seen_stop {
	int event, signal;
};

/*
 * Has it stopped, or ended?  The stop is not taken: of a stop that was taken the kernel forgets the signal, and if this process
 * was killed then, nobody would deliver it.
 */
static enum seen look(pid_t tid, int options, struct seen_stop *stop)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | options))
		return SEEN_END;
	if (!info.si_pid)
		return SEEN_NOTHING;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
		waitpid(tid, NULL, __WALL | WNOHANG);
		return SEEN_END;
	}
	stop->event = info.si_status >> 8;
	stop->signal = info.si_status & 0xff;
	return SEEN_STOP;
}

static void on_stop(struct stopped *t, const struct seen_stop *stop)
{
	/* Another event than our own: a signal was about to be delivered. */
	if (!stop->event)
		t->signal = stop->signal;
	read_registers(t);
	if (stop->event == PTRACE_EVENT_STOP && stop->signal != SIGTRAP)
		t->task.state = 'T';	/* a signal has stopped the process */
	else
		t->task.state = t->in_call ? 'S' : 'R';
	t->task.off_cpu = t->task.state != 'R';
}

/* Wait until all that were told to have stopped.  0 or -ETIMEDOUT. */
static int wait_for_all(struct stop *s, uint32_t first)
{
	const struct timespec pause = { .tv_nsec = LOOK_INTERVAL };
	uint64_t began = deadline__now();
	bool waiting = true;

	while (waiting) {
		waiting = false;
		for (uint32_t i = first; i < s->count; i++) {
			struct stopped *t = &s->list[i];
			struct seen_stop stop;
			enum seen seen;

			if (!t->waiting)
				continue;
			seen = look(t->tid, WNOHANG, &stop);
			t->waiting = seen == SEEN_NOTHING;
			t->gone = seen == SEEN_END;
			if (seen == SEEN_STOP)
				on_stop(t, &stop);
			waiting |= t->waiting;
		}
		if (waiting && deadline__now() - began > TIMEOUT)
			return -ETIMEDOUT;
		if (waiting && s->later)
			stop_later__poll(s->later);
		if (waiting && deadline__now() - began > SPIN)
			nanosleep(&pause, NULL);
		else if (waiting)
			sched_yield();
	}
	return 0;
}

static int stop_new(struct stop *s, uint32_t first)
{
	for (uint32_t i = first; i < s->count; i++) {
		if (ptrace(PTRACE_INTERRUPT, s->list[i].tid, NULL, NULL))
			s->list[i].gone = true;
		else
			s->list[i].waiting = true;
	}
	return wait_for_all(s, first);
}

static int map_threads(struct stop *s, struct tasks *tasks)
{
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t inner = tasks__inner_tid(tasks, s->list[i].tid);

		if (inner && map64__get(&s->map, inner) == MAP64_NONE && map64__add(&s->map, inner, i))
			return -ENOMEM;
	}
	return 0;
}

static int explain(const struct stop *s, const struct tasks *tasks, int err, struct diag *d)
{
	switch (err) {
	case 0:
		if (s->count)
			return 0;
		return diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", tasks->pid);
	case -EPERM:
	case -EACCES:
		return refused(tasks->pid, s->refused, d);
	case -ESRCH:
		return diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", tasks->pid);
	case -ETIMEDOUT:
		return not_stopped(tasks->pid, d);
	default:
		return diag__set(d, DIAG_INTERNAL, -err, "cannot stop process %d: %s", tasks->pid, strerror(-err));
	}
}

int stop__begin_thread(struct stop *s, struct tasks *tasks, pid_t tid, struct stop_later *later, struct diag *d)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->later = later;
	err = seize(s, tid);
	/* It ends: that is no lack of permission. */
	if (err == -EPERM && proc__is_exiting(tasks->pid, tid))
		err = -ESRCH;
	if (!err)
		err = map_threads(s, tasks);
	s->began = deadline__now();
	if (!err)
		err = stop_new(s, 0);
	if (!err && s->list[0].gone)
		err = -ESRCH;
	return explain(s, tasks, err, d);
}

int stop__begin(struct stop *s, struct tasks *tasks, struct diag *d)
{
	struct proc_stat stat;
	int n;

	memset(s, 0, sizeof(*s));
	/* Threads that run may make others.  Once all known ones are stopped there is nobody to do that. */
	do {
		uint32_t first = s->count;

		n = seize_new(s, tasks);
		if (n > 0 && !s->began) {
			if (map_threads(s, tasks))
				n = -ENOMEM;
			s->began = deadline__now();
		}
		if (n > 0) {
			int err = stop_new(s, first);

			if (err)
				n = err;
			else if (first && map_threads(s, tasks))
				n = -ENOMEM;
		}
		/* To count is quicker than to look for others. */
		if (n > 0 && !proc_stat__read(&stat, tasks->pid, 0) && stopped_count(s) == stat.threads)
			n = 0;
	} while (n > 0);
	return explain(s, tasks, n, d);
}

/* Let it go if it has stopped. */
static enum seen let_go(pid_t tid, int options)
{
	struct seen_stop stop;
	enum seen seen = look(tid, options, &stop);

	if (seen == SEEN_STOP)
		ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)(stop.event ? 0 : stop.signal));
	return seen;
}

void stop_later__poll(struct stop_later *l)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct stopping t = l->list[i];
		uint64_t now = deadline__now();
		enum seen seen = let_go(t.tid, WNOHANG);

		if (seen == SEEN_NOTHING) {
			t.looked = now;
			l->list[kept++] = t;
		} else if (seen == SEEN_STOP) {
			/* It has stopped since the last look, nobody knows when. */
			l->stops++;
			now = deadline__now() - t.looked;
			if (now > l->longest)
				l->longest = now;
		}
	}
	l->count = kept;
}

void stop_later__free(struct stop_later *l)
{
	free(l->list);
	memset(l, 0, sizeof(*l));
}

static void let_go_later(struct stop_later *l, pid_t tid)
{
	if (!l)
		return;
	/* Without memory to remember it: now, however long that takes. */
	if (array__reserve(&l->list, l->count, 1, &l->room, THREADS_MAX, sizeof(*l->list)))
		let_go(tid, 0);
	else
		l->list[l->count++] = (struct stopping){ .tid = tid, .looked = deadline__now() };
}

void stop__end(struct stop *s, struct stop_later *later)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct stopped *t = &s->list[i];

		if (t->gone)
			continue;
		/* One that was not told to stop yet has to, before it can be let go. */
		if (!t->waiting && ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal))
			t->waiting = !ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		if (t->waiting)
			let_go_later(later, t->tid);
	}
	if (s->began)
		s->duration = deadline__now() - s->began;
	free(s->list);
	map64__free(&s->map);
	s->list = NULL;
	s->count = 0;
	s->room = 0;
}

bool stop__task(const struct stop *s, uint32_t tid, struct task *task)
{
	uint32_t i = map64__get(&s->map, tid);

	if (i == MAP64_NONE || s->list[i].gone)
		return false;
	*task = s->list[i].task;
	return true;
}
