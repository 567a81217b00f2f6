/* SPDX-License-Identifier: BSD-2-Clause */
/* The timer that takes the samples: --timer. */
#ifndef EXTPROF_TIMER_H
#define EXTPROF_TIMER_H

#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"

enum timer_kind {
	TIMER_CLOCK = 0,	/* a high-resolution timer of our own on each CPU */
	TIMER_TICK = 1,		/* the scheduler's tick, which is there anyway */
	TIMER_KINDS
};

extern const char *const timer_names[TIMER_KINDS];

/* 0 or -EINVAL. */
int timer__by_name(const char *name, enum timer_kind *kind);

/* Ticks per second for that time between two ticks; 0: it is not plausible. */
uint32_t timer__tick_hz(uint64_t tick_ns);

/* The kernel's tick, as the kernel describes it. */
struct tick {
	uint64_t ns;		/* from one to the next */
	uint64_t timer_ns;	/* resolution of timers */
	char tickless[256];	/* content of nohz_full; "" if there is none */
	uint64_t function;	/* of its timer: an address in the kernel */
};

/* Look for the function in the text of /proc/kallsyms: 0, -ENOENT, or -EPERM if
 * addresses are not shown. */
int timer__find_function(FILE *symbols, uint64_t *function);

/* Can the tick take so many samples per second?  0 or -errno. */
int timer__check_tick(uint32_t rate, const struct tick *tick, struct diag *d);

/* The tick of this kernel, found and checked. */
int timer__read_tick(uint32_t rate, struct tick *tick, struct diag *d);

/* Samples per second and CPU that the kernel does not throttle; 0 not known. */
unsigned long timer__max_rate(void);

#endif /* EXTPROF_TIMER_H */
