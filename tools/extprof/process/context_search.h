/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for the thread-local variable `otel_thread_ctx_v1` in the program and the libraries of a process (parser/elf_context.h,
 * wire/trace.h).  The files are those of the target: they are opened and parsed by helpers.
 */
#ifndef EXTPROF_CONTEXT_SEARCH_H
#define EXTPROF_CONTEXT_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "parser/elf_context.h"
#include "process/memory.h"
#include "wire/trace.h"

/* Files that were looked at, with what they have: most processes have the same ones.  Any thread may use it. */
struct context_files;

/* NULL: out of memory. */
struct context_files *context_files__new(void);
struct context_files *context_files__hold(struct context_files *f);
void context_files__release(struct context_files *f);

/* The variable of one file that is mapped. */
struct context_found {
	struct elf_context of;
	uint64_t bias;		/* to be added to its addresses */
	bool is_program;
};

struct context_look {
	struct context_files *files;	/* a reference */
	pid_t pid;
	uint32_t vm;			/* for the caller */
	uint64_t before;		/* `file` of an earlier look; 0: none */
	/* Results: */
	int err;			/* of the memory map */
	bool whole;			/* the memory map was read to its end */
	bool maps_before;		/* the file of the earlier look is mapped where it was */
	bool found;
	uint64_t file;			/* which file has it, and where it is mapped */
	bool old_table;			/* the C library has another table of modules than glibc, or may have */
	struct context_found variable;	/* of the file of the earlier look, or of the first one that has it */
};

/* NULL: out of memory. */
struct context_look *context_look__new(struct context_files *files, pid_t pid, uint32_t vm);
/* NULL is fine. */
void context_look__free(struct context_look *look);
/* `deadline` may be NULL. */
void context_look__run(struct context_look *look, struct deadline *deadline);
/* The same with a memory map that is open.  `exe`: as of proc__exe(). */
void context_look__read(struct context_look *look, FILE *maps, uint64_t exe, struct deadline *deadline);

/* Where ld.so has put the variable.  False: it has not yet, or it cannot be told, and *place is 0. */
bool context_look__place(const struct context_look *look, const struct memory *memory, struct trace_place *place);

#endif /* EXTPROF_CONTEXT_SEARCH_H */
