/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of a report as rows, for tables and for outputs that programs read. */
#ifndef EXTPROF_OUTPUT_ROWS_H
#define EXTPROF_OUTPUT_ROWS_H

#include "profile/report.h"

enum rows_kind {
	ROWS_APP_METHODS,	/* the application's: most total first, all others most self first */
	ROWS_APP_LINES,
	ROWS_GEMS,		/* owners of code: gems, the application, parts of the standard library */
	ROWS_GROUPS,		/* processes, threads, labels: the outermost frames */
	ROWS_METHODS,
	ROWS_LINES,
	ROWS_FILES,
	ROWS_HOLDERS,		/* where threads were that held what others waited for */
	ROWS_KINDS
};

struct row {
	const char *name, *path;	/* of the report; of a line the name of code in it; "": of a gem */
	int32_t line;		/* 0: none */
	bool approximate;
	uint64_t self, total;	/* of a group, and of a holder, both are its total */
	const struct report_total *of;	/* of the report; NULL: of a group, and of a holder */
};

struct rows {
	struct row *list;
	uint32_t count;
};

/* 0 or -ENOMEM. */
int rows__init(struct rows *rows, const struct report *r, enum rows_kind kind);
void rows__free(struct rows *rows);
/* "app_method", "app_line", "gem", "group", "method", "line", "file", "holder" */
const char *rows__kind_name(enum rows_kind kind);
/* The sum of `self` of the rows from `first` on. */
uint64_t rows__other(const struct rows *rows, uint32_t first);
/* Is it of the application? */
static inline bool rows__is_app(enum rows_kind kind)
{
	return kind == ROWS_APP_METHODS || kind == ROWS_APP_LINES;
}
/* Append "gem rack 3.1.8": whose code a row of ROWS_GEMS is. */
void rows__add_owner(const struct report *r, const struct row *row, struct text *out);
/* Append what the row's code calls that takes most of its total; nothing if that is not known. */
void rows__add_callee(const struct report *r, const struct row *row, struct text *out);

#endif /* EXTPROF_OUTPUT_ROWS_H */
