/* SPDX-License-Identifier: BSD-2-Clause */
/* The notes of an ELF file, one after the other.  Nothing in them is trusted. */
#ifndef EXTPROF_ELF_NOTES_H
#define EXTPROF_ELF_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "process/memory.h"

/* Where they are.  The caller fills it once, and bounds how many are asked for. */
struct elf_notes {
	const struct memory *memory;
	uint64_t at, end;
};

struct elf_note {
	uint32_t type;
	char name[16];		/* "": a longer one */
	uint64_t desc;		/* address of its content */
	uint32_t desc_size;	/* bytes, all before `end` */
};

/* False: there is no further one.  Notes without any name are no notes: what is left is padding. */
bool elf_notes__next(struct elf_notes *notes, struct elf_note *note);

#endif /* EXTPROF_ELF_NOTES_H */
