/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <math.h>

#include "wire/thinning.h"

#define TICKS 1000000

static const struct {
	uint32_t rate, hz;
} cases[] = {
	{ 1, 250 }, { 10, 250 }, { 50, 250 }, { 99, 250 }, { 100, 250 }, { 125, 250 }, { 126, 250 },
	{ 200, 250 }, { 249, 250 }, { 250, 250 }, { 99, 100 }, { 100, 100 }, { 99, 300 }, { 299, 300 },
	{ 99, 1000 }, { 500, 1000 }, { 999, 1000 }, { 1, 1 },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

TEST(thinning_takes_as_many_as_it_should)
{
	for (size_t i = 0; i < CASES; i++) {
		double share = (double)cases[i].rate / cases[i].hz, worst = 0;
		struct thinning t;
		uint64_t taken = 0;

		thinning__init(&t, cases[i].hz, i);
		for (uint64_t n = 1; n <= TICKS; n++) {
			int is = thinning__take(&t, cases[i].rate, cases[i].hz);

			if (is < 0 || is > 1 || t.at >= cases[i].hz || t.point >= cases[i].hz)
				test__fail(__FILE__, __LINE__, "case %zu: tick %llu gives %d", i,
					   (unsigned long long)n, is);
			taken += (uint64_t)is;
			worst = fmax(worst, fabs((double)taken - (double)n * share));
		}
		/* At any time, not only in the end. */
		if (worst > 1 + 1e-6)
			test__fail(__FILE__, __LINE__, "%u of %u: up to %.2f off", cases[i].rate,
				   cases[i].hz, worst);
	}
}

TEST(thinning_at_the_rate_of_the_tick_takes_each)
{
	struct thinning t;

	thinning__init(&t, 250, 7);
	for (int n = 0; n < TICKS; n++)
		CHECK(thinning__take(&t, 250, 250));
}

#define PERIOD_MAX 25

/* `period` tasks that take turns, in order or at random: each has its share of
 * the samples, also at a rate that is in step with them. */
static void shared(uint32_t rate, uint32_t hz, int period, bool random)
{
	uint64_t had[PERIOD_MAX] = { 0 }, taken[PERIOD_MAX] = { 0 };
	double share = (double)rate / hz;
	struct thinning t;

	thinning__init(&t, hz, (uint64_t)rate * 31 + (uint64_t)period);
	for (int n = 0; n < TICKS; n++) {
		int task = random ? (int)(test__random() % (uint32_t)period) : n % period;

		had[task]++;
		taken[task] += (uint64_t)thinning__take(&t, rate, hz);
	}
	for (int task = 0; task < period; task++) {
		double expected = (double)had[task] * share;

		/* Five standard deviations of independent draws. */
		if (fabs((double)taken[task] - expected) > 5 * sqrt(expected * (1 - share)) + 2)
			test__fail(__FILE__, __LINE__, "%u of %u, task %d of %d%s: %llu, not %.1f", rate,
				   hz, task, period, random ? " at random" : "",
				   (unsigned long long)taken[task], expected);
	}
}

TEST(thinning_is_not_in_step_with_a_task)
{
	static const int periods[] = { 2, 3, 4, 5, 10, PERIOD_MAX };

	for (size_t i = 0; i < CASES; i++) {
		for (size_t j = 0; j < sizeof(periods) / sizeof(periods[0]); j++) {
			shared(cases[i].rate, cases[i].hz, periods[j], false);
			shared(cases[i].rate, cases[i].hz, periods[j], true);
		}
	}
}

/* A short task has few ticks on many CPUs: no CPU begins with a sample, and none begins late. */
TEST(thinning_begins_anywhere)
{
	int taken = 0, cpus = 100000, ticks = 3;

	for (int cpu = 0; cpu < cpus; cpu++) {
		struct thinning t;

		thinning__init(&t, 250, (uint64_t)cpu * 0x9e3779b97f4a7c15ull);
		for (int n = 0; n < ticks; n++)
			taken += thinning__take(&t, 20, 250);
	}
	CHECK(fabs(taken - cpus * ticks * 0.08) < 5 * sqrt(cpus * ticks * 0.08));
}
