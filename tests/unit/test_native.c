/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules for finding callers, names of functions, and where native functions belong among Ruby frames.  The machine code is
 * that of this program and of its libraries. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/deadline.h"
#include "native/native.h"
#include "native/native_file.h"
#include "native/native_process.h"
#include "parser/elf_symbols.h"
#include "base/elf_machine.h"
#include "parser/elf_unwind.h"
#include "parser/parser.h"
#include "profile_fixture.h"

/* -- files ------------------------------------------------------------------------------------- */

static int read_all(int fd, uint64_t size, struct unwind_row *to, uint32_t max, uint32_t *count, uint64_t *base)
{
	static struct unwind_rows piece;
	struct unwind_place at = { 0 };
	int err;

	*count = 0;
	do {
		struct elf_budget budget;

		elf_budget__init(&budget);
		err = elf_unwind__rows(fd, size, ELF_MACHINE, &budget, &at, &piece);
		if (err || *count + piece.count > max)
			return err ? err : -E2BIG;
		memcpy(to + *count, piece.rows, piece.count * sizeof(*to));
		*count += piece.count;
		*base = piece.base;
		if (piece.count && piece.next.function <= at.function)
			return -ELOOP;
		at = piece.next;
	} while (piece.count);
	return 0;
}

#define ROWS_MAX (512u << 10)
/* Of the linker: where this program is. */
extern const char __executable_start;

/* What every compiler writes at the beginning of a function: the return address is all that is on the stack. */
TEST(unwind_rows_of_this_program)
{
	struct unwind_row *rows = malloc(ROWS_MAX * sizeof(*rows));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint32_t count, begins = 0, plain = 0;
	uint64_t base;
	struct stat st;

	CHECK(!fstat(fd, &st));
	CHECK_INT(read_all(fd, (uint64_t)st.st_size, rows, ROWS_MAX, &count, &base), 0);
	CHECK(count > 10000);
	for (uint32_t i = 0; i < count; i++) {
		CHECK(!i || rows[i].pc >= rows[i - 1].pc);
		CHECK((rows[i].rule & ~UNWIND_BEGINS) < UNWIND_RULES);
		if (!(rows[i].rule & UNWIND_BEGINS))
			continue;
		begins++;
		plain += (rows[i].rule & ~UNWIND_BEGINS) == UNWIND_SP && rows[i].cfa == 1 && rows[i].saved == UNWIND_SAME;
	}
	CHECK(begins > 2000 && plain >= begins - 10);
	close(fd);
	free(rows);
}

/* A copy of the file that has the function, without the header of its table of functions. */
static int without_table(const void *function, uint64_t *size)
{
	int fd = memfd_create("without-table", MFD_CLOEXEC), from;
	Elf64_Ehdr header;
	Elf64_Phdr p;
	struct stat st;
	Dl_info info;

	if (!dladdr(function, &info) || (from = open(info.dli_fname, O_RDONLY | O_CLOEXEC)) < 0)
		return -1;
	if (fstat(from, &st))
		return -1;
	*size = (uint64_t)st.st_size;
	for (off_t at = 0; at < st.st_size;)
		if (sendfile(fd, from, &at, (size_t)(st.st_size - at)) <= 0)
			return -1;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return -1;
	for (uint32_t i = 0; i < header.e_phnum; i++) {
		off_t at = (off_t)(header.e_phoff + i * sizeof(p));

		if (pread(fd, &p, sizeof(p), at) != sizeof(p))
			return -1;
		p.p_type = p.p_type == PT_GNU_EH_FRAME ? PT_NULL : p.p_type;
		if (pwrite(fd, &p, sizeof(p), at) != sizeof(p))
			return -1;
	}
	close(from);
	return fd;
}

/* A static executable has entries for its functions, and no table of them: the rows are the same. */
TEST(unwind_rows_of_a_file_without_a_table)
{
	const void *functions[] = { (const void *)(uintptr_t)crc32, (const void *)(uintptr_t)gnu_get_libc_version };
	struct unwind_row *rows = malloc(ROWS_MAX * sizeof(*rows)), *others = malloc(ROWS_MAX * sizeof(*others));

	for (int i = 0; i < 2; i++) {
		uint32_t count, other;
		uint64_t base, size;
		struct stat st;
		Dl_info info;
		int fd, copy;

		CHECK(dladdr(functions[i], &info));
		fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
		copy = without_table(functions[i], &size);
		CHECK(copy >= 0 && !fstat(fd, &st));
		CHECK_INT(read_all(fd, (uint64_t)st.st_size, rows, ROWS_MAX, &count, &base), 0);
		CHECK_INT(read_all(copy, size, others, ROWS_MAX, &other, &base), 0);
		CHECK_INT(other, count);
		CHECK(count > 500 && !memcmp(rows, others, count * sizeof(*rows)));
		close(fd);
		close(copy);
	}
	free(rows);
	free(others);
}

/* Functions whose caller is not found by the CFA, the return address below it, and rbp. */
__asm__(".text\n"
	".globl odd_1\nodd_1:\n.cfi_startproc\nnop\n.cfi_offset rip, -16\nnop\n.cfi_def_cfa rsp, 24\nnop\n"
	".cfi_restore rip\nnop\n.cfi_endproc\n"
	".globl odd_2\nodd_2:\n.cfi_startproc\nnop\n.cfi_offset rsp, -24\nnop\n.cfi_endproc\n"
	/* The return address where rax points to, and what rax is. */
	".globl odd_3\nodd_3:\n.cfi_startproc\nnop\n.cfi_escape 0x10, 16, 2, 0x70, 0\nnop\n.cfi_endproc\n"
	".globl odd_4\nodd_4:\n.cfi_startproc\nnop\n.cfi_escape 0x16, 16, 2, 0x70, 0\nnop\n.cfi_endproc\n"
	".globl odd_5\nodd_5:\n.cfi_startproc\nnop\n.cfi_undefined rip\nnop\n.cfi_endproc\n"
	".globl odd_6\nodd_6:\n.cfi_startproc\nnop\n.cfi_register rip, rax\nnop\n.cfi_endproc\n"
	/* The CFA by what is on the stack: at rsp + 152, at rsp - 8, and 8 more; what is not followed: too far below, and a number that is odd. */
	".globl odd_7\nodd_7:\n.cfi_startproc\nnop\n.cfi_escape 0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 0x08\nnop\n"
	".cfi_escape 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 0x08\nnop\n.cfi_escape 0x0f, 6, 0x77, 0xf8, 0x7e, 0x06, 0x23, 0x08\nnop\n.cfi_escape 0x0f, 5, 0x77, 0x08, 0x06, 0x23, 0x07\nnop\n.cfi_endproc\n");
extern const char odd_1[], odd_2[], odd_3[], odd_4[], odd_5[], odd_6[], odd_7[];

