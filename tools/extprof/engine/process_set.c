/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/process_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

void process_set__init(struct process_set *set, struct processes *rows)
{
	memset(set, 0, sizeof(*set));
	set->rows = rows;
}

static void free_process(struct process *p)
{
	if (!p)
		return;
	target__close(&p->target);
	process__forget_own(p);
	free(p);
}

void process_set__free(struct process_set *set)
{
	if (!set)
		return;
	for (uint32_t i = 0; i < set->count; i++)
		free_process(set->list[i]);
	for (uint32_t i = 0; i < set->vm_count; i++)
		vm__close(set->vms[i]);
	free(set->list);
	free(set->vms);
	map64__free(&set->by_number);
	map64__free(&set->vm_by_number);
	memset(set, 0, sizeof(*set));
}

struct process *process_set__add(struct process_set *set, uint32_t number, pid_t pid)
{
	struct process *p;

	if (array__reserve(&set->list, set->count, 1, &set->room, UINT32_MAX, sizeof(*set->list)))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p || map64__add(&set->by_number, number, set->count)) {
		free(p);
		return NULL;
	}
	p->number = number;
	p->pid = pid;
	p->row = PROCESS_NONE;
	p->target.pidfd = -1;
	p->state = PROCESS_LOOKED_FOR;
	set->list[set->count++] = p;
	set->live++;
	return p;
}

struct process *process_set__find(const struct process_set *set, uint32_t number)
{
	uint32_t place = map64__get(&set->by_number, number);

	return place == MAP64_NONE ? NULL : set->list[place];
}

struct process *process_set__by_pid(const struct process_set *set, pid_t pid)
{
	for (uint32_t i = set->count; i-- > 0;)
		if (set->list[i] && set->list[i]->pid == pid && set->list[i]->state != PROCESS_ENDED)
			return set->list[i];
	return NULL;
}

/* Numbers of processes that have ended are not asked for any more: they leave the maps when most
 * of them are of such. */
static void compact(struct process_set *set)
{
	struct map64 map = { 0 };
	uint32_t n = 0;

	if (set->count < 1024 || set->live > set->count / 2)
		return;
	for (uint32_t i = 0; i < set->count; i++)
		if (set->list[i] && map64__add(&map, set->list[i]->number, n++)) {
			map64__free(&map);
			return;
		}
	n = 0;
	for (uint32_t i = 0; i < set->count; i++)
		if (set->list[i])
			set->list[n++] = set->list[i];
	set->count = n;
	map64__free(&set->by_number);
	set->by_number = map;
}

void process_set__remove(struct process_set *set, struct process *p)
{
	uint32_t place = map64__get(&set->by_number, p->number);

	if (place == MAP64_NONE)
		return;
	/* The searcher gives it back to a process that is not there any more. */
	set->list[place] = NULL;
	set->live--;
	free_process(p);
	compact(set);
}

static void compact_vms(struct process_set *set)
{
	struct map64 map = { 0 };
	uint32_t n = 0, live = 0;

	for (uint32_t i = 0; i < set->vm_count; i++)
		live += set->vms[i] != NULL;
	if (live > set->vm_count / 2)
		return;
	for (uint32_t i = 0; i < set->vm_count; i++)
		if (set->vms[i] && map64__add(&map, set->vms[i]->number, n++)) {
			map64__free(&map);
			return;
		}
	n = 0;
	for (uint32_t i = 0; i < set->vm_count; i++)
		if (set->vms[i])
			set->vms[n++] = set->vms[i];
	set->vm_count = n;
	map64__free(&set->vm_by_number);
	set->vm_by_number = map;
}

int process_set__add_vm(struct process_set *set, uint32_t number, struct vm *vm)
{
	if (set->vm_count && set->vm_count % 1024 == 0)
		compact_vms(set);
	if (array__reserve(&set->vms, set->vm_count, 1, &set->vm_room, UINT32_MAX, sizeof(*set->vms)) ||
	    map64__add(&set->vm_by_number, number, set->vm_count))
		return -ENOMEM;
	vm->number = number;
	set->vms[set->vm_count++] = vm;
	return 0;
}

struct vm *process_set__vm(const struct process_set *set, uint32_t number)
{
	uint32_t place = map64__get(&set->vm_by_number, number);

	return place == MAP64_NONE ? NULL : set->vms[place];
}

void process_set__close_vm(struct process_set *set, struct vm *vm)
{
	uint32_t place = map64__get(&set->vm_by_number, vm->number);

	if (place == MAP64_NONE || set->vms[place] != vm)
		return;
	set->vms[place] = NULL;
	vm__close(vm);
}

void process__forget_own(struct process *p)
{
	free(p->own_name);
	free(p->revision);
	p->own_name = p->revision = NULL;
	p->knows_revision = false;
}

bool process__is_readable(const struct process *p)
{
	return p->state == PROCESS_SAMPLED && p->vm && !p->shares_vm && vm__is_readable(p->vm);
}

/* A child begins in the group of its parent, with its environment and files, and can end before it is looked at. */
static void take_from_parent(struct process_row *row, const struct process_row *parent, bool executed)
{
	if (parent->cgroup)
		row->cgroup = strdup(parent->cgroup);
	if (parent->resource && !executed)
		row->resource = strdup(parent->resource);
}

struct process_row *process__row(struct process_set *set, struct process *p)
{
	struct process *parent;
	struct process_row *row;

	if (p->row != PROCESS_NONE)
		return &set->rows->rows[p->row];
	if (set->rows->count > PROCESS_ROWS_MAX) {
		p->row = PROCESS_ROWS_MAX;
		return &set->rows->rows[p->row];
	}
	p->row = processes__add(set->rows);
	if (p->row == PROCESS_NONE)
		return NULL;
	row = &set->rows->rows[p->row];
	if (p->row == PROCESS_ROWS_MAX) {
		snprintf(row->command, sizeof(row->command), "[one of too many processes]");
		return row;
	}
	parent = p->parent ? process_set__find(set, p->parent) : NULL;
	row->pid = p->pid;
	row->parent = parent ? parent->row : PROCESS_NONE;
	row->uid = p->uid;
	row->started = p->from;
	row->watched = p->state == PROCESS_WATCHED;
	if (p->target.command[0])
		snprintf(row->command, sizeof(row->command), "%s", p->target.command);
	else if (parent && parent->row != PROCESS_NONE && !p->executed)
		snprintf(row->command, sizeof(row->command), "%s", set->rows->rows[parent->row].command);
	else
		text__clean(row->command, sizeof(row->command), p->comm);
	if (parent && parent->row < PROCESS_ROWS_MAX)
		take_from_parent(row, &set->rows->rows[parent->row], p->executed);
	return row;
}

void process__account_cpu(struct process_set *set, struct process *p, uint64_t cpu_time)
{
	uint64_t used = cpu_time > p->cpu_seen ? cpu_time - p->cpu_seen : 0;
	struct process_row *row;

	if (!used)
		return;
	/* One of all processes of the machine has a row if it is a ruby. */
	if (p->refused || (p->row == PROCESS_NONE && !p->wanted && !p->followed && !p->vm && !p->ended_sampled)) {
		p->cpu_seen = cpu_time;
		p->cpu_before += p->refused ? 0 : used;
		return;
	}
	row = process__row(set, p);
	if (!row)
		return;
	p->cpu_seen = cpu_time;
	row->cpu_time_unfollowed += p->cpu_before;
	p->cpu_before = 0;
	if (p->vm || p->ended_sampled)
		row->cpu_time += used;
	else
		row->cpu_time_unfollowed += used;
}
