/* SPDX-License-Identifier: BSD-2-Clause */
/* From a snapshot of ids and numbers to the names and texts of struct extprof_dump_result. */
#ifndef EXTPROF_DUMP_RESULT_H
#define EXTPROF_DUMP_RESULT_H

#include "extprof.h"
#include "library/dump_native.h"
#include "remote/snapshot.h"
#include "ruby/vm.h"

/* Facts that the snapshot does not know. */
struct dump_facts {
	pid_t pid;		/* as seen from here; 0: it does not run (a core file) */
	pid_t core_pid;		/* then: the number that it had */
	const struct stat *core;	/* then: the core file */
	uint64_t core_missing;	/* bytes that the core file lacks at its end */
	const char *command;	/* clean */
	uint64_t time;		/* ns since 1970, 0 unknown */
	uint64_t duration, stopped;	/* ns */
};

/* Builds one result after the other, and compares each with the one before. */
struct dump_result;

/*
 * The VM, the table and `native` (NULL: without native functions) live as long as the result.  `source`: read innermost lines.
 * NULL: out of memory.
 */
struct dump_result *dump_result__new(struct vm *vm, struct symbol_table *table, bool source, struct dump_native *native);
/* Valid until the next call.  NULL: out of memory. */
const struct extprof_dump_result *dump_result__build(struct dump_result *r, const struct snapshot *s,
						     const struct dump_facts *facts);
void dump_result__free(struct dump_result *r);

#endif /* EXTPROF_DUMP_RESULT_H */
