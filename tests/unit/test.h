/* SPDX-License-Identifier: BSD-2-Clause */
/* A test is a function; a failed check ends it and is reported. */
#ifndef TEST_H
#define TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "profile/tree.h"
#include "wire/errors.h"

/* What a sample counts where a test does not care. */
__attribute__((unused)) static const struct weight one_sample = { 1, 1 };

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test__register(struct test *t);
/* Print and note the failure of the current test. */
void test__fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define TEST(id)								\
	static void test_##id(void);						\
	static struct test entry_##id = { .name = #id, .run = test_##id };	\
	__attribute__((constructor)) static void register_##id(void)		\
	{									\
		test__register(&entry_##id);					\
	}									\
	static void test_##id(void)

#define CHECK(condition) do {							\
	if (!(condition)) {							\
		test__fail(__FILE__, __LINE__, "%s", #condition);		\
		return;								\
	}									\
} while (0)

#define CHECK_INT(actual, expected) do {					\
	long long a_ = (long long)(actual), e_ = (long long)(expected);		\
	if (a_ != e_) {								\
		test__fail(__FILE__, __LINE__, "%s is %lld, not %lld", #actual, a_, e_); \
		return;								\
	}									\
} while (0)

#define CHECK_STRING(actual, expected) do {					\
	const char *a_ = (actual), *e_ = (expected);				\
	if (strcmp(a_, e_)) {							\
		test__fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #actual, a_, e_); \
		return;								\
	}									\
} while (0)

/* Reasons that some test has brought about.  A reason that no test brings about is a failure. */
extern uint64_t loss_hit[LOSS_MAX];
extern uint64_t trunc_hit[TRUNC_MAX];

/* The same sequence in every run. */
uint32_t test__random(void);

#endif /* TEST_H */
