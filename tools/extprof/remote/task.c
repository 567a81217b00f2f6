/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/task.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/directory.h"
#include "process/proc.h"

/* Native threads that are looked at to find their numbers in another namespace.  The process chooses how many
 * it has. */
#define TASKS_MAX 65536

int tasks__read(const struct tasks *t, pid_t tid, const char *name, struct proc_text *text)
{
	char path[PROC_PATH_MAX];

	snprintf(path, sizeof(path), "%d/%s", tid, name);
	return proc_text__read(text, t->dir, path);
}

int tasks__open(struct tasks *t, pid_t pid, bool same)
{
	char path[PROC_PATH_MAX];

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->mapped = !same;
	proc__path(path, pid, 0, "task");
	t->dir = proc__keep_file(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	return t->dir < 0 ? -errno : 0;
}

void tasks__close(struct tasks *t)
{
	if (t->dir >= 0)
		close(t->dir);
	t->dir = -1;
	map64__free(&t->map);
}

/* The number of the thread in the innermost namespace that it is in; 0 unknown. */
static uint32_t inner_tid(const struct tasks *t, pid_t tid)
{
	struct proc_status status;
	struct proc_text text;

	tasks__read(t, tid, "status", &text);
	proc_status__parse(&status, text.text);
	proc_text__free(&text);
	return status.inner;
}

uint32_t tasks__inner_tid(const struct tasks *t, pid_t tid)
{
	return t->mapped ? inner_tid(t, tid) : (uint32_t)tid;
}

static void map_all(struct tasks *t)
{
	DIR *dir = directory__open(t->dir, ".");
	struct dirent *entry;

	if (!dir)
		return;
	for (int i = 0; i < TASKS_MAX && (entry = readdir(dir)); i++) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		uint32_t inner = tid > 0 ? inner_tid(t, tid) : 0;

		if (inner && map64__get(&t->map, inner) == MAP64_NONE && map64__add(&t->map, inner, (uint32_t)tid))
			break;
	}
	closedir(dir);
}

pid_t tasks__tid(struct tasks *t, uint32_t tid)
{
	uint32_t found;

	if (!tid || tid > INT32_MAX)
		return 0;
	if (!t->mapped)
		return (pid_t)tid;
	found = map64__get(&t->map, tid);
	if (found == MAP64_NONE || inner_tid(t, (pid_t)found) != tid) {
		/* It is new, or one that had this number has ended. */
		map64__free(&t->map);
		memset(&t->map, 0, sizeof(t->map));
		map_all(t);
		found = map64__get(&t->map, tid);
	}
	return found == MAP64_NONE ? 0 : (pid_t)found;
}

int tasks__runs(const struct tasks *t, pid_t tid, uint64_t *runs)
{
	struct proc_text text;
	int err = tasks__read(t, tid, "schedstat", &text);

	/* Time on the CPU, time of waiting for it, how often it got one.  All are 0 where none is counted. */
	if (!err && (sscanf(text.text, "%*u %*u %" SCNu64, runs) != 1 || !*runs))
		err = -ENOTSUP;
	proc_text__free(&text);
	return err;
}

uint64_t tasks__ran_unseen(const struct tasks *t, pid_t tid, const struct sched_thread *thread, uint64_t now)
{
	uint64_t ran = 0, later;
	struct proc_text text;

	/* One that was blocked all the time got no CPU. */
	if (thread->off != OFF_YES || (thread->out != OUT_RUNNABLE && !thread->woken))
		return 0;
	if (!tasks__read(t, tid, "schedstat", &text))
		ran = strtoull(text.text, NULL, 10);
	proc_text__free(&text);
	/* It may have run since, too. */
	later = deadline__now() - now;
	return ran > later ? ran_unseen(thread, ran - later, now) : 0;
}

static void parse_call(const char *text, struct task *task)
{
	uint64_t a[6], sp, ip;
	int64_t call;

	/* The kernel looks twice whether the thread is switched out, and says "running" if it is not. */
	if (sscanf(text, "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64 " %" SCNx64, &call, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &sp, &ip) == 9) {
		task->off_cpu = true;
		task->call = call;
		memcpy(task->args, a, sizeof(task->args));
		task->ip = ip;
		task->sp = sp;
	} else if (sscanf(text, "-1 %" SCNx64 " %" SCNx64, &sp, &ip) == 2) {
		task->off_cpu = true;
		task->ip = ip;
		task->sp = sp;
	}
}

int tasks__look(const struct tasks *t, pid_t tid, struct task *task)
{
	struct proc_text text;
	struct proc_stat stat;
	int err;

	memset(task, 0, sizeof(*task));
	task->tid = tid;
	task->call = -1;
	if (!tasks__read(t, tid, "syscall", &text))
		parse_call(text.text, task);
	proc_text__free(&text);
	err = tasks__read(t, tid, "stat", &text);
	proc_stat__parse(&stat, text.text);
	proc_text__free(&text);
	task->state = stat.state;
	task->cpu = stat.cpu;
	task->realtime = stat.realtime;
	return err;
}

void task__find_restarted(struct task *task, const struct memory *memory)
{
#if defined(__x86_64__)
	/* mov $NUMBER, %eax; syscall */
	uint8_t code[7];
	uint32_t number;

	if (task->call != SYS_restart_syscall || task->ip < sizeof(code) ||
	    memory__read(memory, task->ip - sizeof(code), code, sizeof(code)) || code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
		return;
	memcpy(&number, code + 1, sizeof(number));
	if (number == SYS_futex || number == SYS_poll || number == SYS_nanosleep || number == SYS_clock_nanosleep)
		task->call = number;
#else
	(void)task;
	(void)memory;
#endif
}
