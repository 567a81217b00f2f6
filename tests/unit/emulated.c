/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded in qemu-user, which has neither process_vm_readv() nor clone3(): the same by /proc/PID/mem and
 * by fork().  The emulator maps a program's memory at the program's own addresses.  Only the kernel can give
 * a child a pid that is wanted.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count,
			 const struct iovec *from, unsigned long from_count, unsigned long flags)
{
	char path[64];
	ssize_t done = 0;
	size_t to_at = 0, from_at = 0;
	unsigned long i = 0, k = 0;
	int fd;

	if (flags) {
		errno = EINVAL;
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT)
			errno = ESRCH;
		return -1;
	}
	while (i < to_count && k < from_count) {
		size_t size = to[i].iov_len - to_at, left = from[k].iov_len - from_at;
		ssize_t n;

		if (size > left)
			size = left;
		n = size ? pread(fd, (char *)to[i].iov_base + to_at, size,
				 (off_t)((char *)from[k].iov_base - (char *)0 + (ptrdiff_t)from_at)) : 0;
		if (n > 0)
			done += n;
		/* A process that has ended has no memory. */
		if (n < 0 || (size_t)n < size) {
			if (!done) {
				errno = n ? EFAULT : ESRCH;
				done = -1;
			}
			break;
		}
		to_at += size;
		from_at += size;
		if (to_at == to[i].iov_len)
			i++, to_at = 0;
		if (from_at == from[k].iov_len)
			k++, from_at = 0;
	}
	close(fd);
	return done;
}

/* Six arguments at most, as any system call. */
long syscall(long number, ...)
{
	static long (*real)(long, long, long, long, long, long, long);
	va_list args;
	long a[6];

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!real)
		real = (long (*)(long, long, long, long, long, long, long))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_clone3) {
		const struct clone_args *wanted = (const struct clone_args *)a[0];

		if (!wanted->set_tid_size)
			return fork();
		errno = ENOSYS;
		return -1;
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
