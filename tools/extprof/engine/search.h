/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for the ruby in processes, in other threads: a process can make that last as long as it wants, and
 * samples must not wait for it.
 */
#ifndef EXTPROF_SEARCH_H
#define EXTPROF_SEARCH_H

#include <stdint.h>

#include "base/diag.h"
#include "native/native_work.h"
#include "process/context_search.h"
#include "process/target.h"
#include "ruby/vm.h"
#include "source/places.h"

/* Processes that are searched at the same time.  One that does not answer holds one up. */
#define SEARCH_THREADS_MAX 8u

struct searcher;

/* One process to look at.  From search__submit() until search__next() gives it back, it is the
 * searcher's, with all that is in it. */
struct search {
	struct search *next;
	/* One of these is to be done, and nothing else; both NULL: a ruby is looked for. */
	struct native_work *native;
	struct context_look *context;
	uint32_t process;		/* for the caller: which one */
	pid_t pid;
	struct target target;		/* opened by the search, if its pidfd is -1 */
	bool plain;			/* a program without a ruby is a result, too */
	struct symbol_table *table;	/* for the VM; not looked at by the search */
	/* Results: */
	int err;			/* as of target__find_section() and vm__open() */
	struct diag diag;		/* why */
	struct vm *vm;			/* NULL: there is none */
	struct places *places;		/* what is wanted in the file of the VM, a reference; NULL: nothing */
	struct ruby_file file;		/* if so: it was looked at */
	uint64_t took;			/* ns */
	struct deadline deadline;	/* of the searcher */
};

/* Has work done in a thread of the caller's: see struct extprof_executor. */
struct executor {
	int (*submit)(void *context, void (*work)(void *argument), void *argument);
	void *context;
};

/* -errno.  `executor` does the searches; NULL, or without a `submit`: threads are started when they are needed. */
int searcher__create(struct searcher **s, const struct executor *executor);
/* Searches that run are told to end.  One that hangs in the kernel is left to itself, with its
 * thread, until it ends.  Work that the executor has not begun finds nothing to do.  NULL is fine. */
void searcher__destroy(struct searcher *s);

/* Readable: search__next() has something. */
int searcher__fd(const struct searcher *s);

/* A search of that process, zeroed; NULL: out of memory. */
struct search *search__new(uint32_t process, pid_t pid, struct symbol_table *table);
/* With all that it found.  NULL is fine. */
void search__free(struct search *search);

/* 0, or -errno: it is still the caller's. */
int search__submit(struct searcher *s, struct search *search);
/* One that is done, for the caller to free; NULL: none. */
struct search *search__next(struct searcher *s);

/* Do it now, in this thread.  `deadline` may be NULL. */
void search__run(struct search *search, struct deadline *deadline);

#endif /* EXTPROF_SEARCH_H */
