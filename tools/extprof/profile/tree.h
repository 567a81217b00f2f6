/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregated stacks: a tree of frames, each with what the samples that end there stand for.
 *
 * Its memory is bounded, and no sample is lost for that.  A tree that has no room for
 * another stack first merges what is rare in it: see tree_merge.c.  A sample of which
 * innermost frames were merged stays under the frames that are kept, in a frame
 * [merged] of its own, and is counted in tree::merged.
 */
#ifndef EXTPROF_TREE_H
#define EXTPROF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "source/mode.h"

/* Bounds.  A tree of so many nodes takes 57 MB with its maps; extprof was seen to have
 * 75 to 140 MB in use with it, most of it for the reports at the end. */
#define TREE_NODES_MAX (768u << 10)
#define TREE_FRAMES_MAX (512u << 10)
#define TREE_TEXTS_MAX (64u << 10)

/* What a synthetic frame (one that no record describes) stands for. */
enum synthetic_kind {
	SYNTHETIC_NATIVE = 1,	/* a thread without Ruby code, VM start and end */
	SYNTHETIC_GC,
	SYNTHETIC_TRUNCATED,
	SYNTHETIC_UNKNOWN,
	SYNTHETIC_THREAD,
	SYNTHETIC_C,		/* a block in C */
	SYNTHETIC_PROCESS,
	SYNTHETIC_MERGED,	/* rare frames of any kind, merged */
	SYNTHETIC_STATE,	/* what the thread was at, or waited for: see mode::innermost */
	SYNTHETIC_ABOUT,	/* beyond the state: on which file it waited, ... */
	SYNTHETIC_LABEL,	/* a label of the program's own, see group_names.h */
	SYNTHETIC_MODE,		/* all stacks of a mode, if there are several */
};

/*
 * A frame is 64 bits: number of a symbol, or of a synthetic text with
 * FRAME_SYNTHETIC set; line; and whether the line is approximate.
 */
#define FRAME_SYNTHETIC (1ull << 63)
#define FRAME_APPROXIMATE (1ull << 31)

static inline uint64_t frame__make(uint32_t number, int32_t line, bool approximate)
{
	return (uint64_t)(number & 0x7fffffffu) << 32 | (approximate ? FRAME_APPROXIMATE : 0) |
	       (line > 0 ? (uint32_t)line : 0);
}

/* Its symbol has not been read: it may get its name later, but not its line. */
static inline uint64_t frame__make_lineless(uint32_t number)
{
	return frame__make(number, 0, true);
}

static inline bool frame__is_synthetic(uint64_t frame)
{
	return frame & FRAME_SYNTHETIC;
}

/* The number of the symbol or of the text. */
static inline uint32_t frame__number(uint64_t frame)
{
	return frame >> 32 & 0x7fffffffu;
}

static inline int32_t frame__line(uint64_t frame)
{
	return (int32_t)(frame & 0x7fffffffu);
}

struct tree_node {
	uint32_t parent;	/* number of a node before this one */
	uint32_t frame;		/* number in frames */
	uint32_t samples;	/* that end here; no more than UINT32_MAX are counted */
	struct weight self;	/* what they stand for */
};

struct tree_text {
	char *text;		/* clean; of a thread or process as in group_names.h */
	uint8_t kind;		/* enum synthetic_kind */
};

struct tree {
	struct tree_node *nodes;	/* nodes[0] is the root, of no frame */
	uint32_t node_count;
	uint32_t node_max;		/* TREE_NODES_MAX; smaller for tests */
	size_t node_room;
	uint64_t *frames;		/* keep their numbers, whatever is merged */
	uint32_t frame_count;
	uint32_t frame_max;		/* TREE_FRAMES_MAX; smaller for tests */
	size_t frame_room;
	uint32_t merged_frame;		/* number of [merged]; MAP64_NONE: nothing is merged yet */
	struct tree_text *texts;
	uint32_t text_count;
	size_t text_room;
	struct map64 node_map;		/* parent << 32 | frame number */
	struct map64 frame_map;
	struct map64 text_map;		/* by hash */
	uint64_t samples;
	uint64_t merged;		/* those that end in a frame [merged] */
	uint64_t merges;		/* how often room was made */
};

int tree__init(struct tree *p);
void tree__free(struct tree *p);

/* The frame of a (clean) text; 0 when out of memory or beyond TREE_TEXTS_MAX.  Native
 * threads share one frame beyond it, which says so. */
uint64_t tree__synthetic(struct tree *p, enum synthetic_kind kind, const char *text);

/* The same, of a text that has a frame already; else 0. */
uint64_t tree__find_synthetic(const struct tree *p, enum synthetic_kind kind, const char *text);

/* A frame whose text is told later, with tree__set_text; 0 as above. */
uint64_t tree__synthetic_later(struct tree *p, enum synthetic_kind kind);
/* 0 or -ENOMEM. */
int tree__set_text(struct tree *p, uint64_t frame, const char *text);

/*
 * Add a stack, outermost frame first.  0, or -ENOMEM: the kernel gave no memory, and
 * no sample was added.  Where the bounds are reached, the innermost frames are merged.
 */
int tree__add(struct tree *p, const uint64_t *frames, uint32_t count, const struct weight *weight);

void tree_node__add(struct tree_node *node, uint32_t samples, const struct weight *weight);

/*
 * Merge what is rare, until half of the nodes are free.  0, or -ENOMEM: nothing has
 * changed.  Nodes get other numbers; frames and texts keep theirs.
 */
int tree__merge_rare(struct tree *p);

/* The number of the frame [merged], or MAP64_NONE when out of memory. */
uint32_t tree__merged_frame(struct tree *p);

#endif /* EXTPROF_TREE_H */
