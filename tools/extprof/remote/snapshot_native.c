/* SPDX-License-Identifier: BSD-2-Clause */
/* Native functions of a snapshot: whose thread has to be stopped for them, and the stop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "native/native_work.h"
#include "process/proc.h"
#include "remote/snapshot_parts.h"

/* A thread that does not run maps nothing: if its code is where it was when the rules were looked up, it stays there. */
static bool mappings_are_known(struct reading *r)
{
	const struct snapshot_source *source = r->source;

	if (r->mappings == MAPPINGS_UNKNOWN || !source->frozen)
		r->mappings = !source->native->hash || native_work__hash(source->tasks->pid, NULL) == source->native->hash ?
			MAPPINGS_SAME : MAPPINGS_CHANGED;
	return r->mappings == MAPPINGS_SAME;
}

void reading__unwind(struct reading *r, const struct snapshot_thread *thread, struct snapshot_ec *ec, const struct memory *memory)
{
	/* The registers are those of the native thread, which runs the current EC. */
	if (!thread->task.ip || !thread->task.sp)
		return;
	ec->native = NATIVE_CHANGED;
	if (!mappings_are_known(r)) {
		if (r->source->cache)
			walker__not_unwound(r->walker, r->source->native, UNWIND_END_CHANGED);
		return;
	}
	walker__unwind(r->walker, memory, &r->config, &thread->task, r->source->native);
	ec->native = NATIVE_HAS;
}

/*
 * Does a read of the descriptor wait only before it has moved anything?  It does for a pipe and an eventfd.  A read of a terminal
 * may have moved something, and one of a socket with a time limit ends with EINTR.
 */
static bool reads_all_or_nothing(pid_t pid, uint64_t fd, bool vector)
{
	static const char pipe_[] = "pipe:[", event[] = "anon_inode:[eventfd]";
	char path[PROC_PATH_MAX], name[32], target[32];
	ssize_t n;

	snprintf(name, sizeof(name), "fd/%u", (uint32_t)fd);
	proc__path(path, pid, 0, name);
	n = readlink(path, target, sizeof(target));
	if (n >= (ssize_t)sizeof(pipe_) && !memcmp(target, pipe_, sizeof(pipe_) - 1))
		return true;
	/* Older kernels read one after the other. */
	return !vector && n == (ssize_t)sizeof(event) - 1 && !memcmp(target, event, sizeof(event) - 1);
}

/*
 * Does the kernel restart the system call after a stop, so that the program does not notice?  Not a write: what has moved part of
 * its bytes returns how many.
 */
static bool restarts(pid_t pid, const struct task *task)
{
	switch (task->call) {
	case SYS_futex:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_wait4:
	case SYS_waitid:
	/* One of those with a time limit that goes on after a stop. */
	case SYS_restart_syscall:
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
#endif
		return true;
	case SYS_read:
	case SYS_readv:
		return reads_all_or_nothing(pid, task->args[0], task->call == SYS_readv);
	default:
		return false;
	}
}

/*
 * NATIVE_HAS: nothing is against a stop of the thread.  It is looked at once more, right before the stop: it may wait in another
 * call now.
 */
static enum snapshot_native against_stop(const struct reading *r, pid_t tid)
{
	const struct tasks *tasks = r->source->tasks;
	struct task task;

	if (tasks__look(tasks, tid, &task))
		return NATIVE_MOVED;
	if (task.state == 'D')
		return NATIVE_NOT_STOPPED;
	/* It has begun to wait during the look, or the kernel does not tell in which call. */
	if (!task.off_cpu && task.state != 'R')
		return NATIVE_MOVED;
	if (task.off_cpu && task.call >= 0 && !restarts(tasks->pid, &task))
		return NATIVE_NOT_RESTARTED;
	return NATIVE_HAS;
}

/* The current one of the part whose native functions are not read; NULL: there is nothing to do. */
static struct snapshot_ec *lacks_native(struct reading *r, struct part *p, bool read)
{
	const struct sample_machine *m;

	/* Functions that have been read are not read again. */
	if (!r->cache || r->source->cache || (!read && reading__find_current(r, p)))
		return NULL;
	for (uint32_t i = 0; i < p->count; i++) {
		if (!p->ecs[i].current)
			continue;
		m = read ? snapshot_ec__machine(&p->ecs[i]) : NULL;
		/* A stop can add rbp. */
		return !m || m->native_end == UNWIND_END_FP ? &p->ecs[i] : NULL;
	}
	return NULL;
}

static enum snapshot_native why_not_stopped(int err)
{
	switch (err) {
	case -EBUSY: return NATIVE_TRACED;
	case -EPERM: return NATIVE_REFUSED;
	case -ETIMEDOUT: return NATIVE_NOT_STOPPED;
	default: return NATIVE_MOVED;
	}
}

/* Read the stacks of a thread that is stopped. */
static int read_in_stop(struct reading *r, struct part *p, const struct stop *stop, pid_t tid)
{
	struct snapshot_thread *thread = p->thread;
	uint64_t runs = 0;
	int err = reading__look_at_slot(r, thread);

	if (err)
		return err;
	/* The Ruby thread goes on in another native one. */
	if (tasks__tid(r->source->tasks, thread->t.tid) != tid || !stop__task(stop, thread->t.tid, &thread->task))
		return -EAGAIN;
	if (!tasks__runs(r->source->tasks, tid, &runs))
		thread->task.runs = runs;
	err = reading__find_current(r, p);
	if (!reading__is_fatal(err))
		err = reading__copy(r, p);
	return err;
}

