/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record of what a receiver has been sent of a folder.  It is a file in the folder, .extprof-push-HASH, with a line for each
 * recording.  It is replaced as a whole after each request, so that a request that is not in it is sent again.
 */
#ifndef EXTPROF_SEND_STATE_H
#define EXTPROF_SEND_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_SEGMENTS_MAX 20000u
#define STATE_SIZE_MAX (8u << 20)
#define STATE_NAME_MAX 255

struct state_segment {
	char *name;		/* of the file */
	uint64_t begin;		/* of the recording, ns since 1970; 0: it was only seen so far */
	uint64_t from;		/* all that is before that time was sent, ns since 1970; 0: nothing */
	/* A receiver that wants one mode in a request gets one mode after the other: from then on these are sent already, and the
	 * next one before that time; 0: nothing of it. */
	uint32_t modes;
	uint64_t sent;
	uint64_t until;		/* these were sent up to that time, and the others are: a recording can go on meanwhile */
	uint64_t piece;		/* of a receiver that knows what it has: the end of what may have been taken from `sent` or `from` on.  It
				 * is sent again as it was; 0: nothing */
	bool done;		/* all of it was sent, as long as the file is this one: */
	uint64_t inode, time, size;	/* time: when it was written to, ns */
};

/* How many since the file was made. */
struct state_totals {
	uint64_t requests;	/* that were taken */
	uint64_t refused;	/* requests that were not, and are not sent again */
	uint64_t rejected;	/* profiles of requests that were taken, which were not */
	uint64_t lost;		/* recordings that were gone, or are damaged, before all of them was sent */
	uint64_t in_a_row;	/* requests that were refused since one was taken */
};

struct state {
	int directory, lock;	/* -1: none */
	char *base;		/* the name of the file in the directory */
	char *to;		/* what the file is for: receiver__key() */
	struct state_segment *list;	/* by name */
	size_t count, room;
	struct state_totals totals;
	bool changed;		/* since it was saved: set by state__add(), state__remove() and who changes a member */
};

/*
 * Open and lock the one of a folder, or that one of a path, for a receiver (text without line breaks).  One that is not there
 * is empty.  0 or negative errno and `why`: -EBUSY another process has it, -EBADMSG it is damaged, or another receiver's;
 * -EPERM it is of another user.  After failure nothing is to be closed.
 */
int state__open(struct state *s, const char *folder, const char *path, const char *to, char *why, size_t size);
void state__close(struct state *s);
/* Write it, whole or not at all.  0 or -errno. */
int state__save(struct state *s);

/* NULL: there is none of that name. */
struct state_segment *state__find(struct state *s, const char *name);
/* A new one, of which nothing was sent.  NULL: out of memory, or there are too many.  Others move. */
struct state_segment *state__add(struct state *s, const char *name, uint64_t begin);
void state__remove(struct state *s, size_t i);
/* Is it a name that a file with recordings can have here? */
bool state__is_name(const char *name);

/* For tests: the text of it, which is to be freed; and from a text: 0, -ENOMEM or -EBADMSG. */
char *state__write(const struct state *s);
int state__read(struct state *s, const char *text);

#endif /* EXTPROF_SEND_STATE_H */
