/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells what a thread without a CPU waits for, as seen from outside: by its system call and by what Ruby says. */
#ifndef EXTPROF_WAIT_STATE_H
#define EXTPROF_WAIT_STATE_H

#include <stdint.h>

#include "process/memory.h"
#include "remote/task.h"
#include "ruby/debug_external.h"
#include "wire/wait_details.h"
#include "wire/states.h"

struct wait_state {
	uint32_t state;		/* enum thread_state */
	uint64_t detail;	/* DETAIL_MAKE() */
};

/* `thread`: its slot; NULL: no Ruby thread.  `task`: what the kernel says of it; NULL: it has no native thread now.
 * `memory` is that of the process `pid`: an argument of poll(2) lies in it. */
void wait_state__of(struct wait_state *w, const struct rb_debug_ext_thread *thread, const struct task *task,
		    pid_t pid, const struct memory *memory);

/*
 * The detail of a wait of that class.  `call`: number of its system call, below 0: none; `head` and `memory`: NULL: there
 * is none.  *file is the open file that it is on, with its addresses if those are wanted.
 */
uint64_t wait_state__detail(const struct wait_class *c, const struct thread_head *head, int64_t call,
			    const uint64_t *args, pid_t pid, const struct memory *memory, bool addresses,
			    struct wait_file *file);

/* The descriptor that the call of the task waits for; -1: none or several. */
int32_t wait_state__call_fd(const struct task *task, const struct memory *memory);

#endif /* EXTPROF_WAIT_STATE_H */
