/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/making.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confine/calls.h"

/* Exit statuses of the process: that, and this plus an enum extprof_code. */
#define MADE 0
#define FAILED 64
/* More than the server has: SERVER_CONNECTIONS, and its pages. */
#define FDS_MAX 4096

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void limit(int what, uint64_t most)
{
	struct rlimit r;

	if (getrlimit(what, &r))
		return;
	/* The hard limit stays as it is if that is lower. */
	r.rlim_max = r.rlim_max > most ? most : r.rlim_max;
	r.rlim_cur = r.rlim_max;
	setrlimit(what, &r);
}

/* In the new process. */
static _Noreturn void make(int page, const struct serve_request *r, const struct serve_sources *sources, const char *nonce,
			   const sigset_t *mask)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct serve_making m = { .request = r, .sources = sources, .nonce = nonce };
	int err, none = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Clients, the socket, the terminal and other pages are nothing to it. */
	if (none < 0 || dup2(none, 0) || dup2(none, 1) != 1 || dup2(none, 2) != 2 || dup2(page, 3) != 3)
		_exit(FAILED + EXTPROF_INTERNAL);
	/* Linux before 5.9 has no close_range(). */
	if (syscall(SYS_close_range, 4u, ~0u, 0u))
		for (int fd = 4; fd < FDS_MAX; fd++)
			close(fd);
	limit(RLIMIT_AS, MAKING_MEMORY);
	/* The time of the clock is over before that. */
	limit(RLIMIT_CPU, MAKING_SECONDS + 5);
	limit(RLIMIT_FSIZE, MAKING_PAGE);
	limit(RLIMIT_CORE, 0);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	/* It has no terminal. */
	setsid();
	m.to = fdopen(3, "w");
	if (!m.to || confine__calls(0))
		_exit(FAILED + EXTPROF_INTERNAL);
	err = serve_page__write(&m, &e);
	if (!err && (fflush(m.to) || ferror(m.to)))
		err = serve__fail(&e, EXTPROF_OUTPUT, errno, "the page is too large: choose a shorter time");
	if (!err)
		_exit(MADE);
	/* The part of the page that was written is removed, since only the sentence is to be sent.  The stream can still hold a rest of
	 * the page, so it is not used any more. */
	if (!ftruncate(3, 0) && !lseek(3, 0, SEEK_SET) && write(3, e.text, strlen(e.text)) < 0)
		_exit(FAILED + EXTPROF_INTERNAL);
	_exit(FAILED + (e.code > 0 ? (int)e.code : EXTPROF_INTERNAL));
}

int making__begin(struct making *k, const struct serve_request *r, const struct serve_sources *sources, const char *nonce,
		  const sigset_t *mask)
{
	pid_t parent = getpid();

	*k = (struct making){ .pidfd = -1, .page = memfd_create("extprof page", MFD_CLOEXEC) };
	if (k->page < 0)
		return -errno;
	k->pid = fork();
	if (!k->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(FAILED);
		make(k->page, r, sources, nonce, mask);
	}
	if (k->pid < 0)
		return -errno;
	k->deadline = now_ns() + MAKING_SECONDS * 1000000000ull;
	k->pidfd = (int)syscall(SYS_pidfd_open, k->pid, 0);
	return k->pidfd < 0 ? -errno : 0;
}

bool making__is_over(struct making *k, uint64_t now)
{
	struct pollfd p = { .fd = k->pidfd, .events = POLLIN };

	if (poll(&p, 1, 0) == 1)
		return true;
	if (now < k->deadline)
		return false;
	k->late = true;
	kill(k->pid, SIGKILL);
	return true;
}

static void read_error(const struct making *k, char *error, size_t size)
{
	char raw[512];
	ssize_t n = pread(k->page, raw, sizeof(raw) - 1, 0);

	raw[n > 0 ? n : 0] = 0;
	extprof_clean(error, size, raw);
}

unsigned int making__status(struct making *k, char *error, size_t size)
{
	int status = 0, code;
	pid_t waited;

	while ((waited = waitpid(k->pid, &status, 0)) < 0 && errno == EINTR)
		;
	k->pid = 0;
	if (k->late) {
		snprintf(error, size, "the page was not there after %u s: choose a shorter time", MAKING_SECONDS);
		return 504;
	}
	if (waited < 0 || !WIFEXITED(status) || (WEXITSTATUS(status) != MADE && WEXITSTATUS(status) <= FAILED)) {
		snprintf(error, size, "the process that makes the page has ended: it may need too much memory for this time");
		return 500;
	}
	if (WEXITSTATUS(status) == MADE)
		return 200;
	code = WEXITSTATUS(status) - FAILED;
	read_error(k, error, size);
	if (!*error)
		snprintf(error, size, "the page could not be made");
	return code == EXTPROF_USAGE ? 400 : code == EXTPROF_RECORDING ? 404 : 500;
}

void making__end(struct making *k)
{
	if (k->pid > 0) {
		kill(k->pid, SIGKILL);
		while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (k->pidfd >= 0)
		close(k->pidfd);
	if (k->page >= 0)
		close(k->page);
	*k = (struct making){ .pidfd = -1, .page = -1 };
}
