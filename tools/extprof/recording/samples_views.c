/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of a recording: statements that answer questions by name.  They use the tables of the file, `samples`, `requests` and
 * the functions of samples_functions.c. */
#include <stddef.h>

#include "frames/frame.h"
#include "recording/samples_table.h"
#include "recording/schema.h"

/* Amounts of each stack, and of each method in it once. */
#define SUMS "SELECT mode, stack, sum(value) AS value, sum(count) AS count, count(*) AS samples FROM samples GROUP BY 1, 2"
#define METHODS \
	"WITH RECURSIVE sums AS MATERIALIZED (" SUMS "), up(mode, stack, node, value, count) AS (" \
	"SELECT mode, stack, stack, value, count FROM sums WHERE stack > 0 UNION ALL " \
	"SELECT mode, stack, parent, value, count FROM up JOIN stacks s ON s.id = up.node WHERE s.parent > 0), " \
	"once AS (SELECT DISTINCT mode, stack, method_of(node) AS method, path_of(node) AS path, value, count FROM up) "

/* Averages of the times of requests. */
#define MEAN(part, prefix, of) ", avg(" part ")" of " AS " prefix part
#define MEANS(prefix, of) \
	MEAN("run_ns", prefix, of) MEAN("gc_ns", prefix, of) MEAN("runnable_ns", prefix, of) MEAN("gvl_ns", prefix, of) \
	MEAN("io_ns", prefix, of) MEAN("lock_ns", prefix, of) MEAN("sleep_ns", prefix, of) MEAN("parked_ns", prefix, of) \
	MEAN("other_ns", prefix, of)

