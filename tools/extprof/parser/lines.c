/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "parser/message_fd.h"

#define PROGRAM "extprof-lines"
/* ns for one file.  Its CPU time has a bound of its own; the rest is for a machine that is busy. */
#define TIMEOUT (2ull * LINES_CPU_SECONDS * 1000000000ull)
/* ns: one that was killed ends at once, unless it waits for a file system that does not answer. */
#define END_TIMEOUT 1000000000ull
#define END_STEP 1000000

struct reader {
	pid_t pid;
	int socket;
	uint64_t until;
};

/* -- the process ----------------------------------------------------------------------------------- */

#ifdef EXTPROF_LIBDW

/* Only root, the user who runs this, and those who could write to the program that runs can write to it. */
static bool is_safe(int fd, const struct stat *own)
{
	struct stat st;

	if (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid() && st.st_uid != own->st_uid) || st.st_mode & S_IWOTH)
		return false;
	return !(st.st_mode & S_IWGRP) || (own->st_mode & S_IWGRP && st.st_gid == own->st_gid);
}

/* The program of that path, opened to be executed; -1: it is not there, or others could have put it there. */
static int open_program(const char *path, const struct stat *own)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int at, fd = -1;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 0, path);
	at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -1;
	if (is_safe(at, own))
		fd = openat(at, slash + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	close(at);
	if (fd >= 0 && !is_safe(fd, own)) {
		close(fd);
		fd = -1;
	}
	/* Not one of those that the new process gets as others. */
	if (fd >= 0 && fd < 3) {
		int low = fd;

		fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
		close(low);
	}
	return fd;
}

/* Beside the program that runs, as in a build folder; where that one is installed; or where this was to be installed. */
static int find_program(void)
{
	static const char *const places[] = { "", "../libexec/extprof/" };
	char path[PATH_MAX], own[PATH_MAX - 64];
	struct stat st;
	int fd;
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *end;

	own[n > 0 ? n : 0] = '\0';
	end = strrchr(own, '/');
	if (stat("/proc/self/exe", &st))
		return -errno;
	for (size_t i = 0; end && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, PATH_MAX, "%.*s/%s%s", (int)(end - own), own, places[i], PROGRAM);
		fd = open_program(path, &st);
		if (fd >= 0)
			return fd;
	}
	fd = open_program(EXTPROF_LIBEXECDIR "/" PROGRAM, &st);
	return fd >= 0 ? fd : -ENOENT;
}

#else

static int find_program(void)
{
	return -ENOSYS;
}

#endif

/* The program has the socket as its standard input and itself as its output, and nothing else of this process: also no variable
 * of the environment. */
static int spawn(int program, int socket, pid_t *pid)
{
	char *argv[] = { (char *)PROGRAM, NULL }, *environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	err = posix_spawn_file_actions_adddup2(&actions, socket, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, program, 1);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&actions, 2);
	if (!err)
		err = posix_spawnattr_setsigmask(&attributes, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(&attributes, &all);
	/* A signal from the terminal is for the program, which ends this one. */
	if (!err)
		err = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	if (!err)
		/* The path names the descriptor, so the file that was checked is the one that is executed. */
		err = posix_spawn(pid, "/proc/self/fd/1", &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

static int start(struct reader *r)
{
	int pair[2], err, program = find_program();

	if (program < 0)
		return program;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		close(program);
		return err;
	}
	err = spawn(program, pair[1], &r->pid);
	close(pair[1]);
	close(program);
	if (err) {
		close(pair[0]);
		return err;
	}
	r->socket = pair[0];
	r->until = deadline__now() + TIMEOUT;
	return 0;
}

/* End the process.  -EPIPE: it has closed its socket, and ends by itself; how it does says why. */
static int end(struct reader *r, int err)
{
	const struct timespec step = { .tv_nsec = END_STEP };
	uint64_t until = deadline__now() + END_TIMEOUT;
	siginfo_t info = { 0 };
	int waited;

	if (err != -EPIPE)
		kill(r->pid, SIGKILL);
	close(r->socket);
	while (!(waited = waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG)) && !info.si_pid && deadline__now() < until)
		nanosleep(&step, NULL);
	/* It is left to itself: the kernel ends it when it can. */
	if (!waited && !info.si_pid)
		kill(r->pid, SIGKILL);
	if (err != -EPIPE)
		return err;
	if (waited || !info.si_pid)
		return -ETIMEDOUT;
	if (info.si_code == CLD_EXITED)
		return -EPROTO;
	return info.si_status == SIGXCPU ? -ETIMEDOUT : -EFAULT;
}

/* -- packets --------------------------------------------------------------------------------------- */

