/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of processes from the kernel: fork, exec, exit. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_file.h"
#include "base/text.h"
#include "engine/state.h"

static void describe_end(uint32_t code, char *text, size_t size)
{
	const char *name = WIFSIGNALED(code) ? sigabbrev_np(WTERMSIG(code)) : NULL;

	if (name)
		snprintf(text, size, "SIG%s", name);
	else if (WIFSIGNALED(code))
		snprintf(text, size, "signal %d", WTERMSIG(code));
	else
		snprintf(text, size, "exit %d", WEXITSTATUS(code));
}

/* The child is a copy of its parent, which has a VM. */
static void on_copy(struct engine *e, struct process *p, const struct process_event *ev)
{
	struct vm *parent = process_set__vm(&e->set, ev->parent_vm), *vm;

	if (!parent)
		return;	/* it is looked for */
	if (ev->flags & TARGET_SHARED) {
		p->vm = parent;
		p->shares_vm = true;
		p->state = PROCESS_SAMPLED;
		return;
	}
	vm = vm__fork(parent, ev->key.pid, ev->records_end, ev->time);
	if (!vm || process_set__add_vm(&e->set, ev->vm, vm)) {
		vm__close(vm);
		return;
	}
	vm__set_deadline(vm, &e->reads);
	vm__set_gone(vm, engine__vm_gone, e);
	vm->frames.of = &e->frames.shares;
	p->vm = vm;
	p->state = PROCESS_SAMPLED;
	waiting__add(&e->new_vms, p->number);
	engine__figures_fork(e, p);
	engine__fork_natives(e, p, parent, vm);
}

static void on_fork(struct engine *e, const struct process_event *ev)
{
	struct process *p, *parent = process_set__find(&e->set, ev->parent);
	struct process_row *row;

	if (process_set__find(&e->set, ev->process))
		return;
	p = process_set__add(&e->set, ev->process, (pid_t)ev->pid);
	if (!p)
		return;
	p->parent = ev->parent;
	p->file = parent ? parent->file : 0;
	p->key = ev->key;
	p->started = ev->started;
	p->uid = ev->uid;
	p->from = ev->time;
	e->new_at = ev->time;
	p->born = !ev->cpu_time;
	p->cpu_seen = ev->cpu_time;
	/* A child of a stranger is a stranger. */
	p->followed = parent && (parent->wanted || parent->followed || (parent->vm && !parent->vm->plain));
	memcpy(p->comm, ev->comm, sizeof(p->comm));
	backoff__reset(&p->backoff, deadline__now());
	if (ev->flags & TARGET_WATCHED) {
		p->state = PROCESS_WATCHED;
		return;
	}
	if (parent && parent->given_up)
		p->given_up = true;
	if (!ev->vm)
		return;
	on_copy(e, p, ev);
	if (parent)
		engine__fork_context(p, parent, ev->time);
	if (p->shares_vm)
		return;		/* it is about to execute something */
	row = process__row(&e->set, p);
	if (row && parent && p->row < PROCESS_ROWS_MAX && parent->row != PROCESS_NONE)
		snprintf(row->ruby_version, sizeof(row->ruby_version), "%s",
			 e->rows.rows[parent->row].ruby_version);
}

/* Its row is that of what it runs now. */
static void describe_program(struct engine *e, struct process *p)
{
	struct process_row *row = &e->rows.rows[p->row];

	if (p->target.command[0])
		snprintf(row->command, sizeof(row->command), "%s", p->target.command);
	else
		text__clean(row->command, sizeof(row->command), p->comm);
	row->replaced = true;
	/* A copy of a ruby that has executed something at once was none. */
	engine__take_counters(e, p);
	if (!row->kernel.taken)
		row->ruby_version[0] = '\0';
}

static void on_exec(struct engine *e, const struct process_event *ev)
{
	struct process *p = ev->process ? process_set__find(&e->set, ev->process) : NULL;
	struct diag d;

	if (!ev->process) {
		/* One of all processes of the machine. */
		if (!ev->pid || process_set__by_pid(&e->set, (pid_t)ev->pid) || engine__follow_pid(e, (pid_t)ev->pid, false, &p, &d))
			return;
		/* It was told late: what it has used since is that of the program that it executed then. */
		if (ev->cpu_time && ev->cpu_time < p->cpu_seen)
			p->cpu_seen = ev->cpu_time;
		p->executed_at = ev->time;
		return;
	}
	if (!p || p->state == PROCESS_ENDED)
		return;
	engine__account_cpu(e, p, ev->cpu_time);
	memcpy(p->comm, ev->comm, sizeof(p->comm));
	p->uid = ev->uid;
	p->executed_at = ev->time;
	/* It was told late: what has been found since is what runs now. */
	if (p->vm && !p->shares_vm && p->vm->space && address_space__lives(p->vm->space)) {
		engine__executed_natives(e, p, p->vm);
		return;
	}
	if (!p->search && p->target.pidfd >= 0)
		target__refresh(&p->target);
	else
		p->target.command[0] = '\0';
	if (p->row < PROCESS_ROWS_MAX)
		describe_program(e, p);
	engine__look_again(e, p, ev->cpu_time);
}

