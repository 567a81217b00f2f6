/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/redact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "frames/frame.h"
#include "frames/owner.h"
#include "native/native.h"
#include "profile/command_name.h"
#include "recording/block.h"
#include "recording/schema.h"
#include "recording/writer.h"

#define COLUMNS_MAX 20

/* How a column is copied. */
enum column {
	AS_IT_IS,	/* a number, a blob, or a text of extprof's own */
	TEXT,		/* the number of a text that tells nothing */
	COMMAND, CGROUP, SOURCE_PATH,	/* the number of such a text */
	OF_FRAME,	/* the number of a text, by the kind of the frame */
	OF_EVENT,	/* the same by the kind of the event */
	BLOCK,		/* samples */
};

static const struct table {
	const char *name;
	uint8_t columns[COLUMNS_MAX];	/* as the schema has them; those that are not named are AS_IT_IS */
	uint32_t without;		/* the table stays empty if any of that is redacted */
} tables[] = {
	{ .name = "modes" }, { .name = "kinds" }, { .name = "states" },
	{ .name = "processes", .columns = { [5] = COMMAND, [6] = TEXT, [7] = CGROUP, [8] = TEXT } },
	{ .name = "threads" },
	{ .name = "frames", .columns = { [2] = OF_FRAME, [3] = OF_FRAME, [7] = OF_FRAME, [9] = OF_FRAME, [10] = OF_FRAME } },
	{ .name = "stacks" }, { .name = "blocks", .columns = { [4] = BLOCK } },
	{ .name = "pauses", .columns = { [9] = TEXT } },
	{ .name = "events", .columns = { [3] = TEXT, [4] = OF_EVENT } },
	{ .name = "thread_accounts", .columns = { [4] = TEXT, [5] = TEXT } },
	{ .name = "thread_states" },
	{ .name = "sources", .columns = { [1] = SOURCE_PATH }, .without = REDACT_PATHS },
	{ .name = "figures" }, { .name = "heaps" },
	{ .name = "accounts" },
};

/* Columns that say how others are copied: of frames, */
enum { FRAME_KIND = 1, FRAME_NAME = 2, FRAME_PATH = 3, FRAME_MODULE = 7, FRAME_KEY = 9, FRAME_WIDER = 10, FRAME_IS_KNOWN = 12 };
/* and of events. */
enum { EVENT_KIND = 3 };

struct redaction {
	uint32_t what;
	sqlite3 *from, *to;
	sqlite3_stmt *text;		/* of the recording: a text by its number */
	sqlite3_stmt *find, *put;	/* of the copy */
	struct strings folders, cgroups, values, files, traces[TRACE_PARTS];	/* by what they are replaced: their numbers */
	struct block_codec codec;	/* used if traces are redacted */
	struct diag *d;
};

static int fail(struct redaction *r, sqlite3 *db, int code)
{
	return db == r->to ? schema__fail(db, code, DIAG_OUTPUT, "the copy cannot be written", r->d) :
	       schema__fail(db, code, DIAG_RECORDING, "the recording cannot be read", r->d);
}

static int no_memory(struct redaction *r)
{
	return diag__set(r->d, DIAG_INTERNAL, ENOMEM, "out of memory for the copy");
}

/* -- texts ----------------------------------------------------------------------------------------- */

/* "NAME 3": the same text has the same number. */
static int add_number(struct strings *s, const char *name, const char *text, size_t length, struct text *out)
{
	uint32_t number = strings__number(s, text, length);

	if (number == MAP64_NONE)
		return -ENOMEM;
	text__addf(out, "%s%" PRIu32, name, number + 1);
	return 0;
}

