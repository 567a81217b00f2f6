/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of a heat map has each sample once, with its time, its stack and its amount. */
#include "recording_fixture.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "output/flame_choice.h"

/* The text of the page; to be freed. */
static char *write_heatmap(const struct report *r, int *err)
{
	struct output_options o = { 0 };
	char *data = NULL;
	size_t size;
	FILE *f = open_memstream(&data, &size);

	*err = output_heatmap.write(r, 1, &o, f);
	fclose(f);
	return data;
}

/* The object D of the page. */
static json_t *data_of(const char *page)
{
	const char *begin = strstr(page, "var D="), *end = begin ? strstr(begin, "};\n") : NULL;

	return end ? json_loadb(begin + strlen("var D="), (size_t)(end + 1 - begin) - strlen("var D="), 0, NULL) : NULL;
}

/* Amounts by node of the file, as the script reads them: its own ones, and those of nodes that were left out. */
struct sums {
	int64_t *own, *hidden;
	uint64_t last;
};

static bool read_moments(json_t *heat, struct sums *s, uint32_t nodes)
{
	json_t *list = json_object_get(heat, "moments");
	int64_t amount = 0;

	for (size_t i = 0; i + 3 < json_array_size(list); i += 4) {
		json_int_t step = json_integer_value(json_array_get(list, i)), node = json_integer_value(json_array_get(list, i + 1));
		int64_t *sums = node < 0 ? s->hidden : s->own;

		amount += json_integer_value(json_array_get(list, i + 2));
		node = node < 0 ? -1 - node : node;
		if (step < 0 || node >= nodes || amount <= 0)
			return false;
		s->last += (uint64_t)step;
		sums[node] += amount;
	}
	return json_array_size(list) % 4 == 0;
}

static void expect(bool holds, const char *what)
{
	if (!holds)
		test__fail(__FILE__, __LINE__, "%s", what);
}

/* The same by the report. */
static void check_sums(const struct report *r, json_t *heat)
{
	struct sums s = { .own = calloc(r->node_count, sizeof(*s.own)), .hidden = calloc(r->node_count, sizeof(*s.hidden)) };
	struct flame_choice c;
	uint32_t left_out = 0;

	expect(!flame_choice__make(&c, r, 0), "no nodes are chosen");
	expect(read_moments(heat, &s, c.count), "the moments make no sense");
	for (uint32_t i = 0; i < r->node_count; i++) {
		left_out += c.number[i] == FLAME_NONE;
		if (c.number[i] == FLAME_NONE)
			continue;
		expect(s.own[c.number[i]] == (int64_t)r->nodes[i].self, "a node has other samples");
		expect(s.hidden[c.number[i]] == (int64_t)c.hidden[i], "a node hides other samples");
	}
	expect(left_out > 0, "no node was left out");
	expect(s.last <= (uint64_t)json_integer_value(json_object_get(heat, "until")), "a sample is after the end");
	flame_choice__free(&c);
	free(s.own);
	free(s.hidden);
}

TEST(heatmap_has_each_sample_at_its_time)
{
	struct reports reports;
	json_t *data, *heat;
	char *page;
	int err;

	CHECK(!set_up_recording(2));
	send_some();
	end_recording();
	for (int i = 0; i < 2; i++) {
		CHECK_INT(read_report(i ? "wall" : "cpu", NULL, &reports, &output_heatmap), 0);
		page = write_heatmap(&reports.list[0], &err);
		CHECK_INT(err, 0);
		data = data_of(page);
		heat = json_object_get(data, "heat");
		CHECK(heat != NULL);
		CHECK_INT(json_integer_value(json_object_get(heat, "groups")), 2);
		CHECK(json_array_size(json_object_get(heat, "moments")) > 16);
		check_sums(&reports.list[0], heat);
		json_decref(data);
		free(page);
		reports__free(&reports);
	}
	tear_down_recording();
}

TEST(heatmap_is_for_recordings_alone)
{
	struct reports reports;
	struct timeline *timeline;
	char *page;
	int err;

	CHECK(!set_up_recording(1));
	send_some();
	end_recording();
	CHECK_INT(read_report("cpu", NULL, &reports, &output_heatmap), 0);
	timeline = reports.list[0].timeline;
	reports.list[0].timeline = NULL;
	page = write_heatmap(&reports.list[0], &err);
	CHECK_INT(err, -EINVAL);
	free(page);
	reports.list[0].timeline = timeline;
	/* A stack that is none. */
	timeline->moments[0].node = reports.list[0].node_count;
	page = write_heatmap(&reports.list[0], &err);
	CHECK_INT(err, -EINVAL);
	free(page);
	reports__free(&reports);
	tear_down_recording();
}

TEST(heatmap_is_known_by_the_longest_suffix)
{
	CHECK(output__by_path("a.heatmap.html") == &output_heatmap);
	CHECK(output__by_path("a.html") == &output_flamegraph);
	CHECK(output__by_path("a.firefox.json") == &output_firefox);
	CHECK(output__by_path("heatmap.html") == &output_flamegraph);
	CHECK(output__by_path(".heatmap.html") == &output_flamegraph);
}
