/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile that is recorded meanwhile: a report of the file is the live one, byte by byte in text. */
#include "recording_fixture.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/diff.h"
#include "recording/sqlite.h"

static char live[1 << 18], again[1 << 18];

TEST(recording_gives_the_live_report)
{
	for (uint32_t modes = 1; modes <= 2; modes++) {
		CHECK(!set_up_recording(modes));
		send_some();
		end_recording();
		for (int i = 0; output_formats[i]; i++) {
			struct reports from_file, made = { 0 };

			/* Others have tables in the order in which the profile met its frames. */
			if (output_formats[i] != &output_folded && output_formats[i] != &output_summary)
				continue;
			for (uint32_t j = 0; j < modes; j++)
				made.count += !build_live(&made.list[j], j, output_formats[i]);
			CHECK_INT(made.count, modes);
			CHECK(!read_report(NULL, NULL, &from_file, output_formats[i]));
			CHECK_INT(from_file.count, modes);
			CHECK(!write_reports(made.list, modes, output_formats[i], live, sizeof(live)));
			CHECK(!write_reports(from_file.list, modes, output_formats[i], again, sizeof(again)));
			if (memcmp(live, again, sizeof(live)))
				test__fail(__FILE__, __LINE__, "%s differs:\n%.2000s\n----\n%.2000s", output_formats[i]->name,
					   live, again);
			CHECK(strlen(live) > 20);
			reports__free(&made);
			reports__free(&from_file);
		}
		tear_down_recording();
	}
}

TEST(recording_filters)
{
	static const struct {
		const char *filter, *key;	/* lines of the folded live profile with that text are what is left */
	} filters[] = {
		{ "thread=100", "(100)]" }, { "thread=10[1-9]", "(101)]" }, { "method=Foo#foo", ";Foo#foo" },
		{ "method=Array#*", "Array#size" }, { "process=77", "[process 77" }, { "process=pu*", "[process 77" },
		{ "file=app.rb", "Foo" }, { "file=none.rb", "nothing" }, { "file=pp.rb", "nothing" },
		/* A group, one above it, and what is none of both. */
		{ "cgroup=/app/web-1", "[process 77" }, { "cgroup=/app", "[process 77" }, { "cgroup=*/web-?", "[process 77" },
		{ "cgroup=/ap", "nothing" }, { "cgroup=/", "[process 77" }, { "cgroup=/app/web-1/below", "nothing" }, { "cgroup=app/web-1", "nothing" },
		{ "gem=none", "nothing" },
		{ "commit=0123456789abcdef0123456789abcdef01234567", "[process 77" }, { "commit=0123456", "[process 77" },
		{ "commit=0*7", "[process 77" }, { "commit=123456", "nothing" }, { "commit=", "nothing" },
		{ "resource:service.name=sh?p", "[process 77" }, { "resource:service.name=sh", "nothing" }, { "resource:other=*", "nothing" },
	};

	CHECK(!set_up_recording(1));
	processes.rows[0].cgroup = strdup("/app/web-1");
	processes.rows[0].resource = strdup("service.name=shop,vcs.ref.head.revision=0123456789abcdef0123456789abcdef01234567");
	send_some();
	end_recording();
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		struct reports from_file;
		struct report made;
		uint64_t wanted = 0, samples;

		CHECK(!build_live(&made, 0, &output_folded));
		CHECK(!write_reports(&made, 1, &output_folded, live, sizeof(live)));
		report__free(&made);
		for (char *line = strtok(live, "\n"); line; line = strtok(NULL, "\n"))
			/* All frames of Ruby are of one file. */
			if (strstr(line, filters[i].key) || (!strcmp(filters[i].key, "Foo") && strstr(line, "<main>")))
				wanted += strtoull(strrchr(line, ' '), NULL, 10);
		CHECK(!read_report(NULL, filters[i].filter, &from_file, &output_folded));
		CHECK(!write_reports(from_file.list, 1, &output_folded, again, sizeof(again)));
		samples = 0;
		for (char *line = strtok(again, "\n"); line; line = strtok(NULL, "\n"))
			samples += strtoull(strrchr(line, ' '), NULL, 10);
		if (samples != wanted)
			test__fail(__FILE__, __LINE__, "%s: %llu, not %llu", filters[i].filter, (unsigned long long)samples,
				   (unsigned long long)wanted);
		CHECK(strcmp(filters[i].key, "nothing") ? wanted > 0 : !wanted);
		reports__free(&from_file);
	}
	{
		struct recording_filter f = { 0 };

		CHECK_INT(recording_filter__add(&f, "method"), -EINVAL);
		CHECK_INT(recording_filter__add(&f, "colour=red"), -EINVAL);
		CHECK_INT(recording_filter__add(&f, "label:=red"), -EINVAL);
		CHECK_INT(recording_filter__add(&f, "trace="), -EINVAL);
		CHECK_INT(recording_filter__add(&f, "trace=0g"), -EINVAL);
		CHECK_INT(recording_filter__add(&f, "span=request"), -EINVAL);
		CHECK(!recording_filter__add(&f, "label:request=GET *"));
		for (int i = 1; i < RECORDING_CONDITIONS_MAX; i++)
			CHECK(!recording_filter__add(&f, "state=io"));
		CHECK_INT(recording_filter__add(&f, "state=io"), -E2BIG);
	}
	tear_down_recording();
}

