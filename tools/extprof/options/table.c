/* SPDX-License-Identifier: BSD-2-Clause */
#include "options/table.h"

#include <string.h>

#define R OPTION_OF_RECORD
#define T OPTION_OF_TOP
#define S OPTION_OF_STAT
#define D OPTION_OF_DUMP
#define DIFF OPTION_OF_DIFF
#define ANNOTATE OPTION_OF_ANNOTATE
#define REPORT OPTION_OF_REPORT
#define DAEMON OPTION_OF_DAEMON
#define PUSH OPTION_OF_PUSH
#define SERVE OPTION_OF_SERVE

#define FIELD(name) .field = #name, .offset = offsetof(struct extprof_recording_options, name)
#define WORDS(kind) .has_words = true, .words = kind
#define CHOICES(list) .has_words = true, .choices = list

#define STRING_(x) #x
#define STRING(x) STRING_(x)

/* Why others do not have what chooses among stacks. */
#define OF_PROFILES "it chooses among the stacks of a profile: extprof record, report, diff, annotate and top have it"

#define MS 1000000ull
#define MIB 1048576ull
#define SECOND 1000000000ull
#define HOUR 3600000000000ull
#define YEAR (366 * 24 * HOUR)

const char *const option_group_titles[OPTION_GROUPS] = {
	[OPTION_WHAT] = "Which processes:",
	[OPTION_WHICH] = "Which samples:",
	[OPTION_HOW] = "How to measure:",
	[OPTION_SHOW] = "What to show:",
	[OPTION_OTHER] = "Other:",
};

