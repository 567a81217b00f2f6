/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/address_space.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/guarded.h"

/* How often it is asked whose memory it is, of a process that has run: for its user, and for its namespaces, which few processes change
 * later; ns. */
#define TRUST_INTERVAL 1000000000ull
#define NAMESPACES_INTERVAL 5000000000ull
/* How long a process that did not answer is put aside; ns. */
#define ASIDE_MIN 1000000000ull
#define ASIDE_MAX 60000000000ull

/* An open file of /proc holds the memory (mm_struct), not the process.  The file reads as
 * empty once the last user of the memory has left it, by exec or by its end. */
static int read_mem(const struct address_space *s, uint64_t address, void *to, size_t length)
{
	ssize_t n = pread(s->mem, to, length, (off_t)address);

	if (n < 0)	/* EINVAL: the address is above the largest file offset */
		return errno == EIO || errno == EINVAL ? -EFAULT : -errno;
	if (!n)
		return -ESRCH;
	return (size_t)n == length ? 0 : -EFAULT;
}

/* process_vm_readv() reads the memory that the process has at that moment.  If the memory that
 * was opened still lives after the read, it was that one. */
static int read_by_pid(const struct address_space *s, uint64_t address, void *to, size_t length)
{
	struct iovec local = { .iov_base = to, .iov_len = length };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = length };
	ssize_t n = process_vm_readv(s->pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n == length ? 0 : -EFAULT;
}

/* Ask for all that trust depends on. */
static void ask(struct address_space *s, bool first)
{
	uid_t user = s->user;
	bool trusted = proc__is_trusted(s->pid, &user);

	/* If the process is gone, the answer stays as it was: the memory is the same. */
	if (!first && kill(s->pid, 0) && errno == ESRCH)
		return;
	/* Memory that was another user's stays untrusted: a process of ours can have got the pid since, while the memory lives on in a
	 * process that shared it. */
	s->trusted = trusted && (s->trusted || first);
	s->user = user;
}

/* It may have become another user's since, if it has run. */
static bool is_trusted(struct address_space *s)
{
	uint64_t now = deadline__now();
	bool first = !s->asked_at, of_user, of_all;
	struct run_mark mark;

	if (!first && now < s->asked_at + TRUST_INTERVAL)
		return s->trusted;
	s->asked_at = now;
	of_all = first || (now >= s->namespaces_mark.at + NAMESPACES_INTERVAL &&
			   run_clock__is_due(&s->clock, &s->namespaces_mark, &mark));
	of_user = run_clock__is_due(&s->clock, &s->user_mark, &mark);
	s->user_mark = of_user ? mark : s->user_mark;
	if (of_all || (of_user && !(s->trusted && proc__is_of_own_user(s->pid)))) {
		s->namespaces_mark = mark;
		ask(s, first);
	}
	return s->trusted;
}

/* It did not answer: leave the process alone for some time, longer each time. */
static int put_aside(struct address_space *s)
{
	s->given_up++;
	s->aside = s->aside ? s->aside * 2 : ASIDE_MIN;
	if (s->aside > ASIDE_MAX)
		s->aside = ASIDE_MAX;
	s->aside_until = deadline__now() + s->aside;
	return -ETIMEDOUT;
}

static int read_guarded(struct address_space *s, uint64_t address, void *to, size_t length)
{
	const struct guarded g = { .user = s->user, .deadline = s->deadline };
	int err;

	if (deadline__now() < s->aside_until)
		return -ETIMEDOUT;
	err = s->mem >= 0 ? guarded__read(&g, s->pid, s->mem, address, to, length) :
			    guarded__read_pid(&g, s->pid, address, to, length);
	if (err == -ETIMEDOUT)
		return put_aside(s);
	/* EINVAL: the address is above the largest file offset. */
	return err == -EINVAL ? -EFAULT : err;
}

