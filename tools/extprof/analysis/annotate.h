/* SPDX-License-Identifier: BSD-2-Clause */
/* A source file with what each of its lines took. */
#ifndef EXTPROF_ANALYSIS_ANNOTATE_H
#define EXTPROF_ANALYSIS_ANNOTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "profile/report.h"

/* A file with more lines is shown up to there. */
#define ANNOTATE_LINES_MAX 200000u

struct annotated_line {
	uint64_t self, total;
	bool approximate;	/* a part of it may be of another line of the same code */
	const char *text;	/* in the source; not clean, not ended; NULL: it is not known */
	uint32_t length;
};

struct annotation {
	const struct report *r;	/* the caller's, of detail REPORT_BY_LINE */
	const char *path;	/* of the report */
	struct annotated_line *lines;	/* by line, from 1 */
	uint32_t count;		/* the last line */
	uint32_t first, last;	/* that are shown: of a method */
	uint64_t self, total;	/* of the file */
};

/*
 * `what`: a path, the end of a path behind a slash, or the name of a method, whose lines are shown then.  0; -ENOENT,
 * -EEXIST with *d (DIAG_USAGE): nothing has that name, or several files; -ENOMEM.  The caller frees in all cases.
 */
int annotation__make(struct annotation *a, const struct report *r, const char *what, struct diag *d);
/* The source; it belongs to the caller.  0 or -ENOMEM. */
int annotation__set_source(struct annotation *a, const char *text, size_t length);
void annotation__free(struct annotation *a);

struct annotate_options {
	const char *source;	/* where the source is from, a clean sentence */
	const char *changed;	/* that it has changed since, the same; NULL: it has not */
	bool color;
	unsigned int width;	/* columns, 0 as many as needed */
};

/* Each: 0 or -errno, of the stream or -ENOMEM. */
int annotation__write_text(const struct annotation *a, const struct annotate_options *o, FILE *to);
int annotation__write_html(const struct annotation *a, const struct annotate_options *o, FILE *to);

#endif /* EXTPROF_ANALYSIS_ANNOTATE_H */
