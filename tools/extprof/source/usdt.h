/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches programs to probes and functions in files.  A kernel that has it (Linux 6.6) gets all places of a file as one
 * link of the kind uprobe_multi, others get a perf event for each place.  To take back either, the kernel waits until no
 * CPU runs what was there, some 50 ms.  Links of the new kind can wait for that together.
 */
#ifndef EXTPROF_USDT_H
#define EXTPROF_USDT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "parser/elf_places.h"

struct bpf_link;
struct bpf_program;

/* The places in one file that a BPF program is attached to.  Zeros: there are none. */
struct usdt_links {
	bool attached;
	uint32_t count;		/* of `each`; 0: `all` is there instead */
	int all;		/* the link of all places */
	struct bpf_link *each[USDT_PLACES_MAX];
};

/* Links that are given back together.  Zeros: none. */
struct usdt_bin {
	int *links;
	uint32_t count;
	size_t room;
};

/* Before the program is loaded: how it is attached later is decided here. */
void usdt__prepare(struct bpf_program *program);

/*
 * Run the program whenever any process reaches one of the places.  While the links live, the kernel keeps the semaphores
 * of each process that has the file mapped above 0.  The file may be closed then.  0 or -errno with the diagnosis: the
 * program is attached to none.
 */
int usdt__attach(struct bpf_program *program, int fd, const struct usdt_place *places, uint32_t count,
		 struct usdt_links *links, struct diag *d);

/* They are gone after this or after usdt_bin__empty(). */
void usdt__detach(struct usdt_links *links, struct usdt_bin *bin);
void usdt_bin__empty(struct usdt_bin *bin);

#endif /* EXTPROF_USDT_H */
