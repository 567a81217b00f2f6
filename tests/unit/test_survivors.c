/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that may die: held, forgotten when they have died, and told with what they take. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "no_memory.h"
#include "profile/survivors.h"

#define VM 7u
#define CHILD 8u

static struct survivors survivors;
static struct rb_debug_ext_live table[64];
static uint32_t frame_numbers[4] = { 11, 12, 13, 14 }, label_numbers[2] = { 21, 22 };

static void set_up(void)
{
	CHECK_INT(survivors__init(&survivors), 0);
	memset(table, 0, sizeof(table));
}

/* One process, one thread, a stack of two frames and the class: the stack is told apart by its innermost frame. */
static void hold(uint32_t vm, uint64_t serial, uint64_t time, uint32_t innermost)
{
	struct sink_view view = { .weight = { 40, 3 }, .below = { 99 }, .below_count = 1 };
	struct sink_sample sample = {
		.origin = { .thread = 5, .tid = 55, .thread_frame = 12, .fiber = 2 }, .time = time, .source = SOURCE_ALLOC,
		.label = 6, .frames = frame_numbers, .count = 4, .groups = 2, .labels = label_numbers, .label_count = 2,
		.views = &view, .view_count = 1,
	};

	frame_numbers[3] = innermost;
	survivors__hold(&survivors, vm, serial, 1000, &sample, &view);
}

static void lives(uint32_t place, uint64_t serial, uint64_t size, uint64_t weight, uint64_t bytes)
{
	table[place] = (struct rb_debug_ext_live){ .serial = serial, .id = 1000, .size = size, .weight = weight, .bytes = bytes };
}

/* What was told, in the order of telling. */
static struct told {
	uint64_t time, value, count;
	uint32_t innermost, class, groups, frames, labels, first_label, last_label, tid;
} told[64];
static uint32_t told_count;
static int tell_says;

static int tell(void *context, struct sink_sample *sample, struct sink_view *view)
{
	if (*(int *)context != 42)
		return -EINVAL;
	told[told_count++] = (struct told){
		.time = sample->time, .value = view->weight.value, .count = view->weight.count,
		.innermost = sample->frames[sample->count - 1], .class = view->below[0], .groups = sample->groups,
		.frames = sample->count, .labels = sample->label_count, .first_label = sample->labels[0],
		.last_label = sample->labels[1], .tid = sample->origin.tid,
	};
	return tell_says;
}

static int settle(uint32_t vm, uint32_t count, bool tells)
{
	static int context = 42;
	int err;

	told_count = 0;
	survivors__begin(&survivors);
	err = survivors__settle(&survivors, vm, 7, table, count, 0);
	return err || !tells ? err : survivors__tell(&survivors, tell, &context);
}

TEST(survivors_are_told_with_what_they_take)
{
	set_up();
	/* Samples of several CPUs come in any order. */
	hold(VM, 12, 300, 30);
	hold(VM, 10, 100, 31);
	hold(VM, 11, 200, 32);
	lives(0, 9, 40, 400, 0);	/* of which no sample came */
	lives(1, 10, 40, 400, 0);
	lives(2, 12, 40, 400, 140);	/* it stands for ten, of 140 bytes each */
	CHECK_INT(settle(VM, 3, true), 0);
	CHECK_INT(told_count, 2);
	CHECK_INT(told[0].time, 100);
	CHECK_INT(told[0].value, 400);
	CHECK_INT(told[0].count, 3);
	CHECK_INT(told[0].innermost, 31);
	CHECK_INT(told[1].time, 300);
	CHECK_INT(told[1].value, 1400);
	CHECK_INT(told[1].innermost, 30);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(told[i].class, 99);
		CHECK_INT(told[i].groups, 2);
		CHECK_INT(told[i].frames, 4);
		CHECK_INT(told[i].labels, 2);
		CHECK_INT(told[i].first_label, 21);
		CHECK_INT(told[i].last_label, 22);
		CHECK_INT(told[i].tid, 55);
	}
	CHECK_INT(survivors.held, 3);
	CHECK_INT(survivors.died, 1);
	CHECK_INT(survivors.count, 2);
	/* Who has died does not come back. */
	lives(3, 13, 40, 400, 0);
	CHECK_INT(settle(VM, 4, true), 0);
	CHECK_INT(told_count, 2);
	lives(0, 11, 40, 400, 0);
	CHECK_INT(settle(VM, 1, true), 0);
	CHECK_INT(told_count, 0);
	CHECK_INT(survivors.died, 3);
	survivors__free(&survivors);
}

TEST(survivors_of_another_class_or_twice_are_none)
{
	set_up();
	hold(VM, 10, 100, 31);
	hold(VM, 10, 100, 31);
	hold(VM, 11, 100, 32);
	lives(0, 10, 40, 400, 0);
	lives(1, 11, 40, 400, 0);
	table[1].id = 1001;
	CHECK_INT(settle(VM, 2, true), 0);
	CHECK_INT(told_count, 1);
	CHECK_INT(told[0].innermost, 31);
	CHECK_INT(survivors.died, 2);
	survivors__free(&survivors);
}

