/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of the kernel, as /proc/kallsyms has them.  They are read once: one that is loaded later has no name. */
#ifndef EXTPROF_KERNEL_SYMBOLS_H
#define EXTPROF_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A kernel has a few hundred thousand, and their names some MB. */
#define KERNEL_SYMBOLS_MAX (4u << 20)
#define KERNEL_NAMES_MAX (256u << 20)
/* A function is not larger than that: what lies farther behind it is none of it. */
#define KERNEL_FUNCTION_MAX (1u << 20)

/* Zero-initialise. */
struct kernel_symbols {
	struct kernel_function {
		uint64_t address;
		uint32_t name, module;	/* where they are in `names` */
	} *list;			/* by address, each once */
	uint32_t count;
	size_t room;
	char *names;			/* texts, one behind the other; the first one is "" */
	size_t names_size, names_room;
};

struct kernel_symbol {
	uint64_t address;
	const char *name;	/* not clean */
	const char *module;	/* not clean; "": the kernel itself; "bpf" of BPF programs */
};

/* Read text of the form of /proc/kallsyms.  0; -EPERM: the kernel hides the addresses; -ENOENT: there are no functions;
 * -ENOMEM, -EIO.  Nothing is known then. */
int kernel_symbols__read(struct kernel_symbols *s, FILE *f);
/* Those of this kernel.  The same, or why the file cannot be opened. */
int kernel_symbols__load(struct kernel_symbols *s);
void kernel_symbols__free(struct kernel_symbols *s);

/* The function with that address.  0; -ENOENT: it is not known. */
int kernel_symbols__find(const struct kernel_symbols *s, uint64_t address, struct kernel_symbol *symbol);

#endif /* EXTPROF_KERNEL_SYMBOLS_H */
