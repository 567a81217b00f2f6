// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The probe `alloc` of the VM runs allocated() in the thread that is about to allocate a slot, and the probe
 * `malloc` runs malloced() in the one that got other memory.  The VM chooses which allocations are sampled, and
 * says how many bytes each stands for.
 */
#include "bpf/probe.bpf.h"
#include "bpf/unwind.bpf.h"
#include "wire/alloc.h"

/* More than an allocation that is sampled can stand for. */
#define WEIGHT_MAX (1ull << 48)
#define SLOT_SIZE_MAX 0xffffffffull	/* of its slot */

/*
 * How many objects of `size` bytes the weight stands for: not a whole number.  It is rounded up as often as
 * its fraction says, so that sums are right on average, whatever the sizes are.
 */
static __always_inline uint64_t objects(uint64_t weight, uint64_t size)
{
	return weight / size + (bpf_get_prandom_u32() % size < weight % size);
}

static __always_inline int allocates(bpf_user_pt_regs_t *regs, int native)
{
	struct hit h = { .source = SOURCE_ALLOC, .preemptible = 1 };
	uint64_t arguments[4];	/* class, size, weight, type; then address, serial */

	if (sampling_paused || hit__find(&h) || hit__count(&h))
		return 0;
	if (h.cfg->section) {
		if (probe__arguments(regs, h.cfg, arguments) || !arguments[1] ||
		    arguments[1] > SLOT_SIZE_MAX || arguments[2] > WEIGHT_MAX) {
			h.loss = LOSS_PROBE;
		} else {
			h.detail = arguments[0];
			h.value = arguments[2];
			h.state = (uint32_t)arguments[3];
			h.count = objects(arguments[2], arguments[1]);
			h.more = probe__later_argument(regs, h.cfg, 5);
		}
	}
	hit__sample_native(&h, 0, regs__ip(regs), native);
	return 0;
}

SEC("uprobe")
int allocated(bpf_user_pt_regs_t *regs)
{
	return allocates(regs, 0);
}

/* The same with native stacks.  A program of its own: see sample_native(). */
SEC("uprobe")
int allocated_native(bpf_user_pt_regs_t *regs)
{
	return allocates(regs, 1);
}

static __always_inline int mallocs(bpf_user_pt_regs_t *regs, int native)
{
	struct hit h = { .source = SOURCE_ALLOC, .preemptible = 1, .state = ALLOC_MALLOC };
	uint64_t arguments[4];	/* size, weight, address */

	if (sampling_paused || hit__find(&h) || hit__count(&h))
		return 0;
	if (h.cfg->section) {
		if (probe__arguments(regs, h.cfg, arguments) || arguments[1] > WEIGHT_MAX)
			h.loss = LOSS_PROBE;
		else
			h.value = arguments[1];
	}
	hit__sample_native(&h, 0, regs__ip(regs), native);
	return 0;
}

SEC("uprobe")
int malloced(bpf_user_pt_regs_t *regs)
{
	return mallocs(regs, 0);
}

SEC("uprobe")
int malloced_native(bpf_user_pt_regs_t *regs)
{
	return mallocs(regs, 1);
}
