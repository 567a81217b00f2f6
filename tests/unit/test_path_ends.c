/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of paths: by the definition of what is wanted, of random paths. */
#include "test.h"

#include "profile/path_ends.h"

#define PATHS 40

static char paths[PATHS][24];

static bool begins_a_part(const char *path, size_t start)
{
	return !start || path[start - 1] == '/';
}

/* Is the end of one path, from there on, an end of another one? */
static bool is_shared(uint32_t path, size_t start, uint32_t count)
{
	size_t length = strlen(paths[path] + start);

	for (uint32_t i = 0; i < count; i++) {
		size_t other = strlen(paths[i]);

		if (i != path && other >= length && !strcmp(paths[i] + other - length, paths[path] + start) &&
		    begins_a_part(paths[i], other - length))
			return true;
	}
	return false;
}

static uint32_t make_paths(void)
{
	uint32_t count = 0;

	while (count < PATHS) {
		uint32_t length = 1 + test__random() % 9;
		bool again = false;

		memset(paths[count], 0, sizeof(paths[count]));
		for (uint32_t i = 0; i < length; i++)
			paths[count][i] = "ab/"[test__random() % 3];
		for (uint32_t i = 0; i < count; i++)
			again |= !strcmp(paths[i], paths[count]);
		count += !again;
	}
	return count;
}

TEST(path_ends_are_the_shortest_that_differ)
{
	int whole = 0, shorter = 0;

	for (int round = 0; round < 500; round++) {
		uint32_t count = make_paths(), starts[PATHS];
		const char *list[PATHS];

		for (uint32_t i = 0; i < count; i++)
			list[i] = paths[i];
		CHECK_INT(path_ends__find(list, count, starts), 0);
		for (uint32_t i = 0; i < count; i++) {
			const char *path = paths[i];

			CHECK(path[starts[i]]);
			CHECK(begins_a_part(path, starts[i]));
			/* Different from all others, but for a whole path that is an end of another. */
			CHECK(!is_shared(i, starts[i], count) || !starts[i]);
			for (uint32_t j = 0; j < i; j++)
				CHECK(strcmp(path + starts[i], paths[j] + starts[j]));
			whole += !starts[i];
			shorter += starts[i] > 0;
			/* Each shorter end that begins a name is shared. */
			for (size_t at = starts[i] + 1; path[at]; at++)
				if (begins_a_part(path, at) && path[at] != '/')
					CHECK(is_shared(i, at, count));
		}
	}
	CHECK(whole > 1000 && shorter > 1000);
}

TEST(path_ends_of_many_paths_take_no_time)
{
	enum { COUNT = 20000 };
	static char text[COUNT][32];
	static const char *list[COUNT];
	static uint32_t starts[COUNT];

	for (uint32_t i = 0; i < COUNT; i++) {
		snprintf(text[i], sizeof(text[i]), "/lib/%u/a/b/c/init.rb", i);
		list[i] = text[i];
	}
	CHECK_INT(path_ends__find(list, COUNT, starts), 0);
	for (uint32_t i = 0; i < COUNT; i++)
		CHECK_INT(starts[i], 5);
	CHECK_INT(path_ends__find(list, 1, starts), 0);
	CHECK_STRING(list[0] + starts[0], "init.rb");
	CHECK_INT(path_ends__find(list, 0, starts), 0);
}
