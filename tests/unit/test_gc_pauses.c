/* SPDX-License-Identifier: BSD-2-Clause */
/* Pauses for garbage collection: sums, percentiles, rows. */
#include "test.h"

#include <errno.h>
#include <math.h>

#include "no_memory.h"
#include "profile/gc_pauses.h"
#include "wire/gc.h"

static struct gc_pauses pauses;

static struct sample_event pause(uint64_t length, uint64_t mark, uint64_t sweep, uint32_t extra)
{
	return (struct sample_event){
		.source = SOURCE_GC, .value = length, .count = 1, .detail = gc__pack(mark) | gc__pack(sweep) << 32,
		.extra = extra,
	};
}

static int add(uint64_t length, uint64_t thread)
{
	struct sample_event e = pause(length, 0, 0, 0);

	return gc_pauses__add(&pauses, &e, thread);
}

TEST(gc_pauses_sums_and_parts)
{
	struct sample_event e = pause(10000000, 6400000, 3200000, 0);

	e.more = 1000000;
	CHECK_INT(gc_pauses__add(&pauses, &e, 7), 0);
	e = pause(20000000, 0, 12800000, 0);
	e.state = (uint32_t)gc__pack(6400000);
	e.more = 1ull << 60;	/* a clock that makes no sense */
	CHECK_INT(gc_pauses__add(&pauses, &e, 8), 0);
	CHECK_INT(pauses.all.count, 2);
	CHECK_INT(pauses.all.total, 30000000);
	CHECK_INT(pauses.all.longest, 20000000);
	CHECK_INT(pauses.waited, 21000000);
	CHECK_INT(pauses.parts[GC_PART_MARK].count, 1);
	CHECK_INT(pauses.parts[GC_PART_MARK].total, 6400000);
	CHECK_INT(pauses.parts[GC_PART_SWEEP].count, 2);
	CHECK_INT(pauses.parts[GC_PART_SWEEP].longest, 12800000);
	CHECK_INT(pauses.parts[GC_PART_COMPACT].total, 6400000);
	CHECK_INT(pauses.parts[GC_PART_OTHER].total, 400000 + 800000);
	CHECK_INT(pauses.thread_count, 2);
	CHECK_INT(pauses.told, 0);
	gc_pauses__free(&pauses);
	CHECK_INT(pauses.all.count, 0);
}

TEST(gc_pauses_times_survive_packing)
{
	static const uint64_t times[] = { 0, 31, 32, 1000, 123456789, 200000000000 };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct sample_event e = pause(1, times[i], times[5 - i], 0);

		CHECK(fabs((double)gc__mark_ns(&e) - (double)times[i]) <= 32);
		CHECK(fabs((double)gc__sweep_ns(&e) - (double)times[5 - i]) <= 32);
	}
	CHECK_INT(gc__pack(UINT64_MAX / 2), 0xffffffff);
}

TEST(gc_pauses_percentiles)
{
	CHECK_INT(gc_pauses__percentile(&pauses, 50), 0);
	for (uint64_t i = 1; i <= 10000; i++)
		CHECK_INT(add(i * 1000, 0), 0);
	for (double p = 1; p <= 100; p++) {
		double truth = p * 100 * 1000, got = (double)gc_pauses__percentile(&pauses, p);

		if (got < truth || got > truth * 1.016)
			test__fail(__FILE__, __LINE__, "p%.0f is %.0f, not %.0f", p, got, truth);
	}
	CHECK_INT(gc_pauses__percentile(&pauses, 100), 10000000);
	gc_pauses__free(&pauses);
	/* Short, single and enormous ones. */
	CHECK_INT(add(5, 0), 0);
	CHECK_INT(gc_pauses__percentile(&pauses, 99), 5);
	CHECK_INT(add(0, 0), 0);
	CHECK_INT(gc_pauses__percentile(&pauses, 50), 0);
	CHECK_INT(add(UINT64_MAX, 0), 0);
	CHECK(gc_pauses__percentile(&pauses, 100) == UINT64_MAX);
	gc_pauses__free(&pauses);
}

TEST(gc_pauses_reasons)
{
	/* minor for want of a slot; major by GC.start */
	struct sample_event minor = pause(100, 64, 0, 1), major = pause(300, 0, 128, 4 | 1u << 16 | 2048);
	/* An entry after it without a phase: what the section tells is of the collection before. */
	struct sample_event nothing = pause(20, 0, 0, 4 | 1u << 16 | 2048);

	CHECK_INT(gc_pauses__add(&pauses, &minor, 0), 0);
	CHECK_INT(gc_pauses__add(&pauses, &minor, 0), 0);
	CHECK_INT(gc_pauses__add(&pauses, &major, 0), 0);
	CHECK_INT(gc_pauses__add(&pauses, &nothing, 0), 0);
	CHECK_INT(add(50, 0), 0);
	CHECK_INT(pauses.told, 4);
	CHECK_INT(pauses.reasons[0][GC_REASON_NOTHING].total, 20);
	CHECK_INT(pauses.reasons[0][GC_REASON_NEWOBJ].count, 2);
	CHECK_INT(pauses.reasons[1][GC_REASON_METHOD].total, 300);
	CHECK_INT(pauses.reasons[0][GC_REASON_UNKNOWN].count, 1);
	CHECK_STRING(gc_reason__name(GC_REASON_METHOD), "GC.start");
	CHECK_STRING(gc_part__name(GC_PART_COMPACT), "compact");
	gc_pauses__free(&pauses);
}

TEST(gc_pauses_threads)
{
	for (uint64_t thread = 1; thread <= 1000; thread++) {
		CHECK_INT(add(thread, thread), 0);
		CHECK_INT(add(thread, thread), 0);
	}
	CHECK_INT(pauses.thread_count, GC_THREADS_MAX);
	CHECK_INT(pauses.threads[9].sum.total, 20);
	CHECK_INT(pauses.threads[GC_THREADS_MAX - 1].frame, 0);
	CHECK_INT(pauses.threads[GC_THREADS_MAX - 1].sum.count, 2 * (1000 - GC_THREADS_MAX + 1));
	CHECK_INT(add(1, 10), 0);	/* still has its row */
	CHECK_INT(pauses.threads[9].sum.count, 3);
	CHECK_INT(gc_pauses__set_name(&pauses, 10, "[thread a (1)]"), 0);
	CHECK_INT(gc_pauses__set_name(&pauses, 10, "[thread b (1)]"), 0);
	CHECK_STRING(pauses.threads[9].name, "[thread b (1)]");
	CHECK_INT(gc_pauses__set_name(&pauses, 0, "none"), 0);
	CHECK(!pauses.threads[GC_THREADS_MAX - 1].name);
	gc_pauses__free(&pauses);
}
