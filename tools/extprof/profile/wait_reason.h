/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a thread waits, where the ruby does not say it. */
#ifndef EXTPROF_WAIT_REASON_H
#define EXTPROF_WAIT_REASON_H

#include "ruby/vm.h"
#include "wire/states.h"

/*
 * The state of a sample of SOURCE_SCHED, enum thread_state.  A ruby with interface 1.0 says of all waits for
 * another thread that they are sleep: then the innermost methods tell.
 */
uint32_t wait_reason(struct vm *vm, const struct sample_event *e, const struct sample_frame *frames);

#endif /* EXTPROF_WAIT_REASON_H */
