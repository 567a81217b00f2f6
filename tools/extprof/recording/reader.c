/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "recording/schema.h"
#include "recording/sources.h"

/* Steps of SQLite between two looks at the deadline: less than a millisecond. */
#define STEPS 10000
#define CACHE_KIB 8192
#define SECOND 1000000000ull

struct recording_reader {
	sqlite3 *db;
	struct block_codec codec;
	struct deadline *deadline;
	struct text name;
	char *path;
	int version;		/* of the tables */
	bool ended;
	bool wal_missing;
	uint64_t begin, wall;
	char host[HOST_NAME_MAX + 1];
	int64_t last_block;	/* the largest id of one when it was opened first */
};

static int fail(struct recording_reader *r, int code, const char *what, struct diag *d)
{
	if (code == SQLITE_INTERRUPT && r->deadline)
		return diag__set(d, DIAG_RECORDING, ETIME, "%s: it takes too long, or it was to end", what);
	return schema__fail(r->db, code, DIAG_RECORDING, what, d);
}

/* The header of a database file says whether a log beside it belongs to it.  0 or negative errno. */
static int look_at_header(struct recording_reader *r, const char *path, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	char header[100], *wal = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return diag__set(d, DIAG_RECORDING, errno, "cannot open %s: %s", path, strerror(errno));
	n = fstat(fd, &st) ? -1 : S_ISREG(st.st_mode) ? pread(fd, header, sizeof(header), 0) : 0;
	if (n < (ssize_t)sizeof(header) || memcmp(header, "SQLite format 3", 16))
		err = diag__set(d, DIAG_RECORDING, EBADMSG, "%s is no recording: it is no SQLite database", path);
	else if (header[18] == 2 || header[19] == 2)
		err = asprintf(&wal, "%s-wal", path) < 0 ?
		      diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recording") : 0;
	if (wal)
		r->wal_missing = access(wal, F_OK);
	free(wal);
	close(fd);
	return err;
}

static int on_progress(void *context)
{
	return deadline__over(context);
}

int recording_reader__harden(sqlite3 *db, struct deadline *deadline)
{
	static const struct {
		int id, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 8 << 20 }, { SQLITE_LIMIT_SQL_LENGTH, 100000 }, { SQLITE_LIMIT_COLUMN, 100 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 100 }, { SQLITE_LIMIT_COMPOUND_SELECT, 50 },
		{ SQLITE_LIMIT_VDBE_OP, 100000 }, { SQLITE_LIMIT_FUNCTION_ARG, 32 }, { SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 }, { SQLITE_LIMIT_VARIABLE_NUMBER, 100 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 }, { SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	static const struct {
		int option, value;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 }, { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0 }, { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
	};
	char pragmas[160];
	int code = SQLITE_OK;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(db, limits[i].id, limits[i].value);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]) && code == SQLITE_OK; i++)
		code = sqlite3_db_config(db, options[i].option, options[i].value, NULL);
	if (deadline)
		sqlite3_progress_handler(db, STEPS, on_progress, deadline);
	snprintf(pragmas, sizeof(pragmas), "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; "
		 "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-%d", CACHE_KIB);
	return code == SQLITE_OK ? sqlite3_exec(db, pragmas, NULL, NULL, NULL) : code;
}

/* The first number of a statement's first row, -1: there is none. */
static int64_t first_number(struct recording_reader *r, const char *sql, int *code)
{
	sqlite3_stmt *s = NULL;
	int64_t number = -1;

	*code = sqlite3_prepare_v2(r->db, sql, -1, &s, NULL);
	if (*code == SQLITE_OK && (*code = sqlite3_step(s)) == SQLITE_ROW) {
		number = sqlite3_column_int64(s, 0);
		*code = SQLITE_OK;
	}
	sqlite3_finalize(s);
	return number;
}

