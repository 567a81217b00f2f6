/* SPDX-License-Identifier: BSD-2-Clause */
#include "confine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#define REFUSED SCMP_ACT_ERRNO(EACCES)

/* Calls that reach other processes or the kernel.  No confined command may use them. */
static const int refused[] = {
	SCMP_SYS(socket), SCMP_SYS(sendto), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(tkill), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(open_by_handle_at), SCMP_SYS(mount), SCMP_SYS(umount2),
	SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open), SCMP_SYS(io_uring_setup), SCMP_SYS(userfaultfd), SCMP_SYS(init_module), SCMP_SYS(finit_module),
	SCMP_SYS(kexec_load), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(shmget), SCMP_SYS(msgget), SCMP_SYS(semget),
	SCMP_SYS(mq_open), SCMP_SYS(mq_unlink), SCMP_SYS(shmctl), SCMP_SYS(semctl), SCMP_SYS(msgctl), SCMP_SYS(setpriority),
	SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr), SCMP_SYS(ioprio_set),
	SCMP_SYS(process_madvise), SCMP_SYS(process_mrelease), SCMP_SYS(kcmp), SCMP_SYS(migrate_pages), SCMP_SYS(move_pages),
	SCMP_SYS(vhangup), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(reboot),
	SCMP_SYS(fsopen), SCMP_SYS(fsmount), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(kexec_file_load),
};

/* Helpers and their programs, which are talked to by socketpair(): CONFINE_MAY_START. */
static const int starts[] = {
	SCMP_SYS(socketpair), SCMP_SYS(sendmsg), SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
	SCMP_SYS(clone), SCMP_SYS(clone3), SCMP_SYS(kill), SCMP_SYS(pidfd_open), SCMP_SYS(openat2),
};

/* Files that are made, changed or removed: CONFINE_MAY_WRITE. */
static const int writes[] = {
	SCMP_SYS(creat), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2),
	SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(symlink), SCMP_SYS(symlinkat), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(rmdir),
	SCMP_SYS(mknod), SCMP_SYS(mknodat), SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(lchown), SCMP_SYS(fchown),
	SCMP_SYS(fchownat), SCMP_SYS(truncate), SCMP_SYS(setxattr), SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr), SCMP_SYS(removexattr), SCMP_SYS(utimensat),
	SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(futimesat), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr),
	/* libseccomp of Debian 12 has no names for these: fchmodat2, setxattrat, removexattrat.  Numbers are the same on all machines. */
	452, 463, 466,
};

#define REFUSE_ALL(filter, calls) refuse_all(filter, calls, sizeof(calls) / sizeof((calls)[0]))

static int refuse_all(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		err = seccomp_rule_add(filter, REFUSED, calls[i], 0);
		/* A call that this machine does not have. */
		err = err == -EDOM || err == -EINVAL ? 0 : err;
	}
	return err;
}

/* Calls that are of this process as a rule: with the number of another one as the first argument they are refused. */
static int refuse_others(scmp_filter_ctx filter)
{
	int err = seccomp_rule_add(filter, REFUSED, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid()));

	return err ? err : seccomp_rule_add(filter, REFUSED, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0));
}

/* Refuse the ioctls that type into a terminal.  The kernel ignores the upper half of the argument, so the filter does, too. */
static int refuse_typing(scmp_filter_ctx filter)
{
	static const unsigned int calls[] = { TIOCSTI, TIOCLINUX };
	int err = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		err = seccomp_rule_add(filter, REFUSED, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, calls[i]));
	return err;
}

/* Any of these opens a file to be written, or makes one. */
static const unsigned int writing[] = { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND };

static int refuse_writing(scmp_filter_ctx filter, int call, unsigned int argument)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(writing) / sizeof(writing[0]) && !err; i++)
		err = seccomp_rule_add(filter, REFUSED, call, 1, SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, writing[i], writing[i]));
	return err;
}

int confine__calls(unsigned int may)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = 0;

	if (!filter)
		return -ENOMEM;
	/* It is set in this process already, where capabilities were given back. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err)
		err = REFUSE_ALL(filter, refused);
	if (!err && !(may & CONFINE_MAY_START))
		err = REFUSE_ALL(filter, starts);
	if (!err && !(may & CONFINE_MAY_WRITE))
		err = REFUSE_ALL(filter, writes);
	if (!err)
		err = refuse_others(filter);
	if (!err)
		err = refuse_typing(filter);
	if (!err && !(may & (CONFINE_MAY_OPEN | CONFINE_MAY_WRITE)))
		err = refuse_writing(filter, SCMP_SYS(openat), 2);
	if (!err && !(may & (CONFINE_MAY_OPEN | CONFINE_MAY_WRITE)) && (err = refuse_writing(filter, SCMP_SYS(open), 1)) == -EDOM)
		err = 0;
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
