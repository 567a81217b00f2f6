/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/samples_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recording/requests_table.h"
#include "recording/schema.h"
#include "recording/tables.h"
#include "recording/vtab.h"

enum column {
	COLUMN_TIME, COLUMN_SECONDS, COLUMN_MODE, COLUMN_PROCESS, COLUMN_PID, COLUMN_COMMAND, COLUMN_THREAD, COLUMN_TID,
	COLUMN_THREAD_NAME, COLUMN_STATE, COLUMN_METHOD, COLUMN_PATH, COLUMN_LINE, COLUMN_BELOW, COLUMN_VALUE,
	COLUMN_COUNT, COLUMN_STACK, COLUMN_LABELS, COLUMN_FIBER, COLUMN_CGROUP,
	COLUMN_REVISION, COLUMN_RUBY_METHOD, COLUMN_RUBY_PATH, COLUMN_RUBY_LINE, COLUMN_TRACE, COLUMN_SPAN
};

static const char declaration[] =
	"CREATE TABLE samples(time_ns INTEGER, seconds REAL, mode TEXT, process INTEGER, pid INTEGER, command TEXT, "
	"thread INTEGER, tid INTEGER, thread_name TEXT, state TEXT, method TEXT, path TEXT, line INTEGER, below TEXT, "
	"value INTEGER, count INTEGER, stack INTEGER, labels INTEGER, fiber INTEGER, cgroup TEXT, revision TEXT, "
	"ruby_method TEXT, ruby_path TEXT, ruby_line INTEGER, trace_id TEXT, span_id TEXT)";

/* Data of a connection about the recording that it has opened. */
struct module {
	sqlite3 *db;
	struct recording_tables tables;
	bool loaded;
	int64_t version;	/* PRAGMA data_version, when the tables were loaded */
	int64_t begin;		/* time of the begin of the recording */
	uint32_t cursors;	/* that are open: the tables stay */
};

struct samples_vtab {
	sqlite3_vtab base;
	struct module *module;
};

struct samples_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *blocks;
	struct block_codec codec;
	long count, at;		/* of the block that is decoded */
	int64_t low, high;	/* times that are wanted */
	int64_t rowid;
	bool end;
};

static int64_t one_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t number = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return number;
}

/* Has the tables as they are now, while nobody reads in the old ones.  0 or negative errno. */
static int load(struct module *m, char **message)
{
	int64_t version = one_number(m->db, "PRAGMA data_version");
	struct diag d = { 0 };
	int err;

	if (m->loaded && (m->cursors || m->version == version))
		return 0;
	if (m->loaded)
		recording_tables__free(&m->tables);
	m->loaded = false;
	err = recording_tables__load(&m->tables, m->db, &d);
	if (err) {
		*message = sqlite3_mprintf("%s", d.text);
		return err;
	}
	m->loaded = true;
	m->version = version;
	m->begin = one_number(m->db, "SELECT value FROM meta WHERE key='started_monotonic_ns'");
	if (m->begin < 0)
		m->begin = 0;
	return 0;
}

static int samples__connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **vtab,
			    char **message)
{
	int code = vtab__make(db, declaration, sizeof(struct samples_vtab), vtab);

	(void)argc;
	(void)argv;
	(void)message;
	if (code == SQLITE_OK)
		((struct samples_vtab *)*vtab)->module = context;
	return code;
}

/* Only bounds of the time spare blocks.  idxNum: 1 there is a lower one, 2 an upper one. */
static int samples__best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	struct module *m = ((struct samples_vtab *)vtab)->module;
	double rows = (double)one_number(m->db, "SELECT total(samples) FROM blocks") + 1;
	int low = -1, high = -1, n = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		int op = info->aConstraint[i].op;

		if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != COLUMN_TIME)
			continue;
		if (op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GE ||
		    op == SQLITE_INDEX_CONSTRAINT_GT)
			low = low < 0 ? i : low;
		else if (op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT)
			high = high < 0 ? i : high;
	}
	info->idxNum = 0;
	if (low >= 0) {
		info->aConstraintUsage[low].argvIndex = ++n;
		info->idxNum |= info->aConstraint[low].op == SQLITE_INDEX_CONSTRAINT_EQ ? 4 : 1;
		rows /= 4;
	}
	if (high >= 0) {
		info->aConstraintUsage[high].argvIndex = ++n;
		info->idxNum |= 2;
		rows /= 4;
	}
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows * 2 + 1000;
	return SQLITE_OK;
}