/* What is followed wrongly would be worse than what is not followed. */
TEST(unwind_rows_of_odd_functions)
{
	struct unwind_row *rows = malloc(ROWS_MAX * sizeof(*rows));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct native_file f = { .fd = -1 };
	uint64_t begin, function;
	struct stat st;

	CHECK(!fstat(fd, &st));
	CHECK_INT(read_all(fd, (uint64_t)st.st_size, rows, ROWS_MAX, &f.rows, &f.base), 0);
	begin = (uintptr_t)odd_1 - (uintptr_t)&__executable_start;
	CHECK_INT(native_file__rule(&f, rows, begin, &function), UNWIND_SP);
	CHECK(function == begin);
	CHECK_INT(native_file__rule(&f, rows, begin + 1, &function), UNWIND_OTHER);
	CHECK_INT(native_file__rule(&f, rows, begin + 2, &function), UNWIND_OTHER);
	CHECK_INT(native_file__rule(&f, rows, begin + 3, &function), UNWIND_SP);
	for (int i = 0; i < 5; i++) {
		const char *odd[] = { odd_2, odd_3, odd_4, odd_6, odd_5 };

		begin = (uintptr_t)odd[i] - (uintptr_t)&__executable_start;
		CHECK_INT(native_file__rule(&f, rows, begin, &function), UNWIND_SP);
		CHECK_INT(native_file__rule(&f, rows, begin + 1, &function), i < 4 ? UNWIND_OTHER : UNWIND_OUTERMOST);
	}
	begin = (uintptr_t)odd_7 - (uintptr_t)&__executable_start;
	CHECK_INT(native_file__rule(&f, rows, begin + 1, &function), UNWIND_SP_DEREF);
	for (uint32_t i = 0; i < f.rows; i++)
		if (rows[i].pc + f.base == begin + 1 || rows[i].pc + f.base == begin + 2)
			CHECK_INT(rows[i].cfa, (rows[i].pc + f.base == begin + 1 ? 16 + 19 : 16 - 1) | 1 << UNWIND_DEREF_PLUS);
	CHECK_INT(native_file__rule(&f, rows, begin + 2, &function), UNWIND_SP_DEREF);
	CHECK_INT(native_file__rule(&f, rows, begin + 4, &function), UNWIND_OTHER);
	CHECK_INT(native_file__rule(&f, rows, begin + 3, &function), UNWIND_OTHER);
	close(fd);
	free(rows);
}

/* A thread in a system call is behind the instruction: glibc's functions that make a thread and that end a signal handler. */
__asm__(".text\n"
	".globl calls_1\ncalls_1:\n.cfi_startproc\nmov %rcx, %r8\nmov $435, %eax\n.cfi_endproc\nsyscall\n.globl calls_1_behind\ncalls_1_behind:\n"
	"test %rax, %rax\nret\n"
	".globl calls_2\ncalls_2:\n.cfi_startproc\nmov %rcx, %r8\nmov $56, %eax\n.cfi_endproc\nsyscall\n.globl calls_2_behind\ncalls_2_behind:\n"
	"test %rax, %rax\nret\n"
	".globl calls_3\ncalls_3:\n.cfi_startproc\n.cfi_signal_frame\nmov $15, %rax\nsyscall\n.cfi_endproc\nnop\nnop\n"
	/* There is no room before the next function. */
	".globl calls_4\ncalls_4:\n.cfi_startproc\nmov %rcx, %r8\nmov $435, %eax\n.cfi_endproc\n"
	".globl calls_5\ncalls_5:\n.cfi_startproc\nsyscall\n.cfi_def_cfa_offset 24\nret\n.cfi_endproc\n");
extern const char calls_1[], calls_1_behind[], calls_2[], calls_2_behind[], calls_3[], calls_4[], calls_5[];

TEST(unwind_rows_of_system_calls)
{
	struct unwind_row *rows = malloc(ROWS_MAX * sizeof(*rows));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t start = (uintptr_t)&__executable_start, function;
	struct native_file f = { .fd = -1 };
	struct stat st;

	CHECK(!fstat(fd, &st));
	CHECK_INT(read_all(fd, (uint64_t)st.st_size, rows, ROWS_MAX, &f.rows, &f.base), 0);
	CHECK_INT(native_file__rule(&f, rows, (uintptr_t)calls_1_behind - start, &function), UNWIND_SP);
	CHECK(function == (uintptr_t)calls_1 - start);
	CHECK_INT(native_file__rule(&f, rows, (uintptr_t)calls_1_behind - start + 1, &function), UNWIND_NONE);
	CHECK_INT(native_file__rule(&f, rows, (uintptr_t)calls_2_behind - start - 3, &function), UNWIND_SP);
	CHECK_INT(native_file__rule(&f, rows, (uintptr_t)calls_2_behind - start, &function), UNWIND_NONE);
	CHECK_INT(native_file__rule(&f, rows, (uintptr_t)calls_3 - start + 9, &function), UNWIND_SIGNAL);
	CHECK_INT(native_file__rule(&f, rows, (uintptr_t)calls_3 - start + 10, &function), UNWIND_NONE);
	CHECK_INT(native_file__rule(&f, rows, (uintptr_t)calls_5 - start, &function), UNWIND_SP);
	CHECK(function == (uintptr_t)calls_5 - start);
	CHECK_INT(native_file__rule(&f, rows, (uintptr_t)calls_5 - start + 2, &function), UNWIND_SP);
	close(fd);
	free(rows);
}

/* Where a mapping is in the file: parts can share a page of it. */
TEST(native_parts_of_files)
{
	struct native_file f = {
		.fd = -1, .part_count = 2,
		.parts = { { .address = 0x1000, .offset = 0x1000, .size = 0x1100 }, { .address = 0x5800, .offset = 0x2800, .size = 0x100 } },
	};
	uint64_t address = 0;

	CHECK(native_file__address(&f, 0x1000, &address) && address == 0x1000);
	CHECK(native_file__address(&f, 0x2000, &address) && address == 0x5000);
	f.parts[1].offset = 0x3800;
	CHECK(native_file__address(&f, 0x2000, &address) && address == 0x2000);
	CHECK(!native_file__address(&f, 0x9000, &address));
	/* Two begin in the same page, at different places. */
	f.parts[1].offset = 0x1800;
	CHECK(!native_file__address(&f, 0x1000, &address));
}

/* Whatever the file says: an end, and rows in order. */
TEST(unwind_rows_of_damaged_files)
{
	struct unwind_row *rows = malloc(ROWS_MAX * sizeof(*rows));
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = memfd_create("damaged", MFD_CLOEXEC);
	uint64_t table = 0, table_size = 0, base;
	uint32_t count;
	Elf64_Ehdr header;
	struct stat st;
	uint8_t *copy;

	CHECK(!fstat(from, &st) && !ftruncate(fd, st.st_size));
	copy = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(pread(from, copy, (size_t)st.st_size, 0) == st.st_size);
	memcpy(&header, copy, sizeof(header));
	for (uint32_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section, names;

		memcpy(&section, copy + header.e_shoff + i * sizeof(section), sizeof(section));
		memcpy(&names, copy + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
		if (!strcmp((char *)copy + names.sh_offset + section.sh_name, ".eh_frame_hdr"))
			table = section.sh_offset;
		if (!strcmp((char *)copy + names.sh_offset + section.sh_name, ".eh_frame"))
			table_size = section.sh_offset + section.sh_size - table;
	}
	CHECK(table && table_size > 1000 && table_size < (uint64_t)st.st_size);
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 50; i++)
			copy[table + test__random() % (round % 2 ? 64 : table_size)] = (uint8_t)test__random();
		if (read_all(fd, (uint64_t)st.st_size, rows, ROWS_MAX, &count, &base))
			continue;
		for (uint32_t i = 0; i < count; i++)
			CHECK((rows[i].rule & ~UNWIND_BEGINS) < UNWIND_RULES);
	}
	munmap(copy, (size_t)st.st_size);
	close(from);
	close(fd);
	free(rows);
}

/* -- a process ---------------------------------------------------------------------------------- */

static struct unwind_row all_rows[ROWS_MAX];
static struct unwind_mapping all_mappings[UNWIND_ALL_MAPPINGS_MAX];
static struct unwind_process published;
static uint32_t published_vm, sets;
static uint64_t published_hash;
static struct unwind_seen seen_now;

