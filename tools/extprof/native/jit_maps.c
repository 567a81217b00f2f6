/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/jit_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "native/jit_names.h"

#define MS 1000000ull
#define SECOND 1000000000ull
/* How often a map is read, if an address has no name yet, and if all have one: code can be replaced. */
#define WANTED_INTERVAL (100 * MS)
#define SAMPLED_INTERVAL SECOND
/* All maps of all processes take so small a part of a CPU. */
#define SHARE 100u

static size_t size_of(const struct native_names *names)
{
	return names->text_room + names->room * sizeof(*names->symbols);
}

static void forget_names(struct jit_maps *m, struct jit_map *map)
{
	m->lines_size -= size_of(&map->names);
	native_names__free(&map->names);
}

static void free_map(struct jit_maps *m, struct jit_map *map)
{
	forget_names(m, map);
	map64__free(&map->numbers);
	memset(map, 0, sizeof(*map));
}

void jit_maps__free(struct jit_maps *m)
{
	for (uint32_t i = 0; i < JIT_MAPS_MAX; i++)
		free_map(m, &m->maps[i]);
	for (uint32_t i = 0; i < m->count; i++)
		free(m->list[i].name);
	free(m->list);
	memset(m, 0, sizeof(*m));
}

uint32_t jit_maps__add(struct jit_maps *m, pid_t pid, uint64_t began, uint64_t executed)
{
	for (uint32_t i = 0; i < JIT_MAPS_MAX; i++) {
		if (m->maps[i].used)
			continue;
		m->maps[i] = (struct jit_map){ .used = true, .pid = pid, .began = began, .executed = executed };
		return i;
	}
	return JIT_NONE;
}

uint32_t jit_maps__spare(const struct jit_maps *m, uint64_t now)
{
	for (uint32_t i = 0; i < JIT_MAPS_MAX; i++) {
		const struct jit_map *map = &m->maps[i];

		if (map->used && map->missing && !map->right_at && map->state != JIT_MAP_BEING_READ && now - map->tried_at >= SECOND)
			return i;
	}
	return JIT_NONE;
}

void jit_maps__end(struct jit_maps *m, uint32_t map)
{
	struct jit_map *of = &m->maps[map];

	of->ended = true;
	if (of->state != JIT_MAP_BEING_READ)
		of->state = JIT_MAP_READ;
}

/* Its map is over: its name is the last one.  One without a name is the same as none, and makes room. */
static void leave_address(struct jit_maps *m, uint32_t i)
{
	struct jit_address *a = &m->list[i];

	a->map = JIT_NONE;
	if (a->name)
		return;
	a->generation++;
	a->next_free = m->first_free;
	m->first_free = i + 1;
}

void jit_maps__remove(struct jit_maps *m, uint32_t map)
{
	struct jit_map *of = &m->maps[map];

	jit_maps__end(m, map);
	for (uint32_t i = 0; of->count && i < m->count; i++)
		if (m->list[i].map == map)
			leave_address(m, i);
	of->count = 0;
	of->over = true;
	if (of->state != JIT_MAP_BEING_READ)
		free_map(m, of);
}

static void drop_name(struct jit_map *map, struct jit_address *a)
{
	a->closed = a->lost = true;
	if (!a->name)
		return;
	map->name_bytes -= strlen(a->name) + 1;
	free(a->name);
	a->name = NULL;
}

void jit_maps__lose(struct jit_maps *m, uint32_t map)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct jit_address *a = &m->list[i];

		if (a->map == map)
			drop_name(&m->maps[map], a);
	}
}

/* -- addresses -------------------------------------------------------------------------------------- */

/* Without memory, or room, it has none. */
static void take_name(struct jit_map *map, struct jit_address *a, const char *name)
{
	struct text clean = { 0 };

	text__add_clean(&clean, name, strlen(name), TEXT_NAME_MAX);
	if (clean.failed || !clean.data || clean.length + 1 > JIT_NAMES_MAX - map->name_bytes) {
		text__free(&clean);
		return;
	}
	map->name_bytes += clean.length + 1;
	a->name = clean.data;
}

static bool has_name(const struct jit_address *a, const char *name)
{
	struct text clean = { 0 };
	bool same;

	if (!name)
		return false;
	text__add_clean(&clean, name, strlen(name), TEXT_NAME_MAX);
	same = !clean.failed && clean.data && !strcmp(clean.data, a->name);
	text__free(&clean);
	return same;
}

/* One that is being read may have grown since it was opened. */
static void want(struct jit_map *map)
{
	if (map->state == JIT_MAP_BEING_READ)
		map->again = true;
	else
		map->state = JIT_MAP_WANTED;
}

/* Room in the list; JIT_NONE: there is none. */
static uint32_t new_address(struct jit_maps *m)
{
	uint32_t i = m->first_free ? m->first_free - 1 : m->count;

	if (m->first_free) {
		m->first_free = m->list[i].next_free;
		return i;
	}
	if (array__reserve(&m->list, m->count, 1, &m->room, JIT_ALL_ADDRESSES_MAX, sizeof(*m->list)))
		return JIT_NONE;
	m->list[i].generation = 0;
	m->count++;
	return i;
}

