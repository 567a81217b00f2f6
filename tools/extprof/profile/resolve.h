/* SPDX-License-Identifier: BSD-2-Clause */
/* From samples as the kernel sends them to events of named frames, for sinks. */
#ifndef EXTPROF_RESOLVE_H
#define EXTPROF_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/accounting.h"
#include "profile/groups.h"
#include "profile/kernel_frames.h"
#include "profile/native_frames.h"
#include "profile/processes.h"
#include "profile/sink.h"
#include "source/event_spec.h"
#include "source/mode.h"
#include "wire/wait_details.h"
#include "wire/sample.h"
#include "ruby/vm.h"

/* Different numbers of frames left out that are told apart. */
#define RESOLVE_LEFT_OUT_MAX 64

/* Different values of labels that are told apart: a part of FRAMES_NO_CODE_MAX. */
#define RESOLVE_LABELS_MAX (16u << 10)
/* The same of labels that no group has: their keys, values of one of them, and of all. */
#define RESOLVE_KEYS_MAX 64u
#define RESOLVE_KEY_VALUES_MAX (8u << 10)
#define RESOLVE_KEYS_VALUES_MAX (24u << 10)

/* A wait for the GVL is shared out among so many holders at most, in each mode that shows waits for it. */
#define WAIT_SHARES_MAX 64u
#define WAIT_MODES_MAX 3u

enum resolve_turn { TURN_NOW, TURN_LATER, TURN_NEVER };

struct resolver {
	struct frame_table *frames;
	struct sinks sinks;
	/* The VM of a sample, and which row of the processes is that of its process, or PROCESS_NONE.
	 * NULL: there is none, the sample is malformed. */
	struct vm *(*vm_of)(void *context, const struct sample_event *e, uint32_t *row);
	void *context;
	struct processes *processes;
	struct kernel_frames *kernel;	/* NULL: what samples have of the kernel is not shown */
	struct native_frames *native;	/* the same of native code */
	struct survivors *survivors;	/* samples of modes with mode::lives go there; NULL: there is no such mode */
	/*
	 * NULL: each sample is resolved when it comes.  Else this says when.  TURN_LATER: the owner has taken a copy, and
	 * gives it to resolve__event() later, with c->about as it is now.
	 */
	enum resolve_turn (*turn)(void *context, struct vm *vm, const struct sample_event *e, size_t size);
	/*
	 * Each stack begins with the frame of its process if a key needs that, then with that of
	 * its thread, then with those of the labels in their order.  Which of them are shown, how and
	 * in what order, is for the report.
	 */
	struct groups groups;
	/* Threads are groups only to tell which of them are idle: so many have frames, and the others share one.  0: each
	 * has its own. */
	uint32_t threads_max;
	bool all_labels;	/* sinks want all labels of a sample, not only those of the groups */
	bool pauses;		/* samples of SOURCE_GC are wanted, as pauses */
	/* The modes in which samples are counted, set by resolve__set_modes().  None: each sample counts 1.  Several:
	 * each has a frame in the tree. */
	const struct mode *const *modes;
	uint32_t mode_count;
	uint32_t mode_frames[MODES_MAX];
	/* A frame of the kind FRAME_MODE, in stacks of modes with states: a label is set.  0: no mode has states. */
	uint32_t labelled_frame;
	/* The events of mode event, by number; they belong to the caller. */
	const struct event_spec *events;
	uint32_t event_count;
	uint32_t states;	/* that are shown of modes with states, a mask of 1u << enum thread_state; 0: all */

	/* Every sample that arrived, by source.  Those with a VM are counted in the row of its process too. */
	struct received received[SOURCE_MAX];

	/* Frames of samples that are whole nevertheless. */
	uint64_t frame_count;
	uint64_t unknown_frames;	/* id 0 where code should be */
	/* The report counts the frames whose symbol has no name; these have none. */
	uint64_t unreadable_names;	/* ids that none can have */
	uint64_t crowded_names;		/* more than SYMBOLS_MAX */
	uint64_t jit_leaves, jit_exact;	/* leaves that may be JIT code, exact lines of them */
	uint64_t gc_samples;
	uint64_t unknown_threads;	/* samples with Ruby frames and no thread, if grouped by thread */

