/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof sql and verify: what is asked of recordings in files. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/confined.h"
#include "cli/messages.h"
#include "cli/recorded.h"
#include "cli/recorded_files.h"

/* -- sql --------------------------------------------------------------------------------------- */

struct sql_options {
	struct options span;	/* --since, --until, and the recordings */
	const char *sql;	/* the last argument */
	bool bare;
};

static error_t parse_time(struct sql_options *o, enum option_id id, char *arg, struct argp_state *state)
{
	char why[256];

	if (option__parse(&option_rows[id], arg, &o->span.values[id].number, why, sizeof(why)))
		argp_error(state, "%s", why);
	o->span.values[id].given = true;
	o->span.values[id].text = arg;
	return 0;
}

static error_t parse_sql(int key, char *arg, struct argp_state *state)
{
	struct sql_options *o = state->input;

	switch (key) {
	case 'H':
		o->bare = true;
		return 0;
	case 's':
		return parse_time(o, OPTION_SINCE, arg, state);
	case 'u':
		return parse_time(o, OPTION_UNTIL, arg, state);
	case ARGP_KEY_ARG:
		if (o->sql && options__add_file(&o->span, o->sql))
			return ENOMEM;
		o->sql = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->sql)
			argp_error(state, "it takes recordings, or their folder, and a statement");
		else if (!access(o->sql, F_OK))
			argp_error(state, "%s is a file, and the last argument is the statement: which one?", o->sql);
		for (unsigned int i = 0; i < o->span.file_count; i++)
			if (!strcasecmp(o->span.files[i], "SELECT"))
				argp_error(state, "the statement is one argument: is it in quotes?");
		return options__need_files(&o->span, state);
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

/* One file is asked as it is, if no time of it was chosen. */
static int ask(struct recorded_files *files, const struct sql_options *o, struct printer *p, struct extprof_error *e)
{
	struct extprof_recorded_options times = { .size = sizeof(times) };

	if (o->span.values[OPTION_SINCE].given)
		times.since_at = files->span.since;
	if (o->span.values[OPTION_UNTIL].given)
		times.until_at = files->span.until;
	return extprof_recorded_sql_of(files->recorded, &times, o->sql, print_row, p, e);
}

static int sql(int argc, char **argv, bool implied)
{
	static const struct argp argp = {
		.options = few_options_sql, .parser = parse_sql, .args_doc = "[RECORDING|FOLDER...] STATEMENT",
		.doc = "Ask recordings in SQL, with a tab between columns.\v"
		       "The table `samples` has a row for each sample; docs/recording.md lists its columns, the other tables, "
		       "the table `requests`, and the views top_methods, top_lines, gc_by_method, lock_waits, lock_holders, "
		       "states_by_thread, idle_threads, idle_pool and triggers.  Several recordings are asked as one.  Without a recording the "
		       "folder is " EXTPROF_FOLDER ", where extprof daemon writes.\n"
		       "  extprof sql a.extprof 'SELECT * FROM top_methods LIMIT 10'\n"
		       "  extprof sql --since 02:50 --until 03:10 'SELECT * FROM lock_waits'\n",
	};
	struct sql_options o = { 0 };
	struct extprof_error e = { .size = sizeof(e) };
	struct recorded_files files = { 0 };
	struct confined rights = { 0 };
	struct printer p = { 0 };
	int status = STATUS_USAGE;

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		goto cleanup;
	rights.inputs = o.span.files;
	rights.input_count = o.span.file_count;
	status = confined__enter(&rights);
	if (!status)
		status = recorded_files__open(&files, &o.span, o.span.files, o.span.file_count);
	if (status)
		goto cleanup;
	p.bare = o.bare;
	if (ask(&files, &o, &p, &e) && e.text[0])
		status = message__fail(&e);
	status = recorded_files__status(&files, message__flush(status));
cleanup:
	recorded_files__close(&files);
	free(o.span.files);
	return status;
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
		/* If there are several, it is to be seen which one. */
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
	.summary = "ask recordings in SQL",
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
