/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/gate.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "process/section_search.h"
#include "process/target.h"
#include "ruby/debug_external.h"

/* A search of what has been mapped so far: the process decides how long that takes. */
#define SEARCH_TIMEOUT 500000000ull
/* A program maps its libraries before it runs.  A program that maps a file after so many searches is no ruby that
 * starts. */
#define SEARCHES_MAX 128u

struct gate {
	pid_t pid;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool begun, go;		/* begun: `err` says whether it is traced */
	int err;
	bool holds;
	int fd;
	/* Only of the thread: */
	struct target target;	/* pidfd -1: not opened */
	uint32_t searches;
	uint64_t call;		/* that the process is in */
};

static void forget_program(struct gate *g)
{
	target__close(&g->target);
	memset(&g->target, 0, sizeof(g->target));
	g->target.pidfd = -1;
	g->searches = 0;
}

static void search(struct gate *g)
{
	struct deadline deadline;
	struct diag d;

	if (g->searches++ >= SEARCHES_MAX)
		return;
	if (g->target.pidfd < 0 && target__open(&g->target, g->pid, &d)) {
		g->target.pidfd = -1;
		return;
	}
	deadline__start(&deadline, -1, deadline__now() + SEARCH_TIMEOUT);
	g->target.deadline = &deadline;
	if (target__find_section(&g->target, &d))
		g->target.section = 0;
	g->target.deadline = NULL;
	if (g->target.space)
		g->target.space->deadline = NULL;
}

/* Is the VM initialised?  It stays what it is as long as the process is stopped. */
static bool is_ready(const struct gate *g)
{
	uint32_t state = RB_DEBUG_EXT_STARTING;
	uint64_t at = g->target.section + offsetof(struct rb_debug_ext_section, state);

	return g->target.section && g->target.space &&
	       !memory__read(&g->target.space->memory, at, &state, sizeof(state)) && state != RB_DEBUG_EXT_STARTING;
}

static bool maps(uint64_t call)
{
	return call == SYS_mmap || call == SYS_mprotect;
}

/* At the begin and the end of a system call. */
static bool on_call(struct gate *g)
{
	struct __ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, g->pid, sizeof(info), &info) <= 0)
		return false;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		g->call = info.entry.nr;
	else if (!g->target.section && maps(g->call))
		search(g);
	return is_ready(g);
}

static void hold(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->holds = true;
	eventfd_write(g->fd, 1);
	while (!g->go)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

/* The process has stopped with that code.  False: it is traced no more. */
static bool on_stop(struct gate *g, int code)
{
	int signal = 0;

	if (code == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
		forget_program(g);
		search(g);
	} else if (code == (SIGTRAP | 0x80)) {
		if (on_call(g)) {
			hold(g);
			ptrace(PTRACE_DETACH, g->pid, NULL, NULL);
			return false;
		}
	} else if (code >> 8) {
		/* The job is stopped.  It stays so without us. */
		ptrace(PTRACE_DETACH, g->pid, NULL, NULL);
		return false;
	} else {
		signal = code;
	}
	return !ptrace(PTRACE_SYSCALL, g->pid, NULL, (void *)(long)signal);
}

static void clean_up(void *context)
{
	forget_program(context);
}

static void *run(void *context)
{
	struct gate *g = context;
	siginfo_t info;
	bool traced;
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	traced = !ptrace(PTRACE_SEIZE, g->pid, NULL, (void *)(long)(PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD));
	pthread_mutex_lock(&g->lock);
	g->err = traced ? 0 : -errno;
	g->begun = true;
	pthread_cond_signal(&g->changed);
	pthread_mutex_unlock(&g->lock);
	pthread_cleanup_push(clean_up, g);
	while (traced) {
		info.si_pid = 0;
		/* Its end is for its parent.  Only here gate__close() ends the thread. */
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
		traced = !waitid(P_PID, (id_t)g->pid, &info, WSTOPPED | __WALL | __WNOTHREAD);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
		traced = traced && on_stop(g, info.si_status);
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static int start_thread(struct gate *g)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&g->thread, NULL, run, g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return -err;
	pthread_mutex_lock(&g->lock);
	while (!g->begun)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
	if (!g->err)
		return 0;
	pthread_join(g->thread, NULL);
	return g->err;
}

static void free_gate(struct gate *g)
{
	if (g->fd >= 0)
		close(g->fd);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

int gate__open(struct gate **gate, pid_t pid, struct diag *d)
{
	struct gate *g = calloc(1, sizeof(*g));
	int err;

	*gate = NULL;
	if (!g)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	g->pid = pid;
	g->target.pidfd = -1;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	g->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = g->fd < 0 ? -errno : start_thread(g);
	if (err) {
		free_gate(g);
		return diag__set(d, DIAG_PERMISSION, -err, "cannot trace process %d while it starts: %s", pid, strerror(-err));
	}
	*gate = g;
	return 0;
}

int gate__fd(const struct gate *g)
{
	return g->fd;
}

bool gate__holds(struct gate *g)
{
	eventfd_t told;
	bool holds;

	pthread_mutex_lock(&g->lock);
	/* Else who waits for it is woken again and again until the process is found. */
	eventfd_read(g->fd, &told);
	holds = g->holds;
	pthread_mutex_unlock(&g->lock);
	return holds;
}

void gate__close(struct gate *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->go = true;
	pthread_cond_signal(&g->changed);
	pthread_mutex_unlock(&g->lock);
	/* The end of the thread is the end of the tracing. */
	pthread_cancel(g->thread);
	pthread_join(g->thread, NULL);
	free_gate(g);
}
