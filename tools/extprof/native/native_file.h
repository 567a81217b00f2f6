/* SPDX-License-Identifier: BSD-2-Clause */
/* One file with machine code, as far as it has been read: its rules for finding callers, and the names of its functions. */
#ifndef EXTPROF_NATIVE_FILE_H
#define EXTPROF_NATIVE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "native/native_work.h"

/* NATIVE_LATE: there was no time to read it. */
enum native_state { NATIVE_UNREAD, NATIVE_WANTED, NATIVE_BEING_READ, NATIVE_READ, NATIVE_FAILED, NATIVE_LATE };

struct native_file {
	uint64_t device, inode;
	char *path;		/* clean */
	int fd;			/* -1: it is not open; while it is, no other file has its inode */
	uint64_t size, owner;
	uint32_t user;		/* who had it first */
	pid_t pid;		/* of who has it mapped ... */
	uint64_t began;
	struct native_seen where;	/* ... and there; until its rules are read */
	/* Rules. */
	enum native_state rules;
	bool no_elf;		/* NATIVE_FAILED: it was read, and is no ELF file: its code is a JIT's */
	bool gone;		/* NATIVE_FAILED: it was not mapped any more when it was to be opened */
	bool refused;		/* NATIVE_FAILED: there was no permission to open it */
	uint32_t tries;
	struct unwind_part parts[UNWIND_PARTS_MAX];
	uint32_t part_count;	/* 0: nothing is known of its addresses */
	char build_id[2 * ELF_BUILD_ID_MAX + 1];	/* in hex; "": none is known */
	uint64_t base;		/* address in the file of pc 0 */
	uint32_t first_row, rows;	/* in the rows of all files */
	uint32_t no_room;	/* it has so many that nobody had room for; 0: there was room */
	/* Names. */
	enum native_state names_state;
	struct native_names names;
};

void native_file__free(struct native_file *f);

/* The address of what is at an offset of the file.  False: nothing is loaded as code from there. */
bool native_file__address(const struct native_file *f, uint64_t offset, uint64_t *address);
/* The rule at an address of the file, and where its function begins; 0: not known.  `rows`: of all files. */
uint32_t native_file__rule(const struct native_file *f, const struct unwind_row *rows, uint64_t address, uint64_t *function);
/* Append the name of the function there, clean.  False: none is known. */
bool native_file__add_name(const struct native_file *f, uint64_t address, struct text *out);

#endif /* EXTPROF_NATIVE_FILE_H */
