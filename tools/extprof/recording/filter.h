/* SPDX-License-Identifier: BSD-2-Clause */
/* Which samples of a recording count. */
#ifndef EXTPROF_RECORDING_FILTER_H
#define EXTPROF_RECORDING_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/tables.h"

/* All conditions hold. */
#define RECORDING_CONDITIONS_MAX 16

struct groups;

/* Only samples of requests, see requests.h; 0 and 0: of all samples.  With several recordings, of each of them. */
struct request_choice {
	uint64_t slower_than;	/* ns: of those that were seen for so long */
	uint32_t slowest;	/* of so many, the longest ones */
	const char *label;	/* this label alone makes a request; NULL: all of them do */
};

enum recording_key {
	KEY_PROCESS,		/* command or pid */
	KEY_THREAD,		/* name or tid */
	KEY_CGROUP,		/* of the process, or one above it */
	KEY_HOST,		/* of the recording */
	KEY_SERVICE,		/* of the process, see profile/service.h */
	KEY_COMMIT,		/* of the process: all of it, or its first digits */
	KEY_METHOD,		/* of any frame of the stack */
	KEY_FILE,
	KEY_GEM,		/* a gem, or a part of the standard library, of any frame */
	KEY_STATE,
	KEY_TRACE,		/* the trace, in hexadecimal digits */
	KEY_SPAN,
	KEY_LABEL,		/* the value of a label */
	KEY_RESOURCE		/* of an attribute of the process */
};

/* Since and until 0: from the begin, to the end. */
struct recording_span {
	uint64_t since, until;	/* ns after the begin of the first recording */
	uint64_t since_at, until_at;	/* instead of them: ns since 1970, by the clock of the recording's machine; 0: none */
};

struct recording_filter {
	struct recording_span span;
	struct recording_span second;	/* of the second side of a comparison; else unused */
	struct recording_condition {
		enum recording_key key;
		char label[128];	/* the key of a label or attribute */
		char pattern[256];	/* as for fnmatch(3) */
	} list[RECORDING_CONDITIONS_MAX];
	uint32_t count;
	const char *modes;	/* "cpu,gc"; NULL: all */
	const struct groups *groups;	/* --group-by; NULL: as it was recorded */
	bool labels_can_lack;	/* a label of `groups` that no sample has is no error */
	struct request_choice requests;
	bool native_lines, inlined;	/* native frames have lines, and frames of inlined functions: see profile/native_lines.h */
	bool cuts;		/* of what lasted the part in that time counts, see profile_window.c; not of a comparison */
	bool shows_idle;	/* of a comparison, as in struct report_view */
};

/* Add "method=Foo*", "label:request=GET *".  0; -EINVAL: it is none; -E2BIG. */
int recording_filter__add(struct recording_filter *f, const char *text);

/*
 * From when to when samples count, CLOCK_MONOTONIC of a recording that began at `begin`, which was `wall` (ns since 1970),
 * and `later` ns later than the first one.  Since 0: from its begin.
 */
void recording_span__times(const struct recording_span *s, uint64_t begin, uint64_t wall, uint64_t later,
			   uint64_t *since, uint64_t *until);

/* When a span begins that does so before the recording, by the recording's CLOCK_MONOTONIC; 0: it has no begin. */
uint64_t recording_span__before(const struct recording_span *s, uint64_t begin, uint64_t wall, uint64_t later);

/* ns after the begin of the first recording, which was `wall`, from which on samples count. */
uint64_t recording_span__from(const struct recording_span *s, uint64_t wall);

/* Results of the filter for the rows of one recording.  Zero-initialise. */
struct recording_matches {
	const struct recording_tables *tables;	/* they belong to the caller, as the filter does */
	const struct recording_filter *filter;
	uint8_t *known[RECORDING_CONDITIONS_MAX];	/* by id of a thread or stack */
	uint32_t *path;			/* of a stack, with all before it */
};

/* 0 or -ENOMEM; the caller frees in both cases. */
int recording_matches__init(struct recording_matches *m, const struct recording_tables *tables,
			    const struct recording_filter *filter);
void recording_matches__free(struct recording_matches *m);
/* Do all conditions hold for a sample?  Times are for the caller. */
bool recording_matches__sample(struct recording_matches *m, const struct recording_sample *s);

#endif /* EXTPROF_RECORDING_FILTER_H */
