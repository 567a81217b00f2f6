/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Firefox Profiler's processed format, version 60, or 64 with texts of source files: a thread for each thread, and samples in the order of time.
 *
 * Its stacks are those of reports; report::timeline says when they were seen.  With several modes each thread is there
 * once for each of them, since the format has one kind of weights for a thread.
 */
#include "output/firefox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "profile/unit.h"

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

/* The version of what the browser itself writes, which is not read here; and the version of this format. */
#define GECKO_VERSION 31
#define PROCESSED_VERSION 60
#define PROCESSED_VERSION_WITH_TEXTS 64
/* Threads that are shown when the file is opened. */
#define VISIBLE_THREADS 10u
/* If nothing was sampled by a timer, ns. */
#define DEFAULT_INTERVAL 1000000u

/* -- about the whole ----------------------------------------------------------------------------- */

static void add_fact(struct firefox *x, const char *label, const char *value)
{
	json__add(&x->json, NULL, json_pack("{s:s, s:s, s:s}", "label", label, "format", "string", "value", value));
}

static void add_text_fact(struct firefox *x, const char *label, struct text *value)
{
	if (value->failed)
		x->json.err = x->json.err ? x->json.err : -ENOMEM;
	else if (value->length)
		add_fact(x, label, text__string(value));
	text__free(value);
}

static void add_mode_facts(struct firefox *x, const struct report *r)
{
	struct text account = { 0 }, idle = { 0 }, more = { 0 };

	json__open(&x->json, NULL, '{');
	json__add(&x->json, "label", json_string(r->meta.mode->name));
	json__open(&x->json, "entries", '[');
	if (*r->meta.source)
		add_fact(x, "source", r->meta.source);
	accounting__add_line(&r->meta.accounting, &account);
	add_text_fact(x, "account", &account);
	report__add_idle(r, &idle);
	add_text_fact(x, "idle", &idle);
	unit__add_with_name(&r->metric, r->samples, &more);
	add_text_fact(x, r->metric.name, &more);
	if (r->meta.missed) {
		text__addf(&more, "%llu", (unsigned long long)r->meta.missed);
		add_text_fact(x, "missed", &more);
	}
	json__close(&x->json, ']');
	json__close(&x->json, '}');
}

static void add_extra(struct firefox *x)
{
	const struct report_meta *m = &x->reports[0].meta;
	struct text time = { 0 };

	json__open(&x->json, "extra", '[');
	json__open(&x->json, NULL, '{');
	json__add(&x->json, "label", json_string("extprof"));
	json__open(&x->json, "entries", '[');
	add_fact(x, "version", EXTPROF_VERSION);
	if (*m->ruby_version)
		add_fact(x, "ruby", m->ruby_version);
	if (*m->ended)
		add_fact(x, "ended", m->ended);
	text__addf(&time, "%.3f s", m->duration);
	add_text_fact(x, "recorded", &time);
	json__close(&x->json, ']');
	json__close(&x->json, '}');
	for (uint32_t i = 0; i < x->count; i++)
		add_mode_facts(x, &x->reports[i]);
	json__close(&x->json, ']');
}

static uint64_t interval_of(const struct firefox *x)
{
	for (uint32_t i = 0; i < x->count; i++)
		if (x->reports[i].meta.period)
			return x->reports[i].meta.period;
	return DEFAULT_INTERVAL;
}

/* Does it have code that no Ruby program knows of? */
static bool has_native(const struct firefox *x)
{
	for (uint32_t i = 0; i < x->frame_table.count; i++)
		if (x->frames[i].category == FIREFOX_KIND + FRAME_NATIVE || x->frames[i].category == FIREFOX_KIND + FRAME_KERNEL)
			return true;
	return false;
}

