/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the summary. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/columns.h"
#include "output/output.h"
#include "profile/gc_pauses.h"
#include "profile/thread_rows.h"
#include "wire/states.h"

static char *render(struct report *r, unsigned int width)
{
	struct output_options o = { .width = width };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	output_summary.write(r, 1, &o, f);
	fclose(f);
	return text;
}

/* The column where `word` begins in the line; -1: it is not there. */
static long column_of(char *line, const char *word)
{
	char *at = strstr(line, word);
	long column;

	if (!at)
		return -1;
	*at = '\0';
	column = (long)columns__of(line);
	*at = *word;
	return column;
}

static void aligned(unsigned int width)
{
	struct report_label labels[] = {
		{ .name = (char *)"Foo#bar", .frame = { .path = "file" }, .self = 7, .total = 7 },
		{ .name = (char *)"\xe6\x97\xa5\xe6\x9c\xac#\xe8\xaa\x9e", .frame = { .path = "file" }, .self = 6, .total = 6 },
		{ .name = (char *)"\xf0\x9f\x92\x8e#gem", .frame = { .path = "file" }, .self = 5, .total = 5 },
		{ .name = (char *)"e\xcc\x81te\xcc\x81#me\xcc\x81thode", .frame = { .path = "file" }, .self = 4, .total = 4 },
		{ .name = (char *)"A::Very::Long::Name::\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac::That::Is"
				  "::Cut::In::\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e::The::Middle#method",
		  .frame = { .path = "file" }, .self = 3, .total = 3 },
		{ .name = (char *)"\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4", .frame = { .path = "file" }, .self = 2, .total = 2 },
	};
	struct report r = { .labels = labels, .label_count = 6, .samples = 27, .detail = REPORT_BY_CODE,
			    .metric = { "samples", UNIT_COUNT }, .meta = { .mode = &mode_cpu, .period = 1 } };
	char *text = render(&r, width), *rest = text, *line;
	long column = -1, rows = 0;

	while ((line = strsep(&rest, "\n"))) {
		long at = column_of(line, "  file");

		if (at < 0)
			continue;
		if (!strcmp(line + strlen(line) - 6, "  file") && strstr(line, "method  "))
			column = column < 0 ? at : column;
		rows++;
		if (at != column)
			test__fail(__FILE__, __LINE__, "the file is in column %ld, not %ld: %s", at, column, line);
	}
	/* Two tables, each with a head and six rows. */
	CHECK_INT(rows, 14);
	free(text);
}

TEST(summary_is_aligned_after_wide_letters)
{
	aligned(0);
	aligned(100);
	aligned(163);
}

TEST(summary_says_how_many_stacks_were_cut)
{
	struct report_label label = { .name = (char *)"[merged]", .frame = FRAME_INIT(FRAME_MARK), .self = 20, .total = 20 };
	struct report r = { .labels = &label, .label_count = 1, .samples = 80,
			    .meta = { .merged = 20, .stacks = 80, .mode = &mode_cpu } };
	char *text = render(&r, 0);

	CHECK(strstr(text, "\nstacks cut: 20 samples, 25.0 % ([merged] stands for ") != NULL);
	free(text);
	r.meta.merged = 0;
	text = render(&r, 0);
	CHECK(strstr(text, "stacks cut") == NULL);
	free(text);
}

/* Samples of different rates are no time. */
TEST(summary_says_the_pauses_by_samples_if_it_can)
{
	struct gc_pauses pauses = { .all = { .count = 2, .total = 3000000, .longest = 2000000 }, .waited = 1000000 };
	struct report r = { .meta = { .mode = &mode_gc, .period = 1000000, .gc_samples = 3 }, .pauses = &pauses };
	char *text = render(&r, 0);

	CHECK(strstr(text, "\nof the total the threads waited 1.00 ms for a CPU and ran for 2.00 ms; that is 3.00 ms by samples\n") != NULL);
	free(text);
	r.meta.period = 0;
	r.meta.rates_differ = true;
	text = render(&r, 0);
	CHECK(strstr(text, "\nof the total the threads waited 1.00 ms for a CPU and ran for 2.00 ms\n") != NULL);
	free(text);
}

