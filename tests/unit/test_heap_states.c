/* SPDX-License-Identifier: BSD-2-Clause */
/* Several recordings of what lives: which of them tells the state of a process, and what of two states is a chance. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "extprof.h"
#include "recording/schema.h"
#include "recording/writer.h"

#define SECOND 1000000000ull
#define OBJECT 1000u
#define PROCESSES 4
#define OBJECTS 8

static struct extprof_error error = { .size = sizeof(error) };
static struct diag diag;
static char *text;

/* Each object is made by the method of its process, "P1#make". */
struct process {
	int pid;
	bool ended, untold;
	uint64_t made[OBJECTS];		/* seconds after the begin of the first file; 0: there is no more */
	uint64_t value;			/* of each; 0: OBJECT */
};

struct made {
	const char *file, *host;
	uint64_t begin, length;		/* seconds after the begin of the first one */
	bool unended, old;		/* old: it does not say of which processes it has the state */
	struct process processes[PROCESSES];
};

static void set(struct recording_writer *w, const char *key, uint64_t number)
{
	CHECK(!recording_writer__set_number(w, key, number));
}

static void add_process(struct recording_writer *w, const struct made *m, uint32_t number)
{
	const struct process *p = &m->processes[number];
	struct frame method = FRAME_INIT(FRAME_RUBY), process = FRAME_INIT(FRAME_PROCESS);
	uint32_t id = number + 1, frame = 2 * number + 1, objects = 0;
	char name[16];

	snprintf(name, sizeof(name), "P%d#make", p->pid);
	method.name = name;
	method.path = "app.rb";
	process.name = "app";
	process.pid = (uint32_t)p->pid;
	CHECK(!recording_writer__frame(w, frame, &method) && !recording_writer__frame(w, frame + 1, &process));
	CHECK(!recording_writer__process(w, &(struct recording_process){
		.id = id, .frame = frame + 1, .pid = p->pid, .command = "ruby app.rb", .ruby = "3.4.5", .ended = p->ended ? "exit 0" : "" }));
	CHECK(!recording_writer__thread(w, id, id, 0));
	for (; objects < OBJECTS && p->made[objects]; objects++)
		CHECK(!recording_writer__sample(w, &(struct recording_sample){
			.time = (100 + p->made[objects]) * SECOND, .value = p->value ? p->value : OBJECT, .count = 1, .thread = id, .mode = 1,
			.stack = recording_writer__stack(w, &frame, 1) }));
	if (!p->untold && !p->ended)
		CHECK(!recording_writer__event(w, &(struct recording_event){
			.time = (100 + m->begin + m->length) * SECOND, .process = id, .kind = RECORDING_LIVES, .number = objects }));
}

static void make(const struct made *m)
{
	struct recording_writer *w;

	unlink(m->file);
	CHECK(!recording_writer__create(&w, m->file, (uid_t)-1, (gid_t)-1, 0, &diag));
	set(w, "started_monotonic_ns", (100 + m->begin) * SECOND);
	set(w, "started_unix_ns", (1000 + m->begin) * SECOND);
	set(w, "started_unix_s", 1000 + m->begin);
	for (uint32_t i = 0; i < FRAME_KINDS; i++)
		CHECK(!recording_writer__kind(w, i, frame_kind_names[i], frame_kind__is_code((uint8_t)i)));
	CHECK(!recording_writer__mode(w, &(struct recording_mode){
		.id = 1, .name = "heap", .value_name = "inuse_space", .value_unit = "bytes", .count_name = "inuse_objects",
		.count_unit = "count", .source = "" }));
	CHECK(!recording_writer__take_all_times(w));
	for (uint32_t i = 0; i < PROCESSES && m->processes[i].pid; i++)
		add_process(w, m, i);
	CHECK(m->old || !recording_writer__event(w, &(struct recording_event){
		.time = (100 + m->begin + m->length) * SECOND, .kind = RECORDING_LIVES, .number = 1 }));
	if (m->host)
		CHECK(!recording_writer__set_text(w, "mode.1.host", m->host));
	if (!m->unended) {
		set(w, "mode.1.started", 1000 + m->begin);
		set(w, "mode.1.started_at", (100 + m->begin) * SECOND);
		CHECK(!recording_writer__set_real(w, "mode.1.duration", (double)m->length));
		set(w, "ended", 1);
	}
	CHECK(!recording_writer__end(w));
	recording_writer__destroy(w);
}

static void open_all(const struct made *const *list, struct extprof_recorded **r)
{
	CHECK_INT(extprof_recorded_open(r, list[0]->file, -1, &error), 0);
	for (int i = 1; i < 3 && list[i]; i++)
		CHECK_INT(extprof_recorded_add(*r, list[i]->file, &error), 0);
}

