/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters in the text format of Prometheus. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics.h"

static const char *const states[METRICS_STATES_MAX] = { "running", "runnable", "gvl" };

/* Valid until the next call. */
static const char *written(const struct metrics *m)
{
	static char *text;
	struct metrics_facts facts = { .cpu_time = 1.5, .rate = 19, .processes = 2, .samples = 10, .lost = 1, .triggers = 4, .files = 3, .bytes = 4096 };
	size_t size;
	FILE *to;

	free(text);
	to = open_memstream(&text, &size);
	metrics__write(m, &facts, states, to);
	fclose(to);
	return text;
}

static uint32_t lines_with(const char *text, const char *what)
{
	uint32_t count = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		count++;
	return count;
}

TEST(metrics_are_counters)
{
	struct metrics *m = metrics__create(NULL);
	const char *text;

	CHECK(m);
	CHECK_INT(metrics__add(m, "puma", "not asked for", METRIC_CPU, 1500000000), 0);
	CHECK_INT(metrics__add(m, "puma", NULL, METRIC_CPU, 1), 0);
	CHECK_INT(metrics__add(m, "a job", NULL, METRIC_CPU, 7), 0);
	CHECK_INT(metrics__add(m, "puma", NULL, METRIC_ALLOC, 18446744073709551615u), 0);
	CHECK_INT(metrics__add_state(m, "puma", NULL, 2, 250000000), 0);
	CHECK_INT(metrics__add_state(m, "puma", NULL, 0, 0), 0);
	/* A state of a newer library. */
	CHECK_INT(metrics__add_state(m, "puma", NULL, 9, 5), 0);
	CHECK_INT(metrics__add_state(m, "puma", NULL, METRICS_STATES_MAX, 5), 0);
	text = written(m);
	CHECK(strstr(text, "# HELP extprof_cpu_seconds_total CPU time, by samples.\n# TYPE extprof_cpu_seconds_total counter\n"
		     "extprof_cpu_seconds_total{process=\"a job\"} 0.000000007\nextprof_cpu_seconds_total{process=\"puma\"} 1.500000001\n#") == text);
	CHECK(strstr(text, "extprof_allocated_bytes_total{process=\"puma\"} 18446744073709551615\n"));
	CHECK(strstr(text, "extprof_thread_seconds_total{process=\"puma\",state=\"running\"} 0.000000000\n"
		     "extprof_thread_seconds_total{process=\"puma\",state=\"gvl\"} 0.250000000\n#"));
	CHECK(!strstr(text, "extprof_gc_seconds_total"));
	/* Each process that is known has its losses, none at first. */
	CHECK(strstr(text, "extprof_process_lost_samples_total{process=\"a job\"} 0\nextprof_process_lost_samples_total{process=\"puma\"} 0\n#"));
	CHECK_INT(metrics__add_lost(m, "puma", 3), 0);
	CHECK_INT(metrics__add_lost(m, "puma", 4), 0);
	CHECK_INT(metrics__add_lost(m, "worker 7", 2), 0);
	text = written(m);
	CHECK(strstr(text, "_lost_samples_total{process=\"a job\"} 0\nextprof_process_lost_samples_total{process=\"puma\"} 7\n"
		     "extprof_process_lost_samples_total{process=\"worker *\"} 2\n#"));
	CHECK(strstr(text, "\nextprof_triggers_total 4\n") != NULL);
	CHECK(strstr(text, "\nextprof_samples_total 10\n") && strstr(text, "\nextprof_lost_samples_total 1\n"));
	CHECK(strstr(text, "\nextprof_own_cpu_seconds_total 1.500000\n") && strstr(text, "\nextprof_files_bytes 4096\n"));
	metrics__destroy(m);
	metrics__destroy(NULL);
}