/* Groups are within one another: a sum of those that are not shown would count samples twice. */
TEST(table_has_no_rest_of_groups)
{
	struct output_options o = { .top = 1 };
	struct report r;
	FILE *f;

	CHECK(!set_up_recording(1));
	send_some();
	name_all();
	CHECK(!build_live(&r, 0, &output_table));
	memset(again, 0, sizeof(again));
	f = fmemopen(again, sizeof(again) - 1, "w");
	CHECK(!output_table.write(&r, 1, &o, f));
	fclose(f);
	/* All of it is in the process. */
	CHECK(strstr(again, "\ngroup\t") && strstr(strstr(again, "\ngroup\t"), "\t100.00\t"));
	CHECK(strstr(strstr(again, "\ngroup\t"), "[process 77"));
	for (const char *at = strstr(again, "\ngroup\t"), *next; at; at = next) {
		const char *other = strstr(at + 1, "(other"), *end = strchr(at + 1, '\n');

		CHECK(!other || other > end);
		next = strstr(at + 1, "\ngroup\t");
	}
	/* The rest of the methods is said. */
	CHECK(strstr(again, "(other: "));
	report__free(&r);
	tear_down_recording();
}

/* Samples are written, and nobody ends the recording. */
static void send_without_an_end(void)
{
	send_some();
	name_all();
	CHECK(!recording_sink__tick(&sink, deadline__now() + 2 * WRITER_BLOCK_NS));
	recording_writer__destroy(sink.writer);
	sink.writer = NULL;
}

/* What was written is there without the end, with its names. */
TEST(recording_without_an_end)
{
	struct reports reports;

	CHECK(!set_up_recording(1));
	send_without_an_end();
	CHECK(!read_report(NULL, NULL, &reports, &output_folded));
	CHECK_INT(reports.count, 1);
	/* The samples of SOURCE_SCHED are of another mode. */
	CHECK_INT(reports.list[0].meta.accounting.whole, 2250);
	CHECK_STRING(reports.list[0].meta.ended, "the recording did not end");
	CHECK_STRING(reports.list[0].meta.command, "puma");
	CHECK(!write_reports(reports.list, 1, &output_folded, again, sizeof(again)));
	CHECK(strstr(again, "(100)]") && strstr(again, "Foo#bar") && strstr(again, "<main>"));
	/* 2999 times 10 ms, also of a thread that has no sample at the end. */
	CHECK_INT((long)(reports.list[0].meta.duration * 100 + 0.5), 2999);
	reports__free(&reports);
	CHECK(!read_report(NULL, "thread=100", &reports, &output_folded));
	CHECK_INT((long)(reports.list[0].meta.duration * 100 + 0.5), 2999);
	reports__free(&reports);
	CHECK(read_report("wall", NULL, &reports, &output_folded) == -EINVAL);
	CHECK_STRING(diag.text, "mode \"wall\" was not recorded: there is cpu");
	tear_down_recording();
}

