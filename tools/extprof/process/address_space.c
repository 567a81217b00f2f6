/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/address_space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/proc.h"

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
	int err = n < 0 ? -errno : (size_t)n == length ? 0 : -EFAULT;

	return address_space__lives(s) ? err : -ESRCH;
}

static int address_space__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	const struct address_space *s = m->context;

	/* The target decides how many reads a search takes: so each read asks for the time. */
	if (s->deadline && deadline__over(s->deadline))
		return -EINTR;
	if (!length)
		return 0;
	if (s->mem >= 0)
		return read_mem(s, address, to, length);
	return s->maps >= 0 ? read_by_pid(s, address, to, length) : -ESRCH;
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
	s->pid = pid;
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

bool address_space__lives(const struct address_space *s)
{
	char byte;
	ssize_t n;

	if (s->mem < 0)
		return s->maps >= 0 && pread(s->maps, &byte, 1, 0) == 1;
	/* Whether address 0 is mapped (1 byte) or not (EIO) does not matter: the read finds no
	 * byte and no error only when the memory has no user any more. */
	n = pread(s->mem, &byte, 1, 0);
	return n == 1 || (n < 0 && errno == EIO);
}
