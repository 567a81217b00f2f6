/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of processes, as /proc has it, and how full their heaps are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/figures_parts.h"
#include "engine/state.h"
#include "process/proc.h"

/* How often to look: a process can end before the next interval does. */
#define MEMORY_INTERVAL (200 * MS)

static const struct {
	const char *key;
	size_t at;
} fields[] = {
	{ "VmHWM:", offsetof(struct process_memory, peak) },
	{ "VmRSS:", offsetof(struct process_memory, resident) },
	{ "RssAnon:", offsetof(struct process_memory, anonymous) },
	{ "RssFile:", offsetof(struct process_memory, file) },
	{ "RssShmem:", offsetof(struct process_memory, shared) },
	{ "VmSwap:", offsetof(struct process_memory, swapped) },
};

int engine__read_memory(const struct process *p, struct process_memory *m)
{
	char path[PROC_PATH_MAX], line[256];
	unsigned long long kib;
	FILE *file;

	proc__path(path, p->pid, 0, "status");
	file = fopen(path, "re");
	if (!file)
		return -errno;
	memset(m, 0, sizeof(*m));
	while (fgets(line, sizeof(line), file))
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			size_t n = strlen(fields[i].key);

			if (!strncmp(line, fields[i].key, n) && sscanf(line + n, "%llu", &kib) == 1)
				*(uint64_t *)((char *)m + fields[i].at) = kib << 10;
		}
	fclose(file);
	/* One that ends has no memory any more. */
	return m->resident && (p->target.pidfd < 0 || target__has_pid(&p->target)) ? 0 : -ESRCH;
}

int engine__read_resident(const struct process *p, uint64_t *bytes)
{
	*bytes = proc__resident(p->pid);
	return *bytes && (p->target.pidfd < 0 || target__has_pid(&p->target)) ? 0 : -ESRCH;
}

/* The last that was seen stays. */
void figures_parts__look_at_memory(const struct process *p, struct figures_process *f)
{
	struct process_memory m;

	if (!engine__read_memory(p, &m))
		f->memory = m;
}

int engine__read_heap(const struct process *p, struct heap_size *h)
{
	memset(h, 0, sizeof(*h));
	return p->freed || !process__is_readable(p) ? -ESRCH : heap_size__read(h, &p->vm->memory, &p->vm->layout);
}

/* Which VM the process has, or had until its end; 0: none. */
static uint32_t vm_of(const struct process *p)
{
	return p->vm ? p->vm->number : p->state == PROCESS_ENDED ? p->last_vm : 0;
}

/* The last that was seen stays, if it was not of a program that the process has left by exec. */
void figures_parts__look_at_heap(const struct process *p, struct figures_process *f)
{
	struct heap_size h;

	if (p->freed)
		return;
	if (f->heap_vm && f->heap_vm != vm_of(p)) {
		memset(&f->heap, 0, sizeof(f->heap));
		f->heap_vm = 0;
	}
	if (engine__read_heap(p, &h))
		return;
	f->heap = h;
	f->heap_vm = p->vm->number;
}

void engine__figures_memory(struct engine *e, uint64_t now)
{
	if (!e->figures || e->figures->sums.frozen || now < e->figures->next_memory)
		return;
	for (uint32_t i = 0; i < e->set.count; i++) {
		const struct process *p = e->set.list[i];
		struct figures_process *f = p && !p->freed ? figures__find(&e->figures->sums, p->number) : NULL;

		if (!f)
			continue;
		figures_parts__look_at_memory(p, f);
		figures_parts__look_at_heap(p, f);
	}
	e->figures->next_memory = now + MEMORY_INTERVAL;
}
