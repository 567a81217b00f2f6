/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof stat: options, methods, and what is written of figures. */
#include "test.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "cli/stat.h"
#include "cli/wrap.h"
#include "library/figure_rows.h"

#define SECOND 1000000000ull

/* Figures that a test makes, and what they point to. */
struct made {
	struct extprof_figures f;
	struct extprof_figure values[FIGURE_ROWS];
	const struct extprof_figure *list[FIGURE_ROWS];
	struct extprof_longest gvl_wait, gvl_wait_met, gc_pause;
};

static void set(struct made *m, enum extprof_figure_id id, uint64_t value)
{
	m->values[id].value = value;
	m->values[id].known = true;
}

/* All of these and what is between them. */
static void forget(struct made *m, enum extprof_figure_id first, enum extprof_figure_id last, const char *missing)
{
	for (int i = first; i <= (int)last; i++)
		m->values[i] = (struct extprof_figure){ .key = m->values[i].key, .missing = missing };
}

static struct made *known(struct made *m)
{
	static const struct extprof_holder burner = { "[thread burner (12)]", 77, 90 }, others = { NULL, 77, 10 };
	static const struct extprof_holder *const holders[] = { &burner, &others };
	static const struct extprof_gc_reason malloced = { "malloc", true, 2, 7000000, 0 }, start = { "GC.start", false, 1, 500, 0 };
	static const struct extprof_gc_reason *const reasons[] = { &malloced, &start };
	static const struct extprof_state_figures running = { "running", 2 * SECOND, 300, 0 }, gvl = { "gvl", SECOND, 20, 0 };
	static const struct extprof_state_figures *const states[] = { &running, &gvl };
	static const struct extprof_call_figures read = { .name = "read", .number = 0, .count = 4, .time = 8000000 };
	static const struct extprof_call_figures compat = { .number = 999, .compat = true, .count = 1, .time = 1000 };
	static const struct extprof_call_figures *const calls[] = { &read, &compat };
	static const struct {
		enum extprof_figure_id id;
		uint64_t value;
	} values[] = {
		{ EXTPROF_CPU_TIME, 2 * SECOND }, { EXTPROF_CPU_USER, 1500000000 }, { EXTPROF_CPU_SYSTEM, 500000000 },
		{ EXTPROF_SWITCHES_VOLUNTARY, 1200 }, { EXTPROF_SWITCHES_INVOLUNTARY, 34 },
		{ EXTPROF_FAULTS_MINOR, 1000000 }, { EXTPROF_FAULTS_MAJOR, 3 },
		{ EXTPROF_MEMORY_RESIDENT, 50 << 20 }, { EXTPROF_MEMORY_ANONYMOUS, 40 << 20 }, { EXTPROF_MEMORY_FILE, 9 << 20 },
		{ EXTPROF_MEMORY_SHARED, 1 << 20 }, { EXTPROF_MEMORY_SWAPPED, 3 << 20 }, { EXTPROF_MEMORY_PEAK, 60 << 20 },
		{ EXTPROF_HEAP_LIVE_SLOTS, 300000 }, { EXTPROF_HEAP_SLOTS, 400000 }, { EXTPROF_HEAP_PAGES, 500 },
		{ EXTPROF_HEAP_BYTES, 500 << 16 }, { EXTPROF_HEAP_MALLOC, 4 << 20 }, { EXTPROF_HEAP_MALLOC_LIMIT, 16 << 20 },
		{ EXTPROF_GVL_LOOKS, 1000 }, { EXTPROF_GVL_HELD, 750 }, { EXTPROF_GVL_CONTENDED, 100 },
		{ EXTPROF_GC_MARK_LOOKS, 0 }, { EXTPROF_GC_SWEEP_LOOKS, 0 }, { EXTPROF_GC_COMPACT_LOOKS, 0 },
		{ EXTPROF_GC_OTHER_LOOKS, 0 },
		{ EXTPROF_GVL_WAITS, 20 }, { EXTPROF_GVL_WAITS_TIME, SECOND }, { EXTPROF_GVL_WAITS_P50, 50000000 },
		{ EXTPROF_GVL_WAITS_P99, 99000000 }, { EXTPROF_GVL_WAITS_LONGEST, 100000000 }, { EXTPROF_GVL_WAITS_LOST, 0 },
		{ EXTPROF_GVL_WAITING, 2 }, { EXTPROF_GVL_WAITING_LONGEST, 5000 },
		{ EXTPROF_GC_CYCLES, 12345 }, { EXTPROF_GC_MAJOR_CYCLES, 2 },
		{ EXTPROF_GC_PAUSES, 30 }, { EXTPROF_GC_PAUSES_TIME, 40000000 }, { EXTPROF_GC_PAUSES_P50, 1000 },
		{ EXTPROF_GC_PAUSES_P99, 8000000 }, { EXTPROF_GC_PAUSES_LONGEST, 9000000 },
		{ EXTPROF_GC_PAUSES_WAITED, 1000000 }, { EXTPROF_GC_PAUSES_LOST, 4 }, { EXTPROF_GC_MARK, 30000000 },
		{ EXTPROF_GC_SWEEP, 9000000 }, { EXTPROF_GC_COMPACT, 0 }, { EXTPROF_GC_OTHER, 1000000 }, { EXTPROF_GC_REASONS, 2 },
		{ EXTPROF_ALLOC_BYTES, 3 << 20 }, { EXTPROF_ALLOC_OBJECTS, 50000 }, { EXTPROF_ALLOC_OBJECTS_DEVIATION, 5000 },
		{ EXTPROF_ALLOC_SAMPLES, 400 }, { EXTPROF_ALLOC_LOST, 0 }, { EXTPROF_ALLOC_INTERVAL, 512 << 10 },
		{ EXTPROF_MALLOC_BYTES, 2 << 20 }, { EXTPROF_MALLOC_SAMPLES, 100 },
		{ EXTPROF_THREADS, 4 }, { EXTPROF_THREADS_TIME, 3 * SECOND }, { EXTPROF_THREADS_LOST, 0 },
		{ EXTPROF_CALLS_NOT_RETURNED, 1 }, { EXTPROF_CALLS_LOST, 0 },
	};