/* A file that the daemon writes at the moment: which ruby it was is in the rows of the processes alone. */
TEST(recording_without_an_end_of_several_processes)
{
	struct reports reports;

	CHECK(!set_up_recording(1));
	CHECK_INT(processes__add(&processes), 1);
	processes.rows[1].pid = 78;
	strcpy(processes.rows[1].command, "sidekiq");
	send_without_an_end();
	CHECK(!read_report(NULL, NULL, &reports, &output_folded));
	CHECK_INT(reports.list[0].processes.count, 2);
	CHECK_STRING(reports.list[0].meta.command, "");
	CHECK_STRING(reports.list[0].meta.ruby_version, "3.4.5");
	reports__free(&reports);
	tear_down_recording();
}

/* The numbers of frames and processes begin anew, the file goes on. */
TEST(recording_goes_on_after_a_restart)
{
	struct reports reports;
	struct report made;
	uint64_t first;

	CHECK(!set_up_recording(1));
	send_some();
	name_all();
	CHECK(!build_live(&made, 0, &output_folded));
	first = made.samples;
	report__free(&made);
	tree__free(&tree);
	tree__init(&tree);
	frame_table__free(&frames);
	frame_table__init(&frames);
	for (uint32_t i = 0; i < vm.threads.count; i++)
		vm.threads.list[i].frame = 0;
	resolve__restart(&resolver);
	send_some();
	name_all();
	CHECK(!build_live(&made, 0, &output_folded));
	CHECK(!recording_sink__end(&sink));
	CHECK(!recording_writer__end(sink.writer));
	sink.ended = true;
	CHECK(!read_report(NULL, NULL, &reports, &output_folded));
	CHECK_INT(reports.list[0].samples, first + made.samples);
	report__free(&made);
	reports__free(&reports);
	tear_down_recording();
}

static uint32_t label(const char *key, const char *value, uint32_t outer)
{
	uint32_t id = fake__record(&ruby, RB_DEBUG_EXT_LABEL, key, outer, 0);

	if (value)
		fake__set_path(fake__get(&ruby, id), value);
	return id;
}

static void send_for(uint32_t set, int times)
{
	for (int i = 0; i < times; i++) {
		start();
		sample.event.label = set;
		sample.event.time = 1000 + (uint64_t)i * 10000000ull;
		sample.event.value = 10000000;
		sample.event.count = 1;
		sample.event.thread = 3;
		sample.event.thread_slot = 30;
		frame(foo_id, 0);
		send(1);
	}
}

/* The folded stacks of a report without processes and threads. */
static const char *labelled(const char *groups, const char *filter)
{
	struct reports reports;
	int err;

	group_by = groups;
	err = read_report(NULL, filter, &reports, &output_folded);
	group_by = NULL;
	if (err)
		return diag.text;
	err = write_reports(reports.list, 1, &output_folded, again, sizeof(again));
	reports__free(&reports);
	return err ? "it cannot be written" : again;
}

/* Nobody has asked for labels while it was recorded, or for one of them. */
TEST(recording_has_all_labels)
{
	for (int grouped = 0; grouped < 2; grouped++) {
		uint32_t a, b, none, gone;

		CHECK(!set_up_recording(1));
		resolver.all_labels = true;
		if (grouped) {
			CHECK(!groups__parse("process,thread,label:request", &resolver.groups));
			view.groups = resolver.groups;
		}
		a = label("request", "GET /a", 0);
		b = label("request", "GET /b", label("tenant", "7", a));
		none = label("request", NULL, b);
		gone = label("tenant", "8", fake__record(&ruby, RB_DEBUG_EXT_NONE, NULL, 0, 0));
		send_for(a, 1);
		send_for(b, 2);
		send_for(none, 4);
		send_for(0, 8);
		send_for(gone, 16);
		end_recording();
		CHECK_STRING(labelled("label:request", NULL), "[no request];Foo#foo 12\n[request: expired];Foo#foo 16\n"
			     "[request=GET /a];Foo#foo 1\n[request=GET /b];Foo#foo 2\n");
		CHECK_STRING(labelled("label:tenant,label:request", "label:tenant=*"),
			     "[tenant=7];[no request];Foo#foo 4\n[tenant=7];[request=GET /b];Foo#foo 2\n"
			     "[tenant=8];[request: expired];Foo#foo 16\n");
		CHECK_STRING(labelled("none", "label:request=GET /[ab]"), "Foo#foo 3\n");
		CHECK_STRING(labelled("none", "label:request=GET /b"), "Foo#foo 2\n");
		CHECK(strstr(labelled("label:colour", NULL), "the label \"colour\"") && strstr(diag.text, "request, tenant"));
		tear_down_recording();
	}
}

