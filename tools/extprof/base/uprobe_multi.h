/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links of the kind uprobe_multi, of which the headers and the library that extprof is built with may know nothing: they are of
 * Linux 6.6.  A header alone, so that the programs on the library can use it, too.
 */
#ifndef EXTPROF_UPROBE_MULTI_H
#define EXTPROF_UPROBE_MULTI_H

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_MULTI_ATTACH 48	/* BPF_TRACE_UPROBE_MULTI */

struct uprobe_multi {		/* the part of union bpf_attr for BPF_LINK_CREATE */
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags, pid, zero;
};

/* Run the program at offsets of the file, in all processes.  semaphores: offsets too, 0 or NULL: none.  A descriptor or -errno. */
static inline int uprobe_multi__create(int program, const char *path, const uint64_t *offsets, const uint64_t *semaphores,
				       uint32_t count)
{
	struct uprobe_multi attr = {
		.program = (uint32_t)program, .attach_type = UPROBE_MULTI_ATTACH,
		.path = (uintptr_t)path, .offsets = (uintptr_t)offsets, .semaphores = (uintptr_t)semaphores, .count = count,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

/* A kernel that has them says of a directory that it is no file.  To try it takes CAP_BPF and CAP_PERFMON. */
static inline bool uprobe_multi__exists(void)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const uint64_t offset = 0;
	union bpf_attr attr;
	int program, err;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.insns = (uintptr_t)nothing;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t)"GPL";
	attr.expected_attach_type = UPROBE_MULTI_ATTACH;
	program = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (program < 0)
		return false;
	err = uprobe_multi__create(program, "/", &offset, NULL, 1);
	close(program);
	if (err >= 0)
		close(err);
	return err == -EBADF;
}

#endif /* EXTPROF_UPROBE_MULTI_H */
