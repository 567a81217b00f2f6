/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/event_spec.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#define CYCLES_PERIOD 1000000
#define MISSES_PERIOD 10000

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config, period;
} perf_events[] = {
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1 },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1 },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1 },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1 },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1 },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, 1 },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, CYCLES_PERIOD },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, CYCLES_PERIOD },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, CYCLES_PERIOD },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, MISSES_PERIOD },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, MISSES_PERIOD },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, MISSES_PERIOD },
};

#define PERF_EVENTS (sizeof(perf_events) / sizeof(perf_events[0]))

const char *event_spec__perf_name(int i)
{
	return i >= 0 && (size_t)i < PERF_EVENTS ? perf_events[i].name : NULL;
}

static void add_written(struct text *why, const char *text)
{
	text__adds(why, "\"");
	text__add_clean(why, text, strlen(text), 120);
	text__adds(why, "\"");
}

static int parse_perf(struct event_spec *spec, const char *text, struct text *why)
{
	for (size_t i = 0; i < PERF_EVENTS; i++) {
		if (strcmp(perf_events[i].name, text))
			continue;
		spec->kind = EVENT_PERF;
		spec->perf_type = perf_events[i].type;
		spec->perf_config = perf_events[i].config;
		spec->period = perf_events[i].period;
		snprintf(spec->label, sizeof(spec->label), "%s", text);
		return 0;
	}
	add_written(why, text);
	text__adds(why, " is no event: ");
	for (size_t i = 0; i < PERF_EVENTS; i++)
		text__addf(why, "%s, ", perf_events[i].name);
	text__adds(why, "CATEGORY:NAME (a tracepoint of the kernel), FILE:SYMBOL (a function) or "
		   "FILE:PROVIDER:NAME (a probe)");
	return -EINVAL;
}

static int take_part(char *to, size_t size, const char *from, size_t length, struct text *why)
{
	if (!length || length >= size) {
		text__addf(why, "a part of the event is %s", length ? "too long" : "empty");
		return -EINVAL;
	}
	memcpy(to, from, length);
	to[length] = '\0';
	return 0;
}

/* Can it be a part of a tracepoint's name: a directory or a file of tracefs? */
static bool is_plain(const char *name)
{
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

static void set_label(struct event_spec *spec, const char *first, const char *second)
{
	struct text t = { 0 };

	text__add_clean(&t, first, strlen(first), 80);
	text__adds(&t, ":");
	text__add_clean(&t, second, strlen(second), 72);
	snprintf(spec->label, sizeof(spec->label), "%s", text__string(&t));
	text__free(&t);
}

/* The text between the last two colons; NULL: there is one colon, or that text is a part of a path. */
static const char *provider_of(const char *text, const char *last)
{
	const char *at = last;

	while (at > text && at[-1] != ':' && at[-1] != '/')
		at--;
	return at > text && at[-1] == ':' ? at : NULL;
}

int event_spec__parse(struct event_spec *spec, const char *text, struct text *why)
{
	const char *last = strrchr(text, ':'), *middle;
	int err;

	memset(spec, 0, sizeof(*spec));
	if (!last)
		return parse_perf(spec, text, why);
	spec->period = 1;
	/* A path may have colons, the names behind it have none. */
	middle = provider_of(text, last);
	if (middle) {
		spec->kind = EVENT_USDT;
		if ((err = take_part(spec->first, sizeof(spec->first), text, (size_t)(middle - 1 - text), why)) ||
		    (err = take_part(spec->second, sizeof(spec->second), middle, (size_t)(last - middle), why)) ||
		    (err = take_part(spec->third, sizeof(spec->third), last + 1, strlen(last + 1), why)))
			return err;
		set_label(spec, spec->second, spec->third);
		return 0;
	}
	if ((err = take_part(spec->first, sizeof(spec->first), text, (size_t)(last - text), why)) ||
	    (err = take_part(spec->second, sizeof(spec->second), last + 1, strlen(last + 1), why)))
		return err;
	/* Names of files have a slash or a dot here. */
	spec->kind = is_plain(spec->first) && strcmp(spec->first, EVENT_FILE_RUBY) ? EVENT_TRACEPOINT : EVENT_FUNCTION;
	if (spec->kind == EVENT_TRACEPOINT && !is_plain(spec->second)) {
		add_written(why, text);
		text__adds(why, " is no tracepoint: a name has no such letters.  A FILE is written with its "
			   "directory, such as ./file");
		return -EINVAL;
	}
	set_label(spec, basename(spec->first), spec->second);
	return 0;
}
