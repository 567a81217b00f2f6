/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All outputs of a recording with names that somebody made up: each line of an input is a text of it, one after the other.
 * What comes out is clean, and is what a reader of the format takes; a page runs no script but its own.
 */
#include <fcntl.h>
#include <jansson.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/deadline.h"
#include "need.h"
#include "pprof.pb-c.h"
#include "recording/sqlite.h"
#include "recording_fixture.h"

#define PATH "fuzz_output.tmp"
#define UNPACKED_MAX (4u << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The recording as it is made, and how many scripts each output of it has. */
static char *whole;
static size_t whole_size;
static uint32_t scripts[32];

static uint32_t count_scripts(const char *text)
{
	uint32_t count = 0;

	for (; (text = strcasestr(text, "<script")); text++)
		count++;
	return count;
}

static void need_json(const char *text, size_t length, bool lines)
{
	while (length) {
		const char *end = lines ? memchr(text, '\n', length) : NULL;
		size_t n = end ? (size_t)(end - text) + 1 : length;
		json_error_t why;
		json_t *json = NULL;

		/* The statement that rows are of. */
		if (!lines || (n > 1 && strncmp(text, "INSERT INTO extprof_", 20))) {
			json = json_loadb(text, n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &why);
			if (!json)
				fprintf(stderr, "%s at %d\n%.*s\n", why.text, why.position, (int)(n < 2000 ? n : 2000), text);
			need(json != NULL);
		}
		json_decref(json);
		text += n;
		length -= n;
	}
}

static void need_pprof(const char *data, size_t length)
{
	static uint8_t bytes[UNPACKED_MAX];
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)length, .next_out = bytes, .avail_out = sizeof(bytes) };
	Pprof__Profile *profile;

	need(inflateInit2(&z, 15 + 16) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END);
	profile = pprof__profile__unpack(NULL, z.total_out, bytes);
	need(profile != NULL);
	for (size_t i = 0; i < profile->n_string_table; i++)
		need_clean(profile->string_table[i], strlen(profile->string_table[i]), true);
	pprof__profile__free_unpacked(profile, NULL);
	inflateEnd(&z);
}

/* "a;b;c 12" */
static void need_folded(const char *text, size_t length)
{
	while (length) {
		const char *end = memchr(text, '\n', length), *blank = end ? memrchr(text, ' ', (size_t)(end - text)) : NULL;
		size_t digits = blank ? strspn(blank + 1, "0123456789") : 0;

		need(blank && blank > text && digits && blank + 1 + digits == end);
		length -= (size_t)(end + 1 - text);
		text = end + 1;
	}
}

static void look(const struct output_format *f, int number, const char *data, size_t length)
{
	static const struct output_format *const json[] = { &output_speedscope, &output_firefox, &output_otlp_json, &output_json },
						 *const lines[] = { &output_jsonl, &output_clickhouse };

	if (f == &output_otlp)
		return;
	if (f == &output_pprof || f == &output_datadog) {
		need_pprof(data, length);
		return;
	}
	need_clean(data, length, true);
	for (size_t i = 0; i < sizeof(json) / sizeof(json[0]); i++)
		if (f == json[i])
			need_json(data, length, false);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (f == lines[i])
			need_json(data, length, true);
	if (f == &output_folded)
		need_folded(data, length);
	if (f != &output_flamegraph && f != &output_heatmap)
		return;
	if (!scripts[number])
		scripts[number] = 1 + count_scripts(data);
	need(scripts[number] == 1 + count_scripts(data));
}

static void write_all(struct recording_reader *r)
{
	struct recording_filter filter = { 0 };
	struct recording_profile *p;

	if (recording_profile__create(&p, &r, 1, &filter, &diag))
		return;
	for (int i = 0; output_formats[i]; i++) {
		const struct output_format *f = output_formats[i];
		const struct recording_request request = {
			.detail = f->detail, .labels = f->labels, .by_value = f->by_value, .timeline = f->timeline, .cells = f->cells,
			.timeline_most = f->in_order_most,
		};
		struct output_options options = { .top = 20, .html = true };
		struct reports reports;
		size_t length = 0;
		char *text = NULL;
		FILE *to;

		if (recording_profile__reports(p, &request, &reports, &diag))
			continue;
		to = open_memstream(&text, &length);
		need(to != NULL);
		f->write(reports.list, f->one_mode ? 1 : reports.count, &options, to);
		fclose(to);
		look(f, i, text, length);
		free(text);
		reports__free(&reports);
	}
	recording_profile__destroy(p);
}

/* In the place of texts, in their order; what is not in an input stays. */
static void put_names(const uint8_t *data, size_t size)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;

	need(sqlite3_open(PATH, &db) == SQLITE_OK);
	sqlite3_exec(db, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; BEGIN", NULL, NULL, NULL);
	need(sqlite3_prepare_v2(db, "UPDATE OR IGNORE strings SET text = CAST(?1 AS TEXT) WHERE id = ?2", -1, &s, NULL) == SQLITE_OK);
	for (int id = 1; size; id++) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t length = end ? (size_t)(end - data) : size;

		sqlite3_bind_blob(s, 1, data, (int)length, SQLITE_STATIC);
		sqlite3_bind_int(s, 2, id);
		sqlite3_step(s);
		sqlite3_reset(s);
		length += end ? 1 : 0;
		data += length;
		size -= length;
	}
	sqlite3_finalize(s);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
}

static void try_names(const uint8_t *data, size_t size)
{
	int fd = open(PATH, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct recording_reader *r;
	struct deadline deadline;

	need(fd >= 0 && write(fd, whole, whole_size) == (ssize_t)whole_size);
	close(fd);
	put_names(data, size);
	deadline__start(&deadline, -1, deadline__now() + 10000000000ull);
	diag.text[0] = '\0';
	if (!recording_reader__open(&r, PATH, &deadline, &diag)) {
		write_all(r);
		recording_reader__close(r);
	}
	need_clean(diag.text, strlen(diag.text), false);
}

/* Of test.h, for what the fixture checks. */
void test__fail(const char *file, int line, const char *format, ...)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, format);
	abort();
}

static uint32_t random_state = 1;

uint32_t test__random(void)
{
	random_state = random_state * 1103515245 + 12345;
	return random_state >> 16;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct stat st;
	int fd;

	(void)argc, (void)argv;
	need(!set_up_recording(2));
	send_samples(100);
	end_recording();
	fd = open(FILE_NAME, O_RDONLY | O_CLOEXEC);
	need(fd >= 0 && !fstat(fd, &st));
	whole_size = (size_t)st.st_size;
	whole = malloc(whole_size);
	need(whole && read(fd, whole, whole_size) == (ssize_t)whole_size);
	close(fd);
	tear_down_recording();
	try_names(NULL, 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_names(data, size);
	return 0;
}
