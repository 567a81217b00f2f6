/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

uint32_t processes__add(struct processes *p)
{
	struct process_row *row;

	if (array__reserve(&p->rows, p->count, 1, &p->room, PROCESSES_MAX, sizeof(*p->rows)))
		return PROCESS_NONE;
	row = &p->rows[p->count];
	memset(row, 0, sizeof(*row));
	row->parent = PROCESS_NONE;
	return p->count++;
}

static void free_texts(struct process_row *row)
{
	free(row->cgroup);
	free(row->cwd);
	free(row->executable);
	free(row->resource);
}

static int copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

void processes__drop(struct processes *p, const bool *kept, uint32_t *number)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		struct process_row *row = &p->rows[i];

		number[i] = kept[i] ? count : PROCESS_NONE;
		if (!kept[i]) {
			free_texts(row);
			continue;
		}
		p->rows[count++] = *row;
	}
	/* A child can have an older row than its parent. */
	for (uint32_t i = 0; i < count; i++)
		if (p->rows[i].parent != PROCESS_NONE)
			p->rows[i].parent = number[p->rows[i].parent];
	p->count = count;
}

void processes__restart(struct processes *p, const bool *kept, uint32_t *number)
{
	processes__drop(p, kept, number);
	for (uint32_t i = 0; i < p->count; i++) {
		struct process_row *row = &p->rows[i];

		row->cpu_time = row->cpu_time_unfollowed = row->cpu_taken = row->lost_told = row->frame = 0;
		memset(&row->heap, 0, sizeof(row->heap));
		memset(&row->kernel, 0, sizeof(row->kernel));
		memset(&row->received, 0, sizeof(row->received));
	}
}

int processes__copy(struct processes *to, const struct processes *p)
{
	memset(to, 0, sizeof(*to));
	if (array__reserve(&to->rows, 0, p->count, &to->room, PROCESSES_MAX, sizeof(*to->rows)))
		return -ENOMEM;
	for (; to->count < p->count; to->count++) {
		struct process_row *row = &to->rows[to->count];

		*row = p->rows[to->count];
		row->cgroup = row->cwd = row->executable = row->resource = NULL;
		if (copy_text(&row->cgroup, p->rows[to->count].cgroup) || copy_text(&row->cwd, p->rows[to->count].cwd) ||
		    copy_text(&row->executable, p->rows[to->count].executable) ||
		    copy_text(&row->resource, p->rows[to->count].resource)) {
			free_texts(row);
			processes__free(to);
			return -ENOMEM;
		}
	}
	return 0;
}

void processes__free(struct processes *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->count; i++)
		free_texts(&p->rows[i]);
	free(p->rows);
	memset(p, 0, sizeof(*p));
}

bool process_row__is_followed(const struct process_row *row)
{
	return !row->watched && (row->ruby_version[0] || row->kernel.taken);
}

uint32_t processes__followed(const struct processes *p)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->count; i++)
		count += process_row__is_followed(&p->rows[i]);
	return count;
}

void process_row__account(const struct process_row *row, struct accounting *a)
{
	accounting__settle(a, &row->kernel, &row->received);
	a->cpu_taken = row->cpu_taken;
}
