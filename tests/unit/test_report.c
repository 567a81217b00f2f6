/* SPDX-License-Identifier: BSD-2-Clause */
/* From stacks to reports. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "no_memory.h"
#include "profile_fixture.h"

TEST(report_counts_recursion_once)
{
	struct report r;

	set_up();
	start();
	frame(foo_id, 0);
	frame(bar_id, 0);
	frame(foo_id, 2);
	frame(main_id, 0);
	send(5);
	start();
	frame(bar_id, 0);
	frame(main_id, 0);
	send(2);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.samples, 7);
	CHECK_INT(r.nodes[0].total, 7);
	for (uint32_t i = 0; i < r.label_count; i++) {
		if (!strcmp(r.labels[i].name, "Foo#foo")) {
			CHECK_INT(r.labels[i].self, 5);
			CHECK_INT(r.labels[i].total, 5);
		} else if (!strcmp(r.labels[i].name, "Foo#bar")) {
			CHECK_INT(r.labels[i].self, 2);
			CHECK_INT(r.labels[i].total, 7);
		} else {
			CHECK_STRING(r.labels[i].name, "<main>");
			CHECK_INT(r.labels[i].self, 0);
			CHECK_INT(r.labels[i].total, 7);
		}
	}
	CHECK_INT(r.label_count, 3);
	CHECK_INT(r.lines.count, 4);
	CHECK_INT(r.lines.list[0].self, 5);
	report__free(&r);
	tear_down();
}

TEST(report_merges_what_has_one_name)
{
	set_up();
	start();
	frame(foo_id, 0);
	frame(main_id, 0);
	send(1);
	start();
	frame(foo_id, 4);	/* another line of the same */
	frame(main_id, 2);
	send(1);
	CHECK_STRING(folded(), "<main>;Foo#foo 2\n");
	CHECK_STRING(render(&output_folded, true, false),
		     "<main> app.rb:301;Foo#foo app.rb:601 1\n"
		     "<main> app.rb:302;Foo#foo app.rb:603 1\n");
	tear_down();
}

TEST(report_keeps_two_blocks_of_one_method_apart)
{
	uint32_t other;
	struct report r;

	set_up();
	other = fake__record(&ruby, RB_DEBUG_EXT_BLOCK, NULL, foo_id, 0);
	fake__set_path(fake__get(&ruby, other), "app.rb");
	fake__set_code(fake__get(&ruby, other), 10, 7777);
	start();
	frame(block_id, 0);
	send(2);
	start();
	frame(other, 0);
	send(3);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.label_count, 2);
	CHECK_STRING(r.labels[0].name, r.labels[1].name);
	CHECK_INT(r.labels[0].self, 2);
	CHECK_INT(r.labels[1].frame.first_line, 7777);
	report__free(&r);
	CHECK_STRING(folded(), "block in Foo#foo 5\n");
	tear_down();
}

/* The frame with that name; NULL: there is none. */
static const struct frame *frame_of(const char *name)
{
	for (uint32_t i = 0; i < frames.count; i++)
		if (!strcmp(frames.list[i].name, name))
			return &frames.list[i];
	return NULL;
}

TEST(report_has_the_parts_of_frames)
{
	const struct frame *foo, *bar, *size, *block;
	struct report r;

	set_up();
	start();
	frame(size_id, 0);
	frame(bar_id, 2);
	frame(foo_id, 4);
	frame(RB_DEBUG_EXT_ID_IFUNC, 0);
	frame(main_id, 0);
	send(3);
	CHECK_STRING(render(&output_folded, true, false),
		     "<main> app.rb:301;[block in C];Foo#foo app.rb:603;Foo#bar app.rb:702;Array#size 3\n");
	foo = frame_of("Foo#foo");
	bar = frame_of("Foo#bar");
	size = frame_of("Array#size");
	block = frame_of("block in C");
	CHECK(foo && bar && size && block);
	CHECK(foo->path == bar->path && foo->path != size->path);
	CHECK_STRING(foo->path, "app.rb");
	CHECK_STRING(size->path, "");
	CHECK_INT(foo->first_line, 600);
	CHECK_INT(foo->line, 603);
	CHECK_INT(size->line, 0);
	CHECK_INT(foo->kind, FRAME_RUBY);
	CHECK_INT(size->kind, FRAME_C);
	CHECK(block->bracketed && block->kind == FRAME_C && !foo->bracketed);
	/* A report needs nothing of the profile. */
	CHECK_INT(build_report(&r, REPORT_BY_LINE), 0);
	tear_down();
	for (uint32_t i = 0; i < r.label_count; i++)
		if (!strcmp(r.labels[i].name, "Foo#foo"))
			CHECK(r.labels[i].frame.line == 603 && !strcmp(r.labels[i].frame.path, "app.rb"));
	report__free(&r);
}

