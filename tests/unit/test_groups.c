/* SPDX-License-Identifier: BSD-2-Clause */
/* --group-by: its keys, and what its frames are called. */
#include "test.h"

#include <errno.h>

#include "profile/command_name.h"
#include "profile/group_names.h"
#include "profile/groups.h"
#include "profile/service.h"

TEST(groups_are_parsed_in_their_order)
{
	struct groups g;

	CHECK_INT(groups__parse("none", &g), 0);
	CHECK_INT(g.count, 0);
	CHECK_INT(groups__parse("cgroup,process,thread-pattern,thread", &g), 0);
	CHECK_INT(g.count, 4);
	CHECK_INT(g.keys[0], GROUP_CGROUP);
	CHECK_INT(g.keys[1], GROUP_PROCESS);
	CHECK_INT(g.keys[2], GROUP_THREAD_PATTERN);
	CHECK_INT(g.keys[3], GROUP_THREAD);
	CHECK(groups__has(&g, GROUP_PROCESS));
	CHECK_INT(groups__parse("thread", &g), 0);
	CHECK(!groups__has(&g, GROUP_PROCESS));
	CHECK_INT(groups__parse("trace,process,span", &g), 0);
	CHECK(g.count == 3 && g.label_count == 2 && !strcmp(g.labels[0], "trace_id") && !strcmp(g.labels[1], "span_id"));
	CHECK_INT(groups__parse("trace,trace", &g), -EINVAL);
	CHECK_INT(groups__parse("trace,label:trace_id", &g), -EINVAL);
	CHECK_INT(groups__parse("label:a,label:b,label:c,label:d,trace", &g), -EINVAL);
	CHECK_INT(groups__parse("", &g), -EINVAL);
	CHECK_INT(groups__parse("process,", &g), -EINVAL);
	CHECK_INT(groups__parse("process,none", &g), -EINVAL);
	CHECK_INT(groups__parse("thread,thread", &g), -EINVAL);
	CHECK_INT(groups__parse("thread-", &g), -EINVAL);
}

TEST(groups_of_a_mask_are_the_innermost_ones)
{
	struct groups g;

	CHECK_INT(groups__parse("thread", &g), 0);
	groups__add_mask(&g, 1u << GROUP_PROCESS | 1u << GROUP_THREAD);
	CHECK_INT(g.count, 2);
	CHECK_INT(g.keys[0], GROUP_THREAD);
	CHECK_INT(g.keys[1], GROUP_PROCESS);
	groups__add_mask(&g, ~0u);
	CHECK_INT(g.count, GROUP_KEYS - 1);
}

TEST(groups_can_be_added_outside)
{
	struct groups g;

	CHECK_INT(groups__parse("thread,cgroup", &g), 0);
	groups__add_outermost(&g, GROUP_PROCESS);
	CHECK_INT(g.count, 3);
	CHECK_INT(g.keys[0], GROUP_PROCESS);
	CHECK_INT(g.keys[1], GROUP_THREAD);
	CHECK_INT(g.keys[2], GROUP_CGROUP);
	groups__add_outermost(&g, GROUP_CGROUP);
	CHECK_INT(g.count, 3);
	CHECK_INT(g.keys[0], GROUP_PROCESS);
}

