/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread-local variable of an ELF file in which a library leaves the context of a thread (OTEP 4947).  Where it is for a
 * thread is known when the file is loaded: ld.so writes that into words of the file's own memory, of which there is one
 * kind or another by the way in which the library was compiled.
 */
#ifndef EXTPROF_ELF_CONTEXT_H
#define EXTPROF_ELF_CONTEXT_H

#include "parser/elf_file.h"

#define ELF_CONTEXT_SYMBOL "otel_thread_ctx_v1"
#define ELF_CONTEXT_WORDS_MAX 8u

enum elf_context_how {
	CONTEXT_OFFSET = 1,	/* the word is the distance from the thread pointer */
	CONTEXT_MODULE,		/* of two words the first one is the number of the module, the second one the offset */
	CONTEXT_DESCRIPTOR,	/* of two words the second one is the distance, or the address of module and offset */
};

struct elf_context {
	uint8_t found;		/* 0: it has no such variable */
	uint8_t has_load;	/* a PT_LOAD has the beginning of the file */
	uint8_t has_program;	/* `program` is known */
	uint64_t load_vaddr;	/* address of the beginning before relocation */
	uint64_t offset;	/* in the memory that the module has for each thread */
	int64_t program;	/* distance from the thread pointer, if the file is the program */
	uint32_t count;
	struct elf_context_word {
		uint16_t how;	/* enum elf_context_how */
		uint16_t by_name;	/* the variable of another library that has the name may be meant */
		uint64_t address;	/* before relocation */
	} words[ELF_CONTEXT_WORDS_MAX];
};

/* 0, also if it has none; -ENOEXEC: it is no ELF file of this machine; -E2BIG: the budget does not suffice. */
int elf_context__find(int fd, uint64_t size, struct elf_budget *budget, struct elf_context *c);

#endif /* EXTPROF_ELF_CONTEXT_H */
