/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Works that take long, or as long as a process or a file system wants: reading mappings, and files.  They run in
 * threads of their own (engine/search.h).  A work has all that it needs, so it shares nothing with others.
 */
#ifndef EXTPROF_NATIVE_WORK_H
#define EXTPROF_NATIVE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "parser/elf_symbols.h"
#include "parser/elf_unwind.h"
#include "wire/unwind.h"

/* Names of one file, in bytes. */
#define NATIVE_NAMES_MAX (32u << 20)
#define NATIVE_SYMBOLS_MAX (1u << 20)
/* Rules of one file: a binary search has UNWIND_ROW_STEPS. */
#define NATIVE_ROWS_MAX (1u << 20)
/* Parts of the memory of one process that have code of no file. */
#define NATIVE_RANGES_MAX 4096u

enum native_work_kind {
	NATIVE_LOOK,	/* what a process has mapped */
	NATIVE_RULES,	/* open a file, and read its rules for finding callers */
	NATIVE_NAMES,	/* of the functions of a file that is open */
	NATIVE_MAP	/* of the functions of a JIT: by the map that the process writes (jit_map_work.h) */
};

/* Machine code of a process in no file. */
struct native_range {
	uint64_t start, end;
};

/* A file as it was seen; all zero: none. */
struct jit_file {
	uint64_t device, inode, size;
	uint64_t changed;	/* CLOCK_REALTIME, ns */
};

/* Machine code of a file in a process. */
struct native_seen {
	uint64_t start, end;
	uint64_t offset;	/* of its beginning in the file */
	uint64_t device, inode;	/* 0, 0: the vdso */
	bool is_exe;
	char *path;		/* as the process chose it: not clean */
};

struct native_symbol {
	uint64_t address, size;
	uint32_t name;		/* where it is in native_names::text, with a NUL */
	uint8_t binding;	/* enum symbol_binding */
	bool sectioned;		/* its size is not known; see elf_symbol */
	bool internal;		/* it has a name of the library's own, as __poll */
	bool is_new;		/* of a JIT: its line was not there at the reading before */
	bool replaced;		/* of a JIT: it is new, and a line of another name was at its place */
};

struct native_names {
	struct native_symbol *symbols;	/* by address */
	uint32_t count;
	size_t room;
	char *text;
	size_t size, text_room;
};

struct native_work {
	enum native_work_kind kind;
	uint32_t number;	/* for the caller: of the VM, or of the file */
	pid_t pid;
	uint64_t began;		/* as of proc__started(): another process can get the pid */
	struct unwind_seen before;	/* NATIVE_LOOK: what had changed before it */
	struct native_seen where;	/* NATIVE_RULES: a mapping of the file; NATIVE_MAP: of the VM, if it is known */
	int fd;			/* of the file; -1: it is not open yet, and NATIVE_RULES opens it */
	uint64_t size, owner;	/* of the file; see parser_file */

	bool names_as_in_file;	/* NATIVE_NAMES: see native__names_as_in_file() */
	/* NATIVE_MAP: when the process has executed its program, CLOCK_MONOTONIC, 0 unknown; the map that was read, and the one that was
	 * seen last. */
	uint64_t executed;
	struct jit_file before_map, seen_map;
	/* Results: */
	int err;		/* NATIVE_LOOK: nothing was read; NATIVE_RULES: the file could not be opened or is none; NATIVE_MAP */
	bool no_elf;		/* NATIVE_RULES: the file was read, and is no ELF file */
	bool late;		/* rules and names: the deadline was over before they were read, and there are none */
	uint64_t from, until;	/* when, CLOCK_MONOTONIC */
	struct native_seen *seen;	/* by address */
	uint32_t seen_count;
	size_t seen_room;
	struct native_range *ranges;	/* the same of code in no file */
	uint32_t range_count;
	size_t range_room;
	uint64_t hash;		/* NATIVE_LOOK: of these mappings, never 0 */
	struct unwind_part parts[UNWIND_PARTS_MAX];
	uint32_t part_count;
	char build_id[2 * ELF_BUILD_ID_MAX + 1];	/* in hex; "": it has none */
	uint64_t base;		/* address in the file of pc 0 */
	struct unwind_row *rows;
	uint32_t row_count;	/* 0: it has no rules, or cannot be read */
	size_t row_room;
	struct native_names names;
	struct jit_file map;	/* NATIVE_MAP: that was read, or seen */
	bool unchanged;		/* NATIVE_MAP: it is as it was read before */
	uint64_t written;	/* NATIVE_MAP: it has not changed since then, until it was read; CLOCK_MONOTONIC */
	bool unreadable;	/* NATIVE_MAP: it is an error of the file, and the process lives */
};

/* NULL: out of memory. */
struct native_work *native_work__new(enum native_work_kind kind, uint32_t number);
/* With all that is in it.  NULL is fine. */
void native_work__free(struct native_work *w);
/* Do it now, in this thread.  `deadline` may be NULL. */
void native_work__run(struct native_work *w, struct deadline *deadline);

/*
 * The hash of what a look at the process would find now: equal ones are of the same files at the same places.  0: they cannot be
 * read.
 */
uint64_t native_work__hash(pid_t pid, struct deadline *deadline);

void native_names__free(struct native_names *names);

#endif /* EXTPROF_NATIVE_WORK_H */
