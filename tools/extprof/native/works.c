/* SPDX-License-Identifier: BSD-2-Clause */
/* Works for other threads: which is next, and what one has found. */
#include <errno.h>
#include <stdlib.h>

#include "base/deadline.h"
#include "native/state.h"

#define MS 1000000ull
#define SECOND 1000000000ull
/* How often the mappings of one process are read, if a sample was in none that is known or has been replaced, and if there
 * was a sample. */
#define LOOK_INTERVAL (100 * MS)
#define SAMPLED_INTERVAL SECOND
/* All looks take so small a part of a CPU. */
#define LOOK_SHARE 200u

static bool is_look_due(const struct native *n, const struct native_process *p, uint64_t now)
{
	uint64_t interval = LOOK_SHARE * n->look_cost, least = p->look ? LOOK_INTERVAL : SAMPLED_INTERVAL;

	if (!p->vm || !p->pid || p->fixed || p->looking || !(p->look || p->sampled))
		return false;
	return !p->looked_at || now - p->looked_at >= (interval > least ? interval : least);
}

static struct native_work *look_at(const struct native *n, struct native_process *p)
{
	struct native_work *w = native_work__new(NATIVE_LOOK, p->vm);

	if (!w)
		return NULL;
	w->pid = p->pid;
	w->began = p->began;
	w->before = n->maps.seen(&n->maps, p->vm);
	p->looking = true;
	p->look = p->sampled = false;
	return w;
}

static struct native_work *read_rules(struct native_file *f, uint32_t number)
{
	struct native_work *w = native_work__new(NATIVE_RULES, number);

	if (!w)
		return NULL;
	w->pid = f->pid;
	w->began = f->began;
	w->where = f->where;
	f->where.path = NULL;
	w->fd = f->fd;
	w->size = f->size;
	w->owner = f->owner;
	f->fd = -1;
	f->rules = NATIVE_BEING_READ;
	return w;
}

/* One of the VM: if it is not there any more, another program runs. */
static void set_mapping(const struct native *n, const struct native_process *p, struct native_work *w)
{
	const struct native_mapped *m = p->vm_code ? native_process__find(p, p->vm_code, UINT64_MAX) : NULL;

	if (!m || m->file == NATIVE_NO_FILE)
		return;
	w->where.start = m->start;
	w->where.device = n->files[m->file].device;
	w->where.inode = n->files[m->file].inode;
}

/* NULL: none is to be read now. */
static struct native_work *read_map(struct native *n, bool all)
{
	uint32_t number = jit_maps__next(&n->jits, deadline__now(), all);
	struct native_work *w = number == JIT_NONE ? NULL : native_work__new(NATIVE_MAP, number);
	const struct jit_map *map = &n->jits.maps[number % JIT_MAPS_MAX];

	if (!w) {
		if (number != JIT_NONE)
			jit_maps__done(&n->jits, number, NULL, false);
		return NULL;
	}
	w->pid = map->pid;
	w->began = map->began;
	w->executed = map->executed;
	w->before_map = map->read;
	w->seen_map = map->seen;
	for (uint32_t i = 0; i < n->process_count; i++)
		if (n->processes[i].vm && n->processes[i].jit == number)
			set_mapping(n, &n->processes[i], w);
	return w;
}

static struct native_work *next_names(struct native *n)
{
	for (uint32_t i = 0; i < n->file_count; i++) {
		struct native_file *f = &n->files[i];
		struct native_work *w;

		if (f->names_state != NATIVE_WANTED || f->rules == NATIVE_WANTED || f->rules == NATIVE_BEING_READ)
			continue;
		if (f->fd < 0) {
			f->names_state = f->rules == NATIVE_LATE ? NATIVE_LATE : NATIVE_FAILED;
			continue;
		}
		w = native_work__new(NATIVE_NAMES, i);
		if (!w)
			return NULL;
		w->names_as_in_file = n->names_as_in_file;
		w->fd = f->fd;
		w->size = f->size;
		w->owner = f->owner;
		f->fd = -1;
		f->names_state = NATIVE_BEING_READ;
		return w;
	}
	return NULL;
}

struct native_work *native__next_names(struct native *n)
{
	struct native_work *w = next_names(n);

	return w ? w : read_map(n, true);
}

struct native_work *native__next_work(struct native *n)
{
	struct native_work *w;
	uint64_t now = deadline__now();

	for (uint32_t i = 0; i < n->process_count; i++)
		if (is_look_due(n, &n->processes[i], now))
			return look_at(n, &n->processes[i]);
	for (uint32_t i = 0; i < n->file_count; i++)
		if (n->files[i].rules == NATIVE_WANTED)
			return read_rules(&n->files[i], i);
	w = next_names(n);
	return w ? w : read_map(n, false);
}

static void take_look(struct native *n, struct native_process *p, struct native_work *w)
{
	struct native_mapped *list = calloc(w->seen_count, sizeof(*list));

	n->look_cost += w->until - w->from - p->took;
	p->took = w->until - w->from;
	for (uint32_t i = 0; list && i < w->seen_count; i++)
		list[i] = (struct native_mapped){
			.start = w->seen[i].start, .end = w->seen[i].end, .offset = w->seen[i].offset,
			.file = native__file(n, p, &w->seen[i]),
		};
	if (!list)
		return;
	p->dirty |= native_process__saw(p, list, w->seen_count, w->from, w->until);
	native_process__saw_ranges(p, w->ranges, w->range_count);
	w->ranges = NULL;
	p->seen = w->before;
	p->hash = w->hash;
	p->confirmed = true;
}

static void take(struct native *n, struct native_work *w, bool ran)
{
	struct native_process *p = w->kind == NATIVE_LOOK ? native__process(n, w->number) : NULL;
	struct native_file *f = w->kind == NATIVE_RULES || w->kind == NATIVE_NAMES ? &n->files[w->number] : NULL;

	if (!ran)
		w->err = -ECANCELED;
	if (p) {
		p->looking = false;
		p->looked_at = deadline__now();
		p->look |= w->err && !p->seen_at;
		if (!w->err && p->pid)
			take_look(n, p, w);
	}
	if (w->kind == NATIVE_RULES)
		native__take_rules(n, f, w);
	if (w->kind == NATIVE_NAMES)
		native__take_names(n, f, w);
	if (w->kind == NATIVE_MAP)
		jit_maps__done(&n->jits, w->number, w, ran);
	native_work__free(w);
}

void native__done(struct native *n, struct native_work *w)
{
	take(n, w, true);
}

void native__failed(struct native *n, struct native_work *w)
{
	take(n, w, false);
}

static void end(struct native *n, bool rules)
{
	for (uint32_t i = 0; i < n->file_count; i++) {
		enum native_state *state = rules ? &n->files[i].rules : &n->files[i].names_state;

		if (*state == NATIVE_WANTED)
			*state = NATIVE_LATE;
	}
}

void native__end_rules(struct native *n)
{
	end(n, true);
}

void native__end_names(struct native *n)
{
	end(n, false);
	native__end_maps(n);
}

void native__end_maps(struct native *n)
{
	jit_maps__give_up(&n->jits);
}

void native__try_late(struct native *n)
{
	for (uint32_t i = 0; i < n->file_count; i++) {
		struct native_file *f = &n->files[i];

		/* One of a process that does not run is opened by the caller alone. */
		if (f->rules == NATIVE_LATE && (f->fd >= 0 || (f->where.path && f->pid > 0)))
			f->rules = NATIVE_WANTED;
		if (f->names_state == NATIVE_LATE)
			f->names_state = NATIVE_WANTED;
	}
}
