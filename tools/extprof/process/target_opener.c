/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs in a helper: nothing here allocates memory.  See target_file.h. */
#include "process/target_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/proc.h"

#define GROUPS_MAX 65536	/* NGROUPS_MAX */
#define STATUS_MAX (1u << 20)	/* of a process in so many groups */
#define DAC_CAPABILITIES (1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH)
/* All that the kernel takes from who sets another user for files. */
#define FILE_CAPABILITIES (DAC_CAPABILITIES | 1ull << CAP_CHOWN | 1ull << CAP_FOWNER | 1ull << CAP_FSETID | \
	1ull << CAP_LINUX_IMMUTABLE | 1ull << CAP_MKNOD | 1ull << CAP_MAC_OVERRIDE)

/* Not in the headers of all systems. */
#define TRACEFS 0x74726163
#define CONFIGFS 0x62656570
#define FUSECTL 0x65735543
#define MQUEUE 0x19800202

/* With what rights files are opened. */
struct rights {
	uid_t uid;
	gid_t gid;
	gid_t groups[GROUPS_MAX];
	int group_count;
	uint64_t capabilities;	/* of those to override permissions */
};

static struct rights own, wanted;
static uint64_t permitted;	/* capabilities */
static struct {
	uint64_t session;	/* 0: none */
	int root;		/* directory; -1 none */
	int err;		/* of taking its rights */
} current = { .root = -1 };

static int opener__begin(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &head, data))
		return -errno;
	permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	own.uid = (uid_t)syscall(SYS_setfsuid, -1);
	own.gid = (gid_t)syscall(SYS_setfsgid, -1);
	own.group_count = (int)syscall(SYS_getgroups, GROUPS_MAX, own.groups);
	own.capabilities = permitted & DAC_CAPABILITIES;
	return own.group_count < 0 ? -errno : 0;
}

static int set_capabilities(uint64_t effective)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)effective, .permitted = (uint32_t)permitted },
		{ .effective = (uint32_t)(effective >> 32), .permitted = (uint32_t)(permitted >> 32) },
	};

	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

/*
 * -EACCES: they cannot be taken.  Those of the same user can always: what that user may read, another process of
 * the same user cannot be kept from.
 */
static int take_rights(const struct rights *r)
{
	bool all = !syscall(SYS_setgroups, (size_t)r->group_count, r->groups);

	syscall(SYS_setfsgid, r->gid);
	syscall(SYS_setfsuid, r->uid);
	if ((uid_t)syscall(SYS_setfsuid, -1) != r->uid)
		return -EACCES;
	all = all && (gid_t)syscall(SYS_setfsgid, -1) == r->gid;
	all = !set_capabilities(permitted & (~FILE_CAPABILITIES | r->capabilities)) && all;
	return all || r->uid == own.uid ? 0 : -EACCES;
}

static void take_own_rights(void)
{
	set_capabilities(permitted);
	take_rights(&own);
}

/* -- the rights of a process ----------------------------------------------------------------- */

