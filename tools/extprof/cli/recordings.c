/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof sql and verify: what is asked of a recording in a file. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/confined.h"
#include "cli/messages.h"
#include "cli/recorded.h"

/* -- sql --------------------------------------------------------------------------------------- */

struct sql_options {
	const char *file, *sql;
	const char *separator;
	bool bare;
};

static error_t parse_sql(int key, char *arg, struct argp_state *state)
{
	struct sql_options *o = state->input;

	switch (key) {
	case 'H':
		o->bare = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->sql)
			argp_error(state, "it takes a recording and a statement: is the statement in quotes?");
		*(o->file ? &o->sql : &o->file) = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->sql)
			argp_error(state, "it takes a recording and a statement");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct printer {
	bool bare;		/* without names of columns */
	bool named;
};

static int print_row(void *context, int columns, const char *const *values)
{
	struct printer *p = context;
	bool names = !p->named;

	p->named = true;
	if (names && p->bare)
		return 0;
	for (int i = 0; i < columns; i++)
		printf("%s%s", i ? "\t" : "", values[i] ? values[i] : "");
	printf("\n");
	return ferror(stdout) ? -EIO : 0;
}

static int sql(int argc, char **argv, bool implied)
{
	static const struct argp argp = {
		.options = few_options_sql, .parser = parse_sql, .args_doc = "RECORDING STATEMENT",
		.doc = "Ask a recording in SQL, with a tab between columns.\v"
		       "The table `samples` has a row for each sample; docs/recording.md lists its columns, the other tables, "
		       "the table `requests`, and the views top_methods, top_lines, gc_by_method, lock_waits, lock_holders, "
		       "states_by_thread, idle_threads and idle_pool.\n"
		       "  extprof sql a.extprof 'SELECT * FROM top_methods LIMIT 10'\n",
	};
	struct sql_options o = { 0 };
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_recorded *r;
	struct confined rights = { .inputs = &o.file, .input_count = 1 };
	struct printer p = { 0 };
	int status;

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	status = confined__enter(&rights);
	if (!status)
		status = recorded__open(&r, o.file);
	if (status)
		return status;
	p.bare = o.bare;
	if (extprof_recorded_sql(r, o.sql, print_row, &p, &e) && e.text[0])
		status = message__fail(&e);
	extprof_recorded_close(r);
	return message__flush(status);
}

/* -- verify ------------------------------------------------------------------------------------ */

struct verify_options {
	char **files;
	int count;
};

static error_t parse_verify(int key, char *arg, struct argp_state *state)
{
	struct verify_options *o = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_ARGS:
		o->files = state->argv + state->next;
		o->count = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which recording? Name its file");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int verify_one(const char *file)
{
	struct extprof_recorded_check check = { .size = sizeof(check) };
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_recorded *r;
	char clean[PATH_MAX];
	int status = recorded__open(&r, file);

	if (status)
		return status;
	extprof_clean(clean, sizeof(clean), file);
	if (extprof_recorded_verify(r, &check, &e)) {
		/* Of several it is to be seen which one. */
		fprintf(stderr, "extprof: %s is not right\n", clean);
		status = message__fail(&e);
	} else {
		printf("%s: all right: %" PRIu64 " samples of %.1f s in %" PRIu64 " blocks, %.2f bytes each\n", clean,
		       check.samples, (double)check.duration / 1e9, check.blocks,
		       check.samples ? (double)check.bytes / (double)check.samples : 0);
	}
	extprof_recorded_close(r);
	return status;
}

static int verify(int argc, char **argv, bool implied)
{
	static const struct argp argp = {
		.parser = parse_verify, .args_doc = "RECORDING...",
		.doc = "Check each page, row and block of recordings.\v"
		       "Exit status: 0 if all of them are right, else 74. All of them are checked. A "
		       "recording that did not end is right if what it has is; a message says so.",
	};
	struct verify_options o = { 0 };
	struct confined rights = { 0 };
	int status;

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	rights.inputs = (const char *const *)o.files;
	rights.input_count = (unsigned int)o.count;
	status = confined__enter(&rights);
	if (status)
		return status;
	for (int i = 0; i < o.count; i++) {
		int of_it = verify_one(o.files[i]);

		status = status ? status : of_it;
		/* Messages and results are in order also where both go into one pipe. */
		fflush(stdout);
	}
	return message__flush(status);
}

const struct command command_sql = {
	.name = "sql",
	.summary = "ask a recording in SQL",
	.few = few_options_sql,
	.run = sql,
	.power = POWER_FILES,
};

const struct command command_verify = {
	.name = "verify",
	.summary = "check that a recording is whole",
	.few = few_options_none,
	.run = verify,
	.power = POWER_FILES,
};
