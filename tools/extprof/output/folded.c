/* SPDX-License-Identifier: BSD-2-Clause */
/* "outermost;...;innermost count", one line per stack, for flamegraph.pl and
 * everything else that reads that. */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "profile/unit.h"

/* Several modes are kept apart by an outermost frame: "[offcpu, us]". */
static void add_mode(const struct report *r, uint32_t count, struct text *out)
{
	if (count > 1)
		text__addf(out, "[%s, %s]", r->meta.mode->name, unit__of_divided(&r->metric, r->divisor));
}

static int write_report(const struct report *r, uint32_t count, FILE *to)
{
	struct text line = { 0 }, label = { 0 };
	size_t *lengths;	/* of the line up to each depth */
	int err = 0;

	lengths = calloc(r->node_count + 1u, sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	add_mode(r, count, &line);
	lengths[0] = line.length;
	for (uint32_t i = 1; i < r->node_count && !err; i++) {
		const struct report_node *n = &r->nodes[i];
		uint64_t amount = (n->self + r->divisor / 2) / r->divisor;

		line.length = lengths[n->depth - 1];
		if (line.length)
			text__adds(&line, ";");
		text__clear(&label);
		report__add_label(r, &r->labels[n->label], &label);
		text__add_folded(&line, text__string(&label));
		lengths[n->depth] = line.length;
		if (line.failed || label.failed)
			err = -ENOMEM;
		else if (amount && fprintf(to, "%s %" PRIu64 "\n", line.data, amount) < 0)
			err = -errno;
	}
	text__free(&line);
	text__free(&label);
	free(lengths);
	return err;
}

static int write_folded(const struct report *reports, uint32_t count, const struct output_options *o,
			FILE *to)
{
	int err = 0;

	(void)o;
	for (uint32_t i = 0; i < count && !err; i++)
		err = write_report(&reports[i], count, to);
	return err;
}

const struct output_format output_folded = {
	.name = "folded",
	.suffixes = { ".folded", ".txt" },
	.help = "one line per stack and its count, for flame graph tools",
	.detail = REPORT_BY_NAME,
	.write = write_folded,
};
