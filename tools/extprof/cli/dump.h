/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line and the outputs of extprof dump. */
#ifndef EXTPROF_CLI_DUMP_H
#define EXTPROF_CLI_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/options.h"
#include "extprof.h"

struct dump_options {
	struct options common;	/* its pids */
	const char *core, *exe;	/* NULL: none */
	bool stop, json, source, all_stacks;
	uint64_t interval;	/* ns; 0: once */
	uint64_t count;		/* dumps of each process; 0: until Ctrl-C */
};

/* Like options__parse(); in any case the caller frees `common`. */
int dump_options__parse(struct dump_options *o, int argc, char **argv, unsigned int flags);

/* For people.  `again`: this is not the first dump of the process.  `all`: also what is equal is shown one by one.
 * 0, or -ENOMEM; errors of the stream are in ferror(to). */
int dump_text__write(const struct extprof_dump_result *r, bool again, bool all, FILE *to);
/* For programs: one object on one line.  0, or -ENOMEM; errors of the stream are in ferror(to). */
int dump_json__write(const struct extprof_dump_result *r, bool again, FILE *to);

/* Its name in quotes, or "main", or its number. */
void dump__write_name(const struct extprof_dump_thread *t, FILE *to);
/* Does it wait for any of the files of an event loop? */
bool dump__is_event_loop(const struct extprof_dump_thread *t);
/* The activity of a thread, in the words that both outputs use: "has GVL", "blocked in read". */
const char *dump__state(const struct extprof_dump_thread *t);
/* The thread with that serial; NULL: there is none. */
const struct extprof_dump_thread *dump__thread(const struct extprof_dump_result *r, uint64_t serial);

#endif /* EXTPROF_CLI_DUMP_H */