TEST(survivors_of_a_child_are_those_of_the_fork_and_its_own)
{
	set_up();
	hold(VM, 10, 100, 30);
	hold(VM, 11, 200, 31);	/* after the fork, as the child's own one */
	hold(CHILD, 11, 250, 32);
	survivors__inherit(&survivors, VM, CHILD, 150);
	lives(0, 10, 40, 40, 0);
	lives(1, 11, 40, 40, 0);
	CHECK_INT(settle(CHILD, 2, true), 0);
	CHECK_INT(told_count, 2);
	CHECK_INT(told[0].innermost, 30);
	CHECK_INT(told[1].innermost, 32);
	CHECK_INT(settle(VM, 2, true), 0);
	CHECK_INT(told[1].innermost, 31);
	/* The child's sample was lost: not that of its parent. */
	survivors__end(&survivors, CHILD);
	CHECK_INT(survivors.ended, 2);
	survivors__inherit(&survivors, VM, CHILD, 150);
	CHECK_INT(settle(CHILD, 2, true), 0);
	CHECK_INT(told_count, 1);
	CHECK_INT(told[0].innermost, 30);
	/* Of one that nothing is known of. */
	survivors__inherit(&survivors, 77, 78, 150);
	CHECK_INT(settle(78, 2, true), 0);
	CHECK_INT(told_count, 0);
	survivors__free(&survivors);
}

TEST(survivors_of_a_table_that_was_emptied_are_not_known)
{
	set_up();
	hold(VM, 10, 100, 30);
	lives(0, 10, 40, 40, 0);
	/* What was before is no matter. */
	CHECK_INT(survivors__settle(&survivors, VM, 7, table, 1, 3), 0);
	CHECK_INT(survivors.count, 1);
	CHECK_INT(survivors__settle(&survivors, VM, 7, table, 0, 4), 0);
	CHECK_INT(survivors.forgotten, 1);
	CHECK_INT(survivors.died, 0);
	/* Nor what is done while nothing is held, in a pause. */
	survivors__resume(&survivors);
	hold(VM, 11, 100, 30);
	CHECK_INT(survivors__settle(&survivors, VM, 7, table, 0, 9), 0);
	CHECK_INT(survivors.forgotten, 1);
	CHECK_INT(survivors.died, 1);
	survivors__free(&survivors);
}

/* The child made one of that number while its parent did. */
TEST(survivors_of_one_number_are_the_childs_own)
{
	set_up();
	hold(VM, 10, 100, 30);
	hold(CHILD, 10, 200, 31);
	survivors__inherit(&survivors, VM, CHILD, 150);
	lives(0, 10, 40, 40, 0);
	CHECK_INT(settle(CHILD, 1, true), 0);
	CHECK_INT(told_count, 1);
	CHECK_INT(told[0].innermost, 31);
	survivors__free(&survivors);
}

/* They can be told twice, and those of a VM that was not read are not. */
TEST(survivors_that_are_not_settled_are_not_told)
{
	static int context = 42;

	set_up();
	hold(VM, 10, 100, 30);
	hold(CHILD, 11, 100, 31);
	lives(0, 10, 40, 40, 0);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(settle(VM, 1, true), 0);
		CHECK_INT(told_count, 1);
		CHECK_INT(survivors__tell(&survivors, tell, &context), 0);
		CHECK_INT(told_count, 2);
		CHECK_INT(told[1].innermost, 30);
	}
	CHECK_INT(survivors__of(&survivors, CHILD), 1);
	survivors__free(&survivors);
}

TEST(survivors_have_other_numbers_after_a_restart)
{
	struct frame_table from, to;
	struct frame f = FRAME_INIT(FRAME_MARK);
	uint32_t code;

	set_up();
	CHECK_INT(frame_table__init(&from) | frame_table__init(&to), 0);
	for (int i = 0; i < 30; i++) {
		char name[24];

		snprintf(name, sizeof(name), "frame %d", i);
		f.name = name;
		frame_table__add(&from, &f);
	}
	code = frame_table__code(&from, code__make(CODE_RUBY, 3, 17, false));
	hold(VM, 10, 100, code);
	hold(VM, 11, 100, FRAME_NO_ROOM);
	/* The class is none of the table. */
	CHECK_INT(survivors__renumber(&survivors, &from, &to, false), 0);
	lives(0, 10, 40, 40, 0);
	lives(1, 11, 40, 40, 0);
	CHECK_INT(settle(VM, 2, true), 0);
	CHECK_INT(told_count, 2);
	CHECK(to.codes[told[0].innermost] == code__make(CODE_RUBY, 3, 17, false));
	CHECK_INT(told[1].innermost, FRAME_NO_ROOM);
	CHECK_STRING(frame_table__get(&to, told[0].first_label)->name, "frame 20");
	CHECK_STRING(frame_table__get(&to, told[0].last_label)->name, "frame 21");
	frame_table__free(&from);
	frame_table__free(&to);
	survivors__free(&survivors);
}

