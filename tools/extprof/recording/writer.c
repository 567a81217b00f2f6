/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/deadline.h"
#include "base/map64.h"
#include "base/path.h"
#include "recording/schema.h"

/* The stacks that the writer knows by heart.  When there are more, it begins anew, and some are written twice. */
#define STACKS_KNOWN_MAX (256u << 10)
/* Approximate bytes of a sample in a block. */
#define SAMPLE_BYTES 4
/* Pages of SQLite's cache, KiB. */
#define CACHE_KIB 2048

enum statement {
	PUT_META, PUT_MODE, PUT_KIND, PUT_STATE, FIND_STRING, PUT_STRING, PUT_PROCESS, PUT_THREAD, PUT_FRAME, PUT_STACK, PUT_BLOCK,
	PUT_PAUSE, PUT_EVENT, PUT_FIGURE, PUT_HEAP, PUT_THREAD_ACCOUNT, PUT_THREAD_STATE, PUT_ACCOUNT, PUT_SOURCE, BEGIN,
	COMMIT, COUNT_PAGES,
	STATEMENTS
};

static const char *const statements[STATEMENTS] = {
	[PUT_META] = "INSERT OR REPLACE INTO meta VALUES(?,?)",
	[PUT_MODE] = "INSERT OR REPLACE INTO modes VALUES(?,?,?,?,?,?,?)",
	[PUT_KIND] = "INSERT OR REPLACE INTO kinds VALUES(?,?,?)",
	[PUT_STATE] = "INSERT OR REPLACE INTO states VALUES(?,?)",
	[FIND_STRING] = "SELECT id FROM strings WHERE text=?",
	[PUT_STRING] = "INSERT INTO strings(text) VALUES(?)",
	[PUT_PROCESS] = "INSERT OR REPLACE INTO processes VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_THREAD] = "INSERT OR REPLACE INTO threads VALUES(?,?,?)",
	[PUT_FRAME] = "INSERT OR REPLACE INTO frames VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_STACK] = "INSERT INTO stacks VALUES(?,?,?)",
	[PUT_BLOCK] = "INSERT INTO blocks(first_ns,last_ns,samples,data) VALUES(?,?,?,?)",
	[PUT_PAUSE] = "INSERT INTO pauses(time_ns,thread,length_ns,waited_ns,mark_ns,sweep_ns,compact_ns,major,cause,"
		      "reason) VALUES(?,?,?,?,?,?,?,?,?,?)",
	[PUT_EVENT] = "INSERT INTO events(time_ns,process,kind,text,number) VALUES(?,?,?,?,?)",
	[PUT_FIGURE] = "INSERT INTO figures(time_ns,process,resident) VALUES(?,?,?)",
	[PUT_HEAP] = "INSERT INTO heaps(time_ns,process,live_slots,slots,bytes,malloc_bytes) VALUES(?,?,?,?,?,?)",
	[PUT_THREAD_ACCOUNT] = "INSERT INTO thread_accounts(process,tid,serial,first_ns,until_ns,ended,voluntary,"
			       "involuntary,threads,name,comm) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_THREAD_STATE] = "INSERT OR REPLACE INTO thread_states VALUES(?,?,?,?)",
	[PUT_ACCOUNT] = "INSERT OR REPLACE INTO accounts VALUES(?,?,?,?)",
	[PUT_SOURCE] = "INSERT INTO sources(size,time_ns,hash,length,data,path) VALUES(?,?,?,?,?,?)",
	[BEGIN] = "BEGIN",
	[COMMIT] = "COMMIT",
	[COUNT_PAGES] = "SELECT page_count*page_size FROM pragma_page_count, pragma_page_size",
};

struct recording_writer {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	struct block_codec codec;
	struct recording_sample *samples;	/* BLOCK_SAMPLES_MAX; of the next block */
	uint32_t count;
	uint64_t first, last;	/* times of these samples */
	uint64_t period, total;
	bool of_all_times;	/* blocks have samples of any time */
	bool in_transaction;
	uint64_t began;		/* CLOCK_MONOTONIC: the transaction */
	struct map64 stacks;	/* parent << 32 | frame -> id */
	uint32_t stack_count;
	int err;		/* the first one */
	struct diag why;
};

static int fail(struct recording_writer *w, int code)
{
	if (!w->err)
		w->err = schema__fail(w->db, code, DIAG_OUTPUT, "the recording cannot be written", &w->why);
	return w->err;
}

