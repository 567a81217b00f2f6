/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile of pprof with the names that Datadog reads: those that its own profilers for Ruby and Python write. */
#include "output/pprof.h"

static int write_datadog(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	static const struct pprof_type types[] = {
		{ "cpu", "cpu-samples", "cpu-time" },
		{ "wall", "wall-samples", "wall-time" },
		{ "alloc", "alloc-samples", "alloc-space" },
		{ "heap", "heap-live-samples", "heap-live-size" },
		{ NULL, NULL, NULL }
	};
	static const struct pprof_names names = {
		.types = types, .process = "process name", .thread = "thread name", .pid = "process id", .tid = "thread id",
		.ids_are_texts = true, .span = "span id",
	};

	(void)o;
	return pprof__write(reports, count, &names, to);
}

const struct output_format output_datadog = {
	.name = "datadog",
	.suffixes = { ".datadog.pprof" },
	.help = "the same with the names that Datadog reads",
	.detail = REPORT_BY_ADDRESS,
	.labels = 1u << GROUP_PROCESS | 1u << GROUP_THREAD | 1u << GROUP_CGROUP,
	.write = write_datadog,
};
