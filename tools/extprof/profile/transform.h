/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another view of the same samples: only stacks through something, without some frames, or with several frames as one.
 * A tree is made of a tree, before anything is counted or shown: so each output and each table has the same.
 */
#ifndef EXTPROF_TRANSFORM_H
#define EXTPROF_TRANSFORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strings.h"
#include "frames/frame_table.h"
#include "frames/owner.h"
#include "profile/tree.h"

#define TRANSFORM_RULES_MAX 32u

enum transform_action {
	TRANSFORM_FOCUS,	/* only stacks with such a frame, and of these what is from there on */
	TRANSFORM_HIDE,		/* such frames are not there, and what is in them is in their callers */
	TRANSFORM_CALLERS	/* only stacks with such a frame, and of these what is up to the outermost of them */
};

enum transform_what {
	TRANSFORM_APP,		/* the application's code */
	TRANSFORM_GEM,		/* code of a gem of that name */
	TRANSFORM_METHOD,
	TRANSFORM_FILE
};

/* Is the pattern the end of the path, or a directory above it: "post.rb", "app/models"? */
bool transform__is_file(const char *pattern, const char *path);
/* Does the frame have that name?  pattern: as for fnmatch(3), or the name itself, which can have brackets: "Hash#[]". */
bool transform__is_method(const char *pattern, const struct frame *f);

/* Zero-initialise. */
struct transform {
	struct transform_rule {
		uint8_t action, what;
		char *pattern;		/* as for fnmatch(3) */
	} rules[TRANSFORM_RULES_MAX];
	uint32_t count;
	bool gems;			/* code of one gem, with the C methods that it calls, is one frame */
	bool versions_are_one;		/* with gems: of whatever version, and wherever it is, it is one frame, as a comparison needs it */
	bool recursion;			/* a method that calls itself is one frame */
	bool inverts;			/* below the groups the innermost frame is first; totals are as before */
	uint32_t methods;		/* only so many methods, those with most self; of the others one frame; 0: all */
};

/*
 * Add a list with commas: "app", "gem:NAME", "method:PATTERN", "file:PATTERN"; of others what has a "/" or ends in ".rb" is
 * a file, and the rest is a method.  A file is told by the end of its path, or by a directory above it.  0; -EINVAL, with
 * the word in *wrong, which is a part of `list`; -E2BIG; -ENOMEM.
 */
int transform__add(struct transform *t, enum transform_action action, const char *list, const char **wrong);
/* The same of one method, which may have a comma in its name.  0, -EINVAL, -E2BIG or -ENOMEM. */
int transform__add_method(struct transform *t, enum transform_action action, const char *pattern);
/* "gems", "recursion", or both with a comma.  0 or -EINVAL. */
int transform__collapse(struct transform *t, const char *list);
bool transform__changes(const struct transform *t);
void transform__free(struct transform *t);

/* A tree with its frames; the texts of those that it had before are where they were. */
struct transformed {
	struct tree tree;
	struct frame_table frames;	/* frame_table__get() and the list alone */
	struct strings strings;		/* of its new frames */
	uint32_t *places;		/* by node of the tree that it was made of: where its samples are or would be; MAP64_NONE: nowhere */
	uint32_t hidden, others, merged;	/* numbers of frames for stacks without any, of other methods, and of rare ones */
};

/* 0 or -ENOMEM; the caller frees in both cases. */
int transform__apply(const struct transform *t, const struct tree *tree, const struct frame_table *frames,
		     const struct owner_rules *rules, struct transformed *to);

/*
 * In place of `to->tree`: only the `methods` whose samples amount to most.  `amounts`: by node, what its samples stand for;
 * of a node without samples 0.  0 or -ENOMEM: it has not changed.
 */
int transform__keep_methods(struct transformed *to, const uint64_t *amounts, uint32_t methods);
/* Another tree, in which the innermost frame of each stack is the outermost one below its groups.  `left_out`: nodes of
 * which it has nothing; NULL: none.  0 or -ENOMEM; the caller frees in both cases. */
int transform__invert(const struct transformed *from, const bool *left_out, struct tree *to);
void transformed__free(struct transformed *to);

#endif /* EXTPROF_TRANSFORM_H */
