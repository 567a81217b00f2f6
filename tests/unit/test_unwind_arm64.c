/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of aarch64 for finding callers, on any machine: a file and a stack that are made here. */
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parser/elf_unwind.h"
#include "wire/sample.h"

/* -- a file -------------------------------------------------------------------------------------- */

#define TEXT 0x1000u		/* address and place of its code */
#define TEXT_SIZE 0x400u
#define FRAMES 0x2000u		/* of .eh_frame */
#define HEADER 0x3000u		/* of .eh_frame_hdr */
#define FILE_SIZE 0x4000u

struct made {
	uint8_t bytes[FILE_SIZE];
	uint32_t end;			/* of .eh_frame so far */
	uint32_t common;		/* its CIE */
	uint32_t functions;
};

static void put4(uint8_t *to, uint32_t n)
{
	memcpy(to, &n, sizeof(n));
}

static void entry(struct made *m, const uint8_t *head, size_t head_size, const uint8_t *code, size_t size)
{
	uint8_t *to = m->bytes + m->end;
	uint32_t length = (uint32_t)(head_size + size + 7) / 8 * 8;

	put4(to, length);
	memcpy(to + 4, head, head_size);
	memcpy(to + 4 + head_size, code, size);		/* zeros are nops */
	m->end += length + 4;
}

static void begin(struct made *m)
{
	/* Version 1, "zR", code 4, data -8, return address x30; DW_EH_PE_udata4; the CFA is sp + 0. */
	static const uint8_t head[] = { 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x03 };
	static const uint8_t code[] = { 0x0c, 31, 0 };
	Elf64_Ehdr h = { .e_type = ET_DYN, .e_machine = EM_AARCH64, .e_version = EV_CURRENT, .e_phoff = sizeof(h),
			 .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3 };
	const Elf64_Phdr p[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = TEXT, .p_vaddr = TEXT, .p_filesz = TEXT_SIZE, .p_memsz = TEXT_SIZE },
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = FRAMES, .p_vaddr = FRAMES, .p_filesz = FILE_SIZE - FRAMES,
		  .p_memsz = FILE_SIZE - FRAMES },
		{ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_offset = HEADER, .p_vaddr = HEADER, .p_filesz = 0x100, .p_memsz = 0x100 },
	};

	memset(m, 0, sizeof(*m));
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(m->bytes, &h, sizeof(h));
	memcpy(m->bytes + sizeof(h), p, sizeof(p));
	m->common = m->end = FRAMES;
	entry(m, head, sizeof(head), code, sizeof(code));
}

static void function(struct made *m, uint32_t from, uint32_t size, const uint8_t *code, size_t code_size)
{
	uint8_t head[13] = { 0 };
	uint8_t *table = m->bytes + HEADER + 12 + 8 * m->functions++;

	put4(head, m->end + 4 - m->common);
	put4(head + 4, TEXT + from);
	put4(head + 8, size);
	put4(table, TEXT + from - HEADER);
	put4(table + 4, m->end - HEADER);
	entry(m, head, sizeof(head), code, code_size);
}

#define FUNCTION(m, from, size, ...) \
	function(m, from, size, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

#define SECTIONS 0x3800u
#define NAMES 0x3400u
#define SYMBOLS 0x3500u

/* Section headers: none, .shstrtab, .plt, .dynsym, whose names are in .shstrtab, too. */
static void add_sections(struct made *m, uint32_t plt, uint32_t plt_size, const Elf64_Sym *symbols, uint32_t count)
{
	static const char names[] = "\0.shstrtab\0.plt\0.dynsym\0leaf\0calls\0saves";
	const Elf64_Shdr h[4] = {
		{ .sh_type = SHT_NULL },
		{ .sh_type = SHT_STRTAB, .sh_name = 1, .sh_offset = NAMES, .sh_size = sizeof(names) },
		{ .sh_type = SHT_PROGBITS, .sh_name = 11, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = TEXT + plt, .sh_offset = TEXT + plt,
		  .sh_size = plt_size },
		{ .sh_type = SHT_DYNSYM, .sh_name = 16, .sh_offset = SYMBOLS, .sh_size = count * sizeof(*symbols), .sh_entsize = sizeof(*symbols),
		  .sh_link = 1 },
	};
	Elf64_Ehdr *e = (Elf64_Ehdr *)m->bytes;

	e->e_shoff = SECTIONS;
	e->e_shentsize = sizeof(*h);
	e->e_shnum = 4;
	e->e_shstrndx = 1;
	memcpy(m->bytes + NAMES, names, sizeof(names));
	memcpy(m->bytes + SECTIONS, h, sizeof(h));
	if (count)
		memcpy(m->bytes + SYMBOLS, symbols, count * sizeof(*symbols));
}

static int rows_from(struct made *m, uint16_t machine, const struct unwind_place *from, struct unwind_rows *to)
{
	static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };
	int fd = memfd_create("arm64", MFD_CLOEXEC), err;
	struct unwind_place at = *from;
	struct elf_budget budget;

	memcpy(m->bytes + HEADER, head, sizeof(head));
	put4(m->bytes + HEADER + 8, m->functions);
	elf_budget__init(&budget);
	err = write(fd, m->bytes, sizeof(m->bytes)) == sizeof(m->bytes) ?
	      elf_unwind__rows(fd, sizeof(m->bytes), machine, &budget, &at, to) : -EIO;
	close(fd);
	return err;
}

