/* SPDX-License-Identifier: BSD-2-Clause */
/* Percentiles of requests by a label: recordings of which each request is known. */
#include "test.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/requests_by.h"
#include "extprof.h"
#include "recording/writer.h"
#include "wire/states.h"

#define SECOND 1000000000ull
#define MS 1000000ull

enum { FRAME_METHOD = 1, FRAME_WORKER, FRAME_APP, FRAME_A, FRAME_B, FRAME_KIND };

static const char *const files[] = { "test_requests_by_1.extprof", "test_requests_by_2.extprof" };
static struct extprof_error error = { .size = sizeof(error) };
static struct diag diag;
static char *text;

static struct recording_writer *writer;
static uint64_t now;

static void sample(uint32_t labels, uint8_t state, uint64_t value)
{
	struct recording_sample s = {
		.time = now, .value = value, .count = 1, .thread = 1, .mode = 1, .state = state, .labels = labels,
		.stack = recording_writer__stack(writer, (uint32_t[]){ FRAME_METHOD }, 1),
	};

	CHECK(!recording_writer__sample(writer, &s));
}

/* A request: nothing has labels before it, and it is a wait of two parts. */
static void request(uint32_t labels, uint64_t ms)
{
	sample(0, STATE_RUNNING, 0);
	now += ms * MS;
	sample(labels, STATE_SLEEP, ms * MS * 3 / 4);
	sample(labels, STATE_MUTEX, ms * MS / 4);
	/* Some time later it is over. */
	now += 1000;
}

static struct frame label(const char *key, const char *name)
{
	struct frame f = FRAME_INIT(FRAME_LABEL);

	f.key = key;
	f.name = name;
	return f;
}

/* Requests of a with an odd number of ms, or an even one; some of b. */
static void make(int file)
{
	struct frame method = FRAME_INIT(FRAME_RUBY), thread = FRAME_INIT(FRAME_THREAD), process = FRAME_INIT(FRAME_PROCESS);
	struct frame frame_a = label("controller", "a"), frame_b = label("controller", "b"), kind = label("kind", "web");
	uint32_t a, b, none;

	method.name = "Object#work";
	thread.name = "worker";
	process.name = "app";
	unlink(files[file]);
	now = (5 + (uint64_t)file * 100) * SECOND;
	CHECK(!recording_writer__create(&writer, files[file], (uid_t)-1, (gid_t)-1, 10 * MS, &diag));
	CHECK(!recording_writer__set_number(writer, "started_monotonic_ns", now) &&
	      !recording_writer__set_number(writer, "started_unix_ns", 1000 * SECOND + now) &&
	      !recording_writer__set_number(writer, "period_ns", 10 * MS));
	for (uint32_t i = 0; i < FRAME_KINDS; i++)
		CHECK(!recording_writer__kind(writer, i, frame_kind_names[i], frame_kind__is_code((uint8_t)i)));
	CHECK(!recording_writer__mode(writer, &(struct recording_mode){
		.id = 1, .name = "wall", .value_name = "wall", .value_unit = "ns", .count_name = "samples", .count_unit = "count",
		.source = "" }));
	CHECK(!recording_writer__frame(writer, FRAME_METHOD, &method) && !recording_writer__frame(writer, FRAME_WORKER, &thread) &&
	      !recording_writer__frame(writer, FRAME_APP, &process) && !recording_writer__frame(writer, FRAME_A, &frame_a) &&
	      !recording_writer__frame(writer, FRAME_B, &frame_b) && !recording_writer__frame(writer, FRAME_KIND, &kind));
	CHECK(!recording_writer__process(writer, &(struct recording_process){
		.id = 1, .frame = FRAME_APP, .pid = 42, .command = "ruby app.rb", .ruby = "3.4.5", .began = now }));
	CHECK(!recording_writer__thread(writer, 1, 1, FRAME_WORKER));
	CHECK(!recording_writer__state(writer, STATE_RUNNING, "running") && !recording_writer__state(writer, STATE_SLEEP, "sleep") &&
	      !recording_writer__state(writer, STATE_MUTEX, "mutex"));
	a = recording_writer__stack(writer, (uint32_t[]){ FRAME_A, FRAME_KIND }, 2);
	b = recording_writer__stack(writer, (uint32_t[]){ FRAME_B, FRAME_KIND }, 2);
	none = recording_writer__stack(writer, (uint32_t[]){ FRAME_KIND }, 1);
	/* 37 and 101 have no common factor: all numbers from 1 to 100 in another order. */
	for (uint64_t i = 1; i <= 100; i++)
		if (i * 37 % 101 % 2 == (uint64_t)file)
			request(a, i * 37 % 101);
	for (int i = 0; i < 10; i++)
		request(b, 8);
	for (int i = 0; i < 3; i++)
		request(none, 4);
	sample(0, STATE_RUNNING, 0);
	/* It goes on when the recording ends. */
	sample(a, STATE_RUNNING, 10 * MS);
	CHECK(!recording_writer__set_number(writer, "ended", 1) && !recording_writer__end(writer));
	recording_writer__destroy(writer);
}

