/* SPDX-License-Identifier: BSD-2-Clause */
#include "options/values.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "options/time_point.h"
#include "options/table.h"

#define ROTATION_TIME_LEAST 100000000ull
#define ROTATION_SIZE_LEAST (256ull << 10)
#define ROTATION_SIZE_MOST (1024.0 * 1024 * 1024 * 1024)

#define CGROUPS "/sys/fs/cgroup"

/* PID_MAX_LIMIT of the kernel. */
#define PID_MOST (4ul << 20)

/* A number and what follows it; NULL if there is no number. */
static const char *number(const char *text, double *value)
{
	char *end;

	/* strtod takes nan, inf and hexadecimal as well: not here. */
	if (!(*text >= '0' && *text <= '9') && *text != '.')
		return NULL;
	errno = 0;
	*value = strtod(text, &end);
	if (end == text || errno || !isfinite(*value) ||
	    strspn(text, "0123456789.") < (size_t)(end - text))
		return NULL;
	while (*end == ' ')
		end++;
	return end;
}

int value__rate(const char *text, uint32_t *rate)
{
	double value;
	const char *unit = number(text, &value);

	if (!unit)
		return -EINVAL;
	if (*unit == 'k' || *unit == 'K') {
		value *= 1000;
		unit++;
	}
	if (*unit && strcasecmp(unit, "hz"))
		return -EINVAL;
	if (value < 1 || value > EXTPROF_RATE_MAX || value != floor(value))
		return -EINVAL;
	*rate = (uint32_t)value;
	return 0;
}

int value__duration(const char *text, uint64_t *duration)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {
		{ "", 1 }, { "s", 1 }, { "sec", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "min", 60 },
		{ "h", 3600 }, { "d", 86400 },
	};
	double value;
	const char *unit = number(text, &value);

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit))
			continue;
		value *= units[i].seconds;
		/* At least 1 ms, at most a year. */
		if (value < 1e-3 || value > 366 * 86400.0)
			return -EINVAL;
		*duration = (uint64_t)(value * 1e9);
		return 0;
	}
	return -EINVAL;
}

int value__budget(const char *text, double *share, uint64_t *window)
{
	double percent;
	const char *end = number(text, &percent);

	*window = 60 * 1000000000ull;
	/* 2 could be two CPUs as well. */
	if (!end || *end++ != '%' || percent < 0.01 || percent > 100)
		return -EINVAL;
	*share = percent / 100;
	if (!*end)
		return 0;
	return *end != '/' || value__duration(end + 1, window) || *window < 1000000000ull || *window > 3600 * 1000000000ull ? -EINVAL : 0;
}

int value__share(const char *text, uint64_t *billionths)
{
	double percent;
	const char *end = number(text, &percent);

	/* 0.05 could be a share of 1 as well. */
	if (!end || strcmp(end, "%") || percent < 0.01 || percent > 100)
		return -EINVAL;
	*billionths = (uint64_t)(percent * 1e7 + 0.5);
	return 0;
}

static int parse_bytes(const char *text, double most, uint64_t *size)
{
	static const char letters[] = "kmgt";
	double value;
	const char *unit = number(text, &value);

	if (!unit)
		return -EINVAL;
	for (size_t i = 0; *unit && i < sizeof(letters) - 1; i++) {
		if ((*unit | 0x20) != letters[i])
			continue;
		value *= (double)(1ull << 10 * (i + 1));
		unit++;
		if (!strncasecmp(unit, "ib", 2))
			unit += 2;
		else if (*unit == 'b' || *unit == 'B')
			unit++;
		break;
	}
	if (*unit || value != floor(value) || value < 1024 || value > most)
		return -EINVAL;
	*size = (uint64_t)value;
	return 0;
}

int value__size(const char *text, uint64_t *size)
{
	return parse_bytes(text, 1024.0 * 1024 * 1024, size);
}

int value__bytes(const char *text, uint64_t *size)
{
	return parse_bytes(text, ROTATION_SIZE_MOST, size);
}

int value__rotation(const char *text, uint64_t *time, uint64_t *size)
{
	size_t length = strlen(text);

	*time = *size = 0;
	/* 1m is a minute, and 1M would be a size: that has to end with a B. */
	if (!length || (text[length - 1] | 0x20) != 'b')
		return value__duration(text, time) || *time < ROTATION_TIME_LEAST ? -EINVAL : 0;
	return parse_bytes(text, ROTATION_SIZE_MOST, size) || *size < ROTATION_SIZE_LEAST ? -EINVAL : 0;
}

int value__number(const char *text, unsigned long most, unsigned long *result)
{
	return number__parse(text, 1, most, result);
}

int value__pid(const char *text, pid_t *pid)
{
	unsigned long value;

	if (value__number(text, PID_MOST, &value))
		return -EINVAL;
	*pid = (pid_t)value;
	return 0;
}

static int add_pid(struct pid_list *list, pid_t pid)
{
	pid_t *bigger;

	for (uint32_t i = 0; i < list->count; i++)
		if (list->pids[i] == pid)
			return 0;
	bigger = realloc(list->pids, (list->count + 1) * sizeof(pid));
	if (!bigger)
		return -ENOMEM;
	list->pids = bigger;
	list->pids[list->count++] = pid;
	return 0;
}

int value__pids(const char *text, struct pid_list *list, const char **wrong)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		char one[16];
		pid_t pid;

		*wrong = text;
		if (length >= sizeof(one))
			return -EINVAL;
		memcpy(one, text, length);
		one[length] = '\0';
		if (value__pid(one, &pid))
			return -EINVAL;
		if (add_pid(list, pid))
			return -ENOMEM;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