#define OTHER_NAME "test_recording_other.extprof"

/* A recording of `foos` samples in Foo#foo and `bars` in Foo#bar; each stands for `each` ns. */
static int record_shares_of(int foos, int bars, uint64_t each)
{
	if (set_up_recording(1))
		return -1;
	for (int i = 0; i < foos + bars; i++) {
		start();
		sample.event.time = 1000 + (uint64_t)i * 10000000ull;
		sample.event.value = each;
		sample.event.count = 1;
		sample.event.thread = 3;
		sample.event.thread_slot = 30;
		frame(i < foos ? foo_id : bar_id, i < foos ? 0 : 10);
		frame(main_id, 0);
		send(1);
	}
	end_recording();
	recording_sink__free(&sink);
	tear_down();
	return 0;
}

static int record_shares(int foos, int bars)
{
	return record_shares_of(foos, bars, 10000000);
}

/* How both sides of a comparison are shown. */
static struct transform shaping;

/* The comparison of two files, as text in `again`. */
static const char *compared(const char *before, const char *after, const char *metric,
			    int (*write)(struct diff *d, const struct diff_options *o, FILE *to))
{
	struct diff_options o = { .names = { "before", "after" }, .top = 20 };
	struct recording_reader *readers[2] = { NULL, NULL };
	const struct recording_side sides[2] = { { &readers[0], 1 }, { &readers[1], 1 } };
	const struct recording_request request = { .metric = metric, .transform = &shaping };
	struct recording_filter filter = { 0 };
	struct report reports[2] = { 0 };
	FILE *f = fmemopen(again, sizeof(again) - 1, "w");
	struct diff d = { 0 };

	memset(again, 0, sizeof(again));
	if (recording_reader__open(&readers[0], before, NULL, &diag) || recording_reader__open(&readers[1], after, NULL, &diag) ||
	    recording_profile__compare(sides, &filter, &request, reports, &diag) || diff__make(&d, reports) || write(&d, &o, f))
		fprintf(f, "failed: %s", diag.text);
	fclose(f);
	diff__free(&d);
	report__free(&reports[0]);
	report__free(&reports[1]);
	recording_reader__close(readers[0]);
	recording_reader__close(readers[1]);
	return again;
}

/* Both sides of two recordings in another view. */
static const char *shaped(enum transform_action action, const char *list,
			  int (*write)(struct diff *d, const struct diff_options *o, FILE *to))
{
	const char *wrong, *text = "no such view";

	if (!transform__add(&shaping, action, list, &wrong))
		text = compared(OTHER_NAME, FILE_NAME, "samples", write);
	transform__free(&shaping);
	memset(&shaping, 0, sizeof(shaping));
	return text;
}

