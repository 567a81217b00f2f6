/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The texts of the frames of a profile.  They are copies: a report needs neither the processes nor
 * the symbols that the frames come from.
 */
#ifndef EXTPROF_FRAMES_H
#define EXTPROF_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "profile/tree.h"
#include "ruby/symbols.h"

/* Ids are part of the outputs: append only.  Frames of native code and of the kernel will get kinds of
 * their own; LABEL_NATIVE is a thread or a part of the VM without Ruby code. */
enum label_kind {
	LABEL_RUBY = 0,
	LABEL_C = 1,		/* method in C */
	LABEL_BUILTIN = 2,	/* part of Ruby itself, in Ruby */
	LABEL_GC = 3,
	LABEL_NATIVE = 4,
	LABEL_THREAD = 5,
	LABEL_OTHER = 6,	/* truncated, unknown, expired */
	LABEL_PROCESS = 7,
	LABEL_CGROUP = 8,
	LABEL_STATE = 9,	/* below the code: what a thread waited for, the class of an object */
	LABEL_ABOUT = 10,	/* beyond that: the file that it waited on */
	LABEL_LABEL = 11,	/* a label of the program's own */
	LABEL_KINDS,
	LABEL_MODE = 255	/* keeps the modes of a tree apart; it is in no report */
};

/* What a frame is shown without. */
enum frame_missing {
	MISSING_NOTHING = 0,
	/* Its name, because: */
	MISSING_EXPIRED,	/* the code was gone before the name was read */
	MISSING_EXITED,		/* the process had ended before the name was read */
	MISSING_UNREADABLE,	/* the record could not be read */
	MISSING_LATE,		/* there was no time to read it */
	MISSING_CROWDED,	/* extprof has no room for more names */
	/* A part of its name. */
	MISSING_PART,
	/* Its line: the name was read later than the sample was taken. */
	MISSING_LINE,
	MISSING_KINDS
};

struct frame_row {
	/* Clean texts, which belong to the table.  Equal texts have equal addresses. */
	const char *name;
	const char *path;	/* "": none is known */
	const char *wider;	/* of a thread, its pattern; of a process, its cgroup; NULL: of no such frame */
	uint32_t number;	/* tid of a thread, pid of a process; 0: not known, or of no such frame */
	int32_t first_line, line;	/* from 1; 0 unknown */
	bool approximate;	/* the line */
	bool kept;		/* frames__keep() has filled the row: it does not change any more */
	uint8_t kind;		/* enum label_kind */
	uint8_t missing;	/* enum frame_missing */
};

/* Zero-initialise. */
struct frames {
	struct frame_row *rows;	/* by number of the frame in the tree */
	uint32_t count;
	size_t room;
	char **strings;
	uint32_t string_count;
	size_t string_room;
	struct map64 string_map;	/* by hash */
};

/*
 * Read all frames of the tree anew, those of kept rows excepted.  0 or -ENOMEM.  It can be
 * called again when the profile has grown; texts of before stay in memory until frames__free().
 */
int frames__take(struct frames *f, const struct tree *tree, const struct symbol_table *table);

/*
 * The same for the symbols of one VM, for the last time: afterwards `of` and its symbols are not
 * read any more.  `first` is a number of a frame; no frame before it has a symbol of that VM.
 */
int frames__keep(struct frames *f, const struct tree *tree, const struct symbol_table *table,
		 const struct symbols *of, uint32_t first);

/* The row of one frame, whether the tree has it or not; no row of the table changes.  0 or -ENOMEM. */
int frames__describe(struct frames *f, uint64_t frame, const struct tree *tree,
		     const struct symbol_table *table, struct frame_row *row);

void frames__free(struct frames *f);

#endif /* EXTPROF_FRAMES_H */
