/* SPDX-License-Identifier: BSD-2-Clause */
/* Several recordings as one profile: sums, times by the clocks on the wall, and what does not fit. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "extprof.h"
#include "recording/meta.h"
#include "recording/profile_parts.h"
#include "recording/together.h"
#include "recording/writer.h"

#define SECOND 1000000000ull
#define PERIOD (SECOND / 100)

static struct extprof_error error = { .size = sizeof(error) };
static struct diag diag;
static char *text;

/* A recording of one thread of one process, with a sample of the method each PERIOD from its begin on. */
struct made {
	const char *file, *mode, *method;
	uint64_t begin, wall, period, samples, lost;
	int pid;
	bool unended;
	uint32_t alike;		/* frames that differ in ... */
	enum { BY_FIRST_LINE, BY_ADDRESS_AND_PID, BY_ADDRESS_AND_LINE } differ;
	const char *host;
	uint64_t began;		/* of the process; 0: a second after the recording */
};

static const struct made a = {
	"test_together_a.extprof", "cpu", "A#work", 5 * SECOND, 1000 * SECOND, PERIOD, 300, 7, 100, false, 0, 0, NULL, 0,
}, b = {
	/* Another machine, on which the clock began anew, two seconds later. */
	"test_together_b.extprof", "cpu", "B#work", 900 * SECOND, 1002 * SECOND, PERIOD, 500, 11, 100, false, 0, 0, NULL, 0,
};

static void set(struct recording_writer *w, const char *key, uint64_t number)
{
	CHECK(!recording_writer__set_number(w, key, number));
}

static void make(const struct made *m)
{
	struct frame method = FRAME_INIT(FRAME_RUBY), thread = FRAME_INIT(FRAME_THREAD), process = FRAME_INIT(FRAME_PROCESS);
	bool of_bytes = !strcmp(m->mode, "alloc");
	struct recording_writer *w;

	method.name = m->method;
	method.path = "app.rb";
	thread.name = "worker";
	thread.tid = 42;
	process.name = "app";
	process.pid = (uint32_t)m->pid;
	unlink(m->file);
	CHECK(!recording_writer__create(&w, m->file, (uid_t)-1, (gid_t)-1, m->period, &diag));
	set(w, "started_monotonic_ns", m->begin);
	set(w, "started_unix_ns", m->wall);
	set(w, "started_unix_s", m->wall / SECOND);
	set(w, "period_ns", m->period);
	for (uint32_t i = 0; i < FRAME_KINDS; i++)
		CHECK(!recording_writer__kind(w, i, frame_kind_names[i], frame_kind__is_code((uint8_t)i)));
	CHECK(!recording_writer__mode(w, &(struct recording_mode){
		.id = 1, .name = m->mode, .value_name = of_bytes ? "alloc_space" : m->mode, .value_unit = of_bytes ? "bytes" : "ns",
		.count_name = of_bytes ? "alloc_objects" : "samples", .count_unit = "count", .source = "" }));
	CHECK(!recording_writer__frame(w, 1, &method) && !recording_writer__frame(w, 2, &thread) &&
	      !recording_writer__frame(w, 3, &process));
	for (uint32_t i = 1; i <= m->alike; i++) {
		struct frame f = m->differ == BY_ADDRESS_AND_PID ? process : method;

		if (m->differ == BY_FIRST_LINE)
			f.first_line = (int32_t)i;
		if (m->differ == BY_ADDRESS_AND_LINE)
			f.line = (int32_t)i;
		if (m->differ == BY_ADDRESS_AND_PID)
			f.pid = i;
		if (m->differ != BY_FIRST_LINE)
			f.address = m->differ == BY_ADDRESS_AND_PID ? (uint64_t)i << 40 : i;
		CHECK(!recording_writer__frame(w, 3 + i, &f));
	}
	CHECK(!recording_writer__process(w, &(struct recording_process){
		.id = 1, .frame = 3, .pid = m->pid, .command = "ruby app.rb", .ruby = "3.4.5", .began = m->began ? m->began : m->begin + SECOND }));
	CHECK(!recording_writer__thread(w, 1, 1, 2));
	for (uint64_t i = 0; i < m->samples; i++) {
		uint32_t frame = m->differ == BY_ADDRESS_AND_LINE ? 4 + (uint32_t)(i % m->alike) : 1;
		struct recording_sample s = {
			.time = m->begin + i * PERIOD, .value = PERIOD, .count = 1, .thread = 1, .mode = 1,
			.stack = recording_writer__stack(w, &frame, 1),
		};

		CHECK(!recording_writer__sample(w, &s));
	}
	if (m->host)
		CHECK(!recording_writer__set_text(w, "mode.1.host", m->host));
	if (!m->unended) {
		if (!of_bytes)
			set(w, "mode.1.period", m->period);
		set(w, "mode.1.started", m->wall / SECOND);
		set(w, "mode.1.started_at", m->begin);
		set(w, "mode.1.missed", 3);
		CHECK(!recording_writer__set_real(w, "mode.1.duration", (double)m->samples / 100));
		CHECK(!recording_writer__set_text(w, "mode.1.command", m->method));
		CHECK(!recording_writer__set_text(w, "mode.1.ruby_version", "3.4.5"));
		CHECK(!recording_writer__account(w, 0, 1, "taken", m->samples + m->lost) &&
		      !recording_writer__account(w, 0, 1, "whole", m->samples) &&
		      !recording_writer__account(w, 0, 1, "lost ring-full", m->lost));
		set(w, "ended", 1);
	}
	CHECK(!recording_writer__end(w));
	recording_writer__destroy(w);
}

/* Show them, in `text`.  0 or what an error is. */
static int show(const char *format, const struct extprof_recorded_options *options, const struct made *x, const struct made *y,
		const struct made *z)
{
	const struct made *more[] = { y, z };
	struct extprof_recorded *r;
	size_t size;
	FILE *f;
	int err;

	free(text);
	text = NULL;
	error.text[0] = 0;
	err = extprof_recorded_open(&r, x->file, -1, &error);
	for (int i = 0; i < 2 && !err; i++)
		err = more[i] ? extprof_recorded_add(r, more[i]->file, &error) : 0;
	f = open_memstream(&text, &size);
	if (!err && f)
		err = extprof_recorded_write(r, format, options, f, &error);
	fclose(f);
	extprof_recorded_close(r);
	return err;
}

