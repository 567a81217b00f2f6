/* SPDX-License-Identifier: BSD-2-Clause */
/* Other views of the same samples, with their known values. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "no_memory.h"
#include "profile/transform.h"
#include "profile_fixture.h"

static struct transform asked;
static uint32_t view_id, view2_id, sql_id;

static uint32_t method(const char *name, const char *path, uint32_t owner)
{
	uint32_t id = fake__record(&ruby, RB_DEBUG_EXT_METHOD, name, owner, 0);

	fake__set_path(fake__get(&ruby, id), path);
	fake__set_code(fake__get(&ruby, id), 10, 10 * id);
	return id;
}

#define STACK(times, ...) do {						\
	const uint32_t ids[] = { __VA_ARGS__ };				\
	start();							\
	for (size_t i_ = 0; i_ < sizeof(ids) / sizeof(ids[0]); i_++)	\
		frame(ids[i_], 0);					\
	send(times);							\
} while (0)

/* 28 samples. */
static void send_all(void)
{
	uint32_t gem;

	set_up();
	gem = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Gem", 0, 0);
	view_id = method("render", "/g/gems/view-1.2/lib/view.rb", gem);
	view2_id = method("partial", "/g/gems/view-1.2/lib/partial.rb", gem);
	sql_id = method("query", "/g/gems/sql-2.0/lib/sql.rb", gem);
	STACK(3, main_id);
	STACK(5, size_id, view2_id, size_id, view_id, foo_id, main_id);
	STACK(7, bar_id, size_id, view2_id, view_id, foo_id, main_id);
	STACK(1, sql_id, view_id, main_id);
	STACK(4, foo_id, foo_id, foo_id, main_id);
	STACK(2, bar_id, foo_id, foo_id, main_id);
	STACK(6, view_id);
}

static void ask(enum transform_action action, const char *list)
{
	const char *wrong;

	if (transform__add(&asked, action, list, &wrong))
		test__fail(__FILE__, __LINE__, "%s: at %s", list, wrong);
}

static int build(struct report *r)
{
	const struct report_view view = { .mode = &mode_cpu, .transform = &asked };
	int err = frame_names__take_all(&frames, &table);

	return err ? err : report__build(r, &tree, &frames, show ? show : &resolver.groups, REPORT_BY_CODE, &view);
}

/* The report in folded form; forgets what was asked for. */
static const char *changed(uint64_t left_out)
{
	struct output_options o = { 0 };
	struct report r;
	FILE *f = fmemopen(written, sizeof(written) - 1, "w");
	uint64_t all = 0;

	memset(written, 0, sizeof(written));
	if (build(&r))
		return "error";
	for (uint32_t i = 0; i < r.node_count; i++)
		all += r.nodes[i].self;
	if (r.left_out != left_out || all != r.samples || r.samples + left_out != tree.samples)
		test__fail(__FILE__, __LINE__, "%llu shown, %llu left out", (unsigned long long)all, (unsigned long long)r.left_out);
	output_folded.write(&r, 1, &o, f);
	fclose(f);
	report__free(&r);
	transform__free(&asked);
	return written;
}

TEST(transform_focus)
{
	send_all();
	ask(TRANSFORM_FOCUS, "Foo#bar");
	CHECK_STRING(changed(19), "Foo#bar 9\n");
	ask(TRANSFORM_FOCUS, "gem:view");
	CHECK_STRING(changed(9),
		     "Gem#render 6\nGem#render;Array#size;Gem#partial;Array#size 5\n"
		     "Gem#render;Gem#partial;Array#size;Foo#bar 7\nGem#render;Gem#query 1\n");
	ask(TRANSFORM_FOCUS, "app");
	CHECK(strstr(changed(6), "<main> 3\n") != NULL);
	/* One of two. */
	ask(TRANSFORM_FOCUS, "gem:s?l,Foo#bar");
	CHECK_STRING(changed(18), "Foo#bar 9\nGem#query 1\n");
	ask(TRANSFORM_FOCUS, "partial.rb");
	CHECK_STRING(changed(16), "Gem#partial;Array#size 5\nGem#partial;Array#size;Foo#bar 7\n");
	ask(TRANSFORM_FOCUS, "Nobody#here");
	CHECK_STRING(changed(28), "");
	tear_down();
}