static bool is_in_our_user_namespace(int proc)
{
	struct stat a, b;

	return !fstatat(proc, "ns/user", &a, 0) && !stat("/proc/self/ns/user", &b) && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

/* Behind "\nUid:" and the like.  The name of the program is before all others, on one line. */
static const char *value_of(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? at + strlen(key) : "";
}

static unsigned long fourth(const char *at)
{
	char *end = (char *)at;
	unsigned long value = UINT_MAX;

	for (int i = 0; i < 4; i++)
		value = strtoul(at = end, &end, 10);
	return end == at ? UINT_MAX : value;
}

static int read_rights(int proc, struct rights *r)
{
	static char status[STATUS_MAX];
	int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
	const char *at;
	size_t size = 0;
	ssize_t n;
	char *end;

	if (fd < 0)
		return -errno;
	while (size < sizeof(status) - 1 && (n = read(fd, status + size, sizeof(status) - 1 - size)) > 0)
		size += (size_t)n;
	close(fd);
	status[size] = '\0';
	r->uid = (uid_t)fourth(value_of(status, "\nUid:"));
	r->gid = (gid_t)fourth(value_of(status, "\nGid:"));
	if (size == sizeof(status) - 1 || r->uid == (uid_t)-1 || r->gid == (gid_t)-1)
		return -EACCES;
	r->group_count = 0;
	at = value_of(status, "\nGroups:");
	while (*at == '\t' || *at == ' ')
		at++;
	while (*at >= '0' && *at <= '9' && r->group_count < GROUPS_MAX) {
		r->groups[r->group_count++] = (gid_t)strtoul(at, &end, 10);
		at = end + (*end == ' ');
	}
	/* Those of another user namespace say nothing about files of this one. */
	r->capabilities = is_in_our_user_namespace(proc) ? strtoull(value_of(status, "\nCapEff:"), NULL, 16) &
			  DAC_CAPABILITIES : 0;
	return 0;
}

/* -- files ------------------------------------------------------------------------------------ */

/* Its files are made when they are read, and to read them can have effects. */
static bool is_of_the_kernel(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	switch ((uint32_t)fs.f_type) {
	case PROC_SUPER_MAGIC: case SYSFS_MAGIC: case DEBUGFS_MAGIC: case TRACEFS: case CONFIGFS: case FUSECTL:
	case SECURITYFS_MAGIC: case SELINUX_MAGIC: case SMACK_MAGIC: case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC: case BPF_FS_MAGIC: case EFIVARFS_MAGIC: case PSTOREFS_MAGIC: case MQUEUE:
	case NSFS_MAGIC: case BINFMTFS_MAGIC: case DEVPTS_SUPER_MAGIC: case USBDEVICE_SUPER_MAGIC:
		return true;
	}
	return false;
}

/* Look at what `path` (O_PATH) is.  0 or -errno. */
static int look(int path, const struct opener_request *r, struct stat *st)
{
	if (fstat(path, st))
		return -errno;
	if (!S_ISREG(st->st_mode) || is_of_the_kernel(path))
		return -EINVAL;
	return st->st_size < 0 || (uint64_t)st->st_size > r->size_max ? -EFBIG : 0;
}

/* Open what was looked at, for reading.  Takes `path`. */
static int open_again(int path, const struct opener_request *r, struct stat *st)
{
	char link[64];
	int err = look(path, r, st), fd;

	if (!err) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
		/* It does not wait for who has a lease on the file. */
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		err = fd < 0 ? -errno : fd;
	}
	close(path);
	return err;
}

static int open_link(int proc, const char *name, const struct opener_request *r, struct stat *st)
{
	int path = openat(proc, name, O_PATH | O_CLOEXEC);

	return path < 0 ? -errno : open_again(path, r, st);
}

/* O_PATH, with the rights that were taken. */
static int find(const struct opener_request *r)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int path;

	if (r->of_user)
		how.resolve = 0;
	if (r->no_link)
		how.flags |= O_NOFOLLOW;
	path = (int)syscall(SYS_openat2, current.root, r->path, &how, sizeof(how));

	return path < 0 ? -errno : path;
}

static int read_line(int fd, const struct opener_request *r, struct opener_answer *answer)
{
	static char part[65536];
	int32_t at = 1;
	off_t offset = 0;
	ssize_t n;

	while (offset < (off_t)r->size_max && at <= r->line && (n = pread(fd, part, sizeof(part), offset)) > 0) {
		for (const char *p = part, *end = part + n, *next; p < end && at <= r->line; p = next) {
			const char *newline = memchr(p, '\n', (size_t)(end - p));
			size_t length = (size_t)((newline ? newline : end) - p);

			if (at == r->line) {
				if (length > sizeof(answer->line) - answer->size)
					length = sizeof(answer->line) - answer->size;
				memcpy(answer->line + answer->size, p, length);
				answer->size += (uint32_t)length;
			}
			at += newline != NULL;
			next = newline ? newline + 1 : end;
		}
		offset += n;
	}
	return answer->size ? 0 : -ENOENT;
}

/* The first line that ends with that text; longer ones than an answer has room for are none. */
static int find_line(int fd, const struct opener_request *r, struct opener_answer *answer)
{
	const char *ending = r->path + strlen(r->path) + 1;
	size_t ending_length = strlen(ending), length = 0;
	static char part[65536];
	off_t offset = 0;
	ssize_t n;

	while (offset < (off_t)r->size_max && (n = pread(fd, part, sizeof(part), offset)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (part[i] != '\n') {
				if (length < sizeof(answer->line))
					answer->line[length] = part[i];
				length++;
				continue;
			}
			if (length >= ending_length && length <= sizeof(answer->line) &&
			    !memcmp(answer->line + length - ending_length, ending, ending_length)) {
				answer->size = (uint32_t)length;
				return 0;
			}
			length = 0;
		}
		offset += n;
	}
	return -ENOENT;
}