	memset(m, 0, sizeof(*m));
	m->f = (struct extprof_figures){
		.pid = 77, .processes = 1, .command = "ruby app.rb", .ruby_version = "3.4.5", .interface = "1.1",
		.until = 4 * SECOND, .values = m->list, .value_count = FIGURE_ROWS, .gvl_wait = &m->gvl_wait,
		.gvl_wait_met = &m->gvl_wait_met, .gc_pause = &m->gc_pause, .holders = holders, .holder_count = 2,
		.gc_reasons = reasons, .gc_reason_count = 2, .states = states, .state_count = 2, .calls = calls,
		.call_count = 2,
	};
	for (int i = 0; i < FIGURE_ROWS; i++) {
		m->values[i].key = figure_rows[i].key;
		m->list[i] = &m->values[i];
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		set(m, values[i].id, values[i].value);
	m->gvl_wait = (struct extprof_longest){ "[thread napper (13)]", 77 };
	return m;
}

/* Of a ruby that tells little. */
static struct made *unknown(struct made *m)
{
	static const char missing[] = "it does not tell";

	known(m);
	forget(m, EXTPROF_SWITCHES_VOLUNTARY, EXTPROF_SWITCHES_INVOLUNTARY, missing);
	forget(m, EXTPROF_GVL_CONTENDED, EXTPROF_GVL_CONTENDED, missing);
	forget(m, EXTPROF_GVL_WAITS, EXTPROF_GVL_WAITING_LONGEST, missing);
	forget(m, EXTPROF_GC_CYCLES, EXTPROF_MALLOC_SAMPLES, missing);
	return m;
}

/* By a reader that sees what threads do only when it looks. */
static struct made *looked_at(struct made *m)
{
	static const struct extprof_gc_reason malloced = { "malloc", true, 0, 0, 200 }, start = { "GC.start", false, 0, 0, 50 };
	static const struct extprof_gc_reason *const reasons[] = { &malloced, &start };
	static const struct extprof_state_figures running = { "running", 2 * SECOND, 300, 0 };
	static const struct extprof_state_figures runnable = { "runnable", SECOND / 2, 20, 0 };
	static const struct extprof_state_figures gvl = { "gvl", SECOND, 20, 40000000 };
	static const struct extprof_state_figures *const states[] = { &running, &runnable, &gvl };

