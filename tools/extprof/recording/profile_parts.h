/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations for the files recording/profile*.c. */
#ifndef EXTPROF_RECORDING_PROFILE_PARTS_H
#define EXTPROF_RECORDING_PROFILE_PARTS_H

#include "profile/native_lines.h"
#include "recording/profile.h"
#include "recording/request_choice.h"
#include "recording/same_paths.h"
#include "recording/together.h"
#include "wire/states.h"

/* Different combinations of mode, thread, labels and stack that are added up before they go into the tree. */
#define SUMS_MAX (256u << 10)

/* Different traces and spans that are told apart, if they are shown. */
#define TRACE_VALUES_MAX (32u << 10)

struct sum {
	uint32_t thread, stack, labels, mode;
	bool past;		/* of the time before that of a filter that cuts */
	bool has_trace;
	uint32_t traced[TRACE_PARTS];	/* frames of the trace and the span, if they are labels that are shown; 0 none */
	uint32_t samples;
	uint32_t place;		/* of the moments, see profile_moments.c: number in report::places */
	struct weight weight;
	double squares;		/* see struct tree_node */
	double squares_before;	/* of a comparison: what the first side is to lose of its own */
};

/* Labels that have one value for all samples of a recording. */
enum input_label {
	INPUT_NAME, INPUT_HOST, INPUT_LABELS
};

/* The parts of a wait follow each other in this order. */
enum wait_step {
	STEP_BLOCKED, STEP_GVL, STEP_STOPPED, STEP_RUNNABLE, WAIT_STEPS
};

/* The wait that the samples are of, all of which have the time of its end.  Zero-initialise for each recording. */
struct sample_times {
	uint32_t left;			/* samples of it that have not been asked for */
	uint64_t after[WAIT_STEPS];	/* so long before its end each part ends */
};

/* Times and samples of threads and processes, in the time of a filter that cuts. */
struct window {
	struct window_thread {
		uint32_t thread, mode;		/* id, and number of the mode */
		uint64_t times[STATE_ROOM];	/* ns */
	} *threads;
	uint32_t thread_count;
	size_t thread_room;
	struct map64 map;			/* mode and thread -> number */
	struct window_process {
		uint64_t cpu, samples;		/* ns by samples; of all modes */
	} *processes;				/* by id */
	uint32_t process_count;
	int cpu_mode;				/* number of the mode that tells what ran; -1 none does */
};

/* A time in which something was recorded. */
struct piece {
	uint64_t from, until;	/* ns since 1970 */
	uint32_t modes;		/* a bit of each */
	bool past;		/* as in struct sum */
};

/*
 * Live objects are not added up over recordings.  For each process the last recording of the time that knows them has all of
 * them.  A process is known by its machine and pid: of two with one pid, one has ended.
 */
struct last_states {
	struct map64 map;			/* side, machine and pid -> number */
	struct last_state {
		uint32_t input;			/* which recording */
		uint64_t end;			/* ns since 1970, of that */
	} *list;
	uint32_t count;
	size_t room;
};

/* Objects of the first side of a comparison: those that the second one has, too, are no chance of sampling. */
struct seen_objects {
	struct map64 map;			/* machine, pid and time -> number */
	double *amounts;
	uint32_t count;
	size_t room;
};

/* One recording. */
struct input {
	struct recording_reader *reader;
	bool woken;			/* the reader sleeps when nothing is read */
	bool is_after;			/* of the second side of a comparison */
	struct recording_tables *tables;	/* while it is read; NULL: it is not */
	struct recording_matches matches;
	struct requests requests;	/* those of which samples are asked for, if it was */
	uint64_t begin, since, until;	/* CLOCK_MONOTONIC, ns */
	uint64_t wall;			/* its begin, ns since 1970 */
	/* The time of a filter that cuts, CLOCK_MONOTONIC, ns. */
	uint64_t past;			/* what is from then on until `since` tells who rests */
	uint64_t end;			/* of the recording */
	bool outside;			/* it has nothing of the time */
	/* For a mode of what lives: */
	bool is_late;			/* it has nothing of the time */
	uint64_t made_since;		/* of what was made from then on; CLOCK_MONOTONIC, ns */
	bool *told_later;		/* by id of a process: another recording has its state; while it is read; NULL: none has */
	uint64_t later;			/* ns: so much later it began than the first one of its side, by the clocks on the wall */
	uint32_t frames[INPUT_LABELS];	/* those of its name and its host, if they are groups; 0: they are not */
	int32_t number_of[BLOCK_MODES];	/* by id: in recording_profile::modes; -1 none */
	uint32_t ids[MODES_MAX];	/* by number; 0: it has not that mode */
	uint32_t *numbers;		/* by id of the frame */
	uint64_t rows[MODES_MAX];	/* samples of each mode */
	struct thread_place {
		uint32_t report, node;	/* of one of its samples; REPORT_NOWHERE: it has none */
	} *thread_places;		/* by id of the thread; while timelines are made */
	uint64_t last;			/* time of a sample */
	bool *seen;			/* by id of a process: a sample of it was asked for; while they are added */
	uint64_t *counts;		/* of such samples, by process and mode, if the recording did not end: else its account has them */
	uint32_t counted;		/* processes; when it is read again, there can be more */
	struct report_version version;	/* of the processes that were seen */
	struct sample_times times;	/* of those that are cut */
	struct window window;
};

