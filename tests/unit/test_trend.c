/* SPDX-License-Identifier: BSD-2-Clause */
/* A method over recordings: what is its own, and which changes are told. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/trend.h"
#include "profile/report.h"
#include "source/mode.h"

/* <main> calls a, which calls b, which calls a; b and c are called by <main>, too. */
static struct report_label labels[] = {
	{ .name = "<main>", .frame = { .name = "<main>" } }, { .name = "Foo#a", .frame = { .name = "Foo#a" } },
	{ .name = "Foo#b", .frame = { .name = "Foo#b" } }, { .name = "Bar#c", .frame = { .name = "Bar#c" } },
	{ .name = "[gvl]", .frame = { .name = NULL } },
};
enum { ROOT, MAIN, MAIN_A, MAIN_A_B, MAIN_A_B_A, MAIN_B, MAIN_C, NODES };

static void make(struct report *r, struct report_node *nodes, uint64_t period, const uint64_t *samples)
{
	static const uint32_t parents[NODES] = { 0, ROOT, MAIN, MAIN_A, MAIN_A_B, MAIN, MAIN };
	static const uint32_t of[NODES] = { 0, 0, 1, 2, 1, 2, 3 };

	memset(r, 0, sizeof(*r));
	memset(nodes, 0, NODES * sizeof(*nodes));
	for (uint32_t i = 1; i < NODES; i++) {
		nodes[i] = (struct report_node){
			.parent = parents[i], .label = of[i], .self = period * samples[i],
			.squares = (float)(period * period * samples[i]),
		};
		r->samples += period * samples[i];
	}
	r->labels = labels;
	r->label_count = sizeof(labels) / sizeof(labels[0]);
	r->nodes = nodes;
	r->node_count = NODES;
	r->meta.mode = modes[0];
	r->metric = r->meta.mode->value;
}

static void add(struct trend *t, const uint64_t *before, const uint64_t *after)
{
	struct report_node nodes[2][NODES];
	struct report reports[2];
	struct trend_row row = { .name = "x.extprof", .begin = 1000000000, .end = 3000000000 };

	make(&reports[0], nodes[0], 10000000, before ? before : after);
	make(&reports[1], nodes[1], 10000000, after);
	CHECK_INT(trend__add(t, &row, reports, !before), 0);
}

static const uint64_t first[NODES] = { 0, 10, 20, 30, 40, 50, 50 }, same[NODES] = { 0, 11, 19, 31, 40, 49, 50 },
	other[NODES] = { 0, 10, 120, 130, 140, 50, 50 }, none[NODES] = { 0 };

TEST(trend_counts_a_stack_once)
{
	struct trend t = { .method = "Foo#a" };

	add(&t, NULL, first);
	t.method = "Foo#*";
	add(&t, NULL, first);
	t.method = "Foo#b";
	add(&t, NULL, first);
	t.method = "*";
	add(&t, NULL, first);
	t.method = "Foo";
	add(&t, NULL, first);
	CHECK_INT(t.rows[0].all, 2000000000);
	CHECK_INT(t.rows[0].part, 900000000);
	CHECK_INT(t.rows[1].part, 1400000000);
	CHECK_INT(t.rows[2].part, 1200000000);
	CHECK_INT(t.rows[3].part, 2000000000);
	CHECK_INT(t.rows[4].part, 0);
	trend__free(&t);
}

TEST(trend_tells_a_change_from_noise)
{
	struct trend t = { .method = "Foo#a" };

	add(&t, NULL, first);
	add(&t, first, same);
	add(&t, same, other);
	add(&t, other, none);
	CHECK(!t.rows[0].compared && t.rows[1].compared && !t.rows[1].decided);
	CHECK(t.rows[1].change == 0 && t.rows[1].noise > 0.19 && t.rows[1].noise < 0.21);
	CHECK(t.rows[2].decided && t.rows[2].change > 0.329 && t.rows[2].change < 0.331);
	/* Nothing was sampled: that is no change. */
	CHECK(!t.rows[3].compared && t.rows[3].all == 0);
	trend__free(&t);
}

TEST(trend_shows_a_recording_without_the_mode)
{
	const struct trend_row row = { .name = "y.extprof", .begin = 2000000000, .end = 3000000000 };
	struct trend t = { .method = "Foo#a" };
	char *text = NULL;
	size_t size;
	FILE *f;

	add(&t, NULL, first);
	CHECK_INT(trend__add_without(&t, &row), 0);
	add(&t, first, other);
	CHECK(t.rows[1].without && !t.rows[1].compared && t.rows[2].compared && !t.rows[2].without);
	f = open_memstream(&text, &size);
	CHECK(!trend__write_text(&t, f) && !trend__write_table(&t, f) && !trend__write_json(&t, f));
	fclose(f);
	CHECK(strstr(text, " -  without this mode\n"));
	CHECK(strstr(text, "2000000000\t3000000000\t\t\t\t\t\t\ty.extprof\t"));
	CHECK(strstr(text, "\"all\":null,") && strstr(text, "\"of_it\":null,") && strstr(text, "\"share\":null,"));
	free(text);
	trend__free(&t);
}

TEST(trend_is_written_for_people_and_programs)
{
	char *text = NULL;
	struct trend t = { .method = "Foo#a\x1b[31m" };
	size_t size;
	FILE *f;

	t.method = "Foo#a";
	add(&t, NULL, first);
	add(&t, first, other);
	add(&t, other, none);
	report_version__add(&t.rows[1].version, "vcs.ref.head.revision=0123456789abcdef,deployment.name=v2", 1);
	report_version__add(&t.rows[2].version, "vcs.ref.head.revision=0123456789abcdef", 1);
	report_version__add(&t.rows[2].version, "vcs.ref.head.revision=fedcba9876543210", 2);
	t.method = "Foo#a\x1b[31m";
	f = open_memstream(&text, &size);
	CHECK(!trend__write_text(&t, f) && !trend__write_table(&t, f) && !trend__write_json(&t, f));
	fclose(f);
	CHECK(strstr(text, "   45.00 %  ") && strstr(text, "+33.00 +- ") && strstr(text, "\"share\":null"));
	CHECK(strstr(text, "1000000000\t3000000000\t2000000000\t900000000\t0.450000\t\t\t\tx.extprof\t\t\t\t\n"));
	CHECK(strstr(text, "  0123456789ab v2             ####") && strstr(text, "  0123456789ab..fedcba987654\n"));
	CHECK(strstr(text, "\tx.extprof\t0123456789abcdef\tfedcba9876543210\t\t\n"));
	CHECK(strstr(text, "\"last_commit\":\"fedcba9876543210\",\"several_commits\":true,\"deployment\":null,\"last_deployment\":null,"));
	CHECK(!strchr(text, '\x1b'));
	free(text);
	f = fopen("/dev/full", "w");
	setvbuf(f, NULL, _IONBF, 0);
	CHECK(trend__write_text(&t, f) < 0);
	fclose(f);
	trend__free(&t);
}
