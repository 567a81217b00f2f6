/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a file is that is to be written, when other users may change the folders on the way to it. */
#ifndef EXTPROF_OUTPUT_PLACE_H
#define EXTPROF_OUTPUT_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>

struct output_place {
	int directory;		/* O_PATH */
	char *base;		/* in `directory`, and no symbolic link there */
	int file;		/* O_PATH, what has that name now; -1: nothing */
	struct stat st;		/* of `file` */
	bool fixed;		/* `file` is an open file of a process (/proc/PID/fd): it has no name to replace */
	const char *refused;	/* after -EPERM: why, for a message; NULL: the kernel says so */
};

/*
 * Symbolic links are followed one by one, from open folders.  A link in a folder that others may write to is followed if
 * root or the caller has made it, or if what it leads to belongs to whoever made it: another user gains nothing then.
 * Root does not write to a file or FIFO of a third user in a folder that all may write to; `uid` is the user besides
 * root who called extprof.  0, -EPERM, -ELOOP or another errno; output_place__close() after success only.
 */
int output_place__find(struct output_place *p, const char *path, uid_t uid);
void output_place__close(struct output_place *p);

#endif /* EXTPROF_OUTPUT_PLACE_H */