static void give_back(struct jit_maps *m, uint32_t i)
{
	m->list[i] = (struct jit_address){ .map = JIT_NONE, .generation = m->list[i].generation, .next_free = m->first_free };
	m->first_free = i + 1;
}

/* NULL: there is none any more. */
static const struct jit_address *address_of(const struct jit_maps *m, uint64_t number)
{
	const struct jit_address *a = (uint32_t)number < m->count ? &m->list[(uint32_t)number] : NULL;

	return a && a->generation == number >> 32 ? a : NULL;
}

uint64_t jit_maps__number(struct jit_maps *m, uint32_t map, uint64_t address, uint64_t time)
{
	struct jit_map *of = &m->maps[map];
	uint64_t key = hash__mix(address);
	struct jit_address *a = NULL;
	const char *name;
	uint32_t number;

	while ((number = map64__get(&of->numbers, key)) != MAP64_NONE) {
		a = &m->list[number];
		if (a->address == address && !a->closed)
			break;
		key++;
	}
	/* It was taken before a reading that has found other names, and arrives late. */
	if (time < (number == MAP64_NONE ? of->changed_at : a->since))
		return JIT_NONE;
	if (number == MAP64_NONE) {
		number = of->count == JIT_ADDRESSES_MAX ? JIT_NONE : new_address(m);
		if (number == JIT_NONE)
			return JIT_NONE;
		if (map64__add(&of->numbers, key, number)) {
			give_back(m, number);
			return JIT_NONE;
		}
		of->count++;
		a = &m->list[number];
		*a = (struct jit_address){
			.address = address, .map = map, .first_at = time, .since = of->changed_at, .generation = a->generation,
		};
		name = jit_names__find(&of->names, address);
		if (name)
			take_name(of, a, name);
	}
	a = &m->list[number];
	if (time > a->sampled_at)
		a->sampled_at = time;
	if (time < a->first_at)
		a->first_at = time;
	of->sampled = true;
	if (!a->name && !a->lost && !of->ended)
		want(of);
	return number | (uint64_t)a->generation << 32;
}

int jit_maps__add_name(const struct jit_maps *m, uint64_t number, struct text *out)
{
	const struct jit_address *a = address_of(m, number);
	const struct jit_map *of = a && a->map != JIT_NONE ? &m->maps[a->map] : NULL;

	if (!a)
		return -ENOENT;
	if (a->name) {
		text__adds(out, a->name);
		return 0;
	}
	return of && !a->lost && (of->state == JIT_MAP_WANTED || of->state == JIT_MAP_BEING_READ) ? -EAGAIN : -ENOENT;
}

uint64_t jit_maps__address(const struct jit_maps *m, uint64_t number)
{
	const struct jit_address *a = address_of(m, number);

	return a && a->name ? a->address : 0;
}

/* -- readings ---------------------------------------------------------------------------------------- */

static bool is_due(const struct jit_map *map, uint64_t now)
{
	uint64_t interval = map->state == JIT_MAP_WANTED ? WANTED_INTERVAL : SAMPLED_INTERVAL;

	if (!map->used || map->ended || map->state == JIT_MAP_BEING_READ || (map->state != JIT_MAP_WANTED && !map->sampled))
		return false;
	return !map->tried_at || now - map->tried_at >= interval;
}

/* At the end each one is wanted, but what is being written anew needs time. */
static bool is_due_at_the_end(const struct jit_map *map, uint64_t now)
{
	return map->used && map->state == JIT_MAP_WANTED && !(map->unfinished && now - map->tried_at < WANTED_INTERVAL);
}

uint32_t jit_maps__next(struct jit_maps *m, uint64_t now, bool all)
{
	uint32_t next = JIT_NONE;

	/* How long one takes is known when it has been read: before that the next one would not be within the share. */
	for (uint32_t i = 0; i < JIT_MAPS_MAX && !all; i++)
		if (m->maps[i].state == JIT_MAP_BEING_READ)
			return JIT_NONE;
	/* The one that was read the longest time ago. */
	for (uint32_t i = 0; i < JIT_MAPS_MAX; i++) {
		const struct jit_map *map = &m->maps[i];

		if (!(all ? is_due_at_the_end(map, now) : is_due(map, now) && now >= m->next_at))
			continue;
		if (next == JIT_NONE || map->tried_at < m->maps[next].tried_at)
			next = i;
	}
	if (next == JIT_NONE)
		return JIT_NONE;
	m->maps[next].state = JIT_MAP_BEING_READ;
	m->maps[next].sampled = m->maps[next].again = false;
	return next;
}

static bool has_replaced(const struct native_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (names->symbols[i].replaced)
			return true;
	return false;
}

