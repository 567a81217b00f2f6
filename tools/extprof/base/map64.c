/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/map64.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/*
 * Keys come from the target, which must not be able to make them collide.  The
 * kernel gives each process 16 random bytes.  They are the same for each thread
 * that asks, so that it does not matter which one stores the value.
 */
static uint64_t secret(void)
{
	static _Atomic uint64_t value;
	uint64_t v = atomic_load_explicit(&value, memory_order_relaxed);
	const void *random;

	if (v)
		return v;
	random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&v, random, sizeof(v));
	v |= 1;
	atomic_store_explicit(&value, v, memory_order_relaxed);
	return v;
}

uint64_t hash__mix(uint64_t h)
{
	h ^= secret();
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

uint64_t hash__bytes(const void *data, uint64_t length, uint64_t seed)
{
	const uint8_t *s = data;
	uint64_t h = seed ^ length, word;

	for (; length >= 8; s += 8, length -= 8) {
		memcpy(&word, s, 8);
		h = hash__mix(h ^ word) + 0x9e3779b97f4a7c15ull;
	}
	word = 0;
	if (length)
		memcpy(&word, s, length);
	return hash__mix(h ^ word);
}

void map64__free(struct map64 *m)
{
	if (!m)
		return;
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

void map64__clear(struct map64 *m)
{
	for (uint32_t i = 0; m->slots && i <= m->mask; i++)
		m->slots[i].value = MAP64_NONE;
	m->count = 0;
}

static struct map64_slot *find(const struct map64 *m, uint64_t key)
{
	uint32_t i = (uint32_t)hash__mix(key) & m->mask;

	while (m->slots[i].value != MAP64_NONE && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return &m->slots[i];
}

uint32_t map64__get(const struct map64 *m, uint64_t key)
{
	return m->slots ? find(m, key)->value : MAP64_NONE;
}

static int grow(struct map64 *m)
{
	uint32_t size = m->slots ? (m->mask + 1) * 2 : 64;
	struct map64 bigger = { .mask = size - 1, .count = m->count };

	if (size > 1u << 30)
		return -ENOMEM;
	bigger.slots = malloc((size_t)size * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < size; i++)
		bigger.slots[i] = (struct map64_slot){ .value = MAP64_NONE };
	for (uint32_t i = 0; m->slots && i <= m->mask; i++)
		if (m->slots[i].value != MAP64_NONE)
			*find(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int map64__add(struct map64 *m, uint64_t key, uint32_t value)
{
	struct map64_slot *slot;

	if (!m->slots || m->count >= (m->mask + 1) / 4 * 3) {
		int err = grow(m);

		if (err)
			return err;
	}
	slot = find(m, key);
	slot->key = key;
	slot->value = value;
	m->count++;
	return 0;
}
