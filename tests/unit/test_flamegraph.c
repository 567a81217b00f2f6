/* SPDX-License-Identifier: BSD-2-Clause */
/* What is in the file of a flame graph: it is read back and compared with the report. */
#include "test.h"

#include <stdlib.h>

#include "output/flame_choice.h"
#include "output/output.h"

#define NODES_MAX (1u << 20)

static struct tree tree;
static struct frame_table frames;
static struct report report;
static char *text;
static size_t size;

/* The tree of the file. */
static struct {
	uint32_t parent[NODES_MAX], label[NODES_MAX];
	uint64_t self[NODES_MAX], hidden[NODES_MAX], total[NODES_MAX];
	uint32_t count;
} file;

static uint32_t f(const char *name)
{
	struct frame frame = FRAME_INIT(FRAME_C);

	frame.name = name;
	return frame_table__add(&frames, &frame);
}

static void set_up(void)
{
	tree__init(&tree);
	frame_table__init(&frames);
}

static void tear_down(void)
{
	tree__free(&tree);
	frame_table__free(&frames);
	report__free(&report);
	free(text);
	text = NULL;
}

static void render(bool html)
{
	struct output_options o = { .html = html };
	FILE *out;

	report__free(&report);
	free(text);
	report__build(&report, &tree, &frames, NULL, REPORT_BY_CODE, NULL);
	out = open_memstream(&text, &size);
	output_flamegraph.write(&report, 1, &o, out);
	fclose(out);
}

static uint32_t add_node(uint32_t parent, uint32_t label)
{
	if (file.count == NODES_MAX)
		abort();
	file.parent[file.count] = parent;
	file.label[file.count] = label;
	file.self[file.count] = file.hidden[file.count] = 0;
	return file.count++;
}

/* As the script does it. */
static void read_back(void)
{
	char *s = strstr(text, "\"root\":[") + 8;
	uint32_t last = 0;

	file.count = 0;
	add_node(0, FLAME_NONE);
	file.self[0] = strtoull(s, &s, 10);
	file.hidden[0] = strtoull(s + 1, &s, 10);
	s = strstr(s, "\"runs\":[") + 8;
	while ((s += strspn(s, ",\n"), *s == '[')) {
		unsigned long up = strtoul(s + 1, &s, 10);
		uint64_t self = strtoull(s + 1, &s, 10), hidden = strtoull(s + 1, &s, 10);

		for (; up; up--)
			last = file.parent[last];
		while (*s == ',') {
			long label = strtol(s + 1, &s, 10);

			if (label >= 0)
				last = add_node(last, (uint32_t)label);
			for (; label < 0; label++)
				last = add_node(last, file.label[last]);
		}
		file.self[last] = self;
		file.hidden[last] = hidden;
		s++;
	}
	for (uint32_t i = 0; i < file.count; i++)
		file.total[i] = file.self[i] + file.hidden[i];
	for (uint32_t i = file.count; i-- > 1;)
		file.total[file.parent[i]] += file.total[i];
}

/* Is label `number` of the file this one? */
static bool is_label(uint32_t number, const char *name)
{
	char *s = strstr(text, "\"labels\":[");

	for (uint32_t i = 0; i <= number; i++)
		s = strstr(s + 1, "\n[\"");
	return !strncmp(s + 3, name, strlen(name)) && s[3 + strlen(name)] == '"';
}

/* Each frame of the file is one of the report, in its place and as wide. */
static void check_widths(bool names)
{
	struct flame_choice c;
	uint32_t at = 0;

	flame_choice__make(&c, &report, 0);
	CHECK_INT(file.count, c.count);
	for (uint32_t i = 0; i < report.node_count; i++) {
		if (c.number[i] == FLAME_NONE)
			continue;
		CHECK_INT(c.number[i], at);
		CHECK_INT(file.total[at], report.nodes[i].total);
		CHECK_INT(file.self[at], report.nodes[i].self);
		if (i) {
			CHECK_INT(file.parent[at], c.number[report.nodes[i].parent]);
			CHECK_INT(file.label[at], c.label[report.nodes[i].label]);
			CHECK(!names || is_label(file.label[at], report.labels[report.nodes[i].label].name));
		}
		at++;
	}
	CHECK_INT(file.total[0], report.samples);
	flame_choice__free(&c);
}