static struct extprof_recorded_options options;

static char answer[4096];

static void add_text(const char *format, ...)
{
	size_t length = strlen(answer);
	va_list args;

	va_start(args, format);
	vsnprintf(answer + length, sizeof(answer) - length, format, args);
	va_end(args);
}

static void set_up(void)
{
	make(&a);
	make(&b);
	options = (struct extprof_recorded_options){ .size = sizeof(options), .unit = "samples", .groups = "none" };
}

static void tear_down(const struct made *more)
{
	unlink(a.file);
	unlink(b.file);
	if (more)
		unlink(more->file);
	free(text);
	text = NULL;
}

TEST(together_sums)
{
	set_up();
	CHECK_INT(show("folded", &options, &a, &b, NULL), 0);
	CHECK_STRING(text, "A#work 300\nB#work 500\n");
	/* In whatever order. */
	CHECK_INT(show("folded", &options, &b, &a, NULL), 0);
	CHECK_STRING(text, "A#work 300\nB#work 500\n");
	options.groups = "recording";
	CHECK_INT(show("folded", &options, &a, &b, NULL), 0);
	CHECK_STRING(text, "[recording=test_together_a.extprof];A#work 300\n[recording=test_together_b.extprof];B#work 500\n");
	CHECK_INT(show("folded", &options, &a, NULL, NULL), 0);
	CHECK_STRING(text, "[recording=test_together_a.extprof];A#work 300\n");
	options.groups = "thread,recording";
	CHECK_INT(show("folded", &options, &a, &b, NULL), 0);
	CHECK(strstr(text, "[thread worker (42)];[recording=test_together_b.extprof];B#work 500\n") != NULL);
	/* With a label for each of the places, there is none left. */
	options.groups = "recording,label:a,label:b,label:c,label:d";
	CHECK_INT(show("folded", &options, &a, &b, NULL), -E2BIG);
	/* A label that nothing has. */
	options.groups = "label:request";
	CHECK_INT(show("folded", &options, &a, NULL, NULL), -EINVAL);
	options.labels_can_lack = true;
	CHECK_INT(show("folded", &options, &a, NULL, NULL), 0);
	CHECK_STRING(text, "[no request];A#work 300\n");
	options.labels_can_lack = false;
	options.groups = "none";
	CHECK_INT(show("summary", &options, &a, &b, NULL), 0);
	CHECK(strstr(text, "2 recordings  A#work, B#work\n") != NULL);
	CHECK(strstr(text, "samples taken 818 = whole 800 + truncated 0 + lost 18 (ring-full: 18)") != NULL);
	CHECK(strstr(text, "missed besides: 6 ") != NULL);
	CHECK(strstr(text, "for 8.0 s in all") != NULL);
	CHECK_INT(show("json", &options, &a, &b, NULL), 0);
	CHECK(strstr(text, "\"samples\":{\"taken\":818,\"whole\":800,\"truncated\":0,\"lost\":18}") != NULL);
	CHECK(strstr(text, "\"name\":\"test_together_b.extprof\"") != NULL);
	tear_down(NULL);
}

/* Times are since the begin of the first one: the second one begins two seconds later, and both have 100 samples a second. */
TEST(together_times)
{
	set_up();
	options.since = SECOND;
	options.until = 2500 * SECOND / 1000;
	CHECK_INT(show("folded", &options, &b, &a, NULL), 0);
	CHECK_STRING(text, "A#work 151\nB#work 51\n");
	options.until = 2 * SECOND - 1;
	CHECK_INT(show("folded", &options, &a, &b, NULL), 0);
	CHECK_STRING(text, "A#work 100\n");
	options.since = 3 * SECOND;
	options.until = 0;
	CHECK_INT(show("folded", &options, &a, &b, NULL), 0);
	CHECK_STRING(text, "B#work 400\n");
	/* Alone each has its own begin. */
	CHECK_INT(show("folded", &options, &b, NULL, NULL), 0);
	CHECK_STRING(text, "B#work 200\n");
	tear_down(NULL);
}

/* Times of the clock are those of each recording's own machine: a is of 1000 s to 1003 s, b of 1002 s to 1007 s. */
TEST(together_times_of_the_clock)
{
	uint64_t begin, end;
	struct extprof_recorded *r;

	set_up();
	options.since_at = 1001 * SECOND;
	options.until_at = 1002500 * SECOND / 1000;
	CHECK_INT(show("folded", &options, &b, &a, NULL), 0);
	CHECK_STRING(text, "A#work 151\nB#work 51\n");
	CHECK_INT(show("summary", &options, &b, &a, NULL), 0);
	CHECK(strstr(text, "for 2.0 s in all") != NULL);
	/* Each alone. */
	CHECK_INT(show("folded", &options, &b, NULL, NULL), 0);
	CHECK_STRING(text, "B#work 51\n");
	options.since_at = 1002 * SECOND;
	options.until_at = 0;
	CHECK_INT(show("folded", &options, &a, &b, NULL), 0);
	CHECK_STRING(text, "A#work 100\nB#work 500\n");
	/* Before both, and behind both. */
	options.since_at = 0;
	options.until_at = 999 * SECOND;
	CHECK_INT(show("folded", &options, &a, &b, NULL), -ENODATA);
	options.since_at = 1;
	options.until_at = UINT64_MAX;
	CHECK_INT(show("folded", &options, &a, &b, NULL), 0);
	CHECK_STRING(text, "A#work 300\nB#work 500\n");
	options.since_at = 1008 * SECOND;
	CHECK_INT(show("folded", &options, &a, &b, NULL), -ENODATA);
	options.until_at = 1007 * SECOND;
	CHECK_INT(show("folded", &options, &a, &b, NULL), -EINVAL);
	CHECK(strstr(error.text, "not after --since") != NULL);
	options.since = 1;
	CHECK_INT(show("folded", &options, &a, &b, NULL), -EINVAL);
	CHECK(!extprof_recorded_open(&r, b.file, -1, &error) && !extprof_recorded_times(r, &begin, &end, &error));
	CHECK(begin == b.wall && end == b.wall + 500 * PERIOD);
	CHECK(!extprof_recorded_add(r, a.file, &error) && !extprof_recorded_times(r, &begin, &end, &error));
	CHECK(begin == a.wall && end == b.wall + 500 * PERIOD);
	extprof_recorded_close(r);
	tear_down(NULL);
}