TEST(transform_parts_of_the_standard_library)
{
	uint32_t json_id;

	set_up();
	json_id = method("parse", "/usr/lib/ruby/3.4.0/json/common.rb", fake__record(&ruby, RB_DEBUG_EXT_NAMED, "JSON", 0, 0));
	STACK(3, json_id, main_id);
	STACK(2, bar_id, json_id, main_id);
	STACK(4, foo_id, main_id);
	ask(TRANSFORM_FOCUS, "gem:json");
	CHECK_STRING(changed(4), "JSON#parse 3\nJSON#parse;Foo#bar 2\n");
	ask(TRANSFORM_HIDE, "gem:json");
	CHECK_STRING(changed(0), "<main> 3\n<main>;Foo#bar 2\n<main>;Foo#foo 4\n");
	ask(TRANSFORM_FOCUS, "gem:common");
	CHECK_STRING(changed(9), "");
	tear_down();
}

TEST(transform_hide)
{
	send_all();
	ask(TRANSFORM_HIDE, "gem:view");
	CHECK_STRING(changed(0),
		     "<main> 3\n<main>;Foo#foo;Array#size;Array#size 5\n<main>;Foo#foo;Array#size;Foo#bar 7\n"
		     "<main>;Foo#foo;Foo#foo;Foo#bar 2\n<main>;Foo#foo;Foo#foo;Foo#foo 4\n<main>;Gem#query 1\n[hidden] 6\n");
	ask(TRANSFORM_HIDE, "Array#size");
	ask(TRANSFORM_HIDE, "/g/gems/view-1.2");
	CHECK_STRING(changed(0),
		     "<main> 3\n<main>;Foo#foo 5\n<main>;Foo#foo;Foo#bar 7\n<main>;Foo#foo;Foo#foo;Foo#bar 2\n"
		     "<main>;Foo#foo;Foo#foo;Foo#foo 4\n<main>;Gem#query 1\n[hidden] 6\n");
	ask(TRANSFORM_HIDE, "method:*");
	CHECK_STRING(changed(0), "[hidden] 28\n");
	tear_down();
}

TEST(transform_collapse_gems)
{
	send_all();
	asked.gems = true;
	CHECK_STRING(changed(0),
		     "<main> 3\n<main>;Foo#foo;Foo#foo;Foo#bar 2\n<main>;Foo#foo;Foo#foo;Foo#foo 4\n"
		     "<main>;Foo#foo;[gem view 1.2] 5\n<main>;Foo#foo;[gem view 1.2];Foo#bar 7\n"
		     "<main>;[gem view 1.2];[gem sql 2.0] 1\n[gem view 1.2] 6\n");
	tear_down();
}

/* As a comparison has them: files that only one version has are in another directory. */
TEST(transform_collapse_versions_of_a_gem)
{
	uint32_t gem, other_id, new_id;

	set_up();
	gem = fake__record(&ruby, RB_DEBUG_EXT_NAMED, "Gem", 0, 0);
	view_id = method("render", "/g/gems/view-1.2/lib/view.rb", gem);
	new_id = method("added", "/g/gems/view-1.3/lib/added.rb", gem);
	other_id = method("other", "/g/gems/view-more-1.2/lib/view.rb", gem);
	STACK(3, view_id, main_id);
	STACK(5, new_id, view_id, main_id);
	STACK(7, new_id, main_id);
	STACK(2, other_id, main_id);
	asked.gems = true;
	CHECK_STRING(changed(0), "<main>;[gem view 1.2] 3\n<main>;[gem view 1.2];[gem view 1.3] 5\n<main>;[gem view 1.3] 7\n"
				 "<main>;[gem view-more 1.2] 2\n");
	asked.gems = asked.versions_are_one = true;
	CHECK_STRING(changed(0), "<main>;[gem view 1.2] 15\n<main>;[gem view-more 1.2] 2\n");
	tear_down();
}

