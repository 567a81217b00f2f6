/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes that a program has compiled in (USDT): notes in its file say where they are, where their
 * semaphores are, and where their arguments.  The format is that of SystemTap's <sys/sdt.h>.
 */
#ifndef EXTPROF_USDT_H
#define EXTPROF_USDT_H

#include <stdint.h>

#include "base/diag.h"
#include "wire/usdt.h"

struct bpf_link;
struct bpf_program;

/* Places of one probe: a compiler copies it with the code that it is in. */
#define USDT_PLACES_MAX 16u

struct usdt_place {
	uint64_t address;	/* before relocation */
	uint64_t offset;	/* in the file */
	uint64_t semaphore;	/* offset in the file; 0: it has none */
	struct usdt_arguments arguments;
};

struct usdt {
	struct usdt_place places[USDT_PLACES_MAX];
	uint32_t count;		/* at least 1 */
};

/*
 * Find the probe in an ELF file of this machine.  The file is not trusted.  0, or -errno with the diagnosis:
 * -ENOENT it has no such probe; -E2BIG it has more places, or more notes than are read; -EINVAL the file
 * is damaged.
 */
int usdt__find(int fd, const char *provider, const char *name, struct usdt *usdt, struct diag *d);

/* The address, before relocation, of what is at `offset` in the file.  0 or -ENOENT. */
int usdt__address(int fd, uint64_t offset, uint64_t *address);

/*
 * Run the program whenever any process reaches the place.  While the link lives, the kernel keeps the
 * semaphore of each process that has the file mapped above 0.  The file may be closed then.
 * NULL with the diagnosis.
 */
struct bpf_link *usdt__attach(struct bpf_program *program, int fd, const struct usdt_place *place, struct diag *d);

/* Read "8@%rdi 8@%rsi".  Arguments that are in no register of 64 bits are not available. */
void usdt__parse_arguments(const char *text, struct usdt_arguments *arguments);

#endif /* EXTPROF_USDT_H */