TEST(flamegraph_has_the_whole_tree)
{
	uint32_t a, b, c;

	set_up();
	a = f("a"), b = f("b"), c = f("c");
	for (int i = 0; i < 5; i++)
		tree__add(&tree, (uint32_t[]){ a, b, b, b, b, c }, 6, &one_sample);
	tree__add(&tree, (uint32_t[]){ a, b, b }, 3, &one_sample);
	tree__add(&tree, (uint32_t[]){ a, b, b }, 3, &one_sample);
	tree__add(&tree, (uint32_t[]){ a, c }, 2, &one_sample);
	tree__add(&tree, (uint32_t[]){ b }, 1, &one_sample);
	tree__add(&tree, NULL, 0, &one_sample);
	render(false);
	/* By samples: a is label 0, b 1, c 2. */
	CHECK(strstr(text, "\"root\":[1,0],\n\"runs\":[\n[0,2,0,0,1,-1],\n[0,5,0,1,-1,2],\n[5,1,0,2],\n[2,1,0,1]]};") != NULL);
	CHECK(strstr(text, "id=\"hidden\"") == NULL);
	/* The title of what has no command of its own, as a file of the daemon that it writes at the moment. */
	CHECK(strstr(text, "y=\"24\">several programs</text>") != NULL);
	read_back();
	check_widths(true);
	tear_down();
}

TEST(flamegraph_adds_up_for_random_trees)
{
	char name[8];
	uint32_t stack[30];

	for (int round = 0; round < 20; round++) {
		set_up();
		for (int i = 0; i < 400; i++) {
			uint32_t count = test__random() % 30;

			for (uint32_t j = 0; j < count; j++) {
				snprintf(name, sizeof(name), "m%u", test__random() % 3);
				stack[j] = f(name);
			}
			tree__add(&tree, stack, count, &one_sample);
		}
		render(round & 1);
		read_back();
		check_widths(round < 3);
		tear_down();
	}
}

TEST(flamegraph_leaves_out_what_no_zoom_shows)
{
	uint32_t wide[] = { 0, 0 }, narrow[] = { 0, 0, 0 };

	set_up();
	wide[0] = narrow[0] = f("main");
	wide[1] = f("wide");
	narrow[1] = f("narrow");
	narrow[2] = f("above");
	for (int i = 0; i < 100000; i++)
		tree__add(&tree, wide, 2, &one_sample);
	/* 4 samples are less than one in 20,000 of those of main, and 5 are not. */
	for (int i = 0; i < 4; i++)
		tree__add(&tree, narrow, 3, &one_sample);
	render(false);
	CHECK(strstr(text, ">not in this file: 2 frames of 4, with the ends of 4 samples (0.00 %);") != NULL);
	CHECK(strstr(text, "\"narrow\"") == NULL);
	CHECK(strstr(text, "\"above\"") == NULL);
	read_back();
	CHECK_INT(file.count, 3);
	CHECK_INT(file.hidden[1], 4);
	check_widths(true);
	tree__add(&tree, narrow, 3, &one_sample);
	render(false);
	CHECK(strstr(text, "\"narrow\"") != NULL);
	CHECK(strstr(text, "id=\"hidden\"") == NULL);
	read_back();
	CHECK_INT(file.count, 5);
	check_widths(true);
	tear_down();
}

/* As many stacks of 1,200 frames that part at random as a tree holds, and one that is
 * frequent. */
