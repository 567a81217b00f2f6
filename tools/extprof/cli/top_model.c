/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_model.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

void top_model__free(struct top_model *m)
{
	for (int i = 0; i < TOP_VIEWS; i++) {
		top_table__free(&m->tables[i]);
		top_table__free(&m->by_thread[i]);
	}
	memset(m, 0, sizeof(*m));
}

void top_model__begin(struct top_model *m)
{
	for (int i = 0; i < TOP_VIEWS; i++) {
		top_table__begin(&m->tables[i], m->lives);
		top_table__begin(&m->by_thread[i], m->lives);
	}
	m->last = m->last_gc = m->last_gvl = m->last_waits = 0;
	if (m->lives)
		m->all = m->all_gc = m->all_gvl = m->all_waits = 0;
}

void top_model__rebase(struct top_model *m)
{
	for (int i = 0; i < TOP_VIEWS; i++) {
		top_table__rebase(&m->tables[i]);
		top_table__rebase(&m->by_thread[i]);
	}
}

/* In the table of all threads, and in that of each. */
static int count_frame(struct top_model *m, enum top_view view, struct top_key *k, const char *thread, uint64_t value,
		       bool self)
{
	int err;

	k->thread = "";
	err = top_table__count(&m->tables[view], k, value, self, m->stacks);
	if (err || view == TOP_THREADS || view == TOP_PROCESSES)
		return err;
	k->thread = thread;
	return top_table__count(&m->by_thread[view], k, value, self, m->stacks);
}

/* For processes of several machines. */
static const char *host_of(const struct extprof_frame *f)
{
	return f && f->kind == EXTPROF_FRAME_PROCESS && f->key ? f->key : "";
}

/* The name of a process or a thread in a column that has both: "42 puma", "42 puma on web-2", "worker 1 (43)". */
static void short_name(char *to, size_t size, const struct extprof_frame *f)
{
	const char *host = host_of(f);
	char number[16];
	size_t length;

	snprintf(number, sizeof(number), "%u", f->pid);
	if (f->tid)
		snprintf(to, size, "%s (%u)", f->bare, f->tid);
	else if (f->pid && strcmp(f->bare, number))
		snprintf(to, size, "%s %s", number, f->bare);
	else
		snprintf(to, size, "%s", f->bare);
	length = strlen(to);
	if (*host)
		snprintf(to + length, size - length, " on %s", host);
}

static struct top_key key_of_process(const struct extprof_frame *f, const char *name)
{
	return (struct top_key){ .name = name, .path = "", .thread = "", .kind = f->kind, .number = f->pid, .host = host_of(f) };
}

static int count_process(struct top_model *m, const struct extprof_frame *f, const char *name, const struct extprof_stack *s,
			 bool gvl, bool gc)
{
	struct top_key k = key_of_process(f, name);
	struct top_account *account;
	int err = count_frame(m, TOP_PROCESSES, &k, "", s->value, true);

	if (err || !(gvl || gc))
		return err;
	account = top_row__account(top_table__row(&m->tables[TOP_PROCESSES], &k));
	if (!account)
		return -ENOMEM;
	account->last.gvl += gvl ? s->value : 0;
	account->all.gvl += gvl ? s->value : 0;
	account->last.gc += gc ? s->value : 0;
	account->all.gc += gc ? s->value : 0;
	return 0;
}

static int count_thread(struct top_model *m, const struct extprof_frame *f, const char *name,
			const struct extprof_frame *process, const char *of, uint64_t value)
{
	struct top_key k = { .name = name, .path = of, .kind = f->kind, .number = f->tid, .of = process ? process->pid : 0,
			     .host = host_of(process) };

	return count_frame(m, TOP_THREADS, &k, "", value, true);
}

/* From the innermost frame.  Which row has the time is as in the tables of reports. */
static int count_code(struct top_model *m, enum top_view view, const struct extprof_stack *s, size_t count, const char *thread)
{
	bool is_line = view == TOP_LINES, self = true;
	int err = 0;

	for (size_t i = count; i > s->groups && !err; i--) {
		const struct extprof_frame *f = s->frames[i - 1];
		int part = is_line ? f->line_part : f->method_part;
		struct top_key k = { .name = f->name, .path = f->path, .line = is_line ? f->line : f->first_line,
				     .approximate = is_line && f->approximate, .kind = f->kind, .is_line = is_line };

		if (part == EXTPROF_PART_OF_CALLER)
			continue;
		if (part == EXTPROF_PART_OWN)
			err = count_frame(m, view, &k, thread, s->value, self);
		self = false;
	}
	return err;
}

