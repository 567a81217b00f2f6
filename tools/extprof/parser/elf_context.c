/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/elf_context.h"

#include <errno.h>
#include <string.h>

#if defined(__x86_64__)
#define RELOCATION_OFFSET R_X86_64_TPOFF64
#define RELOCATION_MODULE R_X86_64_DTPMOD64
#define RELOCATION_DESCRIPTOR R_X86_64_TLSDESC
#else
#define RELOCATION_OFFSET R_AARCH64_TLS_TPREL
#define RELOCATION_MODULE R_AARCH64_TLS_DTPMOD
#define RELOCATION_DESCRIPTOR R_AARCH64_TLSDESC
#endif
/* Larger ones are not of honest files. */
#define BLOCK_MAX (1ull << 24)
#define ALIGN_MAX (1ull << 16)

struct finding {
	struct elf_context *context;
	Elf64_Sym symbol;
};

static bool see(void *context, const char *name, const Elf64_Sym *symbol)
{
	struct finding *f = context;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_TLS || ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ||
	    symbol->st_value >= BLOCK_MAX || strcmp(name, ELF_CONTEXT_SYMBOL))
		return false;
	f->symbol = *symbol;
	f->context->found = 1;
	f->context->offset = symbol->st_value;
	return true;
}

/* The memory of the program for each thread is next to the thread pointer, as ld.so and static programs have it. */
static void place_in_program(const struct elf_file *f, struct elf_context *c)
{
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const Elf64_Phdr *p = &f->segments[i];
		uint64_t align = p->p_align ? p->p_align : 1, first, distance;

		if (p->p_type != PT_TLS || align > ALIGN_MAX || align & (align - 1) || p->p_memsz > BLOCK_MAX)
			continue;
		first = -p->p_vaddr & (align - 1);
#if defined(__x86_64__)
		distance = ((p->p_memsz - first + align - 1) & ~(align - 1)) + first;
		c->program = (int64_t)(c->offset - distance);
#else
		distance = (16 + align - 1) & ~(align - 1);
		if (distance - 16 < first)
			distance += align;
		c->program = (int64_t)(distance - first + c->offset);
#endif
		c->has_program = 1;
		return;
	}
}

/* Is the symbol of that number the one that was found? */
static bool is_symbol(struct elf_file *f, const Elf64_Shdr *symbols, uint64_t number, const Elf64_Sym *wanted)
{
	const void *part;

	if (number >= symbols->sh_size / sizeof(*wanted))
		return false;
	part = elf_file__part(f, &f->headers, symbols->sh_offset + number * sizeof(*wanted), sizeof(*wanted));
	return part && !memcmp(part, wanted, sizeof(*wanted));
}

/*
 * The relocations that have ld.so write where the variable is.  Within the library the symbol can be bound already:
 * then the relocation has none, and what it adds is the offset.
 */
static void find_words(struct elf_file *f, const Elf64_Shdr *table, const Elf64_Shdr *symbols, const struct finding *found)
{
	struct elf_context *c = found->context;
	uint64_t count = table->sh_size / sizeof(Elf64_Rela);

	if (table->sh_entsize != sizeof(Elf64_Rela) || table->sh_offset > f->size || table->sh_size > f->size - table->sh_offset)
		return;
	for (uint64_t i = 0; i < count && c->count < ELF_CONTEXT_WORDS_MAX; i++) {
		const void *part = elf_file__part(f, &f->content, table->sh_offset + i * sizeof(Elf64_Rela), sizeof(Elf64_Rela));
		uint64_t type, number;
		Elf64_Rela r;
		bool mine;

		if (!part)
			return;
		memcpy(&r, part, sizeof(r));
		type = ELF64_R_TYPE(r.r_info);
		number = ELF64_R_SYM(r.r_info);
		if (type != RELOCATION_OFFSET && type != RELOCATION_MODULE && type != RELOCATION_DESCRIPTOR)
			continue;
		mine = number ? is_symbol(f, symbols, number, &found->symbol) && !r.r_addend :
				type == RELOCATION_MODULE || (uint64_t)r.r_addend == c->offset;
		if (!mine)
			continue;
		c->words[c->count++] = (struct elf_context_word){
			.how = type == RELOCATION_OFFSET ? CONTEXT_OFFSET : type == RELOCATION_MODULE ? CONTEXT_MODULE : CONTEXT_DESCRIPTOR,
			.by_name = number != 0, .address = r.r_offset,
		};
	}
}

int elf_context__find(int fd, uint64_t size, struct elf_budget *budget, struct elf_context *c)
{
	static struct elf_file file;
	Elf64_Shdr section, symbols = { 0 };
	struct finding found = { .context = c };
	int err = elf_file__open(&file, fd, size, budget);

	memset(c, 0, sizeof(*c));
	if (err)
		return err;
	for (uint32_t i = 0; i < file.section_count && i < ELF_SECTIONS_MAX && elf_file__section(&file, i, &section); i++) {
		if (section.sh_type != SHT_DYNSYM)
			continue;
		/* A file has one. */
		symbols = section;
		elf_file__symbols(&file, &symbols, see, &found);
		break;
	}
	if (!c->found)
		return budget->exceeded ? -E2BIG : 0;
	for (uint32_t i = 0; i < file.section_count && i < ELF_SECTIONS_MAX && elf_file__section(&file, i, &section); i++)
		if (section.sh_type == SHT_RELA && section.sh_flags & SHF_ALLOC)
			find_words(&file, &section, &symbols, &found);
	for (uint32_t i = 0; i < file.segment_count && !c->has_load; i++) {
		if (file.segments[i].p_type != PT_LOAD || file.segments[i].p_offset)
			continue;
		c->has_load = 1;
		c->load_vaddr = file.segments[i].p_vaddr;
	}
	place_in_program(&file, c);
	return budget->exceeded ? -E2BIG : 0;
}