static int set_process(const struct unwind_maps *maps, uint32_t vm, const struct unwind_process *p, uint64_t hash)
{
	(void)maps;
	published_hash = hash;
	published_vm = vm;
	published = p ? *p : (struct unwind_process){ 0 };
	sets++;
	return 0;
}

/* `seen_now` is that of process 1; others have changed nothing. */
static struct unwind_seen what_changed(const struct unwind_maps *maps, uint32_t vm)
{
	(void)maps;
	return (struct unwind_seen){ vm == 1 ? seen_now.changes : 0, seen_now.unnoted };
}

static uint32_t first_of(const struct unwind_process *p)
{
	return p->table & 0xffff;
}

static uint32_t count_of(const struct unwind_process *p)
{
	return p->table >> 16 & 0xffff;
}

static uint32_t changes_of(const struct unwind_process *p)
{
	return (uint32_t)(p->table >> 32);
}

static void forget_process(const struct unwind_maps *maps, uint32_t vm)
{
	set_process(maps, vm, NULL, 0);
	sets--;
}

static const struct unwind_maps maps = {
	.rows = all_rows, .mappings = all_mappings, .set = set_process, .seen = what_changed, .forget = forget_process,
};

/* Functions of an "extension". */
#define CODE __attribute__((noinline, noclone, no_icf))
CODE int ext_outer(int n);
CODE int ext_inner(int n);
int ext_outer(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int ext_inner(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 2;
}

/* NULL: there is time for all works. */
static struct deadline *time_for_works;

/* In this thread. */
static uint32_t works[NATIVE_MAP + 1];	/* that do_work() has done last, by kind */

static uint32_t do_work(struct native *n)
{
	struct native_work *w;
	uint32_t done = 0;

	memset(works, 0, sizeof(works));
	for (; (w = native__next_work(n)); done++) {
		works[w->kind]++;
		native_work__run(w, time_for_works);
		native__done(n, w);
	}
	native__publish(n);
	return done;
}

/* How many of a kind there were to do.  If the machine is busy, a second has gone by, and there is a look besides. */
static uint32_t do_kind(struct native *n, enum native_work_kind kind)
{
	do_work(n);
	return works[kind];
}

/* The same, after a sample was in no file that is known: when the next look is allowed, which depends on what looks take. */
static uint32_t do_look(struct native *n)
{
	uint64_t until = deadline__now() + 60000000000ull;
	uint32_t done = 0;

	native__look_again(n, 1);
	while (!done && deadline__now() < until) {
		usleep(20000);
		done = do_work(n);
	}
	return done;
}

static struct native *own_process(uint64_t vm_code)
{
	struct native *n;

	sets = 0;
	seen_now = (struct unwind_seen){ 7, 3 };
	if (native__create(&n, &maps))
		return NULL;
	native__add(n, 1, getpid(), 0, vm_code);
	do_work(n);
	return n;
}

TEST(native_knows_this_process)
{
	struct native *n = own_process((uintptr_t)crc32);
	struct native_place place;
	struct text name = { 0 };

	CHECK_INT(published_vm, 1);
	CHECK(published_hash && published_hash == native_work__hash(getpid(), NULL));
	CHECK(count_of(&published) > 3);
	/* For the kernel, in the order of their addresses. */
	for (uint32_t i = 1; i < count_of(&published); i++)
		CHECK(all_mappings[first_of(&published) + i].start >= all_mappings[first_of(&published) + i - 1].end);
	native__find(n, 1, (uintptr_t)ext_inner, 1, true, &place);
	CHECK(place.file != NATIVE_NO_FILE && !place.of_vm);
	CHECK(place.function == (uintptr_t)ext_inner);
	CHECK_INT(place.rule, UNWIND_SP);
	native__want_names(n, place.file);
	CHECK(native__wants_names(n));
	CHECK_INT(native__add_name(n, place.file, place.address, &name), -EAGAIN);
	CHECK_INT(do_kind(n, NATIVE_NAMES), 1);
	CHECK(!native__wants_names(n));
	CHECK_INT(native__add_name(n, place.file, place.address, &name), 0);
	CHECK_STRING(text__string(&name), "ext_inner");
	text__clear(&name);
	/* The return address behind the last call of a function. */
	native__find(n, 1, (uintptr_t)ext_inner, 1, false, &place);
	CHECK(place.function != (uintptr_t)ext_inner);
	native__find(n, 1, (uintptr_t)crc32, 1, true, &place);
	CHECK(place.of_vm);
	CHECK(strstr(native__path(n, place.file), "libz"));
	/* As its linker has written it, 20 bytes in hex; test_elf.c compares bytes. */
	CHECK_INT(strspn(native__build_id(n, place.file), "0123456789abcdef"), 40);
	CHECK_INT(strlen(native__build_id(n, place.file)), 40);
	CHECK_STRING(native__build_id(n, 4711), "");
	native__want_names(n, place.file);
	do_work(n);
	CHECK_INT(native__add_name(n, place.file, place.address, &name), 0);
	CHECK(strstr(text__string(&name), "crc32"));
	native__find(n, 1, (uintptr_t)&place, 1, true, &place);
	CHECK_INT(place.file, NATIVE_NO_FILE);
	native__find(n, 2, (uintptr_t)crc32, 1, true, &place);
	CHECK_INT(place.file, NATIVE_NO_FILE);
	CHECK_STRING(native__path(n, 4711), "");
	text__free(&name);
	native__destroy(n);
}

/* Two names each, as libc and the vdso have them. */
__attribute__((noinline)) void __ext_polls(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline)) void __vdso_ext_gettime(void)
{
	__asm__ volatile("nop; nop");
}

void ext_polls(void) __attribute__((weak, alias("__ext_polls")));
void ext_gettime(void) __attribute__((weak, alias("__vdso_ext_gettime")));

static void check_name(struct native *n, uintptr_t address, const char *expected)
{
	struct native_place place;
	struct text name = { 0 };

	native__find(n, 1, address, 1, true, &place);
	native__want_names(n, place.file);
	do_work(n);
	CHECK_INT(native__add_name(n, place.file, place.address, &name), 0);
	CHECK_STRING(text__string(&name), expected);
	text__free(&name);
}

TEST(native_chooses_among_names)
{
	struct native *n = own_process((uintptr_t)crc32);

	check_name(n, (uintptr_t)__ext_polls, "ext_polls");
	check_name(n, (uintptr_t)__vdso_ext_gettime, "__vdso_ext_gettime");
	native__destroy(n);
}

/* Code of an assembler, without a size, and functions that are in other sections behind it. */
__asm__(".pushsection .text.ext_first,\"ax\"\n"
	".globl ext_bare\n"
	"ext_bare: nop\n nop\n"
	".popsection\n");
extern const char ext_bare;

TEST(native_names_end_with_their_section)
{
	struct native_symbol symbols[] = {
		{ .address = 0x1000, .size = 0x20, .name = 0, .sectioned = true },
		{ .address = 0x1040, .size = 0, .name = 6 },
	};
	struct native_file f = {
		.fd = -1, .names = { .symbols = symbols, .count = 2, .text = (char []){ "_init\0start" } },
	};
	struct text name = { 0 };

	CHECK(native_file__add_name(&f, 0x101f, &name));
	CHECK_STRING(text__string(&name), "_init");
	/* The table of imported functions is behind it. */
	CHECK(!native_file__add_name(&f, 0x1020, &name));
	text__clear(&name);
	CHECK(native_file__add_name(&f, 0x1050, &name));
	CHECK_STRING(text__string(&name), "start");
	text__free(&name);
}