	known(m);
	forget(m, EXTPROF_GVL_WAITS, EXTPROF_GVL_WAITING_LONGEST, "it needs eBPF");
	forget(m, EXTPROF_GC_PAUSES, EXTPROF_MALLOC_SAMPLES, "it needs eBPF");
	set(m, EXTPROF_GC_MARK_LOOKS, 100);
	set(m, EXTPROF_GC_SWEEP_LOOKS, 130);
	set(m, EXTPROF_GC_OTHER_LOOKS, 20);
	set(m, EXTPROF_THREAD_LOOKS, 1234);
	set(m, EXTPROF_GVL_WAIT_MET, 7000000);
	m->gvl_wait_met = (struct extprof_longest){ "[thread napper (13)]", 77 };
	m->f.gc_reasons_met = reasons;
	m->f.gc_reason_met_count = 2;
	m->f.states = states;
	m->f.state_count = 3;
	return m;
}

static char *total(const struct made *m, struct extprof_report *report, bool json)
{
	const struct extprof_figures *f = &m->f;
	const struct extprof_figures_result figures = { .interval = f, .total = f, .processes = &f, .process_count = 1 };
	struct stat_result result = { .figures = &figures, .report = report, .own_cpu = 12000000, .ended = "Ctrl-C" };
	struct stat_options options = { .top = 10 };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (json)
		stat_json__write_total(&result, to);
	else
		stat_text__write_total(&result, &options, to);
	fclose(to);
	return text;
}

static json_int_t number(json_t *o, const char *group, const char *name)
{
	return json_integer_value(json_object_get(json_object_get(o, group), name));
}

static bool has_lines(const char *text, const char *const *lines)
{
	for (int i = 0; lines[i]; i++) {
		if (strstr(text, lines[i]))
			continue;
		test__fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", lines[i], text);
		return false;
	}
	return true;
}

TEST(stat_text_of_known_figures)
{
	static const char *const lines[] = {
		"process 77, ruby app.rb, ruby 3.4.5, 4.000 s (Ctrl-C)\n",
		"CPU time                 2.000 s   50.0 % of one CPU; user 1.500 s, system 500.00 ms\n",
		"context switches           1,234   308/s; voluntary 1,200, involuntary 34\n",
		"page faults            1,000,003   250001/s; minor 1,000,000, major 3\n",
		"memory                  50.0 MiB   resident; anonymous 40.0 MiB, file 9.0 MiB, shared 1.0 MiB; swapped 3.0 MiB; "
		"peak 60.0 MiB\n",
		"heap                     300,000   live slots, 75.0 % of 400,000; 500 pages, 31.2 MiB; malloc 4.0 MiB since GC, "
		"limit 16.0 MiB\n",
		"GVL held                  75.0 %   +- 2.7 (1,000 looks); others waited for it 10.0 % +- 1.9\n",
		"GVL waits                     20   5/s, 1.000 s in all; p50 50.00 ms, p99 99.00 ms, longest 100.00 ms of "
		"[thread napper (13)]\n",
		"          not over             2   more wait at the end, one for 5.0 us\n",
		"  for whom                90.0 %   [thread burner (12)] had the GVL while others waited\n",
		"                          10.0 %   [other threads]\n",
		"GC                        12,345   collections, 2 major\n",
		"GC pauses                     30   40.00 ms in all, 1.00 % of the time; p50 1.0 us, p99 8.00 ms, longest 9.00 ms\n",
		"  by phase                         mark 30.00 ms, sweep 9.00 ms, other 1.00 ms; of all this waiting for a CPU 1.00 ms\n",
		"  by reason              7.00 ms   malloc, major, in 2 pauses\n",
		"                          0.5 us   GC.start, minor, in 1 pause\n",
		"  lost                         4   pauses were lost\n",
		"allocated                3.0 MiB   768.0 KiB/s +- 9.8 %; 50,000 objects, 12,500/s +- 19.6 %; estimates (400 samples, "
		"one per 512.0 KiB)\n"
		"  by malloc              2.0 MiB   512.0 KiB/s +- 19.6 %\n",
		"threads                        4   at the end; on average 0.75, which were\n",
		"                         1.000 s   0.25 gvl, 20 waits\n",
		"     8.00 ms    2.00 ms          4  read\n",
		"      1.0 us     1.0 us          1  32-bit system call 999\n",
		"                                1  calls have not returned\n",
		"extprof itself used 12.00 ms of CPU time\n", NULL,
	};
	struct made m;
	char *text = total(known(&m), NULL, false);

	has_lines(text, lines);
	free(text);
}

/* Nothing that is not known is a number. */
TEST(stat_text_of_unknown_figures)
{
	static const char *const lines[] = {
		"context switches               -   not known: it does not tell\n",
		"GVL held                  75.0 %   +- 2.7 (1,000 looks)\n",
		"GVL waits                      -   not known: it does not tell\n",
		"GC                             -   not known: it does not tell\n",
		"GC pauses                      -   not known: it does not tell\n",
		"allocated                      -   not known: it does not tell\n", NULL,
	};
	struct made m;
	char *text = total(unknown(&m), NULL, false);

	has_lines(text, lines);
	CHECK(!strstr(text, "by reason") && !strstr(text, "by phase"));
	free(text);
}

TEST(stat_text_of_looks)
{
	static const char *const lines[] = {
		"GVL waits                      -   not known: it needs eBPF\n"
		"  by looks               7.00 ms   or longer was the longest that was met, of [thread napper (13)]\n",
		"GC pauses                      -   not known: it needs eBPF\n"
		"  by looks                25.0 %   +- 2.7 of the time; mark 10.0 %, sweep 13.0 %, other 2.0 %\n"
		"  by reason               20.0 %   +- 2.5 of the time; malloc, major\n"
		"                           5.0 %   +- 1.4 of the time; GC.start, minor\n"
		"allocated                      -   not known: it needs eBPF\n"
		"threads                        4   at the end; on average 0.75, which were, by 1,234 looks\n"
		"                         2.000 s   0.50 running, 300 times\n"
		"                       500.00 ms   0.12 runnable\n"
		"                         1.000 s   0.25 +- 0.01 gvl\n", NULL,
	};
	struct made m;
	char *text = total(looked_at(&m), NULL, false);

	has_lines(text, lines);
	free(text);
}

TEST(stat_json_of_looks)
{
	struct made m;
	char *text = total(looked_at(&m), NULL, true);
	json_t *o = json_loads(text, 0, NULL), *gvl;

	CHECK(o);
	CHECK_INT(number(o, "threads", "looks"), 1234);
	gvl = json_object_get(json_object_get(json_object_get(o, "threads"), "states"), "gvl");
	CHECK(json_is_null(json_object_get(gvl, "count")));
	CHECK_INT(json_integer_value(json_object_get(gvl, "error_ns")), 40000000);
	CHECK_INT(number(o, "gc_looks", "sweep"), 130);
	CHECK_INT(number(o, "longest_gvl_wait_met", "ns"), 7000000);
	CHECK(json_is_null(json_object_get(o, "allocations")));
	json_decref(o);
	free(text);
}

TEST(stat_text_of_a_part)
{
	static const char *const lines[] = { "involuntary 34; not of all processes: one is old\n", NULL };
	struct made m;
	char *text;

	known(&m)->values[EXTPROF_SWITCHES_VOLUNTARY].missing = "one is old";
	text = total(&m, NULL, false);
	has_lines(text, lines);
	free(text);
}

/* Of the terminal. */
static unsigned int columns;

static char *interval(const struct extprof_figures *f, bool json)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (json) {
		stat_json__write_interval(f, to);
	} else {
		stat_text__write_head(columns, to);
		stat_text__write_interval(f, columns, to);
	}
	fclose(to);
	return text;
}

