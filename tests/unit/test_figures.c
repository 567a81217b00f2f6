/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures: the histogram's error, sums and intervals, bounds. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "no_memory.h"
#include "profile/figures.h"
#include "wire/alloc.h"
#include "wire/gc.h"

TEST(figures_log2)
{
	for (uint32_t bit = 0; bit < 64; bit++) {
		CHECK_INT(histogram__log2(1ull << bit), bit);
		CHECK_INT(histogram__log2((1ull << bit) | ((1ull << bit) - 1)), bit);
	}
}

/* Each length is in a class whose end is not smaller, and at most 1/64 larger. */
TEST(figures_classes)
{
	for (uint64_t i = 0; i < 1000000; i++) {
		uint64_t n = i < 100000 ? i : ((uint64_t)test__random() << 32 | test__random()) >> (24 + i % 40);
		uint32_t class = histogram__class(n);

		CHECK(class < HISTOGRAM_CLASSES);
		CHECK(histogram__end(class) >= n);
		CHECK(!class || histogram__end(class - 1) < n);
		CHECK(histogram__end(class) - n <= n / 64);
	}
	CHECK_INT(histogram__class(UINT64_MAX), HISTOGRAM_CLASSES - 1);
	CHECK_INT(histogram__class(1ull << HISTOGRAM_TOP), HISTOGRAM_CLASSES - 1);
	CHECK_INT(histogram__class((1ull << HISTOGRAM_TOP) - 1), HISTOGRAM_CLASSES - 2);
	CHECK(histogram__end(HISTOGRAM_CLASSES - 1) == UINT64_MAX);
}

static struct histogram histogram;

static void count(uint64_t length, uint64_t times)
{
	histogram.counts[histogram__class(length)] += times;
}

TEST(figures_percentiles)
{
	uint64_t p;

	memset(&histogram, 0, sizeof(histogram));
	CHECK_INT(histogram__percentile(&histogram, 50, 0), 0);
	count(1000, 98);
	count(1000000, 1);
	count(5000000000ull, 1);
	CHECK_INT(histogram__count(&histogram), 100);
	p = histogram__percentile(&histogram, 50, 5000000000ull);
	CHECK(p >= 1000 && p <= 1000 + 1000 / 64);
	p = histogram__percentile(&histogram, 98, 5000000000ull);
	CHECK(p >= 1000 && p <= 1000 + 1000 / 64);
	p = histogram__percentile(&histogram, 99, 5000000000ull);
	CHECK(p >= 1000000 && p <= 1000000 + 1000000 / 64);
	/* None is longer than the longest one. */
	CHECK(histogram__percentile(&histogram, 100, 5000000000ull) == 5000000000ull);
}

/* Random lengths: the percentile is that of the sorted list, within the error. */
static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

TEST(figures_percentiles_of_a_list)
{
	static uint64_t list[10000];
	const double percents[] = { 1, 25, 50, 90, 99, 99.9 };

	memset(&histogram, 0, sizeof(histogram));
	for (int i = 0; i < 10000; i++) {
		list[i] = (uint64_t)test__random() << (i % 8);
		count(list[i], 1);
	}
	qsort(list, 10000, sizeof(list[0]), by_length);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		uint64_t truth = list[(int)(percents[i] * 100 + 0.5) - 1];
		uint64_t p = histogram__percentile(&histogram, percents[i], list[9999]);

		CHECK(p >= truth && p <= truth + truth / 64);
	}
}

static struct figures figures;

static struct sample_event pause(uint64_t length, uint64_t thread)
{
	return (struct sample_event){
		.source = SOURCE_GC, .value = length, .count = 1, .thread = thread, .tid = (uint32_t)thread,
		.detail = gc__pack(length / 2), .extra = RB_DEBUG_EXT_GC_BY_METHOD | RB_DEBUG_EXT_GC_MAJOR << 16,
	};
}

