/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/text.h"

/* The target chooses how many threads it has.  Those of /proc that end are gone at once, so
 * that the first ones seen are alive. */
#define THREADS_SEEN_MAX 1024

#define SECOND 1000000000ull
/* Files that are left for others than those of processes. */
#define SPARE_FILES 64u
/* User namespaces, one within the other: as many as the kernel allows. */
#define NAMESPACES_MAX 34
/* Limit of a memory map or a command line; bytes. */
#define MEMORY_FILE_MAX (32u << 20)

#define PF_EXITING 4	/* include/linux/sched.h, unchanged since 2.6 */

/* The number of a file; 0 unknown.  Nobody is asked for it whose file system that is. */
static uint64_t inode_of(pid_t pid, pid_t thread, const char *name)
{
	char path[PROC_PATH_MAX];
	struct statx x;

	proc__path(path, pid, thread, name);
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &x) ? 0 : x.stx_ino;
}

uint64_t proc__exe(pid_t pid, pid_t thread)
{
	return inode_of(pid, thread, "exe");
}

/* How long extprof's own namespaces are taken for the same; ns. */
#define OWN_NAMESPACES_INTERVAL 1000000000ull

/* Namespaces by which a process is trusted. */
enum own_namespace { OWN_USER, OWN_MOUNT, OWN_NAMESPACES };

static const char *const namespace_files[OWN_NAMESPACES] = { "ns/user", "ns/mnt" };

/* Not kept for longer: a program that has extprof as a library can enter another namespace. */
static uint64_t own_namespace(enum own_namespace which)
{
	static _Thread_local uint64_t inodes[OWN_NAMESPACES];
	static _Thread_local uint64_t asked_at;
	static _Thread_local pid_t of;
	uint64_t now = deadline__now();

	if (of != getpid() || now >= asked_at + OWN_NAMESPACES_INTERVAL) {
		of = getpid();
		asked_at = now;
		for (int i = 0; i < OWN_NAMESPACES; i++)
			inodes[i] = inode_of(of, 0, namespace_files[i]);
	}
	return inodes[which];
}

/* Has the process the same namespace of that kind as extprof? */
static bool shares(pid_t pid, enum own_namespace which)
{
	uint64_t its = inode_of(pid, 0, namespace_files[which]);

	return its && its == own_namespace(which);
}

/*
 * The user who made the user namespace of the process: of several, the one directly below the namespace of extprof.
 * `user`: the maker cannot be told.  A user can have thousands of uids in a namespace of its own; they all count as
 * that user.
 */
static uid_t maker_of_namespace(pid_t pid, uid_t user)
{
	uint64_t own = own_namespace(OWN_USER);
	char path[PROC_PATH_MAX];
	uid_t maker = 0;
	int fd, parent;

	proc__path(path, pid, 0, "ns/user");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < NAMESPACES_MAX; i++, fd = parent) {
		struct stat st;

		if (ioctl(fd, NS_GET_OWNER_UID, &maker))
			maker = 0;
		parent = ioctl(fd, NS_GET_PARENT);
		close(fd);
		if (parent < 0)
			return user;
		if (!fstat(parent, &st) && st.st_ino == own) {
			close(parent);
			/* Root makes containers for anybody, so root as the maker tells nothing. */
			return maker ? maker : user;
		}
	}
	if (fd >= 0)
		close(fd);
	return user;
}

bool proc__is_trusted(pid_t pid, uid_t *user)
{
	uid_t own = geteuid();
	bool trusted = true;
	struct proc_status s;

	/* The owner of the files in /proc does not tell the user: the files of a process that may not be dumped belong
	 * to root. */
	if (proc_status__read(&s, pid, 0))
		return false;
	for (int i = 0; i < 4; i++)
		trusted &= s.users[i] == own;
	/* The process can change its other numbers. */
	*user = s.users[0];
	if (!shares(pid, OWN_USER)) {
		*user = maker_of_namespace(pid, *user);
		return false;
	}
	return trusted && shares(pid, OWN_MOUNT);
}

/* The head of struct pidfd_info, since Linux 6.13. */
struct pidfd_info_head {
	uint64_t mask, cgroup;
	uint32_t pid, group, parent;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define PIDFD_INFO_OF_USERS 1	/* PIDFD_INFO_PID and PIDFD_INFO_CREDS are in any answer */
#define PIDFD_GET_INFO_HEAD _IOWR(0xff, 11, struct pidfd_info_head)
_Static_assert(sizeof(struct pidfd_info_head) == 64, "as large as in the first kernels that have it");

bool proc__is_of_own_user(pid_t pid)
{
	struct pidfd_info_head info = { .mask = PIDFD_INFO_OF_USERS };
	uid_t own = geteuid();
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), err;

	if (fd < 0)
		return false;
	err = ioctl(fd, PIDFD_GET_INFO_HEAD, &info);
	close(fd);
	return !err && info.ruid == own && info.euid == own && info.suid == own && info.fsuid == own;
}

static FILE *open_guarded(pid_t pid, pid_t thread, enum guarded_file file, uint32_t number)
{
	char at[PROC_PATH_MAX];
	struct guarded g = { .number = number };
	FILE *f;
	int err;

	if (proc__is_trusted(pid, &g.user)) {
		guarded__path(at, pid, thread, file, number);
		return fopen(at, "re");
	}
	f = guarded__open(&g, pid, thread, file, MEMORY_FILE_MAX, &err);
	errno = -err;
	return f;
}

FILE *proc__open(pid_t pid, pid_t thread, enum guarded_file file)
{
	return open_guarded(pid, thread, file, 0);
}

FILE *proc__open_fdinfo(pid_t pid, uint32_t fd)
{
	return open_guarded(pid, 0, GUARDED_FDINFO, fd);
}

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

/* Where a link in /proc leads. */
static char *target_of(pid_t pid, const char *link)
{
	static const char deleted[] = " (deleted)";
	char path[PROC_PATH_MAX], to[PATH_MAX];
	struct text clean = { 0 };
	ssize_t length;

	proc__path(path, pid, 0, link);
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

char *proc__cwd(pid_t pid)
{
	return target_of(pid, "cwd");
}

char *proc__executable(pid_t pid)
{
	return target_of(pid, "exe");
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
