/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/call.h"

#include <stddef.h>
#include <sys/syscall.h>

/* Calls that threads wait in for a file descriptor. */
static const int64_t on_descriptors[] = {
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_recvfrom, SYS_recvmsg, SYS_sendto,
	SYS_sendmsg, SYS_accept, SYS_accept4, SYS_connect, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_fsync, SYS_fdatasync,
	SYS_flock, SYS_fcntl, SYS_ioctl, SYS_splice, SYS_copy_file_range, SYS_io_uring_enter,
#ifdef __x86_64__
	SYS_epoll_wait,
#endif
};

bool call__takes_fd(int64_t call)
{
	for (size_t i = 0; i < sizeof(on_descriptors) / sizeof(on_descriptors[0]); i++)
		if (on_descriptors[i] == call)
			return true;
	return false;
}

bool call__polls(int64_t call)
{
#ifdef __x86_64__
	if (call == SYS_poll)
		return true;
#endif
	return call == SYS_ppoll;
}
