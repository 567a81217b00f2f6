/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/permission.h"
#include "source/usdt.h"

struct bpf_link *usdt__attach(struct bpf_program *program, int fd, const struct usdt_place *place, struct diag *d)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = place->semaphore);
	struct bpf_link *link;
	char path[64];
	int err;

	/* The kernel follows this to the open file, wherever that is, also if it has been deleted. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	link = bpf_program__attach_uprobe_opts(program, -1, path, place->offset, &opts);
	if (link)
		return link;
	err = -errno;
	if (err == -EPERM || err == -EACCES) {
		permission__missing(d, err, "attach a BPF program to a probe");
		return NULL;
	}
	diag__set(d, DIAG_NO_BPF, -err, "cannot attach to a probe of the program: %s", strerror(-err));
	diag__hint(d, "probes need a kernel with CONFIG_UPROBE_EVENTS");
	return NULL;
}
