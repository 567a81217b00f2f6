/* SPDX-License-Identifier: BSD-2-Clause */
/* struct extprof_recorded, for those who make something of it. */
#ifndef EXTPROF_LIBRARY_RECORDED_H
#define EXTPROF_LIBRARY_RECORDED_H

#include "extprof.h"
#include "recording/profile.h"

/* The first one. */
struct recording_reader *recorded__reader(const struct extprof_recorded *r);
/* The database that statements read.  recorded_sql__free() closes the joined one. */
struct recorded_sql {
	sqlite3 *joined;	/* several recordings, or a time of them, as one database; NULL: it was not made */
	uint64_t since, until;	/* that it is of, ... */
	uint32_t count;		/* ... and so many recordings */
	bool of_one, of_joined;	/* the virtual tables are there */
};
struct recorded_sql *recorded__sql(struct extprof_recorded *r);
void recorded_sql__free(struct recorded_sql *s);
struct deadline *recorded__deadline(struct extprof_recorded *r);

/* All of them. */
struct recording_reader *const *recorded__readers(const struct extprof_recorded *r, uint32_t *count);
/* The same as extprof_recorded_times(), for one of them. */
int recorded__times(struct recording_reader *reader, uint64_t *begin, uint64_t *end, struct extprof_error *error);
/* Reading of `count` recordings begins, of which it has some or all: several have more time than one. */
void recorded__start_time(struct extprof_recorded *r, uint32_t count);
/* EXTPROF_USAGE: the report of several modes is wanted where there is place for one; the text names them. */
int recorded__one_mode(const char *what, const struct reports *reports, struct extprof_error *error);
/* The reports of extprof_recorded_reports(). */
int recorded__window(struct extprof_recorded *r, const struct extprof_recorded_options *o, struct reports *reports,
		     struct extprof_error *error);
/* 0, or -EINVAL with *error: there are several. */
int recorded__is_one(const struct extprof_recorded *r, struct extprof_error *error);

/* Add conditions.  0 or negative errno with *error. */
int recorded__add_filters(struct recording_filter *f, const char *const *filters, size_t count,
			  struct extprof_error *error);
/* Copy the times that a caller asks for.  0, or -EINVAL with *error. */
int recorded__set_span(struct recording_span *to, const struct recording_span *span, struct extprof_error *error);

#endif /* EXTPROF_LIBRARY_RECORDED_H */