/* What is shown of samples of two processes in one cgroup, one of them with two threads. */
TEST(report_shows_the_groups_that_it_is_asked_for)
{
	static const struct {
		const char *keys, *text;
		uint32_t nodes;		/* without spare ones */
	} cases[] = {
		{ "none", "Foo#foo 7\n", 2 },
		{ "process", "[process 7 a.rb];Foo#foo 3\n[process 8 b.rb];Foo#foo 4\n", 5 },
		{ "command", "[process a.rb];Foo#foo 3\n[process b.rb];Foo#foo 4\n", 5 },
		{ "command,process", "[process a.rb];[process 7 a.rb];Foo#foo 3\n[process b.rb];[process 8 b.rb];Foo#foo 4\n", 7 },
		{ "thread", "[thread job-1 (1)];Foo#foo 5\n[thread job-2 (2)];Foo#foo 2\n", 5 },
		{ "thread-pattern", "[thread job-*];Foo#foo 7\n", 3 },
		{ "cgroup", "[cgroup /x];Foo#foo 7\n", 3 },
		{ "cgroup,thread-pattern,process",
		  "[cgroup /x];[thread job-*];[process 7 a.rb];Foo#foo 3\n"
		  "[cgroup /x];[thread job-*];[process 8 b.rb];Foo#foo 4\n", 7 },
		{ "thread,process", "[thread job-1 (1)];[process 7 a.rb];Foo#foo 1\n"
		  "[thread job-1 (1)];[process 8 b.rb];Foo#foo 4\n"
		  "[thread job-2 (2)];[process 7 a.rb];Foo#foo 2\n", 9 },
	};
	char cgroup[] = "/x";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct groups keys;
		struct report r;

		set_up();
		CHECK_INT(groups__parse("process,thread", &resolver.groups), 0);
		CHECK_INT(groups__parse(cases[i].keys, &keys), 0);
		fake__thread(&ruby, 3, 30, "job-1", NULL);
		fake__thread(&ruby, 4, 40, "job-2", NULL);
		processes__add(&processes);
		processes.rows[0] = (struct process_row){ .pid = 7, .command = "ruby a.rb" };
		processes.rows[1] = (struct process_row){ .pid = 8, .command = "ruby b.rb" };
		send_in(30, 3, 1, 1);
		send_in(40, 4, 2, 2);
		vm_row = 1;
		send_in(30, 3, 1, 4);
		processes.rows[0].cgroup = processes.rows[1].cgroup = cgroup;
		resolve__name_threads(&resolver, &vm);
		resolve__name_processes(&resolver);
		processes.rows[0].cgroup = processes.rows[1].cgroup = NULL;
		show = &keys;
		if (strcmp(folded(), cases[i].text))
			test__fail(__FILE__, __LINE__, "%s: %s", cases[i].keys, written);
		CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
		CHECK_INT(r.node_count, cases[i].nodes);
		CHECK_INT(r.group_count, keys.count);
		CHECK_INT(r.threads_by_pattern, 0);
		CHECK_INT(r.nodes[0].total, 7);
		for (uint32_t n = 1; n < r.node_count; n++) {
			uint8_t kind = r.labels[r.nodes[n].label].frame.kind;
			bool group = kind == FRAME_PROCESS || kind == FRAME_THREAD || kind == FRAME_CGROUP;

			CHECK_INT(group, r.nodes[n].depth <= r.group_count);
			CHECK(r.nodes[n].total > 0);
		}
		report__free(&r);
		tear_down();
	}
}