/* The reports of a time of two recordings, or three.  How many there are. */
static size_t reports_of(const struct made *const *of, double since, double until, struct extprof_report **reports)
{
	struct extprof_recorded_options o = {
		.size = sizeof(o), .groups = "process,thread", .since_at = (uint64_t)(since * 1e9), .until_at = (uint64_t)(until * 1e9),
	};
	struct extprof_recorded *r;
	size_t count = 0;
	int err = extprof_recorded_open(&r, of[0]->file, -1, &error);

	for (int i = 1; of[i] && !err; i++)
		err = extprof_recorded_add(r, of[i]->file, &error);
	if (!err)
		err = extprof_recorded_reports(r, &o, reports, EXTPROF_REPORTS_MAX, &count, &error);
	extprof_recorded_close(r);
	return err ? 0 : count;
}

static void destroy(struct extprof_report **reports, size_t count)
{
	for (size_t i = 0; i < count; i++)
		extprof_report_destroy(reports[i]);
}

static long ms_of(const struct extprof_report *r)
{
	return (long)((extprof_report_facts(r)->duration + 500000) / 1000000);
}

TEST(together_of_one_time)
{
	const struct extprof_report_process *process;
	struct extprof_report *reports[EXTPROF_REPORTS_MAX];
	struct made c = a, d = b, e = b;
	const struct made *both[] = { &c, &d, NULL }, *other[] = { &d, &c, NULL }, *three[] = { &c, &d, &e, NULL };
	const struct extprof_stack *stack;
	uint64_t sum = 0;

	/* From 1000 to 1003 and from 1002 to 1007 s, of two machines, where one number is a process each. */
	c.host = "web-1";
	d.host = "web-2";
	make(&c);
	make(&d);
	CHECK_INT(reports_of(both, 1001.5, 1004, reports), 1);
	CHECK_INT(ms_of(reports[0]), 2500);
	CHECK_INT(extprof_report_facts(reports[0])->cpu_time / 1000000, 3500);
	process = extprof_report_process(reports[0], 0);
	CHECK(process && process->pid == 100 && process->taken == 150);
	CHECK_STRING(process->host, "web-1");
	process = extprof_report_process(reports[0], 1);
	CHECK(process && process->pid == 100 && process->taken == 200 && !extprof_report_process(reports[0], 2));
	CHECK_STRING(process->host, "web-2");
	while ((stack = extprof_report_next(reports[0]))) {
		CHECK_STRING(stack->frames[0]->key, strcmp(stack->frames[stack->count - 1]->name, "A#work") ? "web-2" : "web-1");
		sum += stack->value;
	}
	CHECK_INT(sum / 1000000, 3500);
	destroy(reports, 1);
	/* What was before tells who rests, and is nothing else: neither a process nor a mode. */
	c.mode = "wall";
	make(&c);
	CHECK_INT(reports_of(other, 1004, 1005, reports), 1);
	CHECK_INT(ms_of(reports[0]), 1000);
	CHECK(extprof_report_process(reports[0], 0) && !extprof_report_process(reports[0], 1));
	destroy(reports, 1);
	/* Each mode has the time in which it was recorded. */
	e.file = "test_together_c.extprof";
	e.wall += SECOND;
	make(&e);
	CHECK_INT(reports_of(three, 1001.5, 1004, reports), 2);
	CHECK_STRING(extprof_report_facts(reports[0])->mode, "wall");
	CHECK_INT(ms_of(reports[0]), 1500);
	CHECK_STRING(extprof_report_facts(reports[1])->mode, "cpu");
	CHECK_INT(ms_of(reports[1]), 2000);
	destroy(reports, 2);
	tear_down(&e);
}

/* A comparison has the times of each of both. */
TEST(together_diff_of_two_times)
{
	struct extprof_diff_options diff = { .size = sizeof(diff), .since_at = { 1001 * SECOND, 1002 * SECOND },
					     .until_at = { 1001500 * SECOND / 1000, 0 } };
	struct extprof_recorded *x, *y;
	size_t size;
	FILE *f;

	set_up();
	CHECK(!extprof_recorded_open(&x, a.file, -1, &error) && !extprof_recorded_open(&y, b.file, -1, &error));
	f = open_memstream(&text, &size);
	CHECK_INT(extprof_recorded_diff(x, y, "text", &diff, f, &error), 0);
	fclose(f);
	CHECK(strstr(text, "510.00 ms in 0.5 s") != NULL && strstr(text, "5.000 s in 5.0 s") != NULL);
	extprof_recorded_close(x);
	extprof_recorded_close(y);
	tear_down(NULL);
}

/* A comparison of recordings that are shown as one, in `text`.  0 or what an error is. */
static int compare(const struct extprof_diff_options *diff, const char *format, const struct made *const before[2],
		   const struct made *const after[2])
{
	struct extprof_recorded *sides[2] = { NULL, NULL };
	int err = 0;
	size_t size;
	FILE *f;

	for (int i = 0; i < 2 && !err; i++) {
		const struct made *const *from = i ? after : before;

		err = extprof_recorded_open(&sides[i], from[0]->file, -1, &error);
		if (!err && from[1])
			err = extprof_recorded_add(sides[i], from[1]->file, &error);
	}
	free(text);
	text = NULL;
	f = open_memstream(&text, &size);
	if (!err)
		err = extprof_recorded_diff(sides[0], sides[1], format, diff, f, &error);
	fclose(f);
	extprof_recorded_close(sides[0]);
	extprof_recorded_close(sides[1]);
	return err;
}

