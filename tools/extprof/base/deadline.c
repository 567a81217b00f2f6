/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/deadline.h"

#include <poll.h>
#include <time.h>

/* ns between two looks at the fd: each look is a system call. */
#define LOOK_INTERVAL 5000000ull

uint64_t deadline__now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t deadline__cpu_time(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

void deadline__start(struct deadline *p, int fd, uint64_t until)
{
	p->fd = fd;
	p->until = until;
	p->looked = 0;
	p->over = false;
}

bool deadline__over(struct deadline *p)
{
	struct pollfd poll_fd = { .fd = p->fd, .events = POLLIN };
	uint64_t now;

	if (p->over)
		return true;
	now = deadline__now();
	if (now >= p->until) {
		p->over = true;
	} else if (p->fd >= 0 && now - p->looked >= LOOK_INTERVAL) {
		p->looked = now;
		p->over = poll(&poll_fd, 1, 0) == 1;
	}
	return p->over;
}
