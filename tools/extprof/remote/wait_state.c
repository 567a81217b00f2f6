/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/wait_state.h"

#include "process/open_file.h"

/* Of a thread that has no native thread: Ruby has put it aside. */
static uint32_t state_without_task(const struct rb_debug_ext_thread *thread)
{
	uint32_t said = state_of_wait(thread->wait_kind);

	switch (thread->state) {
	case RB_DEBUG_EXT_THREAD_READY:
		return STATE_GVL;
	case RB_DEBUG_EXT_THREAD_RUNNING:
		return STATE_RUNNABLE;
	case RB_DEBUG_EXT_THREAD_SLEEPING:
		return said == STATE_MAX ? STATE_SLEEP : said;
	default:
		return said == STATE_MAX ? STATE_NATIVE : said;
	}
}

static uint32_t kind_of(const struct task *task, const struct call_kinds *kinds)
{
	return task->call >= 0 && task->call < CALLS_MAX ? kinds->kinds[task->call] : CALL_OTHER;
}

static uint64_t describe(const struct rb_debug_ext_thread *thread, const struct task *task, uint32_t wait_kind,
			 pid_t pid, const struct memory *memory, const struct call_kinds *kinds)
{
	bool has_gvl = thread && thread->state == RB_DEBUG_EXT_THREAD_RUNNING;
	uint32_t kind = kind_of(task, kinds), fd = 0, file = FILE_UNKNOWN;
	struct wait_file open;
	int polled;

	if (task->call < 0)
		return DETAIL_MAKE(0, FILE_UNKNOWN, wait_kind, has_gvl, 0);
	if (kind == CALL_FD)
		fd = (uint32_t)task->args[0] + 1;
	else if (kind == CALL_POLL && task->args[1] == 1 &&
		 !memory__read(memory, task->args[0], &polled, sizeof(polled)))
		fd = (uint32_t)polled + 1;
	else if (kind == CALL_FUTEX && state_of_wait(wait_kind) == STATE_IO && thread && (int32_t)thread->wait_fd >= 0)
		fd = (uint32_t)thread->wait_fd + 1;
	if (fd) {
		open_file__look(pid, fd - 1, false, &open);
		file = open.kind;
	}
	return DETAIL_MAKE((uint32_t)task->call + 1, file, wait_kind, has_gvl, fd);
}

void wait_state__of(struct wait_state *w, const struct rb_debug_ext_thread *thread, const struct task *task,
		    pid_t pid, const struct memory *memory, const struct call_kinds *kinds)
{
	uint32_t kind, wait_kind = 0;

	w->detail = 0;
	if (!task) {
		w->state = thread ? state_without_task(thread) : STATE_NATIVE;
		return;
	}
	if (task->state == 'T' || task->state == 't') {
		w->state = STATE_STOPPED;
		return;
	}
	kind = kind_of(task, kinds);
	w->state = task->call < 0 ? STATE_FAULT : state_of_call(kind);
	if (thread && thread->state != RB_DEBUG_EXT_THREAD_RUNNING)
		wait_kind = thread->wait_kind;
	if (state_of_wait(wait_kind) != STATE_MAX)
		w->state = state_of_wait(wait_kind);
	else if (thread && kind == CALL_FUTEX && thread->state == RB_DEBUG_EXT_THREAD_SLEEPING)
		w->state = STATE_SLEEP;
	if (thread && kind == CALL_FUTEX && thread->state == RB_DEBUG_EXT_THREAD_READY)
		w->state = STATE_GVL;
	w->detail = describe(thread, task, wait_kind, pid, memory, kinds);
}
