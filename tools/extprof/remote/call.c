/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/call.h"

#include <stddef.h>
#include <sys/syscall.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Calls that threads wait in.  Those that x86-64 alone has are left out on other machines. */
static const struct {
	int64_t number;
	const char *name;
	bool fd;
} calls[] = {
	{ SYS_read, "read", true }, { SYS_write, "write", true }, { SYS_readv, "readv", true },
	{ SYS_writev, "writev", true }, { SYS_pread64, "pread64", true }, { SYS_pwrite64, "pwrite64", true },
	{ SYS_recvfrom, "recvfrom", true }, { SYS_recvmsg, "recvmsg", true }, { SYS_sendto, "sendto", true },
	{ SYS_sendmsg, "sendmsg", true }, { SYS_accept, "accept", true }, { SYS_accept4, "accept4", true },
	{ SYS_connect, "connect", true }, { SYS_epoll_pwait, "epoll_pwait", true },
	{ SYS_epoll_pwait2, "epoll_pwait2", true }, { SYS_ppoll, "ppoll", false },
	{ SYS_pselect6, "pselect6", false }, { SYS_fsync, "fsync", true }, { SYS_fdatasync, "fdatasync", true },
	{ SYS_flock, "flock", true }, { SYS_fcntl, "fcntl", true }, { SYS_ioctl, "ioctl", true },
	{ SYS_splice, "splice", true }, { SYS_copy_file_range, "copy_file_range", true },
	{ SYS_futex, "futex", false }, { SYS_nanosleep, "nanosleep", false },
	{ SYS_clock_nanosleep, "clock_nanosleep", false }, { SYS_restart_syscall, "restart_syscall", false },
	{ SYS_wait4, "wait4", false }, { SYS_waitid, "waitid", false },
	{ SYS_rt_sigtimedwait, "rt_sigtimedwait", false }, { SYS_rt_sigsuspend, "rt_sigsuspend", false },
	{ SYS_openat, "openat", false }, { SYS_io_uring_enter, "io_uring_enter", true },
	{ SYS_mmap, "mmap", false }, { SYS_munmap, "munmap", false }, { SYS_madvise, "madvise", false },
	{ SYS_sched_yield, "sched_yield", false },
#ifdef __x86_64__
	{ SYS_poll, "poll", false }, { SYS_select, "select", false }, { SYS_epoll_wait, "epoll_wait", true },
	{ SYS_open, "open", false }, { SYS_pause, "pause", false }, { SYS_vfork, "vfork", false },
#endif
};

const char *call__name(int64_t call)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		if (calls[i].number == call)
			return calls[i].name;
	return NULL;
}

bool call__takes_fd(int64_t call)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		if (calls[i].number == call)
			return calls[i].fd;
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
