/* SPDX-License-Identifier: BSD-2-Clause */
/* Core files by hand: whole, cut off, and of hostile contents. */
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/core_code.h"
#include "remote/core_file.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif
#define NOTES_AT 4096u
#define MEMORY_AT 8192u
#define SIZE 12288u
#define BASE 0x400000u

static uint8_t image[SIZE];
static Elf64_Ehdr *const ehdr = (Elf64_Ehdr *)image;
static Elf64_Phdr *const phdrs = (Elf64_Phdr *)(image + sizeof(Elf64_Ehdr));
static uint32_t notes;		/* bytes */
static struct core *core;
static struct diag d;
static struct deadline deadline;

static void add_note(uint32_t type, const void *data, uint32_t size)
{
	Elf64_Nhdr head = { .n_namesz = 5, .n_descsz = size, .n_type = type };
	uint8_t *to = image + NOTES_AT + notes;

	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), "CORE\0\0\0", 8);
	memcpy(to + sizeof(head) + 8, data, size);
	notes += (uint32_t)sizeof(head) + 8 + ((size + 3) & ~3u);
	phdrs[0].p_filesz = notes;
}

/* Two threads, a page of memory. */
static void set_up(void)
{
	struct elf_prstatus status = { .pr_pid = 77 };
	struct elf_prpsinfo info = { .pr_pid = 70, .pr_psargs = "ruby a.rb " };

	memset(image, 0, sizeof(image));
	notes = 0;
	memcpy(ehdr->e_ident, ELFMAG, SELFMAG);
	ehdr->e_ident[EI_CLASS] = ELFCLASS64;
	ehdr->e_type = ET_CORE;
	ehdr->e_machine = MACHINE;
	ehdr->e_phoff = sizeof(*ehdr);
	ehdr->e_phentsize = sizeof(*phdrs);
	ehdr->e_phnum = 2;
	phdrs[0] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = NOTES_AT };
	phdrs[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_offset = MEMORY_AT, .p_vaddr = BASE, .p_filesz = 4096, .p_memsz = 4096 };
	add_note(NT_PRSTATUS, &status, sizeof(status));
	status.pr_pid = 78;
	add_note(NT_PRSTATUS, &status, sizeof(status));
	add_note(NT_PRPSINFO, &info, sizeof(info));
	for (uint32_t i = MEMORY_AT; i < SIZE; i++)
		image[i] = (uint8_t)i;
	memset(&d, 0, sizeof(d));
	deadline__start(&deadline, -1, UINT64_MAX);
}

static int open_first(uint64_t bytes)
{
	int fd = memfd_create("core", MFD_CLOEXEC), err = -EIO;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, image, bytes < SIZE ? bytes : SIZE) > 0 && !ftruncate(fd, (off_t)bytes))
		err = core__open(&core, path, &deadline, &d);
	close(fd);
	return err;
}

TEST(core_has_threads_command_and_memory)
{
	struct task task;
	uint8_t bytes[4];

	set_up();
	CHECK_INT(open_first(SIZE), 0);
	CHECK_INT(core__pid(core), 70);
	CHECK_STRING(core__command(core), "ruby a.rb");
	CHECK(core__task(core, 77, &task) && core__task(core, 78, &task) && !core__task(core, 70, &task));
	CHECK_INT(memory__read(core__memory(core), BASE + 4092, bytes, 4), 0);
	CHECK(!memcmp(bytes, image + MEMORY_AT + 4092, 4));
	CHECK_INT(memory__read(core__memory(core), BASE + 4093, bytes, 4), -EFAULT);
	CHECK_INT(memory__read(core__memory(core), BASE - 1, bytes, 4), -EFAULT);
	CHECK_INT(core__missing(core), 0);
	core__close(core);
}

TEST(core_that_is_cut_off_says_so_at_each_length)
{
	uint64_t section;
	uint8_t byte;

	for (uint64_t size = 1; size < SIZE; size += size < 400 ? 1 : 97) {
		int err;

		set_up();
		err = open_first(size);
		if (err) {
			CHECK(size < sizeof(*ehdr) + 2 * sizeof(*phdrs));
			CHECK(d.code == DIAG_USAGE && d.text[0]);
			continue;
		}
		CHECK_INT(core__missing(core), SIZE - size);
		CHECK_INT(memory__read(core__memory(core), BASE + 4095, &byte, 1), -EFAULT);
		CHECK_INT(core__find_section(core, NULL, &section, &d), -ENODATA);
		CHECK(strstr(d.text, "cut off") && strstr(d.text, size > NOTES_AT + notes ? "2 threads" : "thread"));
		core__close(core);
	}
}

