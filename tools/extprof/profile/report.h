/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A finished profile, as every output wants it: names composed and cleaned,
 * stacks merged by what is shown, totals added up.  It borrows nothing: it needs neither processes
 * nor the profile that it was made of.
 */
#ifndef EXTPROF_REPORT_H
#define EXTPROF_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/strings.h"
#include "frames/frame.h"
#include "frames/owner.h"
#include "profile/accounting.h"
#include "profile/cells.h"
#include "profile/gc_pauses.h"
#include "profile/groups.h"
#include "profile/processes.h"
#include "profile/report_version.h"
#include "profile/thread_rows.h"
#include "profile/timeline.h"
#include "source/mode.h"

struct frame_table;
struct tree;
struct idle_history;
struct transform;

/* The details by which two frames differ. */
enum report_detail {
	REPORT_BY_NAME,		/* the name and the file */
	REPORT_BY_CODE,		/* also the first line: two blocks of one method */
	REPORT_BY_LINE,		/* also the line that runs */
	REPORT_BY_ADDRESS,	/* also the address and the build id of machine code */
};

struct report_label {
	struct frame frame;	/* the texts are the report's; it has a line if that tells labels apart */
	/* The name as it is shown.  If other files have the name too, the shortest end of the path that tells them
	 * apart follows: "<top (required)> a/init.rb". */
	char *name;
	size_t bare;		/* length of the name without that */
	uint64_t self, total;	/* in the unit of the report; recursion counts once */
	uint32_t owner;		/* of Ruby code: number in report::owners; 0: unknown, or code that is its caller's */
};

/* Whose code there is: the application, a gem, a part of the standard library.  Texts are the report's; "": none. */
struct report_owner {
	uint8_t kind;		/* enum owner_kind */
	const char *name, *version;
};

/* Nodes are in preorder: parents first, subtrees together. */
struct report_node {
	uint32_t parent, label;
	uint32_t depth;
	float squares;		/* of `self`: the sum of the squares of what each sample stands for */
	uint64_t self, total;	/* in the unit of the report */
	struct weight weight;	/* what `self` is of */
};

/*
 * A method, a line or a file.  A stack counts for the innermost method; and for the innermost line of Ruby code, so
 * that what C code, the collector and a wait take is in the line that called them.  `own` is without these.  A block in C is
 * no method: see frame__part().
 */
struct report_total {
	uint32_t label;		/* one that is of it: of a method, of code in the line or in the file */
	int32_t line;		/* of a line */
	bool approximate;	/* it may be another line of the same code */
	uint64_t self, own, total;	/* total: it is anywhere in the stack; recursion counts once */
	double self_squares, total_squares;	/* the sums of the squares of what each sample stands for */
	/*
	 * The other code that takes most of the total, and how much it takes: the gem or the C method that the
	 * innermost code of the application calls.  Only the methods and lines of the application with most total have
	 * this.
	 */
	uint8_t calls;		/* enum report_calls */
	uint32_t callee;	/* number of an owner, or of a label */
	uint64_t called;
};

enum report_calls {
	CALLS_UNKNOWN,		/* not looked at, or it calls nothing */
	CALLS_OWNER,
	CALLS_LABEL
};

/* The number of methods, and of lines, that are reported with what they call. */
#define REPORT_CALLERS_MAX 64u

/* Most first, by self and then by total. */
struct report_totals {
	struct report_total *list;
	uint32_t count;
	size_t room;
};

