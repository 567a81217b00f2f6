/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/signals.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int signals__open(struct signals *s, struct diag *d)
{
	memset(s, 0, sizeof(*s));
	sigprocmask(SIG_SETMASK, NULL, &s->old_mask);
	sigemptyset(&s->interrupts);
	sigaddset(&s->interrupts, SIGINT);
	sigaddset(&s->interrupts, SIGTERM);
	sigaddset(&s->interrupts, SIGHUP);
	s->interrupt_fd = signalfd(-1, &s->interrupts, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->interrupt_fd < 0)
		return diag__set(d, DIAG_INTERNAL, errno, "cannot wait for signals: %s",
				 strerror(errno));
	return 0;
}

void signals__block(struct signals *s)
{
	sigprocmask(SIG_BLOCK, &s->interrupts, NULL);
	s->blocked = true;
}

bool signals__next(int fd, struct signalfd_siginfo *info)
{
	return read(fd, info, sizeof(*info)) == sizeof(*info);
}

void signals__close(struct signals *s)
{
	struct signalfd_siginfo info;

	if (s->interrupt_fd < 0)
		return;
	/* What came when all was over must not end us now. */
	while (s->blocked && signals__next(s->interrupt_fd, &info))
		;
	close(s->interrupt_fd);
	s->interrupt_fd = -1;
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}
