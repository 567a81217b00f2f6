/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/signals.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"

/* A signal that is blocked and read would not be ignored any more. */
static void add(sigset_t *set, int number)
{
	struct sigaction action;

	if (!sigaction(number, NULL, &action) && action.sa_handler != SIG_IGN)
		sigaddset(set, number);
}

void signals__init(struct signals *s)
{
	memset(s, 0, sizeof(*s));
	s->interrupt_fd = s->request_fd = -1;
}

int signals__open(struct signals *s, struct extprof_error *e)
{
	signals__init(s);
	sigprocmask(SIG_SETMASK, NULL, &s->old_mask);
	sigemptyset(&s->interrupts);
	add(&s->interrupts, SIGINT);
	add(&s->interrupts, SIGTERM);
	add(&s->interrupts, SIGHUP);
	sigemptyset(&s->requests);
	add(&s->requests, SIGUSR1);
	add(&s->requests, SIGUSR2);
	s->interrupt_fd = signalfd(-1, &s->interrupts, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->interrupt_fd >= 0)
		s->request_fd = signalfd(-1, &s->requests, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->request_fd < 0)
		return message__set(e, EXTPROF_INTERNAL, errno, "cannot wait for signals: %s",
				 strerror(errno));
	sigprocmask(SIG_BLOCK, &s->requests, NULL);
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
	/* A signal that came when all was over must not end us now. */
	while (s->blocked && signals__next(s->interrupt_fd, &info))
		;
	while (s->request_fd >= 0 && signals__next(s->request_fd, &info))
		;
	close(s->interrupt_fd);
	if (s->request_fd >= 0)
		close(s->request_fd);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	signals__init(s);
}
