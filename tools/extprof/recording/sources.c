/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "recording/schema.h"

uint64_t source__hash(const char *text, size_t length)
{
	uint64_t hash = (uint64_t)adler32(1, (const Bytef *)text, (uInt)length) << 32 | crc32(0, (const Bytef *)text, (uInt)length);

	hash &= INT64_MAX;
	return hash ? hash : 1;
}

static int damaged(struct diag *d)
{
	return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording is damaged: a source file is not as expected");
}

static int take_text(sqlite3_stmt *s, struct recording_source_file *f, struct diag *d)
{
	const void *data = sqlite3_column_blob(s, 4);
	uLongf length;

	if (!data)
		return 0;
	if (sqlite3_column_int64(s, 3) < 0 || sqlite3_column_int64(s, 3) > RECORDING_SOURCE_MAX)
		return damaged(d);
	f->length = (size_t)sqlite3_column_int64(s, 3);
	f->text = malloc(f->length + 1);
	if (!f->text)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for a source file");
	length = (uLongf)f->length;
	if (uncompress((Bytef *)f->text, &length, data, (uLong)sqlite3_column_bytes(s, 4)) != Z_OK || length != f->length ||
	    source__hash(f->text, f->length) != f->hash)
		return damaged(d);
	f->text[f->length] = '\0';
	return 0;
}

static int take_row(sqlite3_stmt *s, struct recording_source_file *f, struct diag *d)
{
	f->size = (uint64_t)sqlite3_column_int64(s, 0);
	f->time = (uint64_t)sqlite3_column_int64(s, 1);
	f->hash = (uint64_t)sqlite3_column_int64(s, 2);
	return take_text(s, f, d);
}

int recording_sources__check(struct recording_reader *r, struct diag *d)
{
	sqlite3 *db = recording_reader__database(r);
	sqlite3_stmt *s = NULL;
	int code, err = 0;

	if (recording_reader__version(r) < 2)
		return 0;
	code = sqlite3_prepare_v2(db, "SELECT size, time_ns, hash, length, data, text FROM sources LEFT JOIN strings ON "
				  "strings.id=path", -1, &s, NULL);
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct recording_source_file f = { 0 };

		code = SQLITE_OK;
		/* A path that is no text of the recording. */
		err = sqlite3_column_type(s, 5) == SQLITE_NULL ? damaged(d) : take_row(s, &f, d);
		recording_source__free(&f);
	}
	if (!err && code != SQLITE_DONE)
		err = schema__fail(db, code, DIAG_RECORDING, "the recording cannot be read", d);
	sqlite3_finalize(s);
	return err;
}

int recording_source__read(struct recording_reader *r, const char *path, struct recording_source_file *f, struct diag *d)
{
	sqlite3 *db = recording_reader__database(r);
	sqlite3_stmt *s = NULL;
	int code, err = -ENOENT;

	memset(f, 0, sizeof(*f));
	/* Recordings of version 1 have nothing of files. */
	if (recording_reader__version(r) < 2)
		return -ENOENT;
	code = sqlite3_prepare_v2(db, "SELECT size, time_ns, hash, length, data FROM sources JOIN strings ON strings.id=path "
				  "WHERE text=? LIMIT 1", -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC);
	if (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		f->path = path;
		err = take_row(s, f, d);
	} else if (code != SQLITE_DONE) {
		err = schema__fail(db, code, DIAG_RECORDING, "the recording cannot be read", d);
	}
	sqlite3_finalize(s);
	if (err)
		recording_source__free(f);
	return err;
}

void recording_source__free(struct recording_source_file *f)
{
	free(f->text);
	memset(f, 0, sizeof(*f));
}
