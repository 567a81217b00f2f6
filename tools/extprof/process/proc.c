/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

/* The target chooses how many threads it has.  Those of /proc that end are gone at once, so
 * that the first ones seen are alive. */
#define THREADS_SEEN_MAX 1024

#define SECOND 1000000000ull
/* Files that are left for others than those of processes. */
#define SPARE_FILES 64u

#define PF_EXITING 4	/* include/linux/sched.h, unchanged since 2.6 */

bool proc__is_exiting(pid_t pid, pid_t thread)
{
	struct proc_stat s;

	return proc_stat__read(&s, pid, thread) || !s.state || s.flags & PF_EXITING;
}

pid_t proc__other_thread(pid_t pid)
{
	char path[PROC_PATH_MAX];
	struct dirent *entry;
	pid_t found = 0;
	DIR *dir;

	proc__path(path, pid, 0, "task");
	dir = opendir(path);
	if (!dir)
		return 0;
	for (int i = 0; !found && i < THREADS_SEEN_MAX && (entry = readdir(dir)); i++) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread > 0 && thread != pid && !proc__is_exiting(pid, thread))
			found = thread;
	}
	closedir(dir);
	return found;
}

uint64_t proc__cpu_time(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

uint64_t proc__started(pid_t pid)
{
	struct proc_stat s;

	return proc_stat__read(&s, pid, 0) ? 0 : s.started * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

int proc__keep_file(int fd)
{
	struct rlimit r;
	rlim_t spare;

	if (fd < 0)
		return fd;
	/* Each new file gets the lowest number that is free. */
	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == RLIM_INFINITY)
		return fd;
	spare = r.rlim_cur / 4 < SPARE_FILES ? r.rlim_cur / 4 : SPARE_FILES;
	if ((rlim_t)fd < r.rlim_cur - spare)
		return fd;
	close(fd);
	errno = EMFILE;
	return -1;
}

int proc__no_descriptors(struct diag *d, int err, pid_t pid)
{
	struct rlimit r = { 0 };

	getrlimit(RLIMIT_NOFILE, &r);
	if (err == EMFILE)
		diag__set(d, DIAG_INTERNAL, err, "process %d cannot be opened: extprof has as many open files as it may have "
			  "(%llu)", pid, (unsigned long long)r.rlim_cur);
	else
		diag__set(d, DIAG_INTERNAL, err, "process %d cannot be opened: the machine has as many open files as it may "
			  "have", pid);
	diag__hint(d, err == EMFILE ? "raise the limit (ulimit -n), or choose fewer processes" :
				      "raise fs.file-max (sysctl), or choose fewer processes");
	return -err;
}

char *proc__cwd(pid_t pid)
{
	static const char deleted[] = " (deleted)";
	char path[PROC_PATH_MAX], to[PATH_MAX];
	struct text clean = { 0 };
	ssize_t length;

	proc__path(path, pid, 0, "cwd");
	length = readlink(path, to, sizeof(to));
	/* The link can be changed by what it belongs to; it is only a text here. */
	if (length <= 0 || length == sizeof(to) || to[0] != '/')
		return NULL;
	if ((size_t)length > sizeof(deleted) && !memcmp(to + length - sizeof(deleted) + 1, deleted, sizeof(deleted) - 1))
		length -= (ssize_t)sizeof(deleted) - 1;
	text__add_clean(&clean, to, (size_t)length, TEXT_NAME_MAX);
	if (!clean.failed)
		return clean.data;
	text__free(&clean);
	return NULL;
}

bool proc__is_of_others(void)
{
	char text[32] = "";

	return readlink("/proc/self", text, sizeof(text) - 1) < 0 || strtol(text, NULL, 10) != getpid();
}

/* Have users other numbers here than in the first user namespace? */
static bool in_user_namespace(void)
{
	unsigned int inside = 0, outside = 0, count = UINT32_MAX;
	FILE *f = fopen("/proc/self/uid_map", "re");

	if (f && fscanf(f, "%u %u %u", &inside, &outside, &count) != 3)
		count = UINT32_MAX;
	if (f)
		fclose(f);
	return inside || outside || count != UINT32_MAX;
}

const char *proc__advice(void)
{
	if (proc__is_of_others())
		return "/proc shows another pid namespace than that of extprof, where pids mean other processes: mount the right "
		       "one (mount -t proc proc /proc), or run extprof outside of the container";
	if (in_user_namespace())
		return "extprof runs in a user namespace, where it may read only processes of the same user in this namespace "
		       "(and see /proc/sys/kernel/yama/ptrace_scope): run extprof in the namespace of the process, or outside";
	return "run extprof as the user of the process (and see /proc/sys/kernel/yama/ptrace_scope), as root, or with "
	       "CAP_SYS_PTRACE";
}
