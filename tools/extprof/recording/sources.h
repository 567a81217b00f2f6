/* SPDX-License-Identifier: BSD-2-Clause */
/* The source files that were seen, as a recording has them. */
#ifndef EXTPROF_RECORDING_SOURCES_H
#define EXTPROF_RECORDING_SOURCES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "recording/reader.h"

/* Limit of one text; a larger file has no text. */
#define RECORDING_SOURCE_MAX (1u << 20)
/* Limit of all texts together, before compression. */
#define RECORDING_SOURCES_MAX (64u << 20)

/* A file as it was when it was seen. */
struct recording_source_file {
	const char *path;
	uint64_t size;		/* bytes */
	uint64_t time;		/* of its last change, ns since 1970 */
	uint64_t hash;		/* source__hash() of the text; 0: it was not read */
	char *text;		/* with its end; NULL: it is not in the recording */
	size_t length;
};

/* Adler 32 above CRC 32: it tells texts apart, but not against somebody who wants to be mistaken. */
uint64_t source__hash(const char *text, size_t length);

/* When the file was changed last, as in `time`. */
static inline uint64_t source__time(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000ull + (uint64_t)st->st_mtim.tv_nsec;
}

/* 0: *f is filled in, and freed with recording_source__free(); -ENOENT: the recording has nothing of it; -EBADMSG with
 * *d: what it has makes no sense; -ENOMEM with *d. */
int recording_source__read(struct recording_reader *r, const char *path, struct recording_source_file *f, struct diag *d);
/* Does all that it has of files make sense?  0, -EBADMSG or another negative errno, with *d. */
int recording_sources__check(struct recording_reader *r, struct diag *d);
void recording_source__free(struct recording_source_file *f);

#endif /* EXTPROF_RECORDING_SOURCES_H */
