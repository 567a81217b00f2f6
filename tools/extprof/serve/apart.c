/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks into recordings in a process that can be given up. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/calls.h"
#include "serve/making.h"
#include "serve/server.h"

/* No other exit status of the process. */
#define UNCONFINED 255

static _Noreturn void work_apart(int (*work)(void *context), void *context, const sigset_t *mask)
{
	const struct rlimit memory = { MAKING_MEMORY, MAKING_MEMORY }, none = { 0, 0 };

	sigprocmask(SIG_SETMASK, mask, NULL);
	/* It has no terminal. */
	setsid();
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CORE, &none);
	_exit(confine__calls(CONFINE_MAY_OPEN) ? UNCONFINED : work(context));
}

/* How the process has ended; `interrupted`: it was to. */
static int end(pid_t pid, int interrupted)
{
	int status = 0;
	pid_t waited;

	if (interrupted)
		kill(pid, SIGKILL);
	while ((waited = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (interrupted)
		return interrupted;
	if (waited != pid || !WIFEXITED(status))
		return -EBADMSG;
	return WEXITSTATUS(status) == UNCONFINED ? -ENOSYS : WEXITSTATUS(status);
}

int serve_apart(int (*work)(void *context), void *context, const sigset_t *mask, int interrupt_fd)
{
	struct pollfd waits[2] = { { .events = POLLIN }, { .fd = interrupt_fd, .events = POLLIN } };
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			work_apart(work, context, mask);
		_exit(UNCONFINED);
	}
	if (pid < 0)
		return -errno;
	waits[0].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (waits[0].fd < 0)
		return end(pid, -errno);
	while (poll(waits, 2, -1) < 0 && errno == EINTR)
		;
	close(waits[0].fd);
	return end(pid, waits[1].revents ? -EINTR : 0);
}
