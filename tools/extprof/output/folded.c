/* SPDX-License-Identifier: BSD-2-Clause */
/* "outermost;...;innermost count", one line per stack, for flamegraph.pl and
 * everything else that reads that. */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static int write_folded(const struct report *r, const struct output_options *o, FILE *to)
{
	struct text line = { 0 }, label = { 0 };
	size_t *lengths;	/* of the line up to each depth */
	int err = 0;

	(void)o;
	lengths = calloc(r->node_count + 1u, sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->node_count && !err; i++) {
		const struct report_node *n = &r->nodes[i];

		line.length = lengths[n->depth - 1];
		if (n->depth > 1)
			text__adds(&line, ";");
		text__clear(&label);
		report__add_label(r, &r->labels[n->label], &label);
		text__add_folded(&line, text__string(&label));
		lengths[n->depth] = line.length;
		if (line.failed || label.failed)
			err = -ENOMEM;
		else if (n->self && fprintf(to, "%s %" PRIu64 "\n", line.data, n->self) < 0)
			err = -errno;
	}
	text__free(&line);
	text__free(&label);
	free(lengths);
	return err;
}

const struct output_format output_folded = {
	.name = "folded",
	.suffixes = { ".folded", ".txt" },
	.help = "one line per stack and its count, for flame graph tools",
	.detail = REPORT_BY_NAME,
	.write = write_folded,
};