/* Every stack has all the levels, also one of which the profile did not keep them. */
TEST(report_shows_groups_that_the_profile_does_not_know)
{
	struct groups keys;

	set_up();
	start();
	frame(foo_id, 0);
	send(2);
	CHECK_INT(groups__parse("thread,process,cgroup", &keys), 0);
	show = &keys;
	CHECK_STRING(folded(), "[unknown thread];[unknown process];[unknown cgroup];Foo#foo 2\n");
	CHECK_INT(groups__parse("thread-pattern", &keys), 0);
	CHECK_STRING(folded(), "[unknown thread];Foo#foo 2\n");
	tear_down();
}

/* Rare stacks are merged, those of whole groups too. */
TEST(report_shows_merged_groups)
{
	uint32_t stack[3], merged = FRAME_MERGED;
	struct groups keys;

	set_up();
	CHECK_INT(groups__parse("process,thread", &resolver.groups), 0);
	fake__thread(&ruby, 3, 30, "job-1", NULL);
	processes.rows[0].pid = 7;
	send_in(30, 3, 1, 1);
	CHECK_INT(resolve__name_threads(&resolver, &vm), 0);
	CHECK_INT(resolve__name_processes(&resolver), 0);
	stack[0] = processes.rows[0].frame;
	stack[1] = (uint32_t)vm.threads.list[0].frame;
	stack[2] = merged;
	tree__add(&tree, stack, 3, &one_sample);
	stack[1] = merged;
	for (int i = 0; i < 2; i++)
		tree__add(&tree, stack, 2, &one_sample);
	for (int i = 0; i < 3; i++)
		tree__add(&tree, &merged, 1, &one_sample);
	CHECK_STRING(folded(), "[merged processes];[merged threads];[merged] 3\n"
		     "[process 7];[merged threads];[merged] 2\n"
		     "[process 7];[thread job-1 (1)];Foo#foo 1\n"
		     "[process 7];[thread job-1 (1)];[merged] 1\n");
	CHECK_INT(groups__parse("thread-pattern,cgroup", &keys), 0);
	show = &keys;
	CHECK_STRING(folded(), "[merged threads];[merged cgroups];[merged] 3\n"
		     "[merged threads];[unknown cgroup];[merged] 2\n"
		     "[thread job-*];[unknown cgroup];Foo#foo 1\n"
		     "[thread job-*];[unknown cgroup];[merged] 1\n");
	CHECK_INT(groups__parse("none", &keys), 0);
	CHECK_STRING(folded(), "Foo#foo 1\n[merged] 6\n");
	tear_down();
}

TEST(report_of_ten_thousand_processes)
{
	enum { COUNT = 10000 };
	struct groups keys;
	struct report r;
	uint64_t sum = 0;

	set_up();
	CHECK_INT(groups__parse("process", &resolver.groups), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		if (i)
			processes__add(&processes);
		vm_row = i;
		processes.rows[i].pid = (int)(i + 1);
		send_in(0, 0, 0, 1 + (int)(i % 3));
		sum += 1 + i % 3;
	}
	vm_row = 0;
	CHECK_INT(resolve__name_processes(&resolver), 0);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.node_count, 1 + 2 * COUNT);
	CHECK_INT(r.nodes[0].total, sum);
	for (uint32_t i = 0; i < r.label_count; i++)
		if (r.labels[i].frame.kind == FRAME_PROCESS)
			CHECK_INT(r.labels[i].total, 1 + (r.labels[i].frame.pid - 1) % 3);
	report__free(&r);
	CHECK_INT(groups__parse("none", &keys), 0);
	show = &keys;
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.node_count, 2);
	CHECK_INT(r.nodes[1].total, sum);
	report__free(&r);
	tear_down();
}