/* Text in so many columns. */
static const char *wrapped(const char *text, unsigned int width)
{
	static char out[1024];
	FILE *to = fmemopen(out, sizeof(out) - 1, "w");

	memset(out, 0, sizeof(out));
	wrap__write(text, width, to);
	fclose(to);
	return out;
}

TEST(wrapped_lines_are_cut_at_blanks)
{
	const char *text = "heap              21,046   live slots, 81 % of all; malloc 6.8 MiB since GC\nshort\n";

	CHECK_STRING(wrapped(text, 0), text);
	CHECK_STRING(wrapped(text, 200), text);
	/* What goes on is below the last column, if there is room behind it. */
	CHECK_STRING(wrapped(text, 60), "heap              21,046   live slots, 81 % of all; malloc\n"
		     "                           6.8 MiB since GC\nshort\n");
	CHECK_STRING(wrapped(text, 41), "heap              21,046   live slots, 81\n    % of all; malloc 6.8 MiB since GC\nshort\n");
	CHECK_STRING(wrapped("a /a/path/that/is/much/longer/than/a/line b\n", 10), "a /a/path/that/is/much/longer/than/a/line\n    b\n");
	/* Colours and the bytes of a letter have no columns. */
	CHECK_STRING(wrapped("\033[32mok\033[0m ワワワワワ bb\n", 11), "\033[32mok\033[0m ワワワワワ bb\n");
	CHECK_STRING(wrapped("\033[32mok\033[0m ワワワワワ bb\n", 10), "\033[32mok\033[0m ワワワワワ\n    bb\n");
	CHECK_STRING(wrapped("no end", 3), "no\nend");
	CHECK_STRING(wrapped("", 3), "");
}

