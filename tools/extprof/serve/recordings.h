/* SPDX-License-Identifier: BSD-2-Clause */
/* The recordings that pages are made of: files, and those of folders.  They are looked for again for each page. */
#ifndef EXTPROF_SERVE_RECORDINGS_H
#define EXTPROF_SERVE_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "extprof.h"
#include "serve/request.h"

/* The paths that the user has named. */
struct serve_sources {
	const char *const *names;
	unsigned int count;
};

struct serve_file {
	char *path, *unreadable;	/* unreadable: why it is; NULL: it is not */
	uint64_t begin, end;		/* ns since 1970 */
	bool of_folder;
};

/* Zero-initialise. */
struct serve_files {
	struct serve_file *list;	/* in the order of their begin, each once */
	size_t count, room;
	uint64_t begin, end;		/* of all that can be read */
};

/* Fill *e with a code and a clean text.  Returns -errnum. */
int serve__fail(struct extprof_error *e, int code, int errnum, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Look at all of them.  0 or negative errno with *e; the caller frees in both cases. */
int serve_files__find(struct serve_files *f, const struct serve_sources *sources, struct extprof_error *e);
void serve_files__free(struct serve_files *f);

/* Has it samples of that time? */
bool serve_file__is_of(const struct serve_file *file, const struct serve_span *span);
/* Open those of that time as one.  0; or negative errno with *e and *r NULL: there is none, or one cannot be opened. */
int serve_files__open(const struct serve_files *f, const struct serve_span *span, struct extprof_recorded **r,
		      struct extprof_error *e);

#endif /* EXTPROF_SERVE_RECORDINGS_H */
