/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All options: the command lines, their help, the completions, the check of the man page and extprof_options_set() have
 * them from this table.  The room is linked into the library and into the program, and needs neither.
 */
#ifndef EXTPROF_OPTIONS_TABLE_H
#define EXTPROF_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extprof.h"

/* Where extprof daemon writes and extprof report reads, if nothing else is said; and the daemon's configuration. */
#define EXTPROF_FOLDER "/var/lib/extprof"
#define EXTPROF_CONFIG "/etc/extprof.conf"
#define EXTPROF_DAEMON_RATE 19
/* Of the daemon's modes those that readers from outside have, too; with eBPF also alloc. */
#define EXTPROF_DAEMON_MODES_OUTSIDE "cpu,wall,gc"
/* MiB between two samples of allocations: some per second of a program that allocates much. */
#define EXTPROF_DAEMON_ALLOC_INTERVAL 16

/* Which commands have it: a mask. */
#define OPTION_OF_RECORD 1u
#define OPTION_OF_TOP 2u
#define OPTION_OF_STAT 4u
#define OPTION_OF_DUMP 8u
#define OPTION_OF_DIFF 16u
#define OPTION_OF_ANNOTATE 32u
#define OPTION_OF_REPORT 64u
#define OPTION_OF_DAEMON 128u
#define OPTION_OF_PUSH 256u
#define OPTION_OF_SERVE 512u
/* Commands that read recordings, which are their arguments. */
#define OPTION_OF_FILES (OPTION_OF_DIFF | OPTION_OF_ANNOTATE | OPTION_OF_REPORT | OPTION_OF_PUSH | OPTION_OF_SERVE)

enum option_type {
	OPTION_FLAG,		/* no argument; extprof_options_set() takes "true" and "false" */
	OPTION_NUMBER,		/* decimal */
	OPTION_RATE,		/* per second */
	OPTION_TIME,		/* ns */
	OPTION_TIME_POINT,		/* the text is parsed again, with value__time_point(); the number is its kind */
	OPTION_SIZE,		/* bytes */
	OPTION_TEXT,
	OPTION_LIST,		/* words with commas; several are one list */
	OPTION_EVENT,		/* several are an array of texts */
	OPTION_PIDS,
	OPTION_USER,
	OPTION_CGROUP,
	OPTION_SHARE,		/* in percent; the number is in billionths of 1 */
	OPTION_PERCENT,		/* of one CPU, over a time: the text is parsed again, with value__budget() */
};

enum option_group {
	OPTION_WHAT,		/* processes */
	OPTION_WHICH,		/* samples of a recording */
	OPTION_HOW,		/* samples */
	OPTION_SHOW,
	OPTION_OTHER,
	OPTION_GROUPS
};