const struct option_row option_rows[OPTIONS] = {
	[OPTION_PID] = { "pid", "p", "PID", .type = OPTION_PIDS, .group = OPTION_WHAT, .commands = R | T | S | D,
		.brief_in = R | T | S | D, FIELD(pids), .brief = "the process with this pid; 77,78 are several",
		.help = "the process with this pid; 77,78 or -p 77 -p 78 are several" },
	[OPTION_ALL] = { "all", "a", .group = OPTION_WHAT, .commands = R | T | S | D, .brief_in = R | T | S | D, FIELD(all),
		.brief = "every ruby of this machine",
		.help = "every ruby of this machine; all but dump: also those that start later" },
	[OPTION_SUBPROCESSES] = { "subprocesses", "s", .group = OPTION_WHAT, .commands = R | T | S | D,
		.brief_in = R | T | S | D, FIELD(subprocesses), .brief = "what these processes fork and start, too",
		.help = "what these processes fork and start, too (default with COMMAND)" },
	[OPTION_NO_SUBPROCESSES] = { "no-subprocesses", .group = OPTION_WHAT, .commands = R | T | S, .means = "false",
		.same = OPTION_SUBPROCESSES, .brief = "only the command itself", .help = "only COMMAND itself" },
	[OPTION_BY_USER] = { "user", "", "USER", .type = OPTION_USER, .group = OPTION_WHAT, .commands = DAEMON | R | T | S | D,
		FIELD(user), .brief = "only processes of this user",
		.help = "of these processes only those of USER: a name or a number" },
	[OPTION_NAME] = { "name", "", "PATTERN", .type = OPTION_TEXT, .group = OPTION_WHAT, .commands = DAEMON | R | T | S | D,
		.brief_in = R | T | S | D | DAEMON, FIELD(name), .brief = "only programs or scripts of such a name: puma*",
		.help = "of these processes only those whose program or script has a name like PATTERN: puma*" },
	[OPTION_BY_CGROUP] = { "cgroup", "", "PATH", .type = OPTION_CGROUP, .group = OPTION_WHAT, .commands = DAEMON | R | T | S | D,
		FIELD(cgroup), .brief = "only processes in this cgroup",
		.help = "of these processes only those in the cgroup PATH below /sys/fs/cgroup: a container, pod or unit" },
	[OPTION_KEEP_ROOT] = { "keep-root", .group = OPTION_WHAT, .commands = R | T | S,
		.brief = "under sudo, run the command as root too",
		.help = "under sudo, run COMMAND as root too; without this it runs as the user who called sudo" },
	[OPTION_CORE] = { "core", "", "FILE", .type = OPTION_TEXT, .group = OPTION_WHAT, .commands = D, .brief_in = D,
		.brief = "the process of this core file", .help = "the process that this core file was written of" },
	[OPTION_EXE] = { "exe", "", "FILE", .type = OPTION_TEXT, .group = OPTION_WHAT, .commands = D, .brief_in = D,
		.brief = "the program of the core file",
		.help = "the program of the core file, if it is not found by itself" },

	[OPTION_ONE_MODE] = { "mode", "m", "MODE", .type = OPTION_TEXT, .group = OPTION_WHICH, .commands = DIFF | ANNOTATE,
		.brief_in = DIFF | ANNOTATE, WORDS(EXTPROF_MODES), .brief = "this mode, of those that were recorded",
		.help = "of the modes that were recorded this one: %s (default: the only one)" },
	[OPTION_MODES] = { "mode", "m", "MODE", .type = OPTION_TEXT, .group = OPTION_WHICH, .commands = REPORT | PUSH,
		.brief_in = REPORT | PUSH, WORDS(EXTPROF_MODES), .brief = "only these modes, of those that were recorded",
		.help = "of the modes that were recorded only these: %s, or several with commas between (default: all)" },
	[OPTION_WHERE] = { "filter", "", "CONDITION", .type = OPTION_TEXT, .group = OPTION_WHICH, .commands = DIFF | ANNOTATE | REPORT | PUSH,
		.brief_in = DIFF | ANNOTATE | REPORT, .brief = "only samples that match: thread=worker*",
		.help = "only samples that match KEY=PATTERN: process, service, cgroup, host, commit, thread, method, file, gem, state, trace, span, label:KEY "
		"or resource:KEY, with *, ? and [...]; several have to match all" },
	[OPTION_TRACE] = { "trace", "", "ID", .type = OPTION_TEXT, .group = OPTION_WHICH, .commands = REPORT,
		.brief = "only samples of that trace", .help = "only samples of the trace with that id, 32 hexadecimal "
		"digits; the same as --filter trace=ID" },
	[OPTION_SINCE] = { "since", "", "TIME", .type = OPTION_TIME_POINT, .group = OPTION_WHICH,
		.commands = DIFF | ANNOTATE | REPORT, .brief_in = REPORT, .brief = "only samples from then on: 10, 2m, 02:50",
		.help = "only samples from so long after the begin of a recording: 10, 500ms, 2m; or before its end: -1h; or from a "
		"time of the clock: 02:50, the last one before its end, or 2026-11-27 02:50" },
	[OPTION_UNTIL] = { "until", "", "TIME", .type = OPTION_TIME_POINT, .group = OPTION_WHICH,
		.commands = DIFF | ANNOTATE | REPORT, .brief_in = REPORT, .brief = "only samples up to then",
		.help = "only samples up to so long after the begin, or up to a time of the clock: the first 03:10 after --since" },
	[OPTION_WITH] = { "with", "", "TIME", .type = OPTION_TIME_POINT, .group = OPTION_WHICH, .commands = DIFF, .brief_in = DIFF,
		.brief = "two times of the same recordings: -1d, 02:50",
		.help = "compare the time of --since and --until with another one of the same recordings, which is as long: with that so "
		"long before, -1d; or with that from a time of the clock on: 02:50, the last one before --since, or "
		"2026-11-27 02:50; or from so long after the begin: 10, 2m.  The earlier one of both is before" },
	[OPTION_SLOWER_THAN] = { "slower-than", "", "TIME", .type = OPTION_TIME, .least = 1, .most = YEAR, .group = OPTION_WHICH,
		.commands = REPORT, .brief_in = REPORT, .brief = "only requests that were seen for so long",
		.help = "only samples of requests that were seen for so long: 500ms" },
	[OPTION_SLOWEST] = { "slowest", "", "N", .type = OPTION_NUMBER, .least = 1, .most = 100000, .group = OPTION_WHICH,
		.commands = REPORT, .brief_in = REPORT, .brief = "only the N longest requests",
		.help = "only samples of the N longest requests" },
	[OPTION_REQUEST_LABEL] = { "request-label", "", "KEY", .type = OPTION_TEXT, .group = OPTION_WHICH, .commands = REPORT,
		.brief = "this label alone makes a request",
		.help = "this label alone makes a request, whatever others change in it (default: all labels of a sample)" },
	[OPTION_METRIC] = { "metric", "", "METRIC", .type = OPTION_TEXT, .group = OPTION_WHICH, .commands = DIFF | REPORT,
		.brief = "what is counted: cpu, samples, alloc_space, ...",
		.help = "which of the two amounts of the mode is counted: cpu or samples, wall or samples, alloc_space or "
		"alloc_objects, ... (default: times and bytes, where the mode has them)" },

	[OPTION_MODE] = { "mode", "m", "MODE", .type = OPTION_LIST, .group = OPTION_HOW, .commands = DAEMON | R | T,
		.brief_in = R | T | DAEMON, FIELD(modes), WORDS(EXTPROF_MODES),
		.brief = "cpu, wall, offcpu, gvl, alloc, gc, ...",
		.help = "what is measured: %s, or several with commas between (default: cpu; with top cpu,wall; with daemon cpu,wall,gc,alloc)" },
	[OPTION_BY_RATE] = { "rate", "Fr", "N", .type = OPTION_RATE, .group = OPTION_HOW, .commands = DAEMON | R | T | S,
		.brief_in = R | T, FIELD(rate), .fallback = STRING(EXTPROF_RATE_DEFAULT),
		.brief = "samples per second and CPU (default: " STRING(EXTPROF_RATE_DEFAULT) ")",
		.help = "samples per second and CPU; 10k or 10khz is 10000 (default: " STRING(EXTPROF_RATE_DEFAULT) "; with daemon "
		STRING(EXTPROF_DAEMON_RATE) ")" },
	[OPTION_DURATION] = { "duration", "d", "TIME", .type = OPTION_TIME, .group = OPTION_HOW, .commands = R | T | S,
		.brief_in = R | T | S, FIELD(duration), .brief = "stop after this time: 10, 500ms, 2m, 1h",
		.help = "stop when so much time was recorded, without pauses: 10, 10s, 500ms, 2m, 1h (default: at Ctrl-C, or when "
		"the processes have ended)" },
	[OPTION_DELAY] = { "delay", "", "TIME", .type = OPTION_TIME, .least = MS, .most = YEAR, .group = OPTION_HOW,
		.commands = R, FIELD(delay), .brief = "record nothing before so long after the start",
		.help = "record nothing before TIME after the start, with COMMAND after its start: 5, 500ms, 2m; SIGUSR2 ends "
		"the wait" },
	[OPTION_START_PAUSED] = { "start-paused", .group = OPTION_HOW, .commands = R, FIELD(start_paused),
		.brief = "record nothing before SIGUSR2",
		.help = "record nothing before the first SIGUSR2, which also pauses and goes on later" },
	[OPTION_READER] = { "reader", "", "READER", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = R | T | S | D,
		.brief_in = D, FIELD(reader), WORDS(EXTPROF_READERS), .brief = "what reads the stacks: ebpf, nonblocking, stop",
		.help = "what reads the stacks, %s: programs in the kernel; this program, from outside; the same with a "
		"running thread stopped for the read.  The last two need no BPF (default: auto, ebpf where that may be "
		"used; dump: nonblocking)" },
	[OPTION_NONBLOCKING] = { "nonblocking", .group = OPTION_HOW, .commands = R | T | S, .means = "nonblocking",
		.same = OPTION_READER, .brief = "the same as --reader nonblocking", .help = "the same as --reader nonblocking" },
	[OPTION_TIMER] = { "timer", "", "TIMER", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = DAEMON | R | T,
		FIELD(timer), WORDS(EXTPROF_TIMERS), .brief = "what takes the samples",
		.help = "what takes the samples, %s: timers of our own, or the scheduler's tick, which needs no interrupts "
		"of ours (default: clock)" },
	[OPTION_ALLOC_INTERVAL] = { "alloc-interval", "", "SIZE", .type = OPTION_SIZE, .group = OPTION_HOW, .commands = DAEMON | R | T,
		FIELD(alloc_interval), .brief = "modes alloc, heap: one sample for so many bytes",
		.help = "with mode alloc: one sample for each SIZE of memory, on average: 64k, 1M (default: 512k; with daemon "
		STRING(EXTPROF_DAEMON_ALLOC_INTERVAL) "M, and 512k with mode heap)" },
	[OPTION_SYSCALL] = { "syscall", "", "CALLS", .type = OPTION_LIST, .group = OPTION_HOW, .commands = DAEMON | R | T,
		FIELD(syscalls), .brief = "the system calls that mode syscall shows",
		.help = "the system calls that mode syscall shows, names or numbers with commas between: openat,write "
		"(default: all)" },
	[OPTION_LATENCY] = { "latency", .group = OPTION_HOW, .commands = DAEMON | R | T, FIELD(syscall_latency),
		.brief = "how long system calls took", .help = "how long system calls took, not how many there were" },
	[OPTION_SYSCALLS] = { "syscalls", .group = OPTION_HOW, .commands = S, .brief_in = S,
		FIELD(syscall_figures), .brief = "also the time in system calls",
		.help = "also the time in system calls; each call becomes slower" },
	[OPTION_EVENTS] = { "event", "e", "EVENT", .type = OPTION_EVENT, .group = OPTION_HOW, .commands = DAEMON | R | T,
		.brief_in = R, FIELD(events), .brief = "what mode event shows: page-faults, a:tracepoint",
		.help = "what mode event shows, -e several times for several: page-faults, context-switches, cycles, ...; "
		"CATEGORY:NAME, a tracepoint of the kernel; FILE:SYMBOL, a function; FILE:PROVIDER:NAME, a probe (USDT)" },
	[OPTION_PERIOD] = { "period", "c", "N", .type = OPTION_NUMBER, .least = 1, .most = 1000000000, .group = OPTION_HOW,
		.commands = DAEMON | R | T, FIELD(event_period), .brief = "a sample for every Nth event or system call",
		.help = "a sample for every Nth event (default: each; 1000000 cycles); of mode syscall for one call in N, by chance" },
	[OPTION_WAITS] = { "waits", "", "WHICH", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = DAEMON | R | T,
		FIELD(waits), WORDS(EXTPROF_WAITS), .brief = "which waits are samples: each or rate",
		.help = "which waits of the modes wall, offcpu and gvl are samples: each, or as many as the rate says (rate), "
		"where a short one stands for others (default: rate for wall alone and with daemon, else each)" },

	[OPTION_NATIVE] = { "native", "n", .group = OPTION_SHOW, .commands = DAEMON | R | T | D, .brief_in = D,
		FIELD(native), .brief = "also functions of C extensions and libraries",
		.help = "also show the functions of C extensions and libraries, below the method that called them; without eBPF the "
		"reader stop has those of threads that run" },
	[OPTION_NATIVE_VM] = { "native-vm", .group = OPTION_SHOW, .commands = DAEMON | R | T | D, FIELD(native_vm),
		.brief = "also each function of Ruby's VM; with --native",
		.help = "with --native: also the functions of the VM itself, each by its name, which are one frame [vm] without this" },
	[OPTION_ALL_NATIVE] = { "all-native", .group = OPTION_WHAT, .commands = R | T, FIELD(all_native),
		.brief = "also processes that run no ruby; with --native",
		.help = "with --native: also those of these processes that run no ruby, with their native stacks" },
	[OPTION_NO_DEMANGLE] = { "no-demangle", .group = OPTION_SHOW, .commands = DAEMON | R | T | D, FIELD(no_demangle),
		.brief = "names of C++ and Rust as in the file",
		.help = "with --native: names of C++ and Rust as they are in the file: _ZN4grpc6Server5StartEi" },
	[OPTION_KERNEL] = { "kernel", .group = OPTION_SHOW, .commands = DAEMON | R | T, FIELD(kernel),
		.brief = "also the functions of the kernel",
		.help = "also show the functions of the kernel that a sample was taken in, below the method; needs eBPF" },
	[OPTION_OUTPUT] = { "output", "o", "FILE", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = R | S,
		.brief_in = R | S, .brief = "write to this file: a.svg, a.pb.gz; - is stdout",
		.help = "record: write the profile to FILE, -o several times for several files; - is stdout.  stat: write to "
		"FILE (default: standard output; with COMMAND standard error)" },
	[OPTION_TO] = { "output", "o", "FILE", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = DIFF, .brief_in = DIFF,
		.brief = "write to this file: a.svg, a.json",
		.help = "write it to FILE (default: standard output); a file that ends in .svg or .html is a flame graph of both "
		"recordings, one in .json is JSON, one in .txt is text" },
	[OPTION_FAIL_ABOVE] = { "fail-above", "", "SHARE", .type = OPTION_SHARE, .group = OPTION_SHOW, .commands = DIFF, .brief_in = DIFF,
		.brief = "status 1 if a method has grown by more: 5%",
		.help = "exit with status 1 if the share of a method, of its own or with what it calls, has grown by more than so many "
		"percentage points, and by more than the noise: 5%" },
	[OPTION_DIFF_FORMAT] = { "format", "f", "FORMAT", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = DIFF,
		.brief_in = DIFF, CHOICES("text,json,flamegraph"), .brief = "text, json or flamegraph",
		.help = "%s (default: by the suffix of the file, else text)" },
	[OPTION_TO_PAGE] = { "output", "o", "FILE", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = ANNOTATE,
		.brief_in = ANNOTATE, .brief = "write to this file: a.txt, a.html",
		.help = "write it to FILE (default: standard output); a file that ends in .html is a page, one in .txt is text" },
	[OPTION_PAGE_FORMAT] = { "format", "f", "FORMAT", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = ANNOTATE,
		.brief_in = ANNOTATE, CHOICES("text,html"), .brief = "text or html",
		.help = "%s (default: by the suffix of the file, else text)" },
	[OPTION_TO_PROFILE] = { "output", "o", "FILE", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = REPORT,
		.brief_in = REPORT, .brief = "write to this file: a.svg, a.pb.gz",
		.help = "write it to FILE, in the format of its suffix (default: standard output)" },
	[OPTION_REPORT_FORMAT] = { "format", "f", "FORMAT", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = REPORT,
		.brief_in = REPORT, WORDS(EXTPROF_FORMATS), .brief = "summary, heatmap, firefox, or one of record",
		.help = "%s (default: by the suffix of FILE, else summary)" },
	[OPTION_REQUESTS] = { "requests", .group = OPTION_SHOW, .commands = REPORT, .brief_in = REPORT,
		.brief = "first a table of the requests",
		.help = "first a table of the requests: the times in which a fiber has one set of labels; with --format json or "
		"table only that" },
	[OPTION_REQUESTS_BY] = { "requests-by", "", "KEY", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = REPORT, .brief_in = REPORT,
		.brief = "first how long requests took, by a label",
		.help = "first a table of requests by the value of label KEY: how many, p50, p95, p99, the longest, and what their time "
		"is on average, of all and of the slow ones.  KEY makes a request, unless --request-label says another one; with --format "
		"json or table only that" },
	[OPTION_TREND] = { "trend", "", "METHOD", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = REPORT, .brief_in = REPORT,
		.brief = "only how much of each recording METHOD has",
		.help = "only a table of the recordings in the order of time: how much of each METHOD and what it calls have, a name with "
		"* and ?, and whether that changed by more than the noise of sampling; also with --format json or table" },
	[OPTION_NATIVE_LINES] = { "native-lines", .group = OPTION_SHOW, .commands = R | REPORT, FIELD(native_lines), .brief = "lines of native functions",
		.help = "the functions of --native with the line that ran, each line by itself: by the debug "
		"information that this machine has for the build ids of their files" },
	[OPTION_INLINE] = { "inline", .group = OPTION_SHOW, .commands = R | REPORT, FIELD(inlined), .brief = "inlined native functions",
		.help = "also functions that the compiler has put into others, as frames below these; by the same debug information" },
	[OPTION_INVERT] = { "invert", .group = OPTION_SHOW, .commands = REPORT, .brief = "stacks with the innermost frame first",
		.help = "stacks with the innermost frame first: what ran, then what called it" },
	[OPTION_CALLERS_OF] = { "callers-of", "", "METHOD", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = REPORT,
		.brief_in = REPORT, .brief = "only what calls METHOD, and METHOD first",
		.help = "only stacks through METHOD, a name with * and ?: METHOD comes first, then what called it; time in what "
		"it calls is its own" },
	[OPTION_CALLEES_OF] = { "callees-of", "", "METHOD", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = REPORT,
		.brief_in = REPORT, .brief = "only METHOD and what it calls",
		.help = "only stacks through METHOD, and of these METHOD and what it calls" },
	[OPTION_TOP] = { "top", "", "N", .type = OPTION_NUMBER, .least = 1, .most = 1000000000, .group = OPTION_SHOW,
		.commands = REPORT, .brief = "only the N methods with most self",
		.help = "of tables the first N rows, as --rows; of stacks only those that end in one of the N methods with most "
		"self: the rest is one frame, [other methods], and sums stay" },
	[OPTION_FORMAT] = { "format", "f", "FORMAT", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = R,
		.brief_in = R, WORDS(EXTPROF_FORMATS), .brief = "of the file (default: by its suffix)",
		.help = "%s (default: by the suffix of FILE)" },
	[OPTION_GROUP_BY] = { "group-by", "", "KEYS", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = R | REPORT | PUSH,
		.brief_in = R | REPORT, FIELD(groups), WORDS(EXTPROF_GROUPS), .brief = "outermost frames: process, thread, label:KEY",
		.help = "what the outermost frames are: %s, or several with commas between (default: process if there are "
		"several; in a flame graph and a tree command)" },
	[OPTION_APP] = { "app", "", "DIR", .type = OPTION_LIST, .group = OPTION_SHOW, .commands = R | T | DIFF | ANNOTATE | REPORT,
		FIELD(app), .brief = "where the application is: the tables begin with it",
		.help = "where the application is, --app several times for several (default: where the processes work, and all "
		"that is of no gem, not of the standard library and not Ruby's own)" },
	[OPTION_FOCUS] = { "focus", "", "CODE", .type = OPTION_LIST, .group = OPTION_SHOW, .commands = R | T | DIFF | ANNOTATE | REPORT, .brief_in = REPORT,
		.refused_in = S | D, .refusal = OF_PROFILES, FIELD(focus), .brief = "only stacks through app, gem:NAME, METHOD or FILE",
		.help = "only stacks through CODE, from there on: app, gem:NAME, a METHOD, a FILE or directory, with * and ?; "
		"several with commas" },
	[OPTION_HIDE] = { "hide", "", "CODE", .type = OPTION_LIST, .group = OPTION_SHOW, .commands = R | T | DIFF | ANNOTATE | REPORT, .brief_in = REPORT,
		.refused_in = S | D, .refusal = OF_PROFILES, FIELD(hide), .brief = "without frames of gem:NAME, METHOD or FILE",
		.help = "without frames of CODE, as for --focus; what is in them is in their callers" },
	[OPTION_COLLAPSE] = { "collapse", "", "WHAT", .type = OPTION_LIST, .group = OPTION_SHOW, .commands = R | T | DIFF | REPORT,
		.refused_in = S | D | ANNOTATE, .refusal = "it makes one frame of several, which is of no line: extprof record, report, diff and "
		"top have it", FIELD(collapse), .brief = "gems, recursion: one frame for several",
		.help = "one frame for several: gems, code of one gem; recursion, a method that calls itself" },
	[OPTION_IDLE] = { "idle", .group = OPTION_SHOW, .commands = R | T | DIFF | ANNOTATE | REPORT, FIELD(idle),
		.brief = "idle threads as others",
		.help = "with the modes wall and offcpu: show threads that have nothing to do as others; else they are a line of "
		"the summary, and in no table or graph" },
	[OPTION_UNIT] = { "unit", "", "UNIT", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = R | ANNOTATE | REPORT,
		WORDS(EXTPROF_UNITS), .brief = "what amounts are counted in",
		.help = "what amounts are counted in: %s (default: by the mode; times are in us)" },
	[OPTION_STATE] = { "state", "", "STATES", .type = OPTION_LIST, .group = OPTION_SHOW, .commands = R | T,
		FIELD(states), WORDS(EXTPROF_STATES), .brief = "what the modes of waits show",
		.help = "what the modes wall and offcpu show: %s, or several with commas between (default: all)" },
	[OPTION_FD] = { "fd", .group = OPTION_SHOW, .commands = DAEMON | R, FIELD(files),
		.brief = "the file that input or output waits for",
		.help = "with the modes wall and offcpu: show the file, pipe or socket that input or output waits for" },
	[OPTION_HOLDER] = { "holder", .group = OPTION_SHOW, .commands = DAEMON | R, .brief_in = R, FIELD(holders),
		.brief = "who holds the GVL or lock that is waited for",
		.help = "with the modes wall, offcpu and gvl: show who holds the GVL or the Mutex that a thread waits for: in "
		"which method and line" },
	[OPTION_WAKER] = { "waker", .group = OPTION_SHOW, .commands = DAEMON | R, FIELD(wakers),
		.brief = "which thread ended a wait",
		.help = "with the modes wall, offcpu and gvl: show which thread ended a wait, and in which method" },
	[OPTION_THREADS] = { "threads", "t", .group = OPTION_SHOW, .commands = R | T, .brief_in = R | T, FIELD(threads),
		.brief = "each thread by itself",
		.help = "each thread by itself; in a profile as an outermost frame" },
	[OPTION_LINES] = { "lines", "l", .group = OPTION_SHOW, .commands = R, FIELD(lines),
		.brief = "each line by itself", .help = "tell frames apart by the line that runs" },
	[OPTION_SOURCES] = { "sources", .group = OPTION_SHOW, .commands = DAEMON | R | REPORT, FIELD(sources),
		.brief = "keep the source files in the recording",
		.help = "with -o FILE.extprof: also write the source files that are seen into the recording; report writes those of the "
		"recording into the file for the Firefox Profiler" },
	[OPTION_DEPLOYMENT] = { "deploy", "", "NAME", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = R, FIELD(deployment),
		.brief = "a name of what is deployed, for report --trend",
		.help = "the processes have NAME as their deployment.name: `extprof report` shows it, and chooses by --filter "
		"resource:deployment.name=NAME.  Their commit needs no option" },
	[OPTION_ROTATE] = { "rotate", "", "SPAN", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = DAEMON | R, FIELD(rotate),
		.brief = "a new file of the recording: 1h, 100MB",
		.help = "go on in another file when the recording's has so much time (s, ms, m, h: 1h) or bytes (KB, MB, GB, TB of "
		"1024, 1024*1024, ... bytes: 100MB); each is a recording of its own, NAME-DATE-TIME.extprof for "
		"-o NAME.extprof, in UTC.  Of mode heap each has what lives at its end" },
	[OPTION_KEEP] = { "keep", "", "N", .type = OPTION_NUMBER, .least = 1, .most = 100000, .group = OPTION_SHOW, .commands = R,
		FIELD(keep), .brief = "with --rotate: only the N newest files",
		.help = "with --rotate: keep the N newest files, and remove older ones that this run has made; with --trigger those "
		"of the files that are kept (default: 100)" },
	[OPTION_TRIGGER] = { "trigger", "", "WHAT", .type = OPTION_LIST, .group = OPTION_SHOW, .commands = DAEMON | R,
		FIELD(triggers), .brief = "keep what is around WHAT; daemon: mark it",
		.help = "keep the recording of the time around WHAT alone, --trigger several times for several: pause>100ms, of the "
		"collector; cpu>150%, gvl>50%, alloc>200MB, of a process within a second, of a mode or state of threads; "
		"label:KEY>500ms, for how long a fiber has a value; rss>2GB; exit, with another status than 0; SIGUSR1 always is one.  With --rotate, and of the "
		"daemon, all files stay, and the log and the table of events say when it was.  daemon: stuck>30s, too, a process that has work and "
		"does nothing for so long, of which a dump is kept" },
	[OPTION_AROUND] = { "around", "", "TIME", .type = OPTION_TIME, .least = SECOND, .most = 24 * 3600 * SECOND, .group = OPTION_SHOW,
		.commands = R, FIELD(around), .brief = "so long before and after --trigger (default: 10s)",
		.help = "with --trigger: so much is kept before and after it (default: 10s)" },
	[OPTION_KEEP_FOR] = { "keep-for", "", "TIME", .type = OPTION_TIME, .least = SECOND, .most = YEAR, .group = OPTION_SHOW,
		.commands = DAEMON, .brief_in = DAEMON, .brief = "remove what is older (default: 7d)",
		.help = "remove recordings that were last written to so long ago: 12h, 30d (default: 7d)" },
	[OPTION_KEEP_SIZE] = { "keep-size", "", "SIZE", .type = OPTION_SIZE, .least = MIB, .most = 1024 * 1024 * MIB * 1024,
		.group = OPTION_SHOW, .commands = DAEMON, .brief_in = DAEMON, .brief = "remove the oldest above (default: 10G)",
		.help = "remove the oldest recordings when all together have more: 500M, 20G (default: 10G)" },
	[OPTION_BUDGET] = { "budget", "", "PERCENT", .type = OPTION_PERCENT, .group = OPTION_HOW, .commands = DAEMON, .brief_in = DAEMON,
		.brief = "CPU time that extprof may use itself: 1%",
		.help = "of one CPU extprof may use so much itself: 1%, or 1%/30s to count over 30 s (default: over 1m).  Above it the "
		"rate becomes lower, in a new file, and higher again when there is room (default: no bound)" },
	[OPTION_METRICS] = { "metrics", "", "FILE", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = DAEMON, .brief_in = DAEMON,
		.brief = "counters for Prometheus, each 10 s",
		.help = "write counters for Prometheus to FILE each 10 s, such as a file NAME.prom of node_exporter's textfile collector: CPU "
		"time, states of threads, collector, allocation by kind of process" },
	[OPTION_METRICS_LABEL] = { "metrics-label", "", "KEY", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = DAEMON,
		.brief = "with --metrics: each value of this label apart",
		.help = "count for --metrics each value of this label apart, as `controller'; 256 of each kind of process" },
	[OPTION_CONFIG] = { "config", "", "FILE", .type = OPTION_TEXT, .group = OPTION_OTHER, .commands = DAEMON,
		.brief_in = DAEMON, .brief = "options in a file (default: " EXTPROF_CONFIG ")",
		.help = "read options from FILE, a line for each, such as `rate = 19'; options of the command line come before it "
		"(default: " EXTPROF_CONFIG ", if it is there)" },
	[OPTION_RECEIVER] = { "to", "", "URL", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = PUSH, .brief_in = PUSH,
		.brief = "the receiver: http://collector:4318",
		.help = "send to the receiver at URL, http:// or https://; without a path in it that of the receiver's kind is added: "
		"/v1development/profiles for OTLP" },
	[OPTION_AS] = { "as", "", "KIND", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = PUSH, .brief_in = PUSH,
		CHOICES("otlp,pyroscope,parca,datadog,clickhouse"), .brief = "otlp (default), pyroscope, parca, datadog, clickhouse",
		.help = "what the receiver takes, %s: OTLP profiles; pprof, as Pyroscope takes it at /ingest; pprof, as Parca takes it at "
		"/profiles/writeraw; pprof, as Datadog's agent takes it at /profiling/v1/input; rows for tables of ClickHouse (default: otlp)" },
	[OPTION_SERVICE] = { "service", "", "NAME", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = PUSH,
		.brief = "with --as pyroscope, parca and datadog: whose it is",
		.help = "with --as pyroscope, parca and datadog: the service that all of it is of (default: ruby); OTLP has that of each process" },
	[OPTION_HEADER] = { "header", "", "HEADER", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = PUSH,
		.brief = "a header of each request, NAME: VALUE",
		.help = "a header of each request, NAME: VALUE, --header several times for several.  Users of this machine can see it for a "
		"moment, and sudo writes it into its log: --header-file is for secrets" },
	[OPTION_HEADER_FILE] = { "header-file", "", "FILE", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = PUSH, .brief_in = PUSH,
		.brief = "headers in a file, such as Authorization: ...",
		.help = "headers of each request, a line of FILE each: Authorization: Bearer ...  Those of the environment variable "
		"EXTPROF_PUSH_HEADERS are added" },
	[OPTION_CA] = { "ca", "", "FILE", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = PUSH, .brief_in = PUSH,
		.brief = "certificates that https:// is verified by",
		.help = "verify the receiver of https:// by the certificates in FILE, PEM (default: those of the system)" },
	[OPTION_SPAN] = { "span", "", "TIME", .type = OPTION_TIME, .least = SECOND, .most = HOUR, .group = OPTION_HOW, .commands = PUSH,
		.brief_in = PUSH, .brief = "what one request has, at most (default: 60s)",
		.help = "what one request has, at most, which is what receivers can tell apart in time: 10s, 5m (default: 60s).  What is too "
		"much for a receiver is sent in shorter parts" },
	[OPTION_FOLLOW] = { "follow", "", .group = OPTION_HOW, .commands = PUSH, .brief_in = PUSH,
		.brief = "wait for further recordings, until a signal",
		.help = "go on with recordings that end later, until SIGTERM or Ctrl-C" },
	[OPTION_TIMEOUT] = { "timeout", "", "TIME", .type = OPTION_TIME, .least = MS, .most = HOUR, .group = OPTION_HOW, .commands = PUSH,
		.brief = "so long is waited for an answer (default: 30s)",
		.help = "so long a request is waited for, then it has failed (default: 30s)" },
	[OPTION_RETRY_FOR] = { "retry-for", "", "TIME", .type = OPTION_TIME, .least = MS, .most = YEAR, .group = OPTION_HOW, .commands = PUSH,
		.brief = "so long a request is tried (default: 1m)",
		.help = "so long a request is tried again, then extprof ends and what is left stays for the next time (default: 1m; with "
		"--follow without an end)" },
	[OPTION_STATE_FILE] = { "state", "", "FILE", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = PUSH,
		.brief = "where it is kept what was sent",
		.help = "keep in FILE what was sent of one folder (default: a file beside the recordings, .extprof-push-...)" },
	[OPTION_LISTEN] = { "listen", "", "ADDRESS", .type = OPTION_TEXT, .group = OPTION_HOW, .commands = SERVE, .brief_in = SERVE,
		.brief = "127.0.0.1:PORT, [::1]:PORT, or a socket's path",
		.help = "where pages are asked for: 127.0.0.1:PORT, [::1]:PORT, a port, or the path of a socket that is made; no other "
		"machine reaches it (default: 127.0.0.1, and a port that is free)" },
	[OPTION_AT] = { "at", "", "TIME", .type = OPTION_TIME_POINT, .group = OPTION_SHOW, .commands = T, .brief_in = T,
		.brief = "as it was then, recorded: 03:00, -10min",
		.help = "as it was at a moment of recordings, in the window that ends then: 03:00, the last one before their end, or "
		"2026-11-27 03:00; -10min, before their end; 10, after their begin.  Files or a folder follow; without them the "
		"folder is " EXTPROF_FOLDER ", where extprof daemon writes" },
	[OPTION_INTERVAL] = { "interval", "i", "TIME", .type = OPTION_TIME, .least = MS, .most = HOUR,
		.group = OPTION_SHOW, .commands = T | S | D, .brief_in = T | S | D,
		.brief = "again after each such time: 1, 500ms, 1m",
		.help = "again after each TIME: 1, 500ms, 2s, 1m.  top: how long a window is (default: 1s); stat: also a line "
		"for each interval; dump: mark what has moved" },
	[OPTION_COUNT] = { "count", "", "N", .type = OPTION_NUMBER, .least = 1, .most = 1000000000, .group = OPTION_SHOW,
		.commands = T | S | D, .brief_in = T | S | D, .brief = "end after so many",
		.help = "end after N windows, intervals or dumps (default: at Ctrl-C, or when the processes have ended; dump "
		"without --interval: 1)" },
	[OPTION_VIEW] = { "view", "", "VIEW", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = T, .brief_in = T,
		CHOICES("method,line,state,thread,process"), .brief = "method, line, state, thread or process",
		.help = "what rows are: %s (default: method)" },
	[OPTION_SORT] = { "sort", "", "KEY", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = T,
		CHOICES("self,total,name,growth"), .brief = "by what rows are sorted",
		.help = "by what rows are sorted: %s (default: self)" },
	[OPTION_FILTER] = { "filter", "", "TEXT", .type = OPTION_TEXT, .group = OPTION_SHOW, .commands = T,
		.brief = "only rows with this text", .help = "only rows with TEXT in name, path or thread" },
	[OPTION_CUMULATIVE] = { "cumulative", .group = OPTION_SHOW, .commands = T, .brief = "all since the start",
		.help = "all since the start, not only the last window" },
	[OPTION_BATCH] = { "batch", "b", .group = OPTION_SHOW, .commands = T, .brief_in = T,
		.brief = "print each window as text",
		.help = "print each window as text, for scripts and files; all modes, one after the other" },
	[OPTION_ROWS] = { "rows", "", "N", .type = OPTION_NUMBER, .least = 1, .most = 100000, .group = OPTION_SHOW,
		.commands = R | T | S | DIFF | REPORT, .fallback = STRING(EXTPROF_TOP_DEFAULT), .brief = "rows of each table",
		.help = "rows of each table; top: of each window with --batch (default: " STRING(EXTPROF_TOP_DEFAULT)
		"; stat: 10)" },
	[OPTION_JSON] = { "json", .group = OPTION_SHOW, .commands = S | D, .brief_in = S | D,
		.brief = "for programs: JSON, an object on each line",
		.help = "for programs: each interval and the total, or each dump, is one JSON object on one line" },
	[OPTION_SOURCE] = { "source", .group = OPTION_SHOW, .commands = D, .brief_in = D,
		.brief = "show the text of each innermost line",
		.help = "show the text of each innermost line, too" },
	[OPTION_ALL_STACKS] = { "all-stacks", .group = OPTION_SHOW, .commands = D, .brief_in = D,
		.brief = "do not put equal stacks together",
		.help = "show each thread and fiber by itself, also if they are equal" },
	[OPTION_QUIET] = { "quiet", "q", .group = OPTION_SHOW, .commands = R, .brief_in = R,
		.brief = "no live line, no tables", .help = "no live line, no summary" },

	[OPTION_VERBOSE] = { "verbose", "v", .group = OPTION_OTHER, .commands = DAEMON | R | T | S, FIELD(verbose),
		.brief = "tell what is searched, and libbpf's log",
		.help = "tell on standard error what is searched and found, and what libbpf and the kernel's verifier say" },
	[OPTION_HELP] = { "help", "h?", "all", .optional = true, .group = OPTION_OTHER, .commands = SERVE | PUSH | DAEMON | R | T | S | D | DIFF | ANNOTATE | REPORT,
		.brief = "show the options that are used most, or all",
		.help = "show the options that are used most; --help=all shows all" },
	[OPTION_USAGE] = { "usage", .group = OPTION_OTHER, .commands = SERVE | PUSH | DAEMON | R | T | S | D | DIFF | ANNOTATE | REPORT, .brief = "show a short usage",
		.help = "show a short usage" },
	[OPTION_VERSION] = { "version", "V", .group = OPTION_OTHER, .commands = SERVE | PUSH | DAEMON | R | T | S | D | DIFF | ANNOTATE | REPORT,
		.brief = "show the version", .help = "show the version" },

	[OPTION_FIGURES] = { "figures", FIELD(figures) },
	[OPTION_FORMATS] = { "formats", .type = OPTION_LIST, FIELD(formats), WORDS(EXTPROF_FORMATS) },
};

/* Options of commands that read recordings can have names that others have. */
static bool is_of_files(const struct option_row *row)
{
	return row->commands && !(row->commands & ~OPTION_OF_FILES);
}

const struct option_row *option__by_name(const char *name)
{
	for (int i = 0; i < OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];

		if (!is_of_files(row) && (!strcmp(row->name, name) || (row->field && !strcmp(row->field, name))))
			return row;
	}
	return NULL;
}
