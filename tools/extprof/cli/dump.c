/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof dump */
#include "cli/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/messages.h"

/* State of a command that dumps, maybe again and again. */
struct dumps {
	struct dump_options options;
	pid_t *pids;			/* 0: of the core file */
	struct extprof_dump **list;	/* NULL: it has ended, or never was one */
	uint32_t count;
	bool no_memory;
	uint64_t shown;
	uint32_t below;			/* rubies below those that are named, which were not asked for */
	enum exit_status status;	/* of the first failure */
};

static void note(struct dumps *d, enum exit_status status)
{
	if (d->status == STATUS_OK)
		d->status = status;
}

static void failed(struct dumps *d, const struct extprof_error *e)
{
	note(d, (enum exit_status)message__fail(e));
}

/* With -s a process that is named can be no ruby, but the parent of some. */
static bool is_parent_only(const struct dumps *d, const struct extprof_error *e)
{
	return d->options.common.recording.subprocesses && d->count > 1 && e->code == EXTPROF_NOT_RUBY;
}

static void open_one(struct dumps *d, uint32_t i)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_dump_options options = {
		.size = sizeof(options), .pid = d->pids[i],
		.core = d->options.core, .exe = d->options.exe, .stop = d->options.stop,
		.source = d->options.source, .native = d->options.common.recording.native, .no_demangle = d->options.common.recording.no_demangle,
		.native_vm = d->options.common.recording.native_vm,
	};

	if (extprof_dump_open(&d->list[i], &options, &e) && !is_parent_only(d, &e))
		failed(d, &e);
}

static void add_pid(struct dumps *d, pid_t pid)
{
	pid_t *pids = reallocarray(d->pids, d->count + 1, sizeof(*pids));

	if (!pids) {
		d->no_memory = true;
		return;
	}
	d->pids = pids;
	d->pids[d->count++] = pid;
}

static bool is_named(const struct dumps *d, pid_t pid)
{
	const struct extprof_recording_options *o = &d->options.common.recording;

	for (size_t i = 0; i < o->pid_count; i++)
		if (o->pids[i] == pid)
			return true;
	return false;
}

static void on_ruby(void *context, const struct extprof_ruby *ruby)
{
	struct dumps *d = context;

	/* Processes that are named are opened anyway, and their errors are told then. */
	if (is_named(d, ruby->pid))
		return;
	if (ruby->code == EXTPROF_OK) {
		add_pid(d, ruby->pid);
		return;
	}
	fprintf(stderr, "extprof: left out: process %d (%s): %s\n", ruby->pid, ruby->command, ruby->text);
	/* A ruby of another build is nothing that could be shown. */
	if (ruby->code != EXTPROF_NO_INTERFACE)
		note(d, STATUS_NOT_READY);
}

static void on_child(void *context, const struct extprof_ruby *ruby)
{
	struct dumps *d = context;

	d->below += !is_named(d, ruby->pid) && ruby->code == EXTPROF_OK;
}

/* The master of a cluster only waits. */
static void hint_at_children(struct dumps *d)
{
	struct extprof_recording_options o = d->options.common.recording;

	if (!d->shown || o.all || o.subprocesses || !o.pid_count)
		return;
	o.subprocesses = true;
	if (!extprof_find(&o, on_child, d, NULL) && d->below)
		fprintf(stderr, "extprof: %" PRIu32 " more %s below %s: -s shows %s too\n", d->below, d->below == 1 ? "ruby runs" : "rubies run",
			o.pid_count == 1 ? "that process" : "these processes", d->below == 1 ? "it" : "them");
}

static int by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Fill d->pids. */
static void choose(struct dumps *d)
{
	const struct extprof_recording_options *o = &d->options.common.recording;
	struct extprof_error e = { .size = sizeof(e) };

	if (d->options.core)
		add_pid(d, 0);
	for (size_t i = 0; i < o->pid_count; i++)
		add_pid(d, o->pids[i]);
	/* If a process is named, it is no error that no other one is found. */
	if ((o->all || o->subprocesses) && extprof_find(o, on_ruby, d, &e) && (!d->count || e.code != EXTPROF_NO_PROCESS))
		failed(d, &e);
	else if (!d->count)
		note(d, STATUS_NO_INTERFACE);
	if (o->all || o->subprocesses)
		qsort(d->pids, d->count, sizeof(*d->pids), by_number);
	if (d->no_memory) {
		fprintf(stderr, "extprof: out of memory\n");
		note(d, STATUS_INTERNAL);
	}
}