TEST(summary_tells_of_processes_that_can_be_missing)
{
	struct report r = { .meta.mode = &mode_cpu };
	char *text = render(&r, 100);

	CHECK(!strstr(text, "processes not told"));
	free(text);
	r.meta.lost_events = 7;
	text = render(&r, 100);
	CHECK(strstr(text, "\nprocesses not told: 7 ") != NULL);
	free(text);
}

#define MS 1000000u

/* Is the second text behind the first one? */
static bool before(const char *text, const char *first, const char *second)
{
	const char *at = strstr(text, first);

	return at && strstr(at, second);
}

/* What ran has no state of its own, and is a row where it belongs. */
TEST(summary_by_state_has_what_ran)
{
	struct report_label labels[] = {
		{ .name = (char *)"[sleep]", .frame = FRAME_INIT(FRAME_STATE), .total = 50, .self = 50 },
		{ .name = (char *)"[gvl]", .frame = FRAME_INIT(FRAME_STATE), .total = 10, .self = 10 },
		{ .name = (char *)"Foo#bar", .frame = FRAME_INIT(FRAME_RUBY), .total = 100, .self = 40 },
	};
	struct report r = { .labels = labels, .label_count = 3, .samples = 100, .metric = { "samples", UNIT_COUNT },
			    .meta.mode = &mode_wall, .all_states = true };
	char *text = render(&r, 0);

	CHECK(strstr(text, "\nBy state\n         samples  state\n      50  50.0 %  [sleep]\n      40  40.0 %  running\n"
		     "      10  10.0 %  [gvl]\n") != NULL);
	free(text);
	labels[1].total = 45;
	text = render(&r, 0);
	CHECK(before(text, "      45  45.0 %  [gvl]\n       5   5.0 %  running\n", "By number"));
	free(text);
	/* Innermost frames are not there, or nothing runs in the mode. */
	r.all_states = false;
	text = render(&r, 0);
	CHECK(!strstr(text, "running\n"));
	free(text);
	r.all_states = true;
	r.meta.mode = &mode_offcpu;
	text = render(&r, 0);
	CHECK(strstr(text, "[gvl]\n") && !strstr(text, "running\n"));
	free(text);
}

static struct thread_row thread(const char *name, uint64_t serial, enum thread_state state, uint64_t ms, bool ended)
{
	struct thread_row row = { .name = (char *)(uintptr_t)name, .ended = ended };

	row.account.until = ms * MS;
	row.account.time[state] = ms * MS;
	row.account.tid = (uint32_t)serial;
	row.account.thread = serial;
	return row;
}

/* A main thread that rests comes before native threads, however much these did; and those are one row. */
TEST(summary_shows_threads_with_ruby_code_first)
{
	struct thread_row rows[] = {
		thread("[native thread a (7)]", 0, STATE_IO, 2, true), thread("[native thread b (8)]", 0, STATE_RUNNING, 900, true),
		thread("[thread main (1)]", 1, STATE_JOIN, 8000, false), thread("[native thread c (9)]", 0, STATE_IO, 100, false),
		thread("[thread worker (2)]", 2, STATE_RUNNING, 1000, false), thread("[thread job (3)]", 3, STATE_IO, 50, true),
	};
	struct report_idle_thread idle = { .name = "[thread main (1)]", .ns = 8000ull * MS };
	struct thread_rows threads = { .rows = rows, .count = sizeof(rows) / sizeof(rows[0]) };
	struct report r = { .meta.mode = &mode_wall, .threads = &threads, .idle = { .threads = &idle, .thread_count = 1 } };
	char *text = render(&r, 0);

	CHECK(before(text, "[thread worker (2)]\n", "[thread job (3)], ended\n"));
	CHECK(before(text, "[thread job (3)]", "[thread main (1)]\n"));
	CHECK(before(text, "[thread main (1)]\n    1.002 s          -  900.00 ms  102.00 ms          -  3 native threads, 2 ended\n",
		     "  all\n"));
	CHECK(!strstr(text, "[native thread"));
	CHECK(strstr(text, "states make up 100.000 % of the lives of 6 threads") != NULL);
	free(text);
	/* One of them has a name. */
	threads.count = 1;
	text = render(&r, 0);
	CHECK(strstr(text, "[native thread a (7)], ended\n") != NULL);
	free(text);
}

