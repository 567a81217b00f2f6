/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native functions in a dump: the rules and mappings of one process in the memory of this one, and the names of functions.
 * Stacks are followed by remote/walker.h.
 */
#ifndef EXTPROF_DUMP_NATIVE_H
#define EXTPROF_DUMP_NATIVE_H

#include <sys/types.h>

#include "base/deadline.h"
#include "profile/native_frames.h"
#include "remote/core_file.h"
#include "remote/snapshot.h"
#include "remote/unwind_tables.h"
#include "ruby/vm.h"

struct dump_native {
	struct native_frames frames;
	struct unwind_tables *tables;
	struct unwind_view view;	/* for snapshots, after dump_native__look() */
	struct deadline deadline;	/* of the works that are done now */
	int interrupt_fd;		/* -1: none */
};

/* 0 or -ENOMEM.  The caller frees it in any case. */
int dump_native__open(struct dump_native **native, pid_t pid, const struct vm *vm, int interrupt_fd);
/* The same of a core file; `exe` is the file of the ruby, NULL: where the core file says. */
int dump_native__open_core(struct dump_native **native, const struct core *core, const char *exe, const struct vm *vm,
			   int interrupt_fd);
/* NULL is fine. */
void dump_native__free(struct dump_native *n);

/*
 * Look at what the process has mapped, and read the rules of files that are new.  This, reading the names of one result, and
 * opening the files of a core file take DUMP_NATIVE_TIME at most each: what is not read by then has no rules, or no names, and is
 * tried again by the next look.
 */
#define DUMP_NATIVE_TIME 3000000000ull
void dump_native__look(struct dump_native *n);
/* A result begins: the time for its names does. */
void dump_native__begin_names(struct dump_native *n);
/* Read the names of functions that have been asked for. */
void dump_native__read_names(struct dump_native *n);

/* Why a stack has none; NULL: it has, or none were asked for. */
const char *dump_native__reason(enum snapshot_native why);

#endif /* EXTPROF_DUMP_NATIVE_H */
