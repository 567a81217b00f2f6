/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/proc.h"

static int open_regular(const char *path)
{
	/* The target chooses the path: it may be a FIFO or a device. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	return fd;
}

int mapped_file__open(pid_t pid, pid_t thread, const struct mapping *mapping)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char path[PROC_PATH_MAX];
	struct stat st;
	int root, fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
		 mapping->end);
	fd = open_regular(path);
	if (fd >= 0)
		return fd;
	/* map_files needs CAP_CHECKPOINT_RESTORE, and the first thread.  The files below do not. */
	if (mapping->is_exe) {
		proc__path(path, pid, thread, "exe");
		fd = open_regular(path);
		if (fd >= 0)
			return fd;
	}
	proc__path(path, pid, thread, "root");
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, root, mapping->path, &how, sizeof(how));
	close(root);
	/* Another inode: the file was replaced after it had been mapped. */
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != mapping->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int mapped_file__open_at(pid_t pid, pid_t thread, uint64_t address, uint64_t *offset)
{
	char path[PROC_PATH_MAX], line[PATH_MAX + 128];
	uint64_t exe_inode = 0;
	struct stat st;
	int fd = -ENOENT;
	FILE *f;

	proc__path(path, pid, thread, "exe");
	if (!stat(path, &st))
		exe_inode = st.st_ino;
	proc__path(path, pid, thread, "maps");
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		struct mapping m = { 0 };
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*x:%*x %" SCNu64 " %n",
			   &m.start, &m.end, &m.offset, &m.inode, &at) < 4 || !at)
			continue;
		if (address < m.start || address >= m.end)
			continue;
		if (!m.inode || line[at] != '/')
			break;
		line[strcspn(line, "\n")] = '\0';
		m.is_exe = m.inode == exe_inode;
		m.path = line + at;
		fd = mapped_file__open(pid, thread, &m);
		if (fd < 0)
			fd = -ENOENT;
		*offset = m.offset + (address - m.start);
		break;
	}
	fclose(f);
	return fd;
}
