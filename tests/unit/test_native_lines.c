/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that stand for native frames.  Debug information itself is read by a program: see tests/live/case_native_inline.py. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "native/debug_files.h"
#include "profile/native_lines.h"
#include "profile/tree.h"

static uint32_t add(void *context, const struct frame *f)
{
	return frame_table__add(context, f);
}

static uint32_t add_native(struct frame_table *t, const char *module, const char *key, uint64_t address)
{
	struct frame f = FRAME_INIT(FRAME_NATIVE);

	f.name = "f";
	f.module = module;
	f.key = key;
	f.address = address;
	return frame_table__add(t, &f);
}

TEST(native_lines_say_why_there_are_none)
{
	struct native_lines l = { .lines = true, .inlined = true, .add = add };
	struct frame_table t;
	struct frame ruby = FRAME_INIT(FRAME_RUBY);
	struct text sum = { 0 };
	uint32_t frames[6], count;

	CHECK_INT(frame_table__init(&t), 0);
	l.context = &t;
	ruby.name = "Foo#bar";
	frames[0] = frame_table__add(&t, &ruby);
	frames[1] = add_native(&t, "/nowhere/a.so", "", 16);
	frames[2] = add_native(&t, "/nowhere/a.so", "", 32);
	/* They would be parts of a path. */
	frames[3] = add_native(&t, "/nowhere/b.so", "../../etc/shadow", 16);
	frames[4] = add_native(&t, "/nowhere/c.so", "0123456789abcdef", 16);
	frames[5] = FRAME_NO_ROOM;
	CHECK_INT(native_lines__find(&l, &t, frames, 6), 0);
	for (int i = 0; i < 6; i++)
		CHECK(!native_lines__of(&l, frames[i], &count));
	/* Once for all. */
	CHECK_INT(native_lines__find(&l, &t, frames, 6), 0);
	native_lines__add_sum(&l, &sum);
	CHECK_STRING(text__string(&sum), "found for 0 of 4 addresses (a.so: it has no build id, 2; b.so: it has no build id, 1; "
					 "c.so: no debug information here, 1)");
	text__free(&sum);
	native_lines__free(&l);
	native_lines__add_sum(&l, &sum);
	CHECK(!sum.data);
	frame_table__free(&t);
}

static int taken;

static int take(void *context, uint32_t number, const struct lines_at *at, uint32_t functions)
{
	(void)context, (void)number, (void)at, (void)functions;
	taken++;
	return 0;
}

TEST(debug_files_need_a_build_id)
{
	static const char *const wrong[] = { "", "0", "012", "01234g", "0123/5", "ABCDEF", "../..", "0123456789abcdef0123456789abcdef0123456789abcdef"
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef01" };
	uint64_t address = 1;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct debug_module m = { .path = "/nowhere", .build_id = wrong[i], .fd = -1 };

		CHECK_INT(debug_files__lines(&m, &address, 1, take, NULL), -ENOKEY);
	}
	/* Paths that are none are not opened. */
	CHECK_INT(debug_files__lines(&(struct debug_module){ .path = "relative", .build_id = "0123", .fd = -1 }, &address, 1, take, NULL), -ENODATA);
	CHECK_INT(debug_files__lines(&(struct debug_module){ .path = "", .build_id = "0123", .fd = -1 }, &address, 1, take, NULL), -ENODATA);
}

TEST(lines_of_a_file_that_is_too_large)
{
	struct lines_file file = { .fd = -1, .size = LINES_FILE_MAX + 1 };
	char link[LINES_LINK_MAX];
	uint64_t address = 1;

	CHECK_INT(lines__read(&file, &address, 1, take, NULL, link), -E2BIG);
	CHECK_STRING(link, "");
	/* Beside the unit tests there is no such program. */
	file.size = 1;
	CHECK(lines__read(&file, &address, 1, take, NULL, link) < 0);
	CHECK_INT(taken, 0);
}

/* a -> b becomes a -> x -> y, and a -> c stays. */
TEST(native_lines_make_a_tree_of_the_same_sums)
{
	struct native_lines l = { .inlined = true };
	struct weight weight = { .value = 10, .count = 1 };
	uint32_t list[] = { 2, 3, 4 }, stacks[][3] = { { 1, 2 }, { 1, 5 }, { 1, 2, 5 } }, node;
	struct tree from, to = { 0 };

	CHECK_INT(tree__init(&from), 0);
	CHECK_INT(tree__add(&from, stacks[0], 2, &weight), 0);
	CHECK_INT(tree__add(&from, stacks[0], 2, &weight), 0);
	CHECK_INT(tree__add(&from, stacks[1], 2, &weight), 0);
	CHECK_INT(tree__add(&from, stacks[2], 3, &weight), 0);
	l.list = list;
	CHECK_INT(map64__add(&l.of, 2, 0), 0);
	CHECK_INT(native_lines__tree(&l, &from, &to), 0);
	CHECK_INT(to.samples, 4);
	CHECK_INT(to.node_count, 6);
	node = tree__find(&to, (uint32_t[]){ 1, 3, 4 }, 3);
	CHECK(node != MAP64_NONE);
	CHECK_INT(to.nodes[node].samples, 2);
	CHECK_INT(to.nodes[node].self.value, 20);
	CHECK_INT(to.nodes[to.nodes[node].parent].samples, 0);
	node = tree__find(&to, (uint32_t[]){ 1, 3, 4, 5 }, 4);
	CHECK(node != MAP64_NONE);
	CHECK_INT(to.nodes[node].self.value, 10);
	node = tree__find(&to, (uint32_t[]){ 1, 5 }, 2);
	CHECK(node != MAP64_NONE);
	CHECK_INT(to.nodes[node].self.value, 10);
	tree__free(&from);
	tree__free(&to);
	map64__free(&l.of);
}
