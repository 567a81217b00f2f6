/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations for the files output/firefox*.c: the tables of a file of the Firefox Profiler. */
#ifndef EXTPROF_OUTPUT_FIREFOX_H
#define EXTPROF_OUTPUT_FIREFOX_H

#include "base/json.h"
#include "base/map64.h"
#include "base/strings.h"
#include "output/output.h"
#include "profile/timeline.h"
#include "wire/states.h"

#define FIREFOX_NONE UINT32_MAX

/* The entries of meta.categories, in their order. */
enum firefox_category {
	FIREFOX_OTHER = 0,	/* what has no category of its own */
	FIREFOX_IDLE,
	FIREFOX_KIND,		/* + enum frame_kind, of code */
	FIREFOX_STATE = FIREFOX_KIND + FRAME_MARK,	/* + enum thread_state */
	FIREFOX_CATEGORIES = FIREFOX_STATE + STATE_MAX
};

/* Subcategories of one category; 0 is always "Other". */
#define FIREFOX_SUBCATEGORIES_MAX 64u

struct firefox_table {
	struct map64 map;	/* by hash */
	uint32_t count;
	size_t room;
};

struct firefox_func {
	uint32_t name, source, resource;	/* FIREFOX_NONE: none */
	int32_t line;
	bool relevant;		/* it is code that a Ruby program knows of */
};

struct firefox_frame {
	uint32_t func, category, subcategory;	/* category FIREFOX_NONE: that of its caller */
	int32_t line;		/* 0 unknown */
};

struct firefox_stack {
	uint32_t prefix, frame;
};

/* A thread as one mode shows it.  Its allocations are shown with it. */
struct firefox_thread {
	uint32_t report;	/* number of the mode's report */
	uint32_t host, process, label;	/* labels of that report; host FIREFOX_NONE: there is one, or it is not known */
	uint32_t first, count;	/* in firefox::order */
	uint32_t number;	/* before they were put in the order of the file */
	uint32_t first_span, span_count;	/* in firefox::spans */
	uint32_t first_tie, tie_count;	/* in firefox::tie_order */
	const struct thread_row *life;	/* NULL: it is not known */
	uint32_t allocs;	/* number in firefox::hosted; FIREFOX_NONE: none */
	bool is_main;		/* of the process, in the first mode that has it */
	bool shows_life, shows_process;	/* it has the marker of that, which another one of the same thread or process has not */
	uint64_t amount;	/* of its moments */
	const struct firefox_process *of;
};

struct firefox_process {
	char pid[32];
	uint32_t number_of_pid;	/* 0 unknown */
	uint64_t amount, start, end;	/* times as in struct timeline; TIMELINE_NEVER */
	uint32_t number;
	const struct process_row *row;	/* NULL: it is not known */
};

/* A wait that another thread has to do with. */
struct firefox_tie {
	uint64_t begin, end;	/* when it had */
	uint32_t moment;	/* of the report that shows waits */
	uint32_t waiter, thread;	/* which waits, and which has to do with it: in firefox::threads */
	uint32_t detail;	/* enum firefox_detail: why */
};

/* Zero-initialise, then set `reports` and `count`. */
struct firefox {
	struct json json;
	const struct report *reports;
	uint32_t count;
	const struct output_sources *texts;	/* of source files; NULL: the file has none, and is of the version before */
	struct strings strings;		/* shared.stringArray */
	struct firefox_table func_table, frame_table, stack_table, source_table;
	struct firefox_func *funcs;
	struct firefox_frame *frames;
	struct firefox_stack *stacks;
	uint32_t *sources;		/* their strings */
	uint32_t *resources;		/* their strings */
	struct firefox_table resource_table;
	uint32_t *resource_of[MODES_MAX];	/* by report and owner; FIREFOX_NONE: not asked yet */
	uint32_t subcategories[FIREFOX_CATEGORIES][FIREFOX_SUBCATEGORIES_MAX];	/* strings, from 1 on */
	uint32_t subcategory_count[FIREFOX_CATEGORIES];
	uint32_t *stack_of[MODES_MAX];	/* by report and node; FIREFOX_NONE: of no frame */
	uint32_t *thread_of[MODES_MAX];	/* by report and node: number of the thread */
	struct firefox_thread *threads;
	uint32_t thread_count;
	size_t thread_room;
	struct firefox_thread *hosted;	/* allocations of threads that another mode shows, too: they are with these */
	uint32_t hosted_count;
	struct map64 process_map;	/* hash of name and pid -> number */
	struct firefox_process *processes;
	uint32_t process_count;
	size_t process_room;
	uint32_t *ranks;		/* by number of a thread in `thread_of`: its place in `threads` */
	uint32_t *order[MODES_MAX];	/* by report: its moments by thread, then by time */
	const struct span **spans;	/* by thread, then by time */
	struct map64 tid_map;	/* hash of process, tid and report -> the first of such threads */
	bool *same_tid;		/* by that: there are several */
	struct firefox_tie *ties;	/* by moment */
	uint32_t tie_count;
	size_t tie_room;
	uint32_t *tie_order;	/* by the thread that has to do with it */
};

