/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A thread that gets and loses a CPU all the time. */
#define TRIES 8

static int open_file(const struct tasks *t, pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", tid, name);
	return openat(t->dir, path, O_RDONLY | O_CLOEXEC);
}

int turns__open(const struct tasks *t, pid_t tid)
{
	return open_file(t, tid, "schedstat");
}

/* Read a file as a string.  Its length, or -errno. */
static ssize_t read_text(const struct tasks *t, pid_t tid, int fd, const char *name, char *to, size_t size)
{
	int own = fd < 0 ? open_file(t, tid, name) : -1;
	ssize_t n;

	if (fd < 0 && own < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = pread(fd < 0 ? own : fd, to, size - 1, 0);
	if (n < 0)
		n = -errno;
	if (own >= 0)
		close(own);
	to[n > 0 ? n : 0] = '\0';
	return n ? n : -ESRCH;
}

static int read_counts(const struct tasks *t, pid_t tid, int fd, struct turns *turns)
{
	char text[128];
	ssize_t n = read_text(t, tid, fd, "schedstat", text, sizeof(text));

	if (n < 0)
		return (int)n;
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &turns->runtime, &turns->delay, &turns->got) != 3)
		return -ENOTSUP;
	/* All are 0 where none is counted. */
	return turns->got || !turns->runtime ? 0 : -ENOTSUP;
}

static uint64_t number_of(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

static int read_status(const struct tasks *t, pid_t tid, struct turns *turns)
{
	char text[4096];
	ssize_t n = read_text(t, tid, -1, "status", text, sizeof(text));
	const char *state;

	if (n < 0)
		return (int)n;
	state = strstr(text, "\nState:\t");
	turns->state = state ? state[8] : 0;
	turns->voluntary = number_of(text, "\nvoluntary_ctxt_switches:");
	turns->lost = turns->voluntary + number_of(text, "\nnonvoluntary_ctxt_switches:");
	return 0;
}

int turns__voluntary(const struct tasks *t, pid_t tid, uint64_t *voluntary)
{
	struct turns turns;
	int err = read_status(t, tid, &turns);

	*voluntary = turns.voluntary;
	return err;
}

int turns__read(const struct tasks *t, pid_t tid, int fd, const struct turns *again, struct turns *turns)
{
	struct turns after;
	int err;

	memset(turns, 0, sizeof(*turns));
	err = read_counts(t, tid, fd, turns);
	/* Without a CPU it neither blocks nor loses one.  It may have been woken. */
	if (!err && again && again->got == turns->got && !again->on_cpu && again->state != 'R') {
		turns->lost = again->lost;
		turns->voluntary = again->voluntary;
		turns->state = again->state;
		return 0;
	}
	for (int i = 0; i < TRIES && !err; i++) {
		err = read_status(t, tid, turns);
		if (!err)
			err = read_counts(t, tid, fd, &after);
		if (err)
			break;
		if (after.got == turns->got) {
			turns->runtime = after.runtime;
			turns->delay = after.delay;
			turns->on_cpu = turns->got > turns->lost;
			return 0;
		}
		turns->runtime = after.runtime;
		turns->delay = after.delay;
		turns->got = after.got;
	}
	return err ? err : -EAGAIN;
}
