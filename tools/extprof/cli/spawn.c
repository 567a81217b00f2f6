/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/environment.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/sudo.h"

/* Become the user who called sudo, in the child. 0 or an errno. */
static int drop_root(void)
{
	struct sudo sudo;
	int found;

	/* Installed with file capabilities or set-uid: nothing to pass on. */
	if (geteuid() != getuid() && setresuid(getuid(), getuid(), getuid()))
		return errno;
	found = sudo__user(&sudo);
	if (found <= 0)
		return -found;
	if (setgroups((size_t)sudo.user.group_count, sudo.groups) ||
	    setresgid(sudo.user.gid, sudo.user.gid, sudo.user.gid) ||
	    setresuid(sudo.user.uid, sudo.user.uid, sudo.user.uid))
		return errno;
	if (sudo.name) {
		setenv("HOME", sudo.home, 1);
		setenv("USER", sudo.name, 1);
		setenv("LOGNAME", sudo.name, 1);
	}
	return 0;
}

static void run_child(int go, int result, char **command, bool keep_root,
		      const sigset_t *mask)
{
	char byte;
	int err;

	sigprocmask(SIG_SETMASK, mask, NULL);
	if (read(go, &byte, 1) != 1)
		_exit(STATUS_COMMAND);	/* extprof has given up */
	environ = environment__of_command;
	environment__restore_limit();
	err = keep_root ? 0 : drop_root();
	if (!err) {
		execvp(command[0], command);
		err = errno;
	}
	/* Both ends are closed by a successful exec. */
	if (write(result, &err, sizeof(err)) < 0)
		_exit(STATUS_COMMAND);
	_exit(STATUS_COMMAND);
}

void spawn__init(struct spawn *s)
{
	memset(s, 0, sizeof(*s));
	s->go = s->result = s->pidfd = -1;
}

int spawn__prepare(struct spawn *s, char **command, bool keep_root, const sigset_t *mask,
		   struct extprof_error *e)
{
	int go[2] = { -1, -1 }, result[2] = { -1, -1 };
	int err;

	spawn__init(s);
	if (pipe2(go, O_CLOEXEC) || pipe2(result, O_CLOEXEC)) {
		err = message__set(e, EXTPROF_INTERNAL, errno, "cannot make a pipe: %s",
				strerror(errno));
		goto cleanup;
	}
	s->pid = fork();
	if (s->pid < 0) {
		s->pid = 0;
		err = message__set(e, EXTPROF_INTERNAL, errno, "cannot fork: %s", strerror(errno));
		goto cleanup;
	}
	if (s->pid == 0) {
		close(go[1]);
		close(result[0]);
		run_child(go[0], result[1], command, keep_root, mask);
	}
	/* Not waited for yet: the pid is its own. */
	s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	s->go = go[1];
	s->result = result[0];
	go[1] = result[0] = -1;
	err = 0;
cleanup:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (result[i] >= 0)
			close(result[i]);
	}
	return err;
}

int spawn__go(struct spawn *s, char **command, struct extprof_error *e)
{
	int child_errno = 0;
	void (*old)(int);
	ssize_t n;

	/* A signal from the terminal is for it too, and ends it where it waits. */
	old = signal(SIGPIPE, SIG_IGN);
	n = write(s->go, "", 1);
	signal(SIGPIPE, old);
	if (n != 1) {
		if (errno == EPIPE && spawn__ended(s, true))
			return message__set(e, EXTPROF_COMMAND, EINTR, "%s was ended before it began",
					 command[0]);
		return message__set(e, EXTPROF_INTERNAL, errno, "cannot start the command");
	}
	close(s->go);
	s->go = -1;
	do {
		n = read(s->result, &child_errno, sizeof(child_errno));
	} while (n < 0 && errno == EINTR);
	close(s->result);
	s->result = -1;
	if (n != sizeof(child_errno))
		return 0;
	spawn__ended(s, true);
	message__set(e, EXTPROF_COMMAND, child_errno, "cannot run %s: %s", command[0],
		  strerror(child_errno));
	return -child_errno;
}

bool spawn__is_over(const struct spawn *s)
{
	siginfo_t info = { .si_pid = 0 };

	if (s->reaped)
		return true;
	/* The library traces it while it starts, and its stops are told here too.  They are not for us. */
	if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WNOTHREAD))
		return errno == ECHILD;
	return info.si_pid &&
	       (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

static void wait_for_end(int pidfd)
{
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
}

bool spawn__ended(struct spawn *s, bool block)
{
	pid_t pid;

	if (!s->pid || s->reaped)
		return true;
	if (block && s->pidfd >= 0)
		wait_for_end(s->pidfd);
	else if (!block && !spawn__is_over(s))
		return false;
	do {
		pid = waitpid(s->pid, &s->wait_status, __WNOTHREAD | (block ? 0 : WNOHANG));
	} while (pid < 0 && errno == EINTR);
	s->reaped = pid != 0;
	return s->reaped;
}

void spawn__forward(const struct spawn *s, const struct signalfd_siginfo *info)
{
	if (info->ssi_code != SI_KERNEL && !s->reaped)
		kill(s->pid, (int)info->ssi_signo);
}

void spawn__wait(struct spawn *s, int signal_fd)
{
	struct pollfd fds[] = {
		{ .fd = signal_fd, .events = POLLIN },
		{ .fd = s->pidfd, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	while (!spawn__ended(s, s->pidfd < 0)) {
		poll(fds, 2, -1);
		while (signals__next(signal_fd, &info))
			spawn__forward(s, &info);
	}
}

int spawn__exit_status(const struct spawn *s)
{
	if (WIFSIGNALED(s->wait_status))
		return 128 + WTERMSIG(s->wait_status);
	return WEXITSTATUS(s->wait_status);
}

void spawn__close(struct spawn *s)
{
	if (s->go >= 0) {
		/* It reads the end of the pipe and exits. */
		close(s->go);
		s->go = -1;
		spawn__ended(s, true);
	}
	if (s->result >= 0) {
		close(s->result);
		s->result = -1;
	}
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->pidfd = -1;
}
