/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of processes: what they say of themselves, which commit their files are, and their titles. */
#include <stdio.h>
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
/* Titles: how often some are looked at; the first time after a process was found, and the longest time between two; ns. */
#define TITLES_INTERVAL 100000000ull
#define TITLES_FIRST 500000000ull
#define TITLES_LAST 60000000000ull
/* How long the files of one process may take, ns. */
#define FILES_TIME 300000000ull

static void add_all(struct text *list, const char *from)
{
	struct attribute a;

	while (attributes__next(&from, &a)) {
		struct text pair = { 0 };

		text__add(&pair, a.key, a.key_length);
		text__adds(&pair, "=");
		text__add(&pair, a.value, a.value_length);
		attributes__add_pair(list, &pair);
		text__free(&pair);
	}
}

/* The list of a process, as far as it is known; if nothing is, it keeps what its parent had.  Outputs have room for the
 * first ones of a list. */
static void set_resource(const struct engine *e, struct process_row *row, const struct process *p)
{
	const char *const deployment = e->settings.deployment;
	struct text list = { 0 };
	char commit[8];

	if (deployment && *deployment)
		attributes__add(&list, ATTRIBUTES_DEPLOYMENT, deployment, strlen(deployment));
	/* The branch of the files need not be that of a commit that the process tells. */
	if (!attributes__find(p->own_name, ATTRIBUTES_COMMIT, commit, sizeof(commit)))
		add_all(&list, p->revision);
	add_all(&list, p->own_name);
	if (list.failed || !list.length) {
		text__free(&list);
		return;
	}
	free(row->resource);
	row->resource = list.data;
}

/* Children that ended before they were looked at ran what it runs. */
static void tell_children(struct engine *e, uint32_t parent)
{
	for (uint32_t i = 0; i < e->rows.count; i++) {
		struct process_row *row = &e->rows.rows[i], *of = &e->rows.rows[parent];

		if (row->parent == parent && !row->resource && of->resource && !row->replaced && !strcmp(row->command, of->command))
			row->resource = strdup(of->resource);
	}
}

/* Read the name that a process gives itself.  If it gives none now, the one from before stays. */
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
	/* A child without a name of its own keeps that of its parent, until it executes another program. */
	if (p->own_name || p->executed || !row->resource)
		set_resource(e, row, p);
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
	struct deadline deadline = { 0 };
	struct target_files files;
	char *revision;

	p->knows_revision = true;
	deadline__start(&deadline, -1, deadline__now() + FILES_TIME);
	target_files__of_process(&files, p->pid, 0, &deadline);
	revision = revision__read(&files, row->cwd);
	/* Another process may have got the pid meanwhile. */
	if (revision && !target__has_pid(&p->target)) {
		free(revision);
		revision = NULL;
	}
	p->revision = revision;
	log_to__line(&e->settings.log, "process %d: %s%s", p->pid, revision ? "its files: " : "its files say no commit",
		     revision ? revision : "");
	if (!revision)
		return;
	set_resource(e, row, p);
	tell_children(e, p->row);
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

static bool has_title(const struct engine *e, const struct process *p)
{
	return is_to_be_read(e, p) && p->target.pidfd >= 0 && p->row < PROCESS_ROWS_MAX;
}

static void read_title(struct engine *e, struct process *p)
{
	struct process_row *row = &e->rows.rows[p->row];

	p->title_at = deadline__now();
	target__refresh(&p->target);
	if (p->target.command[0])
		snprintf(row->command, sizeof(row->command), "%s", p->target.command);
}

/* Seldom in the long run: each time it has lived twice as long, and at least once a minute. */
static bool is_due(const struct process *p, uint64_t now)
{
	uint64_t last = p->title_at ? p->title_at : p->from, age = last - p->from;
	uint64_t wait = age < TITLES_FIRST ? TITLES_FIRST : age < TITLES_LAST ? age : TITLES_LAST;

	return now >= last + wait;
}

void engine__step_titles(struct engine *e)
{
	uint64_t now = deadline__now();
	uint32_t most = STEP_MAX;

	if (now < e->titles_at)
		return;
	e->titles_at = now + TITLES_INTERVAL;
	for (uint32_t i = 0; i < e->set.count && most; i++) {
		struct process *p = e->set.list[i];
		struct run_mark mark;

		if (!has_title(e, p) || !is_due(p, now))
			continue;
		p->title_at = now;
		if (!vm__has_run(p->vm, &p->title_mark, &mark))
			continue;
		read_title(e, p);
		p->title_mark = mark;
		most--;
	}
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
		if (has_title(e, p))
			read_title(e, p);
	}
}
