/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Triggers: what has a recording kept, with the time around it.  A recording with triggers is one of several files, of
 * which old ones are removed until a trigger fires.  A sink, so that each sample, wait and pause is looked at once.
 */
#ifndef EXTPROF_TRIGGERS_H
#define EXTPROF_TRIGGERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "profile/report.h"
#include "profile/sink.h"
#include "source/mode.h"

#define TRIGGERS_MAX 16u
/* A text of a trigger that fired. */
#define TRIGGER_TEXT sizeof(((struct report_meta *)0)->trigger)

enum trigger_kind {
	TRIGGER_MODE,		/* "cpu>150%", "alloc>200MB": of a process within a second */
	TRIGGER_STATE,		/* "gvl>50%": the same of a state of its threads */
	TRIGGER_PAUSE,		/* "pause>100ms": of the collector */
	TRIGGER_LABEL,		/* "label:request>500ms": how long a fiber has one value of the label */
	TRIGGER_RSS,		/* "rss>2GB": memory of a process */
	TRIGGER_EXIT,		/* "exit": a process ends with another status than 0, or by a signal */
};

struct trigger {
	enum trigger_kind kind;
	uint64_t limit;		/* ns, bytes or a number; of a mode or state so much within a second */
	const struct mode *mode;	/* TRIGGER_MODE */
	bool by_count;		/* of that: the limit is one of its count */
	uint32_t state;		/* TRIGGER_STATE: enum thread_state */
	char key[48];		/* TRIGGER_LABEL */
	char text[80];		/* as it was given */
};

/* Users that are told apart; those beyond share the last place. */
#define TRIGGER_USERS_MAX 64u

/* What has fired for the programs of one user in the last seconds: one user is not to fill the recording. */
struct trigger_user {
	uint32_t uid, told;
	uint64_t from;		/* CLOCK_MONOTONIC, ns: the seconds began */
	uint64_t left_out;
};

struct engine;
struct trigger_window;
struct trigger_lane;

struct triggers {
	struct sink sink;
	struct engine *engine;
	struct map64 window_map, lane_map;
	struct trigger_window *windows;
	struct trigger_lane *lanes;
	size_t window_room, lane_room;
	uint32_t window_count, lane_count;
	struct trigger_user users[TRIGGER_USERS_MAX];
	uint32_t user_count;
	uint64_t memory_at;		/* CLOCK_MONOTONIC, ns: the next look */
	uint64_t fired;			/* how often, by all */
	char last[TRIGGER_TEXT];	/* what it was, clean; "": none has fired */
	char in_file[TRIGGER_TEXT];	/* the first one of the file that is written */
};

void triggers__free(struct triggers *t);

#endif /* EXTPROF_TRIGGERS_H */
