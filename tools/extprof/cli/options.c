/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/words.h"

/* argp's key of an option without a letter, and more. */
#define KEY_FIRST 0x100

/* A file of that name is a recording. */
#define RECORDING_SUFFIX ".extprof"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

/* State of the parser besides the options. */
struct parse {
	const struct command_line *line;
	struct options *options;
	bool implied;		/* `record` was left out */
};

static int key_of(const struct option_row *row)
{
	return row->letters[0] ? row->letters[0] : KEY_FIRST + (int)(row - option_rows);
}

/* An option of that command; NULL: it has none of that key. */
static const struct option_row *row_of(const struct command_line *line, int key)
{
	const struct option_row *row = NULL;

	if (key >= KEY_FIRST && key < KEY_FIRST + OPTIONS)
		row = &option_rows[key - KEY_FIRST];
	for (int i = 0; i < OPTIONS && key > 0 && key < 128 && !row; i++)
		if (strchr(option_rows[i].letters, key) && option_rows[i].commands & line->command)
			row = &option_rows[i];
	return row && row->commands & line->command ? row : NULL;
}

/* An option that the command does not have, for a reason of its own; NULL: it is none. */
static const struct option_row *refused_row(const struct command_line *line, int key)
{
	const struct option_row *row = key >= KEY_FIRST && key < KEY_FIRST + OPTIONS ? &option_rows[key - KEY_FIRST] : NULL;

	return row && row->refused_in & line->command ? row : NULL;
}

/* The words that an option takes: "a, b or c".  The caller frees it.  NULL: out of memory, or it takes any text. */
static char *words_of(const struct option_row *row)
{
	return !row->has_words ? NULL : row->choices ? strdup(row->choices) : words__all(row->words);
}

/* The filter of argp: a text of the table with its words. */
static char *fill_in(int key, const char *text, void *input)
{
	const struct parse *p = input;
	const struct option_row *row = text && p ? row_of(p->line, key) : NULL;
	const char *at = row ? strstr(text, "%s") : NULL;
	char *words = at ? words_of(row) : NULL, *result;

	if (!words || asprintf(&result, "%.*s%s%s", (int)(at - text), text, words, at + 2) < 0)
		result = NULL;
	free(words);
	return result ? result : (char *)(uintptr_t)text;
}

/* -- the parts of a command line ------------------------------------------------------------------ */

static error_t library_says(int err, const struct extprof_error *e, struct argp_state *state)
{
	if (err != -ENOMEM)
		FAIL("%s", e->text);
	argp_failure(state, STATUS_INTERNAL, ENOMEM, "cannot keep the options");
	return ENOMEM;
}

bool options__is_recording(const char *file)
{
	size_t length = strlen(file), suffix = strlen(RECORDING_SUFFIX);

	return length > suffix && !strcmp(file + length - suffix, RECORDING_SUFFIX);
}

static error_t add_output(struct options *o, const char *file, bool records, struct argp_state *state)
{
	if (records && options__is_recording(file) && o->recording_file)
		FAIL("one recording is written, not two: %s and %s", o->recording_file, file);
	if (records && options__is_recording(file)) {
		o->recording_file = file;
		return 0;
	}
	if (o->output_count >= OPTIONS_OUTPUTS)
		FAIL("at most %u files can be written from one recording", OPTIONS_OUTPUTS);
	for (unsigned int i = 0; i < o->output_count; i++)
		if (!strcmp(o->outputs[i].file, file))
			FAIL("-o %s is there twice", file);
	o->outputs[o->output_count++].file = file;
	return 0;
}

error_t options__check_formats(const struct options *o, enum option_id format, struct argp_state *state)
{
	if (o->output_count > 1 && o->values[format].given)
		FAIL("--format says one format, and there are several files: leave it out, the suffixes say their formats");
	return 0;
}