void pid_list__free(struct pid_list *list)
{
	free(list->pids);
	memset(list, 0, sizeof(*list));
}

int value__user(const char *text, uid_t *user)
{
	const struct passwd *entry;
	unsigned long id;

	/* A user may be called 1000: the name comes first, as in chown(1). */
	entry = *text ? getpwnam(text) : NULL;
	if (entry) {
		*user = entry->pw_uid;
		return 0;
	}
	/* (uid_t)-1 is nobody's. */
	if (number__parse(text, 0, UINT_MAX - 1ul, &id))
		return -ENOENT;
	*user = (uid_t)id;
	return 0;
}

int value__cgroup(const char *text, char **cgroup)
{
	size_t length;
	char *path;

	if (!*text)
		return -EINVAL;
	if (!strncmp(text, CGROUPS, strlen(CGROUPS)) &&
	    (text[strlen(CGROUPS)] == '/' || !text[strlen(CGROUPS)]))
		text += strlen(CGROUPS);
	while (*text == '/')
		text++;
	length = strlen(text);
	while (length && text[length - 1] == '/')
		length--;
	/* The paths in /proc/PID/cgroup have no such parts. */
	for (const char *part = text; part < text + length; part++) {
		size_t n = strcspn(part, "/");

		if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && !strncmp(part, "..", 2)))
			return -EINVAL;
		part += n;
	}
	path = malloc(length + 2);
	if (!path)
		return -ENOMEM;
	path[0] = '/';
	memcpy(path + 1, text, length);
	path[length + 1] = '\0';
	*cgroup = path;
	return 0;
}

static bool is_choice(const char *choices, const char *text)
{
	size_t length = strlen(text);

	for (;; choices++) {
		size_t n = strcspn(choices, ",");

		if (n == length && !strncmp(choices, text, n))
			return true;
		choices += n;
		if (!*choices)
			return false;
	}
}

static int say(char *why, size_t size, const struct option_row *row, const char *text, const char *wanted, ...)
	__attribute__((format(printf, 5, 6)));
static int say(char *why, size_t size, const struct option_row *row, const char *text, const char *wanted, ...)
{
	va_list args;
	int n = snprintf(why, size, "--%s: %s is no ", row->name, *text ? text : "\"\"");

	va_start(args, wanted);
	if (n > 0 && (size_t)n < size)
		vsnprintf(why + n, size - (size_t)n, wanted, args);
	va_end(args);
	return -EINVAL;
}

static int parse_time(const struct option_row *row, const char *text, uint64_t *number, char *why, size_t size)
{
	uint64_t ns;

	if (value__duration(text, &ns))
		return say(why, size, row, text, "time: seconds, or with s, ms, m, h or d");
	if (row->most && (ns < row->least || ns > row->most))
		return say(why, size, row, text, "time from %g s to %g s", (double)row->least / 1e9,
			   (double)row->most / 1e9);
	*number = ns;
	return 0;
}

int option__parse(const struct option_row *row, const char *text, uint64_t *number, char *why, size_t size)
{
	struct time_point point;
	unsigned long value;
	double share;
	uint32_t rate;
	uid_t user;

	*number = 0;
	switch (row->type) {
	case OPTION_FLAG:
		*number = !text || !strcmp(text, "true");
		if (text && !*number && strcmp(text, "false"))
			return say(why, size, row, text, "true or false");
		return 0;
	case OPTION_NUMBER:
		if (number__parse(text, row->least, row->most, &value))
			return say(why, size, row, text, "number from %" PRIu64 " to %" PRIu64, row->least, row->most);
		*number = value;
		return 0;
	case OPTION_RATE:
		if (value__rate(text, &rate))
			return say(why, size, row, text, "rate: 1 to %u per second, or with k", EXTPROF_RATE_MAX);
		*number = rate;
		return 0;
	case OPTION_TIME:
		return parse_time(row, text, number, why, size);
	case OPTION_TIME_POINT:
		if (value__time_point(text, &point))
			return say(why, size, row, text, "time: 10, 500ms or 2m after the begin, -1h before %s, 02:50, or 2026-11-27 02:50",
				   row == &option_rows[OPTION_WITH] ? "--since" : "the end");
		*number = point.kind;
		return 0;
	case OPTION_SIZE:
		if (row->most && (parse_bytes(text, (double)row->most, number) || *number < row->least))
			return say(why, size, row, text, "size of at least %" PRIu64 "M: 500M, 20G", row->least >> 20);
		return !row->most && value__size(text, number) ? say(why, size, row, text, "size from 1k to 1G bytes") : 0;
	case OPTION_SHARE:
		if (value__share(text, number))
			return say(why, size, row, text, "share: 5%%, from 0.01%% to 100%%");
		return 0;
	case OPTION_PERCENT:
		if (value__budget(text, &share, number))
			return say(why, size, row, text, "budget: 1%%, or 1%%/30s, of one CPU");
		return 0;
	case OPTION_USER:
		if (value__user(text, &user))
			return say(why, size, row, text, "user of this machine");
		*number = user;
		return 0;
	case OPTION_TEXT:
	case OPTION_LIST:
	case OPTION_EVENT:
	case OPTION_PIDS:
	case OPTION_CGROUP:
		break;
	}
	if (row->choices && !is_choice(row->choices, text))
		return say(why, size, row, text, "choice: %s", row->choices);
	return 0;
}
