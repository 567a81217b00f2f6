/* SPDX-License-Identifier: BSD-2-Clause */
/* The signals that extprof handles while it records. */
#ifndef EXTPROF_SIGNALS_H
#define EXTPROF_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

#include "extprof.h"

struct signals {
	int interrupt_fd;	/* SIGINT, SIGTERM, SIGHUP: they end a recording */
	int request_fd;		/* SIGUSR1: write the profile so far; SIGUSR2: pause or go on */
	sigset_t interrupts, requests;
	sigset_t old_mask;	/* as extprof was started with */
	bool blocked;
};

void signals__init(struct signals *s);
/*
 * Those that extprof was started to ignore stay ignored: nohup, and what a shell without job control
 * starts in the background.  An interrupt still ends extprof, as it ends any program, until
 * signals__block(); a request waits from now on.
 */
int signals__open(struct signals *s, struct extprof_error *e);
/* From now on interrupts wait in interrupt_fd. */
void signals__block(struct signals *s);
/* The next signal that waits in the fd; false: there is none. */
bool signals__next(int fd, struct signalfd_siginfo *info);
/* Undo it all.  Signals that still wait are dropped. */
void signals__close(struct signals *s);

#endif /* EXTPROF_SIGNALS_H */