/* The pid or tid is told apart from a name that looks as if it had one. */
TEST(report_has_the_numbers_of_groups)
{
	struct groups keys;
	struct report r;

	set_up();
	CHECK_INT(groups__parse("process,thread", &resolver.groups), 0);
	processes.rows[0] = (struct process_row){ .pid = 7, .command = "ruby a.rb" };
	fake__thread(&ruby, 3, 30, "odd (5)", NULL);
	send_in(30, 3, 101, 1);
	send_in(30, 3, 102, 1);			/* on several native threads */
	fake__thread(&ruby, 4, 40, "odd", NULL);
	send_in(40, 4, 5, 4);
	start();
	sample.event.kind = SAMPLE_NATIVE;
	send(1);
	resolve__name_threads(&resolver, &vm);
	resolve__name_processes(&resolver);
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.node_count, 1 + 1 + 3 * 2);
	for (uint32_t i = 1; i < r.node_count; i++) {
		const struct report_label *l = &r.labels[r.nodes[i].label];

		if (l->frame.kind == FRAME_PROCESS)
			CHECK_INT(l->frame.pid, 7);
		else if (!strcmp(l->name, "[native thread ruby (42)]"))
			CHECK_INT(l->frame.tid, 42);
		else if (l->frame.kind == FRAME_THREAD)
			CHECK_INT(l->frame.tid, l->total == 4 ? 5 : 0);
		else
			CHECK_INT(frame__number(&l->frame), 0);
	}
	report__free(&r);
	/* Of several. */
	CHECK_INT(groups__parse("thread-pattern,cgroup", &keys), 0);
	show = &keys;
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	for (uint32_t i = 0; i < r.label_count; i++)
		CHECK_INT(frame__number(&r.labels[i].frame), 0);
	report__free(&r);
	tear_down();
}

TEST(report_shows_patterns_of_many_threads)
{
	struct groups all;
	struct report r;

	set_up_threads();
	CHECK_INT(groups__parse("process,thread", &all), 0);
	for (uint32_t i = 0; i < 48; i++) {
		char name[16];

		snprintf(name, sizeof(name), "job-%u", i);
		fake__thread(&ruby, 10 + i, 100 + i, name, NULL);
		send_in(100 + i, 10 + i, 1000 + i, 1);
	}
	send_in(30, 3, 103, 5);
	resolver.groups.patterns_allowed = true;
	resolve__name_threads(&resolver, &vm);
	/* 48 of one pattern, and another thread: each is shown. */
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.threads_by_pattern, 0);
	CHECK_INT(r.node_count, 1 + 2 * 49);
	report__free(&r);
	fake__thread(&ruby, 60, 160, "job-48", NULL);
	send_in(160, 60, 1060, 1);
	resolve__name_threads(&resolver, &vm);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.threads_by_pattern, 49);
	CHECK_INT(r.group_count, 1);
	CHECK_INT(r.groups.keys[0], GROUP_THREAD_PATTERN);
	report__free(&r);
	CHECK_STRING(folded(), "[thread job-*];Foo#foo 49\n[thread puma:*];Foo#foo 5\n");
	/* Asked for by name: each of them. */
	resolver.groups.patterns_allowed = false;
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK_INT(r.threads_by_pattern, 0);
	CHECK_INT(r.node_count, 1 + 2 * 50);
	report__free(&r);
	tear_down();
}

/* A method of that name in a file; "" for one without a file. */
static uint32_t method_in(const char *name, const char *path, uint32_t line)
{
	uint32_t id = fake__record(&ruby, *path ? RB_DEBUG_EXT_BODY : RB_DEBUG_EXT_CMETHOD, name, 0, 0);

	if (*path) {
		fake__set_path(fake__get(&ruby, id), path);
		fake__set_code(fake__get(&ruby, id), 10, line);
	}
	return id;
}

/* One stack for the method of each path, once for the first, twice for the second ... */
static void send_methods(const char *name, const char *const *paths)
{
	for (int i = 0; paths[i]; i++) {
		start();
		frame(method_in(name, paths[i], 100), 0);
		send(i + 1);
	}
}