TEST(groups_call_a_process_by_its_script)
{
	static const struct {
		const char *line, *name;
	} cases[] = {
		{ "ruby", "ruby" },
		{ "ruby -", "ruby" },
		{ "ruby -e loop{} x.rb", "ruby" },
		{ "ruby -ne print file", "ruby" },
		{ "ruby -rdate app.rb", "app.rb" },
		{ "ruby -r date app.rb", "app.rb" },
		{ "ruby -Ilib -I test -w -W:no-deprecated test/run.rb -e x", "run.rb" },
		{ "ruby --yjit --enable frozen-string-literal --disable=gems app.rb", "app.rb" },
		{ "ruby -x/tmp app", "app" },
		{ "ruby -- -odd.rb", "-odd.rb" },
		{ "ruby -S rake -m", "rake" },
		{ "/usr/bin/ruby3.4 /usr/local/bin/puma -C config/puma.rb", "puma" },
		{ "/opt/ruby-3.4.5/bin/ruby bin/rails server", "rails" },
		{ "ruby bin/bundle exec sidekiq -c 5", "sidekiq" },
		{ "/usr/bin/bundle exec bin/puma", "puma" },
		{ "bundle install", "bundle" },
		{ "bundle exec", "bundle" },
		{ "puma: cluster worker 0: 42 [app]", "puma" },
		{ "puma 6.4.2 (tcp://0.0.0.0:9292) [app]", "puma" },
		{ "unicorn worker[0] -c unicorn.rb", "unicorn" },
		{ "rubyist", "rubyist" },
		{ "sh -c ruby x.rb", "sh" },
		{ "  /bin/sleep  5", "sleep" },
		{ "odd/", "odd/" },
		{ ":", ":" },
		{ "", "" },
		{ "ruby a23456789b123456789c123456789d123456789e123456789f.rb",
		  "a23456789b123456789c1234..." "3456789e123456789f.rb" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = { 0 };

		command_name__add(cases[i].line, &t);
		if (strcmp(text__string(&t), cases[i].name))
			test__fail(__FILE__, __LINE__, "%s: %s", cases[i].line, text__string(&t));
		text__free(&t);
	}
}

/* "TEXT|WIDER|BARE|NUMBER" of a frame. */
static const char *parts(const struct frame_table *t, uint32_t number)
{
	const struct frame *f = frame_table__get(t, number);
	static struct text out;

	text__clear(&out);
	frame__add_text(f, &out);
	text__addf(&out, "|%s|", f->wider);
	frame__add_bare(f, &out);
	text__addf(&out, "|%u", frame__number(f));
	return out.data;
}

TEST(groups_name_processes)
{
	struct process_row row = { .pid = 42, .command = "ruby bin/puma -w 4" };
	char cgroup[] = "/system.slice/web.service", resource[] = "service.name=shop";
	struct frame_table t;

	frame_table__init(&t);
	row.frame = frame_table__later(&t, FRAME_PROCESS);
	CHECK_INT(group_names__set_process(&t, &row, true), 0);
	CHECK_STRING(parts(&t, row.frame), "[process 42 puma]||puma|42");
	CHECK_STRING(frame_table__get(&t, row.frame)->module, "");
	row.cgroup = cgroup;
	row.command[0] = '\0';
	CHECK_INT(group_names__set_process(&t, &row, false), 0);
	CHECK_STRING(parts(&t, row.frame), "[process 42]|/system.slice/web.service|42|42");
	/* What it says of itself, where it is asked for. */
	row.resource = resource;
	CHECK_INT(group_names__set_process(&t, &row, false), 0);
	CHECK_STRING(frame_table__get(&t, row.frame)->module, "");
	CHECK_INT(group_names__set_process(&t, &row, true), 0);
	CHECK_STRING(frame_table__get(&t, row.frame)->module, "service.name=shop");
	frame_table__free(&t);
}

TEST(groups_name_threads_and_their_patterns)
{
	static struct {
		struct thread thread;
		const char *text;
	} cases[] = {
		{ { .name = "job-12", .tid = 7, .known = true }, "[thread job-12 (7)]|job-*|job-12|7" },
		{ { .name = "3 of 40: a1b", .known = true }, "[thread 3 of 40: a1b]|* of *: a*b|3 of 40: a1b|0" },
		/* What cleaning adds is no number of the name's. */
		{ { .name = "a\0331\nb", .known = true }, "[thread a\\x1B1\\x0Ab]|a\\x1B*\\x0Ab|a\\x1B1\\x0Ab|0" },
		{ { .name = "worker", .ractor = 12, .tid = 7, .known = true },
		  "[thread ractor 12 worker (7)]|ractor * worker|ractor 12 worker|7" },
		{ { .flags = RB_DEBUG_EXT_THREAD_MAIN, .tid = 7, .known = true }, "[thread main (7)]|main|main|7" },
		{ { .serial = 30, .tid = 7 }, "[thread #30 (gone) (7)]|#*|#30 (gone)|7" },
		{ { .serial = 30 | THREAD_FIBERS, .name = "loop 1", .known = true },
		  "[parked fibers of thread loop 1]|loop *|parked fibers of thread loop 1|0" },
		{ { .serial = 30 | THREAD_FIBERS },
		  "[parked fibers of thread #30 (gone)]|#*|parked fibers of thread #30 (gone)|0" },
	};
	struct frame_table t;
	struct text text = { 0 };

	frame_table__init(&t);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].thread.frame = frame_table__later(&t, FRAME_THREAD);
		CHECK_INT(group_names__set_thread(&t, &cases[i].thread), 0);
		CHECK_STRING(parts(&t, (uint32_t)cases[i].thread.frame), cases[i].text);
	}
	CHECK_STRING(parts(&t, group_names__add_no_thread(&t, "puma 12\033", 16, 42, false)),
		     "[native thread puma 12\\x1B (42)]|puma *\\x1B|native thread puma 12\\x1B|42");
	CHECK_STRING(parts(&t, group_names__add_no_thread(&t, "0123456789abcdef", 16, 0, true)),
		     "[unknown thread 0123456789abcdef]|*abcdef|unknown thread 0123456789abcdef|0");
	group_names__add_native("puma 12\033", 16, 42, &text);
	text__adds(&text, "|");
	group_names__add_native("0123456789abcdef", 16, 0, &text);
	CHECK_STRING(text__string(&text), "native thread puma 12\\x1B (42)|native thread 0123456789abcdef");
	text__free(&text);
	frame_table__free(&t);
}

