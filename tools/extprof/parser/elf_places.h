/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where probes and functions are in an ELF file.  Probes that a program has compiled in (USDT) have notes in its
 * file: they say where the probes are, where their semaphores are, and where their arguments.  The format is that
 * of SystemTap's <sys/sdt.h>.
 */
#ifndef EXTPROF_ELF_PLACES_H
#define EXTPROF_ELF_PLACES_H

#include "parser/elf_file.h"
#include "wire/usdt.h"

/* Places of one probe or function: a compiler copies a probe with the code that it is in, and functions of one name
 * can be local to their source files. */
#define USDT_PLACES_MAX 16u
/* Probes of the VM, and events that the user names. */
#define ELF_WISHES_MAX 16u
#define ELF_WISH_NAME_MAX 320u	/* bytes, with the end */

struct usdt_place {
	uint64_t address;	/* before relocation */
	uint64_t offset;	/* in the file */
	uint64_t semaphore;	/* offset in the file; 0: it has none */
	struct usdt_arguments arguments;
};

struct usdt {
	struct usdt_place places[USDT_PLACES_MAX];
	uint32_t count;
};

struct elf_wish {
	char provider[64];		/* "": a function is looked for */
	char name[ELF_WISH_NAME_MAX];
};

/*
 * Find the wishes, each for itself: results[i] is 0, or -ENOENT: there is none; -ENOTUNIQ: it is a function that each
 * program chooses when it starts (an ifunc); -E2BIG: it has more than USDT_PLACES_MAX places; -EINVAL: the file is
 * damaged.  *section: the address before relocation of what is at `offset` in the file, UINT64_MAX: that is not
 * loaded.  0; -ENOEXEC: it is no ELF file of this machine; -E2BIG: the budget does not suffice, and what was not
 * found may be there.  One thread at a time: see parser.h.
 */
int elf_places__find(int fd, uint64_t size, uint64_t offset, struct elf_budget *budget, const struct elf_wish *wishes,
		     uint32_t count, struct usdt *found, int32_t *results, uint64_t *section);

/* Read "8@%rdi 8@%rsi".  Arguments that are in no register of 64 bits are not available. */
void usdt__parse_arguments(const char *text, struct usdt_arguments *arguments);

#endif /* EXTPROF_ELF_PLACES_H */
