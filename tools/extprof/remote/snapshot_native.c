/* SPDX-License-Identifier: BSD-2-Clause */
/* Native functions of a snapshot: whose thread has to be stopped for them, and the stop. */
#include <errno.h>
#include <stdio.h>
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
	if (!mappings_are_known(r))
		return;
	walker__unwind(r->walker, memory, &r->config, &thread->task, r->source->native);
	ec->native = NATIVE_HAS;
}

/* A read or a write of a socket with a time limit ends with EINTR. */
static bool is_socket(pid_t pid, uint64_t fd)
{
	char path[PROC_PATH_MAX], name[32], target[16];
	ssize_t n;

	snprintf(name, sizeof(name), "fd/%u", (uint32_t)fd);
	proc__path(path, pid, 0, name);
	n = readlink(path, target, sizeof(target));
	return n < 8 || !memcmp(target, "socket:[", 8);
}

/* Does the kernel restart the system call after a stop, so that the program does not notice? */
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
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
#endif
		return true;
	case SYS_read:
	case SYS_write:
	case SYS_readv:
	case SYS_writev:
		return !is_socket(pid, task->args[0]);
	default:
		return false;
	}
}

/* NATIVE_HAS: nothing is against a stop of a thread that does this. */
static enum snapshot_native against_stop(const struct reading *r, const struct task *task)
{
	if (task->state == 'D')
		return NATIVE_NOT_STOPPED;
	if (task->off_cpu && task->call >= 0 && !restarts(r->source->tasks->pid, task))
		return NATIVE_NOT_RESTARTED;
	return NATIVE_HAS;
}

/* The current one of the part whose native functions are not read; NULL: there is nothing to do. */
static struct snapshot_ec *lacks_native(struct reading *r, struct part *p, bool read)
{
	const struct sample_machine *m;

	/* What has been read stays as it was. */
	if (!r->cache || (!read && reading__find_current(r, p)))
		return NULL;
	for (uint32_t i = 0; i < p->count; i++) {
		if (!p->ecs[i].current)
			continue;
		m = read ? snapshot_ec__machine(&p->ecs[i]) : NULL;
		/* A stop can add rbp. */
		return !m || m->native_end == UNWIND_END_RBP ? &p->ecs[i] : NULL;
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
	stop_later__poll(&r->later);
	refused = stop__begin_thread(&stop, r->source->tasks, tid, &d);
	*why = why_not_stopped(refused);
	if (!refused)
		err = read_in_stop(r, p, &stop, tid);
	else
		err = refused == -ENOMEM ? refused : -EAGAIN;
	stop__end(&stop, &r->later);
	if (!refused || refused == -ETIMEDOUT) {
		r->s->stops++;
		r->s->stopped += stop.duration;
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

	/* What refuses once does so again. */
	if (!ec || (ec->native != NATIVE_HAS && ec->native != NATIVE_MOVED))
		return 0;
	ec->native = (uint8_t)against_stop(r, &p->thread->task);
	if (ec->native != NATIVE_HAS)
		return 0;
	stopped = read_stopped(r, p, &why);
	if (stopped != 1)
		ec->native = (uint8_t)why;
	return stopped;
}

void snapshot_ec__settle_native(const struct snapshot_thread *thread, struct snapshot_ec *ec)
{
	if (snapshot_ec__machine(ec) || ec->lost)
		ec->native = NATIVE_HAS;
	else if (ec->native == NATIVE_HAS)
		ec->native = thread->task.tid ? NATIVE_MOVED : NATIVE_NO_THREAD;
}