/* Is the node the machine on which the stacks below it were? */
bool firefox__is_host(const struct report *r, uint32_t node);
/* Fill in the tables of stacks and what they are made of.  0 or -ENOMEM. */
int firefox__make_stacks(struct firefox *x);
/* The stack of a node, of which waits are those of an idle thread; FIREFOX_NONE: out of memory. */
uint32_t firefox__idle_stack(struct firefox *x, uint32_t report, uint32_t node);
/* The stack of a label alone.  FIREFOX_NONE: out of memory. */
uint32_t firefox__label_stack(struct firefox *x, uint32_t report, uint32_t label);
/* Write meta.categories, and the tables. */
void firefox__add_categories(struct firefox *x);
/* 0 or -errno: a text cannot be read. */
int firefox__add_shared(struct firefox *x);

/* Sort the moments by thread.  0 or -ENOMEM. */
int firefox__make_threads(struct firefox *x);
/* Write them.  0 or -ENOMEM. */
int firefox__add_threads(struct firefox *x);

/* Write the counters of processes.  0 or -ENOMEM. */
int firefox__add_counters(struct firefox *x);

/* Are its samples those of allocations, in bytes? */
static inline bool firefox__is_allocs(const struct report *r)
{
	return r->meta.mode == &mode_alloc && r->by_value;
}

/* Write the samples of a thread, and its allocations.  0 or -ENOMEM. */
int firefox__add_samples(struct firefox *x, const struct firefox_thread *t);

/* Find out which spans are of which threads.  0 or -ENOMEM. */
int firefox__find_spans(struct firefox *x);
/* Find out which threads have to do with waits of others.  0 or -ENOMEM. */
int firefox__find_ties(struct firefox *x);
/* The flows of a wait, as fields. */
void firefox__add_flows(struct firefox *x, uint32_t moment);
void firefox__add_flow_fields(struct firefox *x, bool waker_only);
/* The marker in the thread that has to do with it. */
const char *firefox__tie_name(const struct firefox *x, const struct firefox_tie *tie);
void firefox__add_tie(struct firefox *x, const struct firefox_tie *tie);
void firefox__add_tie_schema(struct firefox *x);

/* The report that shows waits; FIREFOX_NONE: none does. */
uint32_t firefox__wait_report(const struct firefox *x);
/* Is the moment a marker there? */
bool firefox__is_marked(const struct moment *m);
/* Write a text as its number. */
void firefox__add_string(struct firefox *x, const char *key, const char *text);
/* Write the markers of a thread.  0 or -ENOMEM. */
int firefox__add_markers(struct firefox *x, const struct firefox_thread *t);
void firefox__add_paused(struct firefox *x);
void firefox__add_schemas(struct firefox *x);

/* Details of a wait, from the frames below its state. */
enum firefox_detail {
	FIREFOX_FILE,
	FIREFOX_HOLDER,		/* where the holder was */
	FIREFOX_HOLDER_THREAD,
	FIREFOX_JOINED,
	FIREFOX_WAKER,
	FIREFOX_DETAILS
};

struct firefox_wait {
	const char *type;	/* of the marker */
	const char *kind;	/* the frame of the state; NULL: it has none */
	const char *call, *file;	/* parts of that, if the type is that of a file or a socket */
	size_t call_length;
	const struct frame *details[FIREFOX_DETAILS];	/* NULL: it was not asked for, or is not known */
};

void firefox__read_wait(const struct report *r, const struct moment *m, struct firefox_wait *w);
/* Write the type of the marker, and its fields. */
void firefox__add_wait(struct firefox *x, const struct moment *m, const struct firefox_wait *w);
/* The name of the marker. */
const char *firefox__wait_name(const struct moment *m, const struct firefox_wait *w);
void firefox__add_wait_schemas(struct firefox *x);

/* `label`: of the table and the chart; `places`: names that the viewer has for where they are shown, NULL behind the last one. */
void firefox__open_schema(struct firefox *x, const char *name, const char *label, const char *const *places);
void firefox__add_field(struct firefox *x, const char *key, const char *format);
void firefox__close_schema(struct firefox *x);

/* A time in ms, as the file has it. */
static inline void firefox__add_time(struct firefox *x, const char *key, uint64_t ns)
{
	if (ns > INT64_MAX)
		json__null(&x->json, key);
	else
		json__number(&x->json, key, (int64_t)ns, 6);
}

#endif /* EXTPROF_OUTPUT_FIREFOX_H */