/* Show them, in `text`. */
static int show(const struct extprof_recorded_options *given, const struct made *x, const struct made *y, const struct made *z)
{
	struct extprof_recorded_options options = { .size = sizeof(options), .groups = "none" };
	struct extprof_recorded *r = NULL;
	size_t size;
	FILE *f;
	int err;

	open_all((const struct made *const[]){ x, y, z }, &r);
	if (given)
		options = *given;
	free(text);
	f = open_memstream(&text, &size);
	err = extprof_recorded_write(r, "folded", &options, f, &error);
	fclose(f);
	extprof_recorded_close(r);
	return err;
}

static const struct made first = {
	"test_heap_states_1.extprof", "web1", 0, 10, false, false,
	{ { .pid = 1, .made = { 2, 3, 4 } }, { .pid = 2, .made = { 5, 6 } }, { .pid = 3, .made = { 7 } } },
}, second = {
	/* Of the first process one has died and two are new; the second process has ended, the third one has nothing more. */
	"test_heap_states_2.extprof", "web1", 10, 10, false, false,
	{ { .pid = 1, .made = { 2, 3, 12, 13 } }, { .pid = 2, .ended = true }, { .pid = 3 } },
};

static void tear_down(void)
{
	for (int i = 1; i <= 3; i++) {
		char file[] = "test_heap_states_1.extprof";

		file[17] = (char)('0' + i);
		unlink(file);
	}
	free(text);
	text = NULL;
}

TEST(heap_states_of_several)
{
	make(&first);
	make(&second);
	CHECK_INT(show(NULL, &first, NULL, NULL), 0);
	CHECK_STRING(text, "P1#make 3000\nP2#make 2000\nP3#make 1000\n");
	CHECK_INT(show(NULL, &first, &second, NULL), 0);
	CHECK_STRING(text, "P1#make 4000\n");
	CHECK_INT(show(NULL, &second, &first, NULL), 0);
	CHECK_STRING(text, "P1#make 4000\n");
	tear_down();
}

/* Objects of all times are in one block, not in one for each ten seconds. */
TEST(heap_states_are_few_blocks)
{
	struct extprof_recorded_check check = { .size = sizeof(check) };
	struct extprof_recorded *r;
	struct made old = second;

	old.processes[0].made[0] = 1;
	old.processes[0].made[1] = 50;
	old.processes[0].made[2] = 90;
	make(&old);
	CHECK_INT(extprof_recorded_open(&r, old.file, -1, &error), 0);
	CHECK_INT(extprof_recorded_verify(r, &check, &error), 0);
	CHECK_INT(check.blocks, 1);
	CHECK_INT(check.samples, 4);
	extprof_recorded_close(r);
	tear_down();
}

/* The last one that knows it: another one has not read the table of the process, or has not ended. */
TEST(heap_states_that_are_not_known)
{
	struct made other = second, third = second;

	make(&first);
	other.processes[2].untold = true;
	make(&other);
	CHECK_INT(show(NULL, &first, &other, NULL), 0);
	CHECK_STRING(text, "P1#make 4000\nP3#make 1000\n");
	third.file = "test_heap_states_3.extprof";
	third.begin = 20;
	third.unended = true;
	third.processes[0].untold = third.processes[2].untold = true;
	third.processes[1] = (struct process){ .pid = 1, .ended = true, .untold = true };
	make(&third);
	/* A part of a state was written when it was killed.  Nor does it say what had nothing. */
	CHECK_INT(show(NULL, &first, &other, &third), 0);
	CHECK_STRING(text, "P1#make 4000\nP3#make 1000\n");
	/* One that could read no table knows which processes have ended. */
	other.processes[0].untold = true;
	make(&other);
	CHECK_INT(show(NULL, &other, &first, NULL), 0);
	CHECK_STRING(text, "P1#make 3000\nP3#make 1000\n");
	/* An older one says of no process that it is known. */
	other.old = true;
	make(&other);
	CHECK_INT(show(NULL, &other, &first, NULL), 0);
	CHECK_STRING(text, "P1#make 4000\n");
	tear_down();
}

/* Neither is of the other machine; a pid that is used again is of another process. */
TEST(heap_states_of_machines_and_pids)
{
	struct made other = second;

	make(&first);
	other.host = "web2";
	make(&other);
	CHECK_INT(show(NULL, &first, &other, NULL), 0);
	CHECK_STRING(text, "P1#make 7000\nP2#make 2000\nP3#make 1000\n");
	other = second;
	other.processes[2] = (struct process){ .pid = 2, .made = { 15 } };
	make(&other);
	CHECK_INT(show(NULL, &first, &other, NULL), 0);
	CHECK_STRING(text, "P1#make 4000\nP2#make 1000\nP3#make 1000\n");
	tear_down();
}

