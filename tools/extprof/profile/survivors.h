/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of objects that may die, held back until it is known which live.  A sample of a mode with mode::lives comes
 * here and not to the sinks.  Whoever has read the table of a VM says which of them live and what they take; then they can
 * be told, more than once.
 *
 * Memory is bounded: an object for which there is no room is counted as forgotten.  The VM that has most objects gives up
 * some for others.
 */
#ifndef EXTPROF_SURVIVORS_H
#define EXTPROF_SURVIVORS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/sink.h"
#include "profile/tree.h"
#include "ruby/debug_external.h"

/* Most objects of all VMs, and of one VM: its table has that many, and others have died since it was read. */
#define SURVIVORS_MAX (1u << 20)
#define SURVIVORS_OF_VM_MAX (RB_DEBUG_EXT_LIVE_MAX + (64u << 10))

/* An object that may live. */
struct held_object {
	uint64_t serial;	/* in its VM */
	uint64_t time;		/* when it was made; CLOCK_MONOTONIC, ns */
	uint64_t thread, label;	/* as in struct sink_sample and its origin */
	struct trace_context context;	/* the same; all 0: none */
	uint64_t value;		/* bytes that it takes, for all objects that it stands for, when its table was read last */
	uint32_t tid, fiber, thread_frame;
	uint32_t stack;		/* node of the innermost frame, which is below the code */
	uint32_t labels;	/* node of the last of its labels; 0: there is none */
	uint32_t count;		/* objects that it stands for */
	uint32_t class;		/* its id, to be compared with the table's */
	uint8_t groups, below, truncated;
};

struct held_vm {
	uint32_t vm;		/* number */
	uint32_t process;	/* row, when its table was read last */
	uint32_t clears;	/* of its table, when it was read last */
	bool read;		/* it was read */
	bool settled;		/* all that are in the list live, as far as its VM knows */
	struct held_object *list;
	uint32_t count;
	size_t room;
};

struct survivors {
	struct held_vm *vms;
	uint32_t vm_count;
	size_t vm_room;
	uint32_t count;		/* objects of all */
	bool crowded;		/* a VM has nearly as many as it may have: look which of them live */
	struct tree stacks;
	uint32_t nodes_needed;	/* of them, when that was last counted */
	bool dropped;		/* objects were dropped since then */
	/* Since the begin: */
	uint64_t held;		/* objects that were sampled, and copies of them in children */
	uint64_t died;
	uint64_t ended;		/* whose process has ended */
	uint64_t forgotten;	/* that may live: their VM has emptied its table, or there was no memory for them */
	uint64_t refused;	/* samples that have no place in the table of their VM */
	/* Room for one stack and its labels. */
	uint32_t path[SINK_FRAMES_MAX + SINK_BELOW_MAX], labels[SINK_LABELS_MAX];
};

/* 0 or -ENOMEM. */
int survivors__init(struct survivors *s);
void survivors__free(struct survivors *s);

/* Hold a sample of that VM, or count it as forgotten. */
void survivors__hold(struct survivors *s, uint32_t vm, uint64_t serial, uint32_t class, const struct sink_sample *sample,
		     const struct sink_view *view);
/* How many are held of a VM. */
uint32_t survivors__of(const struct survivors *s, uint32_t vm);
/* A child has what its parent had at that time.  To be told when no sample of that time follows. */
void survivors__inherit(struct survivors *s, uint32_t parent, uint32_t vm, uint64_t forked_at);
/* A recording goes on after a pause: what a VM without objects has done with its table until now is of no interest. */
void survivors__resume(struct survivors *s);

/* The tables are about to be read: nothing is settled. */
void survivors__begin(struct survivors *s);
/*
 * The table of a VM was read, and all samples that were taken before are held.  `list` is in the order of serials.  Forget
 * what has died, and take down what the others take.  0 or -ENOMEM.
 */
int survivors__settle(struct survivors *s, uint32_t vm, uint32_t process, const struct rb_debug_ext_live *list, uint32_t count,
		      uint32_t clears);
/* After these: give memory of stacks back that nothing needs. */
void survivors__tidy(struct survivors *s);
/* The process has ended, or runs another program. */
void survivors__end(struct survivors *s, uint32_t vm);

/*
 * Tell each object of VMs that are settled.  The sample has one view, of which the mode is to be filled in; its frames are
 * in survivors::path, and may be changed there.  0, or what `tell` says, which ends it.
 */
int survivors__tell(struct survivors *s, int (*tell)(void *context, struct sink_sample *sample, struct sink_view *view),
		    void *context);

/*
 * Frames have other numbers from now on: those of `from` become those of `to`; NULL: they stay, and only stacks that nothing
 * needs go.  named: the symbols of Ruby code are about to be forgotten, so it keeps the names that it has in `from`.
 * 0 or -ENOMEM: nothing is held any more.
 */
int survivors__renumber(struct survivors *s, const struct frame_table *from, struct frame_table *to, bool named);

#endif /* EXTPROF_SURVIVORS_H */
