// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* At each openat() of a process in the map `targets`: the Ruby stack, as a struct sample_event. */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* __NR_openat */
#if defined(__TARGET_ARCH_x86)
#define OPENAT 257
#else
#define OPENAT 56
#endif

/* Arguments: struct pt_regs *regs, long id. */
SEC("tp_btf/sys_enter")
int on_syscall(uint64_t *args)
{
	struct hit h = { .source = SOURCE_SYSCALL, .count = 1 };

	if (args[1] != OPENAT || hit__find(&h) || hit__count(&h))
		return 0;
	hit__sample(&h, 0, task__user_ip());
	return 0;
}