static int rows_of(struct made *m, uint16_t machine, struct unwind_rows *to)
{
	return rows_from(m, machine, &(struct unwind_place){ 0 }, to);
}

static struct made made;
static struct unwind_rows rows;

static void check_row(uint32_t i, uint32_t pc, uint8_t rule, uint16_t cfa, uint8_t saved)
{
	CHECK(i < rows.count);
	CHECK_INT(rows.rows[i].pc, pc);
	CHECK_INT(rows.rows[i].rule & ~UNWIND_BEGINS, rule);
	CHECK_INT(rows.rows[i].cfa, cfa);
	CHECK_INT(rows.rows[i].saved, saved);
}

TEST(arm64_rules_of_a_file)
{
	begin(&made);
	/* stp x29, x30, [sp, #-32]!; mov x29, sp; ...; ldp x29, x30, [sp], #32; ret */
	FUNCTION(&made, 0, 0x40, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x42, 0x0d, 29, 0x48, 0xdd, 0xde, 0x0c, 31, 0);
	/* A leaf.  Its return address is signed, which changes no place. */
	FUNCTION(&made, 0x40, 0x20, 0x41, 0x2d);
	/* str x30, [sp, #-16]! */
	FUNCTION(&made, 0x60, 0x20, 0x41, 0x0e, 16, 0x9e, 2);
	/* A frame of 4,096 bytes: x29 and x30 at its upper end, or at its lower end, or with a register between them. */
	FUNCTION(&made, 0x80, 0x20, 0x41, 0x0e, 0x80, 0x20, 0x9d, 2, 0x9e, 1);
	FUNCTION(&made, 0xa0, 0x20, 0x41, 0x0e, 0x80, 0x20, 0x9d, 0x80, 4, 0x9e, 0xff, 3);
	FUNCTION(&made, 0xc0, 0x20, 0x41, 0x0e, 64, 0x9d, 8, 0x9e, 6);
	/* x29 alone, which nobody does; and the first function of a thread: x30 is undefined. */
	FUNCTION(&made, 0xe0, 0x20, 0x41, 0x0e, 16, 0x9d, 2);
	FUNCTION(&made, 0x100, 0x20, 0x07, 30);
	/* What a signal handler returns to: nop; mov x8, #139; svc #0. */
	put4(made.bytes + TEXT + 0x120, 0xd503201f);
	put4(made.bytes + TEXT + 0x124, 0xd2801168);
	put4(made.bytes + TEXT + 0x128, 0xd4000001);
	FUNCTION(&made, 0x120, 12, 0x0c, 29, 0, 0x9d, 0, 0x9e, 0);
	/* Far away from both ends. */
	FUNCTION(&made, 0x140, 0x20, 0x41, 0x0e, 0x80, 0x20, 0x9d, 0x80, 2, 0x9e, 0xff, 1);
	/* glibc's _dl_runtime_resolve: x30 is where its caller has pushed it, above the CFA, which is not that of the caller. */
	FUNCTION(&made, 0x160, 0x20, 0x41, 0x0e, 16, 0x11, 30, 0x7f);
	CHECK_INT(rows_of(&made, EM_AARCH64, &rows), 0);
	CHECK_INT(rows.part_count, 1);
	check_row(0, 0, UNWIND_SP, 0, UNWIND_SAME);
	check_row(1, 4, UNWIND_SP, 4, UNWIND_SAVED_PAIR);
	check_row(2, 12, UNWIND_FP, 4, UNWIND_SAVED_PAIR);
	check_row(3, 0x2c, UNWIND_SP, 0, UNWIND_SAME);
	check_row(4, 0x40, UNWIND_SP, 0, UNWIND_SAME);
	CHECK(rows.rows[4].rule & UNWIND_BEGINS);
	check_row(5, 0x60, UNWIND_SP, 0, UNWIND_SAME);
	check_row(6, 0x64, UNWIND_SP, 2, UNWIND_SAVED_LR);
	check_row(8, 0x84, UNWIND_SP, 512, UNWIND_SAVED_PAIR | UNWIND_PLACE_CFA | 1);
	check_row(10, 0xa4, UNWIND_SP, 512, UNWIND_SAVED_PAIR);
	check_row(12, 0xc4, UNWIND_SP, 8, UNWIND_SAVED_FAR);
	check_row(14, 0xe4, UNWIND_OTHER, 0, 0);
	check_row(15, 0x100, UNWIND_OUTERMOST, 0, 0);
	check_row(16, 0x120, UNWIND_SIGNAL, 0, 0);
	check_row(17, 0x12c, UNWIND_NONE, 0, 0);
	check_row(19, 0x144, UNWIND_OTHER, 0, 0);
	check_row(21, 0x164, UNWIND_OTHER, 0, 0);
	/* A file of the other machine has no rules here. */
	CHECK_INT(rows_of(&made, EM_X86_64, &rows), -ENOEXEC);
	CHECK_INT(rows.count, 0);
}

