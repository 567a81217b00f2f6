/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of processes: what they say of themselves, and which commit their files are. */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "engine/state.h"
#include "process/own_name.h"
#include "process/revision.h"

/* How long names are read again at the end, ns: of those that are not reached the first one stays. */
#define OWN_NAMES_TIME 200000000ull
/* Processes whose files are looked at in one step of the engine, which also has samples to fetch. */
#define STEP_MAX 2u

/* The list of the process is `own`, and what else is known.  Of equal keys the first one counts. */
static void set_resource(const struct engine *e, struct process_row *row, const struct process *p, const char *own)
{
	const char *const deployment = e->settings.deployment, *const parts[] = { own, p->revision };
	struct text list = { 0 };

	if (deployment && *deployment)
		attributes__add(&list, ATTRIBUTES_DEPLOYMENT, deployment, strlen(deployment));
	for (int i = 0; i < 2; i++) {
		struct attribute a;

		for (const char *at = parts[i]; attributes__next(&at, &a);) {
			struct text pair = { 0 };

			text__add(&pair, a.key, a.key_length);
			text__adds(&pair, "=");
			text__add(&pair, a.value, a.value_length);
			attributes__add_pair(&list, &pair);
			text__free(&pair);
		}
	}
	if (list.failed) {
		text__free(&list);
		return;
	}
	free(row->resource);
	row->resource = list.data;
}

/* What it says of itself; if that is nothing, what it has said before stays. */
static void read_own_name(struct engine *e, struct process_row *row, struct process *p, const struct vm *vm)
{
	/* The limits of other reads of its memory are not those of this one. */
	struct deadline *deadline = vm->space ? address_space__lift_deadline(vm->space) : NULL;
	char *name = own_name__read(p->pid, vm->space ? &vm->space->memory : NULL);

	if (vm->space)
		vm->space->deadline = deadline;
	/* Another process may have got the pid. */
	if (name && vm->space && !address_space__lives(vm->space)) {
		free(name);
		name = NULL;
	}
	if (name) {
		free(p->own_name);
		p->own_name = name;
	}
	set_resource(e, row, p, p->own_name);
}

/* A child that runs what its parent runs, there, has its files. */
static bool inherit(struct engine *e, struct process *p, const struct process_row *row)
{
	const struct process *parent = p->parent && !p->executed ? process_set__find(&e->set, p->parent) : NULL;
	const char *cwd;

	if (!parent || !parent->knows_revision || parent->row >= e->rows.count || !row->cwd)
		return false;
	cwd = e->rows.rows[parent->row].cwd;
	if (!cwd || strcmp(cwd, row->cwd) || (parent->revision && !(p->revision = strdup(parent->revision))))
		return false;
	p->knows_revision = true;
	return true;
}

void engine__describe_own(struct engine *e, struct process *p, struct process_row *row, const struct vm *vm)
{
	process__forget_own(p);
	inherit(e, p, row);
	read_own_name(e, row, p, vm);
	e->revisions_wait |= !p->knows_revision;
}

static bool is_to_be_read(const struct engine *e, const struct process *p)
{
	return p && p->state == PROCESS_SAMPLED && p->vm && p->vm->space && !p->shares_vm && p->row < e->rows.count;
}

static void read_revision(struct engine *e, struct process *p)
{
	struct process_row *row = &e->rows.rows[p->row];
	struct target_files files;
	char *revision;

	p->knows_revision = true;
	target_files__of_process(&files, p->pid, 0, NULL);
	revision = revision__read(&files, row->cwd);
	/* Another process may have got the pid meanwhile. */
	if (revision && !target__has_pid(&p->target)) {
		free(revision);
		revision = NULL;
	}
	p->revision = revision;
	log_to__line(&e->settings.log, "process %d: %s%s", p->pid, revision ? "its files: " : "its files say no commit",
		     revision ? revision : "");
	if (revision)
		set_resource(e, row, p, p->own_name);
}

static void read_revisions(struct engine *e, uint32_t most, uint64_t until)
{
	bool left = false;

	for (uint32_t i = 0; i < e->set.count && !left; i++) {
		struct process *p = e->set.list[i];

		if (!is_to_be_read(e, p) || p->knows_revision || p->target.pidfd < 0)
			continue;
		left = !most-- || deadline__now() >= until;
		if (!left)
			read_revision(e, p);
	}
	e->revisions_wait = left;
}

void engine__step_revisions(struct engine *e)
{
	if (e->revisions_wait && !e->figures)
		read_revisions(e, STEP_MAX, UINT64_MAX);
}

void engine__read_own_names(struct engine *e)
{
	uint64_t until = deadline__now() + OWN_NAMES_TIME;

	if (!e->figures)
		read_revisions(e, UINT32_MAX, until);
	for (uint32_t i = 0; i < e->set.count && deadline__now() < until; i++) {
		struct process *p = e->set.list[i];

		if (is_to_be_read(e, p))
			read_own_name(e, &e->rows.rows[p->row], p, p->vm);
	}
}
