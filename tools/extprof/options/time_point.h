/* SPDX-License-Identifier: BSD-2-Clause */
/* Moments of a recording, as --since and --until name them. */
#ifndef EXTPROF_OPTIONS_TIME_POINT_H
#define EXTPROF_OPTIONS_TIME_POINT_H

#include <stdint.h>

enum time_point_kind {
	TIME_NONE,
	TIME_AFTER,		/* so long after the begin of the recording */
	TIME_BEFORE,		/* so long before its end */
	TIME_DATE,		/* a date with its time */
	TIME_OF_DAY		/* a time of some day */
};

struct time_point {
	enum time_point_kind kind;
	uint64_t ns;		/* after the begin, before the end; since 1970; or of TIME_OF_DAY since midnight */
};

/*
 * A time as value__duration() takes it: "10", "500ms", "2m", and with - before the end: "-1h".  A time of the day: "02:50", "02:50:30".  A date:
 * "2026-11-27", "2026-11-27 02:50", "2026-11-27T02:50:30"; with a Z it is UTC, else it is in the time zone of the
 * environment (TZ).  0, or -EINVAL.
 */
int value__time_point(const char *text, struct time_point *point);

/* Both are about a TIME_OF_DAY, by the clock of the time zone; others stay what they are.  Times are ns since 1970. */

/* The last one that is not after `end`. */
void time_point__not_after(struct time_point *point, uint64_t end);
/* The first one after `begin`. */
void time_point__after(struct time_point *point, uint64_t begin);

#endif /* EXTPROF_OPTIONS_TIME_POINT_H */
