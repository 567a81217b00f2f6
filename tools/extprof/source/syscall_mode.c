/* SPDX-License-Identifier: BSD-2-Clause */
/* The mode that shows system calls: how many, or how long they took. */
#include <inttypes.h>

#include "source/mode.h"
#include "source/syscall_set.h"

static void add_call(const struct sample_event *e, struct text *out)
{
	uint64_t number = e->detail & ~SYSCALL_COMPAT;
	const char *name = e->detail & SYSCALL_COMPAT ? NULL : syscall__name(number);

	if (name)
		text__adds(out, name);
	else
		text__addf(out, "%s %" PRIu64, e->detail & SYSCALL_COMPAT ? "32-bit syscall" : "syscall", number);
}

#define MODE_SYSCALL \
	.name = "syscall", \
	.help = "system calls, in the thread that makes them", \
	.sources = 1u << SOURCE_SYSCALL, \
	.count = { "calls", UNIT_COUNT }, \
	.innermost = add_call, \
	.below = FRAME_CALL

const struct mode mode_syscall = {
	MODE_SYSCALL,
	.value = { "calls", UNIT_COUNT },
	.by_count = true,
};

const struct mode mode_syscall_latency = {
	MODE_SYSCALL,
	.value = { "time", UNIT_NS },
};