static int samples__open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct module *m = ((struct samples_vtab *)vtab)->module;
	struct samples_cursor *c;
	char *message = NULL;
	int err = load(m, &message);

	if (err) {
		sqlite3_free(vtab->zErrMsg);
		vtab->zErrMsg = message;
		return err == -ENOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT_VTAB;
	}
	c = sqlite3_malloc64(sizeof(*c));
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	if (block_codec__init(&c->codec)) {
		block_codec__free(&c->codec);
		sqlite3_free(c);
		return SQLITE_NOMEM;
	}
	m->cursors++;
	*cursor = &c->base;
	return SQLITE_OK;
}

static int samples__close(sqlite3_vtab_cursor *cursor)
{
	struct samples_cursor *c = (struct samples_cursor *)cursor;

	((struct samples_vtab *)cursor->pVtab)->module->cursors--;
	sqlite3_finalize(c->blocks);
	block_codec__free(&c->codec);
	sqlite3_free(c);
	return SQLITE_OK;
}

static int damaged(struct samples_cursor *c, int64_t block)
{
	sqlite3_free(c->base.pVtab->zErrMsg);
	c->base.pVtab->zErrMsg = sqlite3_mprintf("the recording is damaged: block %lld cannot be read", block);
	return SQLITE_CORRUPT_VTAB;
}

static int next_block(struct samples_cursor *c)
{
	struct module *m = ((struct samples_vtab *)c->base.pVtab)->module;
	int code = sqlite3_step(c->blocks);
	const void *data;

	c->at = c->count = 0;
	if (code == SQLITE_DONE) {
		c->end = true;
		return SQLITE_OK;
	}
	if (code != SQLITE_ROW)
		return code;
	data = sqlite3_column_blob(c->blocks, 1);
	c->count = data ? block__decode(&c->codec, data, (size_t)sqlite3_column_bytes(c->blocks, 1)) : -1;
	if (c->count < 0)
		return damaged(c, sqlite3_column_int64(c->blocks, 0));
	for (long i = 0; i < c->count; i++)
		if (!recording_tables__has(&m->tables, &c->codec.samples[i]))
			return damaged(c, sqlite3_column_int64(c->blocks, 0));
	return SQLITE_OK;
}

/* Go to a sample that is wanted, from c->at on. */
static int settle(struct samples_cursor *c)
{
	int code = SQLITE_OK;

	while (!c->end && code == SQLITE_OK) {
		for (; c->at < c->count; c->at++) {
			int64_t time = (int64_t)c->codec.samples[c->at].time;

			if (time >= c->low && time <= c->high)
				return SQLITE_OK;
		}
		code = next_block(c);
	}
	return code;
}

static int samples__filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct samples_cursor *c = (struct samples_cursor *)cursor;
	struct module *m = ((struct samples_vtab *)cursor->pVtab)->module;
	int code = SQLITE_OK, n = 0;

	(void)text;
	(void)argc;
	/* Bounds that are no integers (a REAL, a text) are left to SQLite, which checks each row again. */
	c->low = 0;
	c->high = INT64_MAX;
	if (number & 5) {
		if (sqlite3_value_type(argv[n]) == SQLITE_INTEGER) {
			c->low = sqlite3_value_int64(argv[n]);
			if (number & 4)
				c->high = c->low;
		}
		n++;
	}
	if (number & 2 && sqlite3_value_type(argv[n]) == SQLITE_INTEGER && sqlite3_value_int64(argv[n]) < c->high)
		c->high = sqlite3_value_int64(argv[n]);
	if (!c->blocks)
		code = sqlite3_prepare_v2(m->db, "SELECT id, data FROM blocks WHERE last_ns>=? AND first_ns<=? "
					  "ORDER BY id", -1, &c->blocks, NULL);
	if (code != SQLITE_OK)
		return code;
	sqlite3_reset(c->blocks);
	sqlite3_bind_int64(c->blocks, 1, c->low);
	sqlite3_bind_int64(c->blocks, 2, c->high);
	c->at = c->count = 0;
	c->rowid = 0;
	c->end = false;
	return settle(c);
}

