/* SPDX-License-Identifier: BSD-2-Clause */
/* Every rule of "Names" in the header, and records that go in circles. */
#include "test.h"

#include "ruby/names.h"
#include "ruby/debug_external.h"

#define PARTS 300

static struct name_part parts[PARTS];
static struct text out;

static const struct name_part *part(void *context, uint32_t id)
{
	(void)context;
	return id < PARTS && parts[id].kind != 0xff ? &parts[id] : NULL;
}

static const struct names names = { .part = part };

static void set(uint32_t id, uint8_t kind, const char *name, uint32_t ref1, uint32_t ref2)
{
	parts[id] = (struct name_part){ .kind = kind, .level = 1, .ref1 = ref1, .ref2 = ref2,
		.name = name, .name_length = name ? (uint32_t)strlen(name) : 0 };
}

static const char *text_of(uint32_t id)
{
	text__clear(&out);
	names__compose(&names, id, &out);
	return text__string(&out);
}

static void set_up(void)
{
	memset(parts, 0xff, sizeof(parts));
	set(3, RB_DEBUG_EXT_NAMED, "Foo", 0, 0);
	set(4, RB_DEBUG_EXT_NAMED, "A::B", 0, 0);
	set(5, RB_DEBUG_EXT_SINGLETON, NULL, 3, 0);
	set(6, RB_DEBUG_EXT_INSTANCE_SINGLETON, NULL, 3, 0);
	set(7, RB_DEBUG_EXT_ANON_CLASS, NULL, 3, 0);
	set(8, RB_DEBUG_EXT_ANON_CLASS, NULL, 0, 0);
	set(9, RB_DEBUG_EXT_ANON_MODULE, NULL, 0, 0);
	set(10, RB_DEBUG_EXT_REFINEMENT, NULL, 4, 3);
	set(11, RB_DEBUG_EXT_NESTED, "Inner", 7, 0);
	set(12, RB_DEBUG_EXT_METHOD, "bar", 3, 0);
	set(13, RB_DEBUG_EXT_METHOD, "bar", 0, 0);
}

