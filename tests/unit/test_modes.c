/* SPDX-License-Identifier: BSD-2-Clause */
/* Modes: views of one stream of samples, each in its own units. */
#include "test.h"

#include <errno.h>
#include <sys/syscall.h>

#include "profile/unit.h"
#include "profile_fixture.h"
#include "source/mode.h"

/* A mode as of waits: by time, with a frame for the state, and not all samples belong to it. */
static bool takes_waits(const struct sample_event *e, struct weight *weight)
{
	weight->value = e->value - 1;
	return e->state != 0;
}

static void add_state(const struct sample_event *e, struct text *out)
{
	text__addf(out, "state %u", e->state);
}

static const struct mode waits = {
	.name = "waits", .help = "test", .sources = 1u << SOURCE_SCHED,
	.value = { "time", UNIT_NS }, .count = { "waits", UNIT_COUNT },
	.take = takes_waits, .innermost = add_state,
};
static const struct mode allocations = {
	.name = "bytes", .help = "test", .sources = 1u << SOURCE_ALLOC,
	.value = { "space", UNIT_BYTES }, .count = { "objects", UNIT_COUNT }, .names_class = true,
};
static const struct mode *const both[] = { &mode_cpu, &waits };
static const struct mode *const all_three[] = { &mode_cpu, &waits, &allocations };

static void start_sample(uint16_t source, uint64_t value, uint64_t count)
{
	memset(&sample.event, 0, sizeof(sample.event));
	sample.event.kind = SAMPLE_RUBY;
	sample.event.vm = 1;
	sample.event.source = source;
	sample.event.value = value;
	sample.event.count = count;
	frame(foo_id, 3);
	frame(main_id, 3);
	frame(0, 0);
}

static const char *fold(const struct mode *const *list, uint32_t count, const struct unit_choice *unit)
{
	static char out[4096];
	FILE *f = fmemopen(out, sizeof(out) - 1, "w");
	struct output_options o = { 0 };
	struct report reports[MODES_MAX];

	memset(out, 0, sizeof(out));
	frame_names__take_all(&frames, &table);
	for (uint32_t i = 0; i < count; i++) {
		struct report_view view = {
			.mode = list[i], .mode_frame = resolver.mode_frames[i],
			.by_value = unit ? unit->unit != UNIT_COUNT : !list[i]->by_count,
			.divisor = unit ? unit->divisor : 0,
		};

		if (report__build(&reports[i], &tree, &frames, &resolver.groups, REPORT_BY_NAME, &view))
			test__fail(__FILE__, __LINE__, "no report");
	}
	output_folded.write(reports, count, &o, f);
	fclose(f);
	for (uint32_t i = 0; i < count; i++)
		report__free(&reports[i]);
	return out;
}

TEST(modes_are_apart_in_one_tree)
{
	set_up();
	CHECK_INT(resolve__set_modes(&resolver, both, 2), 0);
	start_sample(SOURCE_CPU, 10101010, 1);
	send(3);
	start_sample(SOURCE_SCHED, 5000001, 1);
	sample.event.state = 7;
	send(2);
	/* Of no mode. */
	start_sample(SOURCE_SCHED, 99, 1);
	send(1);
	CHECK_STRING(fold(both, 2, NULL), "[cpu, samples];<main>;Foo#foo 3\n[waits, us];<main>;Foo#foo;[state 7] 10000\n");
	CHECK_STRING(fold(both, 2, unit__by_name("ms")), "[cpu, ms];<main>;Foo#foo 30\n[waits, ms];<main>;Foo#foo;[state 7] 10\n");
	CHECK_STRING(fold(both, 2, unit__by_name("count")),
		  "[cpu, samples];<main>;Foo#foo 3\n[waits, waits];<main>;Foo#foo;[state 7] 2\n");
	/* What belongs to no mode has arrived nevertheless. */
	CHECK_INT(resolver.received[SOURCE_SCHED].whole, 3);
	CHECK_INT(resolver.received[SOURCE_CPU].whole, 3);
	tear_down();
}

TEST(modes_alone_have_no_frame)
{
	set_up();
	CHECK_INT(resolve__set_modes(&resolver, both, 1), 0);
	start_sample(SOURCE_CPU, 10101010, 1);
	send(3);
	CHECK_STRING(fold(both, 1, NULL), "<main>;Foo#foo 3\n");
	CHECK_STRING(fold(both, 1, unit__by_name("us")), "<main>;Foo#foo 30303\n");
	tear_down();
}