#define STP_X16_X30 0xa9bf7bf0u
#define NOP 0xd503201fu
#define RET 0xd65f03c0u

TEST(arm64_imported_functions)
{
	/* With and without a BTI. */
	for (uint32_t bti = 0; bti < 2; bti++) {
		begin(&made);
		FUNCTION(&made, 0, 0x20, 0x41, 0x2d);
		FUNCTION(&made, 0x100, 0x20, 0x41, 0x2d);
		put4(made.bytes + TEXT + 0x40, bti ? 0xd503245f : STP_X16_X30);
		put4(made.bytes + TEXT + 0x44, bti ? STP_X16_X30 : 0x90000010);
		add_sections(&made, 0x40, 0x80, NULL, 0);
		CHECK_INT(rows_of(&made, EM_AARCH64, &rows), 0);
		check_row(1, 0x20, UNWIND_NONE, 0, 0);
		check_row(2, 0x40, UNWIND_SP, 0, UNWIND_SAME);
		CHECK(rows.rows[2].rule & UNWIND_BEGINS);
		check_row(3, bti ? 0x48 : 0x44, UNWIND_SP, 2, UNWIND_SAVED_LR | 1);
		check_row(4, 0x60, UNWIND_SP, 0, UNWIND_SAME);
		check_row(5, 0xc0, UNWIND_NONE, 0, 0);
		check_row(6, 0x100, UNWIND_SP, 0, UNWIND_SAME);
	}
	/* Behind the last function. */
	begin(&made);
	FUNCTION(&made, 0, 0x20, 0x41, 0x2d);
	put4(made.bytes + TEXT + 0x40, STP_X16_X30);
	add_sections(&made, 0x40, 0x80, NULL, 0);
	CHECK_INT(rows_of(&made, EM_AARCH64, &rows), 0);
	CHECK_INT(rows.count, 6);
	check_row(4, 0x60, UNWIND_SP, 0, UNWIND_SAME);
	CHECK_INT(rows_from(&made, EM_AARCH64, &rows.next, &rows), 0);
	CHECK_INT(rows.count, 0);
	/* Something else has that name, or it is where functions are. */
	FUNCTION(&made, 0x100, 0x20, 0x41, 0x2d);
	put4(made.bytes + TEXT + 0x40, NOP);
	CHECK_INT(rows_of(&made, EM_AARCH64, &rows), 0);
	CHECK_INT(rows.count, 4);
	put4(made.bytes + TEXT + 0x40, STP_X16_X30);
	add_sections(&made, 0x40, 0xd0, NULL, 0);
	CHECK_INT(rows_of(&made, EM_AARCH64, &rows), 0);
	CHECK_INT(rows.count, 4);
}

