/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/native_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"

void native_process__free(struct native_process *p)
{
	free(p->list);
	free(p->past);
	free(p->ranges.list);
	free(p->ranges_before.list);
	memset(p, 0, sizeof(*p));
}

static bool is_same(const struct native_mapped *a, const struct native_mapped *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset && a->file == b->file;
}

/* Without memory, or room, the oldest one is forgotten. */
static void keep_past(struct native_process *p, const struct native_mapped *m)
{
	if (array__reserve(&p->past, p->past_count, 1, &p->past_room, NATIVE_PAST_MAX, sizeof(*p->past))) {
		if (!p->past_count)
			return;
		memmove(p->past, p->past + 1, --p->past_count * sizeof(*p->past));
	}
	p->past[p->past_count++] = *m;
}

bool native_process__saw(struct native_process *p, struct native_mapped *list, uint32_t count, uint64_t from, uint64_t until)
{
	uint32_t old = 0, found = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct native_mapped *m = &list[i];

		for (; old < p->count && p->list[old].start < m->start; old++)
			keep_past(p, &p->list[old]);
		m->from = p->seen_at ? until : 0;
		if (old < p->count && is_same(&p->list[old], m)) {
			m->from = p->list[old++].from;
			found++;
		}
	}
	for (; old < p->count; old++)
		keep_past(p, &p->list[old]);
	found = found == count && count == p->count;
	free(p->list);
	p->list = list;
	p->count = count;
	p->room = count;
	p->seen_at = from;
	return !found;
}

static bool has(const struct native_mapped *m, uint64_t address)
{
	return address >= m->start && address < m->end;
}

static const struct native_mapped *find_now(const struct native_process *p, uint64_t address)
{
	size_t until = SORTED__UNTIL(p->list, p->count, start, address);

	return until && has(&p->list[until - 1], address) ? &p->list[until - 1] : NULL;
}

const struct native_mapped *native_process__find(const struct native_process *p, uint64_t address, uint64_t time)
{
	const struct native_mapped *now = find_now(p, address), *last = NULL;

	if (now && now->from <= time)
		return now;
	for (uint32_t i = 0; i < p->past_count; i++)
		if (has(&p->past[i], address) && p->past[i].from <= time && (!last || p->past[i].from >= last->from))
			last = &p->past[i];
	return last;
}

void native_process__saw_ranges(struct native_process *p, struct native_range *list, uint32_t count)
{
	free(p->ranges_before.list);
	p->ranges_before = p->ranges;
	p->ranges = (struct native_ranges){ list, count };
}

static bool has_range(const struct native_ranges *r, uint64_t address)
{
	size_t until = SORTED__UNTIL(r->list, r->count, start, address);

	return until && address < r->list[until - 1].end;
}

bool native_process__has_range(const struct native_process *p, uint64_t address)
{
	return has_range(&p->ranges, address) || has_range(&p->ranges_before, address);
}

int native_process__copy(struct native_process *p, const struct native_process *from)
{
	if (array__reserve(&p->list, 0, from->count, &p->room, UNWIND_MAPPINGS_MAX, sizeof(*p->list)))
		return -ENOMEM;
	if (from->count)
		memcpy(p->list, from->list, from->count * sizeof(*p->list));
	p->count = from->count;
	/* Without memory its code in no file has no names. */
	p->ranges.list = from->ranges.count ? calloc(from->ranges.count, sizeof(*p->ranges.list)) : NULL;
	if (p->ranges.list) {
		memcpy(p->ranges.list, from->ranges.list, from->ranges.count * sizeof(*p->ranges.list));
		p->ranges.count = from->ranges.count;
	}
	p->vm_code = from->vm_code;
	p->seen_at = from->seen_at;
	p->took = from->took;
	p->hash = from->hash;
	return 0;
}