/* The place in the path behind which it tells nothing, with what comes instead; NULL: there is none. */
static const char *public_part(const char *path, const char **instead)
{
	/* Not all of /usr: /usr/src/app is where images have the application. */
	static const char *const system[] = {
		"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/", "/usr/bin/", "/usr/sbin/", "/usr/share/",
	};
	static const char gems[] = "/gems/", bundler[] = "/bundler/gems/", ruby[] = "/lib/ruby/";
	const char *at = NULL;
	struct owner o;

	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		if (!strncmp(path, system[i], strlen(system[i])) && !strstr(path, "/../")) {
			*instead = "";
			return path;
		}
	owner__find(path, NULL, &o);
	*instead = "/redacted";
	if (o.kind == OWNER_GEM && o.root_length) {
		const char *name = o.root + o.root_length - 1;

		while (name > path && name[-1] != '/')
			name--;
		if (name - path >= (ptrdiff_t)strlen(bundler) && !strncmp(name - strlen(bundler), bundler, strlen(bundler)))
			return name - strlen(bundler);
		return name - path >= (ptrdiff_t)strlen(gems) ? name - strlen(gems) : NULL;
	}
	for (const char *next = path; o.kind == OWNER_STDLIB && (next = strstr(next, ruby)); next++)
		at = next;
	return at;
}

int redact__path(struct strings *folders, const char *path, struct text *out)
{
	static const char eval[] = "(eval at ";
	const char *instead, *part, *base, *line;
	int err;

	if (!*path || !strncmp(path, "<internal:", 10)) {
		text__adds(out, path);
		return 0;
	}
	line = strrchr(path, ':');
	if (!strncmp(path, eval, strlen(eval)) && line) {
		char *inner = strndup(path + strlen(eval), (size_t)(line - path) - strlen(eval));

		if (!inner)
			return -ENOMEM;
		text__adds(out, eval);
		/* That of an eval in an eval is as deep as the program likes. */
		err = strncmp(inner, eval, strlen(eval)) ? redact__path(folders, inner, out) : 0;
		/* The number of the line, and what follows. */
		text__addf(out, "%.*s", (int)strspn(line, ":0123456789)"), line);
		free(inner);
		return err;
	}
	part = public_part(path, &instead);
	if (part) {
		text__addf(out, "%s%s", instead, part);
		return 0;
	}
	base = strrchr(path, '/');
	if (!base) {
		text__adds(out, path);
		return 0;
	}
	err = add_number(folders, "/redacted/", path, (size_t)(base - path), out);
	text__adds(out, base);
	return err;
}

/* Characters that a path can follow: "LazyCompile:~render /app/page.js:12", "py::render:/app/page.py", "render(/app/page.js)". */
static const char before_path[] = " :~*^+(\"'=[<,";

/* Where a path in a name of a JIT begins, with that slash. */
static const char *begin_of_path(const char *name, const char *slash)
{
	const char *path = slash;

	if (path == name || strchr(before_path, path[-1]))
		return path;
	/* A folder can have blanks in its name, and no other sign tells where a relative path begins. */
	while (path > name && path[-1] != ':' && path[-1] != '(')
		path--;
	return path;
}

/* How long the path is: up to the next one that is absolute.  What is kept as it is ends before anything that can be before a
 * path: a relative one can follow. */
static size_t length_of_path(const char *path)
{
	const char *end = strchr(path, '/') + 1, *part, *instead;
	char *one;

	while (*end && !(strchr(before_path, *end) && end[1] == '/'))
		end++;
	one = strndup(path, (size_t)(end - path));
	part = one ? public_part(one, &instead) : NULL;
	if (part)
		end = path + (part - one) + strcspn(part, before_path);
	free(one);
	return (size_t)(end - path);
}

int redact__jit_name(struct strings *folders, const char *name, struct text *out)
{
	const char *slash;
	int err = 0;

	while (!err && (slash = strchr(name, '/'))) {
		const char *path = begin_of_path(name, slash);
		size_t length = length_of_path(path);
		char *one = strndup(path, length);

		text__add(out, name, (size_t)(path - name));
		err = one ? redact__path(folders, one, out) : -ENOMEM;
		free(one);
		name = path + length;
		/* The sign before the next one, so that this begins with its slash. */
		if (name[0] && name[1] == '/')
			text__add(out, name++, 1);
	}
	text__adds(out, name);
	return err;
}