TEST(groups_can_be_what_a_process_says_of_itself)
{
	const char *const all = "resource:deployment.environment.name,service,label:a,resource:a,process";
	char longest[GROUP_RESOURCE_KEY_MAX + 16] = "resource:";
	struct text text = { 0 };
	struct groups g;

	CHECK_INT(groups__parse(all, &g), 0);
	CHECK_INT(g.count, 5);
	CHECK_INT(g.keys[0], GROUP_RESOURCE);
	CHECK_INT(g.keys[1], GROUP_SERVICE);
	CHECK_INT(g.keys[2], GROUP_LABEL);
	CHECK_INT(g.keys[3], GROUP_RESOURCE + 1);
	CHECK_STRING(g.resources[0], "deployment.environment.name");
	CHECK(group__is_label(g.keys[2]) && !group__is_label(g.keys[1]) && !group__is_label(g.keys[3]));
	CHECK(groups__has_resources(&g));
	groups__add_text(&g, &text);
	CHECK_STRING(text__string(&text), all);
	text__free(&text);
	CHECK_INT(groups__parse("service", &g), 0);
	CHECK(groups__has_resources(&g));
	CHECK_INT(groups__parse("process,label:service", &g), 0);
	CHECK(!groups__has_resources(&g));
	CHECK_INT(groups__parse("resource:a,resource:b,resource:c,resource:d,resource:e", &g), -EINVAL);
	CHECK_INT(groups__parse("resource:a,resource:a", &g), -EINVAL);
	CHECK_INT(groups__parse("resource:", &g), -EINVAL);
	memset(longest + 9, 'k', GROUP_RESOURCE_KEY_MAX);
	CHECK_INT(groups__parse(longest, &g), 0);
	longest[9 + GROUP_RESOURCE_KEY_MAX] = 'k';
	longest[10 + GROUP_RESOURCE_KEY_MAX] = '\0';
	CHECK_INT(groups__parse(longest, &g), -EINVAL);
}

TEST(groups_find_the_service_of_a_process)
{
	char name[SERVICE_SIZE];

	CHECK(service__find("a=b,service.name=web%20shop", "puma", name, sizeof(name)));
	CHECK_STRING(name, "web shop");
	CHECK(service__find("a=b", "puma", name, sizeof(name)));
	CHECK_STRING(name, "puma");
	CHECK(service__find(NULL, "puma", name, sizeof(name)));
	CHECK(!service__find(NULL, "", name, sizeof(name)));
	CHECK_STRING(name, "");
}

TEST(groups_can_be_labels)
{
	struct groups g;
	char longest[RB_DEBUG_EXT_LABEL_KEY_MAX + 16] = "label:";

	CHECK_INT(groups__parse("process,label:request,label:job id", &g), 0);
	CHECK_INT(g.count, 3);
	CHECK_INT(g.keys[0], GROUP_PROCESS);
	CHECK_INT(g.keys[1], GROUP_LABEL);
	CHECK_INT(g.keys[2], GROUP_LABEL + 1);
	CHECK_INT(g.label_count, 2);
	CHECK_STRING(g.labels[0], "request");
	CHECK_STRING(g.labels[1], "job id");
	CHECK_INT(groups__parse("process,thread,thread-pattern,cgroup,recording,host,command,service,label:a,label:b,label:c,label:d,"
				"resource:a,resource:b,resource:c,resource:d", &g), 0);
	CHECK_INT(g.count, GROUPS_MAX);
	/* A name in place of a label has its room. */
	CHECK_INT(groups__name_as_label(&g, GROUP_RECORDING), -1);
	CHECK_INT(groups__parse("recording,label:a", &g), 0);
	CHECK_INT(groups__name_as_label(&g, GROUP_RECORDING), 1);
	CHECK_INT(g.keys[0], GROUP_LABEL + 1);
	CHECK_INT(g.keys[1], GROUP_LABEL);
	CHECK_STRING(g.labels[1], "recording");
	CHECK_INT(groups__parse("process,host,thread", &g), 0);
	groups__remove(&g, GROUP_HOST);
	CHECK(g.count == 2 && g.keys[0] == GROUP_PROCESS && g.keys[1] == GROUP_THREAD);
	groups__remove(&g, GROUP_HOST);
	CHECK_INT(g.count, 2);
	CHECK_INT(groups__parse("label:a,label:b,label:c,label:d,label:e", &g), -EINVAL);
	CHECK_INT(groups__parse("label:a,label:a", &g), -EINVAL);
	CHECK_INT(groups__parse("label:a,label:ab", &g), 0);
	CHECK_INT(groups__parse("label:", &g), -EINVAL);
	CHECK_INT(groups__parse("label", &g), -EINVAL);
	CHECK_INT(groups__parse("label:a,none", &g), -EINVAL);
	memset(longest + 6, 'k', RB_DEBUG_EXT_LABEL_KEY_MAX);
	CHECK_INT(groups__parse(longest, &g), 0);
	CHECK_INT((int)strlen(g.labels[0]), RB_DEBUG_EXT_LABEL_KEY_MAX);
	strcat(longest, "k");
	CHECK_INT(groups__parse(longest, &g), -EINVAL);
}