TEST(stat_intervals_fit_the_terminal)
{
	static const struct {
		unsigned int width;
		const char *head;
	} heads[] = {
		{ 119, "     time     CPU    GVL GVL waits       p50       p99   longest     GC   GC time pauses  allocated  switches    faults\n" },
		{ 80, "     time     CPU    GVL GVL waits       p99     GC   GC time pauses  allocated\n" },
		{ 40, "     time     CPU    GVL GVL waits\n" }, { 1, "     time\n" },
	};
	struct made m;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		char *text, *end;

		columns = heads[i].width;
		text = interval(&known(&m)->f, false);
		end = strchr(text, '\n') + 1;
		CHECK(!strncmp(text, heads[i].head, strlen(heads[i].head)) && end - text == (long)strlen(heads[i].head));
		CHECK(strlen(end) == (size_t)(end - text));
		free(text);
	}
	columns = 0;
}

/* Two lines of the same length: the columns are below their names. */
TEST(stat_text_of_an_interval)
{
	struct made m;

	for (int i = 0; i < 2; i++) {
		char *text = interval(i ? &unknown(&m)->f : &known(&m)->f, false), *end = strchr(text, '\n');

		CHECK(end && strlen(end + 1) == (size_t)(end - text) + 1);
		CHECK((strstr(end, " -") != NULL) == (i == 1));
		CHECK(strstr(end, "4.000 s") && strstr(end, "50.0%") && strstr(end, "75.0%"));
		free(text);
	}
}

