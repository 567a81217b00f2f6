/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/call_kinds.h"

#include <sys/syscall.h>

/* Names are in syscall_set.h.  A call that is not here waits for something else, or not at all: CALL_OTHER. */
static const uint8_t kinds[CALLS_MAX] = {
	[SYS_read] = CALL_FD,
	[SYS_write] = CALL_FD,
	[SYS_pread64] = CALL_FD,
	[SYS_pwrite64] = CALL_FD,
	[SYS_readv] = CALL_FD,
	[SYS_writev] = CALL_FD,
	[SYS_preadv] = CALL_FD,
	[SYS_pwritev] = CALL_FD,
	[SYS_preadv2] = CALL_FD,
	[SYS_pwritev2] = CALL_FD,
	[SYS_sendto] = CALL_FD,
	[SYS_recvfrom] = CALL_FD,
	[SYS_sendmsg] = CALL_FD,
	[SYS_recvmsg] = CALL_FD,
	[SYS_sendmmsg] = CALL_FD,
	[SYS_recvmmsg] = CALL_FD,
	[SYS_accept] = CALL_FD,
	[SYS_accept4] = CALL_FD,
	[SYS_connect] = CALL_FD,
	[SYS_sendfile] = CALL_FD,
	[SYS_splice] = CALL_FD,
	[SYS_tee] = CALL_FD,
	[SYS_copy_file_range] = CALL_FD,
	[SYS_fsync] = CALL_FD,
	[SYS_fdatasync] = CALL_FD,
	[SYS_sync_file_range] = CALL_FD,
	[SYS_ftruncate] = CALL_FD,
	[SYS_fallocate] = CALL_FD,
	[SYS_flock] = CALL_FD,
	[SYS_fcntl] = CALL_FD,
	[SYS_ioctl] = CALL_FD,
	[SYS_close] = CALL_FD,
	[SYS_lseek] = CALL_FD,
	[SYS_fstat] = CALL_FD,
	[SYS_getdents64] = CALL_FD,
	[SYS_epoll_pwait] = CALL_FD,
	[SYS_io_uring_enter] = CALL_FD,
	[SYS_vmsplice] = CALL_FD,
	[SYS_readahead] = CALL_FD,
	[SYS_syncfs] = CALL_FD,
	[SYS_fadvise64] = CALL_FD,
	[SYS_mq_timedsend] = CALL_FD,
	[SYS_mq_timedreceive] = CALL_FD,
	[SYS_ppoll] = CALL_POLL,
	[SYS_pselect6] = CALL_IO,
	[SYS_openat] = CALL_IO,
	[SYS_unlinkat] = CALL_IO,
	[SYS_renameat2] = CALL_IO,
	[SYS_mkdirat] = CALL_IO,
	[SYS_linkat] = CALL_IO,
	[SYS_symlinkat] = CALL_IO,
	[SYS_newfstatat] = CALL_IO,
	[SYS_statx] = CALL_IO,
	[SYS_readlinkat] = CALL_IO,
	[SYS_faccessat] = CALL_IO,
	[SYS_truncate] = CALL_IO,
	[SYS_sync] = CALL_IO,
	[SYS_msync] = CALL_IO,
	[SYS_statfs] = CALL_IO,
	[SYS_nanosleep] = CALL_SLEEP,
	[SYS_clock_nanosleep] = CALL_SLEEP,
	[SYS_wait4] = CALL_PROCESS,
	[SYS_waitid] = CALL_PROCESS,
	[SYS_futex] = CALL_FUTEX,
#ifdef SYS_epoll_pwait2
	[SYS_epoll_pwait2] = CALL_FD,
#endif
	/* Only older architectures have these. */
#ifdef SYS_poll
	[SYS_poll] = CALL_POLL,
	[SYS_select] = CALL_IO,
	[SYS_epoll_wait] = CALL_FD,
	[SYS_open] = CALL_IO,
	[SYS_stat] = CALL_IO,
	[SYS_lstat] = CALL_IO,
	[SYS_access] = CALL_IO,
	[SYS_unlink] = CALL_IO,
	[SYS_rename] = CALL_IO,
	[SYS_mkdir] = CALL_IO,
	[SYS_rmdir] = CALL_IO,
	[SYS_readlink] = CALL_IO,
	[SYS_vfork] = CALL_PROCESS,
#endif
};

uint32_t call_kind(int64_t call)
{
	return call < 0 ? CALL_NONE : call < (int64_t)CALLS_MAX ? kinds[call] : CALL_OTHER;
}

void call_kinds__copy(volatile uint8_t *to)
{
	for (uint32_t i = 0; i < CALLS_MAX; i++)
		to[i] = kinds[i];
}