/* Both sides have the same frames, also where one has samples and the other has none. */
TEST(comparison_is_of_stacks_as_they_are_shown)
{
	const char *text;

	CHECK(!record_shares(600, 400));
	CHECK(!rename(FILE_NAME, OTHER_NAME));
	CHECK(!record_shares(200, 600));
	/* What is in it is in its caller: <main> has 600 of 1000 and 200 of 800.  p = 800 / 1800;
	 * 4 sqrt(p (1 - p) (1/1000 + 1/800)) = 0.0943. */
	text = shaped(TRANSFORM_HIDE, "Foo#foo", diff__write_text);
	CHECK(strstr(text, " 60.00 %   25.00 %   -35.00    9.43 ") && strstr(text, "<main>") && !strstr(text, "Foo#foo"));
	CHECK(!strstr(text, "left out"));
	text = shaped(TRANSFORM_HIDE, "*", diff__write_json);
	CHECK(strstr(text, "\"amount\":1000,") && strstr(text, "\"amount\":800,") && strstr(text, "\"left_out\":0"));
	/* Of the rest there is nothing else: it has not changed. */
	text = shaped(TRANSFORM_FOCUS, "Foo#foo", diff__write_text);
	CHECK(strstr(text, "No method has changed") && strstr(text, "40.0 % of all are left out by --focus") && strstr(text, "75.0 % of all"));
	text = shaped(TRANSFORM_FOCUS, "Foo#*", diff__write_text);
	CHECK(strstr(text, " 60.00 %   25.00 %   -35.00    9.43 ") && !strstr(text, "left out") && !strstr(text, "<main>"));
	text = shaped(TRANSFORM_FOCUS, "Foo#foo", diff__write_json);
	CHECK(strstr(text, "\"amount\":600,\"left_out\":400,") && strstr(text, "\"amount\":200,\"left_out\":600,"));
	CHECK(!rename(FILE_NAME, "test_recording_none.extprof") && !record_shares(0, 300));
	/* A side without any of it. */
	text = shaped(TRANSFORM_FOCUS, "Foo#foo", diff__write_json);
	CHECK(strstr(text, "\"amount\":600,\"left_out\":400,") && strstr(text, "\"amount\":0,\"left_out\":300,"));
	text = shaped(TRANSFORM_HIDE, "Foo#foo", diff__write_text);
	CHECK(strstr(text, " 60.00 %    0.00 %   -60.00 "));
	text = shaped(TRANSFORM_FOCUS, "Nobody#here", diff__write_json);
	CHECK(strstr(text, "\"amount\":0,\"left_out\":1000,") && strstr(text, "\"amount\":0,\"left_out\":300,"));
	unlink("test_recording_none.extprof");
	unlink(OTHER_NAME);
	unlink(FILE_NAME);
}

/* Samples of 10 ms before and of 1 ms after: each side has the noise of its number of samples. */
TEST(recordings_of_different_weights_are_compared)
{
	const char *text;

	CHECK(!record_shares_of(600, 400, 10000000));
	CHECK(!rename(FILE_NAME, OTHER_NAME));
	CHECK(!record_shares_of(200, 600, 1000000));
	text = compared(OTHER_NAME, FILE_NAME, NULL, diff__write_text);
	/* p = (6 + 0.2) / (10 + 0.8); 4 sqrt(p (1 - p) (1/1000 + 1/800)) = 0.0938. */
	CHECK(strstr(text, " 60.00 %   25.00 %   -35.00    9.38 "));
	unlink(OTHER_NAME);
	unlink(FILE_NAME);
}

/* Amounts that a made-up recording has: their sum has to have room. */
TEST(recording_refuses_amounts_without_a_sum)
{
	struct reports reports;

	CHECK(!record_shares_of(1, 0, 1ull << 62));
	CHECK(!read_report(NULL, NULL, &reports, &output_folded));
	CHECK(reports.list[0].samples > 0);
	reports__free(&reports);
	CHECK(!record_shares_of(1, 1, 1ull << 62));
	CHECK_INT(read_report(NULL, NULL, &reports, &output_folded), -EBADMSG);
	CHECK(strstr(diag.text, "no sum"));
	unlink(FILE_NAME);
}

TEST(recording_refuses_a_mode_twice)
{
	struct reports reports;
	sqlite3 *db;

	CHECK(!set_up_recording(2));
	send_some();
	end_recording();
	CHECK(!read_report(NULL, NULL, &reports, &output_folded));
	CHECK_INT(reports.count, 2);
	reports__free(&reports);
	recording_sink__free(&sink);
	CHECK(sqlite3_open(FILE_NAME, &db) == SQLITE_OK);
	CHECK(sqlite3_exec(db, "UPDATE modes SET name='cpu'", NULL, NULL, NULL) == SQLITE_OK);
	CHECK_INT(sqlite3_changes(db), 2);
	sqlite3_close(db);
	CHECK_INT(read_report(NULL, NULL, &reports, &output_folded), -EBADMSG);
	CHECK(strstr(diag.text, "mode cpu twice"));
	tear_down();
	unlink(FILE_NAME);
}

