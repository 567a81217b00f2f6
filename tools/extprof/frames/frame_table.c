/* SPDX-License-Identifier: BSD-2-Clause */
#include "frames/frame_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Frames with one hash that are compared. */
#define STEPS_MAX 64

/* The texts that a frame has. */
static const char **texts_of(struct frame *f, int i)
{
	const char **list[] = { &f->name, &f->path, &f->module, &f->key, &f->wider };

	return i < (int)(sizeof(list) / sizeof(list[0])) ? list[i] : NULL;
}

static int copy_texts(struct frame_table *t, struct frame *f)
{
	static const char none[] = "";
	const char **text;

	for (int i = 0; (text = texts_of(f, i)); i++) {
		*text = **text ? strings__intern(&t->strings, *text) : none;
		if (!*text)
			return -ENOMEM;
	}
	return 0;
}

/*
 * The number of that frame, or FRAME_MERGED and the hash under which to add it.  *hash 0: others have the places that are
 * looked at.  Whoever names processes, labels and files can make hashes that are equal.
 */
static uint32_t find(const struct frame_table *t, const struct frame *f, uint64_t *hash)
{
	uint32_t number;

	*hash = frame__hash(f);
	/* Two frames with one hash: go on to the next. */
	for (int i = 0; i < STEPS_MAX; i++) {
		number = map64__get(&t->map, *hash);
		if (number == MAP64_NONE)
			return FRAME_MERGED;
		if (!t->codes[number] && frame__is_same(&t->list[number], f))
			return number;
		++*hash;
	}
	*hash = 0;
	return FRAME_MERGED;
}

/* The number of a new frame; FRAME_MERGED: out of memory. */
static uint32_t append(struct frame_table *t, const struct frame *f, uint64_t code)
{
	struct frame copy = *f;

	if (array__reserve(&t->list, t->count, 1, &t->room, FRAME_NO_ROOM, sizeof(*t->list)) ||
	    array__reserve(&t->codes, t->count, 1, &t->code_room, FRAME_NO_ROOM, sizeof(*t->codes)) ||
	    copy_texts(t, &copy))
		return FRAME_MERGED;
	t->list[t->count] = copy;
	t->codes[t->count] = code;
	return t->count++;
}

int frame_table__init(struct frame_table *t)
{
	struct frame merged = FRAME_INIT(FRAME_MARK);

	memset(t, 0, sizeof(*t));
	t->max = FRAMES_MAX;
	t->shares.max = FRAMES_MAX;
	merged.name = "merged";
	merged.bracketed = true;
	append(t, &merged, 0);
	if (t->count)
		return 0;
	frame_table__free(t);
	return -ENOMEM;
}

void frame_table__free(struct frame_table *t)
{
	if (!t)
		return;
	free(t->list);
	free(t->codes);
	map64__free(&t->map);
	strings__free(&t->strings);
	memset(t, 0, sizeof(*t));
}

uint32_t frame_table__code(struct frame_table *t, uint64_t code)
{
	return frame_table__code_of(t, code, NULL);
}

uint32_t frame_table__code_of(struct frame_table *t, uint64_t code, struct budget_share *share)
{
	struct frame empty = FRAME_INIT(FRAME_MARK);
	uint64_t hash = hash__mix(code);
	uint32_t number;
	int steps = 0;

	while (steps < STEPS_MAX && (number = map64__get(&t->map, hash)) != MAP64_NONE) {
		if (t->codes[number] == code)
			return number;
		hash++;
		steps++;
	}
	if (steps == STEPS_MAX || t->count >= t->max || !budget__has(share, 1))
		return FRAME_NO_ROOM;
	number = append(t, &empty, code);
	/* A frame that is not in the map is not found again. */
	if (!number || map64__add(&t->map, hash, number))
		return FRAME_MERGED;
	budget__add(share, 1);
	return number;
}

/* Frames that are no code have room besides that of code: what says that there is no room must have some. */
static uint32_t add(struct frame_table *t, const struct frame *f, uint32_t max)
{
	uint32_t number = t->no_code < max ? append(t, f, 0) : FRAME_MERGED;

	t->no_code += number != FRAME_MERGED;
	return number;
}

uint32_t frame_table__find(const struct frame_table *t, const struct frame *f)
{
	uint64_t hash;

	return find(t, f, &hash);
}

uint32_t frame_table__add(struct frame_table *t, const struct frame *f)
{
	struct frame crowded = FRAME_INIT(FRAME_NO_RUBY);
	uint32_t max = FRAMES_NO_CODE_MAX, number;
	uint64_t hash;

	number = find(t, f, &hash);
	if (number || !hash)
		return number;
	if (f->kind == FRAME_NO_RUBY && t->no_code >= max) {
		crowded.name = "one of too many native threads";
		crowded.bracketed = true;
		f = &crowded;
		max++;
		number = find(t, f, &hash);
		if (number || !hash)
			return number;
	}
	number = add(t, f, max);
	return number && map64__add(&t->map, hash, number) ? FRAME_MERGED : number;
}

uint32_t frame_table__later(struct frame_table *t, enum frame_kind kind)
{
	struct frame empty = FRAME_INIT((uint8_t)kind);

	return add(t, &empty, FRAMES_NO_CODE_MAX);
}

int frame_table__set(struct frame_table *t, uint32_t number, const struct frame *f)
{
	struct frame copy = *f;
	int err = copy_texts(t, &copy);

	if (!err)
		t->list[number] = copy;
	return err;
}

const struct frame *frame_table__get(const struct frame_table *t, uint32_t number)
{
	static const struct frame no_room = {
		.name = "one of too many frames", .path = "", .module = "", .key = "", .wider = "", .kind = FRAME_MARK,
		.missing = MISSING_CROWDED, .bracketed = true,
	};

	return number < t->count ? &t->list[number] : &no_room;
}
