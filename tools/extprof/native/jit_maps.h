/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The maps that JITs write of their functions, of all processes, and the addresses in code of no file that samples had.  An
 * address has a name if a map has it.  An address whose name has changed between two readings of its map has none, if there
 * was a sample at it in between: nobody knows which of the two ran.  Samples after that have the new name.  The same is so if one
 * reading finds two new functions at an address, and there was a sample at it before the map was written last.
 *
 * Nothing here waits: a map is read by a work (jit_map_work.h).
 */
#ifndef EXTPROF_JIT_MAPS_H
#define EXTPROF_JIT_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map64.h"
#include "base/text.h"
#include "native/native_work.h"

#define JIT_MAPS_MAX 64u
#define JIT_ADDRESSES_MAX (16u << 10)		/* of one map */
#define JIT_ALL_ADDRESSES_MAX (128u << 10)
#define JIT_NAMES_MAX (4u << 20)		/* bytes of the names of these, of one map */
#define JIT_ALL_LINES_MAX (128ull << 20)	/* bytes of what was read of all maps */
#define JIT_NONE UINT32_MAX

enum jit_map_state { JIT_MAP_UNREAD, JIT_MAP_WANTED, JIT_MAP_BEING_READ, JIT_MAP_READ };

/* The map of one process and the program that it executes. */
struct jit_map {
	bool used, ended;	/* ended: it is not read any more */
	bool over;		/* no sample has it any more: the slot is free when it is not being read */
	pid_t pid;
	uint64_t began, executed;	/* as in native_work */
	enum jit_map_state state;
	bool sampled;		/* since it was read */
	bool again;		/* it is to be read once more when it has been read */
	bool unfinished;	/* it was being written anew when it was read last */
	bool failed;		/* it could not be read the last time, and the process lives */
	bool gone;		/* ... by the fault of the file */
	bool missing;		/* ... there was none */
	uint64_t tried_at;	/* CLOCK_MONOTONIC; 0 never */
	uint64_t right_at;	/* its names were right then; 0: it was never read */
	uint64_t changed_at;	/* a reading until then has found other names at some places; 0 none */
	struct jit_file read, seen;	/* seen: last, also if it was not read */
	struct native_names names;
	struct map64 numbers;	/* of its addresses, by address */
	uint32_t count;		/* of its addresses */
	size_t name_bytes;
};

struct jit_address {
	uint64_t address;
	uint64_t first_at, sampled_at;	/* the first and the last sample */
	uint64_t since;		/* a sample before that may be of another function */
	char *name;		/* clean; NULL: none is known */
	uint32_t map;		/* JIT_NONE: that is over, and the name is the last one; without a name it is free */
	uint32_t generation;	/* whose it is: a free one is used again */
	uint32_t next_free;	/* as first_free */
	bool closed;		/* there is other code now: later samples have another number */
	bool lost;		/* it had two names, or perhaps another one */
};

/* Zero-initialise. */
struct jit_maps {
	struct jit_map maps[JIT_MAPS_MAX];
	struct jit_address *list;
	uint32_t count, first_free;	/* first_free: number in the list + 1; 0 none */
	size_t room;
	uint64_t lines_size;	/* of all maps */
	uint64_t next_at;	/* no map is read before: all of them take a small part of a CPU */
};

void jit_maps__free(struct jit_maps *m);

/* A slot for the map of a process; JIT_NONE: there are too many. */
uint32_t jit_maps__add(struct jit_maps *m, pid_t pid, uint64_t began, uint64_t executed);
/* The process has ended, or executes something else: what was read stays. */
void jit_maps__end(struct jit_maps *m, uint32_t map);
/* A slot that can be removed for another process: there is no map, and was none; JIT_NONE: none. */
uint32_t jit_maps__spare(const struct jit_maps *m, uint64_t now);
/* No sample of it arrives any more.  Its addresses keep their names. */
void jit_maps__remove(struct jit_maps *m, uint32_t map);
/* The map that was read was perhaps that of another process: the addresses lose their names. */
void jit_maps__lose(struct jit_maps *m, uint32_t map);

/* The number of an address that a sample of that time had, which no other one gets; JIT_NONE: there is no room, or it may be either of two functions. */
uint64_t jit_maps__number(struct jit_maps *m, uint32_t map, uint64_t address, uint64_t time);
/* Its name, clean: 0; -ENOENT: none is known; -EAGAIN: its map is still to be read. */
int jit_maps__add_name(const struct jit_maps *m, uint64_t number, struct text *out);
/* The address that it stands for; 0: it has no name. */
uint64_t jit_maps__address(const struct jit_maps *m, uint64_t number);

/* The next map that is to be read, its state is JIT_MAP_BEING_READ then; JIT_NONE: none is now.  `all`: also one that is to be
 * read later. */
uint32_t jit_maps__next(struct jit_maps *m, uint64_t now, bool all);
/* It was read, or was not: `ran`. */
void jit_maps__done(struct jit_maps *m, uint32_t map, struct native_work *w, bool ran);
/* Read each map once more that samples had since it was read: it grows. */
void jit_maps__want(struct jit_maps *m);
bool jit_maps__are_wanted(const struct jit_maps *m);
/* There is no more time to read any.  Of those that could not be read since the last sample, names may be wrong: samples since the
 * last reading have none. */
void jit_maps__give_up(struct jit_maps *m);
/* Nobody has any of the numbers any more. */
void jit_maps__restart(struct jit_maps *m);

#endif /* EXTPROF_JIT_MAPS_H */
