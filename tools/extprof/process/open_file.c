/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/open_file.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "wire/states.h"

/* <linux/magic.h>.  stat() tells other devices of their files than the kernel has in the inode. */
#define OVERLAYFS 0x794c7630
#define BTRFS 0x9123683e

/* The kernel's own form. */
static uint32_t kernel_device(dev_t d)
{
	return (uint32_t)major(d) << 20 | (uint32_t)minor(d);
}

static uint32_t kind_of(const struct stat *st, const char *path)
{
	uint32_t kind = file_kind(st->st_mode);
	char text[64] = "";
	uint64_t name;
	ssize_t n;

	if (kind == FILE_DEVICE && S_ISCHR(st->st_mode))
		return device_kind(major(st->st_rdev));
	if (kind != FILE_OTHER)
		return kind;
	/* "anon_inode:[eventfd]" */
	n = readlink(path, text, sizeof(text) - 1);
	if (n < 0 || strncmp(text, "anon_inode:", 11))
		return FILE_OTHER;
	memcpy(&name, text + 11, sizeof(name));
	return anonymous_kind(name);
}

static void take_unix(const struct sockaddr_un *a, socklen_t size, struct wait_file *file)
{
	size_t head = offsetof(struct sockaddr_un, sun_path);

	if (size <= head || size - head > sizeof(file->path))
		return;
	memcpy(file->path, a->sun_path, size - head);
	file->path_size = (uint32_t)(size - head);
}

static void take_address(const struct sockaddr_storage *a, uint8_t *address, uint16_t *port)
{
	if (a->ss_family == AF_INET) {
		memcpy(address, &((const struct sockaddr_in *)a)->sin_addr, 4);
		*port = ntohs(((const struct sockaddr_in *)a)->sin_port);
	} else {
		memcpy(address, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
		*port = ntohs(((const struct sockaddr_in6 *)a)->sin6_port);
	}
}

/* The socket itself is asked, through a file descriptor of our own.  pidfd_getfd: since 5.6. */
static void look_at_socket(pid_t pid, uint32_t fd, struct wait_file *file)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), copy = -1;
	struct stat st;

	if (pidfd >= 0)
		copy = (int)syscall(SYS_pidfd_getfd, pidfd, (int)fd, 0);
	if (pidfd >= 0)
		close(pidfd);
	if (copy < 0)
		return;
	if (fstat(copy, &st) || st.st_ino != file->inode || getsockname(copy, (void *)&own, &own_size))
		goto cleanup;
	if (getpeername(copy, (void *)&peer, &peer_size))
		peer_size = 0;
	file->family = own.ss_family;
	if (own.ss_family == AF_UNIX) {
		take_unix((void *)&peer, peer_size, file);
		if (!file->path_size)
			take_unix((void *)&own, own_size, file);
	} else if (own.ss_family == AF_INET || own.ss_family == AF_INET6) {
		take_address(&own, file->address, &file->port);
		if (peer_size)
			take_address(&peer, file->peer, &file->peer_port);
	} else {
		file->family = 0;
	}
cleanup:
	close(copy);
}

void open_file__look(pid_t pid, uint32_t fd, bool addresses, struct wait_file *file)
{
	struct stat st;
	char path[64];

	memset(file, 0, sizeof(*file));
	snprintf(path, sizeof(path), "/proc/%d/fd/%u", pid, fd);
	if (stat(path, &st))
		return;
	file->fd = fd + 1;
	file->kind = kind_of(&st, path);
	file->inode = st.st_ino;
	file->device = kernel_device(st.st_dev);
	if (addresses && file->kind == FILE_SOCKET)
		look_at_socket(pid, fd, file);
}

bool open_file__path(pid_t pid, const struct wait_file *file, char *to, size_t size)
{
	struct statfs fs;
	bool same = false;
	struct stat st;
	char path[64];
	ssize_t n;
	int fd;

	if (!file->fd)
		return false;
	/* This holds the file: what is asked is of one and the same.  Nothing is opened for reading. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%u", pid, file->fd - 1);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || st.st_ino != file->inode || fstatfs(fd, &fs) ||
	    (kernel_device(st.st_dev) != file->device && fs.f_type != OVERLAYFS && fs.f_type != BTRFS))
		goto cleanup;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, to, size - 1);
	to[n > 0 ? n : 0] = '\0';
	same = n > 0;
cleanup:
	close(fd);
	return same;
}