static int samples__next(sqlite3_vtab_cursor *cursor)
{
	struct samples_cursor *c = (struct samples_cursor *)cursor;

	c->at++;
	c->rowid++;
	return settle(c);
}

static int samples__eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct samples_cursor *)cursor)->end;
}

/* The innermost frame of code; 0: the stack has none. */
static uint32_t code_of(const struct recording_tables *t, uint32_t stack)
{
	while (stack && frame__part(&t->frames[t->stacks[stack].frame], ROWS_BY_METHOD) != PART_OWN)
		stack = t->stacks[stack].parent;
	return t->stacks[stack].frame;
}

/* The innermost frame of Ruby code, for whose line it counts; 0: the stack has none. */
static uint32_t ruby_of(const struct recording_tables *t, uint32_t stack)
{
	enum frame_part part = PART_OF_CALLER;

	while (stack && (part = frame__part(&t->frames[t->stacks[stack].frame], ROWS_BY_LINE)) == PART_OF_CALLER)
		stack = t->stacks[stack].parent;
	return part == PART_OWN ? t->stacks[stack].frame : 0;
}

static void give_text(sqlite3_context *to, const char *text)
{
	/* The tables can be loaded anew while SQLite has the text. */
	if (text)
		sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

static void give_code(sqlite3_context *to, const struct recording_tables *t, uint32_t frame, int column)
{
	const struct frame *f = &t->frames[frame];

	if (!frame)
		return;
	if (column == COLUMN_METHOD || column == COLUMN_RUBY_METHOD)
		give_text(to, t->texts[frame]);
	else if ((column == COLUMN_PATH || column == COLUMN_RUBY_PATH) && *f->path)
		give_text(to, f->path);
	else if ((column == COLUMN_LINE || column == COLUMN_RUBY_LINE) && f->line)
		sqlite3_result_int(to, f->line);
}

static void give_thread(sqlite3_context *to, const struct recording_tables *t, uint32_t id, int column)
{
	const struct thread_entry *thread = &t->threads[id];
	const struct process_entry *p = &t->processes[thread->process];
	const struct frame *f = &t->frames[thread->frame];

	switch (column) {
	case COLUMN_PROCESS:
		sqlite3_result_int64(to, thread->process);
		break;
	case COLUMN_PID:
		sqlite3_result_int(to, p->pid);
		break;
	case COLUMN_COMMAND:
		give_text(to, p->command);
		break;
	case COLUMN_CGROUP:
		if (*p->cgroup)
			give_text(to, p->cgroup);
		break;
	case COLUMN_REVISION:
		give_text(to, p->commit);
		break;
	case COLUMN_THREAD:
		sqlite3_result_int64(to, id);
		break;
	case COLUMN_TID:
		sqlite3_result_int64(to, f->tid);
		break;
	default:
		give_text(to, f->name);
	}
}

/* Without a trace, labels of these names stand for one. */
static void give_trace(sqlite3_context *to, const struct recording_tables *t, const struct recording_sample *s, enum trace_part part)
{
	char text[TRACE_TEXT_SIZE];

	if (trace__text(&s->context, part, text)) {
		sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
		return;
	}
	for (uint32_t at = trace__is_set(&s->context) ? 0 : s->labels; at; at = t->stacks[at].parent) {
		const struct frame *f = &t->frames[t->stacks[at].frame];

		if (strcmp(f->key, trace_labels[part]))
			continue;
		if (f->known == KNOWN)
			give_text(to, f->name);
		return;
	}
}

static int samples__column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
	struct samples_cursor *c = (struct samples_cursor *)cursor;
	const struct module *m = ((struct samples_vtab *)cursor->pVtab)->module;
	const struct recording_tables *t = &m->tables;
	const struct recording_sample *s = &c->codec.samples[c->at];

	switch (column) {
	case COLUMN_TIME:
		sqlite3_result_int64(to, (sqlite3_int64)s->time);
		break;
	case COLUMN_SECONDS:
		sqlite3_result_double(to, (double)((int64_t)s->time - m->begin) / 1e9);
		break;
	case COLUMN_MODE:
		give_text(to, t->modes[s->mode].name);
		break;
	case COLUMN_STATE:
		give_text(to, t->states[s->state]);
		break;
	case COLUMN_METHOD:
	case COLUMN_PATH:
	case COLUMN_LINE:
		give_code(to, t, code_of(t, s->stack), column);
		break;
	case COLUMN_RUBY_METHOD:
	case COLUMN_RUBY_PATH:
	case COLUMN_RUBY_LINE:
		give_code(to, t, ruby_of(t, s->stack), column);
		break;
	case COLUMN_BELOW:
		if (s->stack && frame_kind__is_below(t->frames[t->stacks[s->stack].frame].kind))
			give_text(to, t->texts[t->stacks[s->stack].frame]);
		break;
	case COLUMN_VALUE:
		sqlite3_result_int64(to, (sqlite3_int64)s->value);
		break;
	case COLUMN_COUNT:
		sqlite3_result_int64(to, (sqlite3_int64)s->count);
		break;
	case COLUMN_STACK:
		sqlite3_result_int64(to, s->stack);
		break;
	case COLUMN_LABELS:
		if (s->labels)
			sqlite3_result_int64(to, s->labels);
		break;
	case COLUMN_FIBER:
		if (s->fiber)
			sqlite3_result_int64(to, s->fiber);
		break;
	case COLUMN_TRACE:
		give_trace(to, t, s, TRACE_ID);
		break;
	case COLUMN_SPAN:
		give_trace(to, t, s, TRACE_SPAN);
		break;
	default:
		give_thread(to, t, s->thread, column);
	}
	return SQLITE_OK;
}