/*
 * Stop the thread alone for the read.  1: it is read; 0: it is not, and *why says why; or -errno.  What was read before is kept
 * then.
 */
static int read_stopped(struct reading *r, struct part *p, enum snapshot_native *why)
{
	pid_t tid = tasks__tid(r->source->tasks, p->thread->t.tid);
	struct diag d = { 0 };
	struct stop stop;
	int err, refused;

	*why = tid ? NATIVE_NO_TIME : NATIVE_NO_THREAD;
	if (!tid || r->s->stopped > SNAPSHOT_STOPS_MAX)
		return 0;
	*why = against_stop(r, tid);
	if (*why != NATIVE_HAS)
		return 0;
	refused = stop__begin_thread(&stop, r->source->tasks, tid, &r->later, &d);
	*why = why_not_stopped(refused);
	if (!refused)
		err = read_in_stop(r, p, &stop, tid);
	else
		err = refused == -ENOMEM ? refused : -EAGAIN;
	stop__end(&stop, &r->later);
	/* Also if it has not stopped. */
	r->s->stopped += stop.duration;
	if (!refused) {
		r->s->stops++;
		if (stop.duration > r->s->longest_stop)
			r->s->longest_stop = stop.duration;
	}
	if (reading__is_fatal(err) || err == -ENOENT)
		return err;
	if (err)
		return 0;
	part__set_proof(p, PROOF_STOPPED);
	return 1;
}

int reading__stop_for_native(struct reading *r, struct part *p, bool read)
{
	struct snapshot_ec *ec = lacks_native(r, p, read);
	enum snapshot_native why;
	int stopped;

	/* This try has found a reason, or one that stays. */
	if (!ec || ec->native != NATIVE_HAS)
		return 0;
	stopped = read_stopped(r, p, &why);
	if (stopped != 1)
		ec->native = (uint8_t)why;
	return stopped;
}

void part__judge_anew(struct part *p)
{
	/* A process that refuses once does so again. */
	for (uint32_t i = 0; i < p->count; i++)
		if (p->ecs[i].native != NATIVE_REFUSED && p->ecs[i].native != NATIVE_TRACED)
			p->ecs[i].native = NATIVE_HAS;
}

void snapshot_ec__settle_native(const struct snapshot_thread *thread, struct snapshot_ec *ec, bool mapped)
{
	if (snapshot_ec__machine(ec) || ec->lost)
		ec->native = NATIVE_HAS;
	else if (!mapped)
		ec->native = NATIVE_NOT_MAPPED;
	else if (ec->native == NATIVE_HAS)
		ec->native = thread->task.tid ? NATIVE_MOVED : NATIVE_NO_THREAD;
}

/* Follow its stack while it has no CPU.  False: it had one, or got one meanwhile. */
static bool unwind_bare(const struct snapshot_source *source, struct walker *walker, const struct target_config *config, pid_t tid,
		       struct task *task)
{
	uint64_t before, after;

	if (tasks__runs(source->tasks, tid, &before) || tasks__look(source->tasks, tid, task) || !task->off_cpu || !task->ip || !task->sp)
		return false;
	walker__unwind(walker, &source->cache->memory, config, task, source->native);
	return !tasks__runs(source->tasks, tid, &after) && before == after;
}

struct sample_event *snapshot__bare(const struct snapshot_source *source, struct walker *walker, pid_t tid, uint32_t inner,
				    struct task *task)
{
	bool wanted = source->native && source->native->mapping_count && source->cache, found = false;
	struct own_cpu own = OWN_CPU_INIT;
	struct target_config config;
	struct sample_event *event;
	uint32_t size;

	walker__bare(walker, inner);
	memset(task, 0, sizeof(*task));
	if (tasks__look(source->tasks, tid, task))
		task->tid = 0;
	layout__config(source->layout, &config);
	if (wanted && native_work__hash(source->tasks->pid, NULL) != source->native->hash) {
		walker__not_unwound(walker, source->native, UNWIND_END_CHANGED);
		wanted = false;
	}
	for (int i = 0; wanted && !found && i < SNAPSHOT_TRIES; i++) {
		walker__bare(walker, inner);
		page_cache__use(source->cache, source->memory);
		if (source->frozen && source->task_of && source->task_of(source->context, inner, task)) {
			walker__unwind(walker, &source->cache->memory, &config, task, source->native);
			found = true;
		} else if (!(found = unwind_bare(source, walker, &config, tid, task)) && task->tid && !task->off_cpu) {
			own_cpu__go(&own, task->cpu);
		}
	}
	own_cpu__leave(&own);
	if (wanted && !found)
		walker__bare(walker, inner);
	size = (uint32_t)sizeof(*event) + walker__machine_size(walker);
	event = malloc(size);
	if (event)
		memcpy(event, walker__event(walker), size);
	return event;
}
