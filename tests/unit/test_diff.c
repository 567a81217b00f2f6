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
		.all = { before * amount, after * amount },
		.squares = { (double)before * (double)(amount * amount), (double)after * (double)(amount * amount) },
	};
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* What so many samples of `amount` on each side say. */
static struct diff_change change(const struct diff *d, uint64_t before, uint64_t after, uint64_t amount)
{
	const double squares[2] = { (double)before * (double)(amount * amount), (double)after * (double)(amount * amount) };

	return diff__change(d, before * amount, after * amount, squares);
}

/* With equal samples it is the test of two proportions. */
TEST(diff_is_the_test_of_two_proportions)
{
	static const uint64_t amounts[] = { 1, 10000000 };

	for (int i = 0; i < 2; i++) {
		uint64_t w = amounts[i];
		struct diff d = equal(1000, 3000, w);
		struct diff_change c = change(&d, 400, 600, w);
		double p = 1000.0 / 4000;

		CHECK(near(c.share[0], 0.4) && near(c.share[1], 0.2));
		CHECK(near(c.noise, DIFF_ERRORS * sqrt(p * (1 - p) * (1.0 / 1000 + 1.0 / 3000))));
		CHECK(c.decided);
		c = change(&d, 400, 1170, w);
		CHECK(near(c.share[1], 0.39) && !c.decided);
		/* What is the same has not changed, whatever it is. */
		c = change(&d, 1000, 3000, w);
		CHECK(!c.decided && c.share[0] == c.share[1]);
		c = change(&d, 0, 0, w);
		CHECK(!c.decided && c.noise == 0);
	}
}

/* One sample of a long wait says less than a thousand of short ones, though both stand for the same. */
TEST(diff_weighs_what_samples_stand_for)
{
	/* On each side: one wait of 1000 in A, or a thousand of 1 in B, and 8000 of 1 elsewhere. */
	const double all = 1000.0 * 1000 + 1000 + 8000, of_wait[2] = { 1e6, 1e6 }, of_short[2] = { 1e3, 1e3 };
	struct diff d = { .all = { 10000, 10000 }, .squares = { all, all } };
	struct diff_change wait = diff__change(&d, 1000, 1000, of_wait);
	struct diff_change short_ones = diff__change(&d, 1000, 1000, of_short);

	/* By the definition: the sum of w^2 (x - p)^2, with p = 0.1. */
	CHECK(near(wait.noise, DIFF_ERRORS * sqrt(2 * (0.9 * 0.9 * 1e6 + 0.1 * 0.1 * 9e3)) / 10000));
	CHECK(near(short_ones.noise, DIFF_ERRORS * sqrt(2 * (0.9 * 0.9 * 1e3 + 0.1 * 0.1 * (1e6 + 8e3))) / 10000));
	CHECK(wait.noise > 5 * short_ones.noise);
}

/* Samples of 10 ms before and of 1 ms after: with a thousand of each that is the test of two proportions, too. */
TEST(diff_takes_the_amount_of_each_side)
{
	struct diff d = { .all = { 10000, 1000 }, .squares = { 1000 * 10.0 * 10, 1000 * 1.0 } };
	const double squares[2] = { 300 * 10.0 * 10, 200 * 1.0 };
	struct diff_change c = diff__change(&d, 3000, 200, squares);
	/* p is by amounts. */
	double p = 3200.0 / 11000;

	CHECK(near(c.share[0], 0.3) && near(c.share[1], 0.2));
	CHECK(near(c.noise, DIFF_ERRORS * sqrt(p * (1 - p) * (1.0 / 1000 + 1.0 / 1000))));
	/* It is on neither side's account that the other one has none of it. */
	c = diff__change(&d, 3000, 0, (const double[]){ 300 * 10.0 * 10, 0 });
	p = 3000.0 / 11000;
	CHECK(near(c.noise, DIFF_ERRORS * sqrt(p * (1 - p) * (1.0 / 1000 + 1.0 / 1000))) && c.decided);
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

			wrong += change(&d, a, b, 1).decided;
		}
	}
	for (int j = 0; j < 300; j++) {
		struct diff d = equal(2000, 2000, 1);
		uint64_t a = draw(2000, 0.2), b = draw(2000, 0.3);

		missed += !change(&d, a, b, 1).decided;
	}
	/* 0.1 and less than 1 are expected. */
	CHECK(wrong <= 2);
	CHECK(missed <= 6);
}
