/* SPDX-License-Identifier: BSD-2-Clause */
/* The times that have recordings, for extprof top --at. */
#ifndef EXTPROF_TOP_AT_HISTORY_H
#define EXTPROF_TOP_AT_HISTORY_H

#include "cli/recorded_files.h"

/* Zero-initialise.  Times are ns since 1970. */
struct history {
	struct recorded_list files;
	struct history_span {
		uint64_t begin, end;
	} *spans;		/* in order; what is between two was not recorded */
	size_t count;
	bool incomplete;	/* one of a folder could not be read */
};

/* Find what there is.  The exit status; a message was printed.  The caller frees. */
int history__find(struct history *h, const char *const *names, unsigned int count);
void history__free(struct history *h);

/* Is something of that time recorded? */
bool history__has(const struct history *h, const struct recorded_span *span);
/* The end of a window of that length, as near as can be before `at`, or after it, of which something is recorded; 0: none. */
uint64_t history__before(const struct history *h, uint64_t at, uint64_t length);
uint64_t history__after(const struct history *h, uint64_t at, uint64_t length);
/* "2026-11-27 02:00:00 to 2026-11-27 03:10:00, ...": those that are nearest to a time. */
void history__print(const struct history *h, uint64_t at, char *to, size_t size);

/*
 * Open what is of that time as one, and then what is of EXTPROF_RECORDED_PAST before.  *recorded NULL: nothing of that time is
 * there any more; *incomplete: the last one of it has no end.  0 or -errno with *e.
 */
int history__open(const struct history *h, const struct recorded_span *span, struct extprof_recorded **recorded,
		  bool *incomplete, struct extprof_error *e);

#endif /* EXTPROF_TOP_AT_HISTORY_H */
