/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of stripped files: .gnu_debugdata, also one that lies. */
#include "test.h"

#ifdef EXTPROF_LZMA

#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parser/elf_symbols.h"
#include "parser/mini_debug.h"

/* CHECK() ends a test; this is for functions that have a result. */
#define NEED(condition) ((condition) ? (void)0 : test__fail(__FILE__, __LINE__, "%s", #condition))
#define IMAGE_MAX (1u << 20)

/* A file of four sections: names of sections, names of symbols, symbols, and what is given.  Its size. */
static size_t make(uint8_t *to, uint32_t type, const char *const *names, uint32_t count, const void *data, size_t size)
{
	static const char section_names[] = "\0.gnu_debugdata";
	Elf64_Ehdr e = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN, .e_machine = EM_X86_64,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 5, .e_shoff = sizeof(e), .e_shstrndx = 1,
	};
	Elf64_Shdr sections[5] = {
		[1] = { .sh_type = SHT_STRTAB, .sh_size = sizeof(section_names) },
		[2] = { .sh_type = SHT_STRTAB, .sh_size = 1 },
		[3] = { .sh_type = type, .sh_size = (count + 1) * sizeof(Elf64_Sym), .sh_entsize = sizeof(Elf64_Sym), .sh_link = 2 },
		[4] = { .sh_type = data ? SHT_PROGBITS : SHT_NOTE, .sh_size = size, .sh_name = 1 },
	};
	size_t at = sizeof(e) + sizeof(sections);

	memset(to, 0, IMAGE_MAX);
	memcpy(to, &e, sizeof(e));
	sections[1].sh_offset = at;
	memcpy(to + at, section_names, sizeof(section_names));
	sections[3].sh_offset = at + 64;
	sections[2].sh_offset = sections[3].sh_offset + sections[3].sh_size;
	for (uint32_t i = 0; i < count; i++) {
		Elf64_Sym s = { .st_name = (uint32_t)sections[2].sh_size, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
				.st_value = 0x1000 + 16 * i, .st_size = 16 };

		memcpy(to + sections[3].sh_offset + (i + 1) * sizeof(s), &s, sizeof(s));
		strcpy((char *)to + sections[2].sh_offset + sections[2].sh_size, names[i]);
		sections[2].sh_size += strlen(names[i]) + 1;
	}
	sections[4].sh_offset = sections[2].sh_offset + sections[2].sh_size;
	if (data)
		memcpy(to + sections[4].sh_offset, data, size);
	memcpy(to + sizeof(e), sections, sizeof(sections));
	return sections[4].sh_offset + size;
}

static uint8_t inner[IMAGE_MAX], outer[IMAGE_MAX], packed[IMAGE_MAX];
static const char *const dynamic[] = { "exported" }, *const others[] = { "hidden_1", "_ZN5outer6hiddenEi" };

/* All names of the file that could be read, each with a space; *err: of the last piece. */
static const char *names_of(const void *image, size_t size, int *err)
{
	static struct symbols_piece piece;
	static char text[4096];
	struct symbols_place at = { 0 };
	int fd = memfd_create("file", MFD_CLOEXEC);
	size_t length = 0;

	NEED(write(fd, image, size) == (ssize_t)size);
	for (int pieces = 0; at.table < SYMBOLS_END; pieces++) {
		struct elf_budget budget;

		elf_budget__init(&budget);
		*err = elf_symbols__read(fd, size, &budget, &at, &piece);
		if (*err || pieces == 100)
			break;
		for (uint32_t i = 0; i < piece.size;) {
			struct elf_symbol s;

			memcpy(&s, (char *)piece.data + i, sizeof(s));
			if (s.length > SYMBOL_NAME_MAX || i + sizeof(s) + s.length > piece.size)
				return "a symbol that is too long";
			if (length + s.length + 2 < sizeof(text)) {
				memcpy(text + length, (char *)piece.data + i + sizeof(s), s.length);
				length += s.length;
				text[length++] = ' ';
			}
			i += (uint32_t)((sizeof(s) + s.length + 7) / 8 * 8);
		}
		NEED(piece.next.table > at.table || piece.next.entry > at.entry);
		at = piece.next;
	}
	text[length] = '\0';
	close(fd);
	NEED(*err || at.table == SYMBOLS_END);
	return text;
}

/* Compress these bytes to `packed`.  Their number then. */
static size_t pack(const void *data, size_t size, uint32_t preset)
{
	size_t n = 0;

	NEED(lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL, data, size, packed, &n, sizeof(packed)) == LZMA_OK);
	return n;
}

#ifdef EXTPROF_DEMANGLE
#define HIDDEN "outer::hidden(int)"
#else
#define HIDDEN "_ZN5outer6hiddenEi"
#endif

TEST(mini_debug_names)
{
	size_t n = make(inner, SHT_SYMTAB, others, 2, NULL, 0);
	int err;

	for (uint32_t preset = 0; preset < 10; preset += 3) {
		size_t size = make(outer, SHT_DYNSYM, dynamic, 1, packed, pack(inner, n, preset));

		CHECK_STRING(names_of(outer, size, &err), "exported hidden_1 " HIDDEN " ");
		CHECK_INT(err, 0);
	}
	/* A file with symbols of its own has all of them. */
	n = make(outer, SHT_SYMTAB, dynamic, 1, packed, pack(inner, n, 1));
	CHECK_STRING(names_of(outer, n, &err), "exported ");
	CHECK_INT(err, 0);
}

