/* SPDX-License-Identifier: BSD-2-Clause */
/* The system calls in which threads wait. */
#include <string.h>
#include <sys/syscall.h>

#include "source/sched.h"

static const struct {
	uint32_t number;
	uint8_t kind;
	const char *name;
} calls[] = {
#define CALL(name, kind) { SYS_##name, kind, #name }
	CALL(read, CALL_FD),
	CALL(write, CALL_FD),
	CALL(pread64, CALL_FD),
	CALL(pwrite64, CALL_FD),
	CALL(readv, CALL_FD),
	CALL(writev, CALL_FD),
	CALL(preadv, CALL_FD),
	CALL(pwritev, CALL_FD),
	CALL(preadv2, CALL_FD),
	CALL(pwritev2, CALL_FD),
	CALL(sendto, CALL_FD),
	CALL(recvfrom, CALL_FD),
	CALL(sendmsg, CALL_FD),
	CALL(recvmsg, CALL_FD),
	CALL(sendmmsg, CALL_FD),
	CALL(recvmmsg, CALL_FD),
	CALL(accept, CALL_FD),
	CALL(accept4, CALL_FD),
	CALL(connect, CALL_FD),
	CALL(sendfile, CALL_FD),
	CALL(splice, CALL_FD),
	CALL(tee, CALL_FD),
	CALL(copy_file_range, CALL_FD),
	CALL(fsync, CALL_FD),
	CALL(fdatasync, CALL_FD),
	CALL(sync_file_range, CALL_FD),
	CALL(ftruncate, CALL_FD),
	CALL(fallocate, CALL_FD),
	CALL(flock, CALL_FD),
	CALL(fcntl, CALL_FD),
	CALL(ioctl, CALL_FD),
	CALL(close, CALL_FD),
	CALL(lseek, CALL_FD),
	CALL(fstat, CALL_FD),
	CALL(getdents64, CALL_FD),
	CALL(epoll_pwait, CALL_FD),
	CALL(io_uring_enter, CALL_FD),
	CALL(ppoll, CALL_POLL),
	CALL(pselect6, CALL_IO),
	CALL(openat, CALL_IO),
	CALL(unlinkat, CALL_IO),
	CALL(renameat2, CALL_IO),
	CALL(mkdirat, CALL_IO),
	CALL(linkat, CALL_IO),
	CALL(symlinkat, CALL_IO),
	CALL(newfstatat, CALL_IO),
	CALL(statx, CALL_IO),
	CALL(readlinkat, CALL_IO),
	CALL(faccessat, CALL_IO),
	CALL(truncate, CALL_IO),
	CALL(sync, CALL_IO),
	CALL(msync, CALL_IO),
	CALL(statfs, CALL_IO),
	CALL(nanosleep, CALL_SLEEP),
	CALL(clock_nanosleep, CALL_SLEEP),
	CALL(wait4, CALL_PROCESS),
	CALL(waitid, CALL_PROCESS),
	CALL(futex, CALL_FUTEX),
	CALL(clone, CALL_OTHER),
	CALL(clone3, CALL_OTHER),
	CALL(execve, CALL_OTHER),
	CALL(mmap, CALL_OTHER),
	CALL(munmap, CALL_OTHER),
	CALL(mprotect, CALL_OTHER),
	CALL(madvise, CALL_OTHER),
	CALL(membarrier, CALL_OTHER),
	CALL(sched_yield, CALL_OTHER),
	CALL(rt_sigtimedwait, CALL_OTHER),
	CALL(rt_sigsuspend, CALL_OTHER),
	CALL(exit_group, CALL_OTHER),
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2, CALL_FD),
#endif
	/* What only older machines have. */
#ifdef SYS_poll
	CALL(poll, CALL_POLL),
	CALL(select, CALL_IO),
	CALL(epoll_wait, CALL_FD),
	CALL(open, CALL_IO),
	CALL(stat, CALL_IO),
	CALL(lstat, CALL_IO),
	CALL(access, CALL_IO),
	CALL(unlink, CALL_IO),
	CALL(rename, CALL_IO),
	CALL(mkdir, CALL_IO),
	CALL(rmdir, CALL_IO),
	CALL(readlink, CALL_IO),
	CALL(pause, CALL_OTHER),
	CALL(fork, CALL_OTHER),
	CALL(vfork, CALL_PROCESS),
#endif
#undef CALL
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

const char *sched_calls__name(uint32_t number)
{
	for (size_t i = 0; i < CALLS; i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}

void sched_calls__kinds(uint8_t *kinds)
{
	memset(kinds, CALL_OTHER, CALLS_MAX);
	for (size_t i = 0; i < CALLS; i++)
		if (calls[i].number < CALLS_MAX)
			kinds[calls[i].number] = calls[i].kind;
}
