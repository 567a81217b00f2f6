/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a process that an input describes: zeroes, and patches that come one after the other, each a struct
 * memory_patch and so many bytes behind it.  So a small input has its say about all of the memory, also while it is read.
 */
#ifndef MEMORY_IMAGE_H
#define MEMORY_IMAGE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "process/memory.h"

#define IMAGE_BASE 0x10000u		/* its address, and that of the section */
#define IMAGE_SIZE (192u << 10)

struct memory_patch {
	uint32_t at;		/* distance from the base */
	uint16_t length;
	uint16_t after;		/* it is there from the read on that comes after so many */
};

struct memory_image {
	struct memory memory;
	const uint8_t *data;
	size_t size;
	uint32_t reads;
	bool changes;		/* some patches are still to come */
	uint8_t bytes[IMAGE_SIZE];
};

/* Patches of that number of reads; all those before if `whole`. */
static inline void memory_image__patch(struct memory_image *m, bool whole)
{
	size_t at = 0;

	if (whole)
		memset(m->bytes, 0, sizeof(m->bytes));
	else if (!m->changes)
		return;
	m->changes = false;
	while (m->size - at >= sizeof(struct memory_patch)) {
		struct memory_patch p;
		size_t length;

		memcpy(&p, m->data + at, sizeof(p));
		at += sizeof(p);
		length = p.length < m->size - at ? p.length : m->size - at;
		m->changes |= p.after > m->reads;
		if ((whole ? p.after <= m->reads : p.after == m->reads) && p.at < IMAGE_SIZE)
			memcpy(m->bytes + p.at, m->data + at, length < IMAGE_SIZE - p.at ? length : IMAGE_SIZE - p.at);
		at += length;
	}
}

static int memory_image__read(const struct memory *memory, uint64_t address, void *to, size_t length)
{
	struct memory_image *m = (struct memory_image *)(uintptr_t)memory->context;

	m->reads++;
	memory_image__patch(m, false);
	if (address < IMAGE_BASE || address - IMAGE_BASE > IMAGE_SIZE || length > IMAGE_SIZE - (address - IMAGE_BASE))
		return -EFAULT;
	memcpy(to, m->bytes + (address - IMAGE_BASE), length);
	return 0;
}

static inline void memory_image__init(struct memory_image *m, const uint8_t *data, size_t size)
{
	m->memory.read = memory_image__read;
	m->memory.context = m;
	m->data = data;
	m->size = size;
	m->reads = 0;
	memory_image__patch(m, true);
}

#endif /* MEMORY_IMAGE_H */