TEST(transform_collapse_recursion)
{
	struct report r;

	send_all();
	asked.recursion = true;
	CHECK(strstr(changed(0), "<main>;Foo#foo 4\n<main>;Foo#foo;Foo#bar 2\n") != NULL);
	CHECK(!strstr(written, "Foo#foo;Foo#foo"));
	/* What is hidden does not keep it from being direct. */
	STACK(9, foo_id, bar_id, foo_id, main_id);
	asked.recursion = true;
	ask(TRANSFORM_HIDE, "Foo#bar");
	CHECK(strstr(changed(0), "<main>;Foo#foo 15\n") != NULL);
	/* The line is the innermost one. */
	start();
	frame(bar_id, 4);
	frame(bar_id, 2);
	frame(bar_id, 0);
	send(11);
	asked.recursion = true;
	CHECK_INT(build(&r), 0);
	for (uint32_t i = 0; i < r.lines.count; i++)
		if (r.lines.list[i].self == 11)
			CHECK_INT(r.lines.list[i].line, 703);
	CHECK_INT(r.lines.list[0].self, 13);
	report__free(&r);
	transform__free(&asked);
	tear_down();
}

TEST(transform_together_and_in_tables)
{
	struct report r;
	bool seen = false;

	send_all();
	asked.gems = asked.recursion = true;
	ask(TRANSFORM_FOCUS, "Foo#foo");
	ask(TRANSFORM_HIDE, "gem:sql");
	CHECK_STRING(changed(10), "Foo#foo 4\nFoo#foo;Foo#bar 2\nFoo#foo;[gem view 1.2] 5\nFoo#foo;[gem view 1.2];Foo#bar 7\n");
	asked.gems = true;
	CHECK_INT(build(&r), 0);
	/* The frame of a gem is the gem's, and what it called is in it. */
	for (uint32_t i = 0; i < r.by_owner.count; i++) {
		const struct report_owner *o = &r.owners[r.labels[r.by_owner.list[i].label].owner];

		if (o->kind != OWNER_GEM || strcmp(o->name, "view"))
			continue;
		seen = true;
		CHECK_INT(r.by_owner.list[i].self, 11);
		CHECK_INT(r.by_owner.list[i].total, 19);
	}
	CHECK(seen);
	report__free(&r);
	transform__free(&asked);
	tear_down();
}

static void ask_method(enum transform_action action, const char *pattern)
{
	CHECK_INT(transform__add_method(&asked, action, pattern), 0);
}

TEST(transform_invert)
{
	struct report plain, inverted;

	send_all();
	asked.inverts = true;
	CHECK_STRING(changed(0),
		     "<main> 3\nArray#size;Gem#partial;Array#size;Gem#render;Foo#foo;<main> 5\n"
		     "Foo#bar;Array#size;Gem#partial;Gem#render;Foo#foo;<main> 7\nFoo#bar;Foo#foo;Foo#foo;<main> 2\n"
		     "Foo#foo;Foo#foo;Foo#foo;<main> 4\nGem#query;Gem#render;<main> 1\nGem#render 6\n");
	/* The tables say who ran, as they do without it. */
	CHECK_INT(build(&plain), 0);
	asked.inverts = true;
	CHECK_INT(build(&inverted), 0);
	CHECK_INT(inverted.samples, 28);
	CHECK_INT(inverted.methods.count, plain.methods.count);
	for (uint32_t i = 0; i < plain.methods.count; i++) {
		const struct report_total *a = &plain.methods.list[i], *b = &inverted.methods.list[i];

		CHECK_STRING(plain.labels[a->label].name, inverted.labels[b->label].name);
		CHECK(a->self == b->self && a->total == b->total);
		CHECK(plain.labels[a->label].self == inverted.labels[b->label].self);
		CHECK(plain.labels[a->label].total == inverted.labels[b->label].total);
	}
	CHECK_STRING(inverted.labels[inverted.methods.list[0].label].name, "Foo#bar");
	CHECK_INT(inverted.methods.list[0].self, 9);
	report__free(&plain);
	report__free(&inverted);
	transform__free(&asked);
	/* Groups stay outside. */
	tear_down();
	set_up_threads();
	send_in(30, 3, 103, 2);
	asked.inverts = true;
	CHECK(!strncmp(changed(0), "[thread ", 8));
	tear_down();
}

