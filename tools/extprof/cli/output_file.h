/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of a profile. */
#ifndef EXTPROF_OUTPUT_FILE_H
#define EXTPROF_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "extprof.h"

/*
 * A file that appears whole or not at all: it has no name, or another one beside its destination, until it is
 * whole.  Pipes and devices are written to directly; "-" is stdout.  output_place.h says which links are followed.
 */
struct output_file {
	FILE *stream;
	char *name;		/* for messages: as it was given */
	char *base;		/* of the destination, in `directory`; NULL: stream only */
	char *temporary;	/* what is written, in `directory`; NULL: it has no name so far, or is published */
	int directory;		/* O_PATH, if there is a `base` */
	int fd;			/* of the stream */
	bool published;		/* it has its name */
};

/* Whose a new file is. */
struct output_owner {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;	/* all of the user's */
	int group_count;
};

/* Would output_file__open() refuse it?  Nothing is made, opened or changed. */
int output_file__check(const char *path, const struct output_owner *owner, struct extprof_error *e);
/*
 * Fails now if the file could not be written later.  A file that exists keeps mode and owner, as far
 * as that is permitted.  A new one can be read by its owner alone, and belongs to `owner` if that
 * user could have made it: whether the directory's mode lets the user write there is looked up.
 * owner NULL, or a directory of others: the file is the caller's.
 */
int output_file__open(struct output_file *f, const char *path, const struct output_owner *owner,
		 struct extprof_error *e);
/*
 * The owner and the group that output_file__open() would give to a new file; -1: those that it has.  For files that
 * others make.  It refuses the same files as output_file__open().
 */
int output_file__owner(const char *path, const struct output_owner *owner, uid_t *uid, gid_t *gid, struct extprof_error *e);
/* A write has failed: name the file and the error.  Returns -errnum. */
int output_file__failed(const struct output_file *f, int errnum, struct extprof_error *e);
/* Flush, and let it have its name now; what is written later goes to it directly.  0 or -errno. */
int output_file__publish(struct output_file *f, struct extprof_error *e);
/* The same, and close it.  On failure the destination is as it was. */
int output_file__commit(struct output_file *f, struct extprof_error *e);
/* Forget what has been written, if it has not been committed. */
void output_file__discard(struct output_file *f);

#endif /* EXTPROF_OUTPUT_FILE_H */
