/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading another address space; tests put their own behind it. */
#ifndef EXTPROF_MEMORY_H
#define EXTPROF_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct memory {
	/* All of it, or a negative errno: -EFAULT not mapped, -ESRCH process
	 * gone, -EPERM, -EINTR no time for it. */
	int (*read)(const struct memory *m, uint64_t address, void *to, size_t length);
	const void *context;
};

static inline int memory__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	return m->read(m, address, to, length);
}

#endif /* EXTPROF_MEMORY_H */