static bool find_symbol(int fd, uint64_t size, const char *wanted, struct elf_symbol *found)
{
	static struct symbols_piece piece;
	struct symbols_place at = { 0 };
	struct elf_budget budget;

	elf_budget__init(&budget);
	do {
		const char *data = (const char *)piece.data;

		if (elf_symbols__read(fd, size, &budget, &at, &piece))
			return false;
		for (uint32_t i = 0; i < piece.size; i += (uint32_t)((sizeof(*found) + found->length + 7) / 8 * 8)) {
			memcpy(found, data + i, sizeof(*found));
			if (found->length == strlen(wanted) && !memcmp(data + i + sizeof(*found), wanted, found->length))
				return true;
		}
		at = piece.next;
	} while (at.table < SYMBOLS_END);
	return false;
}

TEST(native_symbols_without_a_size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_symbol s = { 0 };
	struct stat st;

	CHECK(!fstat(fd, &st));
	CHECK(find_symbol(fd, (uint64_t)st.st_size, "ext_bare", &s));
	/* It reaches to the end of a section, and not of all code. */
	CHECK(s.sectioned == 1 && s.size >= 2 && s.address + s.size > s.address);
	CHECK(find_symbol(fd, (uint64_t)st.st_size, "_init", &s));
	CHECK(s.sectioned == 1 && s.size > 0 && s.size < 64);
	CHECK(find_symbol(fd, (uint64_t)st.st_size, "ext_inner", &s));
	CHECK(!s.sectioned && s.size);
	CHECK(ext_bare || true);
	close(fd);
}

/* A page of this program, mapped as code once more. */
static void *map_own_code(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	return code;
}

/* A library that comes later is found after a sample was in it. */
TEST(native_looks_again)
{
	struct native *n = own_process(0);
	void *code = map_own_code();
	uint32_t before = sets, count = count_of(&published);

	CHECK_INT(do_work(n), 0);
	CHECK_INT(sets, before);
	CHECK_INT(do_look(n), 1);
	CHECK_INT(sets, before + 1);
	CHECK_INT(count_of(&published), count + 1);
	native__end(n, 1);
	native__look_again(n, 1);
	usleep(110000);
	CHECK_INT(do_work(n), 0);
	native__remove(n, 1);
	CHECK_INT(count_of(&published), 0);
	munmap(code, 4096);
	native__destroy(n);
}

#define FILES 40

/* Of these mappings, how many are of a file that is known? */
static uint32_t known_files(struct native *n, uint32_t vm, void *const *code)
{
	struct native_place place;
	uint32_t count = 0;

	for (int i = 0; i < FILES; i++) {
		native__find(n, vm, (uintptr_t)code[i] + 16, UINT64_MAX, true, &place);
		count += place.in_no_file;
	}
	return count;
}

/* One process of a user has a fourth at most, two have three eighths, and another user still has some. */
TEST(native_files_of_one_user_leave_room_for_others)
{
	struct native_bounds bounds = native_bounds;
	void *code[FILES];
	struct native *n;

	CHECK_INT(native__create(&n, &maps), 0);
	bounds.files = 32;
	native__share(n, &bounds);
	for (int i = 0; i < FILES; i++) {
		int fd = memfd_create("code", MFD_CLOEXEC);

		CHECK(!ftruncate(fd, 4096));
		code[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		CHECK(code[i] != MAP_FAILED);
		close(fd);
	}
	native__add(n, 1, getpid(), 1, 0);
	do_work(n);
	native__add(n, 2, getpid(), 1, 0);
	do_work(n);
	native__add(n, 3, getpid(), 2, 0);
	do_work(n);
	/* The code of this program can have had some. */
	CHECK(known_files(n, 1, code) <= 8 && known_files(n, 1, code) > 4);
	CHECK(known_files(n, 2, code) > known_files(n, 1, code) && known_files(n, 2, code) <= 12);
	CHECK(known_files(n, 3, code) > known_files(n, 2, code) && known_files(n, 3, code) <= 17);
	for (int i = 0; i < FILES; i++)
		munmap(code[i], 4096);
	native__destroy(n);
}

/* Rules of the process that was published last. */
static uint32_t published_rules(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count_of(&published); i++)
		sum += all_mappings[first_of(&published) + i].rows;
	return sum;
}

/* A file whose rules found no room in the share of one process has them when a process of another user comes. */
TEST(native_rules_of_one_user_leave_room_for_others)
{
	struct native_bounds bounds = native_bounds;
	struct native_place place;
	uint32_t first, second;
	struct native *n;

	CHECK_INT(native__create(&n, &maps), 0);
	bounds.rules = 100000;
	native__share(n, &bounds);
	native__add(n, 1, getpid(), 1, 0);
	do_work(n);
	CHECK_INT(published_vm, 1);
	first = published_rules();
	CHECK(first > 0 && first <= 25000);
	native__add(n, 2, getpid(), 2, 0);
	do_work(n);
	/* The file is read again, and both are told. */
	CHECK(do_kind(n, NATIVE_RULES) == 0);
	second = published_rules();
	CHECK(second > first && second <= 50000);
	/* Where its functions are was known before. */
	native__find(n, 1, (uintptr_t)gnu_get_libc_version, UINT64_MAX, true, &place);
	CHECK(place.file != NATIVE_NO_FILE);
	native__destroy(n);
}

/* What another thread cannot do is wanted again, and spoils nothing. */
TEST(native_work_that_fails)
{
	struct native_place place;
	struct native_work *w;
	struct native *n;

	CHECK_INT(native__create(&n, &maps), 0);
	native__add(n, 1, getpid(), 0, 0);
	w = native__next_work(n);
	CHECK(w && w->kind == NATIVE_LOOK);
	CHECK(!native__next_work(n));
	native__failed(n, w);
	usleep(110000);
	w = native__next_work(n);
	CHECK(w && w->kind == NATIVE_LOOK);
	native_work__run(w, NULL);
	/* Its process has ended, and another one has the pid. */
	w->err = -ESRCH;
	native__done(n, w);
	native__find(n, 1, (uintptr_t)ext_inner, 1, true, &place);
	CHECK_INT(place.file, NATIVE_NO_FILE);
	native__destroy(n);

	CHECK_INT(native__create(&n, &maps), 0);
	native__add(n, 1, getpid(), 0, 0);
	w = native__next_work(n);
	w->began++;
	native_work__run(w, NULL);
	CHECK_INT(w->err, -ESRCH);
	native__done(n, w);
	native__destroy(n);
}

/* Works until there are none, and each of rules fails so.  How many did. */
static uint32_t fail_rules(struct native *n, int err)
{
	uint64_t until = deadline__now() + 60000000000ull;
	uint32_t looks = 0, failed = 0;

	native__look_again(n, 1);
	while (!looks && deadline__now() < until) {
		struct native_work *w;

		while ((w = native__next_work(n))) {
			looks += w->kind == NATIVE_LOOK;
			native_work__run(w, NULL);
			if (w->kind == NATIVE_RULES) {
				w->err = err;
				failed++;
			}
			native__done(n, w);
		}
		usleep(20000);
	}
	return looks ? failed : UINT32_MAX;
}