TEST(report_tells_files_of_one_name_apart)
{
	static const struct {
		const char *paths[6], *text;
	} cases[] = {
		{ { "/app/lib/a/init.rb" }, "x 1\n" },
		{ { "/app/lib/a/init.rb", "/app/lib/a/init.rb" }, "x 3\n" },
		{ { "/app/one.rb", "/app/two.rb" }, "x one.rb 1\nx two.rb 2\n" },
		/* Equal base names. */
		{ { "/app/lib/a/init.rb", "/app/lib/b/init.rb", "/app/lib/c.rb" },
		  "x a/init.rb 1\nx b/init.rb 2\nx c.rb 3\n" },
		{ { "/v1/lib/a/init.rb", "/v2/lib/a/init.rb", "/v2/lib/b/init.rb", "/v2/lib/b/init.rb" },
		  "x b/init.rb 7\nx v1/lib/a/init.rb 1\nx v2/lib/a/init.rb 2\n" },
		/* Equal to the root. */
		{ { "/lib/a.rb", "lib/a.rb", "/x/lib/a.rb", "a.rb" },
		  "x /lib/a.rb 1\nx a.rb 4\nx lib/a.rb 2\nx x/lib/a.rb 3\n" },
		/* Parts of a path are equal or not. */
		{ { "/init.rb", "/xinit.rb", "/a/xinit.rb" }, "x /xinit.rb 2\nx a/xinit.rb 3\nx init.rb 1\n" },
		{ { "/a//b.rb", "/b.rb", "a/b.rb/", "b.rb/" }, "x /b.rb 2\nx a//b.rb 1\nx a/b.rb/ 3\nx b.rb/ 4\n" },
		/* In C: no path, and one method whatever class it is in. */
		{ { "", "" }, "x 3\n" },
		{ { "", "/app/one.rb" }, "x 1\nx one.rb 2\n" },
		{ { "/app/one.rb", "", "/lib/one.rb", "" }, "x 6\nx app/one.rb 1\nx lib/one.rb 3\n" },
		/* Evaluated strings. */
		{ { "(eval at /app/a.rb:1)", "(eval at /app/a.rb:2)", "/app/a.rb" },
		  "x (eval at a.rb:1) 1\nx (eval at a.rb:2) 2\nx a.rb 3\n" },
		{ { "(eval at (eval at /app/a.rb:1):7)", "(eval at (eval at /lib/a.rb:1):7)", "(irb)" },
		  "x (eval at (eval at app/a.rb:1):7) 1\nx (eval at (eval at lib/a.rb:1):7) 2\nx (irb) 3\n" },
		/* Nothing in a path ends a frame or a count. */
		{ { "/a;b/my file 2", "/a/my file 2" }, "x a/my file_2 2\nx a:b/my file_2 1\n" },
		{ { "/a/1 2", "/a/3 4.5", "/a/6 7x" }, "x 1_2 1\nx 3_4.5 2\nx 6 7x 3\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up();
		send_methods("x", cases[i].paths);
		if (strcmp(folded(), cases[i].text))
			test__fail(__FILE__, __LINE__, "case %zu: %s", i, written);
		tear_down();
	}
}

TEST(report_tells_files_apart_in_all_outputs)
{
	static const char *const paths[] = { "/app/lib/a/init.rb", "/app/lib/b/init.rb", NULL };
	struct report r;
	const char *s;

	set_up();
	send_methods("<top (required)>", paths);
	send_methods("y", (const char *const[]){ "/app/lib/y.rb", NULL });
	CHECK_STRING(folded(), "<top (required)> a/init.rb 1\n<top (required)> b/init.rb 2\ny 1\n");
	/* The place is there anyway. */
	CHECK_STRING(render(&output_folded, true, false), "<top (required)> /app/lib/a/init.rb:101 1\n"
		     "<top (required)> /app/lib/b/init.rb:101 2\ny /app/lib/y.rb:101 1\n");
	s = render(&output_summary, false, false);
	CHECK(strstr(s, "  <top (required)> b/init.rb  /app/lib/b/init.rb:100\n"));
	CHECK(strstr(s, "  y                           /app/lib/y.rb:100\n"));
	s = render(&output_flamegraph, false, false);
	CHECK(strstr(s, "[\"\\u003ctop (required)\\u003e a/init.rb\",\"/app/lib/a/init.rb:100\",0]"));
	CHECK(strstr(s, ">&lt;top (required)&gt; b/init.rb</text>"));
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.label_count, 3);
	CHECK_INT(r.labels[0].bare, strlen("<top (required)>"));
	CHECK_STRING(r.labels[0].name + r.labels[0].bare, " a/init.rb");
	CHECK_INT(r.labels[2].bare, 1);
	report__free(&r);
	tear_down();
}

