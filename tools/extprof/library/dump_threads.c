/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_threads.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dump/deadlocks.h"
#include "process/open_file.h"
#include "process/proc.h"
#include "profile/wait_details.h"
#include "remote/wait_state.h"
#include "source/call_kinds.h"
#include "source/syscall_set.h"

/* So many of the files that a queue of epoll(7) watches are named, and so many lines are counted. */
#define WATCHED_NAMED 4u
#define WATCHED_MAX 65536u

#define SAME(public, inside) _Static_assert((int)(public) == (int)(inside), #public)
SAME(EXTPROF_THREAD_CREATED, RB_DEBUG_EXT_THREAD_CREATED);
SAME(EXTPROF_THREAD_RUNNING, RB_DEBUG_EXT_THREAD_RUNNING);
SAME(EXTPROF_THREAD_READY, RB_DEBUG_EXT_THREAD_READY);
SAME(EXTPROF_THREAD_BLOCKED, RB_DEBUG_EXT_THREAD_BLOCKED);
SAME(EXTPROF_THREAD_SLEEPING, RB_DEBUG_EXT_THREAD_SLEEPING);
SAME(EXTPROF_WAIT_UNKNOWN, RB_DEBUG_EXT_WAIT_NONE);
SAME(EXTPROF_WAIT_SLEEP, RB_DEBUG_EXT_WAIT_SLEEP);
SAME(EXTPROF_WAIT_JOIN, RB_DEBUG_EXT_WAIT_JOIN);
SAME(EXTPROF_WAIT_MUTEX, RB_DEBUG_EXT_WAIT_MUTEX);
SAME(EXTPROF_WAIT_MUTEX_SLEEP, RB_DEBUG_EXT_WAIT_MUTEX_SLEEP);
SAME(EXTPROF_WAIT_CONDVAR, RB_DEBUG_EXT_WAIT_CONDVAR);
SAME(EXTPROF_WAIT_QUEUE, RB_DEBUG_EXT_WAIT_QUEUE);
SAME(EXTPROF_WAIT_SIZED_QUEUE, RB_DEBUG_EXT_WAIT_SIZED_QUEUE);
SAME(EXTPROF_WAIT_IO, RB_DEBUG_EXT_WAIT_IO);
SAME(EXTPROF_WAIT_IO_READ, RB_DEBUG_EXT_WAIT_IO_READ);
SAME(EXTPROF_WAIT_IO_WRITE, RB_DEBUG_EXT_WAIT_IO_WRITE);
SAME(EXTPROF_WAIT_IO_SELECT, RB_DEBUG_EXT_WAIT_IO_SELECT);
SAME(EXTPROF_WAIT_PROCESS, RB_DEBUG_EXT_WAIT_PROCESS);
SAME(EXTPROF_WAIT_RACTOR, RB_DEBUG_EXT_WAIT_RACTOR);
SAME(EXTPROF_WAIT_NOGVL, RB_DEBUG_EXT_WAIT_NOGVL);

static const char *gc_name(const struct snapshot_ec *ec)
{
	switch (ec->event ? ec->event->gc_phase : 0) {
	case 0: return NULL;
	case RB_DEBUG_EXT_GC_MARK: return "mark";
	case RB_DEBUG_EXT_GC_SWEEP: return "sweep";
	case RB_DEBUG_EXT_GC_COMPACT: return "compact";
	default: return "enter";
	}
}

/* Find threads by their slots, and holders of GVLs by their ractors. */
static int index_threads(struct dump_threads *d, const struct snapshot *s)
{
	map64__clear(&d->slots);
	map64__clear(&d->holders);
	for (uint32_t i = 0; i < s->thread_count; i++) {
		const struct snapshot_thread *t = &s->threads[i];

		if (map64__note(&d->slots, t->slot, i) ||
		    (t->t.state == RB_DEBUG_EXT_THREAD_RUNNING && map64__note(&d->holders, t->t.ractor, i)))
			return -ENOMEM;
	}
	return 0;
}

/* Serial of the thread that has the number under the key; 0: there is none. */
static uint64_t serial_of(const struct map64 *map, uint64_t key, const struct snapshot *s)
{
	uint32_t number = map64__get(map, key);

	return number == MAP64_NONE ? 0 : s->threads[number].t.serial;
}