/* A frame as its row has it. */
struct row_of_frame {
	int kind, known;
	const char *key;
	bool of_jit;
};

static int add_frame_text(struct redaction *r, const struct row_of_frame *f, int column, const char *text, struct text *out)
{
	bool paths = r->what & REDACT_PATHS;
	size_t length = strlen(text);

	if (column == FRAME_PATH || column == FRAME_MODULE) {
		if (paths)
			return redact__path(&r->folders, text, out);
	} else if (column == FRAME_WIDER && f->kind == FRAME_PROCESS) {
		if (paths)
			return add_number(&r->cgroups, "cgroup ", text, length, out);
	} else if (column == FRAME_NAME) {
		switch (f->kind) {
		case FRAME_NATIVE:
			if (paths && f->of_jit)
				return redact__jit_name(&r->folders, text, out);
			break;
		case FRAME_CGROUP:
			if (paths)
				return add_number(&r->cgroups, "cgroup ", text, length, out);
			break;
		case FRAME_LABEL:
			if (r->what & REDACT_LABELS && f->known == KNOWN && length)
				return add_number(&r->values, "value ", text, length, out);
			break;
		case FRAME_DETAIL:
			if (paths && !strcmp(f->key, "file"))
				return add_number(&r->files, "file ", text, length, out);
			/* Another program of the machine. */
			if (r->what & REDACT_ARGV && !strncmp(text, "woken by process ", 17))
				return add_number(&r->files, "woken by process ", text, length, out);
			break;
		}
	}
	text__adds(out, text);
	return 0;
}

/* -- rows ------------------------------------------------------------------------------------------ */

/* The text of a column that has its number, malloc'd; "": it has none.  NULL with r->d. */
static char *text_of(struct redaction *r, sqlite3_stmt *row, int column)
{
	const char *text = "";
	char *copy = NULL;

	sqlite3_bind_int64(r->text, 1, sqlite3_column_int64(row, column));
	if (sqlite3_column_type(row, column) != SQLITE_NULL)
		text = sqlite3_step(r->text) == SQLITE_ROW ? (const char *)sqlite3_column_text(r->text, 0) : NULL;
	if (!text)
		diag__set(r->d, DIAG_RECORDING, EBADMSG, "a text of the recording is missing");
	else if (!(copy = strdup(text)))
		no_memory(r);
	sqlite3_reset(r->text);
	return copy;
}

/* The number that a text has in the copy.  0 or -errno. */
static int number_of(struct redaction *r, const struct text *text, sqlite3_int64 *id)
{
	const char *string = text__string(text);
	int code;

	if (text->failed)
		return no_memory(r);
	sqlite3_bind_text(r->find, 1, string, -1, SQLITE_STATIC);
	code = sqlite3_step(r->find);
	*id = code == SQLITE_ROW ? sqlite3_column_int64(r->find, 0) : 0;
	sqlite3_reset(r->find);
	if (code == SQLITE_ROW)
		return 0;
	if (code != SQLITE_DONE)
		return fail(r, r->to, code);
	sqlite3_bind_text(r->put, 1, string, -1, SQLITE_STATIC);
	code = sqlite3_step(r->put);
	sqlite3_reset(r->put);
	*id = sqlite3_last_insert_rowid(r->to);
	return code == SQLITE_DONE ? 0 : fail(r, r->to, code);
}

