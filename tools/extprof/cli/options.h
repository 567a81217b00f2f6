/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines, by the table of options (options/table.h). */
#ifndef EXTPROF_OPTIONS_H
#define EXTPROF_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "extprof.h"
#include "options/table.h"
#include "send/header.h"

/* Limit of the files that are written from one recording. */
#define OPTIONS_OUTPUTS 8
/* Limits of commands that read recordings. */
#define OPTIONS_FILES 10000
#define OPTIONS_FILTERS 16u
/* Headers of requests that are sent. */
#define OPTIONS_HEADERS HEADERS_MAX
/* Bytes of one trigger, and of all of them. */
#define OPTIONS_TRIGGER 80u
#define OPTIONS_MARKS 1280u

struct output_choice {
	const char *file, *format;
	bool html;
};

struct options {
	/* All but `command` and `interrupt_fd`; points into `chosen`. */
	struct extprof_recording_options recording;
	struct extprof_options *chosen;
	/* The last value of each option, which has been parsed. */
	struct {
		bool given;
		const char *text;	/* NULL: a flag */
		uint64_t number;	/* option__parse() */
	} values[OPTIONS];
	char **command;			/* ends with NULL; NULL: none */
	struct output_choice outputs[OPTIONS_OUTPUTS];	/* of -o */
	const char *recording_file;	/* -o FILE.extprof; NULL: none */
	unsigned int output_count;
	const char **files;		/* recordings that are read, of the command line */
	unsigned int file_count;
	const char *filters[OPTIONS_FILTERS];	/* of these recordings */
	char trace[48];		/* one of them, if --trace was given */
	unsigned int filter_count;
	char *headers[OPTIONS_HEADERS];	/* of --header, as they are in argv */
	unsigned int header_count;
	char *formats;			/* of these, with commas; NULL: none */
	char stuck[OPTIONS_TRIGGER];	/* daemon: the trigger of that name; "": none */
	char marks[OPTIONS_MARKS];	/* and those of its recording, with commas */
};

/* The command line of one command. */
struct command_line {
	unsigned int command;		/* OPTION_OF_... */
	const char *about;		/* what it does, one line */
	const char *verb;		/* "profile", for messages */
	const char *arguments;		/* as of argp: "-p PID\n-a" */
	const char *examples;		/* lines; the short help shows two, --help=all shows all */
	const char *notes;		/* for --help=all */
	unsigned int files_least, files_most;	/* arguments: recordings that it reads; 0, 0: it chooses processes */
	const char *missing;		/* what is said if there are fewer */
	/* All options are known: what else must fit?  0, or what argp_error() was told. */
	error_t (*finish)(struct options *o, struct argp_state *state);
};

#define OPTIONS_QUIETLY 1u	/* return where argp would print and exit */
#define OPTIONS_IMPLIED 2u	/* `record` was left out: a command needs -- before it */
#define OPTIONS_STAY 4u		/* print what is wrong, but do not exit */

/*
 * argv[0] is how messages call the command.  0 or -EINVAL, -ENOMEM; in both cases the caller frees
 * with options__free().
 */
int options__parse(struct options *o, const struct command_line *line, int argc, char **argv, unsigned int flags);
void options__free(struct options *o);

/* One more of `files`, which lives as long.  0 or -ENOMEM. */
int options__add_file(struct options *o, const char *file);

/* Has it the name of a recording? */
bool options__is_recording(const char *file);
/* Without a recording: the folder of the daemon.  For `finish`. */
error_t options__need_files(struct options *o, struct argp_state *state);

/* Is that --format one for all of `outputs`?  For `finish`. */
error_t options__check_formats(const struct options *o, enum option_id format, struct argp_state *state);

/* Its number, or that one if it was not given. */
uint64_t options__number(const struct options *o, enum option_id id, uint64_t fallback);
/* Was that flag given? */
bool options__has(const struct options *o, enum option_id id);

extern const struct command_line command_line_record, command_line_top, command_line_stat, command_line_dump,
	command_line_diff, command_line_annotate, command_line_report, command_line_heatmap, command_line_daemon, command_line_push, command_line_serve;

/*
 * The options of a command for completions and tests, a line each with tabs between: letters, name, argument, words with
 * blanks between, the number that counts without it, what it is in short.
 */
void options__list(const struct command_line *line, FILE *to);
/* The short help: the options that are used most. */
void options__help(const struct command_line *line, const char *name, FILE *to);

#endif /* EXTPROF_OPTIONS_H */
