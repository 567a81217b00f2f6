/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A heat map above a flame graph, in one HTML page: how much there was at each time, and the graph of the time that is
 * selected.  The script (heatmap.js) draws it.
 *
 * Its data, `D.heat`: `wall` ms since 1970 of the time 0, or 0; `from` and `until` in us; `groups`, the depth of the nodes
 * of threads; `moments`, four numbers each: us since the moment before, the node, by how much the amount differs from
 * that of the moment before, and us that it lasts, 0 for a moment that does not.  A node of the graph that was left out
 * is told by its nearest one that was not: -1 minus its number.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/flame_choice.h"
#include "output/flamegraph.h"

#include "heatmap_css.h"
#include "heatmap_js.h"

static const char body[] =
	"<div id=\"heat\">\n"
	"<div class=\"bar\"><label>rows <select id=\"view\"><option value=\"offset\">time within the column</option>"
	"<option value=\"thread\">threads</option><option value=\"process\">processes</option></select></label>\n"
	"<label><input type=\"checkbox\" id=\"apart\"> a tree for each thread</label>\n"
	"<button id=\"whole\" type=\"button\">whole time</button> <span id=\"span\" role=\"status\"></span></div>\n"
	"<canvas id=\"cells\" tabindex=\"0\" role=\"img\" aria-label=\"Heat map: time from left to right. Arrow keys select a "
	"cell, with shift a span, Escape the whole time.\"></canvas>\n"
	"<div id=\"cell\">drag over the map to select a time</div>\n</div>\n";

/* How the data says each node of the report.  Parents come before their children.  NULL: out of memory. */
static int64_t *name_nodes(const struct report *r, const struct flame_choice *c)
{
	int64_t *names = malloc((r->node_count + 1u) * sizeof(*names));

	for (uint32_t i = 0; names && i < r->node_count; i++) {
		int64_t parent = i ? names[r->nodes[i].parent] : 0;

		names[i] = c->number[i] != FLAME_NONE ? c->number[i] : parent < 0 ? parent : -1 - parent;
	}
	return names;
}

static int add_moments(const struct report *r, const int64_t *names, struct text *out)
{
	const struct timeline *t = r->timeline;
	uint64_t time = 0, amount = 0;
	bool first = true;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct moment *m = &t->moments[i];
		uint64_t at = m->time / 1000;

		if (!m->amount)
			continue;
		if (m->node >= r->node_count || at < time)
			return -EINVAL;
		text__addf(out, "%s%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRIu64, first ? "\n" : i % 16 ? "," : ",\n", at - time,
			   names[m->node], (int64_t)(m->amount - amount), m->lasts ? (m->ns + 999) / 1000 : 0);
		time = at;
		amount = m->amount;
		first = false;
	}
	return 0;
}

static int add_data(const struct report *r, const struct flame_choice *c, struct text *out)
{
	const struct timeline *t = r->timeline;
	int64_t *names = name_nodes(r, c);
	int err;

	if (!names)
		return -ENOMEM;
	text__addf(out, ",\n\"heat\":{\"wall\":%" PRIu64 ",\"from\":%" PRIu64 ",\"until\":%" PRIu64 ",\"groups\":%" PRIu32 ",\"moments\":[",
		   t->wall / 1000000, t->from / 1000, t->until / 1000, r->group_count);
	err = add_moments(r, names, out);
	free(names);
	text__adds(out, "]}");
	return err;
}

static int write_heatmap(const struct report *r, uint32_t count, const struct output_options *o, FILE *to)
{
	static const struct flame_part part = { .css = heatmap_css, .body = body, .script = heatmap_js, .add_data = add_data };

	(void)o;
	return count == 1 && r->timeline ? flamegraph__write_part(r, &part, to) : -EINVAL;
}

const struct output_format output_heatmap = {
	.name = "heatmap",
	.suffixes = { ".heatmap.html" },
	.help = "a page: how much at which time, and a flame graph of the time that is selected; of recordings in files",
	.detail = REPORT_BY_CODE,
	.by_value = true,
	.labels = 1u << GROUP_PROCESS | 1u << GROUP_THREAD,
	.write = write_heatmap,
	.one_mode = true,
	.timeline = true,
};