int options__add_file(struct options *o, const char *file)
{
	/* A power of two is full. */
	if (!(o->file_count & (o->file_count - 1))) {
		const char **files = reallocarray(o->files, o->file_count ? 2 * o->file_count : 1, sizeof(*files));

		if (!files)
			return -ENOMEM;
		o->files = files;
	}
	o->files[o->file_count++] = file;
	return 0;
}

error_t options__need_files(struct options *o, struct argp_state *state)
{
	if (o->file_count)
		return 0;
	if (access(EXTPROF_FOLDER, F_OK))
		FAIL("which recording? Name its file, or its folder: the daemon's, " EXTPROF_FOLDER ", is not there");
	return options__add_file(o, EXTPROF_FOLDER) ? ENOMEM : 0;
}

/* A recording that is read. */
static error_t add_file(struct options *o, const struct command_line *line, const char *file, struct argp_state *state)
{
	if (o->file_count == line->files_most)
		FAIL("it takes %u argument%s at most, and %s is one more", line->files_most, line->files_most == 1 ? "" : "s", file);
	return options__add_file(o, file) ? ENOMEM : 0;
}

static error_t add_filter(struct options *o, const char *filter, struct argp_state *state)
{
	if (o->filter_count == OPTIONS_FILTERS)
		FAIL("there are more than %u filters", OPTIONS_FILTERS);
	o->filters[o->filter_count++] = filter;
	return 0;
}

static error_t add_trace(struct options *o, const char *id, struct argp_state *state)
{
	if (strlen(id) != 32 || strspn(id, "0123456789abcdefABCDEF") != 32)
		FAIL("--trace=%s: the id of a trace is 32 hexadecimal digits", id);
	if (*o->trace)
		FAIL("--trace is given twice");
	snprintf(o->trace, sizeof(o->trace), "trace=%s", id);
	return add_filter(o, o->trace, state);
}

static error_t add_header(struct options *o, char *header, struct argp_state *state)
{
	if (o->header_count == OPTIONS_HEADERS)
		FAIL("there are more than %u headers", OPTIONS_HEADERS);
	o->headers[o->header_count++] = header;
	return 0;
}

static error_t show_help(const struct parse *p, const char *how, struct argp_state *state)
{
	if (how && strcmp(how, "all"))
		FAIL("--help=%s: --help is the options that are used most, --help=all is all of them", how);
	if (state->flags & ARGP_NO_EXIT)
		return 0;
	if (how)
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
	else
		options__help(p->line, state->name, stdout);
	exit(message__flush(STATUS_OK));
}

static error_t take_option(const struct parse *p, const struct option_row *row, char *arg, struct argp_state *state)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct options *o = p->options;
	const char *value = row->means ? row->means : arg;
	const struct option_row *meant = row->means ? &option_rows[row->same] : row;
	enum option_id id = (enum option_id)(meant - option_rows);
	char why[256];
	int err;

	if (id == OPTION_HELP)
		return show_help(p, arg, state);
	if (id == OPTION_USAGE)
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
	if (id == OPTION_VERSION && !(state->flags & ARGP_NO_EXIT)) {
		puts(argp_program_version);
		exit(message__flush(STATUS_OK));
	}
	if (option__parse(meant, value, &o->values[id].number, why, sizeof(why)))
		FAIL("%s", why);
	o->values[id].given = true;
	o->values[id].text = value;
	if ((id == OPTION_OUTPUT && p->line->command == OPTION_OF_RECORD) || id == OPTION_TO || id == OPTION_TO_PAGE || id == OPTION_TO_PROFILE)
		return add_output(o, arg, id == OPTION_OUTPUT, state);
	if (id == OPTION_WHERE)
		return add_filter(o, arg, state);
	if (id == OPTION_TRACE)
		return add_trace(o, arg, state);
	if (id == OPTION_HEADER)
		return add_header(o, arg, state);
	if (!meant->field)
		return 0;
	err = extprof_options_set(o->chosen, meant->field, value, &e);
	return err ? library_says(err, &e, state) : 0;
}

