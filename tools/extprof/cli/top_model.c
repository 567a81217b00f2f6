/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_model.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP_BUCKETS 4096u

static const char others_name[] = "[many others]";

/* The key of a row. */
struct top_key {
	const char *name, *path, *thread;
	int32_t line;
	bool approximate;
	int kind;
	uint32_t number, of;
	const char *host;	/* the name or path has it, too; NULL: none */
	bool is_line;		/* it is of a place, whatever the code there is called: the name is that of the first one */
};

static void row__free(struct top_row *row)
{
	if (!row)
		return;
	free(row->name);
	free(row->path);
	free(row->thread);
	free(row->host);
	free(row->account);
	free(row);
}

static void table__free(struct top_table *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		row__free(t->rows[i]);
	free(t->rows);
	free(t->buckets);
	memset(t, 0, sizeof(*t));
}

void top_model__free(struct top_model *m)
{
	for (int i = 0; i < TOP_VIEWS; i++) {
		table__free(&m->tables[i]);
		table__free(&m->by_thread[i]);
	}
	memset(m, 0, sizeof(*m));
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	/* FNV-1a, with the zero at the end. */
	do {
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	} while (*text++);
	return hash;
}

static uint64_t hash_of(const struct top_key *k)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ (uint32_t)k->line ^ (uint64_t)k->number << 32 ^
			(uint64_t)(k->kind * 2 + k->approximate) << 20;

	hash = hash_text(hash_text(hash_text(hash, k->is_line ? "" : k->name), k->path), k->thread);
	return hash ^ hash >> 29;
}

static bool is_of(const struct top_row *row, const struct top_key *k, uint64_t hash)
{
	return row->hash == hash && row->line == k->line && row->approximate == k->approximate &&
	       row->kind == k->kind && row->number == k->number &&
	       (k->is_line || !strcmp(row->name, k->name)) && !strcmp(row->path, k->path) && !strcmp(row->thread, k->thread);
}

static struct top_row *find_row(const struct top_table *t, const struct top_key *k, uint64_t hash)
{
	struct top_row *row = t->buckets ? t->buckets[hash % TOP_BUCKETS] : NULL;

	while (row && !is_of(row, k, hash))
		row = row->next;
	return row;
}

/* The row of the key, made if it is new.  NULL: out of memory. */
static struct top_row *row_of(struct top_table *t, const struct top_key *k)
{
	uint64_t hash = hash_of(k);
	struct top_row *row = find_row(t, k, hash), **list;

	if (row)
		return row;
	if (!t->buckets)
		t->buckets = calloc(TOP_BUCKETS, sizeof(*t->buckets));
	if (!t->buckets)
		return NULL;
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 64;

		list = realloc(t->rows, room * sizeof(*list));
		if (!list)
			return NULL;
		t->rows = list;
		t->room = room;
	}
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->name = strdup(k->name);
	row->path = strdup(k->path);
	row->thread = strdup(k->thread);
	row->host = strdup(k->host ? k->host : "");
	if (!row->name || !row->path || !row->thread || !row->host) {
		row__free(row);
		return NULL;
	}
	row->line = k->line;
	row->approximate = k->approximate;
	row->kind = k->kind;
	row->number = k->number;
	row->of = k->of;
	row->hash = hash;
	row->next = t->buckets[hash % TOP_BUCKETS];
	t->buckets[hash % TOP_BUCKETS] = row;
	t->rows[t->count++] = row;
	return row;
}

/* -- bounds --------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const struct top_row *x = *(struct top_row *const *)a, *y = *(struct top_row *const *)b;

	if (x->all.total != y->all.total)
		return x->all.total > y->all.total ? -1 : 1;
	return 0;
}

/* Put the smaller half of the rows together.  Their totals may overlap: what they had themselves is counted. */
static int shrink(struct top_table *t)
{
	const struct top_key key = { .name = others_name, .path = "", .thread = "", .kind = EXTPROF_FRAME_MARK };
	struct top_amount last = { 0 }, all = { 0 }, before = { 0 }, base = { 0 };
	struct top_row *others;
	uint32_t kept = t->count / 2, count = t->count;

	qsort(t->rows, t->count, sizeof(*t->rows), by_size);
	memset(t->buckets, 0, TOP_BUCKETS * sizeof(*t->buckets));
	t->count = kept;
	for (uint32_t i = 0; i < count; i++) {
		struct top_row *row = t->rows[i];

		if (i < kept) {
			row->next = t->buckets[row->hash % TOP_BUCKETS];
			t->buckets[row->hash % TOP_BUCKETS] = row;
			continue;
		}
		last.self += row->last.self;
		all.self += row->all.self;
		before.self += row->before.self;
		base.self += row->base.self;
		row__free(row);
	}
	others = row_of(t, &key);
	if (!others)
		return -ENOMEM;
	others->last.self += last.self;
	others->all.self += all.self;
	others->before.self += before.self;
	others->base.self += base.self;
	others->last.total = others->last.self;
	others->all.total = others->all.self;
	others->before.total = others->before.self;
	others->base.total = others->base.self;
	return 0;
}

/* -- stacks --------------------------------------------------------------------------------------- */