static int samples__rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = ((struct samples_cursor *)cursor)->rowid;
	return SQLITE_OK;
}

/* -- functions --------------------------------------------------------------------------------- */

/* The stack that a function's first argument is; 0: none, or an error was given. */
static uint32_t stack_argument(sqlite3_context *to, sqlite3_value *value)
{
	struct module *m = sqlite3_user_data(to);
	int64_t id = sqlite3_value_int64(value);
	char *message = NULL;

	if (load(m, &message)) {
		sqlite3_result_error(to, message ? message : "out of memory", -1);
		sqlite3_result_error_code(to, SQLITE_CORRUPT_VTAB);
		sqlite3_free(message);
		return 0;
	}
	return id > 0 && id < m->tables.stack_count ? (uint32_t)id : 0;
}

/* label(labels, 'request'): its value; NULL: it is not set. */
static void label_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]);
	const struct recording_tables *t = &((struct module *)sqlite3_user_data(to))->tables;
	const char *key = (const char *)sqlite3_value_text(argv[1]);

	(void)argc;
	for (; stack && key; stack = t->stacks[stack].parent) {
		const struct frame *f = &t->frames[t->stacks[stack].frame];

		if (f->kind != FRAME_LABEL || strcmp(f->key, key))
			continue;
		if (f->known == KNOWN)
			give_text(to, f->name);
		return;
	}
}

/* method_of(stack), path_of(stack): of its innermost frame of code. */
static void method_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]);
	const struct recording_tables *t = &((struct module *)sqlite3_user_data(to))->tables;

	(void)argc;
	if (stack)
		give_code(to, t, code_of(t, stack), COLUMN_METHOD);
}

static void path_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]);
	const struct recording_tables *t = &((struct module *)sqlite3_user_data(to))->tables;

	(void)argc;
	if (stack)
		give_code(to, t, code_of(t, stack), COLUMN_PATH);
}