/* A file that was unmapped before it was opened is opened when it is there again; one that does not answer is not. */
TEST(native_files_that_cannot_be_opened)
{
	struct native_place place;
	uint32_t files;
	struct native *n;

	CHECK_INT(native__create(&n, &maps), 0);
	native__add(n, 1, getpid(), 0, 0);
	files = fail_rules(n, -ENOENT);
	CHECK(files > 3 && files != UINT32_MAX);
	CHECK_INT(fail_rules(n, -ENOENT), files);
	CHECK_INT(do_look(n), files + 1);
	native__find(n, 1, (uintptr_t)ext_inner, deadline__now(), true, &place);
	CHECK(place.function == (uintptr_t)ext_inner);
	native__destroy(n);
	CHECK_INT(native__create(&n, &maps), 0);
	native__add(n, 1, getpid(), 0, 0);
	CHECK_INT(fail_rules(n, -ETIMEDOUT), files);
	CHECK_INT(fail_rules(n, -ETIMEDOUT), 0);
	native__destroy(n);
	/* Nor for ever. */
	CHECK_INT(native__create(&n, &maps), 0);
	native__add(n, 1, getpid(), 0, 0);
	for (uint32_t i = 0; i < 8; i++)
		CHECK_INT(fail_rules(n, -ENOENT), files);
	CHECK_INT(fail_rules(n, -ENOENT), 0);
	native__destroy(n);
}

/* What there is no time for is read when there is. */
TEST(native_files_that_are_not_read_in_time)
{
	struct text name = { 0 };
	static struct deadline over;
	struct native_place place;
	struct native_work *w;
	struct native *n;
	uint32_t late = 0;

	deadline__start(&over, -1, 1);
	CHECK_INT(native__create(&n, &maps), 0);
	CHECK_INT(native__add(n, 1, getpid(), 0, 0), 0);
	while ((w = native__next_work(n))) {
		native_work__run(w, w->kind == NATIVE_RULES ? &over : NULL);
		CHECK_INT(w->late, w->kind == NATIVE_RULES);
		late += w->late;
		native__done(n, w);
	}
	CHECK(late > 3);
	native__find(n, 1, (uintptr_t)ext_inner, 1, true, &place);
	CHECK(place.file == NATIVE_NO_FILE && place.late && strstr(place.late, "/unit"));
	native__try_late(n);
	CHECK_INT(do_kind(n, NATIVE_RULES), late);
	native__find(n, 1, (uintptr_t)ext_inner, 1, true, &place);
	CHECK(!place.late && !place.refused && place.function == (uintptr_t)ext_inner);

	/* Names, and those that were not even begun. */
	native__want_names(n, place.file);
	time_for_works = &over;
	CHECK_INT(do_kind(n, NATIVE_NAMES), 1);
	time_for_works = NULL;
	CHECK_INT(native__add_name(n, place.file, place.address, &name), -ETIMEDOUT);
	CHECK_INT(do_kind(n, NATIVE_NAMES), 0);
	native__try_late(n);
	CHECK_INT(native__add_name(n, place.file, place.address, &name), -EAGAIN);
	native__end_names(n);
	CHECK_INT(native__add_name(n, place.file, place.address, &name), -ETIMEDOUT);
	CHECK_INT(do_kind(n, NATIVE_NAMES), 0);
	native__try_late(n);
	CHECK_INT(do_kind(n, NATIVE_NAMES), 1);
	CHECK_INT(native__add_name(n, place.file, place.address, &name), 0);
	CHECK_STRING(text__string(&name), "ext_inner");
	text__free(&name);
	native__destroy(n);

	/* The same of rules. */
	CHECK_INT(native__create(&n, &maps), 0);
	CHECK_INT(native__add(n, 1, getpid(), 0, 0), 0);
	w = native__next_work(n);
	native_work__run(w, NULL);
	native__done(n, w);
	native__end_rules(n);
	CHECK(!native__next_work(n));
	native__try_late(n);
	CHECK_INT(do_kind(n, NATIVE_RULES), late);
	native__destroy(n);
}

/* Files of other users cannot be opened without the right to become that user. */
TEST(native_files_without_permission_are_told)
{
	struct native_place place;
	struct native_work *w;
	struct native *n;

	CHECK_INT(native__create(&n, &maps), 0);
	CHECK_INT(native__add(n, 1, getpid(), 0, 0), 0);
	while ((w = native__next_work(n))) {
		native_work__run(w, NULL);
		if (w->kind == NATIVE_RULES)
			w->err = -EPERM;
		native__done(n, w);
	}
	native__find(n, 1, (uintptr_t)ext_inner, 1, true, &place);
	CHECK(place.file == NATIVE_NO_FILE && !place.late && !place.in_no_file && place.refused && strstr(place.refused, "/unit"));
	native__destroy(n);
}

/* Processes come and go, and never are more than a few there. */
TEST(native_slots_are_used_again)
{
	struct native *n = own_process(0);
	struct native_place place;

	for (uint32_t vm = 2; vm < 3 * NATIVE_PROCESSES_MAX; vm++) {
		native__fork(n, vm - 1, vm, getpid());
		CHECK_INT(published_vm, vm);
		if (vm % 1000 == 2) {
			native__find(n, vm, (uintptr_t)ext_inner, 1, true, &place);
			CHECK(place.file != NATIVE_NO_FILE);
		}
		native__remove(n, vm - 1);
	}
	native__find(n, 1, (uintptr_t)ext_inner, 1, true, &place);
	CHECK_INT(place.file, NATIVE_NO_FILE);
	native__destroy(n);
}

static bool is_in_no_file(struct native *n, const void *at)
{
	struct native_place place;

	native__find(n, 1, (uintptr_t)at, deadline__now(), true, &place);
	return place.in_no_file;
}

static void *map_code(int fd)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, (fd < 0 ? MAP_ANONYMOUS : 0) | MAP_PRIVATE, fd, 0);
}

