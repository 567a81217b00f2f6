/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a profile by number.  A stack is a list of these numbers; nothing here knows stacks.
 *
 * A frame of code is known by a word, `code`: in which list its symbol is, the number there, and the line.  Its name
 * can be read later than the sample was taken, and again when it has changed: see frame_table__set().  Other frames are
 * known by their parts.
 */
#ifndef EXTPROF_FRAME_TABLE_H
#define EXTPROF_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/map64.h"
#include "base/strings.h"
#include "frames/frame.h"

/* Bounds: of all frames, and of those that are no code. */
#define FRAMES_MAX (512u << 10)
#define FRAMES_NO_CODE_MAX (64u << 10)

/* The mark [merged] is in each table.  No sample has it, so it is also what is returned for "none". */
#define FRAME_MERGED 0u
/* The table has no room for that frame of code; it is in no list. */
#define FRAME_NO_ROOM UINT32_MAX

/* Which list the symbol of a code is in: four bits of the word. */
enum code_space {
	CODE_NONE = 0,		/* the frame is no code */
	CODE_RUBY,		/* struct symbol_table */
	CODE_NATIVE,
	CODE_KERNEL,
	CODE_SPACES
};

#define CODE_NUMBER_MAX 0x0fffffffu
#define CODE_APPROXIMATE (1ull << 31)

static inline uint64_t code__make(enum code_space space, uint32_t number, int32_t line, bool approximate)
{
	return (uint64_t)space << 60 | (uint64_t)(number & CODE_NUMBER_MAX) << 32 | (approximate ? CODE_APPROXIMATE : 0) |
	       (line > 0 ? (uint32_t)line : 0);
}

/* Its symbol has not been read: it may get its name later, but not its line. */
static inline uint64_t code__make_lineless(enum code_space space, uint32_t number)
{
	return code__make(space, number, 0, true);
}

static inline enum code_space code__space(uint64_t code)
{
	return (enum code_space)(code >> 60);
}

static inline uint32_t code__number(uint64_t code)
{
	return code >> 32 & CODE_NUMBER_MAX;
}

static inline int32_t code__line(uint64_t code)
{
	return (int32_t)(code & 0x7fffffffu);
}

struct frame_table {
	struct frame *list;	/* by number; their texts are in `strings` */
	uint64_t *codes;	/* by number; 0: it is no code */
	uint32_t count;
	size_t room, code_room;
	uint32_t max;		/* FRAMES_MAX; smaller for tests */
	uint32_t no_code;	/* how many are no code */
	struct budget shares;	/* frames of code, of which each process has a share */
	struct map64 map;	/* by hash of the code, or of the parts */
	struct strings strings;
};

/* 0 or -ENOMEM. */
int frame_table__init(struct frame_table *t);
void frame_table__free(struct frame_table *t);

/* The number of a code, new if need be.  FRAME_NO_ROOM; FRAME_MERGED: out of memory. */
uint32_t frame_table__code(struct frame_table *t, uint64_t code);
/* The same.  A new one is counted in the share, and beyond it there is no room; NULL: a share without bounds. */
uint32_t frame_table__code_of(struct frame_table *t, uint64_t code, struct budget_share *share);

/*
 * The number of a frame that is no code, new if need be.  Texts are copied.  FRAME_MERGED: out of memory, or beyond
 * FRAMES_NO_CODE_MAX.  Threads without Ruby code share one frame beyond it, which says so.
 */
uint32_t frame_table__add(struct frame_table *t, const struct frame *f);
/* The same, of a frame that is there already; else FRAME_MERGED. */
uint32_t frame_table__find(const struct frame_table *t, const struct frame *f);
/* A frame of which the parts are told later, with frame_table__set(); it is no other one even if it has the same parts.
 * FRAME_MERGED as above. */
uint32_t frame_table__later(struct frame_table *t, enum frame_kind kind);

/* Give a frame of code, or one of frame_table__later(), its parts.  Texts are copied.  0 or -ENOMEM. */
int frame_table__set(struct frame_table *t, uint32_t number, const struct frame *f);

/* The frame of a number, or of FRAME_NO_ROOM.  It moves when others are added; its texts do not. */
const struct frame *frame_table__get(const struct frame_table *t, uint32_t number);

#endif /* EXTPROF_FRAME_TABLE_H */
