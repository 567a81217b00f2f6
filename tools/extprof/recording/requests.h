/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests: the times in which one fiber has one set of labels.  A thread without fibers is one.
 *
 * Samples tell what labels a fiber has at some moments.  A request is seen from the begin of its first sample to the end
 * of its last one.  It can have begun at any time since the sample of the fiber before, and have ended at any time until
 * the next one: these two gaps are what is not known.  Two requests of one fiber that have equal labels are two if their
 * marks differ; where the ruby gives no marks, if a sample with other labels, or with none, is between them.
 */
#ifndef EXTPROF_RECORDING_REQUESTS_H
#define EXTPROF_RECORDING_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/text.h"
#include "recording/tables.h"

/* Bounds for a recording that somebody made up: 120 MB and 60 MB. */
#define REQUESTS_MAX (1u << 20)
#define REQUEST_LANES_MAX (1u << 20)

enum request_part {
	PART_RUN,		/* on a CPU, without the collector */
	PART_GC,
	PART_RUNNABLE,		/* it waits for a CPU */
	PART_GVL,
	PART_IO,
	PART_LOCK,		/* mutex, queue, condition variable, another thread or ractor */
	PART_SLEEP,
	PART_PARKED,		/* its thread runs other fibers */
	PART_OTHER,
	REQUEST_PARTS
};

/* "run", "gc", ... */
extern const char *const request_part_names[REQUEST_PARTS];

struct request {
	uint64_t begin, end;		/* CLOCK_MONOTONIC, ns: when it was seen first and last */
	uint64_t before, after;		/* ns: so much earlier it can have begun, and so much later have ended */
	uint64_t parts[REQUEST_PARTS];	/* ns, as the samples of one mode say, see requests::parts_of */
	uint64_t samples;		/* of all modes */
	uint32_t thread, labels;	/* ids of rows */
	uint32_t fiber;			/* slot; 0: not known */
	uint32_t lane;
	uint64_t marks;			/* recording_sample::marks, as far as they are of what makes the request */
	/* It has begun before the recording's first sample of it, or it lasts until the recording ends: it is longer than is
	 * known. */
	bool cut_begin, cut_end;
	bool wanted;			/* requests::wants said so of one of its samples */
};

/* Zero-initialise, then requests__init(). */
struct requests {
	const struct recording_tables *tables;	/* of the caller */
	uint64_t begin, end;		/* of the recording; the end is that of the last sample */
	uint64_t unseen;		/* ns: so long a new fiber can wait before it is looked at */
	uint64_t settled;		/* until then, a fiber that is seen for the first time may have been there before */
	const char *label;		/* only this label makes a request; NULL: all labels */
	/* Does anybody want the sample?  NULL: each one is wanted. */
	bool (*wants)(void *context, const struct recording_sample *s);
	void *context;
	struct request *list;
	uint32_t count;
	uint64_t dropped;		/* besides: nobody wants them, and their room was needed */
	size_t room;
	uint32_t chosen;		/* requests__choose(): so many are at the begin of the list */
	/* From which mode the parts come: running samples and waits, by id of the mode. */
	bool parts_of[2][BLOCK_MODES];
	struct request_lane *lanes;
	uint32_t lane_count;
	size_t lane_room;
	struct map64 lane_map;		/* process and fiber, or thread -> lane */
	uint64_t *thread_times;		/* by id of the thread: when it was seen last */
	uint32_t *set_of;		/* by id of a stack of labels: what makes the request; UINT32_MAX: not asked yet */
	uint8_t *place_of;		/* by id of a stack of labels: where the mark is of the label that makes a request */
	uint8_t *rests;			/* by id of a stack: whether a parked fiber rests there; 0: not asked yet */
	struct recording_sample *sorted;
};

/* period: ns between two samples of a thread; 0: not known.  0 or -ENOMEM; the caller frees in both cases. */
int requests__init(struct requests *r, const struct recording_tables *tables, uint64_t begin, uint64_t period, const char *label);
void requests__free(struct requests *r);

/* The samples of a block.  0; -ENOMEM; -E2BIG: there are too many requests that are wanted, or too many fibers. */
int requests__add(struct requests *r, const struct recording_sample *samples, uint32_t count);
/* After the last one. */
void requests__end(struct requests *r);

/*
 * Take those that are wanted and that were seen for `slower_than` ns at least (0: of any length); of these the `slowest`
 * longest ones (0: all).  They are the first ones of the list, in order of the lanes and the time.
 */
void requests__choose(struct requests *r, uint64_t slower_than, uint32_t slowest);
/* Is the sample of a request that was chosen? */
bool requests__has(struct requests *r, const struct recording_sample *s);
/* Sort those that were chosen: longest first, or in order of the time.  requests__has() is not asked afterwards. */
void requests__sort(struct requests *r, bool by_length);

static inline uint64_t request__length(const struct request *q)
{
	return q->end - q->begin;
}

/* Append "request=GET /x tenant=42". */
void requests__add_labels(const struct requests *r, uint32_t labels, struct text *out);

#endif /* EXTPROF_RECORDING_REQUESTS_H */
