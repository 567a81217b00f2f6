/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "native/state.h"
#include "process/proc.h"

const struct native_bounds native_bounds = {
	.files = NATIVE_FILES_MAX, .rules = UNWIND_ROWS_MAX, .names = ALL_NAMES_MAX, .mappings = UNWIND_ALL_MAPPINGS_MAX,
};

int native__create(struct native **native, const struct unwind_maps *maps)
{
	struct native *n = calloc(1, sizeof(*n));

	*native = n;
	if (!n)
		return -ENOMEM;
	n->maps = *maps;
	return 0;
}

void native__share(struct native *n, const struct native_bounds *bounds)
{
	n->files_budget.max = bounds->files;
	n->rules_budget.max = bounds->rules;
	n->names_budget.max = bounds->names;
	n->blocks.budget.max = bounds->mappings;
}

void native__names_as_in_file(struct native *n)
{
	n->names_as_in_file = true;
}

void native__destroy(struct native *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->file_count; i++)
		native_file__free(&n->files[i]);
	for (uint32_t i = 0; i < n->process_count; i++)
		native_process__free(&n->processes[i]);
	native_blocks__free(&n->blocks);
	jit_maps__free(&n->jits);
	free(n->processes);
	free(n->free_slots);
	map64__free(&n->by_vm);
	map64__free(&n->by_inode);
	free(n);
}

/* -- processes ---------------------------------------------------------------------------------- */

struct native_process *native__process(const struct native *n, uint32_t vm)
{
	uint32_t i = n->process_count ? map64__get(&n->by_vm, vm) : MAP64_NONE;

	return i == MAP64_NONE || n->processes[i].vm != vm ? NULL : &n->processes[i];
}

/* Keys cannot be removed: those that are used are added again now and then. */
static int forget_keys(struct native *n)
{
	int err = 0;

	if (n->by_vm.count < 2 * n->live + 1024)
		return 0;
	map64__clear(&n->by_vm);
	for (uint32_t i = 0; i < n->process_count && !err; i++)
		if (n->processes[i].vm)
			err = map64__add(&n->by_vm, n->processes[i].vm, i);
	return err;
}

/* NULL: there is no room.  Others move. */
static struct native_process *make_process(struct native *n, uint32_t vm, uint32_t user)
{
	struct native_process *p = native__process(n, vm);
	uint32_t slot;

	if (p)
		return p;
	/* Room for its number when it is given back. */
	if (forget_keys(n) ||
	    array__reserve(&n->free_slots, n->free_count, n->process_count - n->free_count + 1, &n->free_room,
			   NATIVE_PROCESSES_MAX + 1, sizeof(*n->free_slots)))
		return NULL;
	if (n->free_count)
		slot = n->free_slots[n->free_count - 1];
	else if (!array__reserve(&n->processes, n->process_count, 1, &n->process_room, NATIVE_PROCESSES_MAX,
				 sizeof(*n->processes)))
		slot = n->process_count;
	else
		return NULL;
	if (map64__add(&n->by_vm, vm, slot))
		return NULL;
	if (n->free_count)
		n->free_count--;
	else
		n->process_count++;
	n->live++;
	n->processes[slot] = (struct native_process){
		.vm = vm, .jit = JIT_NONE, .files = { .of = &n->files_budget, .user = user }, .rules = { .of = &n->rules_budget, .user = user },
		.names = { .of = &n->names_budget, .user = user },
	};
	return &n->processes[slot];
}

int native__add(struct native *n, uint32_t vm, pid_t pid, uint32_t user, uint64_t vm_code)
{
	struct native_process *p = make_process(n, vm, user);

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->began = proc__started(pid);
	p->vm_code = vm_code;
	p->look = true;
	return 0;
}

void native__fork(struct native *n, uint32_t parent, uint32_t vm, pid_t pid)
{
	struct native_process *from = native__process(n, parent), *p = from ? make_process(n, vm, from->files.user) : NULL;
	struct unwind_seen seen;

	/* It may have moved. */
	from = native__process(n, parent);
	if (!p || p->pid)
		return;
	/* If the parent's mappings have changed since they were read, nobody knows whether that was before the fork. */
	seen = n->maps.seen(&n->maps, parent);
	if (memcmp(&seen, &from->seen, sizeof(seen))) {
		native__add(n, vm, pid, from->files.user, from->vm_code);
		return;
	}
	if (native_process__copy(p, from))
		return;
	p->pid = pid;
	p->began = proc__started(pid);
	/* Its changes are counted from the fork on. */
	p->seen = (struct unwind_seen){ .unnoted = seen.unnoted };
	n->look_cost += p->took;
	p->dirty = from->dirty;
	p->look = !from->seen_at;
	if (p->dirty || !from->block.is || native__tell(n, p, &from->block)) {
		p->dirty = true;
		return;
	}
	p->block = from->block;
	native_blocks__share(&n->blocks, &p->block);
}

int native__add_fixed(struct native *n, uint32_t vm, uint64_t vm_code, struct native_seen *seen, uint32_t count,
		      struct native_opened (*open)(void *context, uint32_t number), void *context)
{
	struct native_process *p = make_process(n, vm, 0);
	struct native_mapped *list = calloc(count + 1, sizeof(*list));

	if (p) {
		p->pid = -1;
		p->vm_code = vm_code;
		p->fixed = p->dirty = true;
	}
	for (uint32_t i = 0; i < count && p && list; i++) {
		uint32_t files = n->file_count, number = native__file(n, p, &seen[i]);

		list[i] = (struct native_mapped){ seen[i].start, seen[i].end, seen[i].offset, number, 0 };
		if (n->file_count > files) {
			struct native_file *f = &n->files[number];
			struct native_opened opened = open(context, i);

			f->fd = opened.fd;
			f->size = opened.size;
			f->owner = opened.owner;
			if (f->fd < 0)
				f->rules = opened.late ? NATIVE_LATE : NATIVE_FAILED;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		free(seen[i].path);
		seen[i].path = NULL;
	}
	if (!p || !list) {
		free(list);
		return -ENOMEM;
	}
	native_process__saw(p, list, count, 1, 1);
	return 0;
}

void native__look_again(struct native *n, uint32_t vm)
{
	struct native_process *p = native__process(n, vm);

	if (p)
		p->look = true;
}

void native__look_now(struct native *n, uint32_t vm)
{
	struct native_process *p = native__process(n, vm);

	if (!p)
		return;
	p->look = true;
	p->looked_at = 0;
}

void native__end(struct native *n, uint32_t vm)
{
	struct native_process *p = native__process(n, vm);

	if (!p)
		return;
	p->pid = 0;
	if (p->jit != JIT_NONE)
		jit_maps__end(&n->jits, p->jit);
}

void native__executed(struct native *n, uint32_t vm, uint64_t time)
{
	struct native_process *p = native__process(n, vm);

	if (!p || time <= p->executed)
		return;
	p->executed = time;
	if (p->jit == JIT_NONE)
		return;
	jit_maps__lose(&n->jits, p->jit);
	jit_maps__remove(&n->jits, p->jit);
	p->jit = JIT_NONE;
}

void native__remove(struct native *n, uint32_t vm)
{
	struct native_process *p = native__process(n, vm);

	n->maps.forget(&n->maps, vm);
	if (!p)
		return;
	native_blocks__give_back(&n->blocks, &p->block, deadline__now());
	n->look_cost -= p->took;
	if (p->jit != JIT_NONE)
		jit_maps__remove(&n->jits, p->jit);
	native_process__free(p);
	n->live--;
	n->free_slots[n->free_count++] = (uint32_t)(p - n->processes);
}