/* Is something chosen, and only once? */
static error_t choose_processes(const struct parse *p, struct argp_state *state)
{
	struct extprof_recording_options *r = &p->options->recording;
	char *const *command = p->options->command;
	const char *verb = p->line->verb;
	bool is_dump = p->line->command == OPTION_OF_DUMP;
	char past[32];

	/* With --at the arguments are recordings. */
	if (p->options->values[OPTION_AT].given)
		return 0;
	snprintf(past, sizeof(past), is_dump ? "%sn" : "%sd", verb);
	if (r->name && !*r->name)
		FAIL("the pattern of --name is empty: nothing has such a name");
	/* Conditions alone choose among all. */
	if (!r->pid_count && !command && (r->by_user || r->name || r->cgroup))
		r->all = true;
	if (is_dump && p->options->values[OPTION_CORE].given && !r->pid_count && !r->all)
		return 0;
	if (!r->pid_count && !command && !r->all)
		FAIL("what is to be %s? -p PID, -a, or %s", past, is_dump ? "--core FILE" : "-- COMMAND");
	if (r->pid_count && command)
		FAIL("-p says what to %s, and so does the command %s: leave one of them out", verb, command[0]);
	if (!p->options->values[OPTION_SUBPROCESSES].given)
		r->subprocesses = command != NULL;
	return 0;
}