struct recording_profile {
	struct input *inputs;
	uint32_t count;
	bool keeps;			/* recordings stay in memory, because they are few: one, or one of each side */
	struct recording_view view;	/* of the first recording that was named */
	bool lines;			/* as any of them has it */
	bool has_request_label;		/* a sample has the label that makes a request, or all do */
	const char *keys[GROUP_LABELS_MAX];	/* labels of `show` that no sample had so far; NULL: one had it */
	struct text known_keys;		/* some that the first one has, for a message */
	uint64_t periods[MODES_MAX][2];	/* of the first one of a side, see check_rates() */
	bool rated[MODES_MAX];		/* they are known */
	const struct input *other_rate[MODES_MAX];	/* one of another rate than the first one; NULL: all have its rate */
	/* The only process so far, as it was last seen. */
	bool has_one;
	int one_pid;
	uint64_t one_command;		/* hash */
	bool several;			/* there are more */
	/* Several recordings: the accounts of each mode, or of each side of a comparison, which has one mode. */
	struct report accounts[MODES_MAX];
	struct together_maps maps[MODES_MAX];
	bool counted;			/* all recordings were read once */
	bool given;			/* the accounts are those of a report now */
	uint64_t account_frames;	/* frames of the recordings in the accounts */
	struct map64 frame_map;		/* the same of frames: by what they are -> number */
	uint32_t begins[2];		/* number of the first one of each side, as they were named */
	uint32_t first[2];		/* number of the one of each side that began before the others */
	struct recording_filter filter;
	const struct mode *modes[MODES_MAX];	/* that are reported */
	uint32_t mode_frames[MODES_MAX], mode_count;
	uint32_t labelled_frame;	/* as in struct resolver */
	struct groups show;		/* as the caller wants it, or as the first one was recorded */
	bool shown_by_default;
	/* The ones of the labels of `show` that are the name of the recording, and its host; -1 none. */
	int input_labels[INPUT_LABELS];
	bool host_by_default;		/* nobody has asked for it: there are several */
	int trace_label[TRACE_PARTS];	/* those that are the trace and the span; -1 none */
	uint32_t trace_values;		/* frames that these have made: at most TRACE_VALUES_MAX, about */
	/* For the labels of `show`: their keys as frames have them, and the frames of samples that have no value. */
	const char *label_keys[GROUP_LABELS_MAX];
	uint32_t no_label[GROUP_LABELS_MAX][KNOWN_MERGED];	/* by enum frame_known */
	/* Two sides are compared: `tree` has the amounts of the first one, and `after` those of the second one.  Both
	 * have all stacks, with equal numbers of samples: so they have the same nodes. */
	bool compares;
	bool by_value;			/* if it compares: that amount of the mode is compared */
	struct frame_table frames;
	struct native_lines native_lines;
	uint32_t frame_base;		/* numbers of codes that are in use */
	struct tree tree, after;
	/* For a filter that cuts: what was before, and when something was recorded. */
	struct tree past;
	struct piece *pieces;
	uint32_t piece_count;
	size_t piece_room;
	struct last_states states;
	struct seen_objects seen_objects;
	bool several_hosts;		/* processes are told apart by them */
	uint32_t *path;			/* of a stack, with all before it */
	struct sum *sums;
	uint32_t sum_count;
	struct map64 sum_map;
	struct owner_dirs cwds;		/* where the processes worked */
	struct same_paths same_paths;	/* of both sides, if they are compared */
	char *directories[2];		/* of the application of each side, if they are two; else NULL */
	struct weight all;		/* of all samples: no sum is larger */
};

