/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/path_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVAL "(eval at "

struct ends {
	const char *const *paths;
	const uint32_t *lengths;
};

/* The rank of the byte at `back` from the end of a path.  In this order paths with the same last parts are
 * neighbours. */
static int rank(const char *path, uint32_t length, uint32_t back)
{
	if (back == length)
		return -2;
	return path[length - 1 - back] == '/' ? -1 : (unsigned char)path[length - 1 - back];
}

static int from_the_end(const void *a, const void *b, void *context)
{
	const struct ends *e = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint32_t shorter = e->lengths[i] < e->lengths[j] ? e->lengths[i] : e->lengths[j];

	for (uint32_t back = 0; back <= shorter; back++) {
		int x = rank(e->paths[i], e->lengths[i], back);
		int y = rank(e->paths[j], e->lengths[j], back);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

/* Length of the longest end that both have. */
static uint32_t common(const struct ends *e, uint32_t i, uint32_t j)
{
	uint32_t longest = 0;

	for (uint32_t back = 0;; back++) {
		int x = rank(e->paths[i], e->lengths[i], back);
		int y = rank(e->paths[j], e->lengths[j], back);

		if (x < 0 && y < 0)
			longest = back;
		if (x != y || x == -2)
			return longest;
	}
}

/* Where the end of the path begins that is one part longer than `length`. */
static uint32_t longer(const char *path, uint32_t path_length, uint32_t length)
{
	uint32_t start = path_length - length;

	if (!start)
		return 0;
	/* A slash before what is in common, or at the end of the path, is no part. */
	do {
		start--;
	} while (start && (path[start] == '/' || path[start - 1] != '/'));
	return start;
}

int path_ends__find(const char *const *paths, uint32_t count, uint32_t *starts)
{
	uint32_t *lengths = malloc((count + 1u) * sizeof(*lengths));
	uint32_t *order = malloc((count + 1u) * sizeof(*order));
	struct ends e = { .paths = paths, .lengths = lengths };
	uint32_t before = 0;

	if (!lengths || !order) {
		free(lengths);
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		lengths[i] = (uint32_t)strlen(paths[i]);
		order[i] = i;
	}
	qsort_r(order, count, sizeof(*order), from_the_end, &e);
	/* No path has more in common with one than its neighbours have. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t after = i + 1 < count ? common(&e, order[i], order[i + 1]) : 0;

		starts[order[i]] = longer(paths[order[i]], lengths[order[i]], before > after ? before : after);
		before = after;
	}
	free(lengths);
	free(order);
	return 0;
}

void path_ends__add(const char *path, uint32_t start, struct text *out)
{
	size_t at = 0;

	while (at + strlen(EVAL) <= start && !strncmp(path + at, EVAL, strlen(EVAL)))
		at += strlen(EVAL);
	text__add(out, path, at);
	text__adds(out, path + start);
}
