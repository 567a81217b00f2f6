/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/maker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_file.h"
#include "parser/copy.h"
#include "parser/helper_message.h"
#include "parser/sandbox.h"

/* ms.  It has nothing to wait for but a CPU, and memory. */
#define TIMEOUT 2000
/* So many times as long, if it is seen to wait for these. */
#define PATIENCE 10
/* Makers that were killed and have not ended yet. */
#define ENDING_MAX 8

struct order {
	maker_serve serve;
	const void *role;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int to_maker = -1, maker_pidfd = -1;
static pid_t maker_pid;
static int ending[ENDING_MAX];		/* their pidfds */
static uint32_t ending_count;

/* -- in the maker ----------------------------------------------------------------------------- */

static void __attribute__((noreturn)) make_helpers(int socket)
{
	copy__begin(socket, "extprof-helpers");
	for (;;) {
		int32_t none;
		int fd, pidfd = -1;
		struct order order;
		pid_t pid;

		if (helper_message__receive(socket, &none, &order, sizeof(order), &fd) != (ssize_t)sizeof(order) || fd < 0)
			break;
		pid = copy__make_for_parent(&pidfd);
		if (!pid)
			order.serve(order.role, fd);
		pid = pid < 0 ? -errno : pid;
		/* Before the program knows of the helper: the end of the helper is the end of its socket. */
		close(fd);
		if (helper_message__send(socket, pid, NULL, 0, pid < 0 ? -1 : pidfd))
			break;
		if (pid > 0)
			close(pidfd);
	}
	syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

/* -- in the program --------------------------------------------------------------------------- */

static bool has_ended(int pidfd)
{
	siginfo_t info = { 0 };

	return waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | __WALL) || info.si_pid;
}

/* Wait for those that have ended. */
static void reap(void)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < ending_count; i++) {
		if (has_ended(ending[i]))
			close(ending[i]);
		else
			ending[left++] = ending[i];
	}
	ending_count = left;
}

static void end(void)
{
	struct pollfd p = { .fd = maker_pidfd, .events = POLLIN };

	reap();
	if (maker_pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, maker_pidfd, SIGKILL, NULL, 0);
	close(to_maker);
	poll(&p, 1, TIMEOUT);
	if (!has_ended(maker_pidfd) && ending_count < ENDING_MAX)
		ending[ending_count++] = maker_pidfd;
	else
		close(maker_pidfd);
	to_maker = maker_pidfd = -1;
}

static int begin(void)
{
	int pair[2];
	pid_t pid;

	if (to_maker >= 0)
		return 0;
	/* Helpers have what it makes only if it is made now.  Who needs it asks for the error. */
	sandbox__prepare();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = copy__make(&maker_pidfd);
	if (!pid)
		make_helpers(pair[1]);
	close(pair[1]);
	if (pid > 0) {
		to_maker = pair[0];
		maker_pid = pid;
		return 0;
	}
	pid = -errno;
	close(pair[0]);
	maker_pidfd = -1;
	return pid;
}

/* The next maker would be a copy of a process that has grown.  So this one is given time while it runs, or waits for a CPU or memory. */
static bool answers(void)
{
	struct pollfd p = { .fd = to_maker, .events = POLLIN };
	struct proc_stat stat;

	for (int i = 0; i < PATIENCE; i++) {
		if (poll(&p, 1, TIMEOUT) == 1)
			return true;
		if (proc_stat__read(&stat, maker_pid, 0) || (stat.state != 'R' && stat.state != 'D'))
			break;
	}
	return poll(&p, 1, 0) == 1;
}

/* -EIO: the maker has ended, or does not answer. */
static int ask(maker_serve serve, const void *role, int socket, pid_t *pid, int *pidfd)
{
	const struct order order = { .serve = serve, .role = role };
	int32_t result = 0;
	int err;

	reap();
	err = begin();
	if (err)
		return err;
	if (helper_message__send(to_maker, 0, &order, sizeof(order), socket) || !answers() ||
	    helper_message__receive(to_maker, &result, NULL, 0, pidfd) || (result > 0 && *pidfd < 0)) {
		end();
		return -EIO;
	}
	*pid = result;
	return result < 0 ? result : 0;
}

int maker__make(maker_serve serve, const void *role, int socket, pid_t *pid, int *pidfd)
{
	int err;

	pthread_mutex_lock(&lock);
	err = ask(serve, role, socket, pid, pidfd);
	if (err == -EIO)
		err = ask(serve, role, socket, pid, pidfd);
	pthread_mutex_unlock(&lock);
	return err;
}

void maker__begin(void)
{
	pthread_mutex_lock(&lock);
	begin();
	pthread_mutex_unlock(&lock);
}

void maker__end(void)
{
	pthread_mutex_lock(&lock);
	end();
	pthread_mutex_unlock(&lock);
}

void maker__forget(void)
{
	/* Another thread of the parent may have held it. */
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	if (maker_pidfd >= 0) {
		close(maker_pidfd);
		close(to_maker);
	}
	for (uint32_t i = 0; i < ending_count; i++)
		close(ending[i]);
	ending_count = 0;
	to_maker = maker_pidfd = -1;
}
