/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where probes and functions are in the files of rubies.  A file is read once, by a thread that searches processes: it
 * can be large, or of a file system that does not answer.  Any thread may use it.
 */
#ifndef EXTPROF_PLACES_H
#define EXTPROF_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/diag.h"
#include "source/usdt.h"

/* Different rubies that are followed in one recording. */
#define PLACES_FILES_MAX 256u

struct places;

/* An open file of a ruby.  Set fd to -1 before. */
struct ruby_file {
	int fd;			/* -1: it cannot be opened */
	struct stat st;
	uint64_t offset;	/* of the contract's section */
};

/* With one reference, the caller's.  NULL: out of memory. */
struct places *places__new(void);
struct places *places__hold(struct places *p);
/* The last reference frees it.  NULL is fine. */
void places__release(struct places *p);

/*
 * Before the first look: what is to be found in each file.  provider: NULL for a function.  0, -ENOMEM, or -E2BIG: too many.
 */
int places__want(struct places *p, const char *provider, const char *name);
bool places__any(const struct places *p);

/* Find all that is wanted in the file, unless that has been done.  It takes as long as it takes to read the file. */
void places__look(struct places *p, const struct ruby_file *file);

/*
 * What was found in the file: at once.  *section: address of the contract's section before relocation; it can be NULL.
 * 0, or as usdt__find() and function_places__find(); -E2BIG: there were too many files.
 */
int places__get(struct places *p, const struct ruby_file *file, const char *provider, const char *name, struct usdt *usdt,
		uint64_t *section, struct diag *d);

#endif /* EXTPROF_PLACES_H */