TEST(transform_callers_and_callees)
{
	struct report r;

	send_all();
	/* Up to the outermost one. */
	ask_method(TRANSFORM_CALLERS, "Array#size");
	asked.inverts = true;
	CHECK_STRING(changed(16), "Array#size;Gem#partial;Gem#render;Foo#foo;<main> 7\nArray#size;Gem#render;Foo#foo;<main> 5\n");
	ask_method(TRANSFORM_CALLERS, "Foo#foo");
	asked.inverts = true;
	CHECK_STRING(changed(10), "Foo#foo;<main> 18\n");
	/* What it calls is its own, and nobody else is in the tables. */
	ask_method(TRANSFORM_CALLERS, "Gem#partial");
	CHECK_INT(build(&r), 0);
	CHECK_INT(r.methods.list[0].self, 12);
	CHECK_STRING(r.labels[r.methods.list[0].label].name, "Gem#partial");
	CHECK_INT(r.methods.count, 5);
	CHECK_INT(r.left_out, 16);
	report__free(&r);
	transform__free(&asked);
	ask_method(TRANSFORM_FOCUS, "Array#size");
	CHECK_STRING(changed(16), "Array#size;Foo#bar 7\nArray#size;Gem#partial;Array#size 5\n");
	ask_method(TRANSFORM_CALLERS, "Nobody#here");
	CHECK_STRING(changed(28), "");
	ask_method(TRANSFORM_CALLERS, "Gem#partial");
	ask(TRANSFORM_FOCUS, "Array#size");
	CHECK_STRING(changed(23), "Array#size;Gem#partial 5\n");
	ask_method(TRANSFORM_CALLERS, "Gem#partial");
	ask(TRANSFORM_HIDE, "Gem#*");
	CHECK_STRING(changed(16), "<main>;Foo#foo 7\n<main>;Foo#foo;Array#size 5\n");
	CHECK_INT(transform__add_method(&asked, TRANSFORM_CALLERS, ""), -EINVAL);
	tear_down();
}

TEST(transform_methods)
{
	send_all();
	/* Foo#bar 9, Gem#render 6, Array#size 5, Foo#foo 4, <main> 3, Gem#query 1 */
	asked.methods = 2;
	CHECK_STRING(changed(0), "<main>;Foo#foo;Foo#foo;Foo#bar 2\n<main>;Foo#foo;Gem#render;Gem#partial;Array#size;Foo#bar 7\n"
		     "Gem#render 6\n[other methods] 13\n");
	asked.methods = 1000;
	CHECK(!strstr(changed(0), "[other methods]"));
	/* After the other views: one method less with samples. */
	asked.methods = 1;
	asked.gems = true;
	CHECK_STRING(changed(0), "<main>;Foo#foo;[gem view 1.2] 5\n[gem view 1.2] 6\n[other methods] 17\n");
	asked.methods = 1;
	asked.inverts = true;
	ask_method(TRANSFORM_FOCUS, "Gem#partial");
	CHECK_STRING(changed(16), "Foo#bar;Array#size;Gem#partial 7\n[other methods] 5\n");
	tear_down();
	/* For each group. */
	set_up_threads();
	send_in(30, 3, 103, 2);
	send_in(40, 4, 104, 3);
	asked.methods = 1;
	CHECK(strstr(changed(0), "[thread ") != NULL);
	tear_down();
}

TEST(transform_keeps_groups)
{
	set_up_threads();
	send_in(30, 3, 103, 2);
	send_in(40, 4, 104, 3);
	ask(TRANSFORM_HIDE, "Foo#foo");
	CHECK(strstr(changed(0), "[thread ") != NULL);
	CHECK(!strstr(written, "Foo#foo"));
	ask(TRANSFORM_FOCUS, "Foo#bar");
	CHECK_STRING(changed(5), "");
	tear_down();
}

