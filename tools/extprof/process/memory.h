/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads of another address space.  Tests supply a read function of their own. */
#ifndef EXTPROF_MEMORY_H
#define EXTPROF_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct memory {
	/* 0: all `length` bytes were read.  Or a negative errno: -EFAULT not mapped, -ESRCH the
	 * process is gone, -EPERM, -EINTR the deadline is over. */
	int (*read)(const struct memory *m, uint64_t address, void *to, size_t length);
	const void *context;
};

static inline int memory__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	return m->read(m, address, to, length);
}

#endif /* EXTPROF_MEMORY_H */
