/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/address_space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

/* The files of /proc hold the memory itself (mm_struct), not the process.  When
 * its last user has left it, by exec or at the end, they read as empty. */
static int read_mem(const struct address_space *s, uint64_t address, void *to, size_t length)
{
	ssize_t n = pread(s->mem, to, length, (off_t)address);

	if (n < 0)	/* EINVAL: no address of user space is negative */
		return errno == EIO || errno == EINVAL ? -EFAULT : -errno;
	if (!n)
		return -ESRCH;
	return (size_t)n == length ? 0 : -EFAULT;
}

/* This reads what the process has at that moment: was it still the same after that? */
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

	/* How many reads something takes is for the target to decide. */
	if (s->deadline && deadline__over(s->deadline))
		return -EINTR;
	if (!length)
		return 0;
	if (s->mem >= 0)
		return read_mem(s, address, to, length);
	return s->maps >= 0 ? read_by_pid(s, address, to, length) : -ESRCH;
}

static int open_file(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, flags | O_CLOEXEC);
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
	/* For writing too: see grace.h. */
	s->mem = open_file(pid, "mem", O_RDWR);
	if (s->mem < 0)
		s->mem = open_file(pid, "mem", O_RDONLY);
	/* It belongs to the user of the process: CAP_SYS_PTRACE is not enough. */
	if (s->mem < 0 && (errno == EACCES || errno == EPERM))
		s->maps = open_file(pid, "maps", O_RDONLY);
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
	/* Nothing is mapped at 0, or something is: both is no end. */
	n = pread(s->mem, &byte, 1, 0);
	return n == 1 || (n < 0 && errno == EIO);
}