static void complain(struct dumps *d, const struct extprof_dump_result *r)
{
	uint32_t missing = r->torn + r->lost + r->left_out;

	if (r->core_missing)
		fprintf(stderr, "extprof: the core file is cut off: %" PRIu64 " bytes are missing at its end\n", r->core_missing);
	if (!missing)
		return;
	fprintf(stderr, "extprof: process %d: %u %s not whole: %u changed while they were read, %u could not be "
		"read, %u were left out\n", r->pid, missing, missing == 1 ? "stack is" : "stacks are", r->torn, r->lost,
		r->left_out);
	if (r->torn)
		fprintf(stderr, "extprof: dump it again, or with --reader stop\n");
	note(d, STATUS_NOT_READY);
}

/* False: the output cannot be written. */
static bool show(struct dumps *d, const struct extprof_dump_result *r, bool again)
{
	int err;

	if (!d->options.json && d->shown++)
		putchar('\n');
	err = d->options.json ? dump_json__write(r, again, stdout) :
		dump_text__write(r, again, d->options.all_stacks, stdout);
	if (err) {
		fprintf(stderr, "extprof: out of memory\n");
		note(d, STATUS_INTERNAL);
	}
	if (message__flush(STATUS_OK) == STATUS_OK)
		return true;
	note(d, STATUS_OUTPUT);
	return false;
}

/* Dump each of them once.  False: there is nothing more to do. */
static bool dump_all(struct dumps *d, bool again)
{
	const struct extprof_dump_result *r;
	struct extprof_error e = { .size = sizeof(e) };
	uint32_t left = 0;

	for (uint32_t i = 0; i < d->count; i++) {
		if (!d->list[i])
			continue;
		if (extprof_dump_take(d->list[i], &r, &e)) {
			failed(d, &e);
			extprof_dump_close(d->list[i]);
			d->list[i] = NULL;
			continue;
		}
		if (!show(d, r, again))
			return false;
		complain(d, r);
		left++;
	}
	return left;
}

static void wait_until(uint64_t time)
{
	struct timespec t = { .tv_sec = (time_t)(time / 1000000000u), .tv_nsec = (long)(time % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int dump(int argc, char **argv, bool implied)
{
	struct dumps d = { .status = STATUS_OK };
	uint64_t next;
	int err;

	(void)implied;
	err = dump_options__parse(&d.options, argc, argv, 0);
	if (err) {
		options__free(&d.options.common);
		return err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	}
	choose(&d);
	d.list = calloc(d.count + 1, sizeof(struct extprof_dump *));
	if (!d.list) {
		fprintf(stderr, "extprof: out of memory\n");
		note(&d, STATUS_INTERNAL);
		d.count = 0;
	}
	/* A core file can be anybody's; programs and libraries are read by the paths that are in it. */
	if (d.options.core && confined__enter(&(struct confined){ .inputs = &d.options.core, .input_count = 1, .files = true })) {
		note(&d, STATUS_INTERNAL);
		d.count = 0;
	}
	for (uint32_t i = 0; i < d.count; i++)
		open_one(&d, i);
	next = clock__now();
	for (uint64_t n = 0; !d.options.count || n < d.options.count; n++) {
		if (n)
			wait_until(next += d.options.interval);
		if (!dump_all(&d, n))
			break;
	}
	hint_at_children(&d);
	for (uint32_t i = 0; i < d.count; i++)
		extprof_dump_close(d.list[i]);
	free(d.list);
	free(d.pids);
	options__free(&d.options.common);
	return d.status;
}

const struct command command_dump = {
	.name = "dump",
	.summary = "show what all threads of a program do at this moment",
	.line = &command_line_dump,
	.run = dump,
	.power = POWER_PROCESSES,
};