/* Sides with several recordings, some of them on both. */
TEST(together_diff_of_many)
{
	struct extprof_diff_options diff = { .size = sizeof(diff) };
	struct made c = b;

	set_up();
	c.file = "test_together_c.extprof";
	c.begin += 100 * SECOND;
	c.wall += 100 * SECOND;
	c.samples = 100;
	make(&c);
	/* 3 s of A and 5 s of B before, 3 s of A and 1 s of B after. */
	CHECK_INT(compare(&diff, "text", (const struct made *const[]){ &a, &b }, (const struct made *const[]){ &c, &a }), 0);
	CHECK(strstr(text, "8.000 s in 8.0 s") && strstr(text, "4.000 s in 4.0 s"));
	CHECK(strstr(text, " 37.50 %   75.00 %   +37.50 ") && strstr(text, " 62.50 %   25.00 %   -37.50 "));
	CHECK_INT(compare(&diff, "json", (const struct made *const[]){ &a, &b }, (const struct made *const[]){ &c, NULL }), 0);
	CHECK(strstr(text, "\"since_ns\":null") || strstr(text, "\"since_ns\": null"));
	/* Times of the clock, which are of the same files: the last second of A with 1 s of B, and the first one of C. */
	diff = (struct extprof_diff_options){ .size = sizeof(diff), .since_at = { 1002 * SECOND + 1, 1102 * SECOND },
					      .until_at = { 1003 * SECOND, 1102500 * SECOND / 1000 } };
	CHECK_INT(compare(&diff, "text", (const struct made *const[]){ &b, &a }, (const struct made *const[]){ &a, &c }), 0);
	CHECK(strstr(text, "1.990 s in 2.0 s") && strstr(text, "510.00 ms in 0.5 s"));
	CHECK(strstr(text, ":42.500: ") || strstr(text, ":22.500: "));
	/* Since the begin of each side. */
	diff = (struct extprof_diff_options){ .size = sizeof(diff), .since = 1, .until = SECOND - 1 };
	CHECK_INT(compare(&diff, "text", (const struct made *const[]){ &b, &a }, (const struct made *const[]){ &c, &b }), 0);
	CHECK(strstr(text, "990.00 ms in 1.0 s") != NULL);
	/* The time that is asked for is named. */
	diff = (struct extprof_diff_options){ .size = sizeof(diff), .since_at = { 0, 2000 * SECOND } };
	CHECK_INT(compare(&diff, "text", (const struct made *const[]){ &a, &b }, (const struct made *const[]){ &a, &b }), -ENODATA);
	CHECK(strstr(error.text, "after from 1970-01-01 ") && strstr(error.text, ": there are no such samples"));
	tear_down(&c);
}

/* Times of different rates have a sum on a side, numbers of samples have none; two sides can have different rates. */
TEST(together_diff_of_different_rates)
{
	struct extprof_diff_options diff = { .size = sizeof(diff) };
	struct made c = b;

	set_up();
	c.file = "test_together_c.extprof";
	c.period = SECOND / 99;
	make(&c);
	CHECK_INT(compare(&diff, "text", (const struct made *const[]){ &a, &c }, (const struct made *const[]){ &a, NULL }), 0);
	diff.metric = "samples";
	CHECK_INT(compare(&diff, "text", (const struct made *const[]){ &a, NULL }, (const struct made *const[]){ &c, NULL }), 0);
	CHECK_INT(compare(&diff, "text", (const struct made *const[]){ &a, NULL }, (const struct made *const[]){ &a, &c }), -EINVAL);
	CHECK(strstr(error.text, "test_together_c.extprof was recorded at another rate than test_together_a.extprof") != NULL);
	CHECK_INT(compare(&diff, "text", (const struct made *const[]){ &c, &a }, (const struct made *const[]){ &a, NULL }), -EINVAL);
	tear_down(&c);
}

/* No recording, last changed so many seconds ago. */
static void make_file(const char *path, int seconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = time(NULL) - seconds } };
	FILE *f = fopen(path, "w");

	CHECK(f && fputs("no recording", f) >= 0);
	fclose(f);
	CHECK(!utimensat(AT_FDCWD, path, times, 0));
}

TEST(together_folder)
{
	struct extprof_folder_file file = { .size = sizeof(file) };
	struct made c = b, d = a;
	struct extprof_folder *folder;
	struct stat st;
	sqlite3 *db;

	CHECK(!mkdir("test_folder", 0700) && !mkdir("test_folder/below.extprof", 0700));
	c.file = "test_folder/a.extprof";
	d.file = "test_folder/b.extprof";
	make(&c);
	make(&d);
	make_file("test_folder/c.extprof", 60);
	/* One that is being begun. */
	make_file("test_folder/d.extprof", 0);
	/* One of an extprof that was killed when it began. */
	CHECK(!close(open("test_folder/e.extprof", O_WRONLY | O_CREAT, 0600)));
	CHECK(!utimensat(AT_FDCWD, "test_folder/e.extprof", (struct timespec[2]){ { .tv_sec = 1 }, { .tv_sec = 1 } }, 0));
	CHECK(sqlite3_open("test_folder/f.extprof", &db) == SQLITE_OK);
	CHECK(sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL) == SQLITE_OK && sqlite3_close(db) == SQLITE_OK);
	CHECK(!utimensat(AT_FDCWD, "test_folder/f.extprof", (struct timespec[2]){ { .tv_sec = 1 }, { .tv_sec = 1 } }, 0));
	CHECK(!stat("test_folder/f.extprof", &st) && st.st_size > 0);
	CHECK(!mkfifo("test_folder/fifo.extprof", 0600) && !symlink("gone", "test_folder/link.extprof"));
	make_file("test_folder/.hidden.extprof", 60);
	make_file("test_folder/a.extprof.svg", 60);
	CHECK(!extprof_folder_open(&folder, "test_folder/", -1, &error));
	CHECK(!extprof_folder_file(folder, 0, &file) && file.unreadable && strstr(file.unreadable, "no SQLite database"));
	CHECK_STRING(file.path, "test_folder/c.extprof");
	CHECK(!file.begin && !file.end);
	CHECK(!extprof_folder_file(folder, 1, &file) && !file.unreadable);
	CHECK_STRING(file.path, "test_folder/b.extprof");
	CHECK(file.begin == a.wall && file.end == a.wall + 300 * PERIOD);
	CHECK(!extprof_folder_file(folder, 2, &file));
	CHECK_STRING(file.path, "test_folder/a.extprof");
	CHECK_INT(extprof_folder_file(folder, 3, &file), -ENOENT);
	file.size = 0;
	CHECK_INT(extprof_folder_file(folder, 2, &file), -EINVAL);
	extprof_folder_close(folder);
	extprof_folder_close(NULL);
	CHECK(extprof_folder_open(&folder, "test_folder/c.extprof", -1, &error) == -ENOTDIR && !folder);
	CHECK(extprof_folder_open(&folder, "test_folder/gone", -1, &error) == -ENOENT && !folder);
	CHECK_INT(error.code, EXTPROF_RECORDING);
	CHECK_STRING(error.text, "the folder test_folder/gone cannot be read: No such file or directory");
	CHECK_INT(system("rm -r test_folder"), 0);
}

