/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Print what extprof record takes, for options.py.  Each line is a kind and its fields, with tabs
 * between: option SHORT LONG ARGUMENT, format NAME SUFFIX..., timer NAME, group NAME, mode NAME, unit NAME,
 * view NAME, sort NAME, default LONG VALUE.  An option of another command has the name of the command as its kind.
 */
#include <ctype.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/dump.h"
#include "cli/options.h"
#include "cli/stat.h"
#include "cli/top.h"
#include "output/output.h"

/* In the place of extprof's, which are not linked here. */
const struct command *const commands[] = { NULL };

static void print_table(const char *kind, const struct argp_option *o)
{
	for (; o->name || o->key || o->doc; o++) {
		char letter[] = { o->key < 128 && isprint(o->key) ? (char)o->key : '\0', '\0' };

		if ((o->name || letter[0]) && !(o->flags & OPTION_HIDDEN))
			printf("%s\t%s\t%s\t%s\n", kind, letter, o->name ? o->name : "", o->arg ? o->arg : "");
	}
}

static void print_words(const char *label, enum extprof_words kind)
{
	for (size_t i = 0; extprof_word(kind, i); i++)
		printf("%s\t%s\n", label, extprof_word(kind, i));
}

int main(void)
{
	print_table("option", options_table);
	print_table("dump", dump_options_table);
	print_table("stat", stat_options_table);
	print_table("top", top_options_table);
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
	for (int i = 0; i < TOP_VIEWS; i++)
		printf("view\t%s\n", top_view__name((enum top_view)i));
	for (int i = 0; i < TOP_SORTS; i++)
		printf("sort\t%s\n", top_sort__name((enum top_sort)i));
	printf("default\trate\t%d\ndefault\ttop\t%d\n", EXTPROF_RATE_DEFAULT, EXTPROF_TOP_DEFAULT);
	return 0;
}