TEST(names_follow_the_header)
{
	static const struct {
		uint8_t kind;
		const char *name;
		uint32_t ref1, ref2;
		const char *text;
	} cases[] = {
		{ RB_DEBUG_EXT_METHOD, "bar", 3, 0, "Foo#bar" },
		{ RB_DEBUG_EXT_CMETHOD, "bar", 4, 0, "A::B#bar" },
		{ RB_DEBUG_EXT_BMETHOD, "bar", 3, 0, "Foo#bar" },
		{ RB_DEBUG_EXT_METHOD, "bar", 5, 0, "Foo.bar" },
		{ RB_DEBUG_EXT_METHOD, "bar", 6, 0, "#<instance of Foo>.bar" },
		{ RB_DEBUG_EXT_METHOD, "bar", 7, 0, "#<anonymous subclass of Foo>#bar" },
		{ RB_DEBUG_EXT_METHOD, "bar", 8, 0, "#<anonymous class>#bar" },
		{ RB_DEBUG_EXT_METHOD, "bar", 9, 0, "#<anonymous module>#bar" },
		{ RB_DEBUG_EXT_METHOD, "bar", 10, 0, "#<refinement A::B of Foo>#bar" },
		{ RB_DEBUG_EXT_METHOD, "bar", 11, 0, "#<anonymous subclass of Foo>::Inner#bar" },
		{ RB_DEBUG_EXT_METHOD, "bar", 0, 0, "bar" },
		{ RB_DEBUG_EXT_METHOD, "", 3, 0, "Foo#" },
		{ RB_DEBUG_EXT_METHOD, NULL, 3, 0, "Foo#?" },
		{ RB_DEBUG_EXT_METHOD, "bar", 99, 0, "?#bar" },
		{ RB_DEBUG_EXT_BLOCK, NULL, 12, 0, "block in Foo#bar" },
		{ RB_DEBUG_EXT_RESCUE, NULL, 12, 0, "rescue in Foo#bar" },
		{ RB_DEBUG_EXT_ENSURE, NULL, 12, 0, "ensure in Foo#bar" },
		{ RB_DEBUG_EXT_EVAL, NULL, 12, 0, "eval in Foo#bar" },
		{ RB_DEBUG_EXT_BLOCK, NULL, 13, 0, "block in bar" },
		{ RB_DEBUG_EXT_BLOCK, NULL, 0, 0, "block in ?" },
		{ RB_DEBUG_EXT_BODY, "<main>", 0, 0, "<main>" },
		{ RB_DEBUG_EXT_INTERNAL, "finalizer", 0, 0, "finalizer" },
		{ RB_DEBUG_EXT_NAMED, "X", 0, 0, "X" },
		{ RB_DEBUG_EXT_SINGLETON, NULL, 5, 0, "#<singleton of #<singleton of Foo>>" },
		{ RB_DEBUG_EXT_SINGLETON, NULL, 6, 0,
		  "#<singleton of #<singleton of #<instance of Foo>>>" },
		{ RB_DEBUG_EXT_INSTANCE_SINGLETON, NULL, 3, 0, "#<singleton of #<instance of Foo>>" },
		{ RB_DEBUG_EXT_REFINEMENT, NULL, 4, 5, "#<refinement A::B of #<singleton of Foo>>" },
		{ RB_DEBUG_EXT_NONE, "x", 0, 0, "?" },
		{ 10, "x", 0, 0, "?" },
		{ 23, "x", 0, 0, "?" },
		{ 200, "x", 0, 0, "?" },
	};

	set_up();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set(20, cases[i].kind, cases[i].name, cases[i].ref1, cases[i].ref2);
		CHECK_STRING(text_of(20), cases[i].text);
	}
	set(20, RB_DEBUG_EXT_BLOCK, NULL, 12, 0);
	parts[20].level = 3;
	CHECK_STRING(text_of(20), "block (3 levels) in Foo#bar");
	parts[20].level = 0;
	CHECK_STRING(text_of(20), "block in Foo#bar");
	/* Code of several methods: a block of it does not tell in which method it runs. */
	parts[12].flags = RB_DEBUG_EXT_SHARED;
	CHECK_STRING(text_of(12), "Foo#bar");
	CHECK_STRING(text_of(20), "block in bar");
	set(22, RB_DEBUG_EXT_RESCUE, NULL, 20, 0);
	CHECK_STRING(text_of(22), "rescue in block in bar");
	set(22, RB_DEBUG_EXT_EVAL, NULL, 12, 0);
	CHECK_STRING(text_of(22), "eval in bar");
	/* A method of the singleton class of a singleton class. */
	set(21, RB_DEBUG_EXT_SINGLETON, NULL, 5, 0);
	set(20, RB_DEBUG_EXT_METHOD, "bar", 21, 0);
	CHECK_STRING(text_of(20), "#<singleton of Foo>.bar");
	CHECK_STRING(text_of(99), "?");
	CHECK_STRING(text_of(0), "?");
	text__free(&out);
}

TEST(names_in_a_circle_end)
{
	set_up();
	set(20, RB_DEBUG_EXT_BLOCK, NULL, 20, 0);
	text_of(20);
	CHECK(out.length < 64 * 16 && out.length > 60 * 9);
	CHECK(!strcmp(out.data + out.length - 10, " in ?") || out.data[out.length - 1] == '?');
	set(20, RB_DEBUG_EXT_METHOD, "m", 21, 0);
	set(21, RB_DEBUG_EXT_SINGLETON, NULL, 20, 0);
	text_of(20);
	CHECK(out.length < 1000);
	text__free(&out);
}

TEST(names_are_64_records_deep_and_no_more)
{
	set_up();
	for (uint32_t i = 0; i < 64; i++)
		set(100 + i, RB_DEBUG_EXT_SINGLETON, NULL, 101 + i, 0);
	set(163, RB_DEBUG_EXT_NAMED, "Deep", 0, 0);	/* the 64th */
	CHECK(strstr(text_of(100), "Deep") != NULL);
	set(163, RB_DEBUG_EXT_SINGLETON, NULL, 164, 0);
	set(164, RB_DEBUG_EXT_NAMED, "Deep", 0, 0);	/* the 65th */
	CHECK(strstr(text_of(100), "Deep") == NULL);
	CHECK(strchr(text_of(100), '?') != NULL);
	text__free(&out);
}

TEST(names_do_not_explode)
{
	/* Two references each: there would be 2^64 texts if only the depth were bounded. */
	set_up();
	for (uint32_t i = 100; i < 164; i++)
		set(i, RB_DEBUG_EXT_REFINEMENT, NULL, i + 1, i + 1);
	text_of(100);
	/* Brackets that were opened are closed. */
	CHECK(out.length >= RB_DEBUG_EXT_NAME_MAX && out.length < RB_DEBUG_EXT_NAME_MAX + 64 * 32);
	/* Long names in a circle. */
	static char big[65535];

	memset(big, 'x', sizeof(big));
	set(20, RB_DEBUG_EXT_NESTED, NULL, 20, 0);
	parts[20].name = big;
	parts[20].name_length = sizeof(big);
	out.limit = RB_DEBUG_EXT_NAME_MAX;
	text_of(20);
	CHECK(out.length == RB_DEBUG_EXT_NAME_MAX);
	out.limit = 0;
	text__free(&out);
}

