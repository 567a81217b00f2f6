/* SPDX-License-Identifier: BSD-2-Clause */
/* Where an ELF image keeps the section rb_debug_ext, and whether it is a ruby. */
#ifndef EXTPROF_ELF_SECTION_H
#define EXTPROF_ELF_SECTION_H

#include "parser/elf_file.h"

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
	struct elf_build_id build_id;
};

/*
 * Look into the file.  `offset` is where the mapping starts that the load bias is computed from.  0 (also if
 * nothing is found), or -errno when the file is no 64-bit ELF file of this machine (-ENOEXEC), or the budget is used
 * up (-E2BIG).  One thread at a time: see parser.h.
 */
int elf__search_file(int fd, uint64_t size, uint64_t offset, struct elf_budget *budget, struct elf_finding *f);

/* For images in memory: a place of the section, a dynamic symbol, a note whose description is at that address. */
void elf_finding__section(struct elf_finding *f, enum elf_how how, uint64_t section);
void elf_finding__symbol(struct elf_finding *f, const char *name, uint64_t value);
void elf_finding__note(struct elf_finding *f, const char *owner, size_t owner_size, uint32_t type, const void *desc,
		       size_t desc_size, uint64_t address);

#endif /* EXTPROF_ELF_SECTION_H */