static int add_text(struct redaction *r, sqlite3_stmt *row, int column, enum column how, const char *text, struct text *out)
{
	struct row_of_frame f;
	char *other, *module;
	int err;

	switch (how) {
	case COMMAND:
		r->what & REDACT_ARGV ? command_name__add(text, out) : text__adds(out, text);
		return 0;
	case CGROUP:
		if (r->what & REDACT_PATHS)
			return add_number(&r->cgroups, "cgroup ", text, strlen(text), out);
		break;
	case SOURCE_PATH:
		if (r->what & REDACT_PATHS)
			return redact__path(&r->folders, text, out);
		break;
	case OF_FRAME:
		other = text_of(r, row, FRAME_KEY);
		if (!other)
			return -EBADMSG;
		module = text_of(r, row, FRAME_MODULE);
		if (!module) {
			free(other);
			return -EBADMSG;
		}
		f = (struct row_of_frame){
			sqlite3_column_int(row, FRAME_KIND), sqlite3_column_int(row, FRAME_IS_KNOWN), other, !strcmp(module, NATIVE_JIT),
		};
		err = add_frame_text(r, &f, column, text, out);
		free(module);
		free(other);
		return err;
	case OF_EVENT:
		other = text_of(r, row, EVENT_KIND);
		if (!other)
			return -EBADMSG;
		/* A trigger names a process and the value of a label. */
		text__adds(out, !strcmp(other, RECORDING_TRIGGER) && r->what & (REDACT_ARGV | REDACT_LABELS) ? "a trigger" : text);
		free(other);
		return 0;
	default:
		break;
	}
	text__adds(out, text);
	return 0;
}

/* The number of an id as an id. */
static int number_id(struct redaction *r, struct trace_context *c, enum trace_part part)
{
	uint8_t *id = part == TRACE_ID ? c->trace : c->span;
	size_t size = part == TRACE_ID ? sizeof(c->trace) : sizeof(c->span);
	char text[TRACE_TEXT_SIZE];
	uint32_t number;

	if (!trace__text(c, part, text)) {
		/* A span of no trace is none, and somebody can have made it up. */
		memset(id, 0, size);
		return 0;
	}
	number = strings__number(&r->traces[part], text, strlen(text));
	if (number == MAP64_NONE)
		return no_memory(r);
	memset(id, 0, size);
	for (size_t i = 0; i < sizeof(number); i++)
		id[size - 1 - i] = (uint8_t)((number + 1) >> 8 * i);
	return 0;
}

static int copy_block(struct redaction *r, sqlite3_stmt *row, int column, sqlite3_stmt *to)
{
	const uint8_t *data = sqlite3_column_blob(row, column);
	int size = sqlite3_column_bytes(row, column), code, err = 0;
	long count, length;

	if (!(r->what & REDACT_TRACES) || !data || !size || !block_format__has_traces(*data)) {
		sqlite3_bind_value(to, column + 1, sqlite3_column_value(row, column));
		return 0;
	}
	count = block__decode(&r->codec, data, (size_t)size);
	for (long i = 0; i < count && !err; i++)
		for (int part = TRACE_PARTS - 1; part >= 0 && !err; part--)
			err = number_id(r, &r->codec.samples[i].context, (enum trace_part)part);
	if (err)
		return err;
	length = count > 0 ? block__encode(&r->codec, r->codec.samples, (uint32_t)count, r->codec.period) : count;
	if (length < 0)
		return diag__set(r->d, DIAG_RECORDING, EBADMSG, "a block of the recording is damaged");
	code = sqlite3_bind_blob(to, column + 1, r->codec.data, (int)length, SQLITE_TRANSIENT);
	return code == SQLITE_OK ? 0 : fail(r, r->to, code);
}

static int copy_column(struct redaction *r, sqlite3_stmt *row, int column, enum column how, sqlite3_stmt *to)
{
	struct text out = { 0 };
	sqlite3_int64 id = 0;
	char *text;
	int err;

	if (how == BLOCK)
		return copy_block(r, row, column, to);
	if (how == AS_IT_IS || sqlite3_column_type(row, column) == SQLITE_NULL) {
		sqlite3_bind_value(to, column + 1, sqlite3_column_value(row, column));
		return 0;
	}
	text = text_of(r, row, column);
	if (!text)
		return -EBADMSG;
	err = add_text(r, row, column, how, text, &out);
	if (err == -ENOMEM)
		no_memory(r);
	if (!err)
		err = number_of(r, &out, &id);
	if (!err)
		sqlite3_bind_int64(to, column + 1, id);
	text__free(&out);
	free(text);
	return err;
}