/* parent_of_gc(stack): the stack below which the collector runs; NULL: it does not run. */
static void gc_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]);
	const struct recording_tables *t = &((struct module *)sqlite3_user_data(to))->tables;

	(void)argc;
	if (stack && t->frames[t->stacks[stack].frame].kind == FRAME_GC)
		sqlite3_result_int64(to, t->stacks[stack].parent);
}

/* stack_text(stack): "outer;inner". */
static void stack_function(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	uint32_t stack = stack_argument(to, argv[0]), depth;
	const struct recording_tables *t = &((struct module *)sqlite3_user_data(to))->tables;
	struct text text = { .limit = 1 << 20 };
	uint32_t *path;

	(void)argc;
	if (!stack)
		return;
	depth = t->stacks[stack].depth;
	path = malloc(depth * sizeof(*path));
	for (uint32_t i = depth; path && i-- > 0; stack = t->stacks[stack].parent)
		path[i] = t->stacks[stack].frame;
	for (uint32_t i = 0; path && i < depth; i++) {
		if (i)
			text__adds(&text, ";");
		text__add_folded(&text, t->texts[path[i]]);
	}
	if (!path || text.failed)
		sqlite3_result_error_nomem(to);
	else
		give_text(to, text__string(&text));
	free(path);
	text__free(&text);
}

/* -- views ------------------------------------------------------------------------------------- */

/* Amounts of each stack, and of each method in it once. */
#define SUMS "SELECT mode, stack, sum(value) AS value, sum(count) AS count, count(*) AS samples FROM samples GROUP BY 1, 2"
#define METHODS \
	"WITH RECURSIVE sums AS MATERIALIZED (" SUMS "), up(mode, stack, node, value, count) AS (" \
	"SELECT mode, stack, stack, value, count FROM sums WHERE stack > 0 UNION ALL " \
	"SELECT mode, stack, parent, value, count FROM up JOIN stacks s ON s.id = up.node WHERE s.parent > 0), " \
	"once AS (SELECT DISTINCT mode, stack, method_of(node) AS method, path_of(node) AS path, value, count FROM up) "

/* What the time of requests is on average. */
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

static void free_module(void *context)
{
	struct module *m = context;

	if (m->loaded)
		recording_tables__free(&m->tables);
	free(m);
}

int samples_table__register(sqlite3 *db)
{
	static const sqlite3_module samples = {
		.iVersion = 0,
		.xConnect = samples__connect,
		.xBestIndex = samples__best_index,
		.xDisconnect = vtab__disconnect,
		.xOpen = samples__open,
		.xClose = samples__close,
		.xFilter = samples__filter,
		.xNext = samples__next,
		.xEof = samples__eof,
		.xColumn = samples__column,
		.xRowid = samples__rowid,
	};
	static const struct {
		const char *name;
		int arguments;
		void (*call)(sqlite3_context *to, int argc, sqlite3_value **argv);
	} functions[] = {
		{ "label", 2, label_function }, { "method_of", 1, method_function }, { "path_of", 1, path_function },
		{ "parent_of_gc", 1, gc_function }, { "stack_text", 1, stack_function },
	};
	struct module *m = calloc(1, sizeof(*m));
	int code;

	if (!m)
		return SQLITE_NOMEM;
	m->db = db;
	/* The module owns `m`, also if this fails. */
	code = sqlite3_create_module_v2(db, "samples", &samples, m, free_module);
	if (code == SQLITE_OK)
		code = requests_table__register(db);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && code == SQLITE_OK; i++)
		code = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
						  SQLITE_UTF8 | SQLITE_INNOCUOUS, m, functions[i].call, NULL, NULL, NULL);
	for (int i = 0; code == SQLITE_OK && samples_views[i][0]; i++) {
		char *sql = sqlite3_mprintf("CREATE TEMP VIEW IF NOT EXISTS %s AS %s", samples_views[i][0],
					    samples_views[i][1]);

		code = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(sql);
	}
	return code;
}
