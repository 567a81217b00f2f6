/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of struct native, for the files of this room. */
#ifndef EXTPROF_NATIVE_STATE_H
#define EXTPROF_NATIVE_STATE_H

#include "base/map64.h"
#include "native/jit_maps.h"
#include "native/native.h"
#include "native/native_file.h"
#include "native/native_process.h"

/* Names of all files. */
#define ALL_NAMES_MAX (512ull << 20)

struct native {
	struct unwind_maps maps;
	struct native_file files[NATIVE_FILES_MAX];
	uint32_t file_count;
	uint32_t row_count;	/* in maps.rows */
	bool names_as_in_file;
	struct native_blocks blocks;
	struct budget files_budget, rules_budget, names_budget;
	struct map64 by_inode;	/* numbers of files */
	struct native_process *processes;
	uint32_t process_count, live;	/* live: slots that are used */
	size_t process_room;
	uint32_t *free_slots, free_count;
	size_t free_room;
	struct map64 by_vm;	/* slots; those of VMs that are gone have another one now */
	uint64_t look_cost;	/* one look at each process, ns */
	uint64_t names_size;
	struct jit_maps jits;
};

/* native.c: NULL: it is not known.  Others move when one is made. */
struct native_process *native__process(const struct native *n, uint32_t vm);

/* files.c */

/* The number of the file that is mapped there, which may take the path; NATIVE_NO_FILE: there are too many. */
uint32_t native__file(struct native *n, struct native_process *p, struct native_seen *s);
/* The address in the process less that in the file.  False: that is not known (yet). */
bool native__bias(const struct native *n, const struct native_mapped *m, uint64_t *bias);
/* A work has read them, or has failed. */
void native__take_rules(struct native *n, struct native_file *f, struct native_work *w);
void native__take_names(struct native *n, struct native_file *f, struct native_work *w);

/* publish.c: the block is that of the process.  0 or negative errno. */
int native__tell(struct native *n, struct native_process *p, const struct native_block *block);

#endif /* EXTPROF_NATIVE_STATE_H */
