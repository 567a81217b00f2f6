/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/elf_symbols.h"

#include <errno.h>
#include <string.h>

#include "parser/demangle.h"
#include "parser/mini_debug.h"

struct reading {
	struct elf_file *file;
	struct symbols_piece *piece;
	uint32_t entry;		/* of the next symbol that is seen */
	bool full;
	bool as_in_file;	/* see symbols_place */
};

/* A symbol of assembler code often has no size.  It reaches to the end of its section at most: the one behind .init is that of
 * calls to other libraries. */
static void bound(struct elf_file *f, const Elf64_Sym *symbol, struct elf_symbol *s)
{
	Elf64_Shdr section;

	if (s->size || symbol->st_shndx >= SHN_LORESERVE || !elf_file__section(f, symbol->st_shndx, &section) ||
	    s->address < section.sh_addr || s->address - section.sh_addr >= section.sh_size)
		return;
	s->size = section.sh_size - (s->address - section.sh_addr);
	s->sectioned = 1;
}

static bool see(void *context, const char *name, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
	struct reading *r = context;
	struct symbols_piece *p = r->piece;
	size_t length = strlen(name), room = sizeof(p->data) - p->size, readable;
	char text[SYMBOL_NAME_MAX + 1];
	struct elf_symbol s = { .address = symbol->st_value, .size = symbol->st_size,
				.binding = bind == STB_LOCAL ? SYMBOL_LOCAL : bind == STB_WEAK ? SYMBOL_WEAK : SYMBOL_GLOBAL };

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !length || length > SYMBOL_NAME_MAX)
		return false;
	/* Where code and data begin, of arm64: no function has such a name. */
	if (type == STT_NOTYPE && *name == '$' && (name[1] == 'x' || name[1] == 'd') && (!name[2] || name[2] == '.'))
		return false;
	readable = r->as_in_file ? 0 : demangle__name(name, text, sizeof(text));
	if (readable) {
		name = text;
		length = readable;
	}
	bound(r->file, symbol, &s);
	s.length = (uint16_t)length;
	if (room < sizeof(s) + length + 8) {
		r->full = true;
		return true;
	}
	memcpy((char *)p->data + p->size, &s, sizeof(s));
	memcpy((char *)p->data + p->size + sizeof(s), name, length);
	p->size += (uint32_t)((sizeof(s) + length + 7) / 8 * 8);
	return false;
}

/* The table of that type; false: there is none. */
static bool find_table(struct elf_file *f, uint32_t type, Elf64_Shdr *table)
{
	for (uint32_t i = 0; i < f->section_count && i < ELF_SECTIONS_MAX && elf_file__section(f, i, table); i++)
		if (table->sh_type == type && table->sh_entsize == sizeof(Elf64_Sym))
			return true;
	return false;
}

/* The symbols of a table from at->entry on.  True: the piece is full, and `at` is where to go on. */
static bool read_table(struct elf_file *f, const Elf64_Shdr *table, struct symbols_place *at, struct reading *r)
{
	uint64_t count = table->sh_size / sizeof(Elf64_Sym);

	/* One entry after the other, so that it is known where to go on. */
	for (; at->entry < count && at->entry < SYMBOLS_READ_MAX; at->entry++) {
		Elf64_Shdr one = *table;

		if (table->sh_offset > f->size)
			return false;
		one.sh_offset += at->entry * sizeof(Elf64_Sym);
		one.sh_size = sizeof(Elf64_Sym);
		elf_file__symbols(f, &one, see, r);
		if (f->budget->exceeded || r->full)
			return r->full;
	}
	return false;
}

int elf_symbols__read(int fd, uint64_t size, struct elf_budget *budget, const struct symbols_place *from,
		      struct symbols_piece *piece)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM, SHT_SYMTAB };
	static struct elf_file file;
	int err = elf_file__open(&file, fd, size, budget);
	struct reading r = { .file = &file, .piece = piece, .as_in_file = from->as_in_file };
	struct symbols_place at = *from;
	Elf64_Shdr table;

	piece->size = 0;
	piece->next = (struct symbols_place){ .table = SYMBOLS_END, .as_in_file = from->as_in_file };
	if (err || at.table >= SYMBOLS_END)
		return err;
	if (at.table == SYMBOLS_SYMTAB && !find_table(&file, SHT_SYMTAB, &table))
		at = (struct symbols_place){ .table = SYMBOLS_DYNSYM, .as_in_file = from->as_in_file };
	if (at.table == SYMBOLS_MINI_DEBUG) {
		err = mini_debug__open(&file);
		if (err)
			return err;
	}
	if (find_table(&file, types[at.table], &table) && read_table(&file, &table, &at, &r)) {
		piece->next = at;
		return 0;
	}
	if (budget->exceeded)
		return -E2BIG;
	/* A piece of its own, so that what is damaged there costs only what is there.  .symtab has all symbols. */
	if (at.table == SYMBOLS_DYNSYM && mini_debug__is_in(&file))
		piece->next.table = SYMBOLS_MINI_DEBUG;
	return 0;
}