TEST(together_without_an_end)
{
	struct made c = a;

	c.file = "test_together_c.extprof";
	c.wall += SECOND;
	c.method = "C#work";
	c.unended = true;
	set_up();
	make(&c);
	CHECK_INT(show("folded", &options, &a, &b, &c), 0);
	CHECK_STRING(text, "A#work 300\nB#work 500\nC#work 300\n");
	CHECK_INT(show("summary", &options, &a, &b, &c), 0);
	CHECK(strstr(text, "samples taken 1118 = whole 1100 + truncated 0 + lost 18") != NULL);
	CHECK(strstr(text, "the recording did not end") != NULL);
	tear_down(&c);
}

/* A sample of alloc stands for bytes: a rate is no matter of it. */
TEST(together_alloc_of_different_rates)
{
	struct made c = a, d = b;

	set_up();
	c.mode = d.mode = "alloc";
	c.file = "test_together_c.extprof";
	d.file = "test_together_d.extprof";
	d.period = SECOND / 99;
	options.unit = NULL;
	options.metric = "alloc_objects";
	for (int i = 0; i < 4; i++) {
		c.unended = i & 1;
		d.unended = i & 2;
		make(&c);
		make(&d);
		CHECK_INT(show("folded", &options, &c, &d, NULL), 0);
		CHECK_STRING(text, "A#work 300\nB#work 500\n");
		CHECK_INT(show("json", &options, &c, &d, NULL), 0);
		CHECK(!strstr(text, "\"rate\": 99") && !strstr(text, "\"rate\":99"));
	}
	unlink(d.file);
	tear_down(&c);
}

static struct recording_reader *readers[2];
static struct recording_profile *profile;
static struct reports reports;

/* The profile of two, and its report.  0 or negative errno; the caller frees it in each case. */
static int make_profile(const struct made *x, const struct made *y)
{
	struct recording_request request = { .detail = REPORT_BY_LINE };
	struct recording_filter filter = { 0 };
	int err = recording_reader__open(&readers[0], x->file, NULL, &diag);

	if (!err)
		err = recording_reader__open(&readers[1], y->file, NULL, &diag);
	if (!err)
		err = recording_profile__create(&profile, readers, 2, &filter, &diag);
	return err ? err : recording_profile__reports(profile, &request, &reports, &diag);
}

static void free_profile(void)
{
	reports__free(&reports);
	memset(&reports, 0, sizeof(reports));
	recording_profile__destroy(profile);
	profile = NULL;
	for (int i = 0; i < 2; i++) {
		recording_reader__close(readers[i]);
		readers[i] = NULL;
	}
}

TEST(together_says_that_rates_differ)
{
	struct made c = b;

	set_up();
	CHECK_INT(make_profile(&a, &b), 0);
	CHECK(!reports.list[0].meta.rates_differ && reports.list[0].meta.period == PERIOD);
	free_profile();
	c.file = "test_together_c.extprof";
	c.period = SECOND / 99;
	make(&c);
	CHECK_INT(make_profile(&a, &c), 0);
	CHECK(reports.list[0].meta.rates_differ && !reports.list[0].meta.period);
	free_profile();
	tear_down(&c);
}

/* Somebody can have made up many frames that are nearly the same: each has its number, and soon. */
TEST(together_frames_that_are_alike)
{
	enum { MANY = 40000 };

	set_up();
	for (int i = BY_FIRST_LINE; i <= BY_ADDRESS_AND_LINE; i++) {
		struct made c = a, d = a;
		clock_t began;

		c.file = "test_together_c.extprof";
		d.file = "test_together_d.extprof";
		d.begin++;
		c.alike = d.alike = MANY;
		c.differ = d.differ = i;
		if (i == BY_ADDRESS_AND_LINE)
			c.samples = d.samples = MANY;
		make(&c);
		make(&d);
		began = clock();
		CHECK_INT(make_profile(&c, &d), 0);
		/* Each of them compared with all would be a thousand million times. */
		CHECK((double)(clock() - began) / CLOCKS_PER_SEC < 8);
		/* And the method, the thread and the process. */
		CHECK_INT(profile->frame_map.count, MANY + 3);
		CHECK_INT(reports.list[0].samples, 2 * c.samples);
		CHECK(i != BY_ADDRESS_AND_LINE || reports.list[0].lines.count == MANY);
		free_profile();
		unlink(c.file);
		unlink(d.file);
	}
	tear_down(NULL);
}

static void refused(const struct made *m, const char *why)
{
	make(m);
	CHECK(show("folded", &options, &a, m, NULL) < 0);
	CHECK(strstr(error.text, why) != NULL && strstr(error.text, m->file) != NULL);
	CHECK_INT(error.code, EXTPROF_USAGE);
}

TEST(together_what_does_not_fit)
{
	struct made c = b;

	set_up();
	c.file = "test_together_c.extprof";
	c.period = SECOND / 99;
	refused(&c, "at another rate than test_together_a.extprof, and mode cpu counts samples");
	c.unended = true;
	refused(&c, "at another rate");
	/* Times have a sum, whatever the rate. */
	c.unended = false;
	make(&c);
	options.unit = "ns";
	CHECK_INT(show("folded", &options, &a, &c, NULL), 0);
	CHECK_STRING(text, "A#work 3000000000\nB#work 5000000000\n");
	options.unit = NULL;
	CHECK_INT(show("folded", &options, &a, &c, NULL), 0);
	CHECK(strstr(text, "A#work 3000000") && strstr(text, "B#work 5000000"));
	options.metric = "samples";
	CHECK(show("folded", &options, &a, &c, NULL) < 0 && strstr(error.text, "counts samples"));
	options.metric = NULL;
	CHECK_INT(show("summary", &options, &a, &c, NULL), 0);
	CHECK(strstr(text, "  rate  recording\n") && strstr(text, "     100  test_together_a.extprof") &&
	      strstr(text, "      99  test_together_c.extprof"));
	CHECK_INT(show("json", &options, &a, &c, NULL), 0);
	CHECK(strstr(text, "\"rate\":100.0") || strstr(text, "\"rate\": 100.0"));
	options.unit = "samples";
	c = b;
	c.file = "test_together_c.extprof";
	c.mode = "wall";
	refused(&c, "has no mode cpu");
	options.modes = "cpu";
	refused(&c, "has no mode cpu");
	options.modes = NULL;
	/* The same file, by another name too. */
	c = a;
	refused(&c, "are the same recording");
	c.file = "test_together_c.extprof";
	refused(&c, "are the same recording");
	c.wall++;
	make(&c);
	CHECK_INT(show("folded", &options, &a, &c, NULL), 0);
	CHECK_STRING(text, "A#work 600\n");
	tear_down(&c);
}

