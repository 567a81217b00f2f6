/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/copy.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Closed one by one, if the kernel does not close them all at once. */
#define DESCRIPTORS_MAX 65536

pid_t copy__make(int *pidfd)
{
	return (pid_t)syscall(SYS_clone, CLONE_PIDFD, NULL, pidfd, NULL, 0);
}

pid_t copy__make_for_parent(int *pidfd)
{
	return (pid_t)syscall(SYS_clone, CLONE_PIDFD | CLONE_PARENT, NULL, pidfd, NULL, 0);
}

static void close_all_but(int fd)
{
	/* Also those of the terminal and of pipes: who reads from a pipe waits until all have closed it. */
	if (!syscall(SYS_close_range, fd + 1, ~0u, 0)) {
		if (fd)
			syscall(SYS_close_range, 0, fd - 1, 0);
		return;
	}
	/* Before Linux 5.9. */
	for (int i = 0; i < DESCRIPTORS_MAX; i++)
		if (i != fd)
			close(i);
}

void copy__begin(int socket, const char *name)
{
	sigset_t all;

	/* Signals from a terminal are for the program.  It kills the copy, or ends and closes the socket.  The signal of
	 * too much CPU time ends the copy, and calls nothing. */
	signal(SIGXCPU, SIG_DFL);
	sigfillset(&all);
	sigdelset(&all, SIGXCPU);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, _NSIG / 8);
	close_all_but(socket);
	prctl(PR_SET_NAME, name);
}
