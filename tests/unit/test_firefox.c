/* SPDX-License-Identifier: BSD-2-Clause */
/* The file for the Firefox Profiler says of each stack of each thread what the report says, sample by sample. */
#include "recording_fixture.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "no_memory.h"

static json_t *at(json_t *table, const char *column, size_t row)
{
	return json_array_get(json_object_get(table, column), row);
}

static const char *func_name(json_t *file, json_int_t frame)
{
	json_t *shared = json_object_get(file, "shared");
	json_int_t func = json_integer_value(at(json_object_get(shared, "frameTable"), "func", (size_t)frame));
	json_int_t name = json_integer_value(at(json_object_get(shared, "funcTable"), "name", (size_t)func));

	return json_string_value(json_array_get(json_object_get(shared, "stringArray"), (size_t)name));
}

/* "inner < outer": of a stack of the file. */
static void add_stack_text(json_t *file, json_t *stack, struct text *out)
{
	json_t *table = json_object_get(json_object_get(file, "shared"), "stackTable");

	for (json_t *s = stack; json_is_integer(s); s = at(table, "prefix", (size_t)json_integer_value(s)))
		text__addf(out, " < %s", func_name(file, json_integer_value(at(table, "frame", (size_t)json_integer_value(s)))));
}

/* The same of a node of the report; returns the node of its thread. */
static uint32_t add_node_text(const struct report *r, uint32_t node, struct text *out)
{
	for (; node && r->nodes[node].depth > r->group_count; node = r->nodes[node].parent)
		text__addf(out, " < %s", r->labels[r->nodes[node].label].name);
	return node;
}

static void count(json_t *sums, const char *key, json_int_t amount)
{
	json_object_set_new(sums, key, json_integer(json_integer_value(json_object_get(sums, key)) + amount));
}

static json_t *sums_of_report(const struct report *r)
{
	json_t *sums = json_object();

	for (uint32_t i = 1; i < r->node_count; i++) {
		struct text key = { 0 }, thread = { 0 };
		uint32_t group;

		if (!r->nodes[i].self)
			continue;
		group = add_node_text(r, i, &key);
		frame__add_bare(&r->labels[r->nodes[group].label].frame, &thread);
		text__adds(&thread, text__string(&key));
		count(sums, text__string(&thread), (json_int_t)r->nodes[i].self);
		text__free(&key);
		text__free(&thread);
	}
	return sums;
}

/* Threads whose names begin with the prefix, which is left away. */
static void expect(bool is, const char *what)
{
	if (!is)
		test__fail(__FILE__, __LINE__, "%s", what);
}

static json_t *sums_of_file(json_t *file, const char *prefix)
{
	json_t *sums = json_object(), *thread;
	size_t i;

	json_array_foreach(json_object_get(file, "threads"), i, thread) {
		const char *name = json_string_value(json_object_get(thread, "name"));
		json_t *samples = json_object_get(thread, "samples"), *stack;
		double last = -1;
		size_t j;

		if (strncmp(name, prefix, strlen(prefix)))
			continue;
		expect((size_t)json_integer_value(json_object_get(samples, "length")) == json_array_size(json_object_get(samples, "time")),
		       "lengths of columns");
		json_array_foreach(json_object_get(samples, "stack"), j, stack) {
			double time = json_number_value(at(samples, "time", j)), weight = json_number_value(at(samples, "weight", j));
			struct text key = { 0 };

			expect(time >= last && time >= 0, "the order of time");
			last = time;
			if (json_is_null(stack)) {
				expect(weight == 0, "a sample without a stack counts");
				continue;
			}
			text__adds(&key, name + strlen(prefix));
			add_stack_text(file, stack, &key);
			count(sums, text__string(&key), llround(weight * 1e6));
			text__free(&key);
		}
	}
	return sums;
}