/* Like recording_profile__create(); two sides: for recording_profile__compare(). */
int recording_profile__build(struct recording_profile **profile, const struct recording_side *sides, uint32_t side_count,
			     const struct recording_filter *filter, const char *metric, struct diag *d);
int recording_profile__no_memory(struct diag *d);
/* Read a recording, until it is let go of.  0 or negative errno with *d. */
int recording_profile__enter(struct recording_profile *p, struct input *in, struct diag *d);
/* Where the applications of both sides are. */
void recording_profile__find_directories(struct recording_profile *p);
void recording_profile__leave(struct recording_profile *p, struct input *in);
/* After _enter(): the numbers of its frames, and the samples and requests of it that are asked for. */
int recording_profile__choose(struct recording_profile *p, struct input *in, struct diag *d);
/* Add the account of a recording that has been read to p->accounts.  0 or negative errno with *d. */
int recording_profile__account(struct recording_profile *p, struct input *in, struct diag *d);
/* Make p->accounts anew: those that there were belong to reports that have been given.  0 or negative errno with *d. */
int recording_profile__account_again(struct recording_profile *p, struct diag *d);
/* The account of one recording in that mode, for a report that has been built.  0, or negative errno with *d: then the report has
 * been freed. */
int recording_profile__read_account(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report,
				    struct diag *d);
/* Move one of p->accounts, that of several recordings, to a report that has been built. */
void recording_profile__move_account(const struct recording_profile *p, struct report *account, struct report *report);
/* The same of the mode, with the length of the time of a filter that cuts, and without rates that differ.  0 or -ENOMEM. */
int recording_profile__give_account(struct recording_profile *p, uint32_t mode, struct report *report);
/* How long the longest recording of a side was, ns.  Without a comparison all recordings are of one side, is_after is false. */
uint64_t recording_profile__window(const struct recording_profile *p, bool is_after);
/* The mode that a row of a recording is of; NULL: this extprof does not know it. */
const struct mode *recording_profile__mode(const struct mode_row *row);
/*
 * The modes that are shown, of those that the first recording has; names: those that are wanted, NULL all.  If it compares, the
 * metric of the one that there is, too.  0 or negative errno with *d.
 */
int recording_modes__choose(struct recording_profile *p, const char *names, const char *metric, struct diag *d);
/* Has the recording these modes, and counts them the same?  all_modes: nobody has chosen modes, and none may be left out.  0 or
 * negative errno with *d. */
int recording_modes__check(struct recording_profile *p, struct input *in, bool all_modes, struct diag *d);
/* The groups that are shown, and what is shown of samples that have no value of a label; NULL: as the first recording has
 * them.  0 or negative errno with *d. */
int recording_groups__choose(struct recording_profile *p, const struct groups *wanted, struct diag *d);
/* Has the recording labels of them? */
void recording_groups__look(struct recording_profile *p, const struct input *in);
/* All have been read: fail if none had one of them.  0 or negative errno with *d. */
int recording_groups__check(const struct recording_profile *p, struct diag *d);
/* Processes of different machines can have one pid. */
bool recording_groups__has_several_hosts(const struct recording_profile *p);
/* Add the samples of a recording that are asked for.  0 or negative errno with *d. */
int recording_sums__add(struct recording_profile *p, struct input *in, struct diag *d);
/* Is the sample one of those that are asked for? */
bool recording_profile__wants(struct recording_profile *p, struct input *in, const struct recording_sample *s);
/* The number of the sum that the sample is of; *is_new: it has been added.  MAP64_NONE: out of memory, or p->sums is full,
 * which the caller empties. */
uint32_t recording_profile__sum(struct recording_profile *p, const struct input *in, const struct recording_sample *s, bool past,
				bool *is_new);
/* The path of a sum in the tree is put into p->path; returns its length. */
uint32_t recording_profile__path(struct recording_profile *p, const struct input *in, const struct sum *s);
/*
 * When what sample i is of began, CLOCK_MONOTONIC, ns; its time if it is of a moment.  To be asked of each sample, one after
 * the other.  `mode`: that of the sample, if it is asked for.
 */
uint64_t recording_profile__begin(struct sample_times *times, const struct input *in, const struct mode *mode,
				  const struct recording_sample *samples, uint32_t i, uint32_t count);
