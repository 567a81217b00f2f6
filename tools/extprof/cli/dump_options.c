/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cli/dump.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static error_t finish(struct options *o, struct argp_state *state)
{
	const char *core = o->values[OPTION_CORE].text, *reader = o->recording.reader;
	bool again = o->values[OPTION_INTERVAL].given;

	if (core && (o->recording.pid_count || o->recording.all || o->recording.subprocesses))
		FAIL("--core says what to show, and so does another option: leave one of them out");
	if (o->values[OPTION_EXE].given && !core)
		FAIL("--exe is for --core FILE: a process tells its program itself");
	if (reader && strcmp(reader, "nonblocking") && strcmp(reader, "stop"))
		FAIL("--reader: a dump is read by nonblocking or stop, not by %s", reader);
	if (core && (reader || again))
		FAIL("a core file does not change: leave %s out", reader ? "--reader" : "--interval");
	if (options__number(o, OPTION_COUNT, 1) > 1 && !again)
		FAIL("how often? --count %s needs --interval TIME", o->values[OPTION_COUNT].text);
	return 0;
}

int dump_options__parse(struct dump_options *d, int argc, char **argv, unsigned int flags)
{
	struct options *o = &d->common;
	int err;

	memset(d, 0, sizeof(*d));
	err = options__parse(o, &command_line_dump, argc, argv, flags);
	d->core = o->values[OPTION_CORE].text;
	d->exe = o->values[OPTION_EXE].text;
	d->stop = o->recording.reader && !strcmp(o->recording.reader, "stop");
	d->json = options__has(o, OPTION_JSON);
	d->source = options__has(o, OPTION_SOURCE);
	d->all_stacks = options__has(o, OPTION_ALL_STACKS);
	d->interval = options__number(o, OPTION_INTERVAL, 0);
	d->count = options__number(o, OPTION_COUNT, d->interval ? 0 : 1);
	return err;
}

const struct command_line command_line_dump = {
	.command = OPTION_OF_DUMP,
	.about = "Show what all threads and fibers of a running Ruby program do at this moment.",
	.verb = "show",
	.arguments = "-p PID\n-a\n--core FILE",
	.examples =
		"  extprof dump -p 1234                          what does it do?\n"
		"  extprof dump -p 1234 --interval 1s --count 3  what does not move?\n"
		"  extprof dump -p 1234 -s                       and its workers?\n"
		"  extprof dump --name 'puma*'                   all of that name\n"
		"  extprof dump -p 1234 --json | jq .            for programs\n"
		"  extprof dump --core core.1234                 what did it do?\n",
	.notes =
		"-s, -a, --name, --user and --cgroup choose among the processes that are there at the start.\n"
		"\n"
		"The program is not stopped, unless --reader stop is given: then all threads are stopped for about a "
		"millisecond.  --native stops threads that run, one by one, and some that wait.  A system call that a running "
		"thread begins at that moment can end with EINTR; Ruby calls again.\n"
		"\n"
		"No BPF is used: the user of the program may dump it, as far as /proc/sys/kernel/yama/ptrace_scope allows, and "
		"so may CAP_SYS_PTRACE.\n"
		"\n"
		"Exit status: 0; 64 usage, 65 not a ruby, 66 no such process, 69 a ruby without the interface, "
		"70 internal error, 73 output not writable, 75 not ready, or a stack is missing, 76 interface version not "
		"supported, 77 no permission.  See extprof(1).",
	.finish = finish,
};