/* So many that they are several pieces, and another file in between: each has its own. */
TEST(mini_debug_of_two_files_by_turns)
{
	static char text[2000][32];
	static const char *names[2000];
	static struct symbols_piece a, b;
	struct symbols_place at = { .table = SYMBOLS_MINI_DEBUG }, begin = at;
	int fds[2] = { memfd_create("a", MFD_CLOEXEC), memfd_create("b", MFD_CLOEXEC) }, pieces = 0;
	size_t sizes[2], n;
	uint32_t count = 0;

	for (int i = 0; i < 2000; i++) {
		snprintf(text[i], sizeof(text[i]), "function_number_%d", i);
		names[i] = text[i];
	}
	for (int i = 0; i < 2; i++) {
		n = i ? make(inner, SHT_SYMTAB, others, 2, NULL, 0) : make(inner, SHT_SYMTAB, names, 2000, NULL, 0);
		sizes[i] = make(outer, SHT_DYNSYM, dynamic, 1, packed, pack(inner, n, 6));
		CHECK(write(fds[i], outer, sizes[i]) == (ssize_t)sizes[i]);
	}
	for (; at.table < SYMBOLS_END; at = a.next, pieces++) {
		struct elf_budget budget;

		elf_budget__init(&budget);
		CHECK_INT(elf_symbols__read(fds[0], sizes[0], &budget, &at, &a), 0);
		for (uint32_t i = 0; i < a.size; count++) {
			struct elf_symbol s;

			memcpy(&s, (char *)a.data + i, sizeof(s));
			CHECK(s.length == strlen(names[count]) && !memcmp((char *)a.data + i + sizeof(s), names[count], s.length));
			i += (uint32_t)((sizeof(s) + s.length + 7) / 8 * 8);
		}
		elf_budget__init(&budget);
		CHECK_INT(elf_symbols__read(fds[1], sizes[1], &budget, &begin, &b), 0);
		CHECK(b.size >= 2 * sizeof(struct elf_symbol) && !memcmp((char *)b.data + sizeof(struct elf_symbol), "hidden_1", 8));
	}
	CHECK(count == 2000 && pieces > 3);
	close(fds[0]);
	close(fds[1]);
}

TEST(mini_debug_that_is_damaged)
{
	size_t n = make(inner, SHT_SYMTAB, others, 2, NULL, 0), length = pack(inner, n, 6), size;
	static uint8_t copy[IMAGE_MAX];
	int err;

	memcpy(copy, packed, length);
	for (size_t cut = 0; cut < length; cut++) {
		size = make(outer, SHT_DYNSYM, dynamic, 1, copy, cut);
		CHECK_STRING(names_of(outer, size, &err), "exported ");
		CHECK_INT(err, -ENOEXEC);
	}
	/* The file ends before the section does. */
	size = make(outer, SHT_DYNSYM, dynamic, 1, copy, length);
	CHECK_STRING(names_of(outer, size - 1, &err), "exported ");
	CHECK_INT(err, -ENOEXEC);
	/* Checksums find each change of the compressed bytes. */
	for (int i = 0; i < 2000; i++) {
		size_t at = test__random() % length;
		uint8_t was = copy[at];

		copy[at] ^= (uint8_t)(1 + test__random() % 255);
		size = make(outer, SHT_DYNSYM, dynamic, 1, copy, length);
		CHECK_STRING(names_of(outer, size, &err), "exported ");
		CHECK(err == -ENOEXEC || err == -E2BIG);
		copy[at] = was;
	}
	/* And what is in them can lie. */
	for (int i = 0; i < 2000; i++) {
		n = make(inner, SHT_SYMTAB, others, 2, NULL, 0);
		for (uint64_t j = 0; j <= test__random() % 3; j++)
			inner[test__random() % n] = (uint8_t)test__random();
		size = make(outer, SHT_DYNSYM, dynamic, 1, packed, pack(inner, n, 0));
		CHECK(!strncmp(names_of(outer, size, &err), "exported ", 9));
	}
}

TEST(mini_debug_is_bounded)
{
	size_t size, length, i;
	uint8_t *zeros = calloc(1, MINI_DEBUG_MAX + 4096);
	uint32_t sum;
	int err;

	/* More than may be unpacked. */
	length = pack(zeros, MINI_DEBUG_MAX + 4096, 0);
	CHECK(length < 65536);
	size = make(outer, SHT_DYNSYM, dynamic, 1, packed, length);
	CHECK_STRING(names_of(outer, size, &err), "exported ");
	CHECK_INT(err, -E2BIG);
	/* Its header says that 4 GiB are needed to unpack it. */
	length = pack("text", 4, 6);
	for (i = 14; i < 32 && (packed[i] != 0x21 || packed[i + 1] != 1); i++)
		;
	CHECK(i < 32);
	packed[i + 2] = 40;
	sum = lzma_crc32(packed + 12, (packed[12] + 1u) * 4 - 4, 0);
	memcpy(packed + 12 + (packed[12] + 1u) * 4 - 4, &sum, 4);
	size = make(outer, SHT_DYNSYM, dynamic, 1, packed, length);
	CHECK_STRING(names_of(outer, size, &err), "exported ");
	CHECK_INT(err, -E2BIG);
	free(zeros);
}

#endif
