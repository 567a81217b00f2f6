/* SPDX-License-Identifier: BSD-2-Clause */
/* Writers of finished reports. */
#ifndef EXTPROF_OUTPUT_H
#define EXTPROF_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/report.h"

/* Room for a report's settings that are not part of what was measured. */
/* Texts of source files, for a format that has a place for them. */
struct output_sources {
	/* 1: *text is the caller's; 0: there is none of that path; or -errno. */
	int (*read)(void *context, const char *path, char **text, size_t *length);
	void *context;
};

struct output_options {
	bool html;		/* flame graph: HTML around the SVG */
	bool gzip;		/* JSON: compressed */
	bool color;		/* summary: on a terminal */
	unsigned int top;	/* summary: rows of each table */
	unsigned int width;	/* summary: columns, 0 as many as needed */
	const struct output_sources *sources;	/* firefox; NULL: they are not wanted */
	const char *host;	/* clickhouse: the machine of a report that does not say it; NULL: it stays unknown */
};

struct output_format {
	const char *name;
	const char *suffixes[3];	/* of files that take it by default */
	const char *help;
	enum report_detail detail;	/* of the reports it wants */
	bool by_value;		/* it wants times and bytes rather than counts, if no unit was chosen */
	bool by_command;	/* it tells several processes apart by what they run, if the user has chosen no groups */
	uint32_t labels;	/* groups it wants besides those chosen: mask of 1u << enum group_key */
	/* The reports of `count` modes, at least 1.  0 or -errno (of the stream, or -ENOMEM). */
	int (*write)(const struct report *reports, uint32_t count, const struct output_options *o,
		     FILE *to);
	bool one_mode;		/* it has no place for more than one */
	bool one_recording;	/* the same: its rows are of one machine and one time */
	bool timeline;		/* it shows one sample after the other: it wants report::timeline, which only recordings give */
	/* The same of a mode with so many samples at most, if it has one: else it shows the stacks of the report. */
	uint32_t in_order_most;
	bool cells;		/* it shows how much there was at each time: it wants report::cells, which only recordings give */
};

/* NULL if there is none of that name. */
const struct output_format *output__by_name(const char *name);
/* By the suffix of the path; NULL: it is no format's. */
const struct output_format *output__by_path(const char *path);
/* All, ends with NULL. */
extern const struct output_format *const output_formats[];

#define FORMAT(name) extern const struct output_format output_##name;
#include "output/formats.def"
#undef FORMAT

#endif /* EXTPROF_OUTPUT_H */
