/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that a user can name with -e: events of perf, tracepoints of the kernel, places in the code of programs. */
#ifndef EXTPROF_EVENT_SPEC_H
#define EXTPROF_EVENT_SPEC_H

#include <stdint.h>

#include "base/text.h"
#include "wire/event.h"

/* How many events one recording can have. */
#define EVENTS_MAX EVENT_SLOTS

enum event_kind {
	EVENT_PERF,		/* page-faults: an event of perf, on each CPU */
	EVENT_TRACEPOINT,	/* CATEGORY:NAME */
	EVENT_FUNCTION,		/* FILE:SYMBOL */
	EVENT_USDT,		/* FILE:PROVIDER:NAME */
};

struct event_spec {
	enum event_kind kind;
	uint32_t perf_type;	/* PERF_TYPE_ of linux/perf_event.h */
	uint64_t perf_config;
	uint64_t period;	/* how many events a sample stands for, if nothing else is said */
	/* Category, path or name of a file, ... in the order of what was written; "" where there is none. */
	char first[512], second[256], third[128];
	char label[160];	/* what it is called in a profile: clean, without the directory of a file */
};

/* FILE is this: the one that holds the VM of each process that is profiled. */
#define EVENT_FILE_RUBY "ruby"

/* 0; -EINVAL: it is no event, and why is appended to `why`. */
int event_spec__parse(struct event_spec *spec, const char *text, struct text *why);
/* Names of the events of perf, from 0; NULL behind the last one. */
const char *event_spec__perf_name(int i);

#endif /* EXTPROF_EVENT_SPEC_H */
