/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison as a flame graph. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/diff.h"
#include "output/flamegraph.h"
#include "profile/unit.h"

/* The width of a whole recording in the graph. */
#define WHOLE 1000000000ull

/* The sums of each node with those below it. */
struct sums {
	uint64_t before, after;
	double squares[2];
};

static void add_line(const struct diff *d, const struct diff_options *o, int side, struct text *to)
{
	const struct report_meta *m = &d->reports[side].meta;

	text__addf(to, "%s: ", side ? "after" : "before");
	diff__add_name(o, side, to);
	diff__add_version(d, side, to);
	text__addf(to, ", %s for %.1f s, ", *m->source ? m->source : m->mode->name, d->seconds[side]);
	unit__add_with_name(&d->reports[side].metric, d->all[side], to);
	if (d->reports[side].left_out)
		text__addf(to, ", %.1f %% left out by --focus", 100 * diff__left_out(&d->reports[side]));
}

/* Parents come before children. */
static void add_up(const struct diff *d, struct report_node *nodes, struct sums *sums)
{
	const struct report *r = d->reports;

	for (uint32_t i = r[0].node_count; i-- > 0;) {
		double mean = ((double)nodes[i].self / (double)d->all[0] + (double)r[1].nodes[i].self / (double)d->all[1]) / 2;

		sums[i].before += nodes[i].self;
		sums[i].after += r[1].nodes[i].self;
		for (int j = 0; j < 2; j++)
			sums[i].squares[j] += (double)r[j].nodes[i].squares;
		nodes[i].self = (uint64_t)llround(mean * WHOLE);
		nodes[i].total += nodes[i].self;
		if (!i)
			break;
		nodes[nodes[i].parent].total += nodes[i].total;
		sums[nodes[i].parent].before += sums[i].before;
		sums[nodes[i].parent].after += sums[i].after;
		for (int j = 0; j < 2; j++)
			sums[nodes[i].parent].squares[j] += sums[i].squares[j];
	}
}

int diff__write_graph(struct diff *d, const struct diff_options *o, FILE *to)
{
	struct output_options options = { .html = o->html };
	struct report graph = d->reports[0];
	struct report_node *nodes = calloc(graph.node_count + 1u, sizeof(*nodes));
	struct flame_change *changes = calloc(graph.node_count + 1u, sizeof(*changes));
	struct sums *sums = calloc(graph.node_count + 1u, sizeof(*sums));
	struct text lines[2] = { 0 };
	struct flame_diff diff = { .changes = changes };
	int err = -ENOMEM;

	if (!nodes || !changes || !sums)
		goto cleanup;
	for (uint32_t i = 0; i < graph.node_count; i++) {
		nodes[i] = graph.nodes[i];
		nodes[i].total = 0;
	}
	add_up(d, nodes, sums);
	for (uint32_t i = 0; i < graph.node_count; i++) {
		struct diff_change c = diff__change(d, sums[i].before, sums[i].after, sums[i].squares);

		changes[i] = (struct flame_change){
			.before = c.share[0], .after = c.share[1], .decided = c.decided,
			.own = { d->reports[0].nodes[i].self, d->reports[1].nodes[i].self },
			.squares = { (double)d->reports[0].nodes[i].squares, (double)d->reports[1].nodes[i].squares },
		};
	}
	graph.nodes = nodes;
	graph.samples = nodes[0].total;
	graph.metric = (struct metric){ "of a billion", UNIT_COUNT };
	diff.errors = DIFF_ERRORS;
	for (int i = 0; i < 2; i++) {
		diff.all[i] = d->all[i];
		diff.squares[i] = d->squares[i];
		add_line(d, o, i, &lines[i]);
		diff.lines[i] = text__string(&lines[i]);
	}
	err = lines[0].failed || lines[1].failed ? -ENOMEM : flamegraph__write_diff(&graph, &diff, &options, to);
cleanup:
	text__free(&lines[0]);
	text__free(&lines[1]);
	free(nodes);
	free(changes);
	free(sums);
	return err;
}
