/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where resolved samples go.  The resolver makes events of what arrives and hands each to a list of sinks: the tree of
 * stacks, the pauses of the collector, a recording, a list in a test.  A new analysis is a new sink, and the resolver
 * stays as it is.
 *
 * Frames and processes are numbers in events.  Their names can be read later than the event, so a sink is told what
 * they stand for whenever that is known anew: before a report, at the end, and when the caller asks for it with
 * resolve__describe().  A number keeps its meaning until the profile begins anew (restart).
 */
#ifndef EXTPROF_SINK_H
#define EXTPROF_SINK_H

#include <stdint.h>

#include "frames/frame_table.h"
#include "profile/groups.h"
#include "profile/processes.h"
#include "source/mode.h"
#include "wire/sample.h"

/* Frames of a sample: groups and code, and what is below the code in one mode. */
#define SINK_FRAMES_MAX (SAMPLE_FRAMES_MAX + KERNEL_FRAMES_MAX + 3 * NATIVE_FRAMES_MAX + 20u)
#define SINK_BELOW_MAX 8u
/* Labels of a sample: one for each record of the set, those of the groups, and what is said of those that are missing. */
#define SINK_LABELS_MAX (RB_DEBUG_EXT_LABELS_MAX + GROUP_LABELS_MAX + 2u)
#define SINKS_MAX 8u

/* Whose an event is. */
struct sink_origin {
	uint32_t process;	/* number of a row of struct processes, or PROCESS_NONE */
	uint32_t vm;		/* number of the program that the process runs, from 1 */
	uint64_t thread;	/* serial of the Ruby thread in its VM; 0: none, or not known */
	uint32_t tid;		/* of the native thread, in the pid namespace of the process */
	uint32_t thread_frame;	/* FRAME_THREAD; 0: the groups of the profile have no threads */
	uint32_t fiber;		/* slot of its execution context in the VM; 0: none, or not known */
};

/* A sample as one mode shows it. */
struct sink_view {
	uint32_t mode;		/* its number in the profile; 0 without modes */
	uint32_t mode_frame;	/* FRAME_MODE; 0: there is only one mode */
	uint32_t labelled_frame;	/* the same, of a mode with states: the thread has a label; 0: it has none */
	struct weight weight;
	uint32_t below[SINK_BELOW_MAX];	/* frames below the code, outermost first: state, class, file */
	uint32_t below_count;
};

struct sink_sample {
	struct sink_origin origin;
	uint64_t time;		/* CLOCK_MONOTONIC, ns: of a wait, when it was over */
	uint16_t source;	/* enum sample_source */
	uint16_t truncated;	/* enum trunc_reason; 0: the stack is whole */
	uint32_t state;		/* of SOURCE_SCHED, enum thread_state */
	uint64_t label;		/* id of the label set in the VM, 0 none */
	const struct trace_context *context;	/* NULL: none, or it could not be told */
	const uint32_t *frames;	/* numbers, outermost first: groups, then code */
	uint32_t count, groups;
	/* All labels, if the resolver was told to have them: FRAME_LABEL, each key once.  One without a key says why others
	 * are missing. */
	const uint32_t *labels;
	uint32_t label_count;
	/*
	 * Those of labels[0], labels[1] and all others, as label_marks.h has them: another one for each piece of work that had
	 * the label.
	 */
	uint64_t label_marks;
	/* One for each mode that takes the sample, or several that share its weight: see details__shares(). */
	const struct sink_view *views;
	uint32_t view_count;
};

/* A pause of the collector. */
struct sink_pause {
	struct sink_origin origin;
	uint64_t begin, length;		/* CLOCK_MONOTONIC, ns; ns */
	const struct sample_event *event;	/* its phases and its reason: see wire/gc.h */
};

struct sink_loss {
	uint16_t source;	/* enum sample_source */
	uint32_t process;	/* as in struct sink_origin */
	enum loss_reason reason;
	uint64_t count;
};

struct sink;

/*
 * Functions that a sink does not need are NULL.  They return 0, or a negative errno.  If the first sink of the list
 * cannot take a sample or a pause, the sample is lost for all.  Another one that fails is asked no more, and sink::err
 * says why.
 */
struct sink_ops {
	/* Tell the meaning of a number, and tell it again when it has changed. */
	int (*process)(struct sink *s, uint32_t row, const struct process_row *process);
	int (*frame)(struct sink *s, uint32_t number, const struct frame *frame);

	int (*sample)(struct sink *s, const struct sink_sample *sample);
	int (*pause)(struct sink *s, const struct sink_pause *pause);
	/* Samples that arrived and could not be resolved.  Samples that the kernel has lost are in its counters. */
	int (*loss)(struct sink *s, const struct sink_loss *loss);
	/* All numbers have other meanings from now on. */
	int (*restart)(struct sink *s);
};

/* The first member of the structure of each sink. */
struct sink {
	const struct sink_ops *ops;
	int err;		/* 0, or why it is asked no more */
};

/* Zero-initialise. */
struct sinks {
	struct sink *list[SINKS_MAX];
	uint32_t count;
};

/* 0 or -ENOSPC. */
int sinks__add(struct sinks *s, struct sink *sink);
/* 0, or what the first one says. */
int sinks__sample(struct sinks *s, const struct sink_sample *sample);
int sinks__pause(struct sinks *s, const struct sink_pause *pause);
void sinks__loss(struct sinks *s, const struct sink_loss *loss);
void sinks__process(struct sinks *s, uint32_t row, const struct process_row *process);
/* All frames of the table. */
void sinks__frames(struct sinks *s, const struct frame_table *t);
void sinks__restart(struct sinks *s);

/* -- the sinks of a report ------------------------------------------------------------------- */

struct tree;
struct gc_pauses;

/* Adds the stack of each view to a tree. */
struct tree_sink {
	struct sink sink;
	struct tree *tree;
	uint32_t stack[SINK_FRAMES_MAX + SINK_BELOW_MAX + 2];
};

/* Adds up the pauses of the collector. */
struct pause_sink {
	struct sink sink;
	struct gc_pauses *pauses;
};

void tree_sink__init(struct tree_sink *s, struct tree *tree);
void pause_sink__init(struct pause_sink *s, struct gc_pauses *pauses);

#endif /* EXTPROF_SINK_H */
