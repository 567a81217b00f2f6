/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define INSTRUCTIONS_MAX 512u
/* Bytes that the helper may add for its stack and the like.  This limit matters on kernels without seccomp. */
#define GROWTH (16ul << 20)

static struct sock_filter instructions[INSTRUCTIONS_MAX];
static unsigned short instruction_count;
static int error;		/* of making them */

/* Allow the calls that a program needs to allocate memory and to map an open file. */
static int allow_memory(scmp_filter_ctx filter)
{
	static const int calls[] = { SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(lseek), SCMP_SYS(fstat) };
	/* libdw asks for the path of the file, and does without. */
	static const int names[] = { SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(access) };
	int err = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), names[i], 0);
	/* No memory that may be executed. */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mremap), 0);
	/* fstat() of the C library, and whether a file is open. */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1, SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, F_GETFD));
	return err ? err : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, F_GETFL));
}

/* libseccomp allocates memory, which the helper may not: it makes the filter here, and the helper has it set. */
static int make_filter(bool allocates)
{
	static const int calls[] = {
		SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(pread64), SCMP_SYS(close), SCMP_SYS(exit_group),
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int fd = memfd_create("extprof-filter", MFD_CLOEXEC), err = 0;
	ssize_t n = -1;

	if (!filter || fd < 0) {
		err = -ENOMEM;
		goto cleanup;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	/* For sandbox__limit_cpu(). */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clock_gettime), 1,
				       SCMP_A0(SCMP_CMP_EQ, CLOCK_PROCESS_CPUTIME_ID));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0),
				       SCMP_A1(SCMP_CMP_EQ, RLIMIT_CPU));
	if (!err && allocates)
		err = allow_memory(filter);
	if (!err)
		err = seccomp_export_bpf(filter, fd);
	if (!err)
		n = pread(fd, instructions, sizeof(instructions), 0);
	if (!err && (n <= 0 || n % (ssize_t)sizeof(instructions[0]) || n == (ssize_t)sizeof(instructions)))
		err = -EINVAL;
	instruction_count = err ? 0 : (unsigned short)((size_t)n / sizeof(instructions[0]));
cleanup:
	if (fd >= 0)
		close(fd);
	seccomp_release(filter);
	return err;
}

static void prepare(void)
{
	error = make_filter(false);
}

int sandbox__prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, prepare);
	return error;
}

static int limit_to(int resource, uint64_t value, uint64_t most)
{
	struct rlimit64 r = { .rlim_cur = value, .rlim_max = most };

	return syscall(SYS_prlimit64, 0, resource, &r, NULL) ? -errno : 0;
}

static int limit(int resource, uint64_t value)
{
	return limit_to(resource, value, value);
}

/* Bytes of its address space; 0 not known. */
static uint64_t address_space(void)
{
	char text[128] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* `growth`: bytes that it may add to what it has. */
static int enter(uint64_t growth)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	struct sock_fprog filter = { .len = instruction_count, .filter = instructions };

	uint64_t size = address_space();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    syscall(SYS_capset, &head, none))
		return -errno;
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NPROC, 0);
	if (size)
		limit(RLIMIT_AS, size + growth);
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
		return 0;
	/* A kernel can be without it.  The limits and the lack of capabilities stay. */
	return errno == EINVAL || errno == ENOSYS ? 0 : -errno;
}

int sandbox__enter(void)
{
	return enter(GROWTH);
}

int sandbox__enter_allocating(uint64_t bytes, unsigned int seconds)
{
	int err = make_filter(true);

	if (!err)
		err = limit_to(RLIMIT_CPU, seconds, seconds + 1);	/* SIGXCPU first, which tells why it ends */
	return err ? err : enter(bytes);
}

int sandbox__limit_cpu(unsigned int seconds)
{
	struct timespec used;
	struct rlimit64 r;

	if (syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &used) ||
	    syscall(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &r))
		return -errno;
	r.rlim_cur = (uint64_t)used.tv_sec + 1 + seconds;
	return syscall(SYS_prlimit64, 0, RLIMIT_CPU, &r, NULL) ? -errno : 0;
}
