/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/parser.h"
#include "test.h"

#include <stdarg.h>
#include <stdlib.h>

uint64_t loss_hit[LOSS_MAX];
uint64_t trunc_hit[TRUNC_MAX];

static struct test *tests, **last = &tests;
static int failures;	/* of the current test */

void test__register(struct test *t)
{
	*last = t;
	last = &t->next;
}

void test__fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("  %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	failures++;
}

uint32_t test__random(void)
{
	static uint64_t state = 0x853c49e6748fea9bull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

/* The last test: every reason in errors.def has come up. */
static void every_reason(void)
{
#define LOSS(id, name, key, text) \
	if (!loss_hit[id]) \
		test__fail(__FILE__, __LINE__, "no test loses a sample for %s", key);
#define TRUNC(id, name, key, text) \
	if (!trunc_hit[id]) \
		test__fail(__FILE__, __LINE__, "no test truncates for %s", key);
#include "wire/errors.def"
#undef LOSS
#undef TRUNC
}

int main(int argc, char **argv)
{
	static struct test closing = { .name = "every_reason_was_hit", .run = every_reason };
	const char *only = argc > 1 ? argv[1] : NULL;
	int passed = 0, failed = 0;

	/* This program is built with sanitizers, and the largest file that is parsed. */
	parser__allow(20);
	if (!only)
		test__register(&closing);
	for (struct test *t = tests; t; t = t->next) {
		if (only && !strstr(t->name, only))
			continue;
		failures = 0;
		t->run();
		printf("%s %s\n", failures ? "FAIL" : "ok  ", t->name);
		fflush(stdout);
		if (failures)
			failed++;
		else
			passed++;
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed ? EXIT_FAILURE : EXIT_SUCCESS;
}