/* The longest line. */
static size_t widest(const char *text)
{
	char line[4096];
	size_t most = 0, length;

	for (; *text; text += length + (text[length] == '\n')) {
		length = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		most = columns__of(line) > most ? columns__of(line) : most;
	}
	return most;
}

/* Rows have the end of a place, and of the states of threads those with most time; the rest of them is a sum. */
TEST(summary_fits_the_terminal)
{
	const struct frame view = { .kind = FRAME_RUBY, .path = "/srv/bundle/gems/view-1.2/lib/view/a_long_name/renderer.rb", .first_line = 10 };
	const struct frame app = { .kind = FRAME_RUBY, .path = "/srv/shop/app/models/post.rb", .first_line = 3 };
	struct report_label labels[] = {
		{ .name = (char *)"View::Renderer::Template#render_with_layout_and_locals", .frame = view, .self = 60, .total = 100, .owner = 1 },
		{ .name = (char *)"Post#words", .frame = app, .self = 40, .total = 100, .owner = 2 },
		{ .name = (char *)"[process 7 puma: cluster worker 0: 11906 [a-long-name-of-an-application] and more of it]",
		  .frame = FRAME_INIT(FRAME_PROCESS), .total = 100 },
	};
	struct report_total totals[] = {
		{ .label = 0, .line = 12, .self = 60, .own = 60, .total = 100 }, { .label = 1, .line = 4, .self = 40, .own = 40, .total = 100 },
	};
	struct report_owner owners[] = { { 0, "", "" }, { OWNER_GEM, "view", "1.2" }, { OWNER_APP, "", "" } };
	const char *const apps[] = { "/srv/shop" };
	struct thread_row rows[] = { thread("[thread a worker of a pool with a long name 001 (1234)]", 1, STATE_RUNNING, 3, true) };
	struct thread_rows threads = { .rows = rows, .count = 1 };
	struct report r = {
		.labels = labels, .label_count = 3, .samples = 100, .detail = REPORT_BY_CODE, .metric = { "wall", UNIT_NS },
		.methods = { totals, 2, 2 }, .lines = { totals, 2, 2 }, .by_owner = { totals, 2, 2 }, .owners = owners, .owner_count = 3,
		.rules = { .apps = apps, .app_count = 1 }, .threads = &threads,
		.meta = { .mode = &mode_wall, .modes = 1, .duration = 1, .cpu_period = 1000, .unnamed_kernel = 7, .why_unnamed_kernel = -EPERM,
			  .command = "puma 8.0.2 (tcp://127.0.0.1:9377) [a-long-name-of-an-application] and more of it",
			  .source = "on-CPU at 99 Hz by the clock; waits measured, the stack of each for" },
	};
	char *text;

	for (int i = 0; i < STATE_MAX; i++)
		rows[0].account.time[i] = (uint64_t)(i == STATE_RUNNING ? 1 : 10 + i) * MS;
	for (unsigned int width = 80; width <= 240; width += 20) {
		text = render(&r, width);
		if (widest(text) > width)
			test__fail(__FILE__, __LINE__, "%zu columns of %u: %s", widest(text), width, text);
		CHECK(strstr(text, "r.rb:10\n") && strstr(text, "app/models/post.rb:4") && !strstr(text, "/srv/"));
		free(text);
	}
	text = render(&r, 80);
	CHECK(strstr(text, "   running ") && strstr(text, "      other  thread\n"));
	CHECK(strstr(text, ", ended\n") != NULL);
	free(text);
	/* Not a terminal: nothing is cut. */
	text = render(&r, 0);
	CHECK(strstr(text, "  /srv/bundle/gems/view-1.2/lib/view/a_long_name/renderer.rb:12  View::Renderer::Template#render_with_layout_and_locals\n"));
	CHECK(strstr(text, labels[2].name) && strstr(text, rows[0].name) && !strstr(text, "other  thread"));
	free(text);
}