TEST(modes_show_groups_below_them)
{
	set_up();
	CHECK_INT(groups__parse("thread", &resolver.groups), 0);
	CHECK_INT(resolve__set_modes(&resolver, both, 2), 0);
	start_sample(SOURCE_CPU, 1, 1);
	sample.event.tid = 42;
	strcpy(sample.event.comm, "ruby");
	send(1);
	start_sample(SOURCE_SCHED, 3001, 1);
	sample.event.state = 1;
	sample.event.tid = 42;
	strcpy(sample.event.comm, "ruby");
	send(1);
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_STRING(fold(both, 2, NULL),
		  "[cpu, samples];[unknown thread ruby (42)];<main>;Foo#foo 1\n"
		  "[waits, us];[unknown thread ruby (42)];<main>;Foo#foo;[state 1] 3\n");
	tear_down();
}

TEST(modes_name_classes)
{
	struct report r;
	struct report_view view = { .mode = &allocations, .by_value = true };

	set_up();
	CHECK_INT(resolve__set_modes(&resolver, &all_three[2], 1), 0);
	start_sample(SOURCE_ALLOC, 40960, 1024);
	sample.event.detail = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Thing", 0, 0);
	/* Its symbol is the first one, so its frame is 0. */
	CHECK(symbols__get(&vm.symbols, (uint32_t)sample.event.detail)->number == 0);
	send(2);
	CHECK_INT(resolver.received[SOURCE_ALLOC].whole, 2);
	sample.event.detail = 1ull << 40;
	send(1);
	CHECK_STRING(fold(&all_three[2], 1, NULL), "<main>;Foo#foo;Thing 81920\n<main>;Foo#foo;[unreadable record] 40960\n");
	CHECK_STRING(fold(&all_three[2], 1, unit__by_name("KiB")), "<main>;Foo#foo;Thing 80\n<main>;Foo#foo;[unreadable record] 40\n");
	CHECK_STRING(fold(&all_three[2], 1, unit__by_name("count")), "<main>;Foo#foo;Thing 2048\n<main>;Foo#foo;[unreadable record] 1024\n");
	/* What is in a class is in the method that made it; so are the lines. */
	CHECK_INT(report__build(&r, &tree, &frames, NULL, REPORT_BY_CODE, &view), 0);
	for (uint32_t i = 0; i < r.label_count; i++)
		if (!strcmp(r.labels[i].name, "Foo#foo"))
			CHECK_INT(r.labels[i].self, 81920);
	CHECK_INT(r.lines.count, 2);
	CHECK_INT(r.lines.list[0].self, 81920);
	CHECK_INT(r.samples, 122880);
	report__free(&r);
	tear_down();
}

/* The VM's own objects, and those of a class for which there was no memory for a record. */
TEST(modes_alloc_shows_objects_without_a_class)
{
	static const struct mode *const alloc[] = { &mode_alloc };

	set_up();
	CHECK_INT(resolve__set_modes(&resolver, alloc, 1), 0);
	start_sample(SOURCE_ALLOC, 4000, 100);
	sample.event.detail = RB_DEBUG_EXT_ID_INTERNAL;
	send(1);
	sample.event.state = RB_DEBUG_EXT_TYPE_IMEMO;
	send(3);
	sample.event.state = 1u << 31;	/* none that is known */
	send(1);
	sample.event.detail = 0;
	send(2);
	CHECK_STRING(fold(alloc, 1, NULL), "<main>;Foo#foo;[VM internal imemo] 12000\n<main>;Foo#foo;[VM internal] 8000\n"
		     "<main>;Foo#foo;[class without a record] 8000\n");
	CHECK_STRING(fold(alloc, 1, unit__by_name("count")), "<main>;Foo#foo;[VM internal imemo] 300\n"
		     "<main>;Foo#foo;[VM internal] 200\n<main>;Foo#foo;[class without a record] 200\n");
	tear_down();
}

TEST(modes_survive_merging)
{
	uint64_t time = 0, samples = 0;
	uint32_t stack[3] = { 0 };

	set_up();
	tree.node_max = 200;
	CHECK_INT(resolve__set_modes(&resolver, both, 2), 0);
	for (uint32_t i = 0; i < 3000; i++) {
		struct weight weight = { .value = i, .count = 1 };

		/* Waits weigh a million times as much; of both the rare ones go. */
		stack[0] = resolver.mode_frames[i % 2];
		stack[1] = 10 + (i % 7 ? i % 11 : i);
		if (i % 2)
			weight.value *= 1000000;
		time += i % 2 ? weight.value : 0;
		samples += !(i % 2);
		CHECK_INT(tree__add(&tree, stack, 2, &weight), 0);
	}
	for (uint32_t i = 1; i < tree.node_count; i++) {
		uint32_t top = i;

		while (tree.nodes[top].parent)
			top = tree.nodes[top].parent;
		CHECK(tree.nodes[top].frame != FRAME_MERGED);
		if (tree.nodes[top].frame == resolver.mode_frames[1])
			time -= tree.nodes[i].self.value;
		else
			samples -= tree.nodes[i].self.count;
	}
	CHECK_INT(time, 0);
	CHECK_INT(samples, 0);
	tear_down();
}