/* Give an address the name that it has now.  Its samples may be older. */
static void update_name(struct jit_map *map, struct jit_address *a, uint64_t written)
{
	const struct native_symbol *s = jit_names__place(&map->names, a->address);
	const char *name = s ? map->names.text + s->name : NULL;
	/* Its name is that of all its samples. */
	bool settled = a->name && a->sampled_at <= map->right_at;

	/* Since the last reading there were two functions, and perhaps samples of the first one. */
	if (s && s->replaced && a->first_at >= written)
		a->since = written;
	if (s && s->replaced && a->first_at < written) {
		a->closed = true;
		if (!settled)
			drop_name(map, a);
	} else if (!a->name && name) {
		take_name(map, a, name);
	} else if (a->name && !has_name(a, name)) {
		a->closed = true;
		if (!settled)
			drop_name(map, a);
	}
}

/* The map has these names now, and had them from the time on at which its reading began.  `written`: as in native_work. */
static void take_names(struct jit_maps *m, uint32_t number, struct native_names *names, uint64_t from, uint64_t written)
{
	struct jit_map *map = &m->maps[number];

	if ((map->right_at && !jit_names__has_all(names, &map->names)) || has_replaced(names))
		map->changed_at = written;
	forget_names(m, map);
	m->lines_size += size_of(names);
	map->names = *names;
	memset(names, 0, sizeof(*names));
	for (uint32_t i = 0; map->count && i < m->count; i++) {
		struct jit_address *a = &m->list[i];

		if (a->map == number && !a->closed)
			update_name(map, a, written);
	}
	map->right_at = from;
}

/* Take all names away: those that were right until then may not be right any more. */
static void take_no_names(struct jit_maps *m, uint32_t number, const struct native_work *w)
{
	struct native_names none = { 0 };

	memset(&m->maps[number].read, 0, sizeof(m->maps[number].read));
	take_names(m, number, &none, w->from, w->until);
}

void jit_maps__done(struct jit_maps *m, uint32_t number, struct native_work *w, bool ran)
{
	struct jit_map *map = &m->maps[number];
	uint64_t now = deadline__now(), written;
	bool gone;

	map->tried_at = now;
	if (ran)
		m->next_at = (m->next_at > now ? m->next_at : now) + SHARE * (w->until - w->from);
	map->unfinished = ran && w->err == -EAGAIN;
	map->state = (ran && !map->again && !map->unfinished) || map->ended ? JIT_MAP_READ : JIT_MAP_WANTED;
	if (map->over) {
		free_map(m, map);
		return;
	}
	/* If the process has ended, the file can be that of a program that ran later. */
	if (!ran || map->ended)
		return;
	map->seen = w->map;
	/* After an error the names of the samples so far are not settled. */
	map->sampled |= w->err != 0;
	map->failed = w->unreadable || w->err == -EAGAIN || w->err == -ENOMEM || w->err == -EINTR;
	map->missing = w->err == -ENOENT;
	gone = map->gone && w->unreadable;
	map->gone = w->unreadable;
	written = w->written < w->until ? w->written : w->until;
	if (!w->err && w->unchanged)
		map->right_at = w->from;
	if (!w->err && !w->unchanged && size_of(&w->names) <= JIT_ALL_LINES_MAX - (m->lines_size - size_of(&map->names))) {
		map->read = w->map;
		take_names(m, number, &w->names, w->from, written);
	} else if (w->err == -E2BIG || (!w->err && !w->unchanged)) {
		take_no_names(m, number, w);
	} else if (gone && map->right_at) {
		/* It was not there twice: it is not only being written anew. */
		take_no_names(m, number, w);
	}
}

void jit_maps__want(struct jit_maps *m)
{
	for (uint32_t i = 0; i < JIT_MAPS_MAX; i++) {
		struct jit_map *map = &m->maps[i];

		if (map->used && !map->ended && map->sampled)
			want(map);
	}
}

bool jit_maps__are_wanted(const struct jit_maps *m)
{
	for (uint32_t i = 0; i < JIT_MAPS_MAX; i++)
		if (m->maps[i].state == JIT_MAP_WANTED || m->maps[i].state == JIT_MAP_BEING_READ)
			return true;
	return false;
}

/* Drop the names of samples since the last reading that was right. */
static void drop_unsettled(struct jit_maps *m, uint32_t number)
{
	struct jit_map *map = &m->maps[number];

	for (uint32_t i = 0; map->count && i < m->count; i++) {
		struct jit_address *a = &m->list[i];

		if (a->map == number && a->name && !a->closed && a->sampled_at > map->right_at)
			drop_name(map, a);
	}
}

void jit_maps__give_up(struct jit_maps *m)
{
	for (uint32_t i = 0; i < JIT_MAPS_MAX; i++) {
		struct jit_map *map = &m->maps[i];

		if (!map->used || map->ended)
			continue;
		if (map->failed || map->state == JIT_MAP_WANTED || map->state == JIT_MAP_BEING_READ)
			drop_unsettled(m, i);
		map->again = false;
		if (map->state == JIT_MAP_WANTED)
			map->state = JIT_MAP_READ;
	}
}

void jit_maps__restart(struct jit_maps *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		free(m->list[i].name);
	m->count = m->first_free = 0;
	for (uint32_t i = 0; i < JIT_MAPS_MAX; i++) {
		map64__clear(&m->maps[i].numbers);
		m->maps[i].count = 0;
		m->maps[i].name_bytes = 0;
	}
}
