/* SPDX-License-Identifier: BSD-2-Clause */
/* struct memory on our own address space, with faults at will. */
#ifndef MEMORY_FAKE_H
#define MEMORY_FAKE_H

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/memory.h"

struct memory_fake {
	struct memory memory;
	int reads;
	uint64_t bytes;
	int fail_at;		/* this read fails, counted from 1; 0: none */
	int error;		/* with this, default -EFAULT */
	uint64_t from, to;	/* reads in here fail; 0: none */
	void (*before)(int read);	/* called with the number of the read */
};

static int memory_fake__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	struct memory_fake *f = (struct memory_fake *)(uintptr_t)m->context;
	struct iovec local = { .iov_base = to, .iov_len = length };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = length };
	ssize_t n;

	f->reads++;
	f->bytes += length;
	if (f->before)
		f->before(f->reads);
	if (f->reads == f->fail_at)
		return f->error ? f->error : -EFAULT;
	if (f->to && address < f->to && address + length > f->from)
		return f->error ? f->error : -EFAULT;
	if (!length)
		return 0;
	/* It survives any address, as the real one does. */
	n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	return n == (ssize_t)length ? 0 : -EFAULT;
}

static inline void memory_fake__init(struct memory_fake *f)
{
	memset(f, 0, sizeof(*f));
	f->memory.read = memory_fake__read;
	f->memory.context = f;
}

#endif /* MEMORY_FAKE_H */