TEST(options_without_a_recording)
{
	const char *filters[] = { "label:request=*", "nothing" };
	struct extprof_recorded_options o = { .size = sizeof(o), .groups = "process,label:request", .filters = filters, .filter_count = 1 };

	CHECK_INT(extprof_recorded_options_check(&o, &error), 0);
	CHECK_INT(extprof_recorded_options_check(NULL, &error), 0);
	o.filter_count = 2;
	CHECK_INT(extprof_recorded_options_check(&o, &error), -EINVAL);
	CHECK(error.code == EXTPROF_USAGE && strstr(error.text, "\"nothing\" is no filter"));
	o.filter_count = 1;
	o.groups = "nobody";
	CHECK_INT(extprof_recorded_options_check(&o, &error), -EINVAL);
	CHECK(strstr(error.text, "\"nobody\" is no list of groups") != NULL);
	o.groups = NULL;
	o.unit = "miles";
	CHECK(extprof_recorded_options_check(&o, &error) < 0);
	o.size = 0;
	CHECK_INT(extprof_recorded_options_check(&o, &error), -EINVAL);
}

/* What takes one recording says so. */
TEST(together_takes_one)
{
	struct extprof_recorded_check check = { .size = sizeof(check) };
	struct extprof_annotate_options annotate = { .size = sizeof(annotate) };
	struct extprof_recorded *r;

	set_up();
	CHECK(!extprof_recorded_open(&r, a.file, -1, &error) && !extprof_recorded_verify(r, &check, &error));
	CHECK(!extprof_recorded_add(r, b.file, &error));
	CHECK_INT(extprof_recorded_verify(r, &check, &error), -EINVAL);
	CHECK_INT(extprof_recorded_annotate(r, "app.rb", "text", &annotate, stdout, &error), -EINVAL);
	CHECK(strstr(error.text, "takes one recording, not 2") != NULL);
	CHECK(extprof_recorded_add(r, "/dev/null", &error) < 0);
	extprof_recorded_close(r);
	tear_down(NULL);
}

static int take_row(void *context, int columns, const char *const *values)
{
	(void)context;
	for (int i = 0; i < columns; i++)
		add_text("%s%s", values[i] ? values[i] : "NULL", i + 1 < columns ? " " : "\n");
	return 0;
}

/* What a statement says of both and of one more, without the names of the columns. */
static const char *ask(const struct extprof_recorded_options *of, const struct made *more, const char *sql)
{
	struct extprof_recorded *r;
	int err = extprof_recorded_open(&r, b.file, -1, &error);

	answer[0] = '\0';
	if (!err)
		err = extprof_recorded_add(r, a.file, &error);
	if (!err && more)
		err = extprof_recorded_add(r, more->file, &error);
	if (!err)
		err = extprof_recorded_sql_of(r, of, sql, take_row, NULL, &error);
	extprof_recorded_close(r);
	return err ? error.text : strchr(answer, '\n') ? strchr(answer, '\n') + 1 : "";
}

