/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaches programs to probes and functions in files. */
#ifndef EXTPROF_USDT_H
#define EXTPROF_USDT_H

#include "base/diag.h"
#include "parser/elf_places.h"

struct bpf_link;
struct bpf_program;

/*
 * Run the program whenever any process reaches the place.  While the link lives, the kernel keeps the
 * semaphore of each process that has the file mapped above 0.  The file may be closed then.
 * NULL with the diagnosis.
 */
struct bpf_link *usdt__attach(struct bpf_program *program, int fd, const struct usdt_place *place, struct diag *d);

#endif /* EXTPROF_USDT_H */
