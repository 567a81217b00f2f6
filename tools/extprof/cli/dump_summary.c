/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/dump_summary.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "cli/dump.h"

/* Deadlocks, and names of each, that are listed. */
#define DEADLOCKS_MAX 4u
#define NAMES_MAX 8u

static const struct {
	const char *one, *many;
} kinds[] = {
	{ "runs", "run" }, { "waits for the GVL", "wait for the GVL" }, { "waits for I/O", "wait for I/O" },
	{ "waits for a lock", "wait for a lock" }, { "waits for a queue", "wait for a queue" },
	{ "waits for a condition", "wait for a condition" }, { "waits for a thread", "wait for a thread" },
	{ "waits for a process", "wait for a process" }, { "waits for a ractor", "wait for a ractor" },
	{ "is in C code without GVL", "are in C code without GVL" }, { "is blocked", "are blocked" },
	{ "sleeps", "sleep" }, { "is created", "are created" },
};

enum { RUN, GVL, IO, LOCK, QUEUE, CONDITION, THREAD, PROCESS, RACTOR, C_CODE, BLOCKED, SLEEP, CREATED, KINDS };
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == KINDS, "each kind has its words");

static int kind_of(const struct extprof_dump_thread *t)
{
	static const int by_wait[] = {
		[EXTPROF_WAIT_SLEEP] = SLEEP, [EXTPROF_WAIT_JOIN] = THREAD, [EXTPROF_WAIT_MUTEX] = LOCK,
		[EXTPROF_WAIT_MUTEX_SLEEP] = SLEEP, [EXTPROF_WAIT_CONDVAR] = CONDITION, [EXTPROF_WAIT_QUEUE] = QUEUE,
		[EXTPROF_WAIT_SIZED_QUEUE] = QUEUE, [EXTPROF_WAIT_IO] = IO, [EXTPROF_WAIT_IO_READ] = IO,
		[EXTPROF_WAIT_IO_WRITE] = IO, [EXTPROF_WAIT_IO_SELECT] = IO, [EXTPROF_WAIT_PROCESS] = PROCESS,
		[EXTPROF_WAIT_RACTOR] = RACTOR, [EXTPROF_WAIT_NOGVL] = C_CODE,
	};

	switch (t->state) {
	case EXTPROF_THREAD_CREATED:
		return CREATED;
	case EXTPROF_THREAD_RUNNING:
		return RUN;
	case EXTPROF_THREAD_READY:
		return GVL;
	default:
		if (dump__is_event_loop(t))
			return IO;
		if (t->wait > 0 && (size_t)t->wait < sizeof(by_wait) / sizeof(by_wait[0]))
			return by_wait[t->wait];
		return t->state == EXTPROF_THREAD_SLEEPING ? SLEEP : BLOCKED;
	}
}

static void write_circle(const struct extprof_dump_result *r, const struct extprof_dump_thread *first, FILE *to)
{
	const struct extprof_dump_thread *t = first;
	unsigned int n = 0;

	do {
		if (n < NAMES_MAX)
			fprintf(to, "%s", n ? ", " : first->deadlock == 1 ? ": " : "; ");
		if (n < NAMES_MAX)
			dump__write_name(t, to);
		n++;
		t = dump__thread(r, t->wait_thread);
	} while (t && t != first);
	if (n > NAMES_MAX)
		fprintf(to, " and %u more", n - NAMES_MAX);
}

static void write_deadlocks(const struct extprof_dump_result *r, FILE *to)
{
	uint32_t count = 0, written = 0;

	for (size_t i = 0; i < r->thread_count; i++)
		if (r->threads[i]->deadlock > count)
			count = r->threads[i]->deadlock;
	if (!count)
		return;
	fprintf(to, "; %" PRIu32 " deadlock%s", count, count == 1 ? "" : "s");
	for (size_t i = 0; i < r->thread_count && written < count && written < DEADLOCKS_MAX; i++) {
		if (r->threads[i]->deadlock == written + 1) {
			write_circle(r, r->threads[i], to);
			written++;
		}
	}
	if (written < count)
		fprintf(to, " ...");
}

void dump_summary__write(const struct extprof_dump_result *r, FILE *to)
{
	uint32_t counts[KINDS] = { 0 };
	bool any = false;

	for (size_t i = 0; i < r->thread_count; i++)
		counts[kind_of(r->threads[i])]++;
	fprintf(to, "%zu thread%s", r->thread_count, r->thread_count == 1 ? "" : "s");
	for (int i = 0; i < KINDS; i++) {
		if (!counts[i])
			continue;
		fprintf(to, "%s %" PRIu32 " %s", any ? "," : ":", counts[i], counts[i] == 1 ? kinds[i].one : kinds[i].many);
		any = true;
	}
	write_deadlocks(r, to);
}