TEST(flamegraph_of_a_full_tree_is_small)
{
	static uint32_t stack[1200], often[1200];
	uint32_t left, right;
	uint64_t hidden = 0;
	uint32_t node = 0;

	set_up();
	left = f("Object#left");
	right = f("Object#right");
	for (int i = 0; i < 1200; i++)
		often[i] = test__random() & 4 ? left : right;
	for (int i = 0; i < 1000; i++) {
		for (int j = 0; j < 1200; j++)
			stack[j] = test__random() & 4 ? left : right;
		CHECK_INT(tree__add(&tree, i % 10 ? stack : often, 1200, &one_sample), 0);
	}
	CHECK(tree.node_count > TREE_NODES_MAX / 3);
	render(true);
	CHECK(size > FLAME_DATA_MAX / 4);
	CHECK(size < FLAME_DATA_MAX + FLAME_DRAWN_MAX + (256u << 10));
	CHECK(strstr(text, ">not in this file: ") != NULL);
	read_back();
	check_widths(false);
	for (uint32_t i = 0; i < file.count; i++)
		hidden += file.hidden[i];
	CHECK(hidden > 100);
	CHECK(hidden < report.samples);
	/* The frequent one is there to its end. */
	for (int i = 0; i < 1200; i++) {
		const char *name = often[i] == left ? "Object#left" : "Object#right";
		uint32_t next = 0;

		for (uint32_t j = node + 1; j < file.count && !next; j++)
			if (file.parent[j] == node && is_label(file.label[j], name))
				next = j;
		CHECK(next);
		CHECK(file.total[next] >= 100);
		node = next;
	}
	CHECK(file.self[node] >= 100);
	tear_down();
}

/* Long names of which no two are equal fill the file too. */
TEST(flamegraph_of_many_long_names_is_small)
{
	char name[TEXT_NAME_MAX];
	uint32_t stack[2];

	set_up();
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 60000; i++) {
		name[sprintf(name, "<%d>", i)] = 'n';
		stack[0] = f(name);
		stack[1] = stack[0];
		tree__add(&tree, stack, 1 + i % 2, &one_sample);
	}
	render(false);
	CHECK(size < FLAME_DATA_MAX + FLAME_DRAWN_MAX + (256u << 10));
	CHECK(strstr(text, ">not in this file: ") != NULL);
	read_back();
	check_widths(false);
	tear_down();
}

/* Scripts and styles have the number of the policy, which is another one in each file. */
TEST(flamegraph_page_has_a_policy)
{
	char numbers[2][33] = { "", "" };
	uint32_t path[1];

	set_up();
	path[0] = f("a");
	tree__add(&tree, path, 1, &one_sample);
	for (int i = 0; i < 2; i++) {
		char wanted[64], *at;

		render(true);
		at = strstr(text, "default-src 'none'; script-src 'nonce-");
		CHECK(at != NULL);
		CHECK(strstr(text, "<title>several programs</title>") != NULL);
		snprintf(numbers[i], sizeof(numbers[i]), "%s", strstr(at, "nonce-") + 6);
		CHECK_INT(strspn(numbers[i], "0123456789abcdef"), 32);
		snprintf(wanted, sizeof(wanted), "<script nonce=\"%s\">", numbers[i]);
		CHECK(strstr(text, wanted) != NULL);
		snprintf(wanted, sizeof(wanted), "<style nonce=\"%s\">", numbers[i]);
		CHECK(strstr(text, wanted) != NULL);
		CHECK(!strstr(text, "<script>") && !strstr(text, " style=\""));
	}
	CHECK(strcmp(numbers[0], numbers[1]) != 0);
	tear_down();
}

TEST(flamegraph_cuts_names_by_columns)
{
	uint32_t stack[1];

	/* 3 of 59 samples: 60 pixels of 1,180, and 7 columns of text. */
	set_up();
	stack[0] = f("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac");
	for (int i = 0; i < 3; i++)
		tree__add(&tree, stack, 1, &one_sample);
	stack[0] = f("\xf0\x9f\x92\x8e\xf0\x9f\x92\x8e\xf0\x9f\x92\x8e");
	for (int i = 0; i < 3; i++)
		tree__add(&tree, stack, 1, &one_sample);
	stack[0] = f("e\xcc\x81te\xcc\x81 e\xcc\x81te\xcc\x81");
	for (int i = 0; i < 3; i++)
		tree__add(&tree, stack, 1, &one_sample);
	stack[0] = f("rest");
	for (int i = 0; i < 50; i++)
		tree__add(&tree, stack, 1, &one_sample);
	render(false);
	CHECK(strstr(text, ">\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe2\x80\xa6</text>") != NULL);
	CHECK(strstr(text, ">\xf0\x9f\x92\x8e\xf0\x9f\x92\x8e\xf0\x9f\x92\x8e</text>") != NULL);
	CHECK(strstr(text, ">e\xcc\x81te\xcc\x81 e\xcc\x81te\xcc\x81</text>") != NULL);
	tear_down();
}