static int copy_rows(struct redaction *r, const struct table *t, sqlite3_stmt *from, sqlite3_stmt *to)
{
	int columns = sqlite3_column_count(from), code, err = 0;

	while (!err && (code = sqlite3_step(from)) == SQLITE_ROW) {
		for (int i = 0; i < columns && !err; i++)
			err = copy_column(r, from, i, i < COLUMNS_MAX ? t->columns[i] : AS_IT_IS, to);
		if (!err && (code = sqlite3_step(to)) != SQLITE_DONE)
			err = fail(r, r->to, code);
		sqlite3_reset(to);
		sqlite3_clear_bindings(to);
	}
	return err ? err : code == SQLITE_DONE ? 0 : fail(r, r->from, code);
}

static int copy_table(struct redaction *r, const struct table *t)
{
	sqlite3_stmt *from = NULL, *to = NULL;
	struct text sql = { 0 };
	char select[64];
	int code, err = 0;

	if (t->without & r->what)
		return 0;
	snprintf(select, sizeof(select), "SELECT * FROM %s", t->name);
	code = sqlite3_prepare_v2(r->from, select, -1, &from, NULL);
	/* The recording is of a version that has no such table. */
	if (code == SQLITE_ERROR)
		return 0;
	if (code != SQLITE_OK)
		return fail(r, r->from, code);
	text__addf(&sql, "INSERT INTO %s VALUES(", t->name);
	for (int i = 0; i < sqlite3_column_count(from); i++)
		text__adds(&sql, i ? ",?" : "?");
	text__adds(&sql, ")");
	if (sql.failed)
		err = no_memory(r);
	else if ((code = sqlite3_prepare_v2(r->to, text__string(&sql), -1, &to, NULL)) != SQLITE_OK)
		err = fail(r, r->to, code);
	if (!err)
		err = copy_rows(r, t, from, to);
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	text__free(&sql);
	return err;
}

