/* SPDX-License-Identifier: BSD-2-Clause */
/* Publishes the mappings of processes to the kernel. */
#include "base/deadline.h"
#include "native/state.h"

int native__tell(struct native *n, struct native_process *p, const struct native_block *block)
{
	const struct unwind_process entry = {
		.table = block->first | (uint64_t)p->count << 16 | (uint64_t)p->seen.changes << 32,
		.vm = p->vm, .unnoted = p->seen.unnoted,
	};

	return n->maps.set(&n->maps, p->vm, &entry, p->hash);
}

static struct unwind_mapping mapping_of(const struct native *n, const struct native_mapped *m)
{
	struct unwind_mapping u = { .start = m->start, .end = m->end };
	uint64_t bias;

	if (native__bias(n, m, &bias)) {
		u.base = bias + n->files[m->file].base;
		u.first_row = n->files[m->file].first_row;
		u.rows = n->files[m->file].rows;
	}
	return u;
}

/* The kernel reads the block of a process at any time, so a new one is written and then published. */
static void publish(struct native *n, struct native_process *p, uint64_t now)
{
	struct native_block block;

	if (!native_blocks__take(&n->blocks, p->count, p->files.user, now, &block)) {
		/* None are better than old ones. */
		n->maps.set(&n->maps, p->vm, NULL, 0);
		native_blocks__give_back(&n->blocks, &p->block, now);
		return;
	}
	for (uint32_t i = 0; i < p->count; i++)
		n->maps.mappings[block.first + i] = mapping_of(n, &p->list[i]);
	__sync_synchronize();
	if (native__tell(n, p, &block)) {
		native_blocks__give_back(&n->blocks, &block, now);
		return;
	}
	native_blocks__give_back(&n->blocks, &p->block, now);
	p->block = block;
}

void native__publish(struct native *n)
{
	uint64_t now = deadline__now();

	for (uint32_t i = 0; i < n->process_count; i++) {
		struct native_process *p = &n->processes[i];

		if (p->vm && p->pid && p->dirty && p->count)
			publish(n, p, now);
		else if (p->vm && p->pid && p->confirmed && p->block.is)
			native__tell(n, p, &p->block);
		p->dirty = p->confirmed = false;
	}
}

bool native__view(const struct native *n, uint32_t vm, struct unwind_view *view)
{
	const struct native_process *p = native__process(n, vm);

	if (!p || !p->block.is || p->dirty || !p->hash)
		return false;
	*view = (struct unwind_view){
		.rows = n->maps.rows, .row_count = UNWIND_ROWS_MAX, .mappings = n->maps.mappings + p->block.first,
		.mapping_count = p->count, .vm = vm, .hash = p->hash,
	};
	return true;
}

uint32_t native__read_files(const struct native *n)
{
	for (uint32_t i = 0; i < n->process_count; i++)
		if (n->processes[i].vm && n->processes[i].pid && (!n->processes[i].block.is || n->processes[i].dirty))
			return 0;
	for (uint32_t i = 0; i < n->file_count; i++)
		if (n->files[i].rules == NATIVE_WANTED || n->files[i].rules == NATIVE_BEING_READ)
			return 0;
	return n->file_count;
}