/* Each note says that it is larger than the file is, has no name, or is one of very many. */
TEST(core_of_many_or_large_notes_is_bounded)
{
	struct task task;

	set_up();
	((Elf64_Nhdr *)(image + NOTES_AT))->n_descsz = UINT32_MAX;
	CHECK_INT(open_first(SIZE), 0);
	CHECK(!core__task(core, 77, &task));
	core__close(core);
	set_up();
	((Elf64_Nhdr *)(image + NOTES_AT))->n_namesz = UINT32_MAX;
	CHECK_INT(open_first(SIZE), 0);
	core__close(core);
	/* A terabyte of notes, nearly all of them a hole in the file. */
	set_up();
	phdrs[0].p_filesz = 1ull << 40;
	CHECK_INT(open_first((1ull << 40) + SIZE), 0);
	CHECK(core__task(core, 78, &task));
	core__close(core);
	/* The same notes, read as often as there is a header for them. */
	set_up();
	ehdr->e_phnum = 60;
	for (int i = 2; i < 60; i++)
		phdrs[i] = phdrs[0];
	CHECK_INT(open_first(SIZE), 0);
	CHECK(core__task(core, 78, &task));
	core__close(core);
	set_up();
	ehdr->e_phnum = PN_XNUM;
	ehdr->e_shoff = NOTES_AT;	/* a number that makes no sense */
	CHECK(open_first(SIZE) < 0 && d.code == DIAG_USAGE);
	set_up();
	phdrs[0].p_offset = UINT64_MAX - 8;
	phdrs[1].p_vaddr = UINT64_MAX - 8;
	CHECK(open_first(SIZE) < 0 && d.code == DIAG_USAGE);
}

TEST(core_is_given_up_at_the_deadline)
{
	uint8_t byte;

	set_up();
	CHECK_INT(open_first(SIZE), 0);
	deadline__start(&deadline, -1, 1);
	CHECK_INT(memory__read(core__memory(core), BASE, &byte, 1), -EINTR);
	core__close(core);
	CHECK_INT(open_first(SIZE), -EINTR);
	CHECK_INT(d.code, DIAG_NOT_READY);
}

/* -- code ------------------------------------------------------------------------------------- */

#define LIBRARY 0x500000u

/* NT_FILE with these mappings, of two files.  The second one is data. */
static void add_files(const uint64_t (*rows)[3], uint64_t count)
{
	static const char *const paths[] = { "/liba.so", "/liba.so", "/liba.so", "/data" };
	uint64_t note[2 + 3 * 4 + 8] = { count, 4096 };
	char *to = (char *)&note[2 + 3 * count];

	for (uint64_t i = 0; i < count; i++) {
		memcpy(&note[2 + 3 * i], rows[i], sizeof(rows[i]));
		to = stpcpy(to, paths[i]) + 1;
	}
	add_note(NT_FILE, note, (uint32_t)(to - (char *)note));
}

TEST(core_tells_where_code_can_be)
{
	/* Not in order; the last one is in a segment that is no code, and the one before in none. */
	static const uint64_t rows[][3] = {
		{ LIBRARY + 0x1000, LIBRARY + 0x2000, 1 }, { LIBRARY, LIBRARY + 0x1000, 0 },
		{ LIBRARY + 0x9000, LIBRARY + 0xa000, 2 }, { BASE, BASE + 0x1000, 0 },
	};
	struct core_row row;
	struct stat st;
	uint64_t owner;

	set_up();
	ehdr->e_phnum = 4;
	phdrs[2] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_offset = SIZE, .p_vaddr = LIBRARY + 0x1000, .p_memsz = 0x1000 };
	phdrs[3] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = SIZE, .p_vaddr = LIBRARY, .p_memsz = 0x1000 };
	add_files(rows, 4);
	CHECK_INT(open_first(SIZE), 0);
	CHECK(core__next_code(core, 0, &row));
	CHECK_INT(row.start, LIBRARY + 0x1000);
	CHECK_INT(row.offset, 4096);
	CHECK_STRING(row.path, "/liba.so");
	/* Its image has no build id: no file can be shown to be it. */
	CHECK_INT(core__open_code(core, &row, NULL, &deadline, &st, &owner), -ENOENT);
	CHECK(core__next_code(core, row.end, &row));
	CHECK_INT(row.start, LIBRARY + 0x9000);
	CHECK(!core__next_code(core, row.end, &row));
	CHECK(!core__next_code(core, UINT64_MAX, &row));
	core__close(core);
}

TEST(core_of_mappings_that_overlap_has_each_place_once)
{
	static const uint64_t rows[][3] = {
		{ LIBRARY, LIBRARY + 0x8000, 0 }, { LIBRARY + 0x1000, LIBRARY + 0x3000, 1 }, { LIBRARY + 0x8000, LIBRARY, 2 },
		{ UINT64_MAX - 4095, UINT64_MAX, UINT64_MAX },
	};
	struct core_row row = { 0 };
	uint64_t last = 0;
	int count = 0;

	set_up();
	add_files(rows, 4);
	CHECK_INT(open_first(SIZE), 0);
	for (; count < 10 && core__next_code(core, row.end, &row); count++) {
		CHECK(row.start < row.end && row.start >= last);
		last = row.end;
	}
	CHECK_INT(count, 2);
	core__close(core);
}
