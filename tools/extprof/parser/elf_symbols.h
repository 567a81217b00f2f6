/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of an ELF file that nobody vouches for, a piece at a time: addresses and names. */
#ifndef EXTPROF_ELF_SYMBOLS_H
#define EXTPROF_ELF_SYMBOLS_H

#include <stdint.h>

#include "parser/elf_file.h"

#define SYMBOLS_BYTES 15360u		/* of names and what belongs to them, in one piece */
#define SYMBOL_NAME_MAX 1023u		/* bytes; functions with longer names are left out */
#define SYMBOLS_READ_MAX (8u << 20)	/* entries of a table that are looked at */

/* A file without .symtab has the symbols of .dynsym, and besides those of the file in .gnu_debugdata, in the .symtab of that. */
enum symbols_table { SYMBOLS_SYMTAB = 0, SYMBOLS_DYNSYM = 1, SYMBOLS_MINI_DEBUG = 2, SYMBOLS_END = 3 };

/* Where to go on; at first zero, but for as_in_file. */
struct symbols_place {
	uint32_t table;		/* enum symbols_table */
	uint32_t entry;
	uint32_t as_in_file;	/* 1: names of C++ and Rust are not made readable; the next places have it, too */
};

/* The binding of a symbol: local to its file, weak (another file can replace it), or global. */
enum symbol_binding { SYMBOL_LOCAL = 0, SYMBOL_WEAK = 1, SYMBOL_GLOBAL = 2 };

/* One behind the other in symbols_piece::data, each at a multiple of 8. */
struct elf_symbol {
	uint64_t address, size;	/* size 0: the file does not tell it, nor its section */
	uint16_t length;	/* of the name, which follows and has no end */
	uint8_t binding;	/* enum symbol_binding */
	uint8_t sectioned;	/* 1: the file does not tell the size: it is what is left of the section */
	uint32_t end;		/* of the map of a JIT: where its line ends, from where the reading begins; else 0 */
};

struct symbols_piece {
	struct symbols_place next;
	uint32_t size;		/* bytes of data */
	uint64_t data[SYMBOLS_BYTES / 8];
};

/* The next ones.  0; -ENOEXEC: it is no ELF file; -E2BIG: it costs too much. */
int elf_symbols__read(int fd, uint64_t size, struct elf_budget *budget, const struct symbols_place *from,
		      struct symbols_piece *piece);

#endif /* EXTPROF_ELF_SYMBOLS_H */
