/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <errno.h>

#include "source/timer_cost.h"

#define US 1000ull
#define MS 1000000ull

static struct timer_gaps gaps;

/* Readings of a clock that each take so long, for some time. */
static void run(uint64_t time, uint64_t reading)
{
	for (uint64_t t = 0; t < time; t += reading)
		timer_cost__add(&gaps, reading);
}

/* Interrupts that come in time, as long as they take, with readings between them. */
static void interrupts(unsigned int count, uint64_t length, uint64_t reading)
{
	for (unsigned int i = 0; i < count; i++) {
		timer_cost__add(&gaps, length + reading);
		run(TIMER_COST_PERIOD - length - reading, reading);
	}
}

static uint64_t estimate(void)
{
	uint64_t ns = timer_cost__estimate(&gaps);

	memset(&gaps, 0, sizeof(gaps));
	return ns;
}

TEST(timer_cost_of_interrupts)
{
	interrupts(40, 15 * US, 30);
	CHECK_INT(estimate(), 15 * US);
	interrupts(40, 55 * US, 30);
	CHECK_INT(estimate(), 55 * US);
	interrupts(40, 1 * US, 20);
	CHECK_INT(estimate(), 1 * US);
	/* A clock that is a system call. */
	interrupts(40, 15 * US, 1500);
	CHECK_INT(estimate(), 15 * US);
	/* Some take longer than others: half of them and more. */
	interrupts(17, 90 * US, 30);
	interrupts(23, 40 * US, 30);
	CHECK_INT(estimate(), 40 * US);
}

TEST(timer_cost_beside_other_load)
{
	/* The scheduler's tick, a disk's interrupts, and other programs: they have the CPU
	 * nine tenths of the time, and so does the hypervisor for once. */
	for (int i = 0; i < 8; i++) {
		interrupts(5, 15 * US, 30);
		timer_cost__add(&gaps, 25 * US);
		timer_cost__add(&gaps, 60 * US);
		for (int j = 0; j < 20; j++)
			timer_cost__add(&gaps, 5 * US);
		timer_cost__add(&gaps, 22 * MS);
	}
	timer_cost__add(&gaps, 72 * MS);
	CHECK(gaps.ran > 20 * MS && gaps.ran < 22 * MS);
	CHECK_INT(estimate(), 15 * US);
}

TEST(timer_cost_of_too_little)
{
	struct diag d = { 0 };

	CHECK_INT(estimate(), 0);
	run(2 * MS, 30);
	timer_cost__add(&gaps, 300 * US);
	CHECK_INT(estimate(), 0);
	for (int i = 0; i < 100; i++)
		timer_cost__add(&gaps, 3 * MS);
	CHECK_INT(estimate(), 0);
	/* Few that say something. */
	interrupts(6, 15 * US, 30);
	CHECK_INT(estimate(), 15 * US);
	/* Not known: no more than is safe. */
	CHECK_INT(timer_cost__judge(10000, 0, &d), 0);
	CHECK_INT(timer_cost__judge(10001, 0, &d), -EAGAIN);
	CHECK_INT(d.code, DIAG_USAGE);
}

TEST(timer_cost_keeps_the_longest)
{
	for (uint32_t i = 0; i < 1000; i++)
		timer_cost__add(&gaps, i * 7919 % 1000);
	CHECK_INT(gaps.count, TIMER_COST_COUNT + 1);
	for (uint32_t i = 0; i < gaps.count; i++)
		CHECK_INT(gaps.longest[i], 999 - i);
	CHECK_INT(gaps.ran, 499500);
	estimate();
}

static int judge(uint32_t rate, uint64_t interrupt, struct diag *d)
{
	memset(d, 0, sizeof(*d));
	return timer_cost__judge(rate, interrupt, d);
}

TEST(timer_cost_and_the_rate)
{
	struct diag d;

	/* With the sample 18 us, of which 27,777 are half a second. */
	CHECK_INT(judge(20000, 15 * US, &d), 0);
	CHECK_INT(judge(27777, 15 * US, &d), 0);
	CHECK_INT(judge(27778, 15 * US, &d), -EINVAL);
	CHECK_INT(d.code, DIAG_USAGE);
	CHECK_STRING(d.text, "a rate of 27778 would take more than half of each CPU: here one interrupt of a "
		     "timer takes 15.0 us, and a sample up to 3 us");
	CHECK_STRING(d.hint, "sample at 20000 or slower");
	/* It hung a machine. */
	CHECK_INT(judge(100000, 11381, &d), -EINVAL);
	CHECK_STRING(d.hint, "sample at 26000 or slower");
	CHECK_INT(judge(100000, 2 * US, &d), 0);
	/* A safe rate is not measured. */
	CHECK_INT(judge(10000, 5 * MS, &d), 0);
	CHECK_INT(judge(10001, 5 * MS, &d), -EINVAL);
	CHECK_STRING(d.hint, "sample at 10000 or slower");
	CHECK_INT(timer_cost__check(TIMER_COST_RATE_SAFE, &d), 0);
}

TEST(timer_cost_advice_is_accepted)
{
	for (uint64_t interrupt = 1; interrupt < MS; interrupt += interrupt / 50 + 1) {
		struct diag d;
		unsigned int rate;

		if (!judge(100000, interrupt, &d))
			continue;
		CHECK_INT(sscanf(d.hint, "sample at %u or slower", &rate), 1);
		/* It holds if the next interrupts take a quarter longer, too. */
		CHECK_INT(judge(rate, interrupt * 5 / 4, &d), 0);
	}
}
