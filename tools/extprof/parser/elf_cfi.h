/* SPDX-License-Identifier: BSD-2-Clause */
/* Call frame instructions of .eh_frame: what they say of one place in a function, as a row (wire/unwind.h). */
#ifndef EXTPROF_ELF_CFI_H
#define EXTPROF_ELF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/unwind.h"

/* Registers, by their numbers in DWARF. */
struct cfi_machine {
	uint16_t elf;		/* EM_ */
	uint8_t fp, sp, ra;
	bool link;		/* `ra` is a register: without a rule the return address is there */
};

/* NULL: files of that machine have no rules that are followed. */
const struct cfi_machine *cfi_machine__of(uint16_t elf);

/* Bytes in the file. */
struct cfi_bytes {
	const uint8_t *at, *end;
	bool bad;		/* something was read behind the end */
};

uint64_t cfi_bytes__number(struct cfi_bytes *b, size_t size);
uint64_t cfi_bytes__uleb(struct cfi_bytes *b);
int64_t cfi_bytes__sleb(struct cfi_bytes *b);
/* `size` bytes of them, which are passed. */
struct cfi_bytes cfi_bytes__block(struct cfi_bytes *b, uint64_t size);

struct cfi_rules {
	uint8_t rule;		/* enum unwind_rule */
	uint8_t reg;		/* of UNWIND_SP and _FP; another one: UNWIND_OTHER */
	int64_t offset;
	/* The caller's frame pointer, and the return address of a machine with a link register. */
	struct cfi_saved {
		enum { CFI_SAME, CFI_SAVED, CFI_AT_FP, CFI_LOST } how;
		int64_t at;	/* CFI_SAVED: from the CFA on */
	} fp, lr;
	bool no_caller;
	bool other;		/* the return address is elsewhere, or the stack pointer not the CFA */
};

/* Data that all entries of a file share. */
struct cfi_common {
	const struct cfi_machine *machine;
	uint64_t code_align;
	int64_t data_align;
	bool signal;		/* the kernel calls the function */
	struct cfi_rules rules;	/* where a function begins */
};

#define CFI_STATES_MAX 8u	/* that a function remembers at the same time */

/* The instructions of an entry, from its begin on. */
struct cfi_run {
	struct cfi_bytes code;
	struct cfi_rules rules;
	uint64_t pc;		/* where the code goes on that the rules are for */
	struct cfi_rules states[CFI_STATES_MAX];
	uint32_t depth;
};

/* One instruction.  False: it is not known. */
bool cfi_run__step(struct cfi_run *r, const struct cfi_common *c);
/* The row of the rules; its pc is 0. */
struct unwind_row cfi_common__row(const struct cfi_common *c, const struct cfi_rules *r);

#endif /* EXTPROF_ELF_CFI_H */
