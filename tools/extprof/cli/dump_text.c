/* SPDX-License-Identifier: BSD-2-Clause */
/* A dump for people. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/dump.h"
#include "cli/dump_groups.h"
#include "cli/dump_summary.h"

/* Members of a group that are named. */
#define NAMED_MAX 4u

const struct extprof_dump_thread *dump__thread(const struct extprof_dump_result *r, uint64_t serial)
{
	size_t low = 0, high = r->thread_count;

	/* Oldest first: by serial. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->threads[middle]->serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->thread_count && r->threads[low]->serial == serial ? r->threads[low] : NULL;
}

static bool on_cpu(const struct extprof_dump_thread *t)
{
	return t->kernel_state == 'R';
}

const char *dump__state(const struct extprof_dump_thread *t)
{
	switch (t->state) {
	case EXTPROF_THREAD_CREATED:
		return "created, not started yet";
	case EXTPROF_THREAD_RUNNING:
		return "has GVL";
	case EXTPROF_THREAD_READY:
		return "waiting for GVL";
	case EXTPROF_THREAD_BLOCKED:
		return on_cpu(t) ? "on CPU without GVL" : "blocked";
	case EXTPROF_THREAD_SLEEPING:
		return "sleeping";
	default:
		return "in an unknown state";
	}
}

bool dump__is_event_loop(const struct extprof_dump_thread *t)
{
	return t->state == EXTPROF_THREAD_BLOCKED && t->wait == EXTPROF_WAIT_NOGVL && !on_cpu(t) && t->call_name &&
	       !strncmp(t->call_name, "epoll_", 6);
}

void dump__write_name(const struct extprof_dump_thread *t, FILE *to)
{
	if (t->name[0])
		fprintf(to, "\"%s\"", t->name);
	else if (t->main)
		fprintf(to, "main");
	else
		fprintf(to, "#%" PRIu64, t->serial);
}

static void write_time(uint64_t ns, FILE *to)
{
	double s = (double)ns / 1e9;

	if (s < 0.1)
		fprintf(to, "%.1f ms", s * 1e3);
	else if (s < 10)
		fprintf(to, "%.2f s", s);
	else if (s < 600)
		fprintf(to, "%.0f s", s);
	else if (s < 36000)
		fprintf(to, "%.0f min", s / 60);
	else
		fprintf(to, "%.1f h", s / 3600);
}

/* For threads that are shown together: the shortest and the longest time. */
static void write_since(uint64_t least, uint64_t most, FILE *to)
{
	if (most == UINT64_MAX)
		return;
	fprintf(to, " for ");
	if (least != most) {
		write_time(least, to);
		fprintf(to, " to ");
	}
	write_time(most, to);
}

static void write_call(const struct extprof_dump_thread *t, FILE *to)
{
	if (t->call_name)
		fprintf(to, "in %s", t->call_name);
	else
		fprintf(to, "in system call %" PRId64, t->call);
	if (t->call_fd >= 0)
		fprintf(to, "(%d%s%s)", t->call_fd, t->call_file ? " " : "", t->call_file ? t->call_file : "");
}

/* Names are often equal: the number of its native thread follows `verb`. */
static void write_other(const struct extprof_dump_result *r, uint64_t serial, const char *verb, FILE *to)
{
	const struct extprof_dump_thread *t = serial ? dump__thread(r, serial) : NULL;

	if (t)
		dump__write_name(t, to);
	else
		fprintf(to, "an unknown thread");
	fprintf(to, "%s", verb);
	if (t && t->tid)
		fprintf(to, " (tid %u)", t->tid);
}

/* Write what the thread waits for, if that is known. */
static void write_wait(const struct extprof_dump_result *r, const struct extprof_dump_thread *t, FILE *to)
{
	static const char *const texts[] = {
		[EXTPROF_WAIT_MUTEX_SLEEP] = "in Mutex#sleep", [EXTPROF_WAIT_CONDVAR] = "waits for a condition variable",
		[EXTPROF_WAIT_QUEUE] = "waits for a queue, which is empty",
		[EXTPROF_WAIT_SIZED_QUEUE] = "waits for a queue, which is full", [EXTPROF_WAIT_IO] = "waits for a file",
		[EXTPROF_WAIT_IO_READ] = "waits to read", [EXTPROF_WAIT_IO_WRITE] = "waits to write",
		[EXTPROF_WAIT_IO_SELECT] = "in IO.select", [EXTPROF_WAIT_NOGVL] = "in C code without GVL",
	};

	switch (t->wait) {
	case EXTPROF_WAIT_NOGVL:
		fprintf(to, ", %s", dump__is_event_loop(t) ? "waits until one of these is ready" : texts[t->wait]);
		break;
	case EXTPROF_WAIT_JOIN:
		fprintf(to, ", waits for the end of ");
		write_other(r, t->wait_thread, "", to);
		if (t->wait_limit == EXTPROF_LIMIT_TIME)
			fprintf(to, ", for a limited time");
		break;
	case EXTPROF_WAIT_MUTEX:
		if (t->wait_owner == EXTPROF_OWNER_NOBODY) {
			fprintf(to, ", waits for a mutex that nobody has at this moment");
			break;
		}
		fprintf(to, ", waits for a mutex that ");
		write_other(r, t->wait_thread, t->wait_owner == EXTPROF_OWNER_NOW ? " has" : " had when the wait began", to);
		break;
	case EXTPROF_WAIT_PROCESS:
		if ((int64_t)t->wait_object > 0)
			fprintf(to, ", waits for the end of process %" PRIu64, t->wait_object);
		else
			fprintf(to, ", waits for the end of a process");
		break;
	case EXTPROF_WAIT_RACTOR:
		/* Bits; Ractor.select waits for several. */
		fprintf(to, ", waits %s ractor", t->wait_object == 1 ? "to receive from a" : t->wait_object == 2 ?
			"to take from a" : t->wait_object == 4 ? "to yield to a" : "for a");
		break;
	default:
		if ((unsigned int)t->wait < sizeof(texts) / sizeof(texts[0]) && texts[t->wait])
			fprintf(to, ", %s", texts[t->wait]);
	}
	if (t->wait_fd >= 0 && t->wait_fd != t->call_fd)
		fprintf(to, " (%d%s%s)", t->wait_fd, t->wait_file ? " " : "", t->wait_file ? t->wait_file : "");
	if (t->deadlocked)
		fprintf(to, ": deadlock");
}

static void write_state(const struct extprof_dump_result *r, const struct extprof_dump_thread *t, uint64_t least,
			uint64_t most, FILE *to)
{
	fprintf(to, "%s", dump__state(t));
	if (t->state == EXTPROF_THREAD_BLOCKED && t->call >= 0) {
		fprintf(to, " ");
		write_call(t, to);
	}
	write_since(least, most, to);
	write_wait(r, t, to);
	if (t->gvl_holder) {
		fprintf(to, ", held by ");
		write_other(r, t->gvl_holder, "", to);
	}
	/* For how long the collector has been at it is not known: the time above is that with the GVL. */
	if (t->gc)
		fprintf(to, ", in GC (%s)", t->gc);
	if (t->state == EXTPROF_THREAD_RUNNING && on_cpu(t))
		fprintf(to, ", on CPU");
	/* How a sleep is done says little; what the holder of the GVL waits for says much. */
	if (t->state == EXTPROF_THREAD_RUNNING && t->call >= 0) {
		fprintf(to, ", blocked ");
		write_call(t, to);
	}
	if (t->kernel_state == 'T' || t->kernel_state == 't')
		fprintf(to, ", %s", t->kernel_state == 'T' ? "stopped by a signal" : "stopped by a debugger");
	else if (t->kernel_state == 'D')
		fprintf(to, ", not interruptible");
}

static void write_frame(const struct extprof_frame *f, FILE *to)
{
	fprintf(to, "    %s", f->name);
	if (f->path[0]) {
		fprintf(to, "  %s", f->path);
		if (f->line)
			fprintf(to, ":%s%d", f->approximate ? "~" : "", f->line);
	} else if (f->kind == EXTPROF_FRAME_NATIVE && f->module[0] && f->name[0] != '[') {
		fprintf(to, "  %s", basename(f->module));
	}
	fprintf(to, "\n");
}

static void write_labels(const struct extprof_dump_fiber *f, FILE *to)
{
	if (!f->label_count && !f->labels_lost)
		return;
	fprintf(to, "    labels:");
	for (size_t i = 0; i < f->label_count; i++)
		fprintf(to, "%s %s=%s", i ? "," : "", f->labels[i]->key, f->labels[i]->value);
	if (f->labels_lost)
		fprintf(to, "%s [%s]", f->label_count ? "," : "", f->labels_lost);
	fprintf(to, "\n");
}

static void write_trace(const struct extprof_dump_fiber *f, FILE *to)
{
	if (f->trace_id)
		fprintf(to, "    trace: %s%s%s\n", f->trace_id, f->span_id ? ", span: " : "", f->span_id ? f->span_id : "");
	else if (f->trace_lost)
		fprintf(to, "    trace: [%s]\n", f->trace_lost);
}

static void write_stack(const struct extprof_dump_fiber *f, FILE *to)
{
	const char *source = f->source;

	if (f->created)
		return;
	if (f->native_lost)
		fprintf(to, "    [native functions left out: %s]\n", f->native_lost);
	for (size_t i = f->stack->count; i-- > 0;) {
		const struct extprof_frame *frame = f->stack->frames[i];

		write_frame(frame, to);
		/* The source is that of the first frame that has a line. */
		if (source && frame->kind == EXTPROF_FRAME_RUBY && frame->line) {
			fprintf(to, "      > %s\n", source);
			source = NULL;
		}
	}
	if (!f->stack->count)
		fprintf(to, "    [no ruby code]\n");
}

static void write_fiber_state(const struct extprof_dump_thread *t, const struct extprof_dump_fiber *f, bool again,
			      FILE *to)
{
	if (f->current && f->resumed_by)
		fprintf(to, "current, resumed by fiber %" PRIu64, f->resumed_by);
	else if (f->resumes)
		fprintf(to, "has resumed fiber %" PRIu64, f->resumes);
	else
		fprintf(to, "%s", f->current ? "current" : f->created ? "created, never resumed" :
			t->fibers[0]->current ? "parked" : "current or parked");
	if (again)
		fprintf(to, "%s", f->moved ? ", moved" : ", not moved");
}

/* "  1245 fibers (non-blocking; 3, 4, 5 and 1242 more): parked" */
static void write_fiber_group(const struct extprof_dump_thread *t, const struct dump_groups *g, uint32_t first,
			      bool again, FILE *to)
{
	const struct extprof_dump_fiber *f = t->fibers[first];
	uint32_t n = 0;

	if (g->count[first] > 1) {
		fprintf(to, "  %" PRIu32 " fibers (%s", g->count[first], f->nonblocking ? "non-blocking; " : "");
		for (uint32_t i = first; n < NAMED_MAX && (!n || i); i = g->next[i], n++)
			fprintf(to, "%s%" PRIu64, n ? ", " : "", t->fibers[i]->serial);
		if (n < g->count[first])
			fprintf(to, " and %" PRIu32 " more", g->count[first] - n);
		fprintf(to, "): ");
	} else if (t->fiber_count > 1 || !f->current) {
		fprintf(to, "  fiber %" PRIu64 "%s%s: ", f->serial, f->root ? " (root)" : "",
			f->nonblocking ? " (non-blocking)" : "");
	}
	if (t->fiber_count > 1 || !f->current) {
		write_fiber_state(t, f, again, to);
		fprintf(to, "\n");
	}
	write_labels(f, to);
	write_trace(f, to);
	write_stack(f, to);
}

/* "main (tid 7)", "ractor 2, no native thread now" */
static void write_who(const struct extprof_dump_thread *t, FILE *to)
{
	dump__write_name(t, to);
	fprintf(to, " (");
	if (t->ractor > 1)
		fprintf(to, "ractor %u, ", t->ractor);
	if (t->tid)
		fprintf(to, "tid %u)", t->tid);
	else
		fprintf(to, "no native thread now)");
}

static int write_fibers(const struct extprof_dump_thread *t, bool again, bool all, FILE *to)
{
	struct dump_groups g = { 0 };
	int err = all ? dump_groups__of_none(&g, t->fiber_count) : dump_groups__of_fibers(&g, t, again);

	for (uint32_t i = 0; i < t->fiber_count && !err; i++)
		if (g.count[i])
			write_fiber_group(t, &g, i, again, to);
	dump_groups__free(&g);
	return err;
}

/* One thread, or several: "\n5 threads: sleeping for 1 to 2 s, ...", with their names in the line below. */
static int write_thread_group(const struct extprof_dump_result *r, const struct dump_groups *g, uint32_t first,
			      bool again, bool all, FILE *to)
{
	const struct extprof_dump_thread *t = r->threads[first];
	uint64_t least = t->since, most = t->since;
	uint32_t n = 0;

	for (uint32_t i = g->next[first]; i; i = g->next[i]) {
		least = r->threads[i]->since < least ? r->threads[i]->since : least;
		most = r->threads[i]->since > most ? r->threads[i]->since : most;
	}
	if (g->count[first] > 1) {
		fprintf(to, "\n%" PRIu32 " threads", g->count[first]);
	} else {
		fprintf(to, "\nthread ");
		write_who(t, to);
	}
	fprintf(to, ": ");
	write_state(r, t, least, most, to);
	if (again) {
		bool moved = t->fiber_count && t->fibers[0]->moved;

		fprintf(to, "%s", moved ? ", moved" : t->ran ? ", ran, not moved" : ", not moved");
	}
	fprintf(to, "\n");
	if (g->count[first] > 1) {
		fprintf(to, "  ");
		for (uint32_t i = first; n < NAMED_MAX && (!n || i); i = g->next[i], n++) {
			fprintf(to, "%s", n ? ", " : "");
			write_who(r->threads[i], to);
		}
		if (n < g->count[first])
			fprintf(to, " and %" PRIu32 " more", g->count[first] - n);
		fprintf(to, "\n");
	}
	return write_fibers(t, again, all, to);
}

static void write_head(const struct extprof_dump_result *r, FILE *to)
{
	char time[64] = "";
	time_t seconds = (time_t)(r->time / 1000000000u);
	struct tm tm;

	fprintf(to, "process %d%s%s\n", r->pid, r->command[0] ? ": " : "", r->command);
	dump_summary__write(r, to);
	fprintf(to, "\n");
	if (r->ruby_description[0])
		fprintf(to, "%s\n", r->ruby_description);
	else
		fprintf(to, "ruby %s\n", r->ruby_version);
	if (r->time && localtime_r(&seconds, &tm) && strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S", &tm))
		fprintf(to, "%s.%03u, ", time, (unsigned int)(r->time / 1000000u % 1000u));
	fprintf(to, "read in %.1f ms", (double)r->duration / 1e6);
	if (r->stopped)
		fprintf(to, ", stopped for %.2f ms", (double)r->stopped / 1e6);
	if (r->stops)
		fprintf(to, ", %u %s stopped for %.2f ms%s", r->stops, r->stops == 1 ? "thread" : "threads",
			(double)r->longest_stop / 1e6, r->stops == 1 ? "" : " at most");
	fprintf(to, "\n");
}

int dump_text__write(const struct extprof_dump_result *r, bool again, bool all, FILE *to)
{
	struct dump_groups g = { 0 };
	int err = all ? dump_groups__of_none(&g, r->thread_count) : dump_groups__of_threads(&g, r, again);

	if (err)
		return err;
	write_head(r, to);
	for (uint32_t i = 0; i < r->thread_count && !err; i++)
		if (g.count[i])
			err = write_thread_group(r, &g, i, again, all, to);
	for (size_t i = 0; i < r->newer_count; i++)
		fprintf(to, "%snote: %s has changed since the process started: its lines may be others\n", i ? "" : "\n",
			r->newer[i]);
	dump_groups__free(&g);
	return err;
}