static json_t *write_file(const struct reports *reports, bool gzip)
{
	struct output_options o = { .gzip = gzip };
	char *data = NULL;
	size_t size;
	FILE *f = open_memstream(&data, &size);
	json_t *file;

	expect(!output_firefox.write(reports->list, reports->count, &o, f), "it is not written");
	fclose(f);
	file = gzip ? NULL : json_loadb(data, size, 0, NULL);
	expect(!gzip || (size > 20 && data[0] == 0x1f && (unsigned char)data[1] == 0x8b), "it is not compressed");
	free(data);
	return file;
}

TEST(firefox_has_each_sample_in_the_order_of_time)
{
	for (uint32_t modes = 1; modes <= 2; modes++) {
		struct reports reports;
		json_t *file;

		CHECK(!set_up_recording(modes));
		send_some();
		end_recording();
		CHECK_INT(read_report(NULL, NULL, &reports, &output_firefox), 0);
		file = write_file(&reports, false);
		CHECK(file != NULL);
		for (uint32_t i = 0; i < reports.count; i++) {
			json_t *wanted = sums_of_report(&reports.list[i]), *found = sums_of_file(file, modes < 2 ? "" : i ? "wall: " : "cpu: ");

			CHECK(modes == 2 || reports.list[i].timeline->count == reports.list[i].meta.stacks);
			CHECK(json_object_size(wanted) > 4);
			if (!json_equal(wanted, found))
				test__fail(__FILE__, __LINE__, "sums of mode %u differ: %s\n%s", i, json_dumps(wanted, JSON_SORT_KEYS),
					   json_dumps(found, JSON_SORT_KEYS));
			json_decref(wanted);
			json_decref(found);
		}
		json_decref(file);
		CHECK(!write_file(&reports, true));
		reports__free(&reports);
		tear_down_recording();
	}
}

/* A sample that runs stands for the time of its mode; one that waits for none. */
TEST(firefox_says_how_busy_threads_were)
{
	struct reports reports;
	json_t *file, *thread;
	double ran = 0, waited = 0;
	uint64_t wanted = 0;
	size_t i;

	CHECK(!set_up_recording(2));
	send_some();
	end_recording();
	CHECK_INT(read_report("wall", NULL, &reports, &output_firefox), 0);
	for (uint32_t j = 0; j < reports.list[0].timeline->count; j++)
		wanted += reports.list[0].timeline->moments[j].state == STATE_RUNNING ? reports.list[0].timeline->moments[j].ns : 0;
	file = write_file(&reports, false);
	json_array_foreach(json_object_get(file, "threads"), i, thread) {
		json_t *samples = json_object_get(thread, "samples"), *delta;
		size_t j;

		json_array_foreach(json_object_get(samples, "threadCPUDelta"), j, delta) {
			ran += json_number_value(delta);
			/* The viewer does not look at the first one. */
			CHECK(j || !json_number_value(delta));
			waited += json_number_value(delta) ? 0 : json_number_value(at(samples, "weight", j));
		}
	}
	CHECK(wanted > 0 && (uint64_t)ran == wanted);
	CHECK(waited > 0);
	CHECK(json_number_value(json_object_get(json_object_get(file, "meta"), "interval")) == 10);
	json_decref(file);
	reports__free(&reports);
	tear_down_recording();
}

static json_t *counter_of(json_t *file, const char *category)
{
	json_t *counter;
	size_t i;

	json_array_foreach(json_object_get(file, "counters"), i, counter)
		if (!strcmp(json_string_value(json_object_get(counter, "category")), category))
			return json_object_get(counter, "samples");
	return NULL;
}