static unsigned int text_width;

static void show(const char *format, const char *request_label, unsigned int top, uint64_t slower_than)
{
	struct extprof_recorded_options o = {
		.size = sizeof(o), .requests_by = "controller", .request_label = request_label, .top = top, .slower_than = slower_than,
		.width = text_width,
	};
	struct extprof_recorded *r;
	size_t size;
	FILE *f;
	int err;

	free(text);
	f = open_memstream(&text, &size);
	CHECK(!extprof_recorded_open(&r, files[0], -1, &error) && !extprof_recorded_add(r, files[1], &error));
	err = extprof_recorded_requests(r, format, &o, f, &error);
	fclose(f);
	extprof_recorded_close(r);
	CHECK_INT(err, 0);
}

static json_t *value_at(json_t *document, size_t i)
{
	return json_array_get(json_object_get(document, "values"), i);
}

static long long at(json_t *value, const char *first, const char *second)
{
	json_t *of = json_object_get(value, first);

	of = second ? json_object_get(of, second) : of;
	return json_is_real(of) ? (long long)(json_real_value(of) + 0.5) : json_integer_value(of);
}

static char sql[8][512];
static int sql_rows;

static int take_row(void *context, int columns, const char *const *values)
{
	(void)context;
	for (int i = 0; i < columns && sql_rows < 8; i++) {
		size_t length = strlen(sql[sql_rows]);

		snprintf(sql[sql_rows] + length, sizeof(sql[0]) - length, "%s%s", i ? " " : "", values[i] ? values[i] : "NULL");
	}
	sql_rows++;
	return 0;
}

TEST(requests_by_label)
{
	struct extprof_recorded *r;
	json_t *document, *a;

	make(0);
	make(1);
	show("table", NULL, 20, 0);
	CHECK_STRING(text,
		     "# requests by controller: 120, not whole: 2, no room: 0, times in us\n"
		     "requests\tcut\tp50\tp50_up_to\tp95\tp95_up_to\tp99\tp99_up_to\tmax\tmax_up_to"
		     "\tmean\trun\tgc\trunnable\tgvl\tio\tlock\tsleep\tparked\tother"
		     "\tslow_requests\tslow_mean\tslow_run\tslow_gc\tslow_runnable\tslow_gvl\tslow_io\tslow_lock\tslow_sleep\tslow_parked\tslow_other"
		     "\tcontroller\n"
		     "100\t2\t50000\t50001\t95000\t95001\t99000\t99001\t100000\t100001"
		     "\t50500\t0\t0\t0\t0\t0\t12625\t37875\t0\t0\t6\t97500\t0\t0\t0\t0\t0\t24375\t73125\t0\t0\ta\n"
		     "20\t0\t8000\t8001\t8000\t8001\t8000\t8001\t8000\t8001"
		     "\t8000\t0\t0\t0\t0\t0\t2000\t6000\t0\t0\t20\t8000\t0\t0\t0\t0\t0\t2000\t6000\t0\t0\tb\n");
	show("json", NULL, 20, 0);
	document = json_loads(text, 0, NULL);
	a = value_at(document, 0);
	CHECK(document && !strcmp(json_string_value(json_object_get(a, "value")), "a"));
	CHECK(at(a, "seen", "p50") == 50 * (long long)MS && at(a, "seen", "p95") == 95 * (long long)MS && at(a, "seen", "p99") == 99 * (long long)MS &&
	      at(a, "seen", "max") == 100 * (long long)MS && at(a, "up_to", "p95") == 95 * (long long)MS + 1000);
	CHECK(at(a, "slow", "count") == 6 && at(a, "slow", "mean") == 97500000 && at(document, "cut", NULL) == 2);
	json_decref(document);
	/* Another label makes the requests: some have no controller. */
	show("json", "kind", 20, 0);
	document = json_loads(text, 0, NULL);
	CHECK(document && at(document, "count", NULL) == 126 && json_is_null(json_object_get(value_at(document, 2), "value")) &&
	      !strcmp(json_string_value(json_object_get(value_at(document, 2), "why")), "[no controller]"));
	CHECK(at(value_at(document, 2), "all", "count") == 6 && at(value_at(document, 2), "seen", "p50") == 4 * (long long)MS);
	json_decref(document);
	/* Only long ones: 91 to 100. */
	show("json", NULL, 20, 91 * MS);
	document = json_loads(text, 0, NULL);
	CHECK(document && at(document, "count", NULL) == 10 && at(value_at(document, 0), "seen", "p50") == 95 * (long long)MS);
	json_decref(document);
	show("text", NULL, 1, 0);
	CHECK(strstr(text, "Requests by controller: 120, times in ms\n") && strstr(text, "\n  (1 more)\n") &&
	      strstr(text, "2 parts of requests are not counted"));
	CHECK(strstr(text, "      100     50.0     95.0     99.0    100.0      95.0      50.5 ") != NULL);
	/* The least parts are one column where there is no room for all. */
	text_width = 80;
	show("text", NULL, 20, 0);
	CHECK_STRING(text, "Requests by controller: 120, times in ms\n"
		     " requests      p50      p95      mean      run    sleep    other  controller\n"
		     "      100     50.0     95.0      50.5      0.0     37.9     12.6  a\n"
		     "        6 from p95 on            97.5      0.0     73.1     24.4\n"
		     "       20      8.0      8.0       8.0      0.0      6.0      2.0  b\n"
		     "       20 from p95 on             8.0      0.0      6.0      2.0\n"
		     "Times are those that were seen.  Requests can have lasted longer, by what was\n"
		     "    not seen before and after them.\n"
		     "2 parts of requests are not counted: they begin before a recording, or go on\n"
		     "    after it.\n");
	text_width = 130;
	show("text", NULL, 20, 0);
	CHECK(strstr(text, "p95 up to      mean      run       gc     lock    sleep    other  controller\n") != NULL);
	CHECK(strstr(text, "      100     50.0     95.0     99.0    100.0      95.0      50.5      0.0      0.0     12.6     37.9      0.0  a\n"));
	text_width = 0;
	/* In SQL, of one file: the even numbers to 100. */
	CHECK(!extprof_recorded_open(&r, files[0], -1, &error));
	CHECK(!extprof_recorded_sql(r, "SELECT * FROM requests_by_labels", take_row, NULL, &error));
	extprof_recorded_close(r);
	CHECK_INT(sql_rows, 4);
	CHECK_STRING(sql[1], "controller=a kind=web 50 50000000 96000000 100000000 100000000 51000000.0 0.0 0.0 0.0 0.0 0.0 12750000.0 "
		     "38250000.0 0.0 0.0 3 98000000.0 0.0 0.0 0.0 0.0 0.0 24500000.0 73500000.0 0.0 0.0");
	CHECK_STRING(sql[2], "controller=b kind=web 10 8000000 8000000 8000000 8000000 8000000.0 0.0 0.0 0.0 0.0 0.0 2000000.0 6000000.0 "
		     "0.0 0.0 10 8000000.0 0.0 0.0 0.0 0.0 0.0 2000000.0 6000000.0 0.0 0.0");
	free(text);
	text = NULL;
	unlink(files[0]);
	unlink(files[1]);
}

