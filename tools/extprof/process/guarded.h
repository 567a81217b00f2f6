/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads of memory that is not trusted, by a helper process (parser/helper.h).
 *
 * A process can put its memory on a file system whose server is its own (FUSE).  A read of such a page, of its command
 * line or of its memory map waits in the kernel for as long as that process wants, and no signal ends it.
 *
 * All processes of one user have a common allowance of time that reads are blocked, so that they cannot hold up
 * extprof together, one after the other.
 */
#ifndef EXTPROF_GUARDED_H
#define EXTPROF_GUARDED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/deadline.h"

/* A read is given up after so long; ns. */
#define GUARDED_TIMEOUT 250000000ull
/* How long reads of the processes of one user may be blocked in GUARDED_SHARE_TIME; ns. */
#define GUARDED_SHARE 1000000000ull
#define GUARDED_SHARE_TIME 10000000000ull
/* When those of all users were blocked so long in that time, each read is given up sooner; ns. */
#define GUARDED_SHARE_OF_ALL 2000000000ull
#define GUARDED_SHORT_TIMEOUT 5000000ull

/* No process has memory there. */
#define GUARDED_NO_ADDRESS 0x7fffffffffff0000ll

/* Whose memory is read, and until when. */
struct guarded {
	uid_t user;
	struct deadline *deadline;	/* NULL none */
	uint32_t number;		/* GUARDED_FDINFO: of that descriptor */
};

/*
 * All of these return 0, or -errno of the read.  -ETIMEDOUT: it was given up, or the user has used up its allowance.
 * -EINTR: the deadline is over.  -EFAULT: fewer bytes.  -ESRCH: the memory has no user any more.  -EBUSY: the helper
 * cannot be started now, for want of a process or of files.
 */
/* From `mem`, an open /proc/PID/mem.  `pid`: whose memory that is; 0: read the file itself, wherever that is. */
int guarded__read(const struct guarded *g, pid_t pid, int mem, uint64_t address, void *to, size_t length);
/* A few bytes. */
int guarded__write(const struct guarded *g, int mem, uint64_t address, const void *from, size_t length);
/* By process_vm_readv(2). */
int guarded__read_pid(const struct guarded *g, pid_t pid, uint64_t address, void *to, size_t length);

/* Files of /proc that a process can keep waiting: they show its memory, or ask a file that it has open. */
enum guarded_file { GUARDED_CMDLINE, GUARDED_MAPS, GUARDED_ENVIRON, GUARDED_FDINFO, GUARDED_FILES };
/* `to` has PROC_PATH_MAX bytes.  `number`: as in struct guarded. */
void guarded__path(char *to, pid_t pid, pid_t thread, enum guarded_file file, uint32_t number);

/* Like fopen(): NULL and *err on an error.  It has `max` bytes of the file at most.  The caller closes it. */
FILE *guarded__open(const struct guarded *g, pid_t pid, pid_t thread, enum guarded_file file, size_t max, int *err);

#endif /* EXTPROF_GUARDED_H */
