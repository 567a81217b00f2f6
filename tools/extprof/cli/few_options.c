/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/few_options.h"

const struct argp_option few_options_none[] = {
	{ 0 }
};

const struct argp_option few_options_sql[] = {
	{ .name = "no-header", .key = 'H', .doc = "without the names of the columns" },
	{ .name = "since", .key = 's', .arg = "TIME", .doc = "samples from then on: 02:50, \"2026-11-27 02:50\", seconds from the begin, -1h" },
	{ .name = "until", .key = 'u', .arg = "TIME", .doc = "samples up to then" },
	{ 0 }
};

const struct argp_option few_options_redact[] = {
	{ .name = "output", .key = 'o', .arg = "FILE", .doc = "the copy; there must be no file of that name" },
	{ .name = "what", .key = 'w', .arg = "LIST", .doc = "paths, argv, labels, traces, host, with commas between (default: all)" },
	{ 0 }
};

/* The words that an option takes, with blanks between. */
static const char *words_of(const struct argp_option *row)
{
	return row->key == 'w' ? "paths argv labels traces host" : "";
}

void few_options__list(const struct argp_option *rows, FILE *to)
{
	for (const struct argp_option *row = rows; row->name; row++)
		fprintf(to, "%c\t%s\t%s\t%s\t\t%s\n", row->key, row->name, row->arg ? row->arg : "", words_of(row), row->doc);
	/* argp has these by itself. */
	fprintf(to, "?\thelp\t\t\t\tshow this\n\tusage\t\t\t\tshow a short usage\nV\tversion\t\t\t\tshow the version\n");
}