/* The first value is the whole, others are differences; what a table says that makes no sense is not shown. */
TEST(firefox_has_the_memory_of_processes)
{
	static const json_int_t wanted[] = { 5 << 20, 3 << 20, -(1 << 20) };
	struct reports reports;
	json_t *file, *samples;
	sqlite3 *db;

	CHECK(!set_up_recording(1));
	send_some();
	for (uint64_t i = 0; i < 3; i++)
		CHECK(!recording_sink__figure(&sink, 1000 + (i + 1) * 1000000000, 0, (uint64_t[]){ 5 << 20, 8 << 20, 7 << 20 }[i]));
	end_recording();
	CHECK(sqlite3_open(FILE_NAME, &db) == SQLITE_OK &&
	      sqlite3_exec(db, "INSERT INTO figures(time_ns,process,resident) VALUES(5000,99,1),(5000,-1,1),(5000,0,1),(5000,1,-1),"
			   "(-5,1,1),('x','y','z'),(9223372036854775807,1,1)", NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
	CHECK_INT(read_report(NULL, NULL, &reports, &output_firefox), 0);
	file = write_file(&reports, false);
	samples = counter_of(file, "Memory");
	CHECK(samples != NULL);
	for (size_t i = 0; i < 3; i++) {
		CHECK(json_number_value(at(samples, "time", i)) == 1000.0 * (double)(i + 1));
		CHECK_INT(json_integer_value(at(samples, "count", i)), wanted[i]);
	}
	CHECK(!counter_of(file, "GVL"));
	json_decref(file);
	reports__free(&reports);
	tear_down_recording();
}

/* Each ms of a wait is in the step in which it was: so the sums are those of the stacks. */
TEST(firefox_counts_waits_for_the_gvl)
{
	struct reports reports;
	json_t *file, *samples, *ms;
	double sum = 0, waited = 0;
	size_t i;

	CHECK(!set_up_recording(2));
	send_some();
	for (uint32_t j = 0; j < 100; j++) {
		start();
		frame(main_id, 0);
		sample.event.time = 1000 + 500000000 + j * 100000000ull;
		sample.event.value = sample.event.count = 30000000 + j;
		sample.event.thread = 3;
		sample.event.thread_slot = 30;
		sample.event.tid = 100;
		sample.event.source = SOURCE_SCHED;
		sample.event.state = STATE_GVL;
		send(1);
	}
	end_recording();
	CHECK_INT(read_report("wall", NULL, &reports, &output_firefox), 0);
	for (uint32_t j = 0; j < reports.list[0].timeline->count; j++)
		waited += reports.list[0].timeline->moments[j].state == STATE_GVL ? (double)reports.list[0].timeline->moments[j].amount : 0;
	file = write_file(&reports, false);
	samples = counter_of(file, "GVL");
	CHECK(samples != NULL && waited > 0);
	json_array_foreach(json_object_get(samples, "count"), i, ms) {
		sum += json_number_value(ms);
		CHECK(json_number_value(ms) >= 0);
	}
	CHECK(i == json_array_size(json_object_get(samples, "time")) && fabs(sum - waited / 1e6) < 0.01);
	json_decref(file);
	reports__free(&reports);
	tear_down_recording();
}

/* In the order in which they are asked for: a text, one that is not UTF-8, and none. */
static int read_text(void *context, const char *path, char **to, size_t *length)
{
	static const char *const texts[] = { "a\n\"b\"\0\xe2\x82\xac", "\xff\xfe" };
	static const size_t lengths[] = { 9, 2 };
	unsigned int number = (*(unsigned int *)context)++;

	expect(*path != '\0', "a text of no file");
	if (number == 9)
		return -EBADMSG;
	if (number > 1)
		return 0;
	*to = malloc(lengths[number]);
	memcpy(*to, texts[number], lengths[number]);
	*length = lengths[number];
	return 1;
}

TEST(firefox_has_texts_of_sources)
{
	unsigned int asked = 0;
	struct output_sources sources = { .read = read_text, .context = &asked };
	struct output_options o = { .sources = &sources };
	struct reports reports;
	char *data = NULL;
	json_t *file, *shared, *table, *text;
	size_t size;
	FILE *f;

	CHECK(!set_up_recording(1));
	send_some();
	CHECK(!recording_sink__figure(&sink, 2000, 0, 4096));
	end_recording();
	CHECK_INT(read_report(NULL, NULL, &reports, &output_firefox), 0);
	f = open_memstream(&data, &size);
	CHECK_INT(output_firefox.write(reports.list, 1, &o, f), 0);
	fclose(f);
	file = json_loadb(data, size, JSON_ALLOW_NUL, NULL);
	free(data);
	CHECK_INT(json_integer_value(json_object_get(json_object_get(file, "meta"), "preprocessedProfileVersion")), 64);
	shared = json_object_get(file, "shared");
	table = json_object_get(shared, "sources");
	CHECK(asked > 0 && asked == json_array_size(json_object_get(table, "content")) &&
	      asked == json_array_size(json_object_get(table, "startLine")) && asked == (size_t)json_integer_value(json_object_get(table, "length")));
	text = at(table, "content", 0);
	CHECK(json_string_length(text) == 9 && !memcmp(json_string_value(text), "a\n\"b\"\0\xe2\x82\xac", 9));
	for (size_t i = 1; i < asked; i++)
		CHECK(json_is_null(at(table, "content", i)));
	CHECK(json_array_size(json_object_get(json_object_get(shared, "funcTable"), "originalLocation")) ==
	      (size_t)json_integer_value(json_object_get(json_object_get(shared, "funcTable"), "length")));
	CHECK(json_is_object(json_object_get(json_array_get(json_object_get(file, "counters"), 0), "display")));
	json_decref(file);
	/* A recording that is damaged. */
	asked = 9;
	f = fopen("/dev/null", "w");
	CHECK_INT(output_firefox.write(reports.list, 1, &o, f), -EBADMSG);
	fclose(f);
	reports__free(&reports);
	tear_down_recording();
}

/* Parts of one wait of thread 3, all with the time of its end, of which thread 4 has ended two. */
static void send_wait(void)
{
	static const struct { uint8_t state; uint64_t ms; } parts[] = { { STATE_RUNNABLE, 5 }, { STATE_GVL, 10 }, { STATE_QUEUE, 20 } };
	static struct wait_details details;

	details = (struct wait_details){ .waker = { .kind = PEER_THREAD, .thread = 4, .slot = 40, .tid = 101, .id = bar_id } };
	for (uint32_t i = 0; i < 3; i++) {
		start();
		frame(main_id, 0);
		sample.event.time = 1000 + 500000000;
		sample.event.value = parts[i].ms * 1000000;
		sample.event.count = 1;
		sample.event.thread = 3;
		sample.event.thread_slot = 30;
		sample.event.tid = 100;
		sample.event.source = SOURCE_SCHED;
		sample.event.state = parts[i].state;
		sample.event.flags |= SAMPLE_HAS_DETAILS;
		details.waker.vm = sample.event.vm;
		details.waker.process = sample.event.process;
		details.gvl_waker = details.waker;
		resolver.details = &details;
		resolver.details_wanted = WAIT_DETAIL_WAKER;
		send(1);
	}
	resolver.details = NULL;
	resolver.details_wanted = 0;
}

/* The markers of that name in a thread: begins and ends in ms, and texts of the fields. */
static json_t *markers_of(json_t *file, const char *thread, const char *name)
{
	json_t *found = json_array(), *t, *strings = json_object_get(json_object_get(file, "shared"), "stringArray"), *data;
	size_t i, j;

	json_array_foreach(json_object_get(file, "threads"), i, t) {
		json_t *markers = json_object_get(t, "markers");

		if (strcmp(json_string_value(json_object_get(t, "name")), thread))
			continue;
		json_array_foreach(json_object_get(markers, "data"), j, data) {
			size_t number = (size_t)json_integer_value(at(markers, "name", j));

			if (!strcmp(json_string_value(json_array_get(strings, number)), name))
				json_array_append_new(found, json_pack("{s:O, s:O, s:O}", "begin", at(markers, "startTime", j), "end",
								       at(markers, "endTime", j), "data", data));
		}
	}
	return found;
}

static bool lasted(json_t *marker, double begin, double end)
{
	return json_number_value(json_object_get(marker, "begin")) == begin && json_number_value(json_object_get(marker, "end")) == end;
}

TEST(firefox_shows_the_parts_of_a_wait_one_after_the_other)
{
	static const struct { const char *state; double begin, end; } parts[] = { { "queue", 465, 485 }, { "gvl", 485, 495 } };
	struct reports reports;
	json_t *file, *ended, *waits;

	CHECK(!set_up_recording(2));
	send_some();
	send_wait();
	end_recording();
	CHECK_INT(read_report("wall", NULL, &reports, &output_firefox), 0);
	file = write_file(&reports, false);
	ended = markers_of(file, "#4 (gone)", "ended a wait");
	CHECK_INT(json_array_size(ended), 2);
	for (size_t i = 0; i < 2; i++) {
		json_t *marker = json_array_get(ended, i), *data = json_object_get(marker, "data"), *wait;

		waits = markers_of(file, "#3 (gone)", parts[i].state);
		CHECK_INT(json_array_size(waits), 1);
		wait = json_array_get(waits, 0);
		CHECK(lasted(wait, parts[i].begin, parts[i].end));
		/* The other one did it at that moment, and both have the flow. */
		CHECK(lasted(marker, parts[i].end, 0));
		CHECK_STRING(json_string_value(json_object_get(data, "thread")), "#3 (gone) (100)");
		CHECK_STRING(json_string_value(json_object_get(data, "state")), parts[i].state);
		CHECK(json_is_integer(json_object_get(data, "flow")) &&
		      json_equal(json_object_get(data, "flow"), json_object_get(json_object_get(wait, "data"), "waker flow")));
		json_decref(waits);
	}
	json_decref(ended);
	json_decref(file);
	reports__free(&reports);
	/* Where its thread is not shown, there is none. */
	CHECK_INT(read_report("wall", "thread=#3*", &reports, &output_firefox), 0);
	file = write_file(&reports, false);
	waits = markers_of(file, "#3 (gone)", "queue");
	CHECK_INT(json_array_size(waits), 1);
	CHECK(!json_object_get(json_object_get(json_array_get(waits, 0), "data"), "waker flow"));
	json_decref(waits);
	json_decref(file);
	reports__free(&reports);
	tear_down_recording();
}

TEST(firefox_says_what_went_wrong)
{
	struct output_options o = { 0 };
	struct reports reports;
	FILE *full = fopen("/dev/full", "w");
	int err = -ENOMEM;
	unsigned int n;

	CHECK(!set_up_recording(2));
	send_some();
	send_wait();
	end_recording();
	CHECK_INT(read_report(NULL, NULL, &reports, &output_firefox), 0);
	setvbuf(full, NULL, _IONBF, 0);
	CHECK_INT(output_firefox.write(reports.list, 1, &o, full), -ENOSPC);
	o.gzip = true;
	CHECK_INT(output_firefox.write(reports.list, 1, &o, full), -ENOSPC);
	fclose(full);
	o.gzip = false;
	/* Each allocation of ours fails once. */
	for (n = 1; err && n < 4000; n++) {
		FILE *null = fopen("/dev/null", "w");

		no_memory_at = n;
		err = output_firefox.write(reports.list, 1, &o, null);
		no_memory_at = 0;
		fclose(null);
		CHECK(!err || err == -ENOMEM);
	}
	CHECK(n > 20 && n < 4000);
	reports__free(&reports);
	tear_down_recording();
}

TEST(json_numbers_are_exact)
{
	static const struct {
		int64_t value;
		unsigned int decimals;
		const char *text;
	} numbers[] = {
		{ 0, 6, "0" }, { 1, 6, "0.000001" }, { 1500000, 6, "1.5" }, { -1500000, 6, "-1.5" }, { 42, 0, "42" },
		{ INT64_MAX, 6, "9223372036854.775807" }, { INT64_MIN, 0, "-9223372036854775808" }, { 10, 1, "1" },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char text[64] = "";
		struct json j = { .to = fmemopen(text, sizeof(text), "w") };

		json__number(&j, NULL, numbers[i].value, numbers[i].decimals);
		fclose(j.to);
		CHECK_STRING(text, numbers[i].text);
	}
}
