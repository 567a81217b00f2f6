/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for the commands that read recordings. */
#ifndef EXTPROF_CLI_RECORDED_H
#define EXTPROF_CLI_RECORDED_H

#include <argp.h>
#include <stdio.h>

#include "cli/options.h"
#include "extprof.h"

/* Open it, and say what is missing of it.  The exit status; message__fail() was called. */
int recorded__open(struct extprof_recorded **r, const char *file);

/* For the parser of a command whose argument is one recording: take its name. */
error_t recorded__take_argument(int key, char *arg, struct argp_state *state, const char **file);

/* Print what is missing of the recording that was opened last, if something is. */
void recorded__say_what_is_missing(const struct extprof_recorded *r, const char *file);

/*
 * Have something written to a file that appears whole or not at all, or to standard output (path NULL or "-").  `write`
 * returns 0, or a negative errno with *e.  0 or negative errno with *e.
 */
int recorded__write(const char *path, int (*write)(void *context, FILE *to, struct extprof_error *e), void *context,
		    struct extprof_error *e);

/*
 * Have each file of -o written, or standard output (NULL).  `prepare` chooses what is written to it, and `write` writes it.
 * All are prepared once before the first one is written.  The exit status of the first that fails.
 */
int recorded__write_each(const struct options *o, int (*prepare)(void *context, const struct options *o, const char *file),
			 int (*write)(void *context, FILE *to, struct extprof_error *e), void *context);

/* The exit status: refused if what would be written is one of the files that are read. */
int recorded__check_output(const char *path, const char *const *inputs, unsigned int count);

struct recorded_suffix {
	const char *suffix, *format;
};

/* The format of what is written to the path, by --format (NULL: not given) or its suffix; `known` ends with NULL.  Standard
 * output has text.  NULL: it has no suffix of a format, and a message was printed. */
const char *recorded__format(const char *path, const char *chosen, const struct recorded_suffix *known);

/* Does the path end in .html or .htm? */
bool recorded__is_html(const char *path);
/* Does it end in .gz? */
bool recorded__is_gzip(const char *path);
/* Columns that a row may have: $COLUMNS, or those of the terminal; 0: as many as it needs. */
unsigned int recorded__width_of(int fd);
/* The same of standard output. */
unsigned int recorded__width(void);

#endif /* EXTPROF_CLI_RECORDED_H */