TEST(together_asked_in_sql)
{
	struct extprof_recorded_options of = { .size = sizeof(of) };
	/* Its first mode is another one.  It began with the first.  The last one has nothing but heap, and no clock. */
	struct made c = a, h = a;

	set_up();
	c.file = "test_together_c.extprof";
	c.mode = "alloc";
	c.method = "C#work";
	c.wall += 1;
	c.samples = 10;
	make(&c);
	/* Times are those of the recording that began first. */
	CHECK_STRING(ask(NULL, NULL, "SELECT mode, method, path, pid, tid, thread_name, command, count(*), sum(value), sum(count), min(seconds), "
			 "max(seconds) FROM samples GROUP BY method"),
		     "cpu A#work app.rb 100 42 worker ruby app.rb 300 3000000000 300 0.0 2.99\n"
		     "cpu B#work app.rb 100 42 worker ruby app.rb 500 5000000000 500 2.0 6.99\n");
	CHECK_STRING(ask(NULL, NULL, "SELECT method, self, total FROM top_methods"), "B#work 5000000000 5000000000\nA#work 3000000000 3000000000\n");
	CHECK_STRING(ask(NULL, NULL, "SELECT sum(ns) FROM states_by_thread WHERE mode = 'cpu'"), "8000000000\n");
	CHECK_STRING(ask(NULL, NULL, "SELECT process, reason, samples FROM accounts ORDER BY reason"),
		     "0 lost ring-full 18\n0 taken 818\n0 whole 800\n");
	CHECK_STRING(ask(NULL, NULL, "SELECT p.id, p.pid, p.began_ns - (SELECT value FROM meta WHERE key = 'started_monotonic_ns'), c.text, k.name "
			 "FROM processes p JOIN strings c ON c.id = p.command JOIN frames f ON f.id = p.frame JOIN kinds k ON k.id = f.kind"),
		     "1 100 1000000000 ruby app.rb process\n2 100 3000000000 ruby app.rb process\n");
	CHECK_STRING(ask(NULL, NULL, "SELECT method_of(stack), stack_text(stack) FROM samples GROUP BY 1"), "A#work A#work\nB#work B#work\n");
	CHECK_STRING(ask(NULL, &c, "SELECT mode, count(*) FROM samples GROUP BY mode"), "alloc 10\ncpu 800\n");
	CHECK_STRING(ask(NULL, &c, "SELECT id, name, count_unit FROM modes"), "1 cpu count\n2 alloc count\n");
	CHECK_STRING(ask(NULL, &c, "SELECT key, value FROM meta WHERE key GLOB 'mode.*.command' OR key IN ('ended', 'started_unix_s') ORDER BY 1"),
		     "ended 1\nmode.1.command A#work\nmode.2.command C#work\nstarted_unix_s 1000\n");
	/* What is the same is there once: 3 frames of each, and the methods of a and b differ. */
	CHECK_STRING(ask(NULL, NULL, "SELECT (SELECT count(*) FROM frames), (SELECT count(*) FROM stacks), (SELECT count(*) FROM strings), "
			 "(SELECT count(DISTINCT text) FROM strings)"), "4 2 7 7\n");
	h.file = "test_together_h.extprof";
	h.mode = "heap";
	h.wall = 0;
	make(&h);
	CHECK_STRING(ask(NULL, &h, "SELECT mode, count(*), min(seconds), max(seconds) FROM samples GROUP BY mode"), "cpu 800 0.0 6.99\n");
	/* A process that was there before the machine of a had begun. */
	h = b;
	h.file = "test_together_h.extprof";
	h.wall += 1;
	h.began = SECOND;
	make(&h);
	CHECK_STRING(ask(NULL, &h, "SELECT min(began_ns), (SELECT count(*) FROM samples) FROM processes"), "1 1300\n");
	/* A time of the day: 2 to 3 s after the begin. */
	of.since_at = 1002 * SECOND;
	of.until_at = 1003 * SECOND;
	CHECK_STRING(ask(&of, NULL, "SELECT method, count(*) FROM samples GROUP BY 1"), "A#work 100\nB#work 101\n");
	of.until_at = of.since_at = 5000 * SECOND;
	CHECK_STRING(ask(&of, NULL, "SELECT count(*) FROM samples"), "0\n");
	CHECK(strstr(ask(NULL, NULL, "SELECT colour FROM samples"), "no such column"));
	of.modes = "cpu";
	CHECK(strstr(ask(&of, NULL, "SELECT 1"), "only since_at and until_at"));
	/* One that is added is asked, too. */
	{
		struct extprof_recorded *r;

		answer[0] = '\0';
		CHECK(!extprof_recorded_open(&r, a.file, -1, &error));
		/* The file by itself, a time of it, and the file again. */
		of = (struct extprof_recorded_options){ .size = sizeof(of), .since_at = 1002 * SECOND };
		CHECK(!extprof_recorded_sql(r, "SELECT count(*) FROM samples", take_row, NULL, &error));
		CHECK(!extprof_recorded_sql_of(r, &of, "SELECT count(*) FROM samples", take_row, NULL, &error));
		CHECK(!extprof_recorded_sql(r, "SELECT count(*), max(self) FROM samples, top_methods", take_row, NULL, &error));
		CHECK_STRING(answer, "count(*)\n300\ncount(*)\n100\ncount(*) max(self)\n300 3000000000\n");
		answer[0] = '\0';
		CHECK(!extprof_recorded_sql(r, "SELECT count(*) FROM samples", take_row, NULL, &error));
		CHECK(!extprof_recorded_add(r, b.file, &error));
		CHECK(!extprof_recorded_sql(r, "SELECT count(*) FROM samples", take_row, NULL, &error));
		CHECK(!extprof_recorded_add(r, c.file, &error));
		CHECK(!extprof_recorded_sql(r, "SELECT count(*) FROM samples", take_row, NULL, &error));
		CHECK_STRING(answer, "count(*)\n300\ncount(*)\n800\ncount(*)\n810\n");
		extprof_recorded_close(r);
	}
	unlink(h.file);
	/* It is no way to write files. */
	CHECK(strstr(ask(NULL, NULL, "ATTACH '/tmp/extprof-attached' AS x"), "too many attached"));
	tear_down(&c);
}

/* So many that not all can be open: sums, rows of processes and threads, and what is done if one is replaced. */
TEST(together_many)
{
	enum { MANY = 200 };
	struct rlimit before, few = { .rlim_cur = 24 };
	struct extprof_recorded *r = NULL;
	struct made many[MANY];
	char names[MANY][40];
	size_t size;
	FILE *f;

	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	few.rlim_max = before.rlim_max;
	set_up();
	for (int i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "test_together_%d.extprof", i);
		many[i] = (struct made){ names[i], "cpu", i % 2 ? "B#work" : "A#work", (5 + 10 * (uint64_t)i) * SECOND,
					 (1000 + 10 * (uint64_t)i) * SECOND, PERIOD, (uint64_t)(i + 1), 1, 100, false, 0, 0, NULL, 0 };
		make(&many[i]);
	}
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	for (int i = 0; i < MANY; i++)
		CHECK(!(i ? extprof_recorded_add(r, names[i], &error) : extprof_recorded_open(&r, names[i], -1, &error)));
	for (int i = 0; i < 2; i++) {
		free(text);
		f = open_memstream(&text, &size);
		CHECK_INT(extprof_recorded_write(r, "folded", &options, f, &error), 0);
		fclose(f);
		/* 1 + 3 + ... + 199, and 2 + 4 + ... + 200. */
		CHECK_STRING(text, "A#work 10000\nB#work 10100\n");
	}
	options.since_at = (1000 + 10 * 50) * SECOND;
	options.until_at = (1000 + 10 * 52) * SECOND - 1;
	free(text);
	f = open_memstream(&text, &size);
	CHECK_INT(extprof_recorded_write(r, "folded", &options, f, &error), 0);
	fclose(f);
	CHECK_STRING(text, "A#work 51\nB#work 52\n");
	/* One process and one row. */
	options.since_at = options.until_at = 0;
	free(text);
	f = open_memstream(&text, &size);
	CHECK_INT(extprof_recorded_write(r, "summary", &options, f, &error), 0);
	fclose(f);
	CHECK(strstr(text, "samples taken 20300 = whole 20100 + truncated 0 + lost 200") != NULL);
	CHECK(strstr(text, "Processes") == NULL);
	/* Another file takes the place of one, and one is gone. */
	many[7].begin++;
	make(&many[7]);
	f = fopen("/dev/null", "w");
	CHECK(extprof_recorded_write(r, "folded", &options, f, &error) < 0);
	CHECK(strstr(error.text, "another file has taken the place of test_together_7.extprof") != NULL);
	unlink(names[7]);
	CHECK_INT(extprof_recorded_write(r, "folded", &options, f, &error), -ENOENT);
	CHECK_INT(error.code, EXTPROF_RECORDING);
	fclose(f);
	extprof_recorded_close(r);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	for (int i = 0; i < MANY; i++)
		unlink(names[i]);
	tear_down(NULL);
}

