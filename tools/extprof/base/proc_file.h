/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of a process in /proc.  /proc/PID shows the first thread.  After that thread has
 * ended, its maps, mem, exe and cmdline are empty, though other threads may go on with
 * the memory: then the same files are under /proc/PID/task/TID.
 */
#ifndef EXTPROF_PROC_FILE_H
#define EXTPROF_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_PATH_MAX 128	/* bytes that the longest path here needs */

/* Set `path` to that of the file `name` of one thread; `thread` is 0 for the first one. */
void proc__path(char path[PROC_PATH_MAX], pid_t pid, pid_t thread, const char *name);

/* A file of /proc, whole, whatever its size. */
struct proc_text {
	char *text;		/* ends with a NUL */
	size_t length;
	char small[2048];	/* where most of them have room */
};

/*
 * `path` as seen from the directory `dir`, or AT_FDCWD.  0, or -errno and an empty text: -ESRCH there is no such process
 * or thread; -E2BIG; -ENOMEM.  To be freed in any case.
 *
 * Not for a file that shows memory of the process (cmdline, maps): such a read can last for ever.  See process/proc.h.
 */
int proc_text__read(struct proc_text *t, int dir, const char *path);
int proc_text__read_fd(struct proc_text *t, int fd);
void proc_text__free(struct proc_text *t);

/* Fields of /proc/PID/stat. */
struct proc_stat {
	char state;		/* R, S, D, T, t, Z, ...; 0 unknown */
	pid_t parent;
	uint32_t flags;		/* PF_... of the kernel */
	uint32_t threads;
	uint64_t minor_faults, major_faults;
	uint64_t user;		/* time in user space; ticks */
	uint64_t started;	/* after the start of the machine; ticks */
	int cpu;		/* that it runs on, or ran on last; -1 unknown */
	bool realtime;		/* its scheduling policy can keep others from its CPU for long */
};

/* 0 or -errno. */
int proc_stat__read(struct proc_stat *s, pid_t pid, pid_t thread);
void proc_stat__parse(struct proc_stat *s, const char *text);

/* Fields of /proc/PID/status. */
struct proc_status {
	char state;		/* 0 unknown */
	pid_t group, parent, tracer;	/* 0 unknown; tracer: none */
	uint32_t users[4];	/* real, effective, saved, of file systems */
	uint32_t inner;		/* its number in the innermost pid namespace that it is in; 0: the kernel has none */
	uint64_t voluntary, involuntary;	/* context switches */
};

int proc_status__read(struct proc_status *s, pid_t pid, pid_t thread);
void proc_status__parse(struct proc_status *s, const char *text);

/* Its name, as the kernel has it, which is not clean; "": it is gone. */
void proc__comm(pid_t pid, pid_t thread, char *comm, size_t size);
/* Its resident memory in bytes, which the kernel tells faster than all of `status'; 0: it has none any more, or is gone. */
uint64_t proc__resident(pid_t pid);

#endif /* EXTPROF_PROC_FILE_H */
