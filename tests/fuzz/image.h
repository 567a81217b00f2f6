/* SPDX-License-Identifier: BSD-2-Clause */
/* A file as it is mapped into a process. */
#ifndef IMAGE_H
#define IMAGE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "process/memory.h"

struct image {
	struct memory memory;
	uint64_t base;		/* where it is mapped */
	const uint8_t *data;
	size_t size;
};

static int image__read(const struct memory *memory, uint64_t address, void *to, size_t length)
{
	const struct image *i = memory->context;

	if (address < i->base || address - i->base > i->size || length > i->size - (address - i->base))
		return -EFAULT;
	memcpy(to, i->data + (address - i->base), length);
	return 0;
}

/* It stays where it is. */
static inline void image__init(struct image *i, uint64_t base, const uint8_t *data, size_t size)
{
	*i = (struct image){ .memory = { .read = image__read, .context = i }, .base = base, .data = data, .size = size };
}

#endif /* IMAGE_H */
