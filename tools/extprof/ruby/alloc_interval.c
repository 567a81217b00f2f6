/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/alloc_interval.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static int all(ssize_t n, size_t length)
{
	return n < 0 ? -errno : (size_t)n == length ? 0 : -ESTALE;
}

/* The open file belongs to the memory of one program: after an exec nothing can be read or written. */
static int read_interval(int mem, const struct layout *l, uint64_t *interval)
{
	uint8_t head[offsetof(struct rb_debug_ext_section, state)];
	int err = all(pread(mem, head, sizeof(head), (off_t)l->address), sizeof(head));

	if (!err && memcmp(head, &l->section, sizeof(head)))
		err = -ESTALE;
	if (err)
		return err;
	return all(pread(mem, interval, sizeof(*interval),
			 (off_t)(l->address + offsetof(struct rb_debug_ext_section, alloc_interval))),
		   sizeof(*interval));
}

static int write_interval(int mem, const struct layout *l, uint64_t interval)
{
	return all(pwrite(mem, &interval, sizeof(interval),
			  (off_t)(l->address + offsetof(struct rb_debug_ext_section, alloc_interval))),
		   sizeof(interval));
}

int alloc_interval__set(int mem, const struct layout *l, uint64_t bytes, uint64_t *before)
{
	int err = read_interval(mem, l, before);

	if (err || *before == bytes)
		return err;
	return write_interval(mem, l, bytes);
}

int alloc_interval__restore(int mem, const struct layout *l, uint64_t bytes, uint64_t before)
{
	uint64_t now;
	int err = read_interval(mem, l, &now);

	return err || now != bytes || now == before ? err : write_interval(mem, l, before);
}