static int check_version(struct recording_reader *r, const char *path, struct diag *d)
{
	int code;
	int64_t application = first_number(r, "PRAGMA application_id", &code), version;

	if (code != SQLITE_OK)
		return fail(r, code, "the recording cannot be read", d);
	if (!application && !first_number(r, "SELECT count(*) FROM sqlite_schema", &code) && code == SQLITE_OK)
		return diag__set(d, DIAG_RECORDING, ENODATA,
				 "%s has nothing: its log, a file with -wal behind the name, is missing, or extprof ended when it made the file", path);
	if (application != RECORDING_APPLICATION_ID)
		return diag__set(d, DIAG_RECORDING, EBADMSG, "%s is a database, but no recording of extprof", path);
	version = first_number(r, "PRAGMA user_version", &code);
	if (code != SQLITE_OK)
		return fail(r, code, "the recording cannot be read", d);
	r->version = (int)version;
	if (version >= 1 && version <= RECORDING_VERSION)
		return 0;
	diag__set(d, DIAG_RECORDING, EBADMSG, "%s has version %lld of the tables, and this extprof reads versions 1 to %d",
		  path, (long long)version, RECORDING_VERSION);
	diag__hint(d, "read it with the extprof that recorded it");
	return -EBADMSG;
}

/* Open the file and check its tables. */
static int open_file(struct recording_reader *r, struct diag *d)
{
	const char *path = r->path;
	int err, code;

	if (block_codec__init(&r->codec))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recording");
	err = look_at_header(r, path, d);
	if (err)
		return err;
	code = sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	if (code == SQLITE_OK)
		code = recording_reader__harden(r->db, r->deadline);
	/* Until it is closed all is read as it was at one moment: others may write. */
	if (code == SQLITE_OK)
		code = sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL);
	if (code != SQLITE_OK) {
		err = fail(r, code, "the recording cannot be opened", d);
		if ((code & 0xff) == SQLITE_CANTOPEN && !r->wal_missing)
			diag__hint(d, "it was not ended: copy it with its -wal file into a folder that you may write to");
		return err;
	}
	err = check_version(r, path, d);
	return err ? err : schema__check(r->db, r->version, d);
}

/* Read what stays known while the reader sleeps: when it began and its host. */
static int look_at_begin(struct recording_reader *r, struct diag *d)
{
	uint64_t wall = (uint64_t)recording_reader__number(r, "started_unix_ns");
	uint64_t seconds = (uint64_t)recording_reader__number(r, "started_unix_s");
	char *host = recording_reader__text(r, "mode.1.host");
	int code;

	text__clean(r->host, sizeof(r->host), host ? host : "");
	free(host);
	r->ended = recording_reader__number(r, "ended") == 1;
	r->begin = (uint64_t)recording_reader__number(r, "started_monotonic_ns");
	/* Older recordings have the seconds alone. */
	r->wall = wall ? wall : seconds < INT64_MAX / SECOND ? seconds * SECOND : 0;
	r->last_block = first_number(r, "SELECT max(id) FROM blocks", &code);
	return code == SQLITE_OK ? 0 : fail(r, code, "the recording cannot be read", d);
}

void recording_reader__sleep(struct recording_reader *r)
{
	sqlite3_close(r->db);
	r->db = NULL;
	block_codec__free(&r->codec);
}

bool recording_reader__awake(const struct recording_reader *r)
{
	return r->db;
}

int recording_reader__wake(struct recording_reader *r, struct diag *d)
{
	int version = r->version, err;

	if (r->db)
		return 0;
	err = open_file(r, d);
	if (!err && (r->version != version || r->begin != (uint64_t)recording_reader__number(r, "started_monotonic_ns")))
		err = diag__set(d, DIAG_RECORDING, ESTALE, "another file has taken the place of %s meanwhile", recording_reader__name(r));
	if (err) {
		recording_reader__sleep(r);
		r->version = version;
	}
	return err;
}

int recording_reader__open(struct recording_reader **reader, const char *path, struct deadline *deadline,
			   struct diag *d)
{
	struct recording_reader *r = calloc(1, sizeof(*r));
	int err;

	*reader = NULL;
	if (r) {
		r->deadline = deadline;
		r->path = strdup(path);
		text__add_clean(&r->name, path, strlen(path), PATH_MAX);
	}
	if (!r || !r->path || r->name.failed)
		err = diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recording");
	else
		err = open_file(r, d);
	if (!err)
		err = look_at_begin(r, d);
	if (err)
		recording_reader__close(r);
	else
		*reader = r;
	return err;
}

const char *recording_reader__host(const struct recording_reader *r)
{
	return r->host;
}

