/* SPDX-License-Identifier: BSD-2-Clause */
/* The section of a target, checked once before anything relies on it. */
#ifndef EXTPROF_LAYOUT_H
#define EXTPROF_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "process/memory.h"
#include "wire/sample.h"

struct layout {
	uint64_t address;
	struct rb_debug_ext_section section;	/* a copy; absent fields are 0 */
	uint64_t read_at;	/* before the copy was made; CLOCK_MONOTONIC, ns; 0: at the fork */
};

/* Check a copy of the first `got` bytes.  0; -EAGAIN while the VM starts
 * (nothing but the version is known); or an error with the diagnosis. */
int layout__check(struct layout *l, const void *raw, uint32_t got, struct diag *d);

/* Read it at the address and check it.  A failed read is DIAG_NOT_READY: the
 * process may be about to end, or to become another program. */
int layout__read(struct layout *l, const struct memory *m, uint64_t address, struct diag *d);

/* Read again the fields that change.  0 or -errno; -ENODATA: it is no longer
 * that section. */
int layout__refresh(struct layout *l, const struct memory *m);

/* Is it still that section?  0 or -errno; -ESTALE: another program is there. */
int layout__confirm(const struct layout *l, const struct memory *m);

/* True if the pc of an innermost frame with jit_return is exact while the thread is at `ip`
 * (0 unknown): the thread is in C, and JIT code stored the pc before it called C. */
bool layout__stores_pc(const struct layout *l, uint64_t ip);

/* Fill in the configuration that the walker needs. */
void layout__config(const struct layout *l, struct target_config *config);

#endif /* EXTPROF_LAYOUT_H */