/* As Ruby cuts it: a module and what it refines, each named by the refinement before. */
TEST(names_are_cut_where_ruby_cuts_them)
{
	set_up();
	set(100, RB_DEBUG_EXT_NAMED, "String", 0, 0);
	set(101, RB_DEBUG_EXT_ANON_MODULE, NULL, 0, 0);
	for (uint32_t i = 0; i < 40; i += 2) {
		set(102 + i, RB_DEBUG_EXT_REFINEMENT, NULL, 101 + i, 100 + i);
		set(103 + i, RB_DEBUG_EXT_NESTED, "M", 102 + i, 0);
	}
	CHECK_STRING(text_of(102), "#<refinement #<anonymous module> of String>");
	CHECK_STRING(text_of(104), "#<refinement #<refinement #<anonymous module> of String>::M of "
		     "#<refinement #<anonymous module> of String>>");
	out.limit = RB_DEBUG_EXT_NAME_MAX;
	text_of(118);	/* 43 bytes, then twice as many and 21, 8 times */
	CHECK_INT(out.length, 16363);
	text_of(120);
	CHECK_INT(out.length, RB_DEBUG_EXT_NAME_MAX);
	text_of(140);
	CHECK_INT(out.length, RB_DEBUG_EXT_NAME_MAX);
	CHECK(strncmp(out.data, "#<refinement #<refinement #<refinement ", 39) == 0);
	CHECK(strchr(out.data, '?') == NULL);
	/* Records with as little text as possible: in each, four modules within each other. */
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t refinement = 102 + 5 * i, outer = refinement - 1;

		set(refinement, RB_DEBUG_EXT_REFINEMENT, NULL, outer, i ? refinement - 5 : 100);
		for (uint32_t j = 0; j < 4; j++)
			set(refinement + 1 + j, RB_DEBUG_EXT_NESTED, "M", refinement + j, 0);
	}
	text_of(102 + 5 * 11);
	CHECK_INT(out.length, RB_DEBUG_EXT_NAME_MAX);
	CHECK(strchr(out.data, '?') == NULL);
	out.limit = 0;
	text__free(&out);
}

/* `evals` evaluated strings, one in the other, in a method of something. */
static const char *evals_in(int evals, uint32_t owner, uint8_t flags)
{
	const char *text;
	int n = 0;

	for (int i = 0; i < evals; i++)
		set(100 + i, RB_DEBUG_EXT_EVAL, NULL, 101 + i, 0);
	set(100 + evals, RB_DEBUG_EXT_METHOD, "m", owner, 0);
	parts[100 + evals].flags = flags;
	text = text_of(100);
	while (!strncmp(text, "eval in ", 8)) {
		text += 8;
		n++;
	}
	return n == evals ? text : out.data;
}

/* As in Ruby: the singleton class of the class that a method is named by is no step of its own. */
TEST(names_end_at_the_same_depth_as_ruby_s)
{
	set_up();
	CHECK_STRING(evals_in(62, 3, 0), "Foo#m");
	CHECK_STRING(evals_in(62, 5, 0), "Foo.m");
	CHECK_STRING(evals_in(62, 6, 0), "#<instance of Foo>.m");
	CHECK_STRING(evals_in(63, 3, 0), "?#m");
	CHECK_STRING(evals_in(63, 5, 0), "?.m");
	CHECK_STRING(evals_in(63, 6, 0), "#<instance of ?>.m");
	CHECK_STRING(evals_in(63, 5, RB_DEBUG_EXT_SHARED), "m");
	CHECK_STRING(evals_in(64, 5, 0), "?");
	CHECK_STRING(evals_in(64, 5, RB_DEBUG_EXT_SHARED), "?");
	text__free(&out);
}

TEST(names_survive_random_records)
{
	set_up();
	for (int round = 0; round < 3000; round++) {
		for (uint32_t i = 3; i < 60; i++) {
			set(i, (uint8_t)(test__random() % 25), "n", test__random() % 64,
			    test__random() % 64);
			parts[i].level = (uint16_t)test__random();
		}
		text_of(3 + test__random() % 57);
		CHECK(out.length < NAMES_PARTS_MAX * 40);
	}
	text__free(&out);
}
