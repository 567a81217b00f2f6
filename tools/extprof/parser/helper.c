/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/helper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_file.h"
#include "parser/copy.h"
#include "parser/helper_message.h"
#include "parser/maker.h"

/* Helpers of a role that wait for work: as many as there are threads that search. */
#define IDLE_MAX 8u
/* ns.  One that has waited for so long ends, but the last one of its role. */
#define REST_TIME 5000000000ull
/* A helper of a patient role that lacks a CPU for so many times its timeout hangs. */
#define PATIENCE 20u
#define NOBODY UINT64_MAX
/* ms: one that waits for work ends at once, unless the machine is very busy. */
#define END_TIMEOUT 1000

struct helper {
	struct helper *next;
	const struct helper_role *role;
	int socket, pidfd;
	pid_t pid;
	uint64_t owner;		/* of its last request */
	uint64_t since;		/* it waits for work */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct helper *idle, *ended;	/* ended: to be waited for */
static uint32_t users;			/* of helpers__hold() */
static pid_t process;			/* all of these are of this one: a forked copy of it has helpers of its own */

/* -- in the helper ---------------------------------------------------------------------------- */

static size_t answer_size(const struct helper_role *role, int32_t result)
{
	if (!role->short_answers)
		return role->answer_size;
	return result < 0 ? 0 : (size_t)result < role->answer_size ? (size_t)result : role->answer_size;
}

static void __attribute__((noreturn)) serve(const void *of, int socket)
{
	static char request[HELPER_REQUEST_MAX], answer[HELPER_ANSWER_MAX];
	const struct helper_role *role = of;
	int err;

	copy__begin(socket, role->name);
	err = role->begin();
	for (;;) {
		int32_t result;
		int got, fd;
		ssize_t n = helper_message__receive(socket, &result, request, sizeof(request), &got);

		if (n < 0)
			break;
		fd = got;
		if (!role->short_answers)
			memset(answer, 0, role->answer_size);
		result = err ? err : role->work(request, (size_t)n, &fd, answer);
		if (helper_message__send(socket, result, answer, answer_size(role, result), fd == got ? -1 : fd))
			break;
		if (got >= 0)
			close(got);
		if (fd >= 0 && fd != got)
			close(fd);
	}
	syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

/* -- in the program --------------------------------------------------------------------------- */

static struct helper *start(const struct helper_role *role, int *err)
{
	struct helper *h = calloc(1, sizeof(*h));
	int pair[2] = { -1, -1 };

	*err = -ENOMEM;
	if (!h)
		return NULL;
	*h = (struct helper){ .role = role, .socket = -1, .pidfd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		*err = -errno;
		goto failed;
	}
	*err = maker__make(serve, role, pair[1], &h->pid, &h->pidfd);
	if (*err)
		goto failed;
	close(pair[1]);
	h->socket = pair[0];
	return h;
failed:
	if (pair[0] >= 0) {
		close(pair[0]);
		close(pair[1]);
	}
	free(h);
	return NULL;
}

/* Wait for those that have ended.  The lock is held. */
static uint32_t reap(uint64_t owner, uint32_t *of_owner)
{
	uint32_t left = 0;

	*of_owner = 0;
	for (struct helper **at = &ended, *h; (h = *at);) {
		siginfo_t info = { 0 };

		if (!waitid(P_PIDFD, (id_t)h->pidfd, &info, WEXITED | WNOHANG | __WALL) && !info.si_pid) {
			left++;
			*of_owner += h->owner == owner;
			at = &h->next;
			continue;
		}
		*at = h->next;
		close(h->pidfd);
		free(h);
	}
	return left;
}

/* A copy of this process by fork() has the memory and the files, and not the helpers.  The lock is held. */
static void forget_those_of_parent(void)
{
	struct helper *lists[] = { idle, ended };

	if (process == getpid())
		return;
	maker__forget();
	for (int i = 0; i < 2; i++) {
		for (struct helper *h = lists[i], *next; h; h = next) {
			next = h->next;
			close(h->pidfd);
			if (h->socket >= 0)
				close(h->socket);
			free(h);
		}
	}
	idle = ended = NULL;
	process = getpid();
}

static struct helper *take(const struct helper_role *role, uint64_t owner, int *err)
{
	struct helper **at, *h;
	uint32_t of_owner, lost;

	pthread_mutex_lock(&lock);
	forget_those_of_parent();
	lost = reap(owner, &of_owner);
	for (at = &idle; (h = *at) && h->role != role; at = &h->next)
		;
	if (h)
		*at = h->next;
	if (lost >= HELPERS_LOST_MAX || of_owner >= HELPERS_LOST_OF_OWNER_MAX) {
		if (h) {
			h->next = idle;
			idle = h;
		}
		pthread_mutex_unlock(&lock);
		*err = -EBUSY;
		return NULL;
	}
	pthread_mutex_unlock(&lock);
	if (!h)
		h = start(role, err);
	if (h)
		h->owner = owner;
	return h;
}

/* Of those that wait.  The lock is held. */
static uint32_t idle_of(const struct helper_role *role)
{
	uint32_t count = 0;

	for (const struct helper *h = idle; h; h = h->next)
		count += h->role == role;
	return count;
}

/* Have it ended.  The lock is held. */
static void give_up(struct helper *h)
{
	syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
	close(h->socket);
	h->socket = -1;
	h->next = ended;
	ended = h;
}

/* End those that have waited long, but the newest one of each role.  The newest come first in the list.  The lock is held. */
static void end_rested(uint64_t now)
{
	for (struct helper **at = &idle, *h; (h = *at);) {
		const struct helper *same = idle;

		while (same != h && same->role != h->role)
			same = same->next;
		if (same == h || now < h->since + REST_TIME) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		h->owner = NOBODY;
		give_up(h);
	}
}

/* Put it back, or have it ended. */
static void give_back(struct helper *h, bool usable)
{
	pthread_mutex_lock(&lock);
	if (usable && idle_of(h->role) >= IDLE_MAX) {
		usable = false;
		h->owner = NOBODY;
	}
	if (usable) {
		h->since = deadline__now();
		h->next = idle;
		idle = h;
	} else {
		give_up(h);
	}
	pthread_mutex_unlock(&lock);
}

void helpers__rest(uint64_t now)
{
	uint32_t of_owner;

	pthread_mutex_lock(&lock);
	forget_those_of_parent();
	end_rested(now);
	reap(NOBODY, &of_owner);
	pthread_mutex_unlock(&lock);
}

/* Is it not waiting for anything but a CPU? */
static bool lacks_cpu(const struct helper *h)
{
	struct proc_stat stat;

	return h->role->patient && !proc_stat__read(&stat, h->pid, 0) && stat.state == 'R';
}

/* 0 when there is an answer, or the other end is closed. */
static int wait_for_answer(const struct helper *h, const struct helper_request *r)
{
	uint64_t began = deadline__now(), until = began + r->timeout, now;
	struct pollfd fds[2] = {
		{ .fd = h->socket, .events = POLLIN },
		{ .fd = r->deadline ? r->deadline->fd : -1, .events = POLLIN },
	};

	for (;;) {
		uint64_t end = r->deadline && r->deadline->until < until ? r->deadline->until : until;
		struct timespec t = { 0 };

		now = deadline__now();
		if (now < end) {
			t.tv_sec = (time_t)((end - now) / 1000000000);
			t.tv_nsec = (long)((end - now) % 1000000000);
		}
		if (ppoll(fds, 2, &t, NULL) > 0 && fds[0].revents)
			return 0;
		if (r->deadline && (fds[1].revents || deadline__over(r->deadline)))
			return -EINTR;
		now = deadline__now();
		if (now < until)
			continue;
		if (!lacks_cpu(h) || now - began > PATIENCE * r->timeout)
			return poll(fds, 1, 0) == 1 ? 0 : -ETIMEDOUT;
		until = now + r->timeout / 4;
	}
}

int helper__ask(const struct helper_role *role, const struct helper_request *r, void *answer, int *fd)
{
	struct helper *h;
	int32_t result = 0;
	int err, got;
	bool whole;
	ssize_t n;

	if (fd)
		*fd = -1;
	if (r->size > HELPER_REQUEST_MAX || role->answer_size > HELPER_ANSWER_MAX)
		return -EMSGSIZE;
	/* Those that waited for work may have been killed meanwhile. */
	for (uint32_t i = 0; i <= IDLE_MAX; i++) {
		h = take(role, r->owner, &err);
		if (!h)
			return err;
		err = helper_message__send(h->socket, 0, r->data, r->size, r->fd);
		if (!err)
			break;
		give_back(h, false);
	}
	if (err)
		return err;
	err = wait_for_answer(h, r);
	if (err) {
		give_back(h, false);
		return err;
	}
	n = helper_message__receive(h->socket, &result, answer, role->answer_size, &got);
	whole = n >= 0 && (size_t)n == answer_size(role, result);
	give_back(h, whole);
	if (!whole)
		result = -EIO;
	if (got >= 0 && fd && result >= 0)
		*fd = got;
	else if (got >= 0)
		close(got);
	return result;
}

static void end_idle(void)
{
	struct helper *list, *next;
	siginfo_t info;

	pthread_mutex_lock(&lock);
	forget_those_of_parent();
	list = idle;
	idle = NULL;
	pthread_mutex_unlock(&lock);
	for (struct helper *h = list; h; h = next) {
		struct pollfd p = { .fd = h->pidfd, .events = POLLIN };

		next = h->next;
		syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
		if (poll(&p, 1, END_TIMEOUT) == 1)
			waitid(P_PIDFD, (id_t)h->pidfd, &info, WEXITED | WNOHANG | __WALL);
		close(h->pidfd);
		close(h->socket);
		free(h);
	}
}

void helpers__hold(void)
{
	pthread_mutex_lock(&lock);
	forget_those_of_parent();
	if (!users++)
		maker__begin();
	pthread_mutex_unlock(&lock);
}

void helpers__release(void)
{
	uint32_t of_owner;
	bool last;

	pthread_mutex_lock(&lock);
	forget_those_of_parent();
	last = users <= 1;
	users -= !!users;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	end_idle();
	maker__end();
	/* Those that were given up before, if they have ended. */
	pthread_mutex_lock(&lock);
	reap(NOBODY, &of_owner);
	pthread_mutex_unlock(&lock);
}