struct report_meta {
	char command[256];
	char ruby_version[32], ruby_description[160];
	char ended[64];		/* why the recording ended */
	char trigger[400];	/* the first one that fired; "": none */
	struct report_version version;	/* of the code that ran */
	char host[65];		/* the machine that it was made on; "" unknown */
	int pid;
	uint32_t rate, cpus;
	const struct mode *mode;
	uint32_t modes;		/* how many were recorded */
	uint32_t unsampled_cpus;	/* came during the recording, without a timer */
	char source[96];	/* what made the samples: "on-CPU at 999 Hz by the clock" */
	uint64_t period;	/* ns between two samples of what runs; 0: the mode shows nothing of that, or rates_differ */
	bool rates_differ;	/* of several recordings: numbers of samples have no sum */
	uint64_t cpu_period;	/* the same, if any of the modes shows that; 0: what runs was not sampled */
	time_t started;
	uint64_t started_at;	/* the same, CLOCK_MONOTONIC, ns */
	uint64_t began;		/* the begin of a recording in a file, ns since 1970; 0: that is not known */
	uint64_t part_began;	/* if this is a part of a recording: ns since 1970; 0: it is none, or that is not known */
	double duration;	/* s that were recorded */
	double whole;		/* s of the recording that this is a part of; CPU time, accounts, processes and threads are of it.
				 * 0: it is no part */
	uint64_t paused;	/* ns of pauses, which are no part of the duration */
	uint64_t cpu_time;	/* ns, as the kernel accounts it; 0 unknown */
	uint64_t missed;	/* ticks that came too late to be samples */
	uint64_t frames, unknown_frames;
	/* Frames that are shown without their name, by the reason ... */
	uint64_t expired_names, exited_names, unreadable_names;
	uint64_t late_names, crowded_names;	/* for want of time and of room */
	uint64_t partial_names;			/* ... with a part of it */
	uint64_t late_lines;			/* ... without the line, as the name was read later */
	uint64_t jit_leaves, jit_exact, gc_samples, unknown_threads;
	uint64_t expired_labels, unread_labels;	/* times that a sample was shown without a label for that reason */
	uint64_t invalid_traces, unread_traces;	/* samples without a trace for that reason: see enum trace_state */
	uint32_t not_added;	/* rubies that a source could not attach to, ... */
	char why_not_added[640];	/* ... and why, of the first of them */
	uint32_t intervals_kept;	/* rubies that kept their own distance of allocation samples, ... */
	int why_interval_kept;		/* ... and why, of the first of them: negative errno */
	/* For a mode of live objects: objects that were sampled; that died; whose process has ended; that were lost as
	 * the VM was not asked in time; and for which the VM had no room. */
	uint64_t objects_sampled, objects_died, objects_ended, objects_forgotten, objects_refused;
	uint64_t objects_before;	/* that were sampled before, and lived at the begin: of one of several files */
	uint32_t objects_not_asked;	/* rubies that keep no table of them, ... */
	int why_objects_not_asked;	/* ... and why, of the first of them: negative errno */
	int why_objects_unknown;	/* why a table could not be read at the end: negative errno */
	/* Samples with Ruby frames whose native functions are between these, and those that could not be joined; and
	 * samples whose native stack was not followed to its end. */
	uint64_t native_joined, native_apart, native_cut;
	char native_lines[640];	/* of how many addresses of native code lines are known, and why not of others; "": not asked for */
	uint64_t unnamed_kernel;	/* samples with functions of the kernel that have no name, ... */
	int why_unnamed_kernel;		/* ... and why the kernel's names could not be read, negative errno; 0: they could */
	/* Pauses for garbage collection that are not in report::pauses: of which one end was not seen, and lost
	 * as samples are. */
	uint64_t pauses_begun_before, pauses_not_ended, pauses_lost;
	uint64_t lost_events;	/* of processes, and children, that found no room in the kernel */
	uint64_t stacks;	/* samples, of all modes */
	uint64_t merged;	/* of them, those of which the innermost frames are [merged]: see tree.h */
	struct accounting accounting;
	struct accounting all_modes;	/* of the samples of all modes; the rows of processes add up to it */
};

/* One of several recordings that a report is of. */
struct report_recording {
	char *name;		/* of its file, clean */
	char command[256];
	char ended[64];		/* why the recording ended */
	int pid;
	uint64_t period;	/* ns between two samples of what runs; 0: it shows nothing of that */
	time_t started;
	double duration;	/* s */
	uint64_t cpu_time;	/* ns, as the kernel accounts it */
	uint64_t missed;
	struct accounting accounting;
};

/* Samples per second and CPU of what runs; 0: that was not sampled. */
static inline double report_recording__rate(const struct report_recording *r)
{
	return r->period ? 1e9 / (double)r->period : 0;
}

/* Where the samples of a node of the tree are. */
#define REPORT_NOWHERE UINT32_MAX
struct report_place {
	uint32_t node;		/* of the report; REPORT_NOWHERE: they are left out */
	bool idle;		/* its waits are of a thread that has nothing to do.  If these are not shown, the node is one above */
};

/* Where threads rest. */
struct report_idle_row {
	const char *thread;	/* its name, or the pattern if there are several: "puma srv tp *" */
	const char *pattern;
	const char *method;	/* in which they wait: "Thread::Queue#pop" */
	uint8_t state;		/* enum thread_state */
	uint32_t threads;
	uint64_t amount;	/* in the unit of the report */
};

struct report_idle_thread {
	const char *name;	/* as it is shown, with its tid: see thread_row::name */
	uint64_t ns;
	struct frame thread, process;	/* process.pid 0: it is not known */
};

/* The waits of threads that have nothing to do, see idle.h.  All 0: there are none, or the mode has no waits. */
struct report_idle {
	bool shown;		/* they are among the samples: that was asked for, or there is nothing else */
	uint64_t amount;	/* in the unit of the report */
	struct report_idle_row *rows;	/* most first */
	uint32_t row_count;
	struct report_idle_thread *threads;	/* by name */
	uint32_t thread_count;
	uint64_t states[STATE_MAX];	/* what all threads rest in each, ns */
};

