/* SPDX-License-Identifier: BSD-2-Clause */
/* Hash map from 64 bit keys to 32 bit values.  It grows.  Single keys cannot be removed. */
#ifndef EXTPROF_MAP64_H
#define EXTPROF_MAP64_H

#include <stdint.h>

#define MAP64_NONE UINT32_MAX

struct map64 {
	struct map64_slot {
		uint64_t key;
		uint32_t value;		/* MAP64_NONE: the slot is free */
	} *slots;
	uint32_t mask;			/* number of slots - 1 */
	uint32_t count;
};

void map64__free(struct map64 *m);

/* Forget all keys and keep the memory: as many keys can be added again without -ENOMEM. */
void map64__clear(struct map64 *m);

/* The value of the key, or MAP64_NONE. */
uint32_t map64__get(const struct map64 *m, uint64_t key);

/* Add a key that is not in the map.  0 or -ENOMEM. */
int map64__add(struct map64 *m, uint64_t key, uint32_t value);

uint64_t hash__mix(uint64_t h);
uint64_t hash__bytes(const void *data, uint64_t length, uint64_t seed);

#endif /* EXTPROF_MAP64_H */
