/* SPDX-License-Identifier: BSD-2-Clause */
/* Machine code of aarch64 whose rules are in no table, and that can be seen in the code itself. */
#ifndef EXTPROF_ELF_ARM64_H
#define EXTPROF_ELF_ARM64_H

#include <stdbool.h>
#include <stdint.h>

#include "parser/elf_file.h"
#include "wire/unwind.h"

#define ARM64_PARTS_MAX 64u
#define ARM64_PART_ROWS 3u

/* From `begin` to `end`, with the rules of its rows; unwind_row::pc counts from `begin` on. */
struct arm64_part {
	uint64_t begin, end;
	uint32_t count;
	struct unwind_row rows[ARM64_PART_ROWS];
};

/*
 * The table of imported functions.  `whole`: the file has no table of rules, as the vdso; then also what a signal handler returns
 * to, and functions that call nobody and have no frame.  They are sorted, and none overlaps another.  Returns their number.
 */
uint32_t elf_arm64__parts(struct elf_file *f, bool whole, struct arm64_part parts[ARM64_PARTS_MAX]);

/* Is it `mov x8, #139; svc #0`, the system call rt_sigreturn? */
bool elf_arm64__is_sigreturn(const uint8_t code[8]);

#endif /* EXTPROF_ELF_ARM64_H */