/* The ends of names tell the threads of a pool apart. */
TEST(summary_has_names_of_threads_whole)
{
	struct thread_row rows[] = {
		thread("[thread puma srv tp 001 (20723)]", 1, STATE_IO, 3, false), thread("[thread puma srv tp reap (7)]", 2, STATE_SLEEP, 2, false),
		thread("[native thread x]", 0, STATE_IO, 1000, false), thread("[native thread y]", 0, STATE_IO, 1000, true),
	};
	struct thread_rows threads = { .rows = rows, .count = 4 };
	struct report r = { .meta.mode = &mode_wall, .threads = &threads };
	char *text;

	for (uint32_t i = 0; i < 4; i++)
		for (int state = 0; state < STATE_MAX; state++)
			rows[i].account.time[state] = MS;
	for (unsigned int width = 80; width <= 120; width += 10) {
		text = render(&r, width);
		CHECK(strstr(text, "  puma srv tp 001 (20723)\n") && strstr(text, "  puma srv tp reap (7)\n") && strstr(text, "  2 native, 1 ended\n"));
		CHECK(widest(text) <= width);
		free(text);
	}
	text = render(&r, 0);
	CHECK(strstr(text, "  [thread puma srv tp 001 (20723)]\n") && strstr(text, "  2 native threads, 1 ended\n"));
	free(text);
}

TEST(summary_bounds_threads_with_ruby_code)
{
	struct thread_row rows[60];
	struct thread_rows threads = { .rows = rows, .count = 60 };
	struct report r = { .meta.mode = &mode_wall, .threads = &threads };
	char *text;

	for (uint32_t i = 0; i < 60; i++)
		rows[i] = thread("[thread x]", i < 25 ? i + 1 : 0, STATE_IO, 1000, i >= 22);
	text = render(&r, 0);
	CHECK(before(text, "  35 native threads, 35 ended\n", "(5 more threads of Ruby; 3 ended)\n"));
	free(text);
}

/* Four states have room.  Of two threads one rests in a queue for longer than the other waits for the GVL. */
TEST(summary_has_a_column_for_waits_before_one_for_rests)
{
	struct thread_row rows[] = {
		{ .account = { .thread = 1, .tid = 11, .until = 1000, .time = { [STATE_RUNNING] = 100, [STATE_GVL] = 200,
										[STATE_IO] = 300, [STATE_MUTEX] = 400 } },
		  .name = "[thread worker (11)]" },
		{ .account = { .thread = 2, .tid = 12, .until = 1000, .time = { [STATE_QUEUE] = 990, [STATE_RUNNABLE] = 10 } },
		  .name = "[thread pool (12)]" },
	};
	struct thread_rows threads = { .rows = rows, .count = 2 };
	struct report_idle_thread idle = { .name = "[thread pool (12)]", .ns = 990 };
	struct report r = { .meta.mode = &mode_wall, .threads = &threads,
			    .idle = { .threads = &idle, .thread_count = 1, .states = { [STATE_QUEUE] = 990 } } };
	char *text = render(&r, 100);

	CHECK(strstr(text, " life       idle    running        gvl         io      mutex      other  thread\n") != NULL);
	free(text);
	r.idle.shown = true;
	text = render(&r, 100);
	CHECK(strstr(text, " life       idle    running         io      mutex      queue      other  thread\n") != NULL);
	free(text);
}

TEST(summary_counts_the_collector_among_samples_of_what_runs)
{
	struct report r = { .meta = { .mode = &mode_cpu, .gc_samples = 3, .accounting.cpu_taken = 12 } };
	char *text = render(&r, 0);

	CHECK(strstr(text, "\nin GC: 3 samples, 25.0 %\n") != NULL);
	free(text);
	r.meta.mode = &mode_alloc;
	r.meta.accounting.cpu_taken = 0;
	text = render(&r, 0);
	CHECK(strstr(text, "in GC") == NULL);
	free(text);
}