static int no_memory(struct recording_writer *w)
{
	if (!w->err)
		w->err = diag__set(&w->why, DIAG_INTERNAL, ENOMEM, "out of memory for the recording");
	return w->err;
}

static int run(struct recording_writer *w, enum statement number)
{
	sqlite3_stmt *s = w->statements[number];
	int code = sqlite3_step(s);

	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return code == SQLITE_DONE ? 0 : fail(w, code);
}

/* Each write is part of a transaction. */
static int ready(struct recording_writer *w)
{
	if (w->err || w->in_transaction)
		return w->err;
	if (!w->db)
		return w->err = diag__set(&w->why, DIAG_INTERNAL, EINVAL, "the recording has ended already");
	w->began = deadline__now();
	w->in_transaction = true;
	return run(w, BEGIN);
}

static int execute(struct recording_writer *w, const char *sql)
{
	int code = sqlite3_exec(w->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : fail(w, code);
}

static int make_tables(struct recording_writer *w)
{
	/* A file that says what it is has all tables.  Small pages: a block has 2 to 3 KB, and its last page is not full. */
	char *pragmas = sqlite3_mprintf("PRAGMA page_size=1024; PRAGMA cache_size=-%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
					"PRAGMA foreign_keys=OFF; BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d",
					CACHE_KIB, RECORDING_APPLICATION_ID, RECORDING_VERSION);
	int err = pragmas ? execute(w, pragmas) : no_memory(w);

	sqlite3_free(pragmas);
	for (int i = 0; !err && recording_schema[i]; i++)
		err = execute(w, recording_schema[i]);
	return err ? err : execute(w, "COMMIT");
}

/* Is the file of fd open a second time?  That is, is it what SQLite has opened by its path? */
static bool is_open_twice(int fd)
{
	struct stat made, other;
	struct dirent *entry;
	bool found = false;
	DIR *fds;

	fds = fstat(fd, &made) ? NULL : opendir("/proc/self/fd");
	while (fds && !found && (entry = readdir(fds))) {
		int number = atoi(entry->d_name);

		found = *entry->d_name != '.' && number != fd && !fstat(number, &other) &&
			other.st_dev == made.st_dev && other.st_ino == made.st_ino;
	}
	if (fds)
		closedir(fds);
	return found;
}

/*
 * A user who may write to the folder can replace the file that was just made by a link to another database of ours.
 * SQLite only takes a path, so check which file it has opened before it changes anything.
 */
static int open_file(struct recording_writer *w, const char *path, int made)
{
	int code = sqlite3_open_v2(path, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
				   SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);

	if (code != SQLITE_OK)
		return fail(w, code);
	if (is_open_twice(made))
		return 0;
	w->err = diag__set(&w->why, DIAG_OUTPUT, EBUSY, "%s was replaced while it was made", path);
	diag__hint(&w->why, "choose a folder that only you may write to");
	return w->err;
}

static int open_database(struct recording_writer *w)
{
	int err = make_tables(w);

	for (int i = 0; i < STATEMENTS && !err; i++) {
		int code = sqlite3_prepare_v3(w->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &w->statements[i], NULL);

		err = code == SQLITE_OK ? 0 : fail(w, code);
	}
	return err;
}

/* SQLite is given a file that exists, is empty, and belongs to the right user.  A descriptor or negative errno. */
static int make_file(const char *path, uid_t uid, gid_t gid, struct diag *d)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600), err = 0;

	if (fd < 0 && errno == EEXIST) {
		err = diag__set(d, DIAG_OUTPUT, EEXIST, "%s exists already, and a recording is not written over "
				"another file", path);
		diag__hint(d, "give it another name, or remove the file");
		return err;
	}
	if (fd < 0)
		return diag__set(d, DIAG_OUTPUT, errno, "cannot make %s: %s", path, strerror(errno));
	if ((uid != (uid_t)-1 || gid != (gid_t)-1) && fchown(fd, uid, gid)) {
		err = diag__set(d, DIAG_OUTPUT, errno, "cannot give %s to its user: %s", path, strerror(errno));
		close(fd);
		unlink(path);
		return err;
	}
	return fd;
}

/* A folder on the way may be a link; the file itself is none.  malloc'd, or NULL. */
static char *without_links(const char *path)
{
	char *folder = path__folder(path), *real = folder ? realpath(folder, NULL) : NULL, *all = NULL;

	if (real && asprintf(&all, "%s/%s", strcmp(real, "/") ? real : "", basename(path)) < 0)
		all = NULL;
	free(folder);
	free(real);
	return all;
}

