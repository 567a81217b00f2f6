/* SPDX-License-Identifier: BSD-2-Clause */
/* The instructions: Arm's "A64 Instruction Set Architecture". */
#include "parser/elf_arm64.h"

#include <stdlib.h>
#include <string.h>

/* A file without rules is small: the vdso. */
#define CODE_MAX 32768u

#define STP_X16_X30 0xa9bf7bf0u		/* stp x16, x30, [sp, #-16]! */
#define BTI_C 0xd503245fu
#define PLT_FIRST 32u			/* bytes of the first entry of the table of imported functions */

static const uint32_t sigreturn[] = { 0xd2801168, 0xd4000001 };

bool elf_arm64__is_sigreturn(const uint8_t code[8])
{
	return !memcmp(code, sigreturn, sizeof(sigreturn));
}

/* The code of a file, and the functions that its symbols tell. */
struct code {
	const uint8_t *bytes;
	uint64_t address, size;
	struct {
		uint64_t begin, size;
	} functions[ARM64_PARTS_MAX];
	uint32_t count;
};

static uint32_t instruction(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return n;
}

/*
 * Its entries leave the stack and x30 as they are; only the first one saves x16 and x30, in the first instruction, or in the
 * second behind a BTI.
 */
static bool find_imported(struct elf_file *f, struct arm64_part *part)
{
	Elf64_Shdr section;
	const uint8_t *p;
	uint32_t saves;

	if (!elf_file__find(f, ".plt", &section) || !(section.sh_flags & SHF_EXECINSTR) || section.sh_size < PLT_FIRST ||
	    section.sh_addr + section.sh_size < section.sh_addr)
		return false;
	p = elf_file__part(f, &f->content, section.sh_offset, 8);
	if (!p)
		return false;
	saves = instruction(p) == BTI_C ? 4 : 0;
	if (instruction(p + saves) != STP_X16_X30)
		return false;
	*part = (struct arm64_part){
		.begin = section.sh_addr, .end = section.sh_addr + section.sh_size, .count = 3,
		.rows = { { .rule = UNWIND_SP }, { .pc = saves + 4, .rule = UNWIND_SP, .cfa = 2, .saved = UNWIND_SAVED_LR | 1 },
			  { .pc = PLT_FIRST, .rule = UNWIND_SP } },
	};
	return true;
}

/* Can it change the stack pointer or x30?  All instructions that might are taken for such. */
static bool changes_frame(uint32_t n)
{
	if ((n & 0xfc000000) == 0x94000000 || (n & 0xfffffc1f) == 0xd63f0000)	/* bl, blr */
		return true;
	/* Add and sub of a number and of a register, and logical ones, to sp.  Those that set flags have no such result. */
	if ((n & 31) == 31 && ((n & 0x3f000000) == 0x11000000 || (n & 0x3fe00000) == 0x0b200000 ||
			       ((n & 0x1f800000) == 0x12000000 && (n & 0x60000000) != 0x60000000)))
		return true;
	if ((n & 0x0a000000) == 0x08000000) {					/* loads and stores */
		bool writes_back = (n & 0x3a800000) == 0x28800000 || (n & 0x3b200c00) == 0x38000400 || (n & 0x3b200c00) == 0x38000c00;

		if ((n >> 5 & 31) == 31 && writes_back)
			return true;
		if ((n & 31) == 30 || ((n & 0x3a000000) == 0x28000000 && (n >> 10 & 31) == 30))
			return true;
		return false;
	}
	return (n & 31) == 30 && (n & 0x1c000000) != 0x14000000;		/* another one that may write x30; not a branch */
}

static bool is_leaf(const struct code *c, uint64_t begin, uint64_t size)
{
	for (uint64_t at = begin - c->address; at < begin - c->address + size; at += 4)
		if (changes_frame(instruction(c->bytes + at)))
			return false;
	return true;
}

static bool see(void *context, const char *name, const Elf64_Sym *symbol)
{
	struct code *c = context;

	(void)name;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size || (symbol->st_value | symbol->st_size) & 3 ||
	    symbol->st_value < c->address || symbol->st_value - c->address > c->size ||
	    symbol->st_size > c->size - (symbol->st_value - c->address))
		return false;
	c->functions[c->count].begin = symbol->st_value;
	c->functions[c->count++].size = symbol->st_size;
	return c->count == ARM64_PARTS_MAX - 2;
}

static int compare(const void *a, const void *b)
{
	const struct arm64_part *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Find rules in the code of a file without a table: add them to the parts that are known.  Returns how many there are then. */
static uint32_t find_code(struct elf_file *f, struct arm64_part *parts, uint32_t count)
{
	static struct code c;
	const Elf64_Phdr *found = NULL;
	Elf64_Shdr table;

	for (uint32_t i = 0; i < f->segment_count; i++)
		if (f->segments[i].p_type == PT_LOAD && f->segments[i].p_flags & PF_X)
			found = found ? found : &f->segments[i];
	if (!found || found->p_filesz > CODE_MAX || found->p_filesz < 8 || found->p_vaddr & 3)
		return count;
	memset(&c, 0, sizeof(c));
	c.address = found->p_vaddr;
	c.size = found->p_filesz & ~3ull;
	for (uint32_t i = 0; i < f->section_count && i < ELF_SECTIONS_MAX && elf_file__section(f, i, &table); i++)
		if (table.sh_type == SHT_DYNSYM && table.sh_entsize == sizeof(Elf64_Sym) && c.count < ARM64_PARTS_MAX - 2)
			elf_file__symbols(f, &table, see, &c);
	c.bytes = elf_file__part(f, &f->content, found->p_offset, c.size);
	if (!c.bytes)
		return count;
	for (uint32_t i = 0; i < c.count && count < ARM64_PARTS_MAX; i++)
		if (is_leaf(&c, c.functions[i].begin, c.functions[i].size))
			parts[count++] = (struct arm64_part){ .begin = c.functions[i].begin, .end = c.functions[i].begin + c.functions[i].size,
							      .count = 1, .rows = { { .rule = UNWIND_SP } } };
	/* A handler returns to behind the instruction before it, which is a nop. */
	for (uint64_t at = 4; at + 8 <= c.size && count < ARM64_PARTS_MAX; at += 4)
		if (elf_arm64__is_sigreturn(c.bytes + at)) {
			parts[count++] = (struct arm64_part){ .begin = c.address + at - 4, .end = c.address + at + 8, .count = 1,
							      .rows = { { .rule = UNWIND_SIGNAL } } };
			break;
		}
	return count;
}

uint32_t elf_arm64__parts(struct elf_file *f, bool whole, struct arm64_part parts[ARM64_PARTS_MAX])
{
	uint32_t count = find_imported(f, &parts[0]), kept = 0;

	if (whole)
		count = find_code(f, parts, count);
	qsort(parts, count, sizeof(*parts), compare);
	for (uint32_t i = 0; i < count; i++)
		if (!kept || parts[i].begin >= parts[kept - 1].end)
			parts[kept++] = parts[i];
	return kept;
}