TEST(figures_intervals_add_up)
{
	struct sums total = { 0 }, sums, difference;
	struct figures_process *p = figures__process(&figures, 7);
	struct process_amounts amounts = { .cpu = 1000, .user = 900, .minor_faults = 5, .major_faults = 1 };

	CHECK(p && figures__find(&figures, 7) == p && figures__process(&figures, 7) == p);
	CHECK(!figures__find(&figures, 8));
	/* What was there before is not counted. */
	figures__set_amounts(p, &amounts);
	figures__set_cycles(p, 3, 100, 10);
	for (uint64_t i = 1; i <= 10; i++) {
		struct sample_event e = pause(i * 1000000, i);

		amounts.cpu += 1000;
		amounts.minor_faults += i;
		figures__set_amounts(p, &amounts);
		figures__set_cycles(p, 3, 100 + i, 10 + i / 2);
		CHECK_INT(figures__add_pause(p, &e), 0);
		figures__add_look(p, 1, i % 2);
		CHECK(p->gc_longest_interval.ns == i * 1000000 && p->gc_longest_interval.thread == i);
		figures__sums(p, &sums);
		difference = sums;
		sums__subtract(&difference, &p->before);
		CHECK_INT(difference.cpu, 1000);
		CHECK_INT(difference.gc_pauses, 1);
		CHECK_INT(difference.gc_cycles, 1);
		CHECK_INT(difference.minor_faults, i);
		sums__add(&total, &difference);
		CHECK_INT(figures__next_interval(&figures), 0);
		CHECK_INT(p->gc_longest_interval.ns, 0);
	}
	figures__sums(p, &sums);
	CHECK(!memcmp(&total, &sums, sizeof(sums)));
	CHECK_INT(sums.cpu, 10000);
	CHECK_INT(sums.gc_cycles, 10);
	CHECK_INT(sums.gc_major_cycles, 5);
	CHECK_INT(sums.looks, 10);
	CHECK_INT(sums.contended, 5);
	CHECK_INT(sums.gc_time, 55000000);
	CHECK_INT(sums.gc_reason_pauses[1][GC_REASON_METHOD], 10);
	CHECK_INT(p->gc_longest.ns, 10000000);
	CHECK_INT(histogram__count(p->gc), 10);
	figures__free(&figures);
}

/* Another way to read can be a little behind: nothing is counted twice or taken back. */
TEST(figures_amounts_only_grow)
{
	struct figures_process *p = figures__process(&figures, 1);
	struct process_amounts a = { .cpu = 100 };

	figures__set_amounts(p, &a);
	a.cpu = 200;
	figures__set_amounts(p, &a);
	a.cpu = 150;
	figures__set_amounts(p, &a);
	a.cpu = 210;
	figures__set_amounts(p, &a);
	CHECK_INT(p->sums.cpu, 110);
	/* Another VM counts anew. */
	figures__set_cycles(p, 1, 50, 5);
	figures__set_cycles(p, 1, 52, 5);
	figures__set_cycles(p, 2, 0, 0);
	figures__set_cycles(p, 2, 3, 1);
	CHECK_INT(p->sums.gc_cycles, 5);
	CHECK_INT(p->sums.gc_major_cycles, 1);
	figures__free(&figures);
}

/* Samples of different sizes: the deviation is by the samples that stand for many objects. */
TEST(figures_allocations)
{
	struct figures_process *p = figures__process(&figures, 1);
	struct sample_event small = { .value = 1000, .count = 25 }, large = { .value = 1000, .count = 2 },
			    malloc = { .value = 7000, .state = ALLOC_MALLOC };

	for (int i = 0; i < 4; i++)
		figures__add_allocation(p, &small);
	figures__add_allocation(p, &large);
	figures__add_allocation(p, &malloc);
	CHECK_INT(p->sums.alloc_samples, 5);
	CHECK_INT(p->sums.alloc_bytes, 5000);
	CHECK_INT(p->sums.alloc_objects, 102);
	CHECK_INT(p->sums.alloc_object_squares, 2504);
	CHECK_INT(p->sums.malloc_samples, 1);
	CHECK_INT(p->sums.malloc_bytes, 7000);
	figures__free(&figures);
}