int recording_writer__create(struct recording_writer **writer, const char *path, uid_t uid, gid_t gid,
			     uint64_t period, struct diag *d)
{
	struct recording_writer *w;
	int made, err = 0;
	char *real;

	*writer = NULL;
	made = make_file(path, uid, gid, d);
	if (made < 0)
		return made;
	w = calloc(1, sizeof(*w));
	real = without_links(path);
	if (w) {
		w->period = period;
		w->samples = malloc(BLOCK_SAMPLES_MAX * sizeof(*w->samples));
	}
	if (!w || !real || !w->samples || block_codec__init(&w->codec)) {
		err = diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recording");
	} else {
		err = open_file(w, real, made);
	}
	/* Before SQLite locks its file: the kernel drops the locks when any descriptor of it is closed. */
	close(made);
	if (!err)
		err = open_database(w);
	if (err && w && w->err)
		err = recording_writer__why(w, d);
	free(real);
	if (err) {
		recording_writer__destroy(w);
		unlink(path);
		return err;
	}
	*writer = w;
	return 0;
}

sqlite3 *recording_writer__database(struct recording_writer *w)
{
	return w->db;
}

void recording_writer__destroy(struct recording_writer *w)
{
	if (!w)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(w->statements[i]);
	sqlite3_close(w->db);
	block_codec__free(&w->codec);
	map64__free(&w->stacks);
	free(w->samples);
	free(w);
}

/* -- rows ------------------------------------------------------------------------------------ */

static void bind_text(struct recording_writer *w, enum statement number, int place, const char *text)
{
	if (text)
		sqlite3_bind_text(w->statements[number], place, text, (int)strnlen(text, RECORDING_TEXT_MAX),
				  SQLITE_STATIC);
}