/* As the vdso: functions that call nobody, and what a signal handler returns to. */
TEST(arm64_code_without_a_table)
{
	static const uint32_t code[] = {
		0x71003c1f, 0x8b2563e5, 0xa9000025, RET,		/* leaf: cmp w0, #15; add x5, sp, x5; stp x5, x0, [x1]; ret */
		0xa9bf7bfd, 0x94000010, 0xa8c17bfd, RET,		/* calls: stp x29, x30, [sp, #-16]!; bl; ldp; ret */
		0xd10083ff, NOP, 0x910083ff, RET,			/* saves: sub sp, sp, #32; nop; add sp, sp, #32; ret */
		NOP, 0xd2801168, 0xd4000001, NOP,
	};
	const Elf64_Sym symbols[] = {
		{ 0 },
		{ .st_name = 24, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 2, .st_value = TEXT, .st_size = 16 },
		{ .st_name = 29, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 2, .st_value = TEXT + 16, .st_size = 16 },
		{ .st_name = 35, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 2, .st_value = TEXT + 32, .st_size = 16 },
		/* Behind the end of the code, and at no instruction. */
		{ .st_name = 35, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 2, .st_value = TEXT + TEXT_SIZE - 8, .st_size = 16 },
		{ .st_name = 35, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 2, .st_value = TEXT + 33, .st_size = 4 },
	};
	Elf64_Ehdr *e = (Elf64_Ehdr *)made.bytes;

	begin(&made);
	e->e_phnum = 2;		/* no PT_GNU_EH_FRAME */
	memcpy(made.bytes + TEXT, code, sizeof(code));
	add_sections(&made, 0x200, 0x40, symbols, 6);
	CHECK_INT(rows_of(&made, EM_AARCH64, &rows), 0);
	CHECK_INT(rows.count, 4);
	check_row(0, 0, UNWIND_SP, 0, UNWIND_SAME);
	check_row(1, 16, UNWIND_NONE, 0, 0);
	check_row(2, 48, UNWIND_SIGNAL, 0, 0);
	check_row(3, 60, UNWIND_NONE, 0, 0);
	/* There are no more. */
	CHECK_INT(rows_from(&made, EM_AARCH64, &rows.next, &rows), 0);
	CHECK_INT(rows.count, 0);
	/* Without such code the file has no rules, as before. */
	memset(made.bytes + TEXT, 0, TEXT_SIZE);
	put4(made.bytes + TEXT, 0x94000010);
	add_sections(&made, 0x200, 0x40, symbols, 2);
	CHECK_INT(rows_of(&made, EM_AARCH64, &rows), -ENODATA);
	CHECK_INT(rows.part_count, 1);
}

/* -- a stack ------------------------------------------------------------------------------------- */

#define STACK 0x7f0000000000ull
#define AT(word) (STACK + 8 * (uint64_t)(word))

static uint64_t stack_words[128];
static uint32_t jit_code[2];		/* before and at JIT + 4 */
#define JIT 0x500000000000ull
#define CODE 0x400000000000ull

static long read_target(void *to, uint32_t size, uint64_t address)
{
	if (address >= STACK && address + size <= STACK + sizeof(stack_words))
		memcpy(to, (const uint8_t *)stack_words + (address - STACK), size);
	else if (address >= JIT && address + size <= JIT + sizeof(jit_code))
		memcpy(to, (const uint8_t *)jit_code + (address - JIT), size);
	else
		return -1;
	return 0;
}

static struct unwind_mapping mapping = { CODE, CODE + TEXT_SIZE, CODE, 0, 0 };

static struct unwind_mapping *unwind_mapping_at(uint32_t i)
{
	return i ? NULL : &mapping;
}

static struct unwind_row *unwind_row_at(uint32_t i)
{
	return i < rows.count ? &rows.rows[i] : NULL;
}

#define UNWIND_AARCH64 1
#include "wire/unwind_steps.h"

static struct walk_scratch walk;

static uint32_t follow(uint64_t ip, uint64_t sp, uint64_t fp, uint64_t lr)
{
	struct unwind_state *u = &walk.unwind;

	unwind__begin(u);
	u->ip = ip;
	u->sp = sp;
	u->bp = fp;
	u->lr = lr;
	u->first = 0;
	u->mappings = 1;
	u->changed_from = ~0ull;
	u->changed_to = 0;
	u->jit_start = JIT;
	u->jit_end = JIT + 0x1000;
	for (uint32_t i = 0; i < NATIVE_FRAMES_MAX && !unwind__step(&walk, i); i++)
		;
	return u->count;
}

