/* SPDX-License-Identifier: BSD-2-Clause */
/* Which recordings a command reads, of files and folders, and which time of them. */
#ifndef EXTPROF_CLI_RECORDED_FILES_H
#define EXTPROF_CLI_RECORDED_FILES_H

#include <stdbool.h>

#include "cli/options.h"
#include "options/time_point.h"

/* ns since 1970, as extprof_recorded_options has them; 0: from the begin, to the end. */
struct recorded_span {
	uint64_t since, until;
};

/* Recordings of files and folders, of which nothing but their times has been read.  Zero-initialise. */
struct recorded_list {
	struct recorded_candidate {
		char *path;
		uint64_t begin, end;	/* as extprof_recorded_times() */
		bool of_folder;
		bool opened;
	} *list;
	size_t count, room;
	uint64_t begin, end;	/* of all of them */
};

/* The exit status; a message was printed.  *incomplete is set if one of a folder could not be read.  The caller frees. */
int recorded_list__find(struct recorded_list *l, const char *const *names, unsigned int count, bool *incomplete);
void recorded_list__free(struct recorded_list *l);
/* A time as --since takes it, ns since 1970. */
uint64_t recorded_list__time(const struct recorded_list *l, const struct time_point *point);
/* "2026-11-27 02:50:00", in the time zone of the environment. */
void recorded__print_time(char *to, size_t size, uint64_t at);

/* Zero-initialise. */
struct recorded_files {
	struct extprof_recorded *recorded;	/* all of them as one; NULL after a failure */
	char **paths;			/* of those that were opened */
	unsigned int count;
	struct recorded_span span;
	bool incomplete;		/* a file of a folder could not be read, and a message said so */
};

/*
 * Open `count` files or folders and find out what --since and --until mean.  Of a folder those recordings are opened that
 * have samples of that time.  The exit status; a message was printed if it is not STATUS_OK.  The caller closes in both
 * cases.
 */
int recorded_files__open(struct recorded_files *f, const struct options *o, const char *const *names, unsigned int count);

/*
 * The same of two times: that of --since and --until, and that of --with, which is as long.  The earlier one is the first.
 * Of files, too, only those of each time are opened.
 */
int recorded_files__open_both(struct recorded_files both[2], const struct options *o, const char *const *names,
			      unsigned int count);
void recorded_files__close(struct recorded_files *f);

/* `status` of a command, or another one if not all could be read that was asked for. */
int recorded_files__status(const struct recorded_files *f, int status);

#endif /* EXTPROF_CLI_RECORDED_FILES_H */