	/* How many frames were left out, each number once: see truncated_frame(). */
	uint32_t left_out[RESOLVE_LEFT_OUT_MAX];
	uint32_t left_out_count;

	/* For what has no room for a frame of its own; 0 until they are made. */
	uint32_t crowded_thread, crowded_process, crowded_details;
	uint32_t thread_count;		/* frames of threads, if there may be threads_max */
	uint32_t crowded_label[GROUP_LABELS_MAX];
	uint32_t label_values;		/* frames that labels may have made: see RESOLVE_LABELS_MAX */
	uint64_t unread_labels, expired_labels;	/* samples of which a label is not known */
	uint64_t unread_traces, invalid_traces;	/* samples whose trace is not known: see enum trace_state */
	/* Keys of labels that no group has; what is beyond RESOLVE_KEYS_MAX has the frame crowded_keys. */
	struct label_key {
		char key[RB_DEBUG_EXT_LABEL_KEY_MAX + 1];
		uint16_t length;
		uint32_t crowded;	/* frame of its values that are too many */
		uint32_t values;
	} keys[RESOLVE_KEYS_MAX];
	uint32_t key_count, key_values, crowded_keys;

	/* More of the wait that the sample is of, if it has SAMPLE_HAS_DETAILS; NULL: that was not received. */
	const struct wait_details *details;
	uint32_t details_wanted;	/* which of it is shown, a mask of WAIT_DETAIL_ */
	struct holders *holders;	/* who had the GVL when; NULL: that is not known */
	uint32_t holds_turn;	/* of the table of frames: hold_seen::frame of another turn is of none */

	/* Data of the sample that is being resolved. */
	uint32_t stack[SINK_FRAMES_MAX];	/* groups and code, outermost first */
	uint32_t group_frames;			/* how many of them are groups */
	uint32_t thread_frame;			/* 0: the groups have no threads */
	uint32_t labels[SINK_LABELS_MAX];	/* if all_labels */
	uint32_t label_count;
	uint8_t label_levels[SINK_LABELS_MAX];	/* of the records; 0: not known */
	uint64_t label_marks;
	struct sink_view views[MODES_MAX + WAIT_SHARES_MAX * WAIT_MODES_MAX];
};

/* The modes belong to the caller, and live as long as the resolver.  0 or -ENOMEM. */
int resolve__set_modes(struct resolver *c, const struct mode *const *modes, uint32_t count);

/* The table of frames is empty again, and frames that were made before are none of it.  0 or -ENOMEM. */
int resolve__restart(struct resolver *c);

/* Take one event from the ring buffer. */
void resolve__event(struct resolver *c, const void *data, size_t size);

/*
 * Only the stack of an event: `count` frames in c->stack, outermost first.  It is not counted, and no sink gets it.
 * 0, -EINVAL: the event makes no sense, -EINTR: the memory could not be read in time, -ENOMEM.
 */
int resolve__stack(struct resolver *c, const void *data, size_t size, uint32_t *count);

/* The frame of the process of that row, if the groups have processes. */
uint32_t resolve__process_frame(struct resolver *c, uint32_t row);

/* Count an event that there was no time to look at. */
void resolve__skip(struct resolver *c, const void *data, size_t size);
/* Count a sample that is lost for that reason. */
void resolve__lose(struct resolver *c, const void *data, size_t size, enum loss_reason reason);

/*
 * Give the frames of the threads of a VM, and those of all processes, the names that are known now:
 * before a report, and of a VM before it is closed.  0 or -ENOMEM.
 */
int resolve__name_threads(struct resolver *c, const struct vm *vm);
int resolve__name_processes(struct resolver *c);

/* After these: give the frames of code their names, and tell the sinks all that numbers stand for.  0 or -ENOMEM. */
int resolve__describe(struct resolver *c, const struct symbol_table *table);

#endif /* EXTPROF_RESOLVE_H */
