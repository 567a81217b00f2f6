// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * User space runs this program to change where a process has the contexts of its threads.  It could only replace the
 * target as a whole, and would undo what the other programs write into it at the same time: an exec, an exit, or the
 * memory that the first sample has seen.
 */
#include "bpf/common.bpf.h"

/* Arguments: pid namespace, pid, VM, and the two of the trace_place.  1: the process is not there, or does not run that VM. */
SEC("raw_tp")
int process_context(uint64_t *args)
{
	struct target_key key = { .pidns = (uint32_t)args[0], .pid = (uint32_t)args[1] };
	struct target_config *cfg = bpf_map_lookup_elem(&targets, &key);

	if (!cfg || cfg->vm != (uint32_t)args[2])
		return 1;
	/* Samples of other threads are taken meanwhile.  One that has read the module of before can still take the new
	 * offset with it; none that begins now does. */
	*(volatile uint32_t *)&cfg->context_module = 0;
	*(volatile int64_t *)&cfg->context_offset = (int64_t)args[4];
	*(volatile uint32_t *)&cfg->context_module = (uint32_t)args[3];
	return 0;
}
