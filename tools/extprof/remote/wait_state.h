/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread waits for that has no CPU, as seen from outside: by its system call and by what Ruby says. */
#ifndef EXTPROF_WAIT_STATE_H
#define EXTPROF_WAIT_STATE_H

#include <stdint.h>

#include "process/memory.h"
#include "remote/task.h"
#include "ruby/debug_external.h"
#include "wire/states.h"

struct wait_state {
	uint32_t state;		/* enum thread_state */
	uint64_t detail;	/* DETAIL_MAKE() */
};

/* enum call_kind by number of the system call, CALLS_MAX entries. */
struct call_kinds {
	uint8_t kinds[CALLS_MAX];
};

/*
 * `thread`: its slot; NULL: no Ruby thread.  `task`: what the kernel says of it; NULL: it has no native thread now.
 * `memory` is that of the process `pid`: an argument of poll(2) lies in it.
 */
void wait_state__of(struct wait_state *w, const struct rb_debug_ext_thread *thread, const struct task *task,
		    pid_t pid, const struct memory *memory, const struct call_kinds *kinds);

#endif /* EXTPROF_WAIT_STATE_H */