/* Each of its allocations fails once: that is said, and nothing leaks. */
TEST(report_says_when_memory_is_short)
{
	static const char *const paths[] = { "/app/lib/a/init.rb", "/app/lib/b/init.rb", "", NULL };
	struct groups all;
	struct report r;
	unsigned int at, err = 1;

	set_up_threads();
	CHECK_INT(groups__parse("cgroup,process,thread-pattern,thread", &all), 0);
	resolver.groups = all;
	send_methods("x", paths);
	send_in(30, 3, 103, 1);
	for (at = 1; err && at < 1000; at++) {
		no_memory_at = at;
		err = (unsigned int)-build_report(&r, REPORT_BY_CODE);
		CHECK(!err || err == ENOMEM);
	}
	no_memory_at = 0;
	CHECK(at > 30 && at < 1000);
	CHECK_INT(r.samples, 7);
	report__free(&r);
	tear_down();
}

TEST(report_leaves_out_what_was_merged_away)
{
	static const char *const paths[] = { "/app/lib/a/init.rb", "/app/lib/b/init.rb", NULL };
	struct report r;

	set_up();
	send_methods("x", paths);
	CHECK_STRING(folded(), "x a/init.rb 1\nx b/init.rb 2\n");
	/* As if [merged] had taken the first one. */
	tree.nodes[1].frame = tree.nodes[2].frame;
	CHECK_STRING(folded(), "x 3\n");
	CHECK_INT(build_report(&r, REPORT_BY_NAME), 0);
	CHECK_INT(r.label_count, 1);
	report__free(&r);
	tear_down();
}

static const struct report_total *line_of(const struct report *r, int32_t line)
{
	for (uint32_t i = 0; i < r->lines.count; i++)
		if (r->lines.list[i].line == line)
			return &r->lines.list[i];
	return NULL;
}

static const struct report_total *method_of(const struct report *r, const char *name)
{
	for (uint32_t i = 0; i < r->methods.count; i++)
		if (!strcmp(r->labels[r->methods.list[i].label].name, name))
			return &r->methods.list[i];
	return NULL;
}

/* A block in C says nothing of itself: its time is in the method that called it, and graphs have it. */
TEST(report_methods_have_what_blocks_in_c_do)
{
	const struct report_total *m;
	struct report r;

	set_up();
	for (int inner = 0; inner < 3; inner++) {
		start();
		if (inner == 2)
			frame(foo_id, 0);
		frame(RB_DEBUG_EXT_ID_IFUNC, 0);
		if (inner)
			frame(RB_DEBUG_EXT_ID_IFUNC, 0);
		frame(size_id, 0);
		frame(main_id, 0);
		send(10 + (uint32_t)inner);
	}
	start();
	frame(RB_DEBUG_EXT_ID_IFUNC, 0);	/* a fiber that begins in C */
	send(1);
	CHECK_STRING(render(&output_folded, false, false),
		     "<main>;Array#size;[block in C] 10\n<main>;Array#size;[block in C];[block in C] 11\n"
		     "<main>;Array#size;[block in C];[block in C];Foo#foo 12\n[block in C] 1\n");
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	CHECK(!method_of(&r, "[block in C]"));
	m = method_of(&r, "Array#size");
	CHECK(m && m->self == 21 && m->total == 33);
	m = method_of(&r, "Foo#foo");
	CHECK(m && m->self == 12 && m->total == 12);
	m = method_of(&r, "<main>");
	CHECK(m && !m->self && m->total == 33);
	CHECK_INT(r.samples, 34);
	/* The same of labels, as the summary has them. */
	for (uint32_t i = 0; i < r.label_count; i++)
		if (!strcmp(r.labels[i].name, "Array#size"))
			CHECK(r.labels[i].self == 21 && r.labels[i].total == 33);
	report__free(&r);
	tear_down();
}