/* Append what a descriptor of the process is; false: it is not known.  *is_epoll is set if it is the queue of epoll(7). */
static bool add_fd(pid_t pid, uint32_t fd, bool *is_epoll, struct text *out)
{
	static const char epoll[] = "anon_inode:[eventpoll]";
	char path[PROC_PATH_MAX], target[4096];
	struct wait_file socket = { 0 };
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%" PRIu32, pid, fd);
	n = readlink(path, target, sizeof(target));
	if (n <= 0)
		return false;
	if (n > 8 && !memcmp(target, "socket:[", 8))
		open_file__look(pid, fd, true, &socket);
	*is_epoll = n == sizeof(epoll) - 1 && !memcmp(target, epoll, sizeof(epoll) - 1);
	if (socket.kind == FILE_SOCKET)
		details__add_file(&socket, pid, out);
	else
		text__add_clean(out, target, (size_t)n, TEXT_NAME_MAX);
	return true;
}

/* Append " of 3 files: 4 socket to 10.0.0.1:80, 5 pipe:[77] and 1 more", as the kernel says in fdinfo; nothing if it does not. */
static void add_watched(pid_t pid, uint32_t epoll, struct text *out)
{
	uint32_t fds[WATCHED_NAMED], count = 0;
	FILE *f = proc__open_fdinfo(pid, epoll);
	char line[256];
	bool is_epoll;

	if (!f)
		return;
	while (count < WATCHED_MAX && fgets(line, sizeof(line), f)) {
		uint32_t fd;

		if (sscanf(line, "tfd: %" SCNu32, &fd) != 1)
			continue;
		if (count < WATCHED_NAMED)
			fds[count] = fd;
		count++;
	}
	fclose(f);
	text__addf(out, " of %" PRIu32 "%s file%s", count, count == WATCHED_MAX ? " or more" : "", count == 1 ? "" : "s");
	for (uint32_t i = 0; i < count && i < WATCHED_NAMED; i++) {
		text__addf(out, "%s%" PRIu32 " ", i ? ", " : ": ", fds[i]);
		/* It can be closed, and open elsewhere. */
		if (!add_fd(pid, fds[i], &is_epoll, out))
			text__adds(out, "unknown");
	}
	if (count > WATCHED_NAMED)
		text__addf(out, " and %" PRIu32 " more", count - WATCHED_NAMED);
}

/* Describe the file of a descriptor of the process.  0 with *file, NULL if the file is not known; or -ENOMEM. */
static int describe_fd(struct dump_threads *d, pid_t pid, int32_t fd, const char **file)
{
	struct text text = { 0 };
	bool is_epoll = false;

	*file = NULL;
	if (!pid || fd < 0)
		return 0;
	if (!add_fd(pid, (uint32_t)fd, &is_epoll, &text)) {
		text__free(&text);
		return 0;
	}
	if (is_epoll)
		add_watched(pid, (uint32_t)fd, &text);
	*file = dump_parts__text(d->parts, &text);
	return *file ? 0 : -ENOMEM;
}

static int describe_call(struct dump_threads *d, pid_t pid, const struct task *task, struct extprof_dump_thread *to)
{
	int err;

	to->call = task->call;
	to->call_fd = -1;
	if (task->call < 0)
		return 0;
	to->call_name = syscall__name((uint64_t)task->call);
	to->call_fd = wait_state__call_fd(task, d->memory);
	if (to->call_fd < 0)
		to->call_fd = -1;
	err = describe_fd(d, pid, to->call_fd, &to->call_file);
	/* The thread can have gone on since its call was seen, and its memory is then another one's. */
	if (pid && !to->call_file && call_kind(task->call) == CALL_POLL)
		to->call_fd = -1;
	return err;
}

/* Ruby sleeps for a time, or without an end, in futex(2). */
static int limit_of(const struct task *task)
{
	uint64_t operation = task->args[1] & FUTEX_CMD_MASK;

	/* A wait without a limit is not restarted so. */
	if (task->call == SYS_restart_syscall)
		return EXTPROF_LIMIT_TIME;
	if (task->call != SYS_futex || (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET))
		return EXTPROF_LIMIT_UNKNOWN;
	return task->args[3] ? EXTPROF_LIMIT_TIME : EXTPROF_LIMIT_NONE;
}