struct report {
	struct report_meta meta;
	struct strings strings;
	struct report_label *labels;
	uint32_t label_count;
	struct report_node *nodes;	/* nodes[0]: root, its label is invalid */
	uint32_t node_count;
	struct report_totals methods, lines, files;
	/* Code of nobody else, C methods that it calls, and what it waits counts for the innermost Ruby code. */
	struct report_totals by_owner;	/* owners: report_label::owner of their label */
	struct report_owner *owners;	/* [0] is that of unknown code */
	uint32_t owner_count;
	struct owner_rules rules;	/* by which that was told; the report's */
	uint64_t samples;	/* the sum of all, in the unit of the report */
	uint64_t left_out;	/* of stacks that are not what was looked for, see transform.h */
	bool all_states;	/* in a mode with states a stack without one ran: no view or bound has taken its innermost frames */
	struct report_idle idle;	/* not a part of `samples` unless it is shown */
	uint64_t divisor;	/* text formats show amounts divided by it: ns as us */
	struct metric metric;	/* which of the two of the mode is counted, and its unit */
	bool by_value;		/* that is weight::value */
	enum report_detail detail;
	/* The outermost labels of each stack, one for each key: nodes of a depth from 1 to group_count. */
	struct groups groups;
	uint32_t group_count;
	/* So many threads are shown by pattern, because they are many; 0: as it was asked for. */
	uint32_t threads_by_pattern;
	struct report_recording *recordings;	/* in the order in which they were named; NULL: of one, or of none */
	uint32_t recording_count;
	struct processes processes;
	struct thread_rows *threads;		/* NULL: that was not measured */
	struct gc_pauses *pauses;		/* NULL: they were not recorded */
	struct report_place *places;		/* by node of the tree that it was made of; NULL: see report_view::places */
	uint32_t place_count;
	struct timeline *timeline;		/* NULL: nobody wanted it */
	struct cells *cells;			/* the same; keys of rows are nodes of processes, 0 is none */
};

/* Which part of a tree a report is of. */
struct report_view {
	const struct mode *mode;
	uint32_t mode_frame;	/* only what is below it, see resolver::mode_frames; 0: all */
	bool by_value;		/* what is counted: weight::value, else weight::count */
	uint64_t divisor;	/* of amounts in text formats; 0: that of the unit */
	const struct owner_rules *rules;	/* NULL: none */
	const struct transform *transform;	/* NULL: none */
	bool shows_idle;	/* idle threads are shown as others are */
	bool idle_apart;	/* else they are shown if there is nothing else */
	const struct idle_history *idle_history;	/* of the windows before; NULL: none */
	bool ns_is_count;	/* of modes with states: weight::count is ns, and weight::value is what is compared */
	uint64_t window;	/* ns, how long the profile is; 0 unknown */
	const bool *idle;	/* by node of the tree: what is idle, if that was found; it is not in the report.  NULL: find it */
	bool places;		/* report::places is wanted.  There is none of what transform::inverts or ::methods change */
	bool joins_lines;	/* a line has one total, which is approximate if any part of it is; else the parts are two */
};

/*
 * The report of a tree, with the texts of its frames.
 * view: NULL: all of it, as samples of mode cpu, by count.
 * show: the keys of the groups that are shown, outermost first; NULL: none.  The levels of others are
 * merged away.  Levels that the profile does not know of a stack are shown as unknown.
 * The caller fills r->meta, r->processes, r->threads and r->pauses.  Of r->meta this function sets only the mode, how
 * many samples there are and are merged, and how many names and lines are missing.
 * 0 or -ENOMEM.
 */
int report__build(struct report *r, const struct tree *tree, const struct frame_table *frames,
		  const struct groups *show, enum report_detail detail, const struct report_view *view);
void report__free(struct report *r);

/* One for each mode of a recording. */
struct reports {
	struct report list[MODES_MAX];
	uint32_t count;
};

void reports__free(struct reports *reports);

/* Append "path:line", with ~ for an approximate line; nothing without path. */
void report__add_place(const char *path, int32_t line, bool approximate, struct text *out);

/* Whose report it is: "process 42", "process 42 and 3 more", "4 processes", "2 recordings".  `word`: "process", "pid". */
void report__add_whose(const struct report *r, const char *word, struct text *out);
/* Its command; "several programs" where it has none of its own. */
const char *report__program(const struct report *r);
/* The idle share of all that was measured, with what is not shown. */
double report__idle_share(const struct report *r);
/* "idle: 12 threads, 71.3 % of all (12.3 s), left out without --idle"; nothing if there are none. */
void report__add_idle_sum(const struct report *r, struct text *out);
/* Append the same, and ": puma srv tp * (5) in Thread::Queue#pop, ...". */
void report__add_idle(const struct report *r, struct text *out);

/* The part of the thread's waits that is its rest, ns.  No two live threads have the same name and tid, but for threads of
 * several pid namespaces. */
uint64_t report__thread_idle(const struct report *r, const struct thread_row *row);

/* The line that is shown with a label: the one that ran, if that tells labels apart, else the first one of the code. */
static inline int32_t report__line(const struct report *r, const struct report_label *label)
{
	return r->detail >= REPORT_BY_LINE || label->frame.kind == FRAME_NATIVE ? label->frame.line : label->frame.first_line;
}

/* Append the text of a label as one-line outputs show it. */
void report__add_label(const struct report *r, const struct report_label *label, struct text *out);

#endif /* EXTPROF_REPORT_H */
