/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that user space shares with the program that follows native stacks. */
#ifndef EXTPROF_UNWIND_MAPS_H
#define EXTPROF_UNWIND_MAPS_H

#include "wire/unwind.h"

/* 16 MiB of rules: some 20 rubies, or 200 libraries.  Mappings: 2 MiB. */
#define UNWIND_ROWS_MAX (2u << 20)
#define UNWIND_ALL_MAPPINGS_MAX (64u << 10)	/* unwind_process::table has their numbers */

struct unwind_maps {
	struct unwind_row *rows;	/* UNWIND_ROWS_MAX; the kernel reads them at any time */
	struct unwind_mapping *mappings;	/* UNWIND_ALL_MAPPINGS_MAX */
	/* Publish the mappings of a VM (target_config::vm), with their native_work__hash(); NULL: it has none any more.  0 or
	 * -errno. */
	int (*set)(const struct unwind_maps *maps, uint32_t vm, const struct unwind_process *process, uint64_t hash);
	/* The changes of the VM's mappings until now.  Read them before the mappings. */
	struct unwind_seen (*seen)(const struct unwind_maps *maps, uint32_t vm);
	/* No sample of the VM comes any more. */
	void (*forget)(const struct unwind_maps *maps, uint32_t vm);
	int processes, changes;		/* for these, of BPF ... */
	void *context;			/* ... or of another reader */
	const volatile uint64_t *unnoted;	/* the same */
};

/* The rules and mappings by which native stacks of one process are followed: see wire/unwind.h. */
struct unwind_view {
	struct unwind_row *rows;
	struct unwind_mapping *mappings;	/* by address */
	uint32_t row_count, mapping_count;
	uint32_t vm;		/* sample_event::vm of samples with native functions */
	uint64_t hash;		/* native_work__hash() of these mappings; 0: they do not change */
};

#endif /* EXTPROF_UNWIND_MAPS_H */
