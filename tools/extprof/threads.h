/* SPDX-License-Identifier: BSD-2-Clause */
/* What the target's tables say about its threads. */
#ifndef EXTPROF_THREADS_H
#define EXTPROF_THREADS_H

#include <stdint.h>

#include "layout.h"
#include "map64.h"
#include "memory.h"
#include "text.h"

struct threads {
	const struct layout *layout;
	const struct memory *memory;
	struct thread_label {
		uint32_t tid;
		uint32_t ec_slot;
		char text[128];
	} *labels;		/* map: tid << 32 | ec_slot -> number */
	uint32_t count, room;
	struct map64 map;
};

void threads__init(struct threads *t, const struct layout *layout, const struct memory *memory);
void threads__free(struct threads *t);

/* Forget all labels: slots are reused and threads get names. */
void threads__forget(struct threads *t);

/* "[thread NAME (tid N)]", clean.  `comm` is the fallback. */
const char *threads__label(struct threads *t, uint32_t tid, uint32_t ec_slot, const char *comm);

#endif /* EXTPROF_THREADS_H */
