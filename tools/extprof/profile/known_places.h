/* SPDX-License-Identifier: BSD-2-Clause */
/* Methods of gems in which threads and fibers of servers wait for work, with what others use for work, too. */
#ifndef EXTPROF_KNOWN_PLACES_H
#define EXTPROF_KNOWN_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "frames/frame.h"

struct known_place {
	const char *gem, *method;
	uint32_t states;	/* mask of 1u << enum thread_state */
	bool itself;		/* the method itself waits, or a block in it; else whatever it calls */
	bool labelled;		/* it can have labels: the first request that needed it has made it, and it outlives that */
};

extern const struct known_place known_places[];
extern const uint32_t known_place_count;

/* Is the frame a method in which a fiber that is parked rests, with the labels of the request that has made it? */
bool known_places__is_labelled_rest(const struct frame *f);

#endif /* EXTPROF_KNOWN_PLACES_H */
