/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The holders of GVLs over time, and where they were: what the looks of the kernel program have seen.  A wait for a GVL is
 * shared out among those that had it meanwhile.
 */
#ifndef EXTPROF_PROFILE_HOLDERS_H
#define EXTPROF_PROFILE_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "wire/wait_details.h"

/* Looks that are kept of one GVL, half of which are dropped when it is full, and of all. */
#define HOLDERS_LOOKS_MAX (32u << 10)
#define HOLDERS_ALL_MAX (256u << 10)
/* ns.  A GVL that was not looked at for so long is that of a process which has ended, or has nothing to do. */
#define HOLDERS_REST 60000000000ull
/* GVLs that are told apart.  If there are more, all looks are forgotten. */
#define HOLDERS_GVLS_MAX (16u << 10)

struct hold_seen {
	uint64_t time;		/* CLOCK_MONOTONIC, ns */
	uint64_t number;	/* of the look */
	uint64_t ip;		/* of the thread; 0 unknown */
	uint32_t look;		/* enum hold_look */
	/* Its frames, see wait_details.c; of another `turn` they are of a profile before. */
	uint32_t frame, thread_frame, turn;
	struct wait_peer peer;
};

/* Zero-initialise. */
struct holders {
	struct gvl_seen {
		struct hold_seen *list;		/* oldest first */
		uint32_t count;
		size_t room;
		uint32_t process, ractor;
	} *gvls;
	uint32_t count;
	size_t room;
	uint32_t looks;		/* of all */
	struct map64 map;	/* hash of process and ractor -> number in gvls */
};

void holders__free(struct holders *h);

/* Take one look.  One that finds no room is missing, which the next one tells. */
void holders__add(struct holders *h, const struct hold_event *e);

/*
 * Call back for each part of the time [from, to), in which that thread waited, with who had the GVL in it.  NULL: that is
 * not known.  `thread`: its serial; 0 unknown.  The parts make up the time.  0, or what the callback returned, if that is not 0.
 */
typedef int (*holders_part)(void *context, struct hold_seen *seen, uint64_t ns);
int holders__each(struct holders *h, uint32_t process, uint32_t ractor, uint64_t thread, uint64_t from, uint64_t to,
		  holders_part part, void *context);

#endif /* EXTPROF_PROFILE_HOLDERS_H */