/* 0 when the socket can be read or written. */
static int wait_for(const struct reader *r, short events)
{
	struct pollfd p = { .fd = r->socket, .events = events };

	for (;;) {
		uint64_t now = deadline__now();
		int n;

		if (now >= r->until)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((r->until - now) / 1000000) + 1);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

static int send_packet(const struct reader *r, const void *data, size_t size, int fd)
{
	struct iovec part = { (void *)data, size };
	union message_fd control = { 0 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	int err = wait_for(r, POLLOUT);

	if (err)
		return err;
	if (fd >= 0)
		message_fd__add(&m, &control, fd);
	return sendmsg(r->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno == ECONNRESET ? -EPIPE : -errno : 0;
}

/* A packet of at least `least` bytes; descriptors that come with it are closed by the kernel.  -EPIPE: it has ended. */
static ssize_t receive_packet(const struct reader *r, void *data, size_t least, size_t size)
{
	int err = wait_for(r, POLLIN);
	ssize_t n;

	if (err)
		return err;
	n = recv(r->socket, data, size, MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (!n)
		return -EPIPE;
	return (size_t)n < least || (size_t)n > size ? -EPROTO : n;
}

/* -- answers, which are not trusted ------------------------------------------------------------------ */

static int give(const struct lines_chain *c, size_t texts, uint32_t number,
		int (*take)(void *context, uint32_t number, const struct lines_at *at, uint32_t functions), void *context)
{
	struct lines_at at[LINES_DEPTH_MAX];
	size_t from = 0;

	if (c->count > LINES_DEPTH_MAX || c->size != texts)
		return -EPROTO;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct lines_place *p = &c->places[i];

		if (p->name > LINES_TEXT_MAX || p->path > LINES_TEXT_MAX || texts - from < (size_t)p->name + p->path || p->line < 0)
			return -EPROTO;
		at[i] = (struct lines_at){
			.name = c->texts + from, .name_length = p->name, .path = c->texts + from + p->name, .path_length = p->path,
			.line = p->path ? p->line : 0,
		};
		from += (size_t)p->name + p->path;
	}
	return c->count ? take(context, number, at, c->count) : 0;
}

static int ask(const struct reader *r, const uint64_t *addresses, uint32_t first, uint32_t count, struct lines_chain *chain,
	       int (*take)(void *context, uint32_t number, const struct lines_at *at, uint32_t functions), void *context)
{
	const size_t least = offsetof(struct lines_chain, texts);
	int err = send_packet(r, addresses + first, count * sizeof(*addresses), -1);

	for (uint32_t i = 0; i < count && !err; i++) {
		ssize_t n = receive_packet(r, chain, least, sizeof(*chain));

		if (n < 0)
			return (int)n;
		/* In their order: each address has one answer. */
		err = chain->address == i ? give(chain, (size_t)n - least, first + i, take, context) : -EPROTO;
	}
	return err;
}

/* Check the result that the program gave for a file.  A lack of memory there is -ENOBUFS: -ENOMEM is one of this process. */
static int result_of(int32_t result)
{
	switch (result) {
	case 0:
	case -ENOEXEC:
	case -ESTALE:
	case -ENODATA:
	case -E2BIG: return result;
	case -ENOMEM: return -ENOBUFS;
	default: return -EPROTO;
	}
}

static int read_about(const struct reader *r, const struct lines_file *file, struct lines_about *about)
{
	const struct lines_open open = { .size = file->size, .build_id = file->build_id };
	int err = send_packet(r, &open, sizeof(open), file->fd);
	ssize_t n = err ? err : receive_packet(r, about, sizeof(*about), sizeof(*about));

	if (n < 0)
		return (int)n;
	if (!memchr(about->link, 0, sizeof(about->link)) || strchr(about->link, '/'))
		return -EPROTO;
	return result_of(about->result);
}

int lines__read(const struct lines_file *file, const uint64_t *addresses, uint32_t count,
		int (*take)(void *context, uint32_t number, const struct lines_at *at, uint32_t functions), void *context, char *link)
{
	struct lines_about about = { .result = 0 };
	struct lines_chain *chain;
	struct reader r;
	int err;

	link[0] = '\0';
	if (file->size > LINES_FILE_MAX)
		return -E2BIG;
	chain = malloc(sizeof(*chain));
	if (!chain)
		return -ENOMEM;
	err = start(&r);
	if (err) {
		free(chain);
		return err;
	}
	if (file->until && file->until < r.until)
		r.until = file->until;
	err = read_about(&r, file, &about);
	if (!err || err == -ENODATA)
		snprintf(link, LINES_LINK_MAX, "%s", about.link);
	for (uint32_t i = 0; i < count && !err; i += LINES_BATCH)
		err = ask(&r, addresses, i, count - i < LINES_BATCH ? count - i : LINES_BATCH, chain, take, context);
	free(chain);
	return end(&r, err);
}
