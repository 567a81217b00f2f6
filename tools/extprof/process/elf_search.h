/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks into an ELF image in memory, when its file cannot be opened.  Only what is loaded can be seen: notes and
 * dynamic symbols.  Files are searched by parser/parser.h.
 */
#ifndef EXTPROF_ELF_SEARCH_H
#define EXTPROF_ELF_SEARCH_H

#include "parser/elf_section.h"
#include "process/memory.h"

/* The image at `base`.  0 (also if nothing is found), -ENOEXEC: it is none; -E2BIG: the budget is used up; or another
 * -errno. */
int elf__search_memory(const struct memory *m, uint64_t base, struct elf_budget *budget, struct elf_finding *f);

/* Search notes; `data` is at address `vaddr`. */
void elf__search_notes(const uint8_t *data, uint64_t size, uint64_t vaddr, uint64_t align, struct elf_finding *f);

#endif /* EXTPROF_ELF_SEARCH_H */
