/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of objects that may die, held back until it is known which live.  A sample of a mode with mode::lives comes
 * here and not to the sinks.  Whoever has read the table of a VM says which of them live, and is told each with what it
 * takes.
 *
 * Memory is bounded: an object of which there is no room is lost, and told as such.  A VM that has most gives up some for
 * others.
 */
#ifndef EXTPROF_SURVIVORS_H
#define EXTPROF_SURVIVORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "profile/sink.h"
#include "profile/tree.h"
#include "ruby/debug_external.h"

/* Of all VMs, and of one: what its table has room for, and what has died since it was read. */
#define SURVIVORS_MAX (1u << 20)
#define SURVIVORS_OF_VM_MAX (RB_DEBUG_EXT_LIVE_MAX + (64u << 10))

/* An object that may live. */
struct held_object {
	uint64_t serial;	/* in its VM */
	uint64_t time;		/* when it was made; CLOCK_MONOTONIC, ns */
	uint64_t thread, label;	/* as in struct sink_sample and its origin */
	uint32_t tid, fiber, thread_frame;
	uint32_t stack;		/* node of the innermost frame, which is below the code */
	uint32_t labels;	/* node of the last of its labels; 0: there is none */
	uint32_t count;		/* objects that it stands for */
	uint32_t class;		/* its id, to be compared with the table's */
	uint8_t groups, below, truncated;
};

struct held_vm {
	uint32_t vm, parent;	/* numbers; parent 0: none, or it has given what it had then */
	uint64_t forked_at;	/* CLOCK_MONOTONIC, ns */
	uint32_t clears;	/* of its table, when last read */
	uint64_t refused;	/* by the VM, when first read */
	bool read;		/* it was read */
	struct held_object *list;
	uint32_t count;
	size_t room;
};

struct survivors {
	struct held_vm *vms;
	uint32_t vm_count;
	size_t vm_room;
	uint32_t count;		/* objects of all */
	struct tree stacks;
	uint32_t nodes_needed;	/* of them, when that was last counted */
	/* Since the begin: */
	uint64_t held;		/* objects that were sampled, and copies of them in children */
	uint64_t died;
	uint64_t ended;		/* whose process has ended */
	uint64_t forgotten;	/* whose VM has emptied its table, as nobody asked: a reader that was stopped for long */
	uint64_t refused;	/* samples that VMs had no room for */
	/* Room for one stack and its labels. */
	uint32_t path[SINK_FRAMES_MAX + SINK_BELOW_MAX], labels[SINK_LABELS_MAX];
};

/* What lives, of one VM. */
struct survivors_use {
	const struct rb_debug_ext_live *list;	/* of its table, in the order of serials */
	uint32_t count, clears;
	uint64_t refused;
	/* Called for each that lives; NULL: it is only told which have died.  `sample` has one view, of which the mode is to be
	 * filled in, and no process and VM. */
	int (*tell)(void *context, struct sink_sample *sample, struct sink_view *view);
	void *context;
};

/* 0 or -ENOMEM. */
int survivors__init(struct survivors *s);
void survivors__free(struct survivors *s);

/* Hold a sample of that VM: 0 or -ENOMEM. */
int survivors__hold(struct survivors *s, uint32_t vm, uint64_t serial, uint32_t class, const struct sink_sample *sample,
		    const struct sink_view *view);
/* A child has what its parent had at that time.  To be told when no sample of that time follows. 0 or -ENOMEM. */
int survivors__inherit(struct survivors *s, uint32_t parent, uint32_t vm, uint64_t forked_at);
/* The table of a VM was read, and all samples that were taken before are held.  Forget what has died.  0, -ENOMEM, or
 * what `tell` says. */
int survivors__settle(struct survivors *s, uint32_t vm, const struct survivors_use *use);
/* After these: give memory of stacks back that nothing needs. */
void survivors__tidy(struct survivors *s);
/* The process has ended, or runs another program. */
void survivors__end(struct survivors *s, uint32_t vm);
/* All frames have other numbers from now on: those of `from` are those of `to`.  0 or -ENOMEM: nothing is held any more. */
int survivors__renumber(struct survivors *s, const struct frame_table *from, struct frame_table *to);

#endif /* EXTPROF_SURVIVORS_H */
