/* SPDX-License-Identifier: BSD-2-Clause */
/* Details of waits besides their states, as frames below the states. */
#ifndef EXTPROF_PROFILE_WAIT_DETAILS_H
#define EXTPROF_PROFILE_WAIT_DETAILS_H

#include "profile/resolve.h"
#include "wire/wait_details.h"

/* Frames that details__frames() makes at most. */
#define WAIT_DETAIL_FRAMES_MAX 4u

/* A part of a wait for the GVL: who had it meanwhile. */
struct wait_share {
	uint32_t frame;		/* its method and line */
	uint32_t thread_frame;	/* the thread; 0: threads are not told apart */
	uint64_t ns;
};

/* Append "socket to 127.0.0.1:5432", clean.  `pid`: of the process, as seen from here; 0: it is gone. */
void details__add_file(const struct wait_file *file, pid_t pid, struct text *out);

/* Read the names of its methods and of the thread, if they are new. */
void details__read_names(struct vm *vm, const struct wait_peer *p);

/* The parts of a wait for the GVL, at most WAIT_SHARES_MAX; none: it is no such wait.  0 or -ENOMEM. */
int details__shares(struct resolver *c, const struct sample_event *e, struct wait_share *shares, uint32_t *count);

/* The other frames below the state of the sample, by c->about.  0 or -ENOMEM. */
int details__frames(struct resolver *c, struct vm *vm, const struct sample_event *e, uint32_t *stack, uint32_t *count);

#endif /* EXTPROF_PROFILE_WAIT_DETAILS_H */