/* Only code that was seen to be in no file, or in one that is no program, is looked up in a map. */
TEST(native_asks_maps_for_code_in_no_file)
{
	int fd = memfd_create("a JIT's", MFD_CLOEXEC);
	void *before, *plain, *shared, *late, *library;
	struct native_place place;
	struct native *n;

	CHECK(!ftruncate(fd, 4096));
	plain = map_code(-1);
	before = mmap(NULL, 4096, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	shared = map_code(fd);
	n = own_process(0);
	CHECK(is_in_no_file(n, plain));
	CHECK(is_in_no_file(n, (char *)plain + 4095));
	CHECK(is_in_no_file(n, shared));
	/* No code, code of files, and what nobody has looked at. */
	CHECK(!is_in_no_file(n, before));
	CHECK(!is_in_no_file(n, ext_inner));
	CHECK(!is_in_no_file(n, (void *)crc32));
	CHECK(!is_in_no_file(n, &place));
	late = map_code(-1);
	library = map_own_code();
	CHECK(!is_in_no_file(n, late) && !is_in_no_file(n, library));
	CHECK(do_look(n) >= 1);
	CHECK(is_in_no_file(n, late) && !is_in_no_file(n, library) && is_in_no_file(n, plain));

	native__find(n, 1, (uintptr_t)ext_inner, deadline__now(), true, &place);
	native__find_in_map(n, 1, (uintptr_t)ext_inner, deadline__now(), true, &place);
	CHECK(place.file != NATIVE_IN_MAP);
	native__find(n, 1, (uintptr_t)plain, deadline__now(), true, &place);
	CHECK_INT(place.file, NATIVE_NO_FILE);
	native__find_in_map(n, 1, (uintptr_t)plain, deadline__now(), true, &place);
	CHECK_INT(place.file, NATIVE_IN_MAP);
	CHECK_STRING(native__path(n, place.file), "[jit]");
	CHECK(native__wants_names(n));
	do_work(n);
	/* There is no map. */
	CHECK(!native__wants_names(n) && !native__map_address(n, place.address));
	/* A child has the same code. */
	native__fork(n, 1, 2, getpid());
	native__find(n, 2, (uintptr_t)plain, deadline__now(), true, &place);
	CHECK(place.in_no_file);
	native__destroy(n);

	/* A file that could not be opened, or was not read yet, is not known to be none. */
	CHECK_INT(native__create(&n, &maps), 0);
	native__add(n, 1, getpid(), 0, 0);
	CHECK(fail_rules(n, -ENOENT) > 3);
	CHECK(!is_in_no_file(n, ext_inner) && is_in_no_file(n, plain));
	native__destroy(n);
	munmap(plain, 4096);
	munmap(before, 4096);
	munmap(shared, 4096);
	munmap(late, 4096);
	munmap(library, 4096);
	close(fd);
}

/* The map of a process that has ended makes room for that of another one, and its names stay. */
TEST(native_maps_are_given_back)
{
	void *code = map_code(-1);
	struct native *n = own_process(0);
	struct native_place place;

	for (uint32_t vm = 2; vm < 200; vm++) {
		native__fork(n, vm - 1, vm, getpid());
		native__find(n, vm, (uintptr_t)code, 1, true, &place);
		native__find_in_map(n, vm, (uintptr_t)code, 1, true, &place);
		CHECK_INT(place.file, NATIVE_IN_MAP);
		native__remove(n, vm - 1);
	}
	native__destroy(n);
	munmap(code, 4096);
}

/* Processes without a map do not keep others from having one. */
TEST(native_maps_of_processes_without_one)
{
	void *code = map_code(-1);
	struct native *n = own_process(0);
	struct native_place place;
	struct native_work *w;
	uint32_t none = 0;
	uint64_t first = 0, second;

	for (uint32_t vm = 2; vm < 72; vm++) {
		native__fork(n, 1, vm, getpid());
		native__find(n, vm, (uintptr_t)code, 1, true, &place);
		native__find_in_map(n, vm, (uintptr_t)code, 1, true, &place);
		none += place.file != NATIVE_IN_MAP;
		if (vm == 2)
			first = place.address;
	}
	CHECK_INT(none, 6);
	while ((w = native__next_names(n))) {
		native_work__run(w, NULL);
		CHECK_INT(w->err, -ENOENT);
		native__done(n, w);
	}
	usleep(1100000);
	native__find(n, 71, (uintptr_t)code, 1, true, &place);
	native__find_in_map(n, 71, (uintptr_t)code, 1, true, &place);
	CHECK_INT(place.file, NATIVE_IN_MAP);
	/* The other one has lost its place, and its number is not that of this one. */
	CHECK(place.address != first);
	second = place.address;
	native__find(n, 2, (uintptr_t)code, 1, true, &place);
	native__find_in_map(n, 2, (uintptr_t)code, 1, true, &place);
	CHECK(place.file == NATIVE_IN_MAP && place.address != first && place.address != second);
	native__destroy(n);
	munmap(code, 4096);
}

/* What the kernel has is told to be right at each look, also if nothing has changed. */
TEST(native_tells_when_it_looked)
{
	struct native *n = own_process(0);
	struct unwind_process first = published;

	CHECK(first.vm == 1 && changes_of(&first) == 7 && first.unnoted == 3);
	seen_now = (struct unwind_seen){ 8, 4 };
	CHECK_INT(do_look(n), 1);
	CHECK(first_of(&published) == first_of(&first) && count_of(&published) == count_of(&first));
	CHECK(changes_of(&published) == 8 && published.unnoted == 4);
	native__destroy(n);
}

/* What changes while a look is under way, or before it is published, may not be in it. */
TEST(native_tells_what_was_seen_before_the_look)
{
	struct native *n = own_process(0);
	struct native_work *w = NULL;

	native__look_again(n, 1);
	seen_now = (struct unwind_seen){ 8, 3 };
	for (int i = 0; i < 3000 && !(w = native__next_work(n)); i++)
		usleep(20000);
	CHECK(w && w->kind == NATIVE_LOOK);
	seen_now = (struct unwind_seen){ 9, 4 };
	native_work__run(w, NULL);
	seen_now = (struct unwind_seen){ 10, 5 };
	native__done(n, w);
	seen_now = (struct unwind_seen){ 11, 6 };
	native__publish(n);
	CHECK(changes_of(&published) == 8 && published.unnoted == 3);
	/* One that fails has seen nothing. */
	w = NULL;
	native__look_again(n, 1);
	for (int i = 0; i < 3000 && !(w = native__next_work(n)); i++)
		usleep(20000);
	CHECK(w && w->kind == NATIVE_LOOK);
	native__failed(n, w);
	native__publish(n);
	CHECK(changes_of(&published) == 8 && published.unnoted == 3);
	native__destroy(n);
}

/* A child has what its parent has: only if that is known.  Its changes are counted from the fork on. */
TEST(native_children_of_who_has_changed_something)
{
	struct native *n = own_process(0);
	struct unwind_process first = published;

	native__fork(n, 1, 2, getpid());
	CHECK(published_vm == 2 && published.vm == 2 && published_hash);
	CHECK(first_of(&published) == first_of(&first) && count_of(&published) == count_of(&first));
	CHECK(changes_of(&published) == 0 && published.unnoted == 3);
	for (int i = 0; i < 2; i++) {
		seen_now = (struct unwind_seen){ i ? 7 : 8, i ? 4 : 3 };
		published_vm = 0;
		native__fork(n, 1, 3 + (uint32_t)i, getpid());
		CHECK_INT(published_vm, 0);
		CHECK_INT(do_work(n), 1);
		CHECK_INT(published_vm, 3 + i);
		CHECK(changes_of(&published) == 0 && published.unnoted == seen_now.unnoted);
	}
	native__destroy(n);
}

/* The kernel reads a block until it has another one, and may be reading it for a while then. */
TEST(native_blocks_are_given_back)
{
	const uint64_t second = 1000000000;
	struct native_blocks b = { 0 };
	struct native_block one, other, third;

	CHECK(native_blocks__take(&b, 100, 0, second, &one));
	CHECK_INT(one.class, 7);
	native_blocks__share(&b, &one);
	other = one;
	native_blocks__give_back(&b, &one, second);
	CHECK(!one.is);
	CHECK(native_blocks__take(&b, 100, 0, 9 * second, &third));
	CHECK(third.first != other.first);	/* it is the other one's */
	native_blocks__give_back(&b, &other, 9 * second);
	CHECK(native_blocks__take(&b, 128, 0, 9 * second + 1, &one));
	CHECK(one.first != 0 && one.first != third.first);
	CHECK(native_blocks__take(&b, 65, 0, 11 * second, &other));
	CHECK_INT(other.first, 0);
	/* As many as there are, and no more. */
	for (uint32_t i = 0; i < UNWIND_ALL_MAPPINGS_MAX / 128 - 3; i++)
		CHECK(native_blocks__take(&b, 128, 0, 11 * second, &other));
	CHECK(!native_blocks__take(&b, 128, 0, 11 * second, &other));
	CHECK(!native_blocks__take(&b, UNWIND_MAPPINGS_MAX + 1, 0, 11 * second, &other));
	native_blocks__free(&b);
}

TEST(native_blocks_of_one_user_leave_room_for_others)
{
	const uint64_t second = 1000000000;
	struct native_blocks b = { .budget.max = UNWIND_ALL_MAPPINGS_MAX };
	struct native_block taken[16], block;
	uint32_t count = 0;

	while (count < 16 && native_blocks__take(&b, 4096, 1, second, &taken[count]))
		count++;
	CHECK_INT(count, 7);
	CHECK(native_blocks__take(&b, 4096, 2, second, &block));
	/* As long as the kernel may read what was given back, it is not free. */
	native_blocks__give_back(&b, &taken[5], second);
	native_blocks__give_back(&b, &taken[6], second);
	CHECK(!native_blocks__take(&b, 4096, 1, second + 1, &block));
	CHECK(native_blocks__take(&b, 4096, 1, 3 * second, &block));
	native_blocks__free(&b);
}

static struct native_mapped *mappings(uint32_t count, const struct native_mapped *list)
{
	struct native_mapped *copy = malloc(count * sizeof(*copy));

	memcpy(copy, list, count * sizeof(*copy));
	return copy;
}

/* Each look takes 10. */
#define SAW(p, at, ...) native_process__saw(p, mappings(sizeof((struct native_mapped[]){ __VA_ARGS__ }) / \
	sizeof(struct native_mapped), (struct native_mapped[]){ __VA_ARGS__ }), \
	sizeof((struct native_mapped[]){ __VA_ARGS__ }) / sizeof(struct native_mapped), at, (at) + 10)
