/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fnv.h"
#include "base/path.h"

#define HEAD "extprof-push 2"
#define SUFFIX ".extprof"
/* Numbers in the line of a segment, and in that of the totals. */
#define NUMBERS 9
#define TOTALS 5

/* -- segments -------------------------------------------------------------------------------------------- */

bool state__is_name(const char *name)
{
	size_t length = strlen(name), suffix = strlen(SUFFIX);

	if (*name == '.' || length <= suffix || length > STATE_NAME_MAX || strcmp(name + length - suffix, SUFFIX))
		return false;
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < ' ' || *p == 0x7f || *p == '/')
			return false;
	return true;
}

/* The first one whose name is not less. */
static size_t place_of(const struct state *s, const char *name)
{
	size_t from = 0, to = s->count;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (strcmp(s->list[middle].name, name) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct state_segment *state__find(struct state *s, const char *name)
{
	size_t i = place_of(s, name);

	return i < s->count && !strcmp(s->list[i].name, name) ? &s->list[i] : NULL;
}

struct state_segment *state__add(struct state *s, const char *name, uint64_t begin)
{
	size_t i = place_of(s, name);
	char *copy;

	if (s->count == STATE_SEGMENTS_MAX)
		return NULL;
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct state_segment *list = reallocarray(s->list, room, sizeof(*list));

		if (!list)
			return NULL;
		s->list = list;
		s->room = room;
	}
	copy = strdup(name);
	if (!copy)
		return NULL;
	memmove(&s->list[i + 1], &s->list[i], (s->count - i) * sizeof(*s->list));
	s->count++;
	s->changed = true;
	s->list[i] = (struct state_segment){ .name = copy, .begin = begin };
	return &s->list[i];
}

void state__remove(struct state *s, size_t i)
{
	free(s->list[i].name);
	s->count--;
	s->changed = true;
	memmove(&s->list[i], &s->list[i + 1], (s->count - i) * sizeof(*s->list));
}

/* -- the text -------------------------------------------------------------------------------------------- */

char *state__write(const struct state *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	bool failed;

	if (!f)
		return NULL;
	fprintf(f, HEAD "\nto %s\ntotals %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->to, s->totals.requests,
		s->totals.refused, s->totals.rejected, s->totals.lost, s->totals.in_a_row);
	for (size_t i = 0; i < s->count; i++) {
		const struct state_segment *g = &s->list[i];

		fprintf(f, "segment %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
			g->begin, g->from, g->modes, g->sent, g->until, g->done, g->inode, g->time, g->size, g->name);
		if (g->piece)
			fprintf(f, "piece %" PRIu64 " %s\n", g->piece, g->name);
	}
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

/* Decimal numbers with one blank before each; *rest is behind the last one. */
static bool read_numbers(const char *text, uint64_t *to, size_t count, const char **rest)
{
	for (size_t i = 0; i < count; i++) {
		const char *digits = text + 1;

		if (*text != ' ' || *digits < '0' || *digits > '9')
			return false;
		for (to[i] = 0, text = digits; *text >= '0' && *text <= '9'; text++)
			if (__builtin_mul_overflow(to[i], 10u, &to[i]) || __builtin_add_overflow(to[i], (uint64_t)(*text - '0'), &to[i]))
				return false;
	}
	*rest = text;
	return true;
}

static bool begins(const char **line, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*line, word, length))
		return false;
	*line += length;
	return true;
}

static int read_segment(struct state *s, const char *line)
{
	struct state_segment *g;
	uint64_t n[NUMBERS];
	const char *rest;

	if (!read_numbers(line, n, NUMBERS, &rest) || *rest != ' ' || !state__is_name(rest + 1) || state__find(s, rest + 1) ||
	    n[2] > UINT32_MAX || n[5] > 1 || s->count == STATE_SEGMENTS_MAX)
		return -EBADMSG;
	g = state__add(s, rest + 1, n[0]);
	if (!g)
		return -ENOMEM;
	g->from = n[1];
	g->modes = (uint32_t)n[2];
	g->sent = n[3];
	g->until = n[4];
	g->done = n[5];
	g->inode = n[6];
	g->time = n[7];
	g->size = n[8];
	return 0;
}

/* The segment comes before it. */
static int read_piece(struct state *s, const char *line)
{
	struct state_segment *g;
	const char *rest;
	uint64_t piece;

	if (!read_numbers(line, &piece, 1, &rest) || *rest != ' ' || !piece)
		return -EBADMSG;
	g = state__find(s, rest + 1);
	if (!g || g->piece)
		return -EBADMSG;
	g->piece = piece;
	return 0;
}

/* Lines are counted from 0. */
static int read_line(struct state *s, unsigned int number, const char *line)
{
	uint64_t n[TOTALS];
	const char *rest;

	switch (number) {
	case 0:
		return strcmp(line, HEAD) ? -EBADMSG : 0;
	case 1:
		return !begins(&line, "to ") || strcmp(line, s->to) ? -EBADMSG : 0;
	case 2:
		if (!begins(&line, "totals") || !read_numbers(line, n, TOTALS, &rest) || *rest)
			return -EBADMSG;
		s->totals = (struct state_totals){ n[0], n[1], n[2], n[3], n[4] };
		return 0;
	}
	return begins(&line, "segment") ? read_segment(s, line) : begins(&line, "piece") ? read_piece(s, line) : -EBADMSG;
}