TEST(figures_accounts)
{
	struct figures_process *p = figures__process(&figures, 1);
	struct thread_account a = {
		.first = 1000, .until = 5000, .time = { [STATE_RUNNING] = 1000, [STATE_GVL] = 3000 },
		.waits = { [STATE_GVL] = 2 }, .voluntary = 30, .voluntary_before = 10, .involuntary = 7,
		.thread = 4, .tid = 12, .longest = { { .ns = 2500, .interval = 0 }, { .ns = 9000, .interval = 1 } },
	};
	struct sums sums;

	figures__add_account(&p->living, &a);
	figures__sums(p, &sums);
	CHECK_INT(sums.lives, 4000);
	CHECK_INT(sums.time[STATE_GVL], 3000);
	CHECK_INT(sums.waits[STATE_GVL], 2);
	CHECK_INT(sums.voluntary, 20);
	CHECK_INT(sums.involuntary, 7);
	/* In interval 1 the longest one is that of interval 1; what was in interval 0 was told then. */
	figures.interval = 1;
	figures__note_longest(&figures, p, &a);
	CHECK_INT(p->gvl_longest.ns, 9000);
	CHECK_INT(p->gvl_longest.tid, 12);
	figures__free(&figures);
	/* The name that the kernel had of a thread that has ended, clean. */
	p = figures__process(&figures, 1);
	memcpy(a.comm, "worker\n", 8);
	figures__note_longest(&figures, p, &a);
	CHECK_STRING(p->gvl_longest.name, "[thread worker\\x0A (12)]");
	figures__free(&figures);
	p = figures__process(&figures, 1);
	a.longest[1].interval = 0;
	figures.interval = 2;
	figures__note_longest(&figures, p, &a);
	CHECK_INT(p->gvl_longest.ns, 0);
	figures__free(&figures);
}

TEST(figures_holders_are_bounded)
{
	struct figures_process *p = figures__process(&figures, 1);
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= 2000; i++)
		CHECK(figures__add_holder(p, i % 1000 + 1));
	CHECK(p->holder_count <= HOLDERS_MAX);
	for (uint32_t i = 0; i < p->holder_count; i++)
		sum += p->holders[i].looks;
	CHECK_INT(sum, 2000);
	figures__free(&figures);
}

/* A server that forks for each request: the sums stay, and so does the bound. */
TEST(figures_processes_are_bounded)
{
	struct sums total = { 0 }, sums;

	for (uint32_t i = 1; i <= 5000; i++) {
		struct figures_process *p = figures__process(&figures, i);
		struct process_amounts a = { 0 };
		struct sample_event e = pause(1000 + i, 1);

		CHECK(p);
		figures__set_amounts(p, &a);
		a.cpu = 10;
		figures__set_amounts(p, &a);
		CHECK_INT(figures__add_pause(p, &e), 0);
		p->is_ruby = true;
		p->ended = p->freed = i > 10;
		if (!(i % 100))
			CHECK_INT(figures__next_interval(&figures), 0);
	}
	CHECK(figures.count <= FIGURES_PROCESSES_MAX + 101);
	for (uint32_t i = 0; i < figures.count; i++) {
		figures__sums(figures.list[i], &sums);
		sums__add(&total, &sums);
	}
	CHECK_INT(total.cpu, 50000);
	CHECK_INT(total.gc_pauses, 5000);
	/* Those that live keep their rows. */
	for (uint32_t i = 1; i <= 10; i++)
		CHECK(figures__find(&figures, i) && figures__find(&figures, i)->number == i);
	CHECK(figures.list[0]->gc_longest.ns > 4000);
	figures__free(&figures);
}

TEST(figures_why_one_is_missing)
{
	struct figures_process *p = figures__process(&figures, 1);

	figures__miss(p, FIGURE_ALLOC, "first");
	figures__miss(p, FIGURE_ALLOC, "second");
	CHECK_STRING(p->missing[FIGURE_ALLOC], "first");
	figures__free(&figures);
}

TEST(figures_without_memory)
{
	struct sample_event e = pause(1000, 1);
	struct figures_process *p = figures__process(&figures, 1);

	CHECK(p);
	no_memory = true;
	CHECK_INT(figures__add_pause(p, &e), -ENOMEM);
	no_memory = false;
	CHECK_INT(p->sums.gc_pauses, 0);
	no_memory = true;
	CHECK(!figures__process(&figures, 2));
	no_memory = false;
	CHECK(!figures__find(&figures, 2));
	CHECK(figures__process(&figures, 2));
	figures__free(&figures);
}
