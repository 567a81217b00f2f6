/* SPDX-License-Identifier: BSD-2-Clause */
/* VMs that a fork made: their memory is opened while they live, and what is known of them told. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/state.h"
#include "process/proc.h"
#include "ruby/name_retention.h"

void engine__keep_names(const struct vm *vm)
{
	/* Without permission to write names may expire, and are counted then. */
	if (vm__is_readable(vm))
		name_retention__ask(vm->space, &vm->layout);
}

void engine__ask_ruby(struct engine *e, struct vm *vm)
{
	vm->touched = true;
	if (vm->plain)
		return;
	engine__keep_names(vm);
	engine__set_interval(e, vm);
	engine__ask_live(e, vm);
}

void engine__begin_row(struct engine *e, const struct process *p)
{
	/* The last row is of several. */
	if (p->row < PROCESS_ROWS_MAX && e->rows.rows[p->row].started < e->started_at)
		e->rows.rows[p->row].started = e->started_at;
}

int engine__describe(struct engine *e, struct process *p, const struct vm *vm)
{
	struct process_row *row = process__row(&e->set, p);
	char *cgroup, *cwd;

	if (!row)
		return -ENOMEM;
	if (p->row == PROCESS_ROWS_MAX)
		return 0;	/* that of many */
	text__clean(row->ruby_version, sizeof(row->ruby_version), vm->layout.section.ruby_version);
	row->replaced = false;
	engine__begin_row(e, p);
	snprintf(row->command, sizeof(row->command), "%s", p->target.command);
	/* It is that of its parent so far, or that of the program before: a container's program is executed in its group. */
	cgroup = process__cgroup(p->pid);
	/* For a process that ends the kernel tells the root. */
	if (cgroup && (!row->cgroup || (strcmp(cgroup, "/") && (!vm->space || address_space__lives(vm->space))))) {
		free(row->cgroup);
		row->cgroup = cgroup;
	} else {
		free(cgroup);
	}
	/* It may have executed another program, elsewhere. */
	cwd = p->executed || !row->cwd ? proc__cwd(p->pid) : NULL;
	if (cwd) {
		free(row->cwd);
		row->cwd = cwd;
	}
	free(row->executable);
	row->executable = proc__executable(p->pid);
	if (p->executed) {
		free(row->resource);
		row->resource = NULL;
	}
	engine__describe_own(e, p, row, vm);
	/* One that the caller named, if there is one. */
	if (!vm->plain && (!*e->ruby_version || (p->wanted && !e->first_is_wanted))) {
		text__clean(e->ruby_version, sizeof(e->ruby_version), vm->layout.section.ruby_version);
		text__clean(e->ruby_description, sizeof(e->ruby_description),
			    vm->layout.section.ruby_description);
	}
	if (e->first_row == PROCESS_NONE || (p->wanted && !e->first_is_wanted)) {
		e->first_row = p->row;
		e->first_is_wanted = p->wanted;
	}
	return 0;
}

/* 1: done with it, 0: later. */
static int bind_child(struct engine *e, struct process *p)
{
	struct address_space *space;
	struct diag d;
	int err;

	if (p->state != PROCESS_SAMPLED || !p->vm || p->shares_vm || p->vm->space)
		return 1;
	/* It has the descriptors. */
	if (p->search)
		return 0;
	if (p->target.pidfd < 0 && target__open(&p->target, p->pid, &d)) {
		p->target.pidfd = -1;
		return 0;	/* its end will be told */
	}
	space = address_space__open(p->pid, &err);
	if (!space)
		return err == -EMFILE || err == -EACCES;
	/* Had it ended before it was opened, this would have been told by now. */
	engine__drain_lifecycle(e);
	if (p->state != PROCESS_SAMPLED || !p->vm || p->shares_vm) {
		address_space__close(space);
		return 1;
	}
	err = vm__bind(p->vm, space);
	if (err) {
		address_space__close(space);
		return err != -EAGAIN;
	}
	engine__ask_ruby(e, p->vm);
	engine__describe(e, p, p->vm);
	return 1;
}

void engine__bind_children(struct engine *e)
{
	uint32_t kept = 0, count = e->new_vms.count;

	/* Events can add more at the end, which moves the list. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = e->new_vms.list[i];
		struct process *p = process_set__find(&e->set, number);

		if (p && !bind_child(e, p))
			e->new_vms.list[kept++] = number;
	}
	for (uint32_t i = count; i < e->new_vms.count; i++)
		e->new_vms.list[kept++] = e->new_vms.list[i];
	e->new_vms.count = kept;
}