static int address_space__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	struct address_space *s = (struct address_space *)(uintptr_t)m->context;
	int err;

	/* The target decides how many reads a search takes: so each read asks for the time. */
	if (s->deadline && deadline__over(s->deadline))
		return -EINTR;
	if (!length)
		return 0;
	if (s->mem < 0 && s->maps < 0)
		return -ESRCH;
	if (!is_trusted(s))
		err = read_guarded(s, address, to, length);
	else
		err = s->mem >= 0 ? read_mem(s, address, to, length) : read_by_pid(s, address, to, length);
	if (s->mem < 0 && !address_space__lives(s))
		return -ESRCH;
	return err;
}

struct deadline *address_space__lift_deadline(struct address_space *s)
{
	struct deadline *deadline = s->deadline;

	s->deadline = NULL;
	return deadline;
}

int address_space__write(struct address_space *s, uint64_t address, const void *from, size_t length)
{
	const struct guarded g = { .user = s->user, .deadline = s->deadline };
	ssize_t n;
	int err;

	if (s->mem < 0)
		return -EACCES;
	if (is_trusted(s)) {
		n = pwrite(s->mem, from, length, (off_t)address);
		return n < 0 ? -errno : (size_t)n == length ? 0 : -ESRCH;
	}
	if (deadline__now() < s->aside_until)
		return -ETIMEDOUT;
	err = guarded__write(&g, s->mem, address, from, length);
	return err == -ETIMEDOUT ? put_aside(s) : err;
}

static int open_file(pid_t pid, pid_t thread, const char *name, int flags)
{
	char path[PROC_PATH_MAX];

	proc__path(path, pid, thread, name);
	return proc__keep_file(open(path, flags | O_CLOEXEC));
}

/* The memory file of that thread; -1 and errno. */
static int open_mem(pid_t pid, pid_t thread)
{
	/* For writing too: see name_retention.h. */
	int fd = open_file(pid, thread, "mem", O_RDWR);

	return fd >= 0 ? fd : open_file(pid, thread, "mem", O_RDONLY);
}

/* The same of a process whose first thread may have ended. */
static int open_mem_of_any(struct address_space *s)
{
	pid_t other;

	s->mem = open_mem(s->pid, 0);
	if (s->mem < 0 ? errno != ESRCH : address_space__lives(s))
		return s->mem;
	other = proc__other_thread(s->pid);
	if (!other) {
		errno = ESRCH;
		return s->mem;
	}
	if (s->mem >= 0)
		close(s->mem);
	return s->mem = open_mem(s->pid, other);
}

struct address_space *address_space__open(pid_t pid, int *err)
{
	struct address_space *s = calloc(1, sizeof(*s));

	if (!s) {
		*err = -ENOMEM;
		return NULL;
	}
	s->memory.read = address_space__read;
	s->memory.context = s;
	s->pid = s->clock.pid = pid;
	s->maps = -1;
	/* The file belongs to the user of the process: with CAP_SYS_PTRACE alone it does not open. */
	if (open_mem_of_any(s) < 0 && (errno == EACCES || errno == EPERM))
		s->maps = open_file(pid, 0, "maps", O_RDONLY);
	if (s->mem < 0 && s->maps < 0) {
		*err = -errno;
		free(s);
		return NULL;
	}
	*err = 0;
	return s;
}

void address_space__leave(struct address_space *s)
{
	if (s->mem >= 0)
		close(s->mem);
	if (s->maps >= 0)
		close(s->maps);
	s->mem = s->maps = -1;
}

void address_space__close(struct address_space *s)
{
	if (!s)
		return;
	address_space__leave(s);
	free(s);
}

bool address_space__lives(struct address_space *s)
{
	const struct guarded g = { .user = s->user };
	int fd = s->mem >= 0 ? s->mem : s->maps, err;
	/* Nothing is mapped there.  There are no bytes and no error only when the memory has no user any more. */
	off_t at = s->mem >= 0 ? GUARDED_NO_ADDRESS : 0;
	char byte;
	ssize_t n;

	if (fd < 0)
		return false;
	if (is_trusted(s)) {
		n = pread(fd, &byte, 1, at);
		return n == 1 || (n < 0 && errno == EIO);
	}
	if (deadline__now() < s->aside_until)
		return true;
	err = guarded__read(&g, 0, fd, (uint64_t)at, &byte, 1);
	if (err == -ETIMEDOUT)
		put_aside(s);
	return err != -ESRCH;
}
