/* SPDX-License-Identifier: BSD-2-Clause */
/* Writers of finished reports, and the file that they write to. */
#ifndef EXTPROF_OUTPUT_H
#define EXTPROF_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/diag.h"
#include "profile/report.h"

/* Room for a report's settings that are not part of what was measured. */
struct output_options {
	bool html;		/* flame graph: HTML around the SVG */
	bool color;		/* summary: on a terminal */
	unsigned int top;	/* summary: rows of each table */
	unsigned int width;	/* summary: columns, 0 as many as needed */
};

struct output_format {
	const char *name;
	const char *suffixes[3];	/* of files that take it by default */
	const char *help;
	enum report_detail detail;	/* of the reports it wants */
	bool by_value;		/* it wants times and bytes rather than counts, if no unit was chosen */
	uint32_t labels;	/* groups it wants besides those chosen: mask of 1u << enum group_key */
	/* The reports of `count` modes, at least 1.  0 or -errno (of the stream, or -ENOMEM). */
	int (*write)(const struct report *reports, uint32_t count, const struct output_options *o,
		     FILE *to);
	bool one_mode;		/* it has no place for more than one */
};

/* NULL if there is none of that name. */
const struct output_format *output__by_name(const char *name);
/* By the suffix of the path, else folded. */
const struct output_format *output__by_path(const char *path);
/* All, ends with NULL. */
extern const struct output_format *const output_formats[];

extern const struct output_format output_folded, output_flamegraph, output_summary, output_pprof,
	output_speedscope;

/*
 * A file that appears whole or not at all: it is written beside its
 * destination and renamed at the end.  Pipes and devices are written to
 * directly; "-" is stdout.
 */
struct output_file {
	FILE *stream;
	char *name;		/* for messages: as it was given */
	char *base;		/* of the destination, in `directory`; NULL: stream only */
	char *temporary;	/* what is written, in `directory`; NULL: stream only */
	int directory;		/* only if there is a `temporary` */
};

/* Whose a new file is. */
struct output_owner {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;	/* all of the user's */
	int group_count;
};

/* Would output__open() refuse it?  Nothing is made, opened or changed. */
int output__check(const char *path, struct diag *d);
/*
 * Fails now if the file could not be written later.  A file that exists keeps mode and owner, as far
 * as that is permitted.  A new one has the mode that umask leaves, and belongs to `owner` if that
 * user could have made it: whether the directory's mode lets the user write there is looked up.
 * owner NULL, or a directory of others: the file is the caller's.
 */
int output__open(struct output_file *f, const char *path, const struct output_owner *owner,
		 struct diag *d);
/* A write has failed: name the file and the error.  Returns -errnum. */
int output__failed(const struct output_file *f, int errnum, struct diag *d);
/* Flush, rename.  On failure the destination is as it was. */
int output__commit(struct output_file *f, struct diag *d);
/* Forget what has been written, if it has not been committed. */
void output__discard(struct output_file *f);

#endif /* EXTPROF_OUTPUT_H */