/* -- meta ------------------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length >= n && !strcmp(text + length - n, end);
}

/* Texts that are not named here are not in the copy.  0: it is not to be written, 1: it is, or -errno. */
static int meta_text(struct redaction *r, const char *key, const char *value, struct text *out)
{
	static const struct {
		const char *end;	/* of the key */
		uint32_t without;	/* it is missing if any of that is redacted */
	} known[] = {
		{ "extprof", 0 }, { "groups", 0 }, { ".ruby_version", 0 }, { ".ruby_description", 0 }, { ".ended", 0 }, { ".source", 0 },
		{ ".host", REDACT_HOST }, { ".trigger", REDACT_ARGV | REDACT_LABELS }, { ".why_not_added", REDACT_PATHS | REDACT_ARGV },
		{ ".cwd", REDACT_PATHS }, { ".resource", REDACT_ALL },
	};

	if (ends_with(key, ".command")) {
		r->what & REDACT_ARGV ? command_name__add(value, out) : text__adds(out, value);
		return 1;
	}
	if (ends_with(key, ".executable") && r->what & REDACT_PATHS)
		return redact__path(&r->folders, value, out) ? -ENOMEM : 1;
	if (ends_with(key, ".executable")) {
		text__adds(out, value);
		return 1;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (ends_with(key, known[i].end) && !(known[i].without & r->what)) {
			text__adds(out, value);
			return 1;
		}
	return 0;
}

static int copy_meta_row(struct redaction *r, sqlite3_stmt *from, sqlite3_stmt *to)
{
	const char *key = (const char *)sqlite3_column_text(from, 0);
	struct text out = { 0 };
	int code, err = 1;

	if (!key)
		return 0;
	if (sqlite3_column_type(from, 1) == SQLITE_TEXT) {
		err = meta_text(r, key, (const char *)sqlite3_column_text(from, 1), &out);
		if (err > 0 && !out.failed)
			sqlite3_bind_text(to, 2, text__string(&out), -1, SQLITE_TRANSIENT);
	} else {
		sqlite3_bind_value(to, 2, sqlite3_column_value(from, 1));
	}
	if (err < 0 || out.failed)
		err = no_memory(r);
	text__free(&out);
	if (err <= 0)
		return err;
	sqlite3_bind_text(to, 1, key, -1, SQLITE_TRANSIENT);
	code = sqlite3_step(to);
	sqlite3_reset(to);
	return code == SQLITE_DONE ? 0 : fail(r, r->to, code);
}

static int copy_meta(struct redaction *r)
{
	sqlite3_stmt *from = NULL, *to = NULL;
	int code, err = 0;

	code = sqlite3_prepare_v2(r->from, "SELECT key, value FROM meta", -1, &from, NULL);
	if (code != SQLITE_OK)
		return fail(r, r->from, code);
	code = sqlite3_prepare_v2(r->to, "INSERT INTO meta VALUES(?,?)", -1, &to, NULL);
	if (code != SQLITE_OK)
		err = fail(r, r->to, code);
	while (!err && (code = sqlite3_step(from)) == SQLITE_ROW) {
		err = copy_meta_row(r, from, to);
		sqlite3_clear_bindings(to);
	}
	if (!err && code != SQLITE_DONE)
		err = fail(r, r->from, code);
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return err;
}

/* -- the file -------------------------------------------------------------------------------------- */

static int prepare(struct redaction *r, sqlite3 *db, const char *sql, sqlite3_stmt **s)
{
	int code = sqlite3_prepare_v2(db, sql, -1, s, NULL);

	return code == SQLITE_OK ? 0 : fail(r, db, code);
}

static int execute(struct redaction *r, sqlite3 *db, const char *sql)
{
	int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : fail(r, db, code);
}

static int copy_all(struct redaction *r)
{
	int err = prepare(r, r->from, "SELECT text FROM strings WHERE id=?", &r->text);

	if (!err)
		err = prepare(r, r->to, "SELECT id FROM strings WHERE text=?", &r->find);
	if (!err)
		err = prepare(r, r->to, "INSERT INTO strings(text) VALUES(?)", &r->put);
	if (!err)
		err = execute(r, r->to, "BEGIN");
	if (!err)
		err = copy_meta(r);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++)
		err = copy_table(r, &tables[i]);
	if (!err)
		err = execute(r, r->to, "COMMIT");
	sqlite3_finalize(r->text);
	sqlite3_finalize(r->find);
	sqlite3_finalize(r->put);
	return err;
}

int recording__redact(struct recording_reader *from, const char *path, uid_t uid, gid_t gid, uint32_t what, struct diag *d)
{
	struct redaction r = { .what = what, .from = recording_reader__database(from), .d = d };
	struct recording_writer *w = NULL;
	struct recording_check check;
	int err;

	/* A row that is not as it should be could have a text where a number is copied. */
	err = recording_reader__verify(from, &check, d);
	if (err)
		return err;
	if (block_codec__init(&r.codec)) {
		err = no_memory(&r);
		goto cleanup;
	}
	err = recording_writer__create(&w, path, uid, gid, 0, d);
	if (err)
		goto cleanup;
	r.to = recording_writer__database(w);
	/* The reader sees the recording as it was at one moment, also if it is being written. */
	err = copy_all(&r);
	if (!err && recording_writer__end(w))
		err = recording_writer__why(w, d);
	recording_writer__destroy(w);
	if (err)
		unlink(path);
cleanup:
	block_codec__free(&r.codec);
	for (int part = 0; part < TRACE_PARTS; part++)
		strings__free(&r.traces[part]);
	strings__free(&r.folders);
	strings__free(&r.cgroups);
	strings__free(&r.values);
	strings__free(&r.files);
	return err;
}