TEST(modes_are_listed)
{
	const struct mode *list[MODES_MAX] = { 0 };
	uint32_t count = 0;

	CHECK_INT(modes__parse("gc,cpu", list, &count), 0);
	CHECK_INT(count, 2);
	CHECK(list[0] == &mode_gc && list[1] == &mode_cpu);
	CHECK_INT(modes__parse("cpu", list, &count), -EINVAL);
	count = 0;
	CHECK_INT(modes__parse("", list, &count), -EINVAL);
	CHECK_INT(modes__parse("cpu,", list, &count), -EINVAL);
	count = 0;
	CHECK_INT(modes__parse("cpus", list, &count), -EINVAL);
	CHECK_INT(modes__parse("cp", list, &count), -EINVAL);
	CHECK_INT(count, 0);
}

TEST(units_are_for_people)
{
	static const struct { enum unit unit; uint64_t amount; const char *text; } cases[] = {
		{ UNIT_COUNT, 12, "12" }, { UNIT_NS, 1500, "1.5 us" }, { UNIT_NS, 1234567, "1.23 ms" },
		{ UNIT_NS, 2500000000, "2.500 s" }, { UNIT_BYTES, 1023, "1023 B" }, { UNIT_BYTES, 1536, "1.5 KiB" },
		{ UNIT_BYTES, UINT64_MAX, "16.0 EiB" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = { 0 };

		unit__add_amount(cases[i].unit, cases[i].amount, &t);
		CHECK_STRING(text__string(&t), cases[i].text);
		text__free(&t);
	}
	CHECK(!unit__fits(unit__by_name("MiB"), &mode_cpu));
	CHECK(unit__fits(unit__by_name("ms"), &mode_cpu) && unit__fits(unit__by_name("samples"), &mode_cpu));
	CHECK(!unit__by_name("hours") && !unit__name(-1));
}

TEST(modes_have_names_in_a_row)
{
	const struct mode *const list[] = { &mode_cpu, &mode_wall, &mode_gvl };
	static const char *const texts[] = { "", "cpu", "cpu or wall", "cpu, wall or gvl" };

	for (uint32_t count = 0; count < 4; count++) {
		struct text text = { 0 };

		modes__add_names(list, count, &text);
		CHECK_STRING(text__string(&text), texts[count]);
		text__free(&text);
	}
}

/* Each kind of file, with and without a call, is taken apart as it was put together. */
TEST(modes_name_waits_for_files)
{
	static const char *const calls[] = { "read", "system call 999", "wait" };
	static const char *const kinds[] = { "", "file", "directory", "pipe", "socket", "device", "terminal", "eventfd", "timerfd", "signalfd",
					     "pidfd", "inotify" };
	static const uint32_t numbers[] = { FILE_UNKNOWN, FILE_REGULAR, FILE_DIRECTORY, FILE_PIPE, FILE_SOCKET, FILE_DEVICE, FILE_TERMINAL,
					    FILE_EVENTFD, FILE_TIMERFD, FILE_SIGNALFD, FILE_PIDFD, FILE_INOTIFY };
	static const char *const others[] = { "", "io", "iox read", "gvl", "native read socket" };
	const char *call, *file;
	size_t length;

	for (uint32_t i = 0; i < 3 * 12; i++) {
		struct sample_event e = { .source = SOURCE_SCHED, .state = STATE_IO };
		uint32_t number = i % 3 == 0 ? SYS_read + 1 : i % 3 == 1 ? 1000 : 0;
		struct text text = { 0 };

		e.detail = DETAIL_MAKE(number, numbers[i / 3], 0, 0, 0);
		mode_wall.innermost(&e, &text);
		CHECK(state__io_parts(text__string(&text), &call, &length, &file));
		CHECK_STRING(file, kinds[i / 3]);
		CHECK(length == strlen(calls[i % 3]) && !memcmp(call, calls[i % 3], length));
		text__free(&text);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!state__io_parts(others[i], &call, &length, &file));
	CHECK(state__io_parts("io socket", &call, &length, &file) && length == 6 && !*file);
}