#define A { .start = 1000, .end = 2000, .file = 1 }
#define B { .start = 3000, .end = 4000, .file = 2 }
#define C { .start = 3500, .end = 4500, .file = 3 }

static uint32_t file_at(const struct native_process *p, uint64_t address, uint64_t time)
{
	const struct native_mapped *m = native_process__find(p, address, time);

	return m ? m->file : 0;
}

/* A was there all the time, B was unloaded, and C was loaded where B had been. */
TEST(native_mappings_over_time)
{
	struct native_process p = { 0 };

	CHECK(SAW(&p, 100, A, B));
	CHECK(!SAW(&p, 200, A, B));
	CHECK(SAW(&p, 300, A, C));
	for (uint64_t time = 50; time < 400; time += 50)
		CHECK_INT(file_at(&p, 1500, time), 1);
	CHECK_INT(file_at(&p, 2000, 100), 0);
	CHECK_INT(file_at(&p, 999, 100), 0);
	/* Before the first look it was B, since that is what was found. */
	CHECK_INT(file_at(&p, 3700, 50), 2);
	CHECK_INT(file_at(&p, 3700, 150), 2);
	CHECK_INT(file_at(&p, 3700, 200), 2);
	/* A walk knew nothing of C before a look had found it, and of nothing that came between. */
	CHECK_INT(file_at(&p, 3700, 250), 2);
	CHECK_INT(file_at(&p, 3700, 305), 2);
	CHECK_INT(file_at(&p, 3700, 310), 3);
	CHECK_INT(file_at(&p, 3200, 250), 2);
	CHECK_INT(file_at(&p, 4200, 250), 0);
	CHECK_INT(file_at(&p, 4200, 310), 3);
	CHECK(p.seen_at == 300);
	/* Many more than are kept. */
	for (uint64_t time = 400; time < 400 + 40 * NATIVE_PAST_MAX; time += 40) {
		CHECK(SAW(&p, time, A, B));
		CHECK(SAW(&p, time + 20, A, C));
	}
	CHECK_INT(file_at(&p, 3700, 400 + 40 * NATIVE_PAST_MAX - 20), 2);
	CHECK_INT(file_at(&p, 3700, 400 + 40 * NATIVE_PAST_MAX), 3);
	CHECK_INT(file_at(&p, 1500, 100), 1);
	native_process__free(&p);
}

/* -- joined with Ruby --------------------------------------------------------------------------- */

static struct native_frames native_frames;

/* The "VM" is zlib: vm_exec is crc32, and what else is in there belongs to the VM. */
#define EXEC ((uintptr_t)crc32 + 1)
#define VM ((uintptr_t)inflate + 1)
#define OUTER ((uintptr_t)ext_outer + 1)
#define INNER ((uintptr_t)ext_inner + 1)

static void set_up_native(void)
{
	set_up();
	memset(&native_frames, 0, sizeof(native_frames));
	native_frames.native = own_process((uintptr_t)crc32);
	resolver.native = &native_frames;
	vm.layout.section.exec_start = (uintptr_t)crc32;
	vm.layout.section.exec_end = (uintptr_t)crc32 + 8;
	fake__get(&ruby, size_id)->code = (uintptr_t)ext_outer;
	start();
}

static void tear_down_native(void)
{
	native_frames__free(&native_frames);
	tear_down();
}

/* A Ruby frame with the flags of the contract. */
static void known(uint32_t id, uint32_t flags)
{
	frame(id, 0);
	sample.event.nr_frames--;
	sample.frames[sample.event.nr_frames++].flags = FRAME_KNOWN | flags;
}

static const char *joined(uint8_t end, uint32_t count, const uint64_t *addresses)
{
	struct sample_machine *m = (struct sample_machine *)&sample.frames[sample.event.nr_frames];

	memset(m, 0, sizeof(*m));
	m->nr_native = (uint16_t)count;
	m->native_end = end;
	memcpy(m->address, addresses, count * sizeof(*addresses));
	sample.event.flags |= SAMPLE_HAS_MACHINE;
	resolve__event(&resolver, &sample, sizeof(sample.event) + sample.event.nr_frames * sizeof(struct sample_frame) +
		       SAMPLE_MACHINE_HEAD + count * sizeof(*addresses));
	do_work(native_frames.native);
	native_frames__take_all(&native_frames, &frames);
	return folded();
}

#define JOINED(end, ...) \
	joined(end, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), (const uint64_t[]){ __VA_ARGS__ })

/* foo calls size, a method in C. */
static void foo_calls_size(void)
{
	known(size_id, FRAME_OF_C);
	known(foo_id, FRAME_FINISH);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
}

/* Functions have the addresses that ran, and the build id of their file, if a report asks for them. */
static void check_addresses(void)
{
	struct report r;

	build_report(&r, REPORT_BY_ADDRESS);
	for (uint32_t i = 0; i < r.label_count; i++) {
		const struct frame *f = &r.labels[i].frame;

		CHECK_INT(f->address != 0, !strncmp(r.labels[i].name, "ext_", 4));
		CHECK(f->kind != FRAME_NATIVE || !*f->module || strlen(f->key) == 40);
	}
	report__free(&r);
	build_report(&r, REPORT_BY_LINE);
	for (uint32_t i = 0; i < r.label_count; i++)
		CHECK(!r.labels[i].frame.address && !*r.labels[i].frame.key);
	report__free(&r);
}

TEST(native_functions_are_below_their_method)
{
	struct deadline over;

	set_up_native();
	foo_calls_size();
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, INNER, OUTER, VM, EXEC, VM), "Foo#foo;Array#size;ext_outer;ext_inner 1\n");
	check_addresses();
	CHECK_INT(native_frames.joined, 1);
	CHECK_INT(native_frames.apart, 0);
	tear_down_native();

	/* There is no time to read their names. */
	set_up_native();
	foo_calls_size();
	deadline__start(&over, -1, 1);
	time_for_works = &over;
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, INNER, OUTER, VM, EXEC, VM),
		     "Foo#foo;Array#size;[unit: not read in time];[unit: not read in time] 1\n");
	time_for_works = NULL;
	native__try_late(native_frames.native);
	do_work(native_frames.native);
	native_frames__take_all(&native_frames, &frames);
	CHECK_STRING(folded(), "Foo#foo;Array#size;ext_outer;ext_inner 1\n");
	tear_down_native();

	/* A function of the VM, and one of the extension that it calls. */
	set_up_native();
	foo_calls_size();
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, INNER, VM, VM, OUTER, VM, EXEC, VM),
		     "Foo#foo;Array#size;ext_outer;[vm];ext_inner 1\n");
	tear_down_native();

	/* The interpreter's own loop is no function of interest, what it calls is. */
	set_up_native();
	known(foo_id, FRAME_FINISH);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, VM, EXEC, VM), "Foo#foo 1\n");
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, INNER, VM, VM, EXEC, VM), "Foo#foo 1\nFoo#foo;[vm];ext_inner 1\n");
	tear_down_native();
}