static void on_exited(struct engine *e, const struct process_event *ev)
{
	struct process *p = process_set__find(&e->set, ev->process);
	char how[sizeof(e->rows.rows->ended)];

	if (!p)
		return;
	/* Only the kernel's event of its birth has that; a process that was found in /proc had none. */
	p->started = p->started ? p->started : ev->started;
	engine__account_cpu(e, p, ev->cpu_time);
	engine__figures_of_end(e, p, ev);
	describe_end(ev->exit_code, how, sizeof(how));
	engine__process_ended(e, p, ev->time, how);
	engine__trigger_exit(e, p, ev->exit_code != 0, ev->time, how);
}

void engine__process_freed(struct engine *e, struct process *p)
{
	engine__take_counters(e, p);
	p->freed = true;
	engine__figures_freed(e, p);
	session__forget_counters(e->session, p->number);
	if (p->last_vm)
		waiting__add(&e->old_vms, p->last_vm);
	waiting__add(&e->old_processes, p->number);
}

/* Its samples may still wait in the ring. */
static void on_freed(struct engine *e, const struct process_event *ev)
{
	struct process *p = process_set__find(&e->set, ev->process);

	if (!p)
		return;
	engine__process_ended(e, p, ev->time, "ended");
	/* The CPU time that it used while it ended belongs to the program that it ran. */
	engine__account_cpu(e, p, ev->cpu_time);
	engine__figures_of_end(e, p, ev);
	engine__process_freed(e, p);
}

static bool is_memory(const void *data, size_t size)
{
	return size >= sizeof(struct memory_event) && ((const struct memory_event *)data)->kind == PROCESS_MEMORY;
}

/* A process that ends leaves a piece of its memory.  False: its VM is not known (yet). */
static bool on_memory(struct engine *e, const struct memory_event *ev, size_t size)
{
	struct vm *vm = process_set__vm(&e->set, ev->vm);

	if (vm && !vm->exited && ev->length <= size - sizeof(*ev))
		remains__add(&vm->remains, &e->remains_bytes, ev->address, ev + 1, ev->length);
	return vm;
}

static bool on_event(void *context, const void *data, size_t size)
{
	const struct process_event *ev = data;
	struct engine *e = context;

	if (is_memory(data, size)) {
		on_memory(e, data, size);
		return true;
	}
	if (size < sizeof(*ev))
		return true;
	switch (ev->kind) {
	case PROCESS_FORKED: on_fork(e, ev); break;
	case PROCESS_EXECUTED: on_exec(e, ev); break;
	case PROCESS_EXITED: on_exited(e, ev); break;
	case PROCESS_FREED: on_freed(e, ev); break;
	}
	return true;
}

/*
 * Out of the ring.  The memory of a VM that is known is there at once, since whoever reads it may wait for that; what
 * changes processes and VMs is done by engine__drain_lifecycle() alone.
 */
static bool put_aside(void *context, const void *data, size_t size)
{
	bool memory = is_memory(data, size);
	struct engine *e = context;

	if (memory && on_memory(e, data, size))
		return true;
	/* Without its memory a process has no names; without an event nobody knows of it. */
	if (event_queue__put(&e->lifecycle, data, size) && !memory)
		e->refused_events++;
	return true;
}

void engine__drain_lifecycle(struct engine *e)
{
	session__drain_lifecycle(e->session, put_aside, e);
	/* An event that is handled can ask for those after it: they are handled after it. */
	if (e->draining_lifecycle)
		return;
	e->draining_lifecycle = true;
	event_queue__drain(&e->lifecycle, on_event, e);
	e->draining_lifecycle = false;
}

void engine__vm_gone(void *context)
{
	struct engine *e = context;

	session__drain_lifecycle(e->session, put_aside, e);
}

/* A process that its parent has not waited for yet is there, too. */
static bool is_there(const struct process *p)
{
	const uint64_t tick = SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_stat stat;

	return p->pid && !proc_stat__read(&stat, p->pid, 0) && (!p->started || stat.started == p->started / tick);
}

void engine__free_gone(struct engine *e, uint64_t now)
{
	if (now < e->freed_look_at)
		return;
	e->freed_look_at = now + e->freed_time / 2;
	for (uint32_t i = 0; i < e->set.count; i++) {
		struct process *p = e->set.list[i];

		if (!p || p->state != PROCESS_ENDED || p->freed || now < p->ended_at + e->freed_time || is_there(p))
			continue;
		session__forget_process(e->session, &p->key, p->number, p->started);
		engine__process_freed(e, p);
	}
}

void engine__clean_up(struct engine *e)
{
	uint32_t vms = 0, processes = 0;

	if (e->old_vms.count || e->old_processes.count)
		engine__leave_shared(e);
	for (uint32_t i = 0; i < e->old_vms.count; i++) {
		struct vm *vm = process_set__vm(&e->set, e->old_vms.list[i]);

		if (!vm)
			continue;
		if (vm->turn.waiting) {
			e->old_vms.list[vms++] = e->old_vms.list[i];
			continue;
		}
		resolve__name_threads(&e->resolver, vm);
		states__name_threads(&e->states, vm);
		engine__remove_natives(e, vm);
		process_set__close_vm(&e->set, vm);
	}
	e->old_vms.count = vms;
	for (uint32_t i = 0; i < e->old_processes.count; i++) {
		struct process *p = process_set__find(&e->set, e->old_processes.list[i]);

		if (p && aside__has_samples_of(&e->aside, p->number)) {
			e->old_processes.list[processes++] = e->old_processes.list[i];
			continue;
		}
		/* A search that still runs finds nobody to give its answer to. */
		if (p)
			process_set__remove(&e->set, p);
	}
	e->old_processes.count = processes;
}