/* Symbols are forgotten, and objects of their code are held: it has its name. */
TEST(survivors_keep_names_of_code)
{
	struct frame_table from, to;
	struct frame f = FRAME_INIT(FRAME_RUBY);
	uint32_t code, native;

	set_up();
	CHECK_INT(frame_table__init(&from) | frame_table__init(&to), 0);
	for (int i = 0; i < 30; i++)
		frame_table__later(&from, FRAME_MARK);
	code = frame_table__code(&from, code__make(CODE_RUBY, 3, 17, false));
	native = frame_table__code(&from, code__make_lineless(CODE_NATIVE, 4));
	f.name = "Post#render";
	f.path = "post.rb";
	f.line = 17;
	CHECK_INT(frame_table__set(&from, code, &f), 0);
	hold(VM, 10, 100, code);
	hold(VM, 11, 101, native);
	CHECK_INT(survivors__renumber(&survivors, &from, &to, true), 0);
	frame_table__free(&from);
	lives(0, 10, 40, 40, 0);
	lives(1, 11, 40, 40, 0);
	CHECK_INT(settle(VM, 2, true), 0);
	CHECK_INT(told_count, 2);
	CHECK(to.codes[told[0].innermost] == 0);
	CHECK_STRING(frame_table__get(&to, told[0].innermost)->name, "Post#render");
	CHECK_STRING(frame_table__get(&to, told[0].innermost)->path, "post.rb");
	CHECK_INT(frame_table__get(&to, told[0].innermost)->line, 17);
	CHECK(to.codes[told[1].innermost] == code__make_lineless(CODE_NATIVE, 4));
	frame_table__free(&to);
	survivors__free(&survivors);
}

TEST(survivors_keep_stacks_that_are_needed)
{
	set_up();
	for (uint32_t i = 0; i < 50000; i++)
		hold(VM, 1 + i, 100, 1000 + i);
	lives(0, 5, 40, 40, 0);
	lives(1, 40000, 40, 40, 0);
	CHECK_INT(settle(VM, 2, false), 0);
	CHECK(survivors.stacks.node_count > 100000);
	survivors__tidy(&survivors);
	CHECK(survivors.stacks.node_count < 20);
	CHECK_INT(settle(VM, 2, true), 0);
	CHECK_INT(told[0].innermost, 1004);
	CHECK_INT(told[1].innermost, 1000 + 39999);
	CHECK_INT(told[1].last_label, 22);
	survivors__free(&survivors);
}

TEST(survivors_without_memory)
{
	set_up();
	no_memory = true;
	hold(VM, 10, 100, 30);
	no_memory = false;
	CHECK_INT(survivors.forgotten, 1);
	hold(VM, 10, 100, 30);
	CHECK_INT(survivors.count, 1);
	survivors.count = SURVIVORS_MAX;
	hold(VM, 11, 100, 30);
	CHECK_INT(survivors.forgotten, 2);
	survivors__inherit(&survivors, VM, CHILD, 150);
	CHECK_INT(survivors.forgotten, 3);
	survivors.count = 1;
	/* Whoever is told may fail. */
	lives(0, 10, 40, 40, 0);
	tell_says = -ENOSPC;
	CHECK_INT(settle(VM, 1, true), -ENOSPC);
	tell_says = 0;
	CHECK_INT(survivors.count, 1);
	survivors__free(&survivors);
}

/* One VM has a place for each sample of others. */
TEST(survivors_of_one_vm_do_not_take_the_room_of_others)
{
	set_up();
	for (uint32_t i = 0; i < 100; i++)
		hold(VM, 1 + i, 100, 1000 + i);
	survivors.count = SURVIVORS_MAX;
	hold(CHILD, 1, 100, 5000);
	CHECK_INT(survivors.forgotten, 50);
	CHECK_INT(survivors.vms[0].count, 50);
	CHECK_INT(survivors.vms[1].count, 1);
	survivors.count = SURVIVORS_MAX;
	hold(VM, 200, 100, 30);
	CHECK_INT(survivors.forgotten, 51);
	survivors__free(&survivors);
}

TEST(survivors_make_room_for_stacks)
{
	set_up();
	for (uint32_t i = 0; i < 100; i++)
		hold(VM, 1 + i, 100, 1000 + i);
	survivors.stacks.node_max = survivors.stacks.node_count;
	hold(CHILD, 1, 100, 5001);
	CHECK_INT(survivors.forgotten, 50);
	CHECK_INT(survivors.vms[1].count, 1);
	/* Some of these died: their stacks are enough. */
	memset(table, 0, sizeof(table));
	lives(0, 1, 40, 40, 0);
	CHECK_INT(settle(VM, 1, false), 0);
	survivors.stacks.node_max = survivors.stacks.node_count;
	hold(CHILD, 2, 100, 5002);
	CHECK_INT(survivors.forgotten, 50);
	CHECK_INT(survivors.vms[1].count, 2);
	lives(1, 2, 40, 40, 0);
	CHECK_INT(settle(CHILD, 2, true), 0);
	CHECK_INT(told[0].innermost, 5001);
	CHECK_INT(told[1].innermost, 5002);
	survivors__free(&survivors);
}
