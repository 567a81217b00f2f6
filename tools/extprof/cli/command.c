/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/command.h"

#include <string.h>

/* Longer words are no mistyped commands. */
#define NAME_MAX_LENGTH 16
/* Characters that may be wrong, missing, too much or exchanged. */
#define NEAR 2

const struct command *command__by_name(const char *name)
{
	for (int i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* How many characters to insert, delete, replace or exchange with the next one. */
static int distance(const char *a, const char *b)
{
	int m = (int)strlen(a), n = (int)strlen(b);
	int d[NAME_MAX_LENGTH + 1][NAME_MAX_LENGTH + 1];

	for (int i = 0; i <= m; i++) {
		for (int j = 0; j <= n; j++) {
			int other;

			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			other = a[i - 1] != b[j - 1];
			d[i][j] = least(d[i - 1][j - 1] + other,
					least(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[m][n];
}

const struct command *command__nearest(const char *name)
{
	const struct command *nearest = NULL;
	int best = NEAR + 1;

	if (strlen(name) > NAME_MAX_LENGTH)
		return NULL;
	for (int i = 0; commands[i]; i++) {
		int d = distance(name, commands[i]->name);

		/* Half of a short word may not be wrong. */
		if (d < best && 2 * d < (int)strlen(commands[i]->name)) {
			best = d;
			nearest = commands[i];
		}
	}
	return nearest;
}
