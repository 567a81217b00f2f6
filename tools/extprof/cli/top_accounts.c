/* SPDX-License-Identifier: BSD-2-Clause */
/* The accounts of threads and processes, which are not in stacks: states, CPU time, memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/top_model.h"

struct top_accounts {
	struct top_model *model;
	struct top_row **threads, **processes;	/* by number */
	uint32_t thread_count, process_count;
};

/* If numbers are equal, the one with most comes first: a thread can have another name now. */
static int by_number(const void *a, const void *b)
{
	const struct top_row *x = *(struct top_row *const *)a, *y = *(struct top_row *const *)b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (strcmp(x->host, y->host))
		return strcmp(x->host, y->host);
	return x->last.total > y->last.total ? -1 : x->last.total < y->last.total;
}

/* Those of which the number is known. */
static struct top_row **list_of(const struct top_table *t, uint32_t *count)
{
	struct top_row **list = calloc(t->count + 1u, sizeof(*list));

	*count = 0;
	for (uint32_t i = 0; list && i < t->count; i++)
		if (t->rows[i]->number)
			list[(*count)++] = t->rows[i];
	if (*count)
		qsort(list, *count, sizeof(*list), by_number);
	return list;
}

int top_accounts__begin(struct top_accounts **accounts, struct top_model *m)
{
	struct top_accounts *a = *accounts = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->model = m;
	a->threads = list_of(&m->tables[TOP_THREADS], &a->thread_count);
	a->processes = list_of(&m->tables[TOP_PROCESSES], &a->process_count);
	return a->threads && a->processes ? 0 : -ENOMEM;
}

void top_accounts__free(struct top_accounts *a)
{
	if (!a)
		return;
	free(a->threads);
	free(a->processes);
	free(a);
}

/* Is the row before that of a key, which sorts as in by_number()? */
static bool is_before(const struct top_row *row, uint32_t of, uint32_t number, const char *host)
{
	if (row->of != of)
		return row->of < of;
	return row->number < number || (row->number == number && strcmp(row->host, host) < 0);
}

static struct top_row *find(struct top_row **list, uint32_t count, uint32_t of, uint32_t number, const char *host)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (is_before(list[middle], of, number, host))
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && list[low]->of == of && list[low]->number == number && !strcmp(list[low]->host, host) ? list[low] : NULL;
}

/* *account NULL: there is no row of that number.  0 or -ENOMEM. */
static int account_of(struct top_row **list, uint32_t count, uint32_t of, uint32_t number, const char *host,
		      struct top_account **account)
{
	struct top_row *row = find(list, count, of, number, host ? host : "");

	*account = top_row__account(row);
	return row && !*account ? -ENOMEM : 0;
}

static void add_states(struct top_sums *to, const struct extprof_report_thread *thread)
{
	for (size_t i = 0; i < thread->state_count && i < TOP_STATES_MAX; i++)
		to->times[i] += thread->times[i];
	to->idle += thread->idle;
}

int top_accounts__add_thread(struct top_accounts *a, const struct extprof_report_thread *thread)
{
	struct top_account *account;
	int err;

	if (thread->pid <= 0 || !thread->tid)
		return 0;
	err = account_of(a->threads, a->thread_count, (uint32_t)thread->pid, thread->tid, thread->host, &account);
	if (!account)
		return err;
	add_states(&account->last, thread);
	add_states(&account->all, thread);
	for (uint32_t i = 0; i < thread->state_count && i < TOP_STATES_MAX; i++)
		if (thread->times[i])
			a->model->states |= 1u << i;
	return 0;
}

/* Objects that were made since the window before ended; of a new program that is not known. */
static void count_made(struct top_model *m, struct top_account *account, uint64_t objects)
{
	account->made = account->counted_before && objects >= account->objects ? objects - account->objects : UINT64_MAX;
	account->objects = objects;
	account->counted = objects != 0;
	m->tells_made |= account->made != UINT64_MAX;
}

/* Workers of a server have one name.  Their titles tell them apart: "puma: cluster worker 1: 42 [shop]". */
static void take_title(struct top_account *account, const char *name, const char *command)
{
	const char *bare = strchr(name, ' '), *base = command;
	size_t length;

	account->title[0] = '\0';
	for (const char *c = command; *c && *c != ' '; c++)
		base = *c == '/' ? c + 1 : base;
	if (!bare++)
		return;
	length = strlen(bare);
	if (strncmp(base, bare, length) || !base[length])
		return;
	length = (size_t)snprintf(account->title, sizeof(account->title), "%.*s%s", (int)(bare - name), name, base);
	/* No character is cut in two. */
	if (length >= sizeof(account->title)) {
		length = sizeof(account->title) - 1;
		while (length && (base[length - (size_t)(bare - name)] & 0xc0) == 0x80)
			length--;
		account->title[length] = '\0';
	}
}

int top_accounts__add_process(struct top_accounts *a, const struct extprof_report_process *process)
{
	const char *host = process->host ? process->host : "";
	struct top_account *account;
	struct top_row *row;

	if (process->pid <= 0)
		return 0;
	row = find(a->processes, a->process_count, 0, (uint32_t)process->pid, host);
	account = top_row__account(row);
	if (!account)
		return row ? -ENOMEM : 0;
	if (!*host)
		take_title(account, row->name, process->command);
	account->last.cpu += process->cpu_time;
	account->all.cpu += process->cpu_time;
	/* Its number may have been that of another one before. */
	account->lives |= !*process->ended;
	if (*process->ended)
		account->live_slots = account->resident = 0;
	/* In the next file of a recording it has not been looked at yet. */
	account->live_slots = process->live_slots && !*process->ended ? process->live_slots : account->live_slots;
	account->resident = process->resident && !*process->ended ? process->resident : account->resident;
	count_made(a->model, account, process->objects);
	return 0;
}

/* Resident memory in bytes; 0: unknown. */
static uint64_t resident_of(uint32_t pid)
{
	unsigned long long pages = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/statm", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void top_model__read_memory(struct top_model *m)
{
	const struct top_table *t = &m->tables[TOP_PROCESSES];

	for (uint32_t i = 0; i < t->count; i++)
		if (t->rows[i]->account)
			t->rows[i]->account->resident = t->rows[i]->account->lives ? resident_of(t->rows[i]->number) : 0;
}
