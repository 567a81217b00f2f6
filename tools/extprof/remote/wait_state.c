/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/wait_state.h"

#include <string.h>

#include "process/open_file.h"
#include "source/call_kinds.h"

/* -1: it is none, or cannot be read. */
static int polled_fd(uint32_t kind, const uint64_t *args, const struct memory *memory)
{
	int fd;

	return memory && call__polls_one(kind, args[1]) && !memory__read(memory, args[0], &fd, sizeof(fd)) ? fd : -1;
}

int32_t wait_state__call_fd(const struct task *task, const struct memory *memory)
{
	uint32_t kind = call_kind(task->call);

	return (int32_t)(wait__fd(kind, task->args[0], polled_fd(kind, task->args, memory), STATE_NATIVE, -1) - 1);
}

uint64_t wait_state__detail(const struct wait_class *c, const struct thread_head *head, int64_t call,
			    const uint64_t *args, pid_t pid, const struct memory *memory, bool addresses,
			    struct wait_file *file)
{
	static const uint64_t no_args[2];
	uint32_t kind = call_kind(call), fd;

	memset(file, 0, sizeof(*file));
	if (!args)
		args = no_args;
	fd = wait__fd(kind, args[0], polled_fd(kind, args, memory), c->state, head ? head->wait_fd : -1);
	if (fd)
		open_file__look(pid, fd - 1, addresses, file);
	/* The thread can have gone on since its call was seen, and its memory is then another one's. */
	if (kind == CALL_POLL && file->kind == FILE_UNKNOWN)
		fd = 0;
	return DETAIL_MAKE(call + 1, file->kind, c->wait_kind, c->has_gvl, fd);
}

void wait_state__of(struct wait_state *w, const struct rb_debug_ext_thread *thread, const struct task *task,
		    pid_t pid, const struct memory *memory)
{
	struct wait_class c = { .state = STATE_NATIVE };
	struct thread_head head;
	struct wait_file file;

	if (thread)
		memcpy(&head, thread, sizeof(head));
	if (task)
		c = wait_classify(call_kind(task->call), thread != NULL, &head);
	else if (thread)
		c = wait_classify_aside(&head);
	w->detail = 0;
	/* A look does not tell how much of the wait it is. */
	w->state = c.gvl ? STATE_GVL : c.state;
	if (task && (task->state == 'T' || task->state == 't'))
		w->state = STATE_STOPPED;
	else
		w->detail = wait_state__detail(&c, thread ? &head : NULL, task ? task->call : -1, task ? task->args : NULL,
					       pid, memory, false, &file);
}
