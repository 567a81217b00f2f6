/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc.h"

/* A thread that gets and loses a CPU all the time. */
#define TRIES 8

int turns__open(const struct tasks *t, pid_t tid)
{
	char path[PROC_PATH_MAX];

	snprintf(path, sizeof(path), "%d/schedstat", tid);
	return proc__keep_file(openat(t->dir, path, O_RDONLY | O_CLOEXEC));
}

static int read_counts(const struct tasks *t, pid_t tid, int fd, struct turns *turns)
{
	struct proc_text text;
	int err = fd < 0 ? tasks__read(t, tid, "schedstat", &text) : proc_text__read_fd(&text, fd);

	if (!err && sscanf(text.text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &turns->runtime, &turns->delay, &turns->got) != 3)
		err = -ENOTSUP;
	proc_text__free(&text);
	/* All are 0 where none is counted. */
	return err ? err : turns->got || !turns->runtime ? 0 : -ENOTSUP;
}

static int read_status(const struct tasks *t, pid_t tid, struct turns *turns)
{
	struct proc_status status;
	struct proc_text text;
	int err = tasks__read(t, tid, "status", &text);

	proc_status__parse(&status, text.text);
	proc_text__free(&text);
	turns->state = status.state;
	turns->voluntary = status.voluntary;
	turns->lost = status.voluntary + status.involuntary;
	return err;
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
