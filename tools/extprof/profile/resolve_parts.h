/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps from a sample to an event, which are in several files.  For them only.  0 or -ENOMEM. */
#ifndef EXTPROF_RESOLVE_PARTS_H
#define EXTPROF_RESOLVE_PARTS_H

#include "profile/resolve.h"

/* The number of a frame that has a name in brackets and nothing else; 0: out of memory, or too many. */
static inline uint32_t resolve__mark(struct resolver *c, enum frame_kind kind, const char *name)
{
	struct frame f = FRAME_INIT((uint8_t)kind);

	f.name = name;
	f.bracketed = true;
	return frame_table__add(c->frames, &f);
}

/* sample_groups.c: the frames of --group-by, into c->stack from *n on; sets c->group_frames and c->thread_frame. */
int resolve__add_groups(struct resolver *c, struct vm *vm, struct process_row *row, const struct sample_event *e,
			uint32_t *n);
/* The frame of the thread of a sample; 0: out of memory, or too many. */
uint32_t resolve__thread_frame(struct resolver *c, struct vm *vm, const struct sample_event *e);

/* sample_labels.c: after the groups, all labels, into c->labels. */
int resolve__add_labels(struct resolver *c, struct vm *vm, const struct sample_event *e);

/* sample_stack.c: groups and code, into c->stack. */
int resolve__build(struct resolver *c, struct vm *vm, struct process_row *row, const struct sample_event *e,
		   const struct sample_frame *frames, uint32_t *count);

/* sample_views.c: what each mode makes of the sample, into c->views. */
int resolve__views(struct resolver *c, struct vm *vm, const struct sample_event *e, uint32_t *count);

#endif /* EXTPROF_RESOLVE_PARTS_H */
