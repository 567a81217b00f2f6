/* SPDX-License-Identifier: BSD-2-Clause */
/* Before and after: the noise of what is known, how often it is exceeded, and what is written. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/diff.h"

/* `count` samples on each side that all stand for `amount`. */
static struct diff equal(uint64_t before, uint64_t after, uint64_t amount)
{
	return (struct diff){
		.all = { before * amount, after * amount }, .squares = (double)(before + after) * (double)(amount * amount),
	};
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* With equal samples it is the test of two proportions. */
TEST(diff_is_the_test_of_two_proportions)
{
	static const uint64_t amounts[] = { 1, 10000000 };

	for (int i = 0; i < 2; i++) {
		uint64_t w = amounts[i];
		struct diff d = equal(1000, 3000, w);
		struct diff_change c = diff__change(&d, 400 * w, 600 * w, 1000.0 * (double)w * (double)w);
		double p = 1000.0 / 4000;

		CHECK(near(c.share[0], 0.4) && near(c.share[1], 0.2));
		CHECK(near(c.noise, DIFF_ERRORS * sqrt(p * (1 - p) * (1.0 / 1000 + 1.0 / 3000))));
		CHECK(c.decided);
		c = diff__change(&d, 400 * w, 1170 * w, 1570.0 * (double)w * (double)w);
		CHECK(near(c.share[1], 0.39) && !c.decided);
		/* What is the same has not changed, whatever it is. */
		c = diff__change(&d, 1000 * w, 3000 * w, 4000.0 * (double)w * (double)w);
		CHECK(!c.decided && c.share[0] == c.share[1]);
		c = diff__change(&d, 0, 0, 0);
		CHECK(!c.decided && c.noise == 0);
	}
}

/* One sample of a long wait says less than a thousand of short ones, though both stand for the same. */
TEST(diff_weighs_what_samples_stand_for)
{
	/* On each side: one wait of 1000 in A, or a thousand of 1 in B, and 8000 of 1 elsewhere. */
	struct diff d = { .all = { 10000, 10000 }, .squares = 2 * (1000.0 * 1000 + 1000 + 8000) };
	struct diff_change wait = diff__change(&d, 1000, 1000, 2 * 1000.0 * 1000);
	struct diff_change short_ones = diff__change(&d, 1000, 1000, 2 * 1000.0);

	/* By the definition: the sum of w^2 (x - p)^2, with p = 0.1. */
	CHECK(near(wait.noise, DIFF_ERRORS * sqrt(2 * (0.9 * 0.9 * 1e6 + 0.1 * 0.1 * 9e3)) / 10000));
	CHECK(near(short_ones.noise, DIFF_ERRORS * sqrt(2 * (0.9 * 0.9 * 1e3 + 0.1 * 0.1 * (1e6 + 8e3))) / 10000));
	CHECK(wait.noise > 5 * short_ones.noise);
}

static uint64_t draw(uint32_t count, double p)
{
	uint64_t hits = 0;

	for (uint32_t i = 0; i < count; i++)
		hits += (double)(test__random() % 1000000) < p * 1e6;
	return hits;
}

/* Of draws of the same shares nearly none is decided, and a true change is. */
TEST(diff_decides_rarely_what_is_the_same)
{
	static const double shares[] = { 0.001, 0.01, 0.1, 0.5, 0.9 };
	uint32_t wrong = 0, missed = 0;

	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 300; j++) {
			struct diff d = equal(500, 1500, 1);
			uint64_t a = draw(500, shares[i]), b = draw(1500, shares[i]);

			wrong += diff__change(&d, a, b, (double)(a + b)).decided;
		}
	}
	for (int j = 0; j < 300; j++) {
		struct diff d = equal(2000, 2000, 1);
		uint64_t a = draw(2000, 0.2), b = draw(2000, 0.3);

		missed += !diff__change(&d, a, b, (double)(a + b)).decided;
	}
	/* 0.1 and less than 1 are expected. */
	CHECK(wrong <= 2);
	CHECK(missed <= 6);
}
