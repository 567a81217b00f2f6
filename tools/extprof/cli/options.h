/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of extprof record. */
#ifndef EXTPROF_OPTIONS_H
#define EXTPROF_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/selection_options.h"
#include "extprof.h"

struct options {
	/* All but `command` and `interrupt_fd`; points into this structure.  It has been checked. */
	struct extprof_recording_options recording;
	char **command;			/* ends with NULL; NULL: none */
	const char *file;		/* NULL: only the summary */
	const char *format;		/* NULL: the same */
	const char *unit;		/* NULL: those of the modes */
	bool html;
	bool quiet;
	unsigned int top;

	struct selection_options selection;
	char *modes, *states, *syscalls;	/* see words.h */
	const char *events[EXTPROF_EVENTS_MAX];
};

#define OPTIONS_QUIETLY 1u	/* return where argp would print and exit */
#define OPTIONS_IMPLIED 2u	/* `record` was left out: a command needs -- before it */

/*
 * argv[0] is how messages call the command.  0 or -EINVAL, -ENOMEM; in both cases the caller frees
 * with options__free().
 */
int options__parse(struct options *o, int argc, char **argv, unsigned int flags);
void options__free(struct options *o);

/* For the tests: ends with zeros.  %s in a text stands for the values that the option takes. */
extern const struct argp_option options_table[];
/* The filter of argp: the text with these values.  The caller frees it if it is another text. */
char *options__text(int key, const char *text, void *input);
/* Must be one of the words that the option takes.  Units are told apart by their letters alone. */
error_t options__check_word(int key, const char *what, const char *arg, struct argp_state *state);

#endif /* EXTPROF_OPTIONS_H */