static void table__begin(struct top_table *t, bool lives)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (lives) {
			t->rows[i]->before = t->rows[i]->last;
			t->rows[i]->all = (struct top_amount){ 0 };
		}
		t->rows[i]->last = (struct top_amount){ 0 };
		if (t->rows[i]->account) {
			t->rows[i]->account->last = (struct top_sums){ 0 };
			t->rows[i]->account->lives = false;
			t->rows[i]->account->live_slots = 0;
			t->rows[i]->account->made = UINT64_MAX;
			t->rows[i]->account->counted_before = t->rows[i]->account->counted;
			t->rows[i]->account->counted = false;
		}
	}
}

void top_model__begin(struct top_model *m)
{
	for (int i = 0; i < TOP_VIEWS; i++) {
		table__begin(&m->tables[i], m->lives);
		table__begin(&m->by_thread[i], m->lives);
	}
	m->last = m->last_gc = m->last_gvl = m->last_waits = 0;
	if (m->lives)
		m->all = m->all_gc = m->all_gvl = m->all_waits = 0;
}

static void table__rebase(struct top_table *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		t->rows[i]->base = t->rows[i]->last;
}

void top_model__rebase(struct top_model *m)
{
	for (int i = 0; i < TOP_VIEWS; i++) {
		table__rebase(&m->tables[i]);
		table__rebase(&m->by_thread[i]);
	}
}

static int count_row(struct top_model *m, struct top_table *t, const struct top_key *k, uint64_t value, bool self)
{
	struct top_row *row;

	if (t->count >= TOP_ROWS_MAX && shrink(t))
		return -ENOMEM;
	row = row_of(t, k);
	if (!row)
		return -ENOMEM;
	if (row->stack != m->stacks) {
		row->stack = m->stacks;
		row->last.total += value;
		row->all.total += value;
	}
	if (self) {
		row->last.self += value;
		row->all.self += value;
	}
	return 0;
}

/* In the table of all threads, and in that of each. */
static int count_frame(struct top_model *m, enum top_view view, struct top_key *k, const char *thread, uint64_t value,
		       bool self)
{
	int err;

	k->thread = "";
	err = count_row(m, &m->tables[view], k, value, self);
	if (err || view == TOP_THREADS || view == TOP_PROCESSES)
		return err;
	k->thread = thread;
	return count_row(m, &m->by_thread[view], k, value, self);
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
	account = top_row__account(row_of(&m->tables[TOP_PROCESSES], &k));
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
		account = err ? NULL : top_row__account(row_of(&m->tables[TOP_PROCESSES], &k));
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

	return find_row(&m->tables[view], &k, hash_of(&k));
}

/* -- what is shown ---------------------------------------------------------------------------------- */

static bool is_wanted(const struct top_row *row, const struct top_choice *c)
{
	const struct top_amount *amount = top_row__amount(row, c->all);
	bool rests = row->account && (c->all ? &row->account->all : &row->account->last)->idle;

	if (!amount->total && !amount->self && !rests)
		return false;
	return !*c->filter || strcasestr(top_row__shown(row), c->filter) || strcasestr(row->path, c->filter) ||
	       strcasestr(row->thread, c->filter);
}

static int by_choice(const void *a, const void *b, void *context)
{
	const struct top_row *x = *(const struct top_row *const *)a, *y = *(const struct top_row *const *)b;
	const struct top_choice *c = context;
	const struct top_amount *m = top_row__amount(x, c->all), *n = top_row__amount(y, c->all);
	int64_t grown = top_row__growth(x, c->all), other = top_row__growth(y, c->all);
	int order = 0;

	if (c->sort == TOP_BY_GROWTH && grown != other)
		order = grown > other ? -1 : 1;
	else if (c->sort == TOP_BY_SELF && m->self != n->self)
		order = m->self > n->self ? -1 : 1;
	else if (c->sort != TOP_BY_NAME && m->total != n->total)
		order = m->total > n->total ? -1 : 1;
	else if (c->sort == TOP_BY_TOTAL && m->self != n->self)
		order = m->self > n->self ? -1 : 1;
	/* Equal rows keep one order, so that they do not jump. */
	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->path, y->path);
	if (!order)
		order = strcmp(x->thread, y->thread);
	if (!order && x->line != y->line)
		order = x->line < y->line ? -1 : 1;
	if (!order)
		order = x->number < y->number ? -1 : x->number > y->number;
	return c->reverse ? -order : order;
}

int top_model__choose(const struct top_model *m, const struct top_choice *choice, const struct top_row ***rows,
		      uint32_t *count)
{
	bool by_thread = choice->by_thread && choice->view != TOP_THREADS && choice->view != TOP_PROCESSES;
	const struct top_table *t = by_thread ? &m->by_thread[choice->view] : &m->tables[choice->view];
	const struct top_row **list = calloc(t->count + 1u, sizeof(*list));
	uint32_t n = 0;

	*rows = NULL;
	*count = 0;
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		if (is_wanted(t->rows[i], choice))
			list[n++] = t->rows[i];
	if (n)
		qsort_r(list, n, sizeof(*list), by_choice, (void *)(uintptr_t)choice);
	*rows = list;
	*count = n;
	return 0;
}
