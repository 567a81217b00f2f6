/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of a file for finding the caller of a function: its .eh_frame, as rows (wire/unwind.h).  The file is not
 * trusted: it is parsed in a helper, a piece at a time.  If a file lies, its rows are wrong, and no more than that:
 * they are sorted and bounded in any case.
 */
#ifndef EXTPROF_ELF_UNWIND_H
#define EXTPROF_ELF_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "parser/elf_file.h"
#include "wire/unwind.h"

#define UNWIND_ROWS_AT_ONCE 1900u
#define UNWIND_PARTS_MAX 16u
/* Functions of a file that are looked at. */
#define UNWIND_FUNCTIONS_MAX (2u << 20)

/* Where to go on; all zero at first. */
struct unwind_place {
	uint64_t function;	/* number, in the order of their addresses */
	uint64_t end;		/* of the code that has had rows */
};

struct unwind_rows {
	uint64_t base;		/* address in the file of pc 0 */
	uint64_t end;		/* of its code */
	struct unwind_place next;
	/* The parts of the file that are loaded and can be executed; also if there is no table. */
	struct unwind_part {
		uint64_t address, offset, size;
	} parts[UNWIND_PARTS_MAX];
	uint32_t part_count;
	struct elf_build_id build_id;	/* the same */
	uint32_t count;		/* 0: there are no more */
	struct unwind_row rows[UNWIND_ROWS_AT_ONCE];
};

/* The next rows.  0; -ENOEXEC: it is no ELF file of `machine`, EM_X86_64 or EM_AARCH64; -ENODATA: it has no table; -E2BIG: it costs too much. */
int elf_unwind__rows(int fd, uint64_t size, uint16_t machine, struct elf_budget *budget, const struct unwind_place *from,
		     struct unwind_rows *rows);

#endif /* EXTPROF_ELF_UNWIND_H */
