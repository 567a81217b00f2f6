/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For options.py.  print_options help --list COMMAND: the options, as extprof prints them.  Without arguments: kinds and
 * names, with tabs between: format NAME SUFFIX..., timer NAME, group NAME, mode NAME, unit NAME.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/few_options.h"
#include "cli/options.h"
#include "output/output.h"

/* In the place of extprof's, which are not linked here. */
const struct command *const commands[] = { NULL };
const char *argp_program_version;

static const struct {
	const char *name;
	const struct command_line *line;
	const struct argp_option *few;
} lines[] = {
	{ "record", &command_line_record, NULL }, { "top", &command_line_top, NULL }, { "dump", &command_line_dump, NULL },
	{ "stat", &command_line_stat, NULL }, { "diff", &command_line_diff, NULL },
	{ "annotate", &command_line_annotate, NULL }, { "report", &command_line_report, NULL }, { "daemon", &command_line_daemon, NULL }, { "push", &command_line_push, NULL }, { "serve", &command_line_serve, NULL }, { "heatmap", &command_line_heatmap, NULL }, { "doctor", NULL, few_options_none },
	{ "sql", NULL, few_options_sql }, { "verify", NULL, few_options_none }, { "redact", NULL, few_options_redact },
	{ "mcp", NULL, few_options_none },
};

static void print_words(const char *label, enum extprof_words kind)
{
	for (size_t i = 0; extprof_word(kind, i); i++)
		printf("%s\t%s\n", label, extprof_word(kind, i));
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (argc == 3)
			printf("%s\tthe command %s\n", lines[i].name, lines[i].name);
		else if (lines[i].line && !strcmp(argv[3], lines[i].name))
			options__list(lines[i].line, stdout);
		else if (!strcmp(argv[3], lines[i].name))
			few_options__list(lines[i].few, stdout);
	}
	if (argc > 2)
		return 0;
	for (int i = 0; output_formats[i]; i++) {
		printf("format\t%s", output_formats[i]->name);
		for (int j = 0; j < 3 && output_formats[i]->suffixes[j]; j++)
			printf("\t%s", output_formats[i]->suffixes[j]);
		printf("\n");
	}
	print_words("timer", EXTPROF_TIMERS);
	print_words("group", EXTPROF_GROUPS);
	print_words("mode", EXTPROF_MODES);
	print_words("unit", EXTPROF_UNITS);
	return 0;
}