/* Find which recording has the state of which process, if a mode is of what lives.  0 or negative errno with *d. */
int recording_states__find(struct recording_profile *p, struct diag *d);
/* The tables of a recording are there: look which of its processes are told by others.  0 or -ENOMEM. */
int recording_states__choose(const struct recording_profile *p, struct input *in);
/* Is it one of a mode of what lives?  Of such a sample the time is that when the object was made. */
bool recording_states__has(const struct recording_profile *p, const struct input *in, const struct recording_sample *s);
/* Does it count? */
bool recording_states__counts(const struct recording_profile *p, const struct input *in, const struct recording_sample *s);
/* The square of a sample of a comparison with that amount, and in *before what the first side is to lose.  0 or -ENOMEM. */
int recording_states__square(struct recording_profile *p, const struct input *in, const struct recording_sample *s, double amount,
			     double *square, double *before);
/* Are samples of all times to be read? */
bool recording_states__are_whole(const struct recording_profile *p);
void recording_states__free(struct recording_profile *p);
/* For a filter that cuts.  0 or negative errno with *d. */
int recording_window__begin(const struct recording_profile *p, struct input *in, struct diag *d);
/* Leave of a sample, which began then, what is in the time; false: nothing is. */
bool recording_window__cut(uint64_t since, uint64_t until, uint64_t begin, struct recording_sample *s);
/* Add what was left to the accounts.  0 or -ENOMEM. */
int recording_window__add(struct recording_profile *p, struct input *in, const struct recording_sample *s);
/* The account of a report, which is that of all of the recording, becomes that of the time.  0 or negative errno with *d. */
int recording_window__account(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report,
			      struct diag *d);
/* The first trigger that fired in the time becomes the report's.  0 or negative errno with *d. */
int recording_window__trigger(const struct input *in, struct report *report, struct diag *d);
void recording_window__free(struct window *w);
/* When the recording ends, and whether it has any of the time.  0 or negative errno with *d. */
int recording_pieces__find_end(struct input *in, struct diag *d);
/* After its samples have been read: of which times it is.  0 or negative errno with *d. */
int recording_pieces__add(struct recording_profile *p, const struct input *in, struct diag *d);
/* ns of the time of the filter, or of the past, in which one of the modes (a bit of each) was recorded.  Two recordings of
 * one time are one time.  UINT64_MAX: out of memory. */
uint64_t recording_pieces__sum(const struct recording_profile *p, uint32_t of, bool past);
/* After the begin of the timelines, ns. */
uint64_t recording_profile__time(const struct input *in, uint64_t time);
/* Call `take` for each row of a statement with two parameters: from when to when.  0; negative errno with *d, or what `take`
 * returned if that is not 0. */
int recording_profile__rows(const struct input *in, const char *sql, int (*take)(void *context, sqlite3_stmt *s), void *context,
			    struct diag *d);
/* The same of another time, CLOCK_MONOTONIC, ns. */
int recording_profile__rows_of(const struct input *in, uint64_t from, uint64_t until, const char *sql,
			       int (*take)(void *context, sqlite3_stmt *s), void *context, struct diag *d);
/* Add what lasted in threads of a recording to the first timeline.  0 or negative errno with *d. */
int recording_profile__spans(struct recording_profile *p, struct input *in, struct timeline *t, struct diag *d);
/* Add how much memory its processes had to the first timeline, which has its end by now.  0 or negative errno with *d. */
int recording_profile__figures(struct input *in, struct timeline *t, struct diag *d);
/* Give each report the samples that it is made of, as a timeline or as cells.  0 or negative errno with *d. */
int recording_profile__moments(struct recording_profile *p, const struct recording_request *request, struct reports *reports,
			       struct diag *d);

/* The time between two samples of what runs, ns; of a recording without an end that which it was begun with.  0: the mode
 * shows nothing of that. */
uint64_t recording_profile__period(const struct recording_profile *p, const struct input *in, uint32_t mode, bool ended);
/* Is it the value of the mode, or the count? */
int recording_profile__metric(const struct mode *m, const char *metric, bool *by_value, struct diag *d);
/* The first recording of the side that it is of, as they were named. */
const struct input *recording_profile__side(const struct recording_profile *p, const struct input *in);
/* *d says that recordings of different rates have no sum in that mode.  Returns -EINVAL. */
int recording_profile__rates_differ(const struct recording_profile *p, uint32_t mode, struct diag *d);
/* *d says in which of several recordings it was.  Returns err. */
int recording_profile__failed_in(const struct recording_profile *p, const struct input *in, int err, struct diag *d);

#endif /* EXTPROF_RECORDING_PROFILE_PARTS_H */
