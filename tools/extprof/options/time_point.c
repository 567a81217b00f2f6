/* SPDX-License-Identifier: BSD-2-Clause */
#include "options/time_point.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "options/values.h"

#define SECOND 1000000000ull

/* So many digits.  NULL: there are fewer, or more. */
static const char *take_digits(const char *at, int digits, int *number)
{
	*number = 0;
	for (int i = 0; i < digits; i++, at++) {
		if (*at < '0' || *at > '9')
			return NULL;
		*number = *number * 10 + (*at - '0');
	}
	return *at >= '0' && *at <= '9' ? NULL : at;
}

/* "02:50" or "02:50:30". */
static const char *take_time(const char *at, struct tm *tm)
{
	at = take_digits(at, 2, &tm->tm_hour);
	if (!at || *at != ':' || !(at = take_digits(at + 1, 2, &tm->tm_min)))
		return NULL;
	if (*at == ':' && !(at = take_digits(at + 1, 2, &tm->tm_sec)))
		return NULL;
	return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60 ? at : NULL;
}

/* "2026-11-27", and what may follow it. */
static const char *take_date(const char *at, struct tm *tm)
{
	at = take_digits(at, 4, &tm->tm_year);
	if (!at || *at != '-' || !(at = take_digits(at + 1, 2, &tm->tm_mon)) || *at != '-' ||
	    !(at = take_digits(at + 1, 2, &tm->tm_mday)))
		return NULL;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	if (tm->tm_year < 70 || tm->tm_year > 400)
		return NULL;
	return *at == ' ' || *at == 'T' ? take_time(at + 1, tm) : at;
}

static int date_of(const char *text, struct time_point *point)
{
	struct tm tm = { .tm_isdst = -1 }, back;
	const char *end = take_date(text, &tm);
	bool utc = end && *end == 'Z';
	time_t time;

	if (!end || end[utc])
		return -EINVAL;
	back = tm;
	time = utc ? timegm(&back) : mktime(&back);
	/* The 31st of a month of 30 days would be the 1st of the next one. */
	if (time < 0 || back.tm_mday != tm.tm_mday || back.tm_mon != tm.tm_mon)
		return -EINVAL;
	*point = (struct time_point){ TIME_DATE, (uint64_t)time * SECOND };
	return 0;
}

int value__time_point(const char *text, struct time_point *point)
{
	struct tm tm = { 0 };
	uint64_t after;
	const char *end;

	/* The begin: no time is a second moment that is wanted. */
	if (!strcmp(text, "0")) {
		*point = (struct time_point){ TIME_AFTER, 0 };
		return 0;
	}
	if (!value__duration(text + (*text == '-'), &after)) {
		*point = (struct time_point){ *text == '-' ? TIME_BEFORE : TIME_AFTER, after };
		return 0;
	}
	end = take_time(text, &tm);
	if (!end || *end)
		return date_of(text, point);
	*point = (struct time_point){ TIME_OF_DAY, (uint64_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * SECOND };
	return 0;
}

/* That time of the day on which `at` is, or so many days later.  A clock that is put forward has no such time on one day:
 * it is then what mktime() makes of it. */
static uint64_t on_day(uint64_t at, int days, const struct time_point *point)
{
	unsigned int second = (unsigned int)(point->ns / SECOND);
	time_t whole = (time_t)(at / SECOND), time;
	struct tm tm;

	localtime_r(&whole, &tm);
	tm.tm_mday += days;
	tm.tm_hour = (int)(second / 3600);
	tm.tm_min = (int)(second / 60 % 60);
	tm.tm_sec = (int)(second % 60);
	tm.tm_isdst = -1;
	time = mktime(&tm);
	return time < 0 ? 0 : (uint64_t)time * SECOND;
}

void time_point__not_after(struct time_point *point, uint64_t end)
{
	uint64_t at;

	if (point->kind != TIME_OF_DAY)
		return;
	at = on_day(end, 0, point);
	*point = (struct time_point){ TIME_DATE, at > end ? on_day(end, -1, point) : at };
}

void time_point__after(struct time_point *point, uint64_t begin)
{
	uint64_t at;

	if (point->kind != TIME_OF_DAY)
		return;
	at = on_day(begin, 0, point);
	*point = (struct time_point){ TIME_DATE, at <= begin ? on_day(begin, 1, point) : at };
}
