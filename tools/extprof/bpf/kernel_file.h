/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads what the kernel knows about open files.  Unit tests replace this file together with kernel.h. */
#ifndef EXTPROF_KERNEL_FILE_H
#define EXTPROF_KERNEL_FILE_H

#include "wire/wait_details.h"
#include "wire/states.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr___kernel {
	uint8_t bytes[16];
};

struct sock_common {
	uint32_t skc_daddr, skc_rcv_saddr;	/* in the order of the network */
	uint16_t skc_dport;			/* the same */
	uint16_t skc_num;
	unsigned short skc_family;
	struct in6_addr___kernel skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
};

struct socket {
	struct sock *sk;
};

struct sockaddr_un___kernel {
	unsigned short sun_family;
	char sun_path[WAIT_DETAIL_PATH_SIZE];
};

struct unix_address {
	int len;
	struct sockaddr_un___kernel name[1];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

#pragma clang attribute pop

/* An open file of the task; NULL: there is none, or it cannot be read. */
static __always_inline struct file *task__file(struct task_struct *task, uint32_t fd)
{
	struct files_struct *files = KERNEL_READ(task, files);
	struct file **fds, *file = NULL;
	struct fdtable *table;
	unsigned int max = 0;

	if (!files || bpf_core_read(&table, sizeof(table), &files->fdt) ||
	    bpf_core_read(&max, sizeof(max), &table->max_fds) || fd >= max ||
	    bpf_core_read(&fds, sizeof(fds), &table->fd) ||
	    bpf_probe_read_kernel(&file, sizeof(file), fds + fd))
		return NULL;
	return file;
}

/* The kind of a file that is in no file system. */
static __always_inline uint32_t file__anonymous_kind(struct file *file)
{
	const unsigned char *name = NULL;
	struct dentry *dentry = NULL;
	uint64_t text = 0;	/* of little-endian machines */

	if (bpf_core_read(&dentry, sizeof(dentry), &file->f_path.dentry) || !dentry ||
	    bpf_core_read(&name, sizeof(name), &dentry->d_name.name) || !name ||
	    bpf_probe_read_kernel(&text, sizeof(text), name))
		return FILE_OTHER;
	return anonymous_kind(text);
}

/* enum file_kind */
static __always_inline uint32_t file__kind(struct file *file)
{
	struct inode *inode = NULL;
	unsigned short mode = 0;
	unsigned int device = 0;
	uint32_t kind;

	if (bpf_core_read(&inode, sizeof(inode), &file->f_inode) || !inode ||
	    bpf_core_read(&mode, sizeof(mode), &inode->i_mode))
		return FILE_UNKNOWN;
	kind = file_kind(mode);
	if (kind == FILE_OTHER)
		return file__anonymous_kind(file);
	if (kind == FILE_DEVICE && (mode & 0170000) == 0020000 &&
	    !bpf_core_read(&device, sizeof(device), &inode->i_rdev))
		return device_kind(device >> 20);
	return kind;
}

/* The path of a unix socket.  *to is all zero there. */
static __always_inline int unix__path(struct unix_sock *u, struct wait_file *to)
{
	struct unix_address *address = NULL;
	int size = 0;

	if (bpf_core_read(&address, sizeof(address), &u->addr) || !address ||
	    bpf_core_read(&size, sizeof(size), &address->len))
		return -1;
	size -= 2;	/* of the family */
	if (size <= 0 || size > (int)WAIT_DETAIL_PATH_SIZE ||
	    bpf_probe_read_kernel(to->path, WAIT_DETAIL_PATH_SIZE, (const char *)address +
				  bpf_core_field_offset(address->name) + 2))
		return -1;
	to->path_size = (uint32_t)size;
	return 0;
}

static __always_inline void socket__describe(struct socket *socket, struct wait_file *to)
{
	struct sock *sk = NULL, *peer = NULL;
	struct sock_common *common;
	unsigned short family = 0;

	if (bpf_core_read(&sk, sizeof(sk), &socket->sk) || !sk)
		return;
	common = (void *)sk + bpf_core_field_offset(sk->__sk_common);
	if (bpf_core_read(&family, sizeof(family), &common->skc_family))
		return;
	switch (family) {
	case WAIT_DETAIL_INET:
		bpf_core_read(to->address, 4, &common->skc_rcv_saddr);
		bpf_core_read(to->peer, 4, &common->skc_daddr);
		break;
	case WAIT_DETAIL_INET6:
		if (!bpf_core_field_exists(common->skc_v6_daddr))
			return;
		bpf_core_read(to->address, 16, &common->skc_v6_rcv_saddr);
		bpf_core_read(to->peer, 16, &common->skc_v6_daddr);
		break;
	case WAIT_DETAIL_UNIX: {
		struct unix_sock *u = (void *)sk;

		if (!bpf_core_type_exists(struct unix_sock))
			return;
		if (bpf_core_read(&peer, sizeof(peer), &u->peer) || !peer || unix__path((void *)peer, to))
			unix__path(u, to);
		break;
	}
	default:
		return;
	}
	to->family = family;
	if (family == WAIT_DETAIL_UNIX)
		return;
	bpf_core_read(&to->port, sizeof(to->port), &common->skc_num);
	bpf_core_read(&to->peer_port, sizeof(to->peer_port), &common->skc_dport);
	to->peer_port = __builtin_bswap16(to->peer_port);
}

/* All but the file descriptor.  `to` is in a map. */
static __always_inline void file__describe(struct file *file, struct wait_file *to)
{
	struct super_block *super = NULL;
	struct socket *socket = NULL;
	struct inode *inode = NULL;
	unsigned long number = 0;

	__builtin_memset(to, 0, sizeof(*to));
	to->kind = file__kind(file);
	if (bpf_core_read(&inode, sizeof(inode), &file->f_inode) || !inode)
		return;
	bpf_core_read(&number, sizeof(number), &inode->i_ino);
	to->inode = number;
	if (!bpf_core_read(&super, sizeof(super), &inode->i_sb) && super)
		bpf_core_read(&to->device, sizeof(to->device), &super->s_dev);
	if (to->kind == FILE_SOCKET && !bpf_core_read(&socket, sizeof(socket), &file->private_data) && socket)
		socket__describe(socket, to);
}

#endif /* EXTPROF_KERNEL_FILE_H */
