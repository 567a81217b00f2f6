/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A busy process, sampled at 99 Hz for an hour; for a day with EXTPROF_TESTS_DAY=1.  The writer's memory does not grow with
 * the time, and a sample takes few bytes.
 */
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/reader.h"
#include "recording/writer.h"

#define FILE_NAME "test_recording_day.extprof"
#define PERIOD 10101010ull
#define RATE 99u
#define SECOND 1000000000ull
#define METHODS 3000u
#define STACKS 5000u
#define DEPTH 60u

/* Of the address sanitizer. */
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

static struct diag diag;

static size_t allocated(void)
{
	return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 1;
}

static uint32_t stacks[STACKS][DEPTH];

static int write_tables(struct recording_writer *w)
{
	int err = recording_writer__set_number(w, "started_monotonic_ns", 1000) || recording_writer__kind(w, FRAME_RUBY, "Ruby", true) ||
		  recording_writer__kind(w, FRAME_THREAD, "thread", false) || recording_writer__state(w, 0, "running") ||
		  recording_writer__mode(w, &(struct recording_mode){ .id = 1, .name = "cpu", .value_name = "cpu", .value_unit = "ns",
								       .count_name = "samples", .count_unit = "count", .source = "" });

	for (uint32_t i = 1; i <= METHODS && !err; i++) {
		struct frame f = FRAME_INIT(FRAME_RUBY);
		char name[64], path[64];

		snprintf(name, sizeof(name), "Shop::Part%u#method_%u", i % 97, i);
		snprintf(path, sizeof(path), "/srv/shop/app/models/part_%u.rb", i % 97);
		f.name = name;
		f.path = path;
		f.line = (int32_t)(i % 500 + 1);
		err = recording_writer__frame(w, i, &f);
	}
	if (!err) {
		struct frame f = FRAME_INIT(FRAME_THREAD);

		f.name = "worker";
		f.tid = 42;
		err = recording_writer__frame(w, METHODS + 1, &f);
	}
	return err || recording_writer__process(w, &(struct recording_process){ .id = 1, .pid = 42, .command = "shop" }) ||
	       recording_writer__thread(w, 1, 1, METHODS + 1);
}

/* Stacks have the outer frames of a framework in common. */
static void make_stacks(void)
{
	for (uint32_t i = 0; i < STACKS; i++)
		for (uint32_t j = 0; j < DEPTH; j++)
			stacks[i][j] = j < 40 ? j + 1 : 41 + (i * 7 + j * j * (i % 13 + 1)) % (METHODS - 41);
}

/* Few stacks have most samples. */
static uint32_t choose_stack(void)
{
	uint32_t limit = 1 + test__random() % STACKS;

	limit = 1 + test__random() % limit;
	return test__random() % limit;
}

TEST(recording_of_a_day)
{
	uint32_t seconds = getenv("EXTPROF_TESTS_DAY") ? 86400 : 3600;
	size_t after_minutes = 0, most = 0;
	struct recording_writer *w;
	struct recording_reader *r;
	struct recording_tables t;
	struct recording_check check;
	uint64_t count = 0;
	double bytes;
	struct stat st;

	unlink(FILE_NAME);
	make_stacks();
	CHECK(!recording_writer__create(&w, FILE_NAME, (uid_t)-1, (gid_t)-1, PERIOD, &diag));
	CHECK(!write_tables(w));
	for (uint64_t second = 0; second < seconds; second++) {
		for (uint32_t i = 0; i < RATE; i++, count++) {
			const struct recording_sample s = {
				/* A timer is late by some us. */
				.time = SECOND + count * PERIOD + test__random() % 30000, .value = PERIOD, .count = 1, .thread = 1, .mode = 1,
				.stack = recording_writer__stack(w, stacks[choose_stack()], DEPTH), .fiber = 1,
			};

			if (!s.stack || recording_writer__sample(w, &s)) {
				test__fail(__FILE__, __LINE__, "sample %llu is not written", (unsigned long long)count);
				return;
			}
		}
		/* As the engine does it: a block each 5 seconds. */
		if (second % 5 == 4)
			CHECK(!recording_writer__flush(w));
		if (second == 600)
			after_minutes = allocated();
		if (second >= 600 && allocated() > most)
			most = allocated();
	}
	CHECK(!recording_writer__set_number(w, "ended", 1));
	CHECK(!recording_writer__end(w));
	recording_writer__destroy(w);
	/* SQLite's cache of pages is of one size. */
	CHECK(after_minutes && most < after_minutes + (4u << 20));
	CHECK(!stat(FILE_NAME, &st));
	CHECK(!recording_reader__open(&r, FILE_NAME, NULL, &diag));
	CHECK(!recording_reader__load(r, &t, &diag));
	CHECK(!recording_reader__verify(r, &check, &diag));
	CHECK_INT(check.samples, count);
	bytes = (double)check.bytes / (double)count;
	printf("  %llu samples of %u s: %.2f bytes each, %.2f MB an hour, and %.2f MB of names and stacks; memory %.1f MiB after "
	       "10 minutes, %.1f at most\n",
	       (unsigned long long)count, seconds, bytes, (double)check.bytes / seconds * 3600 / 1e6, ((double)st.st_size - (double)check.bytes) / 1e6,
	       (double)after_minutes / (1 << 20), (double)most / (1 << 20));
	CHECK(bytes < 7);
	recording_tables__free(&t);
	recording_reader__close(r);
	unlink(FILE_NAME);
}