TEST(metrics_of_a_label)
{
	static const struct { const char *key, *name; } keys[] = {
		{ "controller", "controller" }, { "http.route", "http_route" }, { "2nd", "label_2nd" }, { "process", "label_process" },
		{ "state", "label_state" }, { "__name__", "label___name__" }, { "\xc3\xa4t", "label___t" }, { "..x", "label___x" }, { "_x", "_x" },
		{ "", "label_" },
	};
	struct metrics *m;
	char wanted[256];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		m = metrics__create(keys[i].key);
		metrics__add(m, "puma", "a \"quoted\\\" one\n", METRIC_GC, 3);
		metrics__add(m, "puma", NULL, METRIC_GC, 4);
		snprintf(wanted, sizeof(wanted), "extprof_gc_seconds_total{process=\"puma\",%s=\"\"} 0.000000004\n"
			 "extprof_gc_seconds_total{process=\"puma\",%s=\"a \\\"quoted\\\\\\\" one\\n\"} 0.000000003\n", keys[i].name, keys[i].name);
		CHECK(strstr(written(m), wanted));
		metrics__destroy(m);
	}
}

TEST(metrics_put_processes_of_one_kind_together)
{
	struct metrics *m = metrics__create(NULL);

	metrics__add(m, "puma: cluster worker 0: 4711 [app]", NULL, METRIC_CPU, 1);
	metrics__add(m, "puma: cluster worker 12: 9 [app]", NULL, METRIC_CPU, 2);
	CHECK_INT(lines_with(written(m), "extprof_cpu_seconds_total{"), 1);
	CHECK(strstr(written(m), "{process=\"puma: cluster worker *: * [app]\"} 0.000000003\n"));
	metrics__destroy(m);
}

/* Programs choose their names and values: what comes later is in the counters of all others, and nothing is lost. */
TEST(metrics_are_bounded)
{
	struct metrics *m = metrics__create("tenant");
	char name[400], wanted[400];
	const char *text;

	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "%c%c%c", 'a' + i / 26 / 26, 'a' + i / 26 % 26, 'a' + i % 26);
		metrics__add(m, name, NULL, METRIC_CPU, 1000000000);
		metrics__add(m, "aaa", name, METRIC_CPU, 1000000000);
	}
	text = written(m);
	CHECK_INT(lines_with(text, "process=\"aaa\",tenant"), METRICS_VALUES_MAX + 1);
	CHECK_INT(lines_with(text, "extprof_process_lost_samples_total{"), METRICS_PROCESSES_MAX + 1);
	CHECK_INT(lines_with(text, "tenant=\"\""), METRICS_PROCESSES_MAX + 1);
	snprintf(wanted, sizeof(wanted), "{process=\"(other)\",tenant=\"\"} %u.000000000\n", 400 - METRICS_PROCESSES_MAX);
	CHECK(strstr(text, wanted));
	/* One of its values is that without a label. */
	snprintf(wanted, sizeof(wanted), "{process=\"aaa\",tenant=\"(other)\"} %u.000000000\n", 400 - (METRICS_VALUES_MAX - 1));
	CHECK(strstr(text, wanted));
	/* One that is known is counted as before. */
	metrics__add(m, "aab", NULL, METRIC_CPU, 1);
	CHECK(strstr(written(m), "{process=\"aab\",tenant=\"\"} 1.000000001\n"));
	metrics__destroy(m);

	/* Many kinds with many values each. */
	m = metrics__create("tenant");
	for (int i = 0; i < 100; i++)
		for (int j = 0; j < 100; j++) {
			snprintf(name, sizeof(name), "%c%c", 'a' + i / 26, 'a' + i % 26);
			snprintf(wanted, sizeof(wanted), "%c%c", 'a' + j / 26, 'a' + j % 26);
			metrics__add(m, name, wanted, METRIC_CPU, 1);
		}
	CHECK(lines_with(written(m), "extprof_cpu_seconds_total{") <= METRICS_SERIES_MAX + 100);
	metrics__destroy(m);

	/* A name that is too long is cut between two characters. */
	m = metrics__create(NULL);
	memset(name, 'x', sizeof(name));
	memcpy(name + METRICS_TEXT_MAX - 3, "\xe2\x82\xac", 3);
	name[sizeof(name) - 1] = '\0';
	metrics__add(m, name, NULL, METRIC_CPU, 1);
	text = strstr(written(m), "process=\"");
	CHECK_INT(strcspn(text + 9, "\""), METRICS_TEXT_MAX - 3);
	metrics__destroy(m);
}