/* Bounds of memory: what has no room is told, and values are one. */
TEST(requests_by_bounds)
{
	enum { VALUES = 5 };
	struct frame frames[VALUES + 2];
	struct stack_entry stacks[VALUES + 2] = { { .parent = 0 } };
	struct thread_entry threads[2] = { { .id = 0 } };
	struct recording_tables tables = {
		.frames = frames, .frame_count = VALUES + 2, .stacks = stacks, .stack_count = VALUES + 2, .threads = threads, .thread_count = 2,
	};
	struct request list[2 * VALUES];
	struct requests requests = { .tables = &tables, .list = list, .count = 2 * VALUES, .chosen = 2 * VALUES };
	struct requests_by by = { .key = "k", .top = 20, .max = 8, .values_max = 2 };
	char names[VALUES][8];
	size_t size;
	FILE *f;

	for (uint32_t i = 0; i < 2 * VALUES; i++) {
		snprintf(names[i % VALUES], sizeof(names[0]), "v%u", i % VALUES);
		frames[i % VALUES + 1] = label("k", names[i % VALUES]);
		stacks[i % VALUES + 1] = (struct stack_entry){ .frame = i % VALUES + 1, .depth = 1 };
		/* Lengths that somebody made up. */
		list[i] = (struct request){ .begin = 10, .end = i ? 10 + i : UINT64_MAX, .before = UINT64_MAX, .after = 1, .labels = i % VALUES + 1 };
	}
	frames[VALUES + 1] = label("k", "");
	frames[VALUES + 1].known = KNOWN_EXPIRED;
	stacks[VALUES + 1] = (struct stack_entry){ .frame = VALUES + 1, .depth = 1 };
	list[9].labels = VALUES + 1;
	list[9].cut_end = true;
	CHECK(!requests_by__add(&by, &requests) && !requests_by__sort(&by));
	CHECK(by.count == 8 && by.left_out == 1 && by.value_count == 4);
	free(text);
	f = open_memstream(&text, &size);
	CHECK(!requests_by__write_json(&by, f));
	fclose(f);
	CHECK(strstr(text, "too many values") && strstr(text, "expired") && strstr(text, "\"left_out\":1"));
	f = fopen("/dev/null", "w");
	CHECK(f && !requests_by__write_text(&by, f) && !requests_by__write_table(&by, f));
	fclose(f);
	requests_by__free(&by);
	free(text);
	text = NULL;
}