int state__read(struct state *s, const char *text)
{
	unsigned int number = 0;
	int err = 0;

	while (*text && !err) {
		size_t length = strcspn(text, "\n");
		char *line;

		/* A file that was cut off lacks the end of its last line. */
		if (text[length] != '\n')
			return -EBADMSG;
		line = strndup(text, length);
		err = line ? read_line(s, number++, line) : -ENOMEM;
		free(line);
		text += length + 1;
	}
	return err ? err : number < 3 ? -EBADMSG : 0;
}

/* -- the file -------------------------------------------------------------------------------------------- */

static int fail(char *why, size_t size, int err, const char *text)
{
	snprintf(why, size, "%s", text);
	return err;
}

/* The descriptor of the folder, and the name in it. */
static int find_place(struct state *s, const char *folder, const char *path)
{
	char *directory;
	int err = 0;

	if (!path) {
		directory = strdup(folder);
		if (asprintf(&s->base, ".extprof-push-%016" PRIx64, fnv__add(FNV_BEGIN, s->to, strlen(s->to))) < 0)
			s->base = NULL;
	} else {
		directory = path__folder(path);
		s->base = strdup(basename(path));
	}
	if (!directory || !s->base)
		err = -ENOMEM;
	else if (!*s->base || !strcmp(s->base, ".") || !strcmp(s->base, "..") || strlen(s->base) > STATE_NAME_MAX - 8)
		err = -EINVAL;
	else if ((s->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		err = -errno;
	free(directory);
	return err;
}

static int lock(struct state *s, char *why, size_t size)
{
	char name[STATE_NAME_MAX + 1];

	snprintf(name, sizeof(name), "%s.lock", s->base);
	s->lock = openat(s->directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	if (s->lock < 0)
		return fail(why, size, -errno, strerror(errno));
	if (!fcntl(s->lock, F_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET }))
		return 0;
	return errno == EAGAIN || errno == EACCES ? fail(why, size, -EBUSY, "another extprof push sends it there") :
	       fail(why, size, -errno, strerror(errno));
}

/* The text of the file.  NULL: there is none, or an error. */
static char *read_file(const struct state *s, int *err, char *why, size_t size)
{
	int fd = openat(s->directory, s->base, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	size_t length = 0;
	struct stat st;
	ssize_t n = 1;

	*err = 0;
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &st)) {
		*err = fail(why, size, -errno, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size < 0 || st.st_size > STATE_SIZE_MAX) {
		*err = fail(why, size, -EBADMSG, "it is damaged");
	} else if (st.st_uid != geteuid() && st.st_uid != 0) {
		*err = fail(why, size, -EPERM, "it belongs to another user");
	} else {
		text = malloc((size_t)st.st_size + 1);
		while (text && length < (size_t)st.st_size && (n = read(fd, text + length, (size_t)st.st_size - length)) > 0)
			length += (size_t)n;
		if (!text || n < 0)
			*err = fail(why, size, text ? -errno : -ENOMEM, text ? strerror(errno) : "out of memory");
	}
	if (fd >= 0)
		close(fd);
	if (*err) {
		free(text);
		return NULL;
	}
	text[length] = '\0';
	/* A text with a 0 in it would be cut there. */
	if (strlen(text) == length)
		return text;
	free(text);
	*err = fail(why, size, -EBADMSG, "it is damaged");
	return NULL;
}

int state__open(struct state *s, const char *folder, const char *path, const char *to, char *why, size_t size)
{
	char *text = NULL;
	int err;

	*s = (struct state){ .directory = -1, .lock = -1, .to = strdup(to) };
	err = s->to ? find_place(s, folder, path) : -ENOMEM;
	if (err) {
		fail(why, size, err, strerror(-err));
		goto cleanup;
	}
	err = lock(s, why, size);
	if (err)
		goto cleanup;
	text = read_file(s, &err, why, size);
	if (!text)
		goto cleanup;
	err = state__read(s, text);
	s->changed = false;
	if (err)
		fail(why, size, err, err == -ENOMEM ? "out of memory" :
		     "it is damaged, of another receiver or of another version: remove it, and all is sent once more");
cleanup:
	free(text);
	if (err)
		state__close(s);
	return err;
}

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			left -= (size_t)n;
		}
	}
	return fsync(fd) ? -errno : 0;
}

int state__save(struct state *s)
{
	char *text = state__write(s), name[STATE_NAME_MAX + 1];
	int fd, err;

	if (!text)
		return -ENOMEM;
	snprintf(name, sizeof(name), "%s.new", s->base);
	/* One that is there was left by a process that was killed: the lock is ours. */
	unlinkat(s->directory, name, 0);
	fd = openat(s->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : write_all(fd, text);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (!err && renameat(s->directory, name, s->directory, s->base))
		err = -errno;
	if (err && fd >= 0)
		unlinkat(s->directory, name, 0);
	/* Without this the old one could be there again after a loss of power: something is sent twice then, and nothing is lost. */
	if (!err)
		fsync(s->directory);
	s->changed = err != 0;
	free(text);
	return err;
}

void state__close(struct state *s)
{
	if (s->lock >= 0)
		close(s->lock);
	if (s->directory >= 0)
		close(s->directory);
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].name);
	free(s->list);
	free(s->base);
	free(s->to);
	*s = (struct state){ .directory = -1, .lock = -1 };
}
