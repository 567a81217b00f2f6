/* SPDX-License-Identifier: BSD-2-Clause */
/* Running the command that is to be profiled. */
#ifndef EXTPROF_SPAWN_H
#define EXTPROF_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "extprof.h"

struct spawn {
	pid_t pid;		/* 0: none */
	int pidfd;		/* readable once it has ended; -1: unknown to the kernel */
	int go;			/* pipe: one byte starts it */
	int result;		/* pipe: errno of a failed exec, or its end */
	bool reaped;
	int wait_status;	/* as of waitpid, once reaped */
};

/* Before anything else. */
void spawn__init(struct spawn *s);
/*
 * Fork a process that waits.  Under sudo it will run as the user who called
 * sudo, unless `keep_root`: a profiler needs root, the profiled does not.
 * Its mask of blocked signals will be *mask.
 */
int spawn__prepare(struct spawn *s, char **command, bool keep_root, const sigset_t *mask,
		   struct extprof_error *e);
/* Let it execute the command. */
int spawn__go(struct spawn *s, char **command, struct extprof_error *e);

/* It has ended.  It is not waited for, so that its pid stays its own. */
bool spawn__is_over(const struct spawn *s);
/* True once it has ended and has been waited for; waits for that if `block`. */
bool spawn__ended(struct spawn *s, bool block);

/* Wait for its end, and hand on to it what comes as signals in the signalfd. */
void spawn__wait(struct spawn *s, int signal_fd);
/* Hand on a signal, unless the terminal has sent it: that one went to both. */
void spawn__forward(const struct spawn *s, const struct signalfd_siginfo *info);

/* Its exit status as a shell shows it: 128 + number for a signal. */
int spawn__exit_status(const struct spawn *s);

/* Close all of it.  End a command that has not been started; one that runs is left alone. */
void spawn__close(struct spawn *s);

#endif /* EXTPROF_SPAWN_H */