static int open_mapped(int proc, const struct opener_request *r, struct stat *st)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, r->start, r->end);
	fd = open_link(proc, link, r, st);
	if (fd < 0 && r->is_exe)
		fd = open_link(proc, "exe", r, st);
	return fd;
}

/* Root directory and rights of the process, unless they are those that we have. */
static void enter(int proc, const struct opener_request *r)
{
	if (current.session == r->session)
		return;
	if (current.root >= 0)
		close(current.root);
	current.session = r->session;
	current.root = proc >= 0 ? openat(proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC) :
		       open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	current.err = current.root < 0 ? -errno : 0;
	if (current.err)
		return;
	if (r->pid) {
		current.err = read_rights(proc, &wanted);
	} else {
		wanted.uid = r->uid;
		wanted.gid = r->gid;
		wanted.group_count = 0;
		wanted.capabilities = r->uid ? 0 : DAC_CAPABILITIES;
	}
}

/* In place of the file: what can hang is read here. */
static int copy(int *fd, const struct opener_request *r)
{
	int to = memfd_create("extprof-source", MFD_CLOEXEC), err = to < 0 ? -errno : 0;
	static char part[65536];
	off_t offset = 0;
	ssize_t n = 1;

	while (!err && n > 0 && (uint64_t)offset < r->size_max) {
		n = pread(*fd, part, sizeof(part), offset);
		if (n < 0 || (n && pwrite(to, part, (size_t)n, offset) != n))
			err = -EIO;
		else
			offset += n;
	}
	if (err) {
		if (to >= 0)
			close(to);
		return err;
	}
	close(*fd);
	*fd = to;
	return 0;
}

static int work_by_path(const struct opener_request *r, struct opener_answer *answer, int *fd)
{
	int path, err;

	path = find(r);
	if (path < 0)
		return path;
	if (r->work == STAT_PATH) {
		err = look(path, r, &answer->st);
		close(path);
		return err;
	}
	*fd = open_again(path, r, &answer->st);
	if (*fd < 0)
		return *fd;
	/* Another inode: the file was replaced after it had been mapped. */
	if (r->work == OPEN_MAPPED && answer->st.st_ino != r->inode)
		return -ENOENT;
	if (r->work == COPY_PATH)
		return copy(fd, r);
	if (r->work == FIND_LINE)
		return find_line(*fd, r, answer);
	return r->work == READ_LINE ? read_line(*fd, r, answer) : 0;
}

static int opener__work(const void *data, size_t size, int *fd, void *to)
{
	const struct opener_request *r = data;
	struct opener_answer *answer = to;
	char path[PROC_PATH_MAX];
	int proc = -1, err;

	if (size <= sizeof(*r) || r->path[size - sizeof(*r) - 1] ||
	    (r->work == FIND_LINE && strlen(r->path) + 1 >= size - sizeof(*r)))
		return -EINVAL;
	/* The directory is that of this one process, also if another one gets its pid meanwhile. */
	if (r->pid) {
		proc__path(path, r->pid, r->thread, ".");
		proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (proc < 0)
			return -ENOENT;
	}
	if (r->work == OPEN_MAPPED) {
		*fd = open_mapped(proc, r, &answer->st);
		err = *fd < 0 ? *fd : 0;
		/* If the links of the process cannot be opened, the path may work. */
		if (!err || err == -EINVAL || err == -EFBIG)
			goto cleanup;
	}
	enter(proc, r);
	err = current.err ? current.err : take_rights(&wanted);
	if (!err)
		err = work_by_path(r, answer, fd);
	take_own_rights();
cleanup:
	/* A result other than 0 has no file. */
	if (*fd >= 0 && (err || r->work == READ_LINE || r->work == FIND_LINE)) {
		close(*fd);
		*fd = -1;
	}
	if (*fd < 0)
		*fd = -1;
	if (proc >= 0)
		close(proc);
	return err;
}

const struct helper_role target_opener = {
	.name = "extprof-files",
	.answer_size = sizeof(struct opener_answer),
	.begin = opener__begin,
	.work = opener__work,
};