TEST(transform_rules)
{
	static const struct {
		const char *text;
		uint8_t what;
		const char *pattern;
	} truth[] = {
		{ "gem:rack", TRANSFORM_GEM, "rack" }, { "Foo#bar", TRANSFORM_METHOD, "Foo#bar" },
		{ "Integer#/", TRANSFORM_METHOD, "Integer#/" }, { "Hash#[]", TRANSFORM_METHOD, "Hash#[]" },
		{ "app/models", TRANSFORM_FILE, "app/models" }, { "post.rb", TRANSFORM_FILE, "post.rb" },
		{ "app", TRANSFORM_APP, "app" }, { "method:app", TRANSFORM_METHOD, "app" }, { "file:Rakefile", TRANSFORM_FILE, "Rakefile" },
	};
	const char *wrong;

	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		ask(TRANSFORM_FOCUS, truth[i].text);
		CHECK_INT(asked.rules[0].what, truth[i].what);
		CHECK_STRING(asked.rules[0].pattern, truth[i].pattern);
		transform__free(&asked);
	}
	CHECK_INT(transform__add(&asked, TRANSFORM_HIDE, "Foo#bar,app", &wrong), -EINVAL);
	CHECK_STRING(wrong, "app");
	CHECK_INT(transform__add(&asked, TRANSFORM_HIDE, "", &wrong), -EINVAL);
	CHECK_INT(transform__add(&asked, TRANSFORM_HIDE, "gem:", &wrong), -EINVAL);
	CHECK_INT(transform__add(&asked, TRANSFORM_FOCUS, "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,1,2,3,4,5,6,7", &wrong), -E2BIG);
	transform__free(&asked);
	CHECK_INT(transform__collapse(&asked, "gems,recursion"), 0);
	CHECK(asked.gems && asked.recursion && transform__changes(&asked));
	CHECK_INT(transform__collapse(&asked, "gem"), -EINVAL);
	CHECK_INT(transform__collapse(&asked, ""), -EINVAL);
	transform__free(&asked);
	CHECK(!transform__changes(&asked));
}

/* Random trees: nothing is lost or made, whatever is asked for. */
TEST(transform_keeps_each_sample)
{
	static const char *const words[] = { "gem:view", "gem:*", "Foo#*", "Array#size", "app.rb", "/g", "*" };
	const char *wrong;

	send_all();
	for (int i = 0; i < 200; i++) {
		const uint32_t ids[] = { main_id, foo_id, bar_id, size_id, block_id, view_id, view2_id, sql_id };

		start();
		for (uint32_t depth = test__random() % 9; sample.event.nr_frames <= depth;)
			frame(ids[test__random() % 8], test__random() % 10);
		send(1 + (int)(test__random() % 5));
	}
	for (int i = 0; i < 50; i++) {
		struct report r;
		uint64_t all = 0;

		asked.gems = test__random() % 2;
		asked.recursion = test__random() % 2;
		for (uint32_t n = test__random() % 3; n; n--)
			CHECK_INT(transform__add(&asked, TRANSFORM_HIDE, words[test__random() % 7], &wrong), 0);
		if (test__random() % 3 == 0)
			ask(TRANSFORM_FOCUS, words[test__random() % 7]);
		if (test__random() % 3 == 0)
			ask_method(TRANSFORM_CALLERS, words[test__random() % 7]);
		asked.inverts = test__random() % 2;
		asked.methods = test__random() % 4;
		CHECK_INT(build(&r), 0);
		for (uint32_t k = 0; k < r.node_count; k++)
			all += r.nodes[k].self;
		CHECK_INT(all, r.samples);
		CHECK_INT(all + r.left_out, tree.samples);
		report__free(&r);
		transform__free(&asked);
	}
	tear_down();
}

TEST(transform_without_memory)
{
	unsigned int at, err = 1;
	struct report r;

	send_all();
	asked.gems = asked.inverts = true;
	asked.methods = 3;
	ask(TRANSFORM_HIDE, "Foo#bar");
	for (at = 1; err && at < 1000; at++) {
		no_memory_at = at;
		err = (unsigned int)-build(&r);
		CHECK(!err || err == ENOMEM);
	}
	no_memory_at = 0;
	CHECK(at > 40 && at < 1000);
	CHECK_INT(r.samples, 28);
	report__free(&r);
	transform__free(&asked);
	tear_down();
}
