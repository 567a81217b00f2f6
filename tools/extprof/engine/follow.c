/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of a process: it is followed, its program changes, it ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "engine/state.h"
#include "process/proc.h"

int waiting__add(struct waiting *w, uint32_t number)
{
	int err = array__reserve(&w->list, w->count, 1, &w->room, UINT32_MAX, sizeof(*w->list));

	if (!err)
		w->list[w->count++] = number;
	return err;
}

int engine__follow_pid(struct engine *e, pid_t pid, bool wanted, struct process **process, struct diag *d)
{
	struct target_config config = { .process = session__new_number(e->session) };
	bool watched = !wanted && !e->settings.selection.subprocesses && !e->settings.selection.all;
	struct target target;
	struct process *p;
	int err;

	*process = NULL;
	err = target__open(&target, pid, d);
	if (err)
		return err;
	if (watched)
		config.flags = TARGET_WATCHED;
	err = session__add_target(e->session, &target.key, pid, &config);
	if (err) {
		target__close(&target);
		if (err == -EMFILE || err == -ENFILE)
			return proc__no_descriptors(d, -err, pid);
		return err == -EEXIST ? err : diag__set(d, DIAG_INTERNAL, -err,
							"cannot follow process %d: %s", pid, strerror(-err));
	}
	p = process_set__add(&e->set, config.process, pid);
	if (!p) {
		session__remove_target(e->session, &target.key);
		target__close(&target);
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	}
	p->target = target;
	p->key = target.key;
	p->wanted = wanted;
	p->from = deadline__now();
	if (watched)
		p->state = PROCESS_WATCHED;
	backoff__reset(&p->backoff, p->from);
	/* The CPU time until now belongs to nobody here. */
	p->cpu_seen = proc__cpu_time(pid);
	e->set.wanted_live += wanted;
	*process = p;
	return 0;
}

void engine__leave_vm(struct engine *e, struct process *p)
{
	if (!p->vm)
		return;
	if (!p->shares_vm) {
		engine__figures_name(e, p, p->vm);
		vm__set_exited(p->vm);
		engine__end_natives(e, p->vm);
		/* Samples of it wait. */
		waiting__add(&e->old_vms, p->vm->number);
	}
	p->vm = NULL;
	p->shares_vm = false;
}

void engine__look_again(struct engine *e, struct process *p, uint64_t cpu_time)
{
	cpu_time = cpu_time && cpu_time < p->cpu_seen ? cpu_time : p->cpu_seen;
	engine__leave_vm(e, p);
	if (p->state == PROCESS_SAMPLED)
		p->state = PROCESS_LOOKED_FOR;
	p->executed = true;
	/* Another program: what was used before is not its own. */
	if (p->cpu_before > p->cpu_seen - cpu_time)
		p->cpu_before = p->cpu_seen - cpu_time;
	p->memory_gone = false;
	p->given_up = p->refused = false;
	p->search_is_old = p->search != NULL;
	p->search_until = 0;
	backoff__reset(&p->backoff, deadline__now());
}

void engine__process_ended(struct engine *e, struct process *p, uint64_t time, const char *how)
{
	if (p->state == PROCESS_ENDED)
		return;
	p->ended_sampled = p->vm != NULL;
	/* Its last thread can be sampled until it is freed: the VM is closed then. */
	if (p->vm && !p->shares_vm) {
		engine__figures_name(e, p, p->vm);
		vm__set_exited(p->vm);
		engine__end_natives(e, p->vm);
		p->last_vm = p->vm->number;
	}
	p->vm = NULL;
	p->shares_vm = false;
	p->state = PROCESS_ENDED;
	p->ended_at = deadline__now();
	p->search_is_old = true;
	e->set.wanted_live -= p->wanted;
	if (p->row < PROCESS_ROWS_MAX) {
		struct process_row *row = &e->rows.rows[p->row];

		row->ended_at = time;
		snprintf(row->ended, sizeof(row->ended), "%s", how);
	}
}

void engine__drop(struct engine *e, struct process *p, const struct target_config *config)
{
	session__drop(e->session, &p->key, p->number, config);
	engine__process_ended(e, p, deadline__now(), "left");
	engine__process_freed(e, p);
}

int engine__add(struct engine *e, pid_t pid, struct diag *d)
{
	struct process *p = process_set__by_pid(&e->set, pid);
	int err = 0;

	if (!p) {
		err = engine__follow_pid(e, pid, true, &p, d);
	} else if (p->wanted) {
		return diag__set(d, DIAG_USAGE, EEXIST, "process %d is recorded already", pid);
	} else {
		/* It was found as a child, or as one that did not fit. */
		p->wanted = true;
		p->refused = p->given_up = false;
		e->set.wanted_live++;
		if (p->state == PROCESS_WATCHED)
			p->state = PROCESS_LOOKED_FOR;
		backoff__reset(&p->backoff, deadline__now());
	}
	if (!err && e->settings.selection.subprocesses)
		engine__discover_children(e, pid);
	return err;
}

int engine__remove(struct engine *e, pid_t pid, struct diag *d)
{
	struct process *p = process_set__by_pid(&e->set, pid);
	struct target_config config = { 0 };
	struct target_key key;

	if (!p || p->refused || (!p->wanted && !p->vm))
		return diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d is not recorded", pid);
	config.process = session__new_number(e->session);
	key = p->key;
	engine__read_cpu_time(e, p);
	engine__figures_leave(e, p);
	if (p->state == PROCESS_ENDED)
		return 0;
	engine__drop(e, p, &config);
	session__remove_target(e->session, &key);
	return 0;
}