/* What a C method, the collector and what is below the code take is in the line that ran into them. */
TEST(report_lines_have_what_they_call_in_c)
{
	const struct report_total *l;
	struct report r;

	set_up();
	for (int gc = 0; gc < 2; gc++) {
		start();
		frame(size_id, 0);
		frame(RB_DEBUG_EXT_ID_IFUNC, 0);
		frame(foo_id, 0);
		frame(main_id, 0);
		sample.event.gc_phase = gc ? RB_DEBUG_EXT_GC_MARK : 0;
		send(35);
	}
	start();
	frame(foo_id, 0);
	frame(main_id, 0);
	send(20);
	start();
	frame(foo_id, 0);
	frame(bar_id, 0);
	frame(foo_id, 0);		/* recursion */
	frame(main_id, 0);
	send(7);
	start();
	frame(main_id, 0);
	send(3);
	CHECK_INT(build_report(&r, REPORT_BY_CODE), 0);
	l = line_of(&r, 601);
	CHECK(l && l->self == 97 && l->own == 27 && l->total == 97);
	l = line_of(&r, 701);
	CHECK(l && l->self == 0 && l->own == 0 && l->total == 7);
	l = line_of(&r, 301);
	CHECK(l && l->self == 3 && l->own == 3 && l->total == 100);
	CHECK_INT(r.lines.list[0].line, 601);
	CHECK_INT(r.files.count, 1);
	CHECK(r.files.list[0].self == 100 && r.files.list[0].own == 30 && r.files.list[0].total == 100);
	/* Methods: each is the one that ran. */
	CHECK_STRING(r.labels[r.methods.list[0].label].name, "Array#size");
	CHECK_INT(r.methods.list[0].self, 35);
	report__free(&r);
	/* Methods are not told apart by the line, even in a report that does so. */
	start();
	frame(foo_id, 4);
	frame(main_id, 0);
	send(10);
	CHECK_INT(build_report(&r, REPORT_BY_LINE), 0);
	for (uint32_t i = 0; i < r.methods.count; i++)
		if (!strcmp(r.labels[r.methods.list[i].label].name, "Foo#foo"))
			CHECK(r.methods.list[i].self == 37 && r.methods.list[i].total == 107);
	report__free(&r);
	tear_down();
}

/* A template is another method in each process; its file and line say which one it is. */
TEST(report_merges_generated_methods)
{
	static const char *const names[] = {
		"_app_views_posts_index_html_erb__3111235613994842481_4360", "_app_views_posts_index_html_erb___111235613994842481_8",
		"run_12_34", "_x__12_34", "_1234567890123_4",
	};

	set_up();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t id = fake__record(&ruby, RB_DEBUG_EXT_BODY, names[i], 0, 0);

		fake__set_path(fake__get(&ruby, id), "index.html.erb");
		fake__set_code(fake__get(&ruby, id), 10, 100);
		start();
		frame(id, 0);
		send(1);
	}
	CHECK_STRING(folded(), "_1234567890123_4 1\n_app_views_posts_index_html_erb 2\n_x__12_34 1\nrun_12_34 1\n");
	tear_down();
}

TEST(report_of_nothing)
{
	set_up();
	CHECK_STRING(folded(), "");
	CHECK(strstr(render(&output_summary, false, false), "samples taken 0 ") != NULL);
	CHECK(strstr(render(&output_flamegraph, false, false), "</svg>") != NULL);
	tear_down();
}

TEST(report_says_whose_it_is)
{
	struct process_row rows[3] = { { .pid = 42, .kernel.taken = 1 }, { .pid = 43, .kernel.taken = 1 }, { .pid = 44, .kernel.taken = 1 } };
	struct report r = { .meta = { .pid = 42 }, .processes = { .rows = rows, .count = 1 } };
	struct text text = { 0 };

	report__add_whose(&r, "process", &text);
	r.processes.count = 3;
	text__adds(&text, "; ");
	report__add_whose(&r, "pid", &text);
	r.meta.pid = 0;
	text__adds(&text, "; ");
	report__add_whose(&r, "pid", &text);
	r.recording_count = 2;
	text__adds(&text, "; ");
	report__add_whose(&r, "pid", &text);
	CHECK_STRING(text__string(&text), "process 42; pid 42 and 2 more; 3 processes; 2 recordings");
	text__free(&text);
}