/* A time of a report: what was made in it, and lived at the end of the last file that has some of it. */
TEST(heap_states_of_times)
{
	struct extprof_recorded_options options = { .size = sizeof(options), .groups = "none", .until = 10 * SECOND - 1 };

	make(&first);
	make(&second);
	CHECK_INT(show(&options, &first, &second, NULL), 0);
	CHECK_STRING(text, "P1#make 3000\nP2#make 2000\nP3#make 1000\n");
	options.until = 0;
	options.since = 3 * SECOND;
	CHECK_INT(show(&options, &first, &second, NULL), 0);
	CHECK_STRING(text, "P1#make 3000\n");
	options.until = 13 * SECOND - 1;
	CHECK_INT(show(&options, &first, &second, NULL), 0);
	CHECK_STRING(text, "P1#make 2000\n");
	/* By the clock. */
	options = (struct extprof_recorded_options){ .size = sizeof(options), .groups = "none", .since_at = 1003 * SECOND, .until_at = 1010 * SECOND - 1 };
	CHECK_INT(show(&options, &first, &second, NULL), 0);
	CHECK_STRING(text, "P1#make 2000\nP2#make 2000\nP3#make 1000\n");
	tear_down();
}

static void compare(const struct extprof_diff_options *options, const struct made *const *before, const struct made *const *after)
{
	struct extprof_recorded *sides[2] = { NULL, NULL };
	size_t size;
	FILE *f;

	open_all(before, &sides[0]);
	open_all(after, &sides[1]);
	free(text);
	f = open_memstream(&text, &size);
	CHECK_INT(extprof_recorded_diff(sides[0], sides[1], "text", options, f, &error), 0);
	fclose(f);
	extprof_recorded_close(sides[0]);
	extprof_recorded_close(sides[1]);
}

/* Amounts are compared, and what both sides have is no chance. */
TEST(heap_states_compared)
{
	struct extprof_diff_options options = { .size = sizeof(options) };
	/* Eight that are the same, and eight more of another method, which are more than four standard errors apart from none. */
	const struct process same = { .pid = 1, .made = { 1, 2, 3, 4, 5, 6, 7, 8 }, .value = 1000 * OBJECT };
	const struct made before = { "test_heap_states_1.extprof", "", 0, 10, false, false, { same } };
	struct made after = { "test_heap_states_2.extprof", "", 10, 10, false, false, {
		same, { .pid = 2, .made = { 11, 12, 13, 14, 15, 16, 17, 18 } }, { .pid = 3, .made = { 11, 12, 13, 14, 15, 16, 17, 18 } } } };

	for (int i = 0; i < 2; i++)
		after.processes[1 + i].pid = 2;
	make(&before);
	make(&after);
	compare(&options, (const struct made *const[]){ &before, NULL, NULL }, (const struct made *const[]){ &after, NULL, NULL });
	/* 16 objects: 4 * sqrt(16) is what they are, and not more. */
	CHECK(strstr(text, "~   0.00 %    0.20 %    +0.20    0.20") != NULL);
	CHECK(!strstr(text, "P1#make"));
	CHECK(strstr(text, "7.6 MiB at its end") != NULL);
	after.processes[2].value = 3 * OBJECT;
	make(&after);
	compare(&options, (const struct made *const[]){ &before, NULL, NULL }, (const struct made *const[]){ &after, NULL, NULL });
	/* 24 new ones of a method that has had a thousand times as much: 4 * sqrt(24) < 24. */
	for (int i = 1; i <= 3; i++)
		after.processes[i] = (struct process){ .pid = 1, .made = { 11, 12, 13, 14, 15, 16, 17, 18 } };
	make(&after);
	compare(&options, (const struct made *const[]){ &before, NULL, NULL }, (const struct made *const[]){ &after, NULL, NULL });
	CHECK(strstr(text, "   99.70 %  100.00 %    +0.30    0.24") != NULL);
	/* Of another process: its objects are others. */
	after.processes[0].pid = 9;
	make(&after);
	compare(&options, (const struct made *const[]){ &before, NULL, NULL }, (const struct made *const[]){ &after, NULL, NULL });
	CHECK(strstr(text, "P1#make") && strstr(text, "P9#make"));
	tear_down();
}

/* Two times of one history are two states, whatever was made in them. */
TEST(heap_states_of_two_times)
{
	struct extprof_diff_options options = {
		.size = sizeof(options), .since_at = { 1009 * SECOND, 1019 * SECOND }, .until_at = { 1010 * SECOND - 1, 1020 * SECOND },
	};

	make(&first);
	make(&second);
	compare(&options, (const struct made *const[]){ &first, &second, NULL }, (const struct made *const[]){ &first, &second, NULL });
	CHECK(strstr(text, "5.9 KiB at its end") != NULL);
	CHECK(strstr(text, "3.9 KiB at its end") != NULL);
	tear_down();
}