/* C, Ruby, C, Ruby: each vm_exec has its group. */
TEST(native_functions_are_between_ruby_frames)
{
	set_up_native();
	known(size_id, FRAME_OF_C);
	known(bar_id, FRAME_FINISH);
	known(size_id, FRAME_OF_C);
	known(block_id, 0);
	known(foo_id, FRAME_FINISH);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, OUTER, VM, EXEC, VM, INNER, OUTER, VM, EXEC, VM),
		     "Foo#foo;block in Foo#foo;Array#size;ext_outer;ext_inner;[vm];Foo#bar;Array#size;ext_outer 1\n");
	tear_down_native();

	/* The innermost call is about to begin, or has just ended: it has no vm_exec. */
	set_up_native();
	known(bar_id, FRAME_FINISH);
	known(size_id, FRAME_OF_C);
	known(foo_id, FRAME_FINISH);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, VM, INNER, OUTER, VM, EXEC, VM),
		     "Foo#foo;Array#size;ext_outer;ext_inner;[vm];Foo#bar 1\n");
	tear_down_native();
}

/* The first methods of a thread that an extension has made, below its functions.  How the thread begins, in libc, is not shown. */
TEST(native_functions_before_the_first_method)
{
	uint64_t libc = (uintptr_t)strtol + 1;

	set_up_native();
	known(foo_id, FRAME_FINISH);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, VM, EXEC, VM, INNER, OUTER, VM, VM, libc, libc), "ext_outer;ext_inner;[vm];Foo#foo 1\n");
	tear_down_native();
	set_up_native();
	known(foo_id, FRAME_FINISH);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, VM, EXEC, VM, VM, libc, libc), "Foo#foo 1\n");
	tear_down_native();

	/* A method in C, also when its function has not begun yet, or has ended. */
	set_up_native();
	known(size_id, FRAME_OF_C);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, OUTER, VM, INNER, VM, libc, libc), "ext_inner;[vm];Array#size;ext_outer 1\n");
	CHECK_INT(native_frames.joined, 1);
	tear_down_native();
	set_up_native();
	known(size_id, FRAME_OF_C);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, VM, INNER, VM, libc, libc), "Array#size;[native functions left out] 1\n");
	tear_down_native();
	set_up_native();
	known(size_id, FRAME_OF_C);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, VM, VM, libc, libc), "Array#size 1\n");
	tear_down_native();

	/* A function that the VM calls for itself, and that calls a method in C. */
	set_up_native();
	foo_calls_size();
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, OUTER, VM, INNER, VM, EXEC, VM), "Foo#foo;ext_inner;[vm];Array#size;ext_outer 1\n");
	tear_down_native();
}

/* What cannot be joined is marked, and nothing is guessed. */
TEST(native_functions_that_cannot_be_joined)
{
	set_up_native();
	foo_calls_size();
	/* Two of vm_exec, and one call of the interpreter. */
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, INNER, VM, OUTER, VM, EXEC, VM, EXEC, VM),
		     "Foo#foo;Array#size;[native functions left out];ext_inner 1\n");
	CHECK_INT(native_frames.apart, 1);
	tear_down_native();

	/* The native stack ends too early, in a function that has rules now, and in one that has none. */
	set_up_native();
	foo_calls_size();
	CHECK_STRING(JOINED(UNWIND_END_NO_RULES, INNER, OUTER),
		     "Foo#foo;Array#size;[truncated: unwind rules not read yet];ext_outer;ext_inner 1\n");
	CHECK_INT(native_frames.ends[UNWIND_END_NO_RULES], 1);
	tear_down_native();
	set_up_native();
	foo_calls_size();
	CHECK_STRING(JOINED(UNWIND_END_NO_RULES, INNER, 4096),
		     "Foo#foo;Array#size;[truncated: a native function without unwind rules];[native code in no file];ext_inner 1\n");
	tear_down_native();
	/* Nothing was known of the process then. */
	set_up_native();
	foo_calls_size();
	CHECK_STRING(joined(UNWIND_END_NO_FILE, 0, (const uint64_t[]){ 0 }), "Foo#foo;Array#size;[truncated: mappings not read yet] 1\n");
	tear_down_native();

	/* A frame whose kind is not known. */
	set_up_native();
	frame(size_id, 0);
	known(foo_id, FRAME_FINISH);
	frame(RB_DEBUG_EXT_ID_NONE, 0);
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, INNER, OUTER, VM, EXEC), "Foo#foo;Array#size;ext_outer;ext_inner 1\n");
	CHECK_INT(native_frames.apart, 1);
	tear_down_native();
}

/* Code of YJIT has Ruby frames: no map is asked for it, also if it has a name there. */
TEST(native_functions_of_jits)
{
	void *code = map_code(-1);
	uint64_t at = (uintptr_t)code;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	CHECK(f && fprintf(f, "%llx 100 of the map\n", (unsigned long long)at) > 0 && !fclose(f));
	set_up_native();
	foo_calls_size();
	CHECK_STRING(JOINED(UNWIND_END_NO_FILE, at + 8), "Foo#foo;Array#size;[truncated: native code in no file];of the map 1\n");
	CHECK_INT(native_frames.place[0].file, NATIVE_IN_MAP);
	tear_down_native();

	set_up_native();
	foo_calls_size();
	vm.layout.section.jit_start = at;
	vm.layout.section.jit_end = at + 4096;
	CHECK_STRING(JOINED(UNWIND_END_NO_FILE, at + 8), "Foo#foo;Array#size;[truncated: native code in no file] 1\n");
	CHECK_INT(native_frames.place[0].file, NATIVE_NO_FILE);
	tear_down_native();
	unlink(path);
	munmap(code, 4096);
}

/* The collector is called by the VM: what it calls is below it. */
TEST(native_functions_of_the_collector)
{
	set_up_native();
	foo_calls_size();
	sample.event.gc_phase = RB_DEBUG_EXT_GC_SWEEP;
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, INNER, VM, OUTER, VM, EXEC, VM),
		     "Foo#foo;Array#size;ext_outer;[GC sweep];ext_inner 1\n");
	tear_down_native();
	set_up_native();
	foo_calls_size();
	sample.event.gc_phase = RB_DEBUG_EXT_GC_MARK;
	CHECK_STRING(JOINED(UNWIND_END_OUTERMOST, VM, OUTER, VM, EXEC, VM), "Foo#foo;Array#size;ext_outer;[GC mark] 1\n");
	tear_down_native();
}

TEST(native_functions_without_ruby)
{
	set_up_native();
	sample.event.kind = SAMPLE_NATIVE;
	CHECK_STRING(JOINED(UNWIND_END_DEPTH, INNER, VM, OUTER),
		     "[native thread ruby];[truncated: more native functions];ext_outer;[vm];ext_inner 1\n");
	/* What is there now, and was in no file that was known then. */
	CHECK(strstr(JOINED(UNWIND_END_NO_FILE, INNER, OUTER), "[native thread ruby];[truncated: native code in no file];"
		     "[native code in no file];ext_inner 1\n"));
	/* An address in no file. */
	CHECK(strstr(JOINED(UNWIND_END_NO_FILE, 4096), "[native thread ruby];[truncated: native code in no file];[native code in no file] 1\n"));
	tear_down_native();
}