static void make_rows(void)
{
	begin(&made);
	FUNCTION(&made, 0, 0x40, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x42, 0x0d, 29, 0x48, 0xdd, 0xde, 0x0c, 31, 0);
	FUNCTION(&made, 0x40, 0x20, 0x41, 0x2d);
	FUNCTION(&made, 0x60, 0x20, 0x41, 0x0e, 16, 0x9e, 2);
	FUNCTION(&made, 0x80, 0x20, 0x41, 0x0e, 0x80, 4, 0x9d, 2, 0x9e, 1);
	FUNCTION(&made, 0xc0, 0x20, 0x41, 0x0e, 64, 0x9d, 8, 0x9e, 6);
	FUNCTION(&made, 0x100, 0x20, 0x07, 30);
	put4(made.bytes + TEXT + 0x124, 0xd2801168);
	put4(made.bytes + TEXT + 0x128, 0xd4000001);
	FUNCTION(&made, 0x120, 12, 0x0c, 29, 0, 0x9d, 0, 0x9e, 0);
	CHECK_INT(rows_of(&made, EM_AARCH64, &rows), 0);
	mapping.rows = rows.count;
	memset(stack_words, 0, sizeof(stack_words));
}

/* The signature of a return address is above the address. */
#define SIGNED(address) ((address) | 0x5a3ull << 52)

TEST(arm64_from_a_leaf_to_the_first_function)
{
	make_rows();
	/* The leaf was called by what has x30 alone, at 4; that by one with its place at the upper end, at 6; that by one with a frame
	 * pointer, at 70; and that by the first function. */
	stack_words[4] = SIGNED(CODE + 0x90);
	stack_words[6 + 62] = AT(70);
	stack_words[6 + 63] = CODE + 0x20;
	stack_words[70] = 0x1234;
	stack_words[71] = SIGNED(CODE + 0x110);
	CHECK_INT(follow(CODE + 0x48, AT(4), 0x99, SIGNED(CODE + 0x70)), 5);
	CHECK_INT(walk.unwind.end, UNWIND_END_OUTERMOST);
	CHECK(walk.native[0] == CODE + 0x48 && walk.native[1] == CODE + 0x70 && walk.native[2] == CODE + 0x90);
	CHECK(walk.native[3] == CODE + 0x20 && walk.native[4] == CODE + 0x110);
	CHECK(walk.unwind.sp == AT(74) && walk.unwind.bp == 0x1234);
	CHECK_INT(walk.unwind.no_return, 0);
	/* Another register can be between x29 and x30. */
	stack_words[30] = 0x77;
	stack_words[32] = CODE + 0x110;
	CHECK_INT(follow(CODE + 0xd0, AT(30), 0x99, 1), 2);
	CHECK_INT(walk.unwind.end, UNWIND_END_OUTERMOST);
	CHECK(walk.native[1] == CODE + 0x110 && walk.unwind.bp == 0x77);
	/* Before its frame is made, a function is a leaf. */
	CHECK_INT(follow(CODE, AT(4), 0x99, CODE + 0x110), 2);
	CHECK_INT(walk.unwind.end, UNWIND_END_OUTERMOST);
	/* A fiber begins with the address of its first function in x30, and 0 in x29. */
	stack_words[70] = 0;
	stack_words[71] = CODE;
	CHECK_INT(follow(CODE + 0x20, AT(20), AT(70), 0x1), 1);
	CHECK_INT(walk.unwind.end, UNWIND_END_OUTERMOST);
	CHECK_INT(walk.unwind.no_return, 1);
	CHECK(walk.unwind.sp == AT(74));
	/* One that calls itself, with 0 in x29, does not return to its first instruction; nor has it another x29. */
	for (int i = 0; i < 2; i++) {
		stack_words[70] = i ? AT(80) : 0;
		stack_words[71] = i ? CODE : CODE + 0x10;
		follow(CODE + 0x20, AT(20), AT(70), 0x1);
		CHECK(!(walk.unwind.count == 1 && walk.unwind.no_return));
	}
	/* And one that returns to 0. */
	stack_words[71] = 0;
	CHECK_INT(follow(CODE + 0x20, AT(20), AT(70), 0x1), 1);
	CHECK_INT(walk.unwind.end, UNWIND_END_OUTERMOST);
	CHECK_INT(walk.unwind.no_return, 1);
}

