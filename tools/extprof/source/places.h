/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where probes and functions are in the files of rubies.  A file is parsed once (parser/parser.h), by a thread that
 * searches processes: it can be large, or of a file system that does not answer.  Any thread may use it.
 */
#ifndef EXTPROF_PLACES_H
#define EXTPROF_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/deadline.h"
#include "base/diag.h"
#include "parser/elf_places.h"

/* Files that are remembered.  The one that was not asked for longest is forgotten for another one. */
#define PLACES_FILES_MAX 1280u

/*
 * Rubies whose files a source has programs in.  One user can take RUBIES_OF_ALL_MAX; each other one has
 * RUBIES_OF_USER_MIN beyond that.
 */
#define RUBIES_MAX 1024u
#define RUBIES_OF_ALL_MAX 512u
#define RUBIES_OF_USER_MIN 64u

static inline bool rubies__have_room(uint32_t of_all, uint32_t of_user)
{
	return of_all < RUBIES_OF_ALL_MAX || (of_all < RUBIES_MAX && of_user < RUBIES_OF_USER_MIN);
}

struct places;
struct known_file;

/* An open file of a ruby.  Zeros before, and fd -1.  Its owner gives it back. */
struct ruby_file {
	int fd;			/* -1: it cannot be opened */
	struct stat st;
	uint64_t offset;	/* of the contract's section */
	uint64_t owner;		/* the user who runs it: see helper_request */
	struct known_file *known;	/* what was found in it; NULL: nobody has looked */
};
/* Close it. */
void ruby_file__close(struct ruby_file *file);
/* The number stays that of the file, until it is given back with ruby_file__forget().  NULL is fine. */
struct known_file *ruby_file__keep(const struct ruby_file *file);
void ruby_file__forget(struct known_file *known);

/*
 * A number that no other file has, nor the same one after a change: by device, inode, size and time of change, and
 * by nothing that is written in the file.  0: nobody has looked.
 */
uint32_t ruby_file__number(const struct ruby_file *file);

/* With one reference, the caller's.  NULL: out of memory. */
struct places *places__new(void);
struct places *places__hold(struct places *p);
/* The last reference frees it.  NULL is fine. */
void places__release(struct places *p);

/*
 * Before the first look: what is to be found in each file.  provider: NULL for a function.  0, -ENOMEM, -ENAMETOOLONG, or
 * -E2BIG: too many.
 */
int places__want(struct places *p, const char *provider, const char *name);
bool places__any(const struct places *p);

/* Find all that is wanted in the file, unless that has been done.  It takes as long as it takes to read the file, but
 * not beyond the deadline; NULL none. */
void places__look(struct places *p, struct ruby_file *file, struct deadline *deadline);

/*
 * Give what was found in the file, without waiting.  *section: address of the contract's section before relocation; it
 * can be NULL.  0 or -errno with the diagnosis.
 */
int places__get(struct places *p, const struct ruby_file *file, const char *provider, const char *name, struct usdt *usdt,
		uint64_t *section, struct diag *d);

/* The same in one file that the user has named. */
int places__find(int fd, const char *provider, const char *name, struct usdt *usdt, struct diag *d);

#endif /* EXTPROF_PLACES_H */
