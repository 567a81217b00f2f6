/* SPDX-License-Identifier: BSD-2-Clause */
/* The distance between two allocations that are sampled is a word in each process. */
#include <errno.h>

#include "engine/state.h"
#include "ruby/alloc_interval.h"

void engine__set_interval(struct engine *e, struct vm *vm)
{
	int err;

	/* A child has that of its parent already. */
	if (!(e->sources & 1u << SOURCE_ALLOC) || vm->interval_set)
		return;
	err = vm->space ?
	      alloc_interval__set(vm->space, &vm->layout, e->settings.alloc_interval, &vm->interval_before) : -EACCES;
	if (!err)
		vm->interval_set = true;
	else if (err != -ESRCH && err != -ESTALE && !e->intervals_kept++)
		e->why_interval_kept = err;
}

void engine__restore_intervals(struct engine *e)
{
	for (uint32_t i = 0; i < e->set.vm_count; i++) {
		struct vm *vm = e->set.vms[i];

		if (!vm || !vm->interval_set || !vm->space)
			continue;
		alloc_interval__restore(vm->space, &vm->layout, e->settings.alloc_interval, vm->interval_before);
		vm->interval_set = false;
	}
}
