/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads facts about a process from /proc, and tells whether its memory may be read directly. */
#ifndef EXTPROF_PROC_H
#define EXTPROF_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/proc_file.h"
#include "process/guarded.h"

/*
 * May memory of the process be read directly?  It may if the process can do no more than extprof itself: it has the
 * same user and the same namespaces, so it cannot wait for anything that extprof's user could not have it wait for.
 * Memory of others is read by guarded.h.  *user: who is to answer for it; unchanged if it is gone.
 */
bool proc__is_trusted(pid_t pid, uid_t *user);
/* Has it all of its numbers from extprof's user?  A quick answer: false also if it is gone, and before Linux 6.13. */
bool proc__is_of_own_user(pid_t pid);

/* Open a file that shows memory of the process, whoever it belongs to.  NULL and errno on an error. */
FILE *proc__open(pid_t pid, pid_t thread, enum guarded_file file);
/* Open /proc/PID/fdinfo/FD.  For an epoll(7) descriptor the read waits until each file in its queue answers poll(2). */
FILE *proc__open_fdinfo(pid_t pid, uint32_t fd);

/* The inode of its program; 0 unknown. */
uint64_t proc__exe(pid_t pid, pid_t thread);

/* Has the thread begun to exit, or is it gone?  It loses its memory when it begins. */
bool proc__is_exiting(pid_t pid, pid_t thread);

/* Another thread than the first one that has its memory: its tid as seen from here, 0 none. */
pid_t proc__other_thread(pid_t pid);

/* CPU time that all threads of the process have used, those that ended too, ns.  0: there is no such process. */
uint64_t proc__cpu_time(pid_t pid);
/* When the process began: CLOCK_BOOTTIME in ns, rounded down to the kernel's tick.  0: there is no such process. */
uint64_t proc__started(pid_t pid);

/* Its working directory, and the file of its program, clean; the caller frees them.  NULL: unknown. */
char *proc__cwd(pid_t pid);
char *proc__executable(pid_t pid);

/* Is the /proc here that of another pid namespace?  Its pids are other processes then. */
bool proc__is_of_others(void);

/*
 * A file of a process that is kept open.  If too few would be left for all else that extprof opens, it is closed again:
 * -1 and EMFILE, as from open().
 */
int proc__keep_file(int fd);

/* Set the diagnosis for EMFILE or ENFILE, with a hint what to do.  Returns -err. */
int proc__no_descriptors(struct diag *d, int err, pid_t pid);

/* A hint what to do when a process may not be read. */
const char *proc__advice(void);

#endif /* EXTPROF_PROC_H */
