/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/holders.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"

void holders__free(struct holders *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		free(h->gvls[i].list);
	free(h->gvls);
	map64__free(&h->map);
	memset(h, 0, sizeof(*h));
}

/* -- looks ------------------------------------------------------------------------------------- */

static struct gvl_seen *gvl_of(struct holders *h, uint32_t process, uint32_t ractor, bool make)
{
	uint64_t key = hash__mix((uint64_t)process << 32 | (ractor ? ractor : 1));
	uint32_t number = h->count ? map64__get(&h->map, key) : MAP64_NONE;

	if (number != MAP64_NONE)
		return &h->gvls[number];
	/* Most of so many processes have ended. */
	if (make && h->count == HOLDERS_GVLS_MAX)
		holders__free(h);
	if (!make || array__reserve(&h->gvls, h->count, 1, &h->room, HOLDERS_GVLS_MAX, sizeof(*h->gvls)) ||
	    map64__add(&h->map, key, h->count))
		return NULL;
	h->gvls[h->count] = (struct gvl_seen){ .process = process, .ractor = ractor ? ractor : 1 };
	return &h->gvls[h->count++];
}

static void drop(struct holders *h, struct gvl_seen *g, uint32_t count)
{
	memmove(g->list, g->list + count, (g->count - count) * sizeof(*g->list));
	g->count -= count;
	h->looks -= count;
}

/* Looks of ended processes go first.  If these are few, others lose the older half. */
static void make_room(struct holders *h, uint64_t now)
{
	for (uint32_t i = 0; i < h->count; i++) {
		struct gvl_seen *g = &h->gvls[i];

		if (!g->count || g->list[g->count - 1].time + HOLDERS_REST >= now)
			continue;
		h->looks -= g->count;
		free(g->list);
		g->list = NULL;
		g->count = 0;
		g->room = 0;
	}
	for (uint32_t i = 0; i < h->count && h->looks > HOLDERS_ALL_MAX / 2; i++)
		drop(h, &h->gvls[i], h->gvls[i].count / 2);
}

void holders__add(struct holders *h, const struct hold_event *e)
{
	struct gvl_seen *g = gvl_of(h, e->e.process, e->e.extra, true);
	struct hold_seen *last;

	if (!g)
		return;
	if (h->looks >= HOLDERS_ALL_MAX)
		make_room(h, e->e.time);
	if (g->count == HOLDERS_LOOKS_MAX)
		drop(h, g, (g->count + 1) / 2);
	if (h->looks >= HOLDERS_ALL_MAX ||
	    array__reserve(&g->list, g->count, 1, &g->room, HOLDERS_LOOKS_MAX, sizeof(*g->list)))
		return;
	last = g->count ? &g->list[g->count - 1] : NULL;
	if (last && e->e.detail == last->number && e->e.time == last->time)
		return;
	/* The process has executed another program, or the events are not what the kernel's program sends. */
	if (last && (e->e.time < last->time || e->e.detail <= last->number))
		drop(h, g, g->count);
	g->list[g->count++] = (struct hold_seen){
		.time = e->e.time, .number = e->e.detail, .look = e->e.state, .ip = e->e.ip, .peer = e->peer,
	};
	h->looks++;
}

/* -- what they tell of a time -------------------------------------------------------------------- */

static bool is_same_thread(const struct hold_seen *a, const struct hold_seen *b)
{
	return a->peer.thread == b->peer.thread && a->peer.vm == b->peer.vm;
}

/* Which look tells who had the GVL from look `i` on until the next one, and where?  NULL: looks are missing. */
static struct hold_seen *look_of(struct gvl_seen *g, uint32_t i, uint64_t waits)
{
	struct hold_seen *seen = &g->list[i], *next = i + 1 < g->count ? seen + 1 : NULL;

	if (!next)
		return seen;
	if (next->number != seen->number + 1)
		return NULL;
	/* It waits for the GVL and does not have it: the next one was given it, and has not run since. */
	if (waits && seen->peer.thread == waits && next->peer.thread != waits)
		return look_of(g, i + 1, 0);
	/* When it got the GVL it was where it had waited.  A later look at any moment of its work tells more. */
	if (seen->look == LOOK_TURN && is_same_thread(seen, next) &&
	    (next->look == LOOK_CLOCK || next->look == LOOK_OTHER))
		return next;
	return seen;
}

int holders__each(struct holders *h, uint32_t process, uint32_t ractor, uint64_t thread, uint64_t from, uint64_t to,
		  holders_part part, void *context)
{
	struct gvl_seen *g = gvl_of(h, process, ractor, false);
	uint32_t i = g ? (uint32_t)SORTED__UNTIL(g->list, g->count, time, from) : 0;
	uint64_t first = g && g->count ? g->list[0].time : to;
	int err = 0;

	if (from >= to)
		return 0;
	/* Before the first look. */
	if (!i && from < first) {
		uint64_t until = first < to ? first : to;

		err = part(context, NULL, until - from);
		from = until;
	}
	for (i = i ? i - 1 : 0; g && i < g->count && from < to && !err; i++) {
		uint64_t until = i + 1 < g->count && g->list[i + 1].time < to ? g->list[i + 1].time : to;

		if (until <= from)
			continue;
		err = part(context, look_of(g, i, thread), until - from);
		from = until;
	}
	return err;
}