/* What a made-up recording says of itself: a duration that no recording has, and a text that is too long. */
TEST(recording_bounds_what_is_said_of_it)
{
	static const char *const durations[] = { "1e-300", "-1.0", "1e11", "9e999" };
	const char *command;
	sqlite3 *db;

	CHECK(!record_shares(2, 0));
	CHECK(sqlite3_open(FILE_NAME, &db) == SQLITE_OK);
	/* 2 bytes each: the end of the room, which is even, is in a character. */
	CHECK(sqlite3_exec(db, "UPDATE meta SET value=replace(hex(zeroblob(600)), '00', char(228)) WHERE "
			   "key LIKE 'mode.%.command'", NULL, NULL, NULL) == SQLITE_OK);
	CHECK(sqlite3_changes(db) > 0);
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		struct reports reports;
		char sql[128];

		snprintf(sql, sizeof(sql), "UPDATE meta SET value=%s WHERE key LIKE 'mode.%%.duration'", durations[i]);
		CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && sqlite3_changes(db) > 0);
		CHECK(!read_report(NULL, NULL, &reports, &output_folded));
		CHECK(reports.list[0].meta.duration == 0);
		command = reports.list[0].meta.command;
		CHECK(strlen(command) % 2 == 0 && strlen(command) + 3 > sizeof(reports.list[0].meta.command));
		reports__free(&reports);
	}
	sqlite3_close(db);
	unlink(FILE_NAME);
}

TEST(recordings_are_compared)
{
	const char *text;

	CHECK(!record_shares(600, 400));
	CHECK(!rename(FILE_NAME, OTHER_NAME));
	CHECK(!record_shares(200, 600));
	text = compared(OTHER_NAME, FILE_NAME, NULL, diff__write_text);
	/* 600 of 1000 before, 200 of 800 after. */
	CHECK(strstr(text, " 60.00 %   25.00 %   -35.00 ") && strstr(text, "Foo#foo") && strstr(text, " 40.00 %   75.00 %   +35.00 "));
	CHECK(strstr(text, "2 methods have another share of their own, 2 another one"));
	/* <main> is in each stack: it has not changed. */
	CHECK(!strstr(text, "<main>"));
	CHECK(strstr(text, "app.rb:"));
	text = compared(OTHER_NAME, OTHER_NAME, "samples", diff__write_text);
	CHECK(strstr(text, "No method has changed") && !strstr(text, "Foo#foo"));
	text = compared(OTHER_NAME, FILE_NAME, "samples", diff__write_json);
	CHECK(strstr(text, "\"metric\":\"samples\"") || strstr(text, "\"metric\": \"samples\""));
	CHECK(strstr(text, "600") && strstr(text, "\"decided\":true"));
	text = compared(OTHER_NAME, FILE_NAME, NULL, diff__write_graph);
	CHECK(strstr(text, "before 60.00 %, after 25.00 % (-35.00)"));
	CHECK(strstr(text, "hsl(214,85%") && strstr(text, "hsl(8,85%"));
	/* The script computes the same of other sums: it has the amounts and the squares of each node alone. */
	text = compared(OTHER_NAME, FILE_NAME, "samples", diff__write_graph);
	CHECK(strstr(text, "\"diff\":{\"all\":[1000,800],\"squares\":[1000,800],\"errors\":4,\n\"own\":[0,0,0,0,"));
	CHECK(strstr(text, ",600,200,600,200") && strstr(text, ",400,600,400,600") && strstr(text, "\"hidden\":[]"));
	text = compared(OTHER_NAME, FILE_NAME, "bytes", diff__write_text);
	CHECK(strstr(text, "no metric \"bytes\": it is cpu or samples"));
	unlink(OTHER_NAME);
	unlink(FILE_NAME);
}