const char *const samples_views[][2] = {
	{ "top_methods",
	  METHODS ", selfs AS (SELECT mode, method_of(stack) AS method, path_of(stack) AS path, sum(value) AS self FROM sums "
	  "GROUP BY 1, 2, 3) SELECT once.mode, once.method, once.path, coalesce(max(self), 0) AS self, sum(value) AS total, "
	  "sum(count) AS count FROM once LEFT JOIN selfs ON selfs.mode = once.mode AND selfs.method = once.method AND "
	  "selfs.path IS once.path WHERE once.method IS NOT NULL GROUP BY 1, 2, 3 ORDER BY total DESC" },
	{ "top_lines",
	  "SELECT mode, ruby_path AS path, ruby_line AS line, sum(value) AS self, sum(count) AS count FROM samples WHERE ruby_line > 0 "
	  "GROUP BY 1, 2, 3 "
	  "ORDER BY self DESC" },
	{ "gc_by_method",
	  "SELECT mode, method_of(parent_of_gc(stack)) AS method, path_of(parent_of_gc(stack)) AS path, method AS phase, "
	  "sum(value) AS value, sum(count) AS count FROM samples WHERE parent_of_gc(stack) IS NOT NULL GROUP BY 1, 2, 3, 4 "
	  "ORDER BY value DESC" },
	{ "lock_waits",
	  "SELECT state, method, ruby_path AS path, ruby_line AS line, thread_name, sum(value) AS ns, sum(count) AS waits FROM samples "
	  "WHERE state IN ('gvl', 'mutex', 'queue', 'condvar', 'join', 'ractor') GROUP BY 1, 2, 3, 4, 5 ORDER BY ns DESC" },
	/* Where the holder was is at most two frames above the innermost one: below it are its thread and the waker. */
	{ "lock_holders",
	  "WITH RECURSIVE sums AS MATERIALIZED (SELECT mode, state, stack, sum(value) AS value, sum(count) AS count FROM samples "
	  "WHERE state IN ('gvl', 'mutex', 'join') AND stack > 0 GROUP BY 1, 2, 3), up(mode, state, node, value, count, depth) AS "
	  "(SELECT mode, state, stack, value, count, 0 FROM sums UNION ALL SELECT mode, state, parent, value, count, depth + 1 FROM up "
	  "JOIN stacks s ON s.id = up.node WHERE s.parent > 0 AND depth < 2) "
	  "SELECT mode, up.state, name.text AS holder, path.text AS path, f.line, sum(value) AS ns, sum(count) AS waits FROM up JOIN stacks s "
	  "ON s.id = node JOIN frames f ON f.id = s.frame JOIN strings k ON k.id = f.key JOIN strings name ON name.id = f.name LEFT JOIN "
	  "strings path ON path.id = f.path WHERE k.text = '" DETAIL_HOLDER "' GROUP BY 1, 2, 3, 4, 5 ORDER BY ns DESC" },
	{ "states_by_thread",
	  "SELECT pid, tid, thread_name, mode, state, sum(value) AS ns, sum(count) AS count FROM samples "
	  "GROUP BY 1, 2, 3, 4, 5 ORDER BY ns DESC" },
	{ "idle_threads",
	  "SELECT pid, tid, thread_name, sum(value) AS ns, sum(CASE WHEN state IN ('running', 'runnable', 'gvl') THEN value "
	  "ELSE 0 END) AS busy_ns FROM samples WHERE mode = 'wall' GROUP BY 1, 2, 3 HAVING busy_ns * 20 < ns ORDER BY ns DESC" },
	/* Ruby threads of a process whose names differ in a number at the end only. */
	{ "idle_pool",
	  "WITH t AS (SELECT pid, tid, rtrim(rtrim(thread_name, '0123456789'), ' #-_/') AS pool, sum(value) AS ns, sum(CASE WHEN state IN "
	  "('running', 'runnable', 'gvl') THEN value ELSE 0 END) AS busy FROM samples WHERE mode = 'wall' AND thread IN (SELECT t.id FROM "
	  "threads t JOIN frames f ON f.id = t.frame WHERE f.role = 0) GROUP BY 1, 2, 3) "
	  "SELECT pid, pool, count(*) AS threads, count(*) FILTER (WHERE busy * 20 < ns) AS idle, sum(ns) AS ns, sum(busy) AS busy_ns "
	  "FROM t GROUP BY 1, 2 HAVING threads > 1 ORDER BY idle DESC, ns DESC" },
	{ "triggers",
	  "WITH fired AS (SELECT time_ns + (SELECT value FROM meta WHERE key = 'started_unix_ns') - (SELECT value FROM meta WHERE key = "
	  "'started_monotonic_ns') AS unix_ns, time_ns, process, t.text FROM events e JOIN strings k ON k.id = e.kind JOIN strings t ON "
	  "t.id = e.text WHERE k.text = '" RECORDING_TRIGGER "') "
	  "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', unix_ns / 1000000000, 'unixepoch') AS at, p.pid, command.text AS command, fired.text, "
	  "unix_ns, time_ns FROM fired LEFT JOIN processes p ON p.id = process LEFT JOIN strings command ON command.id = p.command "
	  "ORDER BY unix_ns" },
	/* The same as extprof report --requests-by: whole requests, and the place of a percentile rounded up. */
	{ "requests_by_labels",
	  "WITH placed AS (SELECT *, row_number() OVER (PARTITION BY request ORDER BY duration_ns) AS place, count(*) OVER (PARTITION "
	  "BY request) AS n FROM requests WHERE whole), slow AS (SELECT request AS r, max(CASE WHEN place = (n * 95 + 99) / 100 THEN "
	  "duration_ns END) AS p95 FROM placed GROUP BY 1) "
	  "SELECT request, n AS requests, max(CASE WHEN place = (n * 50 + 99) / 100 THEN duration_ns END) AS p50_ns, p95 AS p95_ns, "
	  "max(CASE WHEN place = (n * 99 + 99) / 100 THEN duration_ns END) AS p99_ns, max(duration_ns) AS max_ns, avg(duration_ns) AS "
	  "mean_ns" MEANS("", "") ", count(*) FILTER (WHERE duration_ns >= p95) AS slow, avg(duration_ns) FILTER (WHERE duration_ns >= "
	  "p95) AS slow_mean_ns" MEANS("slow_", " FILTER (WHERE duration_ns >= p95)") " FROM placed JOIN slow ON r = request GROUP BY "
	  "request ORDER BY p95 DESC" },
	{ NULL, NULL }
};
