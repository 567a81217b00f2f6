/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of a history: one daemon writes into it, and old recordings go as whole files. */
#ifndef EXTPROF_DAEMON_FOLDER_H
#define EXTPROF_DAEMON_FOLDER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Recordings are FOLDER/extprof-DATE-TIME-MSZ.extprof. */
#define FOLDER_BASE "extprof"
/* The file in it that a daemon has locked. */
#define FOLDER_LOCK ".lock"

/* fd and lock are -1 before folder__open() and after folder__close(). */
struct folder {
	int fd, lock;
};

/* All recordings of the folder, with the logs beside them. */
struct folder_state {
	uint64_t files, bytes;
	time_t newest;		/* when one was written to; 0: there is none */
	uint64_t removed, removed_bytes;	/* by folder__tidy() */
};

/*
 * Make the folder, mode 0700, if it is not there, and lock it: no other process has it open by this function.  It has to be the caller's,
 * and nobody else may be able to write into it.  0 or negative errno, and `why` says why; -EBUSY: another daemon has it.
 */
int folder__open(struct folder *f, const char *path, char *why, size_t size);
void folder__close(struct folder *f);

/*
 * Look at the recordings.  Remove the oldest ones, by their names: those that were last written to before `before`
 * (seconds since 1970; 0: none), and as many as there are more than `bytes` in all (UINT64_MAX: none).  `current`: the path
 * of the one that is being written, which stays; NULL: there is none.  Other files stay.  0 or negative errno.
 */
int folder__tidy(const struct folder *f, const char *current, time_t before, uint64_t bytes, struct folder_state *state);

/* Remove the oldest recording but `current`, whatever its age, because there is no room.  0, or -ENOENT: there is none. */
int folder__make_room(const struct folder *f, const char *current);

#endif /* EXTPROF_DAEMON_FOLDER_H */