/* A process of another machine is another one, whatever its pid. */
TEST(together_rows_of_two_machines)
{
	static const char *const hosts[] = { "web1", "web2", "web1", NULL };
	struct together_maps maps = { 0 };
	struct report sum = { 0 };

	for (int i = 0; i < 4; i++) {
		struct report part = { 0 };
		struct together_part of = { .name = "x", .maps = &maps, .host = hosts[i] };

		CHECK(processes__add(&part.processes) == 0);
		part.processes.rows[0].pid = 1;
		part.processes.rows[0].cpu_time = 5;
		strcpy(part.processes.rows[0].command, "app");
		CHECK(!together__add(&sum, &part, &of, &diag));
		report__free(&part);
	}
	CHECK_INT(sum.processes.count, 3);
	CHECK(sum.processes.rows[0].cpu_time == 10 && sum.processes.rows[1].cpu_time == 5);
	together_maps__free(&maps);
	report__free(&sum);
}

/* A process that ended is not the next one of its pid; threads have what was recorded of them. */
TEST(together_rows_go_on)
{
	struct together_maps maps = { 0 };
	struct report sum = { 0 };

	for (int i = 0; i < 4; i++) {
		struct report part = { .threads = calloc(1, sizeof(struct thread_rows)) };
		struct thread_row *thread = part.threads->rows = calloc(1, sizeof(*thread));
		struct together_part of = { .name = "x", .maps = &maps, .later = (uint64_t)i * 1000 };

		CHECK(processes__add(&part.processes) == 0 && processes__add(&part.processes) == 1);
		for (int j = 0; j < 2; j++) {
			struct process_row *row = &part.processes.rows[j];

			row->pid = 100 + j;
			row->started = 10;
			row->cpu_time = 5;
			row->kernel.taken = row->kernel.whole = row->received.whole = 1;
			row->parent = j ? 0 : PROCESS_NONE;
			strcpy(row->command, "app");
		}
		/* The second one ends in the second recording; in the third one there is another one of its pid. */
		if (i == 1) {
			strcpy(part.processes.rows[1].ended, "exit 0");
			part.processes.rows[1].ended_at = 90;
		}
		thread->account = (struct thread_account){ .first = 10, .until = 110, .tid = 7, .time = { 60 }, .waits = { 2 } };
		thread->name = strdup("worker");
		part.threads->count = 1;
		CHECK(!together__add(&sum, &part, &of, &diag));
		report__free(&part);
	}
	CHECK_INT(sum.processes.count, 3);
	CHECK(sum.processes.rows[0].cpu_time == 20 && sum.processes.rows[0].kernel.taken == 4 && sum.processes.rows[0].started == 10);
	CHECK(sum.processes.rows[1].cpu_time == 10 && sum.processes.rows[1].ended_at == 1090);
	CHECK_STRING(sum.processes.rows[1].ended, "exit 0");
	CHECK(sum.processes.rows[2].cpu_time == 10 && sum.processes.rows[2].started == 2010 && !*sum.processes.rows[2].ended);
	CHECK(sum.processes.rows[1].parent == 0 && sum.processes.rows[2].parent == 0);
	CHECK_INT(sum.threads->count, 1);
	CHECK(sum.threads->rows[0].account.first == 10 && sum.threads->rows[0].account.until == 410);
	CHECK(sum.threads->rows[0].account.time[0] == 240 && sum.threads->rows[0].account.waits[0] == 8);
	CHECK_INT(sum.recording_count, 4);
	report__free(&sum);
	together_maps__free(&maps);
}

/* Rows of processes are moved to the clock of the first recording, and parents are found again. */
TEST(together_rows)
{
	struct report sum = { 0 }, parts[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		struct thread_rows *threads = parts[i].threads = calloc(1, sizeof(*threads));
		struct gc_pauses *pauses = parts[i].pauses = calloc(1, sizeof(*pauses));
		struct sample_event e = { .source = SOURCE_GC, .value = 100 + (uint64_t)i };

		CHECK(processes__add(&parts[i].processes) == 0 && processes__add(&parts[i].processes) == 1);
		parts[i].processes.rows[1].parent = 0;
		parts[i].processes.rows[1].started = 50;
		parts[i].processes.rows[1].cwd = strdup("/app");
		parts[i].processes.rows[1].executable = strdup("/bin/ruby");
		parts[i].processes.rows[1].resource = strdup("service.name=shop");
		strcpy(parts[i].meta.host, i ? "web2" : "web1");
		threads->rows = calloc(1, sizeof(*threads->rows));
		threads->rows[0].name = strdup("worker");
		threads->rows[0].account.first = 10;
		threads->rows[0].account.until = 20;
		threads->count = threads->room = 1;
		threads->others.until = 5;
		threads->other_count = 2;
		CHECK_INT(gc_pauses__add(pauses, &e, 3), 0);
		CHECK_INT(gc_pauses__set_name(pauses, 3, "worker"), 0);
		parts[i].meta.pid = 7 + i;
		parts[i].meta.why_unnamed_kernel = i ? -EPERM : 0;
		CHECK_INT(together__add(&sum, &parts[i], &(struct together_part){
			.name = "x", .frames = (uint64_t)i * 10, .later = i ? 1000 : 0, .first = i }, &diag), 0);
		report__free(&parts[i]);
	}
	CHECK_INT(sum.processes.count, 4);
	CHECK_INT(sum.processes.rows[3].parent, 2);
	CHECK_INT(sum.processes.rows[2].parent, PROCESS_NONE);
	CHECK_INT(sum.processes.rows[1].started, 50);
	CHECK_INT(sum.processes.rows[3].started, 1050);
	CHECK_INT(sum.processes.rows[2].started, 0);
	CHECK_STRING(sum.processes.rows[3].cwd, "/app");
	CHECK_STRING(sum.processes.rows[3].executable, "/bin/ruby");
	CHECK_STRING(sum.processes.rows[3].resource, "service.name=shop");
	CHECK_STRING(sum.meta.host, "");
	CHECK_INT(sum.threads->count, 2);
	CHECK_INT(sum.threads->rows[1].account.until, 1020);
	CHECK_INT(sum.threads->others.until - sum.threads->others.first, 10);
	CHECK_INT(sum.threads->other_count, 4);
	CHECK_INT(sum.pauses->all.count, 2);
	CHECK_INT(sum.pauses->all.total, 201);
	CHECK_INT(sum.pauses->all.longest, 101);
	/* Threads of two recordings are two. */
	CHECK_INT(sum.pauses->thread_count, 2);
	CHECK_INT(sum.recording_count, 2);
	CHECK_INT(sum.meta.pid, 0);
	CHECK_INT(sum.meta.why_unnamed_kernel, -EPERM);
	report__free(&sum);
}
