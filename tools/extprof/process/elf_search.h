/* SPDX-License-Identifier: BSD-2-Clause */
/* Where an ELF image keeps the section rb_debug_ext, and whether it is a ruby. */
#ifndef EXTPROF_ELF_SEARCH_H
#define EXTPROF_ELF_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "process/memory.h"

enum elf_how {
	ELF_NOT_FOUND = 0,
	ELF_BY_SECTION,
	ELF_BY_SYMBOL,
	ELF_BY_NOTE,
};

struct elf_finding {
	enum elf_how how;
	uint64_t section;	/* address before relocation */
	bool is_ruby;		/* has symbols of the VM */
	uint64_t version;	/* of the string ruby_version before relocation, 0 none */
	bool has_load;		/* a PT_LOAD starts at the file offset asked for */
	uint64_t load_vaddr;	/* its (page aligned) address before relocation */
};

/*
 * What one search of a process may cost, over all its images.  The target chooses
 * their number, size and content.  An honest process has some hundred images, an
 * image takes some hundred reads, and one or two files are read.
 */
#define ELF_SEARCH_BYTES (256ll << 20)
#define ELF_SEARCH_READS 1000000ll

struct elf_budget {
	int64_t bytes, reads;	/* left */
	bool exceeded;		/* something was too large, or one too many, and was not searched */
};

static inline void elf_budget__init(struct elf_budget *b)
{
	*b = (struct elf_budget){ .bytes = ELF_SEARCH_BYTES, .reads = ELF_SEARCH_READS };
}

/* Look into the file.  `offset` is where the mapping starts that the load
 * bias is computed from.  0 (also if nothing is found), or -errno when the
 * file is no 64-bit ELF file of this machine, or the budget is used up
 * (-E2BIG). */
int elf__search_file(int fd, uint64_t offset, struct elf_budget *budget, struct elf_finding *f);

/* The same for the image in memory at `base`, when its file cannot be opened.  Only what
 * is loaded can be seen: notes and dynamic symbols. */
int elf__search_memory(const struct memory *m, uint64_t base, struct elf_budget *budget,
		       struct elf_finding *f);

/* Search notes; `data` is at address `vaddr`.  True if found. */
bool elf__search_notes(const uint8_t *data, uint64_t size, uint64_t vaddr, uint64_t align,
		       uint64_t *section);

#endif /* EXTPROF_ELF_SEARCH_H */