TEST(stat_json_of_known_figures)
{
	struct made m;
	char *text = total(known(&m), NULL, true);
	json_t *o = json_loads(text, 0, NULL);

	CHECK(o && strchr(text, '\n') == text + strlen(text) - 1);
	CHECK_STRING(json_string_value(json_object_get(o, "kind")), "total");
	CHECK_INT(number(o, "cpu", "total_ns"), 2 * SECOND);
	CHECK_INT(number(o, "switches", "involuntary"), 34);
	CHECK_INT(number(o, "faults", "major"), 3);
	CHECK_INT(number(o, "memory", "resident_bytes"), 50 << 20);
	CHECK_INT(number(o, "memory", "peak_bytes"), 60 << 20);
	CHECK_INT(number(o, "heap", "live_slots"), 300000);
	CHECK_INT(number(o, "heap", "malloc_limit_bytes"), 16 << 20);
	CHECK_INT(number(o, "gvl", "contended"), 100);
	CHECK_INT(number(o, "gvl_waits", "p99_ns"), 99000000);
	CHECK_INT(number(o, "gvl_waits", "waiting"), 2);
	CHECK_INT(number(o, "gc_cycles", "all"), 12345);
	CHECK_INT(number(o, "gc_pauses", "longest_ns"), 9000000);
	CHECK_INT(number(o, "allocations", "objects"), 50000);
	CHECK_INT(number(o, "allocations", "objects_deviation"), 5000);
	CHECK_INT(number(o, "malloc", "bytes"), 2 << 20);
	CHECK_INT(number(o, "malloc", "samples"), 100);
	CHECK_INT(number(o, "threads", "lives_ns"), 3 * SECOND);
	CHECK_INT(json_array_size(json_object_get(json_object_get(o, "gvl"), "holders")), 2);
	CHECK_INT(json_array_size(json_object_get(json_object_get(o, "gc_pauses"), "reasons")), 2);
	CHECK_INT(json_array_size(json_object_get(json_object_get(o, "syscalls"), "calls")), 2);
	CHECK_INT(json_array_size(json_object_get(o, "by_process")), 1);
	CHECK_INT(json_object_size(json_object_get(o, "missing")), 0);
	json_decref(o);
	free(text);
}

/* null, never 0. */
TEST(stat_json_of_unknown_figures)
{
	static const char *const names[] = { "switches", "gvl_waits", "gc_cycles", "gc_pauses", "allocations", "malloc" };
	struct made m;
	char *text = interval(&unknown(&m)->f, true);
	json_t *o = json_loads(text, 0, NULL), *missing = json_object_get(o, "missing");

	CHECK(o);
	CHECK_STRING(json_string_value(json_object_get(o, "kind")), "interval");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK(json_is_null(json_object_get(o, names[i])));
		CHECK_STRING(json_string_value(json_object_get(missing, names[i])), "it does not tell");
	}
	CHECK(json_is_null(json_object_get(json_object_get(o, "gvl"), "contended")));
	CHECK_STRING(json_string_value(json_object_get(missing, "gvl.contended")), "it does not tell");
	CHECK(json_is_object(json_object_get(o, "cpu")));
	json_decref(o);
	free(text);
}

TEST(stat_options)
{
	char *argv[] = { "extprof stat", "-p", "77,78", "-d", "5", "-i", "500ms", "--json", "--syscalls", "-F", "999", "--rows",
			 "3", "-o", "out", "--count", "4", NULL };
	char *command[] = { "extprof stat", "-i", "1", "--nonblocking", "--", "ruby", "-p", "x", NULL };
	char *stopping[] = { "extprof stat", "--reader", "stop", "-p", "77", NULL };
	char *how_often[] = { "extprof stat", "--count", "3", "-p", "77", NULL };
	const struct extprof_recording_options *r;
	struct stat_options o;

	r = &o.common.recording;
	CHECK_INT(stat_options__parse(&o, 17, argv, OPTIONS_QUIETLY), 0);
	CHECK_INT(r->pid_count, 2);
	CHECK_INT(r->duration, 5 * SECOND);
	CHECK_INT(o.interval, SECOND / 2);
	CHECK(o.json && r->syscall_figures && r->rate == 999 && o.top == 3 && o.count == 4 && !o.common.command);
	CHECK(!r->reader && !r->subprocesses && r->figures);
	CHECK_STRING(o.file, "out");
	options__free(&o.common);
	CHECK_INT(stat_options__parse(&o, 8, command, OPTIONS_QUIETLY), 0);
	CHECK(o.common.command && !strcmp(o.common.command[0], "ruby") && !strcmp(o.common.command[2], "x"));
	CHECK(r->subprocesses && !r->pid_count && o.top == STAT_ROWS_DEFAULT);
	CHECK_STRING(r->reader, "nonblocking");
	options__free(&o.common);
	CHECK_INT(stat_options__parse(&o, 5, stopping, OPTIONS_QUIETLY), 0);
	CHECK_STRING(r->reader, "stop");
	options__free(&o.common);
	CHECK_INT(stat_options__parse(&o, 5, how_often, OPTIONS_QUIETLY), -EINVAL);
	options__free(&o.common);
}
