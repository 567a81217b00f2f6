/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* System calls: what sample_event::detail is of SOURCE_SYSCALL, and what is kept of a call. */
#ifndef EXTPROF_WIRE_SYSCALL_H
#define EXTPROF_WIRE_SYSCALL_H

#include "wire/sample.h"

/* System calls can be chosen by numbers below this.  The highest one of Linux 6.18 is 469. */
#define SYSCALL_NUMBERS 1024u

/* Set in `detail`, which is the number else: a call of 32-bit code, which has a table of its own. */
#define SYSCALL_COMPAT (1ull << 32)

/* A call that has begun.  Its duration is known when it returns. */
struct syscall_begun {
	uint64_t entered;	/* CLOCK_MONOTONIC, ns */
	uint64_t number;
	uint32_t process;	/* target_config::process */
	uint32_t reserved;
};

/* Set in syscall_key::number: a call of 32-bit code. */
#define SYSCALL_SUM_COMPAT (1u << 31)

/* Sums of one process and one call, if the recording wants figures. */
struct syscall_key {
	uint32_t process;	/* target_config::process */
	uint32_t number;
};

struct syscall_sum {
	uint64_t count, ns;
};

/* It will not be seen to return. */
static inline void syscall_begun__lose(struct source_counters *c)
{
	c->taken++;
	c->lost[LOSS_UNFINISHED]++;
}

#endif /* EXTPROF_WIRE_SYSCALL_H */