static bool is_in_gc(const struct extprof_stack *s)
{
	bool gc = false;

	for (size_t i = s->groups; i < s->count; i++)
		gc |= s->frames[i]->kind == EXTPROF_FRAME_GC;
	return gc;
}

/* The sums of the head. */
static void count_sums(struct top_model *m, const struct extprof_stack *s, const struct extprof_frame *state, bool gc)
{
	m->last += s->value;
	m->all += s->value;
	if (gc) {
		m->last_gc += s->value;
		m->all_gc += s->value;
	}
	if (state && state->state == EXTPROF_STATE_GVL) {
		m->last_gvl += s->value;
		m->all_gvl += s->value;
	}
	if (state) {
		m->last_waits += s->value;
		m->all_waits += s->value;
	}
}

int top_model__add(struct top_model *m, const struct extprof_stack *s)
{
	const struct extprof_frame *process = NULL, *thread = NULL, *state = NULL;
	char in[NAME_MAX] = "", of[NAME_MAX] = "";
	size_t count = s->count;
	bool gc = is_in_gc(s);
	int err = 0;

	m->stacks++;
	for (size_t i = 0; i < s->groups; i++) {
		if (s->frames[i]->kind == EXTPROF_FRAME_PROCESS)
			process = s->frames[i];
		else if (s->frames[i]->kind == EXTPROF_FRAME_THREAD)
			thread = s->frames[i];
	}
	/* The state of a thread, the class of an object and the like are no code. */
	while (count > s->groups && s->frames[count - 1]->kind >= EXTPROF_FRAME_STATE)
		state = s->frames[--count];
	count_sums(m, s, state, gc);
	if (thread)
		short_name(in, sizeof(in), thread);
	if (process) {
		short_name(of, sizeof(of), process);
		err = count_process(m, process, of, s, state && state->state == EXTPROF_STATE_GVL, gc);
	}
	if (!err && thread)
		err = count_thread(m, thread, in, process, of, s->value);
	if (!err && state) {
		struct top_key k = { .name = state->name, .path = "", .kind = state->kind };

		err = count_frame(m, TOP_STATES, &k, in, s->value, true);
	}
	if (!err)
		err = count_code(m, TOP_METHODS, s, count, in);
	return err ? err : count_code(m, TOP_LINES, s, count, in);
}

int top_model__add_idle(struct top_model *m, const struct extprof_idle_thread *t)
{
	char in[NAME_MAX], of[NAME_MAX] = "";
	struct top_account *account;
	struct top_key k;
	int err = 0;

	m->stacks++;
	short_name(in, sizeof(in), t->thread);
	if (t->process) {
		short_name(of, sizeof(of), t->process);
		k = key_of_process(t->process, of);
		err = count_frame(m, TOP_PROCESSES, &k, "", 0, true);
		account = err ? NULL : top_row__account(top_table__row(&m->tables[TOP_PROCESSES], &k));
		if (!account)
			return -ENOMEM;
		account->last.idle += t->time;
		account->all.idle += t->time;
	}
	return count_thread(m, t->thread, in, t->process, of, 0);
}

static int add_all_idle(struct top_model *m, struct extprof_report *report)
{
	const struct extprof_idle_thread *thread;
	int err = 0;

	for (size_t i = 0; !err && !extprof_report_facts(report)->idle_shown && (thread = extprof_report_idle_thread(report, i)); i++)
		err = top_model__add_idle(m, thread);
	return err;
}

static int add_accounts(struct top_model *m, struct extprof_report *report)
{
	const struct extprof_report_process *process;
	const struct extprof_report_thread *thread;
	struct top_accounts *accounts;
	int err = top_accounts__begin(&accounts, m);

	for (size_t i = 0; !err && (thread = extprof_report_thread(report, i)); i++)
		err = top_accounts__add_thread(accounts, thread);
	for (size_t i = 0; !err && (process = extprof_report_process(report, i)); i++)
		err = top_accounts__add_process(accounts, process);
	top_accounts__free(accounts);
	return err;
}

int top_model__add_report(struct top_model *m, struct extprof_report *report)
{
	const struct extprof_stack *stack;
	int err = 0;

	extprof_report_rewind(report);
	while (!err && (stack = extprof_report_next(report)))
		err = top_model__add(m, stack);
	if (!err)
		err = add_all_idle(m, report);
	return err ? err : add_accounts(m, report);
}

const struct top_row *top_model__find(const struct top_model *m, enum top_view view, const struct top_row *row)
{
	const struct top_key k = {
		.name = row->name, .path = row->path, .thread = row->thread, .line = row->line, .approximate = row->approximate,
		.kind = row->kind, .number = row->number, .is_line = view == TOP_LINES,
	};

	return top_table__find(&m->tables[view], &k);
}

