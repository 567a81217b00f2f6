/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of a report one by one, in the order of time, for formats that show it.  A report has its stacks; a moment
 * says which of them.  Times are ns after the begin of the timeline.
 */
#ifndef EXTPROF_TIMELINE_H
#define EXTPROF_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

/* 160 MB.  No viewer shows so many. */
#define TIMELINE_MOMENTS_MAX (4u << 20)
/* A time that is not known, or not yet over. */
#define TIMELINE_NEVER UINT64_MAX

struct moment {
	/* For code that ran: when the sample was taken.  For a wait, and for anything with a length: when it began; or
	 * when it was seen, if it stands for others, too, or its begin was not seen. */
	uint64_t time;
	uint64_t ns;		/* that it stands for; 0: its mode does not count times */
	uint64_t amount;	/* in the unit of the report; 0: it is not shown, as its thread is idle */
	uint32_t node;		/* of struct report; of what is not shown, one that is a part of its stack */
	uint8_t state;		/* enum thread_state */
	bool lasts;		/* from `time` on, for `ns` */
	bool idle;		/* the thread has nothing to do, see idle.h */
};

/* Kinds of spans: things besides samples that lasted in a thread. */
enum span_kind {
	SPAN_GC,		/* a pause for garbage collection */
	SPAN_REQUEST,		/* one fiber had one set of labels */
	SPAN_LOST,		/* samples, at some time before its end */
	SPAN_PAUSED,		/* nothing was recorded */
	SPAN_TRIGGER,		/* one fired */
	SPAN_KINDS
};

#define SPAN_PARTS_MAX 9u
/* 60 MB. */
#define TIMELINE_SPANS_MAX (256u << 10)

struct span {
	uint64_t begin, end;
	uint32_t report, node;	/* a node of that report which is in the thread; of the last three kinds 0 and 0 */
	uint8_t kind;		/* enum span_kind */
	bool major;		/* GC: all objects were marked */
	bool cut_begin, cut_end;	/* a request: it is longer than is known */
	const char *text;	/* labels; why; what has fired: clean, of timeline::strings */
	uint64_t samples;	/* of a request; that were lost */
	struct span_part {
		const char *name;	/* NULL: no more parts.  Spans of one kind have the same ones */
		uint64_t ns;
	} parts[SPAN_PARTS_MAX];
};

/* The value of one figure of a process at one time. */
struct figure_point {
	uint64_t time;
	uint32_t pid;
	uint64_t value;
};

struct figure_points {
	struct figure_point *list;	/* by pid and time */
	uint32_t count;
	size_t room;
};

/* So many points for each process.  If there are more, the largest of some neighbours stands for them. */
#define TIMELINE_FIGURES 2000u
#define TIMELINE_FIGURES_MAX (1u << 20)

struct timeline {
	uint64_t begin;		/* CLOCK_MONOTONIC, ns; of several recordings, of the one that began first */
	uint64_t wall;		/* the same, ns since 1970; 0 unknown */
	uint64_t from, until;	/* what was asked for */
	struct moment *moments;	/* in the order of time */
	uint32_t count;
	size_t room;
	struct span *spans;		/* only of the first report: those of all modes, in the order of time */
	uint32_t span_count;
	size_t span_room;
	/* Only of the first report: resident memory in bytes, and slots of objects that lived or were not swept yet. */
	struct figure_points resident, live_slots;
	struct strings strings;
};

/* Put moments and spans in order. */
void timeline__sort(struct timeline *t);
void timeline__free(struct timeline *t);

#endif /* EXTPROF_TIMELINE_H */
