/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line and the outputs of extprof stat. */
#ifndef EXTPROF_CLI_STAT_H
#define EXTPROF_CLI_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/options.h"
#include "extprof.h"

#define STAT_INTERVAL_MIN 10000000u	/* ns */
#define STAT_ROWS_DEFAULT 10

struct stat_options {
	struct options common;
	const char *file;	/* NULL: standard output, or standard error with a command */
	bool json;
	uint64_t top;		/* rows of each table */
	uint64_t interval;	/* ns; 0: only the total */
	uint64_t count;		/* of intervals; 0: no end */
};

/* Like options__parse(); in any case the caller frees `common`. */
int stat_options__parse(struct stat_options *o, int argc, char **argv, unsigned int flags);

/* Data for the output at the end. */
struct stat_result {
	const struct extprof_figures_result *figures;
	struct extprof_report *report;	/* of mode cpu, for the methods; NULL: not known */
	uint64_t own_cpu;			/* of extprof, ns */
	const char *reader;			/* what measured: "ebpf"; NULL: not known */
	const char *ended;			/* why: "Ctrl-C" */
};

/* For people: one line for an interval, and the total.  Errors are in ferror(to). */
/* width: columns of the terminal, which bounds what a line has; 0: there is no bound. */
void stat_text__write_head(unsigned int width, FILE *to);
void stat_text__write_interval(const struct extprof_figures *f, unsigned int width, FILE *to);
void stat_text__write_total(const struct stat_result *r, const struct stat_options *o, FILE *to);

/* For programs: one object on one line.  0, or -ENOMEM; errors of the stream are in ferror(to). */
int stat_json__write_interval(const struct extprof_figures *f, FILE *to);
int stat_json__write_total(const struct stat_result *r, FILE *to);

#endif /* EXTPROF_CLI_STAT_H */