static void describe_owner(const struct snapshot_thread *from, const struct task *task, struct extprof_dump_thread *to)
{
	if (to->wait == EXTPROF_WAIT_JOIN)
		to->wait_limit = limit_of(task);
	if (to->wait != EXTPROF_WAIT_MUTEX || from->lock == LOCK_UNKNOWN)
		return;
	to->wait_thread = from->lock == LOCK_OWNED ? from->lock_owner : 0;
	to->wait_owner = from->lock == LOCK_OWNED ? EXTPROF_OWNER_NOW : EXTPROF_OWNER_NOBODY;
}

static int describe_wait(struct dump_threads *d, const struct snapshot *s, pid_t pid,
			 const struct rb_debug_ext_thread *t, struct extprof_dump_thread *to)
{
	to->wait_fd = -1;
	/* Known to the nanosecond. */
	if (t->state == RB_DEBUG_EXT_THREAD_READY && pid && t->ready_at && t->ready_at <= s->ended)
		to->since = s->ended - t->ready_at;
	if ((t->state != RB_DEBUG_EXT_THREAD_BLOCKED && t->state != RB_DEBUG_EXT_THREAD_SLEEPING) ||
	    t->wait_kind > RB_DEBUG_EXT_WAIT_NOGVL)
		return 0;
	to->wait = (int)t->wait_kind;
	to->wait_thread = t->wait_thread_slot ? serial_of(&d->slots, t->wait_thread_slot, s) : 0;
	to->wait_object = t->wait_object;
	if (t->wait_kind >= RB_DEBUG_EXT_WAIT_IO && t->wait_kind <= RB_DEBUG_EXT_WAIT_IO_WRITE &&
	    t->wait_fd <= INT32_MAX)
		to->wait_fd = (int32_t)t->wait_fd;
	return describe_fd(d, pid, to->wait_fd, &to->wait_file);
}

static int build_thread(struct dump_threads *d, const struct snapshot *s, pid_t pid,
			const struct snapshot_thread *from, struct extprof_dump_thread *to)
{
	const struct rb_debug_ext_thread *t = &from->t;
	struct task task = from->task;
	struct text name = { 0 };

	task__find_restarted(&task, d->memory);
	to->serial = t->serial;
	to->ractor = t->ractor;
	to->tid = from->task.tid ? (uint32_t)from->task.tid : t->tid;
	text__add_clean(&name, t->name, strnlen(t->name, sizeof(t->name)), sizeof(t->name));
	to->name = dump_parts__text(d->parts, &name);
	if (!to->name)
		return -ENOMEM;
	to->main = t->flags & RB_DEBUG_EXT_THREAD_MAIN;
	to->shared = t->flags & RB_DEBUG_EXT_THREAD_MN;
	to->state = (int)t->state;
	to->since = pid && t->since && t->since <= s->ended ? s->ended - t->since : UINT64_MAX;
	to->kernel_state = from->task.state;
	to->off_cpu = from->task.off_cpu;
	if (t->state == RB_DEBUG_EXT_THREAD_READY)
		to->gvl_holder = serial_of(&d->holders, t->ractor, s);
	for (uint32_t i = from->first_ec; i < from->first_ec + from->ec_count && !to->gc; i++)
		to->gc = gc_name(&s->ecs[i]);
	if (describe_wait(d, s, pid, t, to))
		return -ENOMEM;
	describe_owner(from, &task, to);
	return describe_call(d, pid, &task, to);
}

int dump_threads__build(struct dump_threads *d, pid_t pid, const struct snapshot *s,
			struct extprof_dump_thread *const *threads)
{
	if (index_threads(d, s))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->thread_count; i++)
		if (build_thread(d, s, pid, &s->threads[i], threads[i]))
			return -ENOMEM;
	return deadlocks__find(threads, s->thread_count);
}

void dump_threads__free(struct dump_threads *d)
{
	map64__free(&d->slots);
	map64__free(&d->holders);
}
