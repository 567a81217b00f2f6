/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/name_retention.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int all(ssize_t n, size_t length)
{
	return n < 0 ? -errno : (size_t)n == length ? 0 : -ESTALE;
}

/* The open file belongs to the memory of one program: after an exec the write fails and
 * changes nothing. */
int name_retention__ask(int mem, const struct layout *l)
{
	const struct rb_debug_ext_section *s = &l->section;
	uint8_t head[offsetof(struct rb_debug_ext_section, state)];
	struct timespec now;
	uint64_t until;
	int err;

	err = all(pread(mem, head, sizeof(head), (off_t)l->address), sizeof(head));
	if (!err && memcmp(head, s, sizeof(head)))
		err = -ESTALE;
	if (err)
		return err;
	/* Half of what the VM honours: its clock may be behind. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = (uint64_t)now.tv_sec + (s->grace_seconds > 1 ? s->grace_seconds / 2 : 1);
	return all(pwrite(mem, &until, sizeof(until),
			  (off_t)(l->address + offsetof(struct rb_debug_ext_section, grace_until))),
		   sizeof(until));
}
