/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of native frames, and the functions that the compiler has put into them, by the debug information of their files.
 * Which frames stand for a frame is told afterwards; the frames themselves are as they were.
 */
#ifndef EXTPROF_NATIVE_LINES_H
#define EXTPROF_NATIVE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/text.h"
#include "frames/frame_table.h"

/* ns for the files of a profile. */
#define NATIVE_LINES_TIME 60000000000ull
/* Frames that can stand for one. */
#define NATIVE_LINES_DEPTH 16u
/* Different files. */
#define NATIVE_LINES_FILES_MAX 1024u

struct debug_module;
struct tree;

/* Zero-initialise, and set the wishes. */
struct native_lines {
	bool lines, inlined;	/* what is wanted */
	/* The number of a new frame; FRAME_MERGED or FRAME_NO_ROOM: there is no room for it. */
	uint32_t (*add)(void *context, const struct frame *f);
	/* Tell more of the module of a frame than its path and build id; NULL: nothing more is known. */
	void (*locate)(void *context, uint32_t frame, struct debug_module *m);
	void *context;
	/* Results. */
	bool crowded;		/* a tree had no room for the frames */
	struct map64 of;	/* number of a frame -> index in `list` */
	uint32_t *list;		/* how many, and their numbers, the outermost one first */
	uint32_t count;
	size_t room;
	uint64_t addresses, found;	/* that were looked for, and of which a function or line is known */
	uint32_t files, failed;	/* looked for, and without all that was wanted */
	struct text why;	/* of the first files that failed, clean: "libc.so.6: no debug information" */
	uint64_t took;		/* ns */
};

/* Look for those of `count` frames that are native and have an address; a frame is looked for once.  0 or -ENOMEM. */
int native_lines__find(struct native_lines *l, const struct frame_table *t, const uint32_t *frames, uint32_t count);
void native_lines__free(struct native_lines *l);

static inline bool native_lines__wanted(const struct native_lines *l)
{
	return l->lines || l->inlined;
}

/* The frames that stand for a frame, the outermost one first; NULL: it stands for itself. */
static inline const uint32_t *native_lines__of(const struct native_lines *l, uint32_t frame, uint32_t *count)
{
	uint32_t index = l->list ? map64__get(&l->of, frame) : MAP64_NONE;

	*count = index == MAP64_NONE ? 0 : l->list[index];
	return *count ? &l->list[index + 1] : NULL;
}

/* Make a tree of the frames that stand for those of another tree.  0, -ENOSPC: it would be too large, or -ENOMEM; the caller frees in
 * each case. */
int native_lines__tree(const struct native_lines *l, const struct tree *from, struct tree *to);

/* Append "found for 12 of 20 addresses (libc.so.6: no debug information, 8)"; nothing if none was looked for. */
void native_lines__add_sum(const struct native_lines *l, struct text *out);

#endif /* EXTPROF_NATIVE_LINES_H */