enum option_id {
	OPTION_PID, OPTION_ALL, OPTION_SUBPROCESSES, OPTION_NO_SUBPROCESSES, OPTION_BY_USER, OPTION_NAME,
	OPTION_BY_CGROUP, OPTION_KEEP_ROOT, OPTION_CORE, OPTION_EXE,
	OPTION_ONE_MODE, OPTION_MODES, OPTION_WHERE, OPTION_TRACE, OPTION_SINCE, OPTION_UNTIL, OPTION_WITH,
	OPTION_SLOWER_THAN, OPTION_SLOWEST, OPTION_REQUEST_LABEL, OPTION_METRIC,
	OPTION_MODE, OPTION_BY_RATE, OPTION_DURATION, OPTION_DELAY, OPTION_START_PAUSED, OPTION_READER, OPTION_NONBLOCKING, OPTION_TIMER,
	OPTION_ALLOC_INTERVAL, OPTION_SYSCALL, OPTION_LATENCY, OPTION_SYSCALLS, OPTION_EVENTS, OPTION_PERIOD, OPTION_WAITS,
	OPTION_NATIVE, OPTION_NATIVE_VM, OPTION_ALL_NATIVE, OPTION_NO_DEMANGLE, OPTION_KERNEL, OPTION_OUTPUT, OPTION_TO, OPTION_FAIL_ABOVE, OPTION_DIFF_FORMAT, OPTION_TO_PAGE, OPTION_PAGE_FORMAT,
	OPTION_TO_PROFILE, OPTION_REPORT_FORMAT, OPTION_REQUESTS, OPTION_REQUESTS_BY, OPTION_TREND, OPTION_NATIVE_LINES, OPTION_INLINE, OPTION_INVERT, OPTION_CALLERS_OF, OPTION_CALLEES_OF, OPTION_TOP,
	OPTION_FORMAT, OPTION_GROUP_BY, OPTION_APP, OPTION_FOCUS, OPTION_HIDE, OPTION_COLLAPSE, OPTION_IDLE, OPTION_UNIT,
	OPTION_STATE, OPTION_FD, OPTION_HOLDER, OPTION_WAKER,
	OPTION_THREADS, OPTION_LINES, OPTION_SOURCES, OPTION_DEPLOYMENT, OPTION_ROTATE, OPTION_KEEP, OPTION_TRIGGER, OPTION_AROUND, OPTION_KEEP_FOR, OPTION_KEEP_SIZE, OPTION_BUDGET, OPTION_METRICS, OPTION_METRICS_LABEL, OPTION_CONFIG,
	OPTION_RECEIVER, OPTION_AS, OPTION_SERVICE, OPTION_HEADER, OPTION_HEADER_FILE, OPTION_CA, OPTION_SPAN, OPTION_FOLLOW, OPTION_TIMEOUT, OPTION_RETRY_FOR, OPTION_STATE_FILE,
	OPTION_LISTEN,
	OPTION_AT, OPTION_INTERVAL, OPTION_COUNT, OPTION_VIEW,
	OPTION_SORT, OPTION_FILTER,
	OPTION_CUMULATIVE, OPTION_BATCH, OPTION_ROWS, OPTION_JSON, OPTION_SOURCE, OPTION_ALL_STACKS, OPTION_QUIET,
	OPTION_VERBOSE, OPTION_HELP, OPTION_USAGE, OPTION_VERSION,
	OPTION_FIGURES, OPTION_FORMATS,	/* of the library alone */
	OPTIONS
};

struct option_row {
	const char *name;	/* "duration", for --duration */
	char letters[4];	/* "d"; "": none */
	const char *argument;	/* "TIME"; NULL: a flag */
	bool optional;		/* the argument may be left out */
	enum option_type type;
	uint64_t least, most;	/* of a number, and of a time; 0, 0: as the type */
	enum option_group group;
	unsigned int commands;	/* that have it */
	unsigned int brief_in;	/* commands that show it in their short help */
	unsigned int refused_in;	/* commands that do not have it, and say why */
	const char *refusal;	/* that, behind the option and a colon */
	const char *field;	/* of struct extprof_recording_options; NULL: the library does not have the option */
	size_t offset;		/* of that field */
	const char *means;	/* a flag that gives option `same` this value; NULL: it is an option of its own */
	enum option_id same;
	bool has_words;		/* it takes `words`, or `choices` */
	enum extprof_words words;
	const char *choices;	/* with commas; NULL: `words` */
	const char *fallback;	/* the number that counts without it; NULL: it is no number */
	const char *brief;	/* for short help and completions */
	const char *help;	/* %s: the words */
};

/* OPTIONS of them, by enum option_id. */
extern const struct option_row option_rows[];
extern const char *const option_group_titles[OPTION_GROUPS];

/* By `name` or `field`; NULL: there is none.  Options of commands that read
 * recordings are not found.  A flag that means another option is not found by its field. */
const struct option_row *option__by_name(const char *name);

/*
 * The number of a flag, number, rate, time, size or user; of a text whether it is one of the choices.  0, or -EINVAL with a
 * sentence in `why`.
 */
int option__parse(const struct option_row *row, const char *text, uint64_t *number, char *why, size_t size);

/* "5%", from 0.01 to 100 %, in billionths of 1.  0 or -EINVAL. */
int value__share(const char *text, uint64_t *billionths);
/* "1%", "2.5%/30s": a share of one CPU, from 0.01 to 100 %, and the time over which it is counted, 1 s to 1 h; 1 min if it
 * says none.  0 or -EINVAL. */
int value__budget(const char *text, double *share, uint64_t *window);

#endif /* EXTPROF_OPTIONS_TABLE_H */