static error_t finish(const struct parse *p, struct argp_state *state)
{
	error_t err;

	p->options->recording = *extprof_options_get(p->options->chosen);
	if (p->options->file_count < p->line->files_least)
		FAIL("%s", p->line->missing);
	/* Files are given instead of processes. */
	err = p->line->files_most ? 0 : choose_processes(p, state);
	return err ? err : p->line->finish(p->options, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;
	const struct option_row *row = row_of(p->line, key);

	if (row)
		return take_option(p, row, arg, state);
	row = refused_row(p->line, key);
	if (row)
		FAIL("--%s is no option here: %s", row->name, row->refusal);
	if (key == ARGP_KEY_ARG && p->line->files_most)
		return add_file(p->options, p->line, arg, state);
	if (key == ARGP_KEY_ARG && p->line->command == OPTION_OF_DUMP)
		FAIL("\"%s\" is no option; a process is given as -p PID", arg);
	if (key == ARGP_KEY_END)
		return finish(p, state);
	if (key != ARGP_KEY_ARGS || p->line->files_most)
		return ARGP_ERR_UNKNOWN;
	p->options->command = state->argv + state->next;
	if (p->implied && !state->quoted)
		FAIL("\"%s\" is no option; to run and profile it: extprof record -- %s", p->options->command[0],
		     p->options->command[0]);
	return 0;
}

/* -- the table as argp has it ------------------------------------------------------------------------ */

/* Titles of the groups, options, their other letters, and the end. */
#define ARGP_ROWS (OPTION_GROUPS + 2 * OPTIONS + 1)

static void fill_table(const struct command_line *line, struct argp_option to[static ARGP_ROWS])
{
	size_t n = 0;

	memset(to, 0, ARGP_ROWS * sizeof(*to));
	for (int group = 0; group < OPTION_GROUPS; group++) {
		to[n++] = (struct argp_option){ .doc = option_group_titles[group], .group = group + 1 };
		for (int i = 0; i < OPTIONS; i++) {
			const struct option_row *row = &option_rows[i];

			if ((int)row->group == group && row->refused_in & line->command)
				to[n++] = (struct argp_option){
					.name = row->name, .key = key_of(row), .arg = row->argument, .flags = OPTION_HIDDEN, .group = group + 1,
				};
			if ((int)row->group != group || !(row->commands & line->command))
				continue;
			to[n++] = (struct argp_option){
				.name = row->name, .key = key_of(row), .arg = row->argument, .doc = row->help,
				.flags = row->optional ? OPTION_ARG_OPTIONAL : 0, .group = group + 1,
			};
			for (const char *more = row->letters; *more && more[1]; more++)
				to[n++] = (struct argp_option){
					.key = more[1], .flags = OPTION_ALIAS, .group = group + 1,
				};
		}
	}
}

int options__parse(struct options *o, const struct command_line *line, int argc, char **argv, unsigned int flags)
{
	struct argp_option rows[ARGP_ROWS];
	struct parse p = { .line = line, .options = o, .implied = flags & OPTIONS_IMPLIED };
	struct argp argp = {
		.options = rows, .parser = parse_option, .args_doc = line->arguments, .help_filter = fill_in,
	};
	unsigned int argp_flags = ARGP_NO_HELP | (line->command == OPTION_OF_DUMP || line->files_most ? 0 : ARGP_IN_ORDER);
	char *doc = NULL;
	int err;

	memset(o, 0, sizeof(*o));
	fill_table(line, rows);
	if (extprof_options_create(&o->chosen) ||
	    asprintf(&doc, "%s\n\vExamples:\n%s\n%s", line->about, line->examples, line->notes) < 0)
		return -ENOMEM;
	argp.doc = doc;
	if (flags & OPTIONS_QUIETLY)
		argp_flags |= ARGP_NO_EXIT | ARGP_NO_ERRS;
	if (flags & OPTIONS_STAY)
		argp_flags |= ARGP_NO_EXIT;
	argp_err_exit_status = STATUS_USAGE;
	err = argp_parse(&argp, argc, argv, argp_flags, NULL, &p);
	free(doc);
	return -err;
}

void options__free(struct options *o)
{
	extprof_options_destroy(o->chosen);
	free(o->formats);
	free(o->files);
	o->chosen = NULL;
	o->formats = NULL;
	o->files = NULL;
	o->file_count = 0;
}

uint64_t options__number(const struct options *o, enum option_id id, uint64_t fallback)
{
	return o->values[id].given ? o->values[id].number : fallback;
}

bool options__has(const struct options *o, enum option_id id)
{
	return o->values[id].number;
}

/* -- help and lists --------------------------------------------------------------------------------- */

void options__list(const struct command_line *line, FILE *to)
{
	for (int i = 0; i < OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];
		const char *word;

		if (!(row->commands & line->command))
			continue;
		fprintf(to, "%s\t%s\t%s\t", row->letters, row->name, row->argument ? row->argument : "");
		for (const char *c = row->choices; c && *c; c++)
			putc(*c == ',' ? ' ' : *c, to);
		for (size_t n = 0; row->has_words && !row->choices && (word = extprof_word(row->words, n)); n++)
			fprintf(to, "%s%s", n ? " " : "", word);
		fprintf(to, "\t%s\t%s\n", row->fallback ? row->fallback : "", row->brief);
	}
}

void options__help(const struct command_line *line, const char *name, FILE *to)
{
	const char *example = line->examples;

	for (const char *form = line->arguments; *form;) {
		int length = (int)strcspn(form, "\n");

		fprintf(to, "%s%s [OPTION...] %.*s\n", form == line->arguments ? "Usage: " : "  or:  ", name, length, form);
		form += length + (form[length] == '\n');
	}
	fprintf(to, "%s\n\n", line->about);
	for (int i = 0; i < OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];
		char names[40];

		if (!(row->brief_in & line->command))
			continue;
		snprintf(names, sizeof(names), "--%s%s%s", row->name, row->argument ? " " : "",
			 row->argument ? row->argument : "");
		fprintf(to, "  %c%c%c %-18s  %s\n", row->letters[0] ? '-' : ' ', row->letters[0] ? row->letters[0] : ' ',
			row->letters[0] ? ',' : ' ', names, row->brief);
	}
	putc('\n', to);
	for (int i = 0; i < 2 && *example; i++) {
		int length = (int)strcspn(example, "\n");

		fprintf(to, "%.*s\n", length, example);
		example += length + (example[length] == '\n');
	}
	fprintf(to, "%s --help=all shows all options.  See extprof(1).\n", name);
}