static int most_first(const void *a, const void *b, void *context)
{
	const struct firefox_thread *threads = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct firefox_thread *x = &threads[i], *y = &threads[j];

	if (x->report != y->report)
		return x->report < y->report ? -1 : 1;
	if (x->amount != y->amount)
		return x->amount > y->amount ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int add_visible(struct firefox *x)
{
	uint32_t *order = malloc((x->thread_count + 1u) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->thread_count; i++)
		order[i] = i;
	if (x->thread_count)
		qsort_r(order, x->thread_count, sizeof(*order), most_first, x->threads);
	json__open(&x->json, "initialVisibleThreads", '[');
	for (uint32_t i = 0; i < x->thread_count && i < VISIBLE_THREADS; i++)
		json__number(&x->json, NULL, order[i], 0);
	json__close(&x->json, ']');
	json__open(&x->json, "initialSelectedThreads", '[');
	if (x->thread_count)
		json__number(&x->json, NULL, order[0], 0);
	json__close(&x->json, ']');
	free(order);
	return 0;
}

static int add_meta(struct firefox *x)
{
	const struct report_meta *m = &x->reports[0].meta;
	const struct timeline *t = x->reports[0].timeline;
	struct json *j = &x->json;
	int err;

	json__open(j, "meta", '{');
	json__number(j, "version", GECKO_VERSION, 0);
	json__number(j, "preprocessedProfileVersion", x->texts ? PROCESSED_VERSION_WITH_TEXTS : PROCESSED_VERSION, 0);
	firefox__add_time(x, "interval", interval_of(x));
	firefox__add_time(x, "startTime", t->wall);
	json__number(j, "startTimeAsClockMonotonicNanosecondsSinceBoot", t->begin > INT64_MAX ? 0 : (int64_t)t->begin, 0);
	firefox__add_time(x, "profilingStartTime", t->from);
	firefox__add_time(x, "profilingEndTime", t->until);
	json__number(j, "processType", 0, 0);
	json__add(j, "product", json_string(*m->command ? m->command : "ruby"));
	json__add(j, "importedFrom", json_string("extprof " EXTPROF_VERSION));
	json__add(j, "arguments", json_string(m->command));
	json__add(j, "platform", json_string("Linux"));
	if (m->cpus)
		json__number(j, "logicalCPUs", m->cpus, 0);
	json__number(j, "stackwalk", 1, 0);
	json__add(j, "debug", json_false());
	json__add(j, "symbolicated", json_true());
	json__add(j, "symbolicationNotSupported", json_true());
	json__add(j, "sourceCodeIsNotOnSearchfox", json_true());
	json__add(j, "usesOnlyOneStackType", json_boolean(!has_native(x)));
	json__add(j, "keepProfileThreadOrder", json_true());
	json__add(j, "sampleUnits", json_pack("{s:s, s:s, s:s}", "time", "ms", "eventDelay", "ms", "threadCPUDelta", "ns"));
	err = add_visible(x);
	firefox__add_categories(x);
	firefox__add_schemas(x);
	add_extra(x);
	json__close(j, '}');
	return err;
}

/* -- the file ------------------------------------------------------------------------------------ */

static int write_all(struct firefox *x)
{
	int err = firefox__make_stacks(x);

	if (!err)
		err = firefox__make_threads(x);
	if (err)
		return err;
	json__open(&x->json, NULL, '{');
	json__open(&x->json, "libs", '[');
	json__close(&x->json, ']');
	/* Threads can need stacks and categories that no report has, so the tables come after them. */
	err = firefox__add_threads(x);
	if (!err)
		err = firefox__add_counters(x);
	if (!err)
		err = add_meta(x);
	if (!err)
		err = firefox__add_shared(x);
	json__close(&x->json, '}');
	return x->json.err ? x->json.err : err;
}

static void free_all(struct firefox *x)
{
	struct firefox_table *tables[] = {
		&x->func_table, &x->frame_table, &x->stack_table, &x->source_table, &x->resource_table,
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		map64__free(&tables[i]->map);
	for (uint32_t i = 0; i < MODES_MAX; i++) {
		free(x->stack_of[i]);
		free(x->resource_of[i]);
		free(x->thread_of[i]);
		free(x->order[i]);
	}
	map64__free(&x->process_map);
	strings__free(&x->strings);
	free(x->funcs);
	free(x->frames);
	free(x->stacks);
	free(x->sources);
	free(x->resources);
	free(x->threads);
	free(x->processes);
	free(x->hosted);
	free(x->ranks);
	free(x->spans);
	map64__free(&x->tid_map);
	free(x->same_tid);
	free(x->ties);
	free(x->tie_order);
	free(x);
}

/* Write the file through zlib. */
static int write_gzip(struct firefox *x, FILE *to)
{
	struct gzip g;
	int err = gzip__open(&g, to, &x->json.to);

	return err ? err : gzip__close(&g, x->json.to, write_all(x));
}

static int write_firefox(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	struct firefox *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return -ENOMEM;
	x->json.to = to;
	x->reports = reports;
	x->count = count;
	x->texts = o->sources;
	err = o->gzip ? write_gzip(x, to) : write_all(x);
	free_all(x);
	return err;
}

const struct output_format output_firefox = {
	.name = "firefox",
	.suffixes = { ".firefox.json", ".firefox.json.gz" },
	.help = "JSON for the Firefox Profiler: samples in the order of time; of recordings in files",
	.detail = REPORT_BY_LINE,
	.by_value = true,
	.labels = 1u << GROUP_PROCESS | 1u << GROUP_THREAD,
	.write = write_firefox,
	.timeline = true,
};