const char *recording_reader__name(const struct recording_reader *r)
{
	return text__string(&r->name);
}

bool recording_reader__has_traces(const struct recording_reader *r)
{
	sqlite3_stmt *s = NULL;
	bool yes = false;

	/* The first byte is the format. */
	if (sqlite3_prepare_v2(r->db, "SELECT DISTINCT substr(data, 1, 1) FROM blocks", -1, &s, NULL) == SQLITE_OK)
		while (!yes && sqlite3_step(s) == SQLITE_ROW) {
			const uint8_t *format = sqlite3_column_blob(s, 0);

			yes = format && sqlite3_column_bytes(s, 0) == 1 && block_format__has_traces(*format);
		}
	sqlite3_finalize(s);
	return yes;
}

bool recording_reader__has_mode(const struct recording_reader *r, const char *mode)
{
	sqlite3_stmt *s = NULL;
	bool has = sqlite3_prepare_v2(r->db, "SELECT 1 FROM modes WHERE name=?", -1, &s, NULL) == SQLITE_OK &&
		   sqlite3_bind_text(s, 1, mode, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW;

	sqlite3_finalize(s);
	return has;
}

int recording_reader__version(const struct recording_reader *r)
{
	return r->version;
}

void recording_reader__close(struct recording_reader *r)
{
	if (!r)
		return;
	recording_reader__sleep(r);
	text__free(&r->name);
	free(r->path);
	free(r);
}

uint64_t recording_reader__begin(const struct recording_reader *r)
{
	return r->begin;
}

uint64_t recording_reader__wall(const struct recording_reader *r)
{
	return r->wall;
}

sqlite3 *recording_reader__database(struct recording_reader *r)
{
	return r->db;
}

bool recording_reader__ended(const struct recording_reader *r, const char **why)
{
	*why = r->ended ? NULL : r->wal_missing ?
	       "the recording did not end, and its -wal file is not beside it: the last part may be missing" :
	       "the recording did not end, or is still being made: its last seconds and its account are missing";
	return r->ended;
}

/* The row of a key.  NULL: there is none.  The caller finalizes it. */
static sqlite3_stmt *meta(struct recording_reader *r, const char *key)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(r->db, "SELECT value FROM meta WHERE key=?", -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		return s;
	sqlite3_finalize(s);
	return NULL;
}

int64_t recording_reader__number(struct recording_reader *r, const char *key)
{
	sqlite3_stmt *s = meta(r, key);
	int64_t number = s ? sqlite3_column_int64(s, 0) : 0;

	sqlite3_finalize(s);
	return number < 0 ? 0 : number;
}

double recording_reader__real(struct recording_reader *r, const char *key)
{
	sqlite3_stmt *s = meta(r, key);
	double number = s ? sqlite3_column_double(s, 0) : 0;

	sqlite3_finalize(s);
	return number;
}

char *recording_reader__text(struct recording_reader *r, const char *key)
{
	sqlite3_stmt *s = meta(r, key);
	const char *data = s ? (const char *)sqlite3_column_text(s, 0) : NULL;
	struct text t = { 0 };

	if (data)
		text__add_clean(&t, data, (size_t)sqlite3_column_bytes(s, 0), RECORDING_TEXT_MAX);
	sqlite3_finalize(s);
	if (data && !t.data && !t.failed)
		return strdup("");
	return t.data;
}

int recording_reader__load(struct recording_reader *r, struct recording_tables *t, struct diag *d)
{
	int err = recording_tables__load(t, r->db, d);

	if (!err)
		snprintf(t->host, sizeof(t->host), "%s", r->host);
	return err;
}

/* -- samples ----------------------------------------------------------------------------------- */

/* The row of a block, decoded and checked against what the row says of it.  How many samples, or negative errno. */
static long read_block(struct recording_reader *r, sqlite3_stmt *row, const struct recording_tables *t)
{
	const void *data = sqlite3_column_blob(row, 3);
	int64_t first = sqlite3_column_int64(row, 0), last = sqlite3_column_int64(row, 1);
	long count = data ? block__decode(&r->codec, data, (size_t)sqlite3_column_bytes(row, 3)) : -EBADMSG;

	if (count < 0)
		return count;
	if (count != sqlite3_column_int64(row, 2))
		return -EBADMSG;
	for (long i = 0; i < count; i++) {
		const struct recording_sample *s = &r->codec.samples[i];

		if ((int64_t)s->time < first || (int64_t)s->time > last || !recording_tables__has(t, s))
			return -EBADMSG;
	}
	return count;
}

bool recording_reader__over(struct recording_reader *r)
{
	return r->deadline && deadline__over(r->deadline);
}

int recording_reader__failed(int err, struct diag *d)
{
	if (err == -ETIME)
		return diag__set(d, DIAG_RECORDING, ETIME, "the recording cannot be read: it takes too long, or it was to "
				 "end");
	return diag__set(d, DIAG_INTERNAL, -err, "the samples cannot be added up: %s", strerror(-err));
}

int recording_reader__samples(struct recording_reader *r, const struct recording_tables *t, uint64_t since,
			      uint64_t until,
			      int (*take)(void *context, const struct recording_sample *samples, uint32_t count),
			      void *context, struct diag *d)
{
	sqlite3_stmt *row = NULL;
	int code, err = 0;

	code = sqlite3_prepare_v2(r->db, "SELECT first_ns, last_ns, samples, data, id FROM blocks "
				  "WHERE last_ns>=? AND first_ns<=? AND id<=? ORDER BY id", -1, &row, NULL);
	if (code == SQLITE_OK) {
		sqlite3_bind_int64(row, 3, r->last_block);
		sqlite3_bind_int64(row, 1, since > INT64_MAX ? INT64_MAX : (int64_t)since);
		sqlite3_bind_int64(row, 2, until > INT64_MAX ? INT64_MAX : (int64_t)until);
	}
	while (!err && code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
		long count = read_block(r, row, t), kept = 0;

		code = SQLITE_OK;
		if (count < 0) {
			err = diag__set(d, DIAG_RECORDING, EBADMSG, "the recording is damaged: block %lld cannot be read",
					(long long)sqlite3_column_int64(row, 4));
			break;
		}
		for (long i = 0; i < count; i++)
			if (r->codec.samples[i].time >= since && r->codec.samples[i].time <= until)
				r->codec.samples[kept++] = r->codec.samples[i];
		err = recording_reader__over(r) ? -ETIME : kept ? take(context, r->codec.samples, (uint32_t)kept) : 0;
		if (err)
			recording_reader__failed(err, d);
	}
	if (!err && code != SQLITE_DONE)
		err = fail(r, code, "the recording cannot be read", d);
	sqlite3_finalize(row);
	return err;
}

static int count_samples(void *context, const struct recording_sample *samples, uint32_t count)
{
	struct recording_check *check = context;

	for (uint32_t i = 0; i < count; i++) {
		if (!check->samples || samples[i].time < check->first)
			check->first = samples[i].time;
		if (samples[i].time > check->last)
			check->last = samples[i].time;
		check->samples++;
	}
	check->blocks++;
	return 0;
}

/* SQLite's own check of its pages, indices and rows. */
static int check_pages(struct recording_reader *r, struct diag *d)
{
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(r->db, "PRAGMA quick_check(1)", -1, &s, NULL), err = 0;

	if (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(s, 0);

		code = SQLITE_OK;
		if (!text || strcmp(text, "ok")) {
			char clean[256];

			text__clean(clean, sizeof(clean), text ? text : "");
			err = diag__set(d, DIAG_RECORDING, EBADMSG, "the recording is damaged: %s", clean);
		}
	}
	if (!err && code != SQLITE_OK)
		err = fail(r, code, "the recording cannot be checked", d);
	sqlite3_finalize(s);
	return err;
}

int recording_reader__verify(struct recording_reader *r, struct recording_check *check, struct diag *d)
{
	struct recording_tables t = { 0 };
	int code, err;

	memset(check, 0, sizeof(*check));
	err = check_pages(r, d);
	if (!err)
		err = recording_tables__load(&t, r->db, d);
	if (!err)
		err = recording_reader__samples(r, &t, 0, UINT64_MAX, count_samples, check, d);
	if (!err)
		err = recording_sources__check(r, d);
	if (!err)
		check->bytes = (uint64_t)first_number(r, "SELECT total(length(data)) FROM blocks", &code);
	recording_tables__free(&t);
	return err;
}