TEST(arm64_a_link_register_is_known_only_where_it_was_interrupted)
{
	make_rows();
	/* A leaf has called nobody. */
	stack_words[4] = CODE + 0x50;
	CHECK_INT(follow(CODE + 0x70, AT(4), 0, 0), 2);
	CHECK_INT(walk.unwind.end, UNWIND_END_RULE);
	/* Another thread's registers can be unknown, but the stack pointer. */
	unwind__begin(&walk.unwind);
	walk.unwind.ip = CODE + 0x48;
	walk.unwind.sp = AT(4);
	walk.unwind.bp_lost = 1;
	CHECK(unwind__step(&walk, 0));
	CHECK_INT(walk.unwind.end, UNWIND_END_FP);
}

TEST(arm64_a_signal_handler_returns_to_where_it_interrupted)
{
	make_rows();
	/* The handler has a frame pointer; the frame of the signal begins at 8; a leaf was interrupted. */
	stack_words[4] = 0x1;
	stack_words[5] = CODE + 0x124;
	stack_words[8 + 544 / 8] = AT(100);
	stack_words[8 + 552 / 8] = CODE + 0x20;
	stack_words[8 + 560 / 8] = AT(96);
	stack_words[8 + 568 / 8] = CODE + 0x48;
	stack_words[100] = 0;
	stack_words[101] = CODE + 0x110;
	CHECK_INT(follow(CODE + 0x20, AT(2), AT(4), 0), 5);
	CHECK_INT(walk.unwind.end, UNWIND_END_OUTERMOST);
	CHECK(walk.native[1] == CODE + 0x124 && walk.native[2] == CODE + 0x48 && walk.native[3] == CODE + 0x20);
	CHECK(walk.native[4] == CODE + 0x110);
}

TEST(arm64_code_of_the_jit)
{
	static const struct {
		uint32_t before, at;
	} cases[] = {
		{ 0, 0xa9bf7bfd },		/* its first instruction */
		{ 0xa9bf7bfd, 0x910003fd },	/* and its second */
		{ 0, 0xd503201f },		/* within */
		{ 0xa8c17bfd, 0xd2800480 },	/* behind it: mov x0, #36, of ret behind that */
		{ 0xd2800480, 0xd65f03c0 },	/* at its return */
	};

	make_rows();
	for (int i = 0; i < 5; i++) {
		/* Within, x29 is at its frame, whose place is 10.  Before and behind, the caller's is in x29. */
		uint64_t sp = i == 1 ? AT(10) : i == 2 ? AT(6) : AT(12), fp = i == 2 ? AT(10) : AT(20);

		jit_code[0] = cases[i].before;
		jit_code[1] = cases[i].at;
		stack_words[10] = AT(20);
		stack_words[11] = CODE + 0x20;
		stack_words[21] = CODE + 0x110;
		CHECK_INT(follow(JIT + 4, sp, fp, CODE + 0x20), 3);
		CHECK_INT(walk.unwind.end, UNWIND_END_OUTERMOST);
		CHECK(walk.native[1] == CODE + 0x20 && walk.native[2] == CODE + 0x110);
	}
	/* The exit is the first thing in the code: nothing can be read before it. */
	jit_code[0] = 0xa8c17bfb;	/* ldp of other registers: the frame is still there */
	stack_words[10] = AT(20);
	stack_words[11] = CODE + 0x20;
	CHECK_INT(follow(JIT, AT(6), AT(10), 0), 3);
	CHECK_INT(walk.unwind.end, UNWIND_END_OUTERMOST);
	CHECK(walk.native[1] == CODE + 0x20 && walk.native[2] == CODE + 0x110);
	/* What cannot be read, and what leads backwards. */
	CHECK_INT(follow(JIT + 8, AT(4), AT(10), 0), 1);
	CHECK_INT(walk.unwind.end, UNWIND_END_STACK);
	stack_words[2] = AT(20);
	stack_words[3] = CODE + 0x110;
	jit_code[0] = jit_code[1] = 0;
	CHECK_INT(follow(JIT + 4, AT(10), AT(2), 0), 1);
	CHECK_INT(walk.unwind.end, UNWIND_END_ORDER);
}
