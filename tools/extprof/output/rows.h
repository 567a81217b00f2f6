/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of a report as rows, for outputs that programs read. */
#ifndef EXTPROF_OUTPUT_ROWS_H
#define EXTPROF_OUTPUT_ROWS_H

#include "profile/report.h"

enum rows_kind {
	ROWS_GROUPS,		/* processes, threads, labels: the outermost frames */
	ROWS_METHODS,
	ROWS_LINES,
	ROWS_FILES,
	ROWS_KINDS
};

struct row {
	const char *name, *path;	/* of the report; of a line the name of code in it */
	int32_t line;		/* 0: none */
	bool approximate;
	uint64_t self, total;	/* of a group both are its total */
};

/* Most self first. */
struct rows {
	struct row *list;
	uint32_t count;
};

/* 0 or -ENOMEM. */
int rows__init(struct rows *rows, const struct report *r, enum rows_kind kind);
void rows__free(struct rows *rows);
/* "group", "method", "line", "file" */
const char *rows__kind_name(enum rows_kind kind);
/* The sum of `self` of the rows from `first` on. */
uint64_t rows__other(const struct rows *rows, uint32_t first);

#endif /* EXTPROF_OUTPUT_ROWS_H */
