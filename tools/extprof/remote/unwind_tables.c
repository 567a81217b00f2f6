/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/unwind_tables.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "native/native.h"

#define ROWS_BYTES (UNWIND_ROWS_MAX * sizeof(struct unwind_row))
#define MAPPINGS_BYTES (UNWIND_ALL_MAPPINGS_MAX * sizeof(struct unwind_mapping))

/* The published mappings of one VM. */
struct published {
	uint32_t vm;		/* 0: the place is free */
	uint32_t first, count;	/* of its mappings */
	uint64_t hash;		/* see unwind_view::hash */
};

struct unwind_tables {
	struct unwind_row *rows;
	struct unwind_mapping *mappings;
	pthread_mutex_t lock;	/* of all below */
	struct published *list;
	uint32_t count;
	size_t room;
};

/* Pages that nobody writes to take no memory.  NULL: there is none. */
static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

struct unwind_tables *unwind_tables__new(void)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	t->rows = reserve(ROWS_BYTES);
	t->mappings = reserve(MAPPINGS_BYTES);
	if (t->rows && t->mappings)
		return t;
	unwind_tables__free(t);
	return NULL;
}

void unwind_tables__free(struct unwind_tables *t)
{
	if (!t)
		return;
	if (t->rows)
		munmap(t->rows, ROWS_BYTES);
	if (t->mappings)
		munmap(t->mappings, MAPPINGS_BYTES);
	free(t->list);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* NULL: it is not known. */
static struct published *find(struct unwind_tables *t, uint32_t vm)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->list[i].vm == vm)
			return &t->list[i];
	return NULL;
}

/* NULL: there is no room. */
static struct published *make(struct unwind_tables *t, uint32_t vm)
{
	struct published *p = find(t, vm);

	if (!p)
		p = find(t, 0);
	if (!p && array__reserve(&t->list, t->count, 1, &t->room, NATIVE_PROCESSES_MAX, sizeof(*t->list)))
		return NULL;
	if (!p)
		p = &t->list[t->count++];
	if (p->vm != vm)
		*p = (struct published){ .vm = vm };
	return p;
}

static int set(const struct unwind_maps *maps, uint32_t vm, const struct unwind_process *process, uint64_t hash)
{
	struct unwind_tables *t = maps->context;
	struct published *p;

	pthread_mutex_lock(&t->lock);
	p = process ? make(t, vm) : find(t, vm);
	if (p) {
		p->first = process ? process->table & 0xffff : 0;
		p->count = process ? process->table >> 16 & 0xffff : 0;
		p->hash = hash;
	}
	pthread_mutex_unlock(&t->lock);
	return p || !process ? 0 : -ENOMEM;
}

/* Nothing tells of changes: see unwind_view::hash. */
static struct unwind_seen none_seen(const struct unwind_maps *maps, uint32_t vm)
{
	(void)maps;
	(void)vm;
	return (struct unwind_seen){ 0 };
}

static void forget(const struct unwind_maps *maps, uint32_t vm)
{
	struct unwind_tables *t = maps->context;
	struct published *p;

	pthread_mutex_lock(&t->lock);
	p = find(t, vm);
	if (p)
		*p = (struct published){ 0 };
	pthread_mutex_unlock(&t->lock);
}

void unwind_tables__maps(struct unwind_tables *t, struct unwind_maps *maps)
{
	*maps = (struct unwind_maps){
		.rows = t->rows, .mappings = t->mappings, .set = set, .seen = none_seen, .forget = forget, .context = t,
	};
}

bool unwind_tables__view(struct unwind_tables *t, uint32_t vm, struct unwind_view *view)
{
	const struct published *p;

	*view = (struct unwind_view){ .rows = t->rows, .row_count = UNWIND_ROWS_MAX, .mappings = t->mappings, .vm = vm };
	pthread_mutex_lock(&t->lock);
	p = find(t, vm);
	if (p) {
		view->mappings = t->mappings + p->first;
		view->mapping_count = p->count;
		view->hash = p->hash;
	}
	pthread_mutex_unlock(&t->lock);
	return view->mapping_count;
}