static void bind(struct recording_writer *w, enum statement number, int place, uint64_t value)
{
	sqlite3_bind_int64(w->statements[number], place, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

/* The id of a text is bound; that of NULL is NULL. */
static int bind_string(struct recording_writer *w, enum statement number, int place, const char *text)
{
	sqlite3_stmt *find = w->statements[FIND_STRING];
	sqlite3_int64 id = 0;
	int code;

	if (!text)
		return 0;
	bind_text(w, FIND_STRING, 1, text);
	code = sqlite3_step(find);
	if (code == SQLITE_ROW)
		id = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	sqlite3_clear_bindings(find);
	if (code == SQLITE_DONE) {
		bind_text(w, PUT_STRING, 1, text);
		if (run(w, PUT_STRING))
			return w->err;
		id = sqlite3_last_insert_rowid(w->db);
	} else if (code != SQLITE_ROW) {
		return fail(w, code);
	}
	sqlite3_bind_int64(w->statements[number], place, id);
	return 0;
}

int recording_writer__set_number(struct recording_writer *w, const char *key, uint64_t number)
{
	if (ready(w))
		return w->err;
	bind_text(w, PUT_META, 1, key);
	bind(w, PUT_META, 2, number);
	return run(w, PUT_META);
}

int recording_writer__set_real(struct recording_writer *w, const char *key, double number)
{
	if (ready(w))
		return w->err;
	bind_text(w, PUT_META, 1, key);
	sqlite3_bind_double(w->statements[PUT_META], 2, number);
	return run(w, PUT_META);
}

int recording_writer__set_text(struct recording_writer *w, const char *key, const char *text)
{
	if (ready(w))
		return w->err;
	bind_text(w, PUT_META, 1, key);
	bind_text(w, PUT_META, 2, text);
	return run(w, PUT_META);
}

int recording_writer__mode(struct recording_writer *w, const struct recording_mode *row)
{
	if (ready(w))
		return w->err;
	bind(w, PUT_MODE, 1, row->id);
	bind_text(w, PUT_MODE, 2, row->name);
	bind_text(w, PUT_MODE, 3, row->value_name);
	bind_text(w, PUT_MODE, 4, row->value_unit);
	bind_text(w, PUT_MODE, 5, row->count_name);
	bind_text(w, PUT_MODE, 6, row->count_unit);
	bind_text(w, PUT_MODE, 7, row->source);
	return run(w, PUT_MODE);
}

/* Ids that a reader would refuse are not written. */
static int check_id(struct recording_writer *w, uint32_t id, uint32_t max, const char *what)
{
	if (!w->err && (!id || id > max))
		w->err = diag__set(&w->why, DIAG_OUTPUT, E2BIG, "the recording has too many %s", what);
	return w->err;
}

int recording_writer__kind(struct recording_writer *w, uint32_t kind, const char *name, bool code)
{
	if (ready(w))
		return w->err;
	bind(w, PUT_KIND, 1, kind);
	bind_text(w, PUT_KIND, 2, name);
	bind(w, PUT_KIND, 3, code);
	return run(w, PUT_KIND);
}

int recording_writer__state(struct recording_writer *w, uint32_t state, const char *name)
{
	if (ready(w))
		return w->err;
	bind(w, PUT_STATE, 1, state);
	bind_text(w, PUT_STATE, 2, name);
	return run(w, PUT_STATE);
}

/* The values of a row from a place on. */
static void bind_all(struct recording_writer *w, enum statement number, int place, const uint64_t *values, int count)
{
	for (int i = 0; i < count; i++)
		bind(w, number, place + i, values[i]);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int recording_writer__process(struct recording_writer *w, const struct recording_process *row)
{
	const uint64_t values[] = {
		row->flags, row->began, row->ended_at, row->cpu, row->cpu_unfollowed, row->cpu_samples,
	};
	char key[40];

	if (check_id(w, row->id, RECORDING_PROCESSES_MAX, "processes") || ready(w) ||
	    bind_string(w, PUT_PROCESS, 6, row->command) || bind_string(w, PUT_PROCESS, 7, row->ruby) ||
	    bind_string(w, PUT_PROCESS, 8, row->cgroup) || bind_string(w, PUT_PROCESS, 9, row->ended))
		return w->err;
	bind(w, PUT_PROCESS, 1, row->id);
	bind(w, PUT_PROCESS, 2, row->frame);
	sqlite3_bind_int(w->statements[PUT_PROCESS], 3, row->pid);
	if (row->parent)
		bind(w, PUT_PROCESS, 4, row->parent);
	bind(w, PUT_PROCESS, 5, row->uid);
	bind_all(w, PUT_PROCESS, 10, values, COUNT(values));
	if (run(w, PUT_PROCESS))
		return w->err;
	snprintf(key, sizeof(key), RECORDING_CWD_KEY, row->id);
	if (row->cwd && recording_writer__set_text(w, key, row->cwd))
		return w->err;
	snprintf(key, sizeof(key), RECORDING_EXECUTABLE_KEY, row->id);
	if (row->executable && recording_writer__set_text(w, key, row->executable))
		return w->err;
	snprintf(key, sizeof(key), RECORDING_RESOURCE_KEY, row->id);
	return row->resource ? recording_writer__set_text(w, key, row->resource) : 0;
}

int recording_writer__thread(struct recording_writer *w, uint32_t id, uint32_t process, uint32_t frame)
{
	const uint64_t values[] = { id, process, frame };

	if (check_id(w, id, RECORDING_THREADS_MAX, "threads") || ready(w))
		return w->err;
	bind_all(w, PUT_THREAD, 1, values, COUNT(values));
	return run(w, PUT_THREAD);
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

int recording_writer__frame(struct recording_writer *w, uint32_t id, const struct frame *f)
{
	const uint64_t values[] = { frame__number(f), f->known, f->role, f->state, f->missing, f->bracketed };

	if (check_id(w, id, RECORDING_FRAMES_MAX, "frames") || ready(w) || bind_string(w, PUT_FRAME, 3, f->name) ||
	    bind_string(w, PUT_FRAME, 4, text_or_null(f->path)) ||
	    bind_string(w, PUT_FRAME, 8, text_or_null(f->module)) ||
	    bind_string(w, PUT_FRAME, 10, text_or_null(f->key)) ||
	    bind_string(w, PUT_FRAME, 11, text_or_null(f->wider)))
		return w->err;
	bind(w, PUT_FRAME, 1, id);
	bind(w, PUT_FRAME, 2, f->kind);
	if (f->line > 0)
		bind(w, PUT_FRAME, 5, (uint64_t)f->line);
	if (f->first_line > 0)
		bind(w, PUT_FRAME, 6, (uint64_t)f->first_line);
	bind(w, PUT_FRAME, 7, !f->approximate);
	/* An address can have its highest bit set. */
	if (f->address)
		sqlite3_bind_int64(w->statements[PUT_FRAME], 9, (int64_t)f->address);
	bind_all(w, PUT_FRAME, 12, values, COUNT(values));
	return run(w, PUT_FRAME);
}

int recording_writer__pause(struct recording_writer *w, const struct recording_pause *row)
{
	const uint64_t values[] = {
		row->time, row->thread, row->length, row->waited, row->mark, row->sweep, row->compact, row->major,
		row->cause,
	};

	if (ready(w) || bind_string(w, PUT_PAUSE, 10, row->reason))
		return w->err;
	bind_all(w, PUT_PAUSE, 1, values, COUNT(values));
	return run(w, PUT_PAUSE);
}

int recording_writer__event(struct recording_writer *w, const struct recording_event *row)
{
	if (ready(w) || bind_string(w, PUT_EVENT, 3, row->kind) || bind_string(w, PUT_EVENT, 4, row->text))
		return w->err;
	bind(w, PUT_EVENT, 1, row->time);
	bind(w, PUT_EVENT, 2, row->process);
	bind(w, PUT_EVENT, 5, row->number);
	return run(w, PUT_EVENT);
}

int recording_writer__figure(struct recording_writer *w, const struct recording_figure *row)
{
	if (ready(w))
		return w->err;
	bind(w, PUT_FIGURE, 1, row->time);
	bind(w, PUT_FIGURE, 2, row->process);
	bind(w, PUT_FIGURE, 3, row->resident);
	return run(w, PUT_FIGURE);
}

int recording_writer__heap(struct recording_writer *w, const struct recording_heap *row)
{
	const uint64_t values[] = { row->time, row->process, row->live_slots, row->slots, row->bytes, row->malloc_bytes };

	if (ready(w))
		return w->err;
	for (int i = 0; i < (int)(sizeof(values) / sizeof(values[0])); i++)
		bind(w, PUT_HEAP, i + 1, values[i] <= INT64_MAX ? values[i] : INT64_MAX);
	return run(w, PUT_HEAP);
}

int recording_writer__thread_account(struct recording_writer *w, const struct recording_thread_account *row)
{
	const uint64_t values[] = {
		row->process, row->tid, row->serial, row->first, row->until, row->ended, row->voluntary, row->involuntary,
		row->threads,
	};
	uint64_t id;

	if (ready(w) || bind_string(w, PUT_THREAD_ACCOUNT, 10, row->name) ||
	    bind_string(w, PUT_THREAD_ACCOUNT, 11, row->comm))
		return w->err;
	bind_all(w, PUT_THREAD_ACCOUNT, 1, values, COUNT(values));
	if (run(w, PUT_THREAD_ACCOUNT))
		return w->err;
	id = (uint64_t)sqlite3_last_insert_rowid(w->db);
	for (uint32_t i = 0; i < row->states; i++) {
		const uint64_t state[] = { id, i, row->time[i], row->waits[i] };

		if (!row->time[i] && !row->waits[i])
			continue;
		bind_all(w, PUT_THREAD_STATE, 1, state, COUNT(state));
		if (run(w, PUT_THREAD_STATE))
			return w->err;
	}
	return 0;
}

int recording_writer__account(struct recording_writer *w, uint32_t process, uint32_t mode, const char *reason,
			      uint64_t samples)
{
	if (ready(w))
		return w->err;
	bind(w, PUT_ACCOUNT, 1, process);
	bind(w, PUT_ACCOUNT, 2, mode);
	bind_text(w, PUT_ACCOUNT, 3, reason);
	bind(w, PUT_ACCOUNT, 4, samples);
	return run(w, PUT_ACCOUNT);
}

int recording_writer__source(struct recording_writer *w, const struct recording_source_file *f)
{
	uLongf size = compressBound((uLong)f->length);
	void *data = f->text ? malloc(size) : NULL;
	int err;

	if (ready(w) || bind_string(w, PUT_SOURCE, 6, f->path)) {
		free(data);
		return w->err;
	}
	bind(w, PUT_SOURCE, 1, f->size);
	bind(w, PUT_SOURCE, 2, f->time);
	bind(w, PUT_SOURCE, 3, f->hash);
	bind(w, PUT_SOURCE, 4, f->length);
	if (f->text && (!data || compress2(data, &size, (const Bytef *)f->text, (uLong)f->length, 6) != Z_OK)) {
		free(data);
		return no_memory(w);
	}
	if (data)
		sqlite3_bind_blob(w->statements[PUT_SOURCE], 5, data, (int)size, SQLITE_STATIC);
	err = run(w, PUT_SOURCE);
	free(data);
	return err;
}

/* -- stacks and samples ------------------------------------------------------------------------ */

/* The id of the stack that has one frame more. */
static uint32_t child_of(struct recording_writer *w, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint32_t id = map64__get(&w->stacks, key);

	if (id != MAP64_NONE)
		return id;
	id = w->stack_count + 1;
	if (check_id(w, id, RECORDING_STACKS_MAX, "stacks") || ready(w))
		return 0;
	bind(w, PUT_STACK, 1, id);
	bind(w, PUT_STACK, 2, parent);
	bind(w, PUT_STACK, 3, frame);
	if (run(w, PUT_STACK))
		return 0;
	if (map64__add(&w->stacks, key, id)) {
		no_memory(w);
		return 0;
	}
	return w->stack_count = id;
}

uint32_t recording_writer__stack(struct recording_writer *w, const uint32_t *frames, uint32_t count)
{
	uint32_t id = 0;

	if (w->err)
		return 0;
	if (w->stacks.count >= STACKS_KNOWN_MAX)
		map64__clear(&w->stacks);
	for (uint32_t i = 0; i < count; i++) {
		id = child_of(w, id, frames[i]);
		if (!id)
			return 0;
	}
	return id;
}

int recording_writer__flush(struct recording_writer *w)
{
	long size = 0;

	if (w->err || (!w->in_transaction && !w->count))
		return w->err;
	if (ready(w))
		return w->err;
	if (w->count) {
		size = block__encode(&w->codec, w->samples, w->count, w->period);
		if (size < 0)
			return w->err = diag__set(&w->why, DIAG_INTERNAL, (int)-size,
						  "samples make no block: %s", strerror((int)-size));
		bind(w, PUT_BLOCK, 1, w->first);
		bind(w, PUT_BLOCK, 2, w->last);
		bind(w, PUT_BLOCK, 3, w->count);
		sqlite3_bind_blob(w->statements[PUT_BLOCK], 4, w->codec.data, (int)size, SQLITE_STATIC);
		if (run(w, PUT_BLOCK))
			return w->err;
		w->count = 0;
	}
	w->in_transaction = false;
	return run(w, COMMIT);
}

bool recording_writer__is_full(const struct recording_writer *w, uint64_t time, uint32_t count)
{
	uint64_t first = w->first < time ? w->first : time, last = w->last > time ? w->last : time;

	return w->count && (w->count + count > BLOCK_SAMPLES_MAX || (!w->of_all_times && last - first >= 2 * WRITER_BLOCK_NS));
}

int recording_writer__take_all_times(struct recording_writer *w)
{
	int err = recording_writer__flush(w);

	w->of_all_times = true;
	return err;
}

int recording_writer__sample(struct recording_writer *w, const struct recording_sample *s)
{
	if (s->time > BLOCK_NUMBER_MAX || s->value > BLOCK_NUMBER_MAX || s->count > BLOCK_NUMBER_MAX)
		return -ERANGE;
	if ((recording_writer__is_full(w, s->time, 1) && recording_writer__flush(w)) || ready(w))
		return w->err;
	w->first = w->count && w->first < s->time ? w->first : s->time;
	w->last = w->count && w->last > s->time ? w->last : s->time;
	w->samples[w->count++] = *s;
	w->total++;
	return 0;
}

bool recording_writer__is_due(const struct recording_writer *w, uint64_t now)
{
	return w->in_transaction && now > w->began && now - w->began >= WRITER_BLOCK_NS;
}

int recording_writer__end(struct recording_writer *w)
{
	int code;

	if (recording_writer__flush(w))
		return w->err;
	for (int i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(w->statements[i]);
		w->statements[i] = NULL;
	}
	if (execute(w, "PRAGMA wal_checkpoint(TRUNCATE)"))
		return w->err;
	/* The log stays beside the file if somebody reads it now.  Nothing is missing then. */
	code = sqlite3_exec(w->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY)
		return fail(w, code);
	/* From now on there is no database. */
	w->err = sqlite3_close(w->db) == SQLITE_OK ? 0 :
		 diag__set(&w->why, DIAG_INTERNAL, EBUSY, "the recording cannot be closed");
	if (!w->err)
		w->db = NULL;
	return w->err;
}

int recording_writer__why(const struct recording_writer *w, struct diag *d)
{
	if (w->err && d)
		*d = w->why;
	return w->err;
}

uint64_t recording_writer__size(struct recording_writer *w)
{
	sqlite3_stmt *s = w->statements[COUNT_PAGES];
	uint64_t size = 0;

	if (w->err || !s)
		return 0;
	if (sqlite3_step(s) == SQLITE_ROW)
		size = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return size + (uint64_t)w->count * SAMPLE_BYTES;
}

uint64_t recording_writer__samples(const struct recording_writer *w)
{
	return w->total;
}
