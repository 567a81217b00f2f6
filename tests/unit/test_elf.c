/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/elf_search.h"
#include "memory_fake.h"
#include "ruby/debug_external.h"

static struct elf_budget budget;

static struct elf_budget *fresh(void)
{
	elf_budget__init(&budget);
	return &budget;
}

static int search_file(int fd, uint64_t offset, struct elf_budget *b, struct elf_finding *f)
{
	struct stat st;

	return fstat(fd, &st) ? -errno : elf__search_file(fd, (uint64_t)st.st_size, offset, b, f);
}

static uint8_t notes[512];
static size_t size;

static void add_note(const char *owner, uint32_t owner_size, uint32_t type, const void *desc,
		     uint32_t desc_size, size_t align)
{
	Elf64_Nhdr n = { owner_size, desc_size, type };

	memcpy(notes + size, &n, sizeof(n));
	size += sizeof(n);
	memcpy(notes + size, owner, owner_size);
	size = (size + owner_size + align - 1) / align * align;
	memcpy(notes + size, desc, desc_size);
	size = (size + desc_size + align - 1) / align * align;
}

/* 0: none. */
static uint64_t section_by_notes(const uint8_t *data, uint64_t n, uint64_t address, uint64_t align)
{
	struct elf_finding f = { 0 };

	elf__search_notes(data, n, address, align, &f);
	return f.how == ELF_BY_NOTE ? f.section : 0;
}

TEST(elf_notes_lead_to_the_section)
{
	int64_t distance = -0x1000;

	for (size_t align = 4; align <= 8; align += 4) {
		memset(notes, 0, sizeof(notes));
		size = 0;
		add_note("GNU", 4, 3, "0123456789abcdef0123", 20, align);
		add_note("ruby-debug-ext", 15, 1, &distance, 8, align);	/* another type */
		add_note("ruby-debug-exx", 15, RB_DEBUG_EXT_NOTE_TYPE, &distance, 8, align);
		CHECK(!section_by_notes(notes, size, 0x4000, align));
		add_note("ruby-debug-ext", 15, RB_DEBUG_EXT_NOTE_TYPE, &distance, 8, align);
		CHECK_INT(section_by_notes(notes, size, 0x4000, align), 0x4000 + (size - 8) - 0x1000);
		/* Cut anywhere, nothing is read beyond the end. */
		for (size_t cut = 0; cut < size; cut++) {
			uint8_t *copy = malloc(cut ? cut : 1);

			memcpy(copy, notes, cut);
			CHECK(!section_by_notes(copy, cut, 0x4000, align));
			free(copy);
		}
	}
}

TEST(elf_notes_of_random_bytes)
{
	for (int i = 0; i < 100000; i++) {
		size_t n = test__random() % 96;
		uint8_t *data = malloc(n ? n : 1);

		/* Small random numbers, so that many sizes are nearly right. */
		for (size_t j = 0; j < n; j++)
			data[j] = test__random() % 4 ? 0 : (uint8_t)test__random();
		section_by_notes(data, n, 0, test__random() % 2 ? 4 : 8);
		free(data);
	}
}

TEST(elf_file_that_is_none)
{
	struct elf_finding f;
	int fd = open("/proc/self/cmdline", O_RDONLY);

	CHECK_INT(search_file(fd, 0, fresh(), &f), -ENOEXEC);
	close(fd);
	fd = open("/proc/self/exe", O_RDONLY);
	CHECK_INT(search_file(fd, 0, fresh(), &f), 0);
	CHECK(f.has_load && f.how == ELF_NOT_FOUND && !f.is_ruby);
	close(fd);
}

TEST(elf_files_with_random_bytes_in_them)
{
	char path[] = "/tmp/extprof-elf-XXXXXX";
	static uint8_t image[1 << 16];
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
	struct elf_finding f;
	struct memory_fake m;
	ssize_t n = read(from, image, sizeof(image));

	CHECK(n == (ssize_t)sizeof(image));
	memory_fake__init(&m);
	for (int i = 0; i < 3000; i++) {
		size_t at = test__random() % 3 ? test__random() % 0x400 : test__random() % sizeof(image);
		uint8_t old = image[at];

		image[at] = (uint8_t)test__random();
		/* Section headers are beyond the cut. */
		CHECK(pwrite(to, image, sizeof(image), 0) == (ssize_t)sizeof(image));
		search_file(to, 0, fresh(), &f);
		elf__search_memory(&m.memory, (uintptr_t)image, fresh(), &f);
		if (test__random() % 4)
			image[at] = old;
	}
	close(from);
	close(to);
	unlink(path);
}

/* -- files that somebody made ---------------------------------------------- */

/* As most linkers do it: null symbol, then names in the order of the symbols. */
struct made {
	int fd;
	char path[32];
	Elf64_Shdr *headers;
	unsigned int sections;
	uint64_t at;		/* where the next part goes */
};

static void make(struct made *m, unsigned int sections)
{
	memset(m, 0, sizeof(*m));
	strcpy(m->path, "/tmp/extprof-elf-XXXXXX");
	m->fd = mkstemp(m->path);
	m->headers = calloc(sections, sizeof(*m->headers));
	m->sections = sections;
	m->at = 4096;
}

static void put(struct made *m, unsigned int section, uint32_t type, const void *data, uint64_t n)
{
	m->headers[section].sh_type = type;
	m->headers[section].sh_offset = m->at;
	m->headers[section].sh_size = n;
	CHECK(pwrite(m->fd, data, n, (off_t)m->at) == (ssize_t)n);
	m->at = (m->at + n + 7) / 8 * 8;
}

static void finish(struct made *m)
{
	Elf64_Ehdr e = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr), .e_phnum = 1, .e_phoff = sizeof(Elf64_Ehdr),
		.e_shnum = (uint16_t)m->sections, .e_shoff = m->at, .e_shstrndx = 1,
	};
	Elf64_Phdr load = { .p_type = PT_LOAD };
	ssize_t n = (ssize_t)(m->sections * sizeof(*m->headers));

	CHECK(pwrite(m->fd, m->headers, (size_t)n, (off_t)m->at) == n);
	CHECK(pwrite(m->fd, &e, sizeof(e), 0) == sizeof(e));
	CHECK(pwrite(m->fd, &load, sizeof(load), sizeof(e)) == sizeof(load));
}

static void unmake(struct made *m)
{
	close(m->fd);
	unlink(m->path);
	free(m->headers);
}

static long resident(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_maxrss;	/* KiB, the most ever */
}

TEST(elf_file_with_many_symbols_is_found)
{
	enum { COUNT = 200000 };
	Elf64_Sym *symbols = calloc(COUNT, sizeof(*symbols));
	char *names = calloc(COUNT, 32);
	struct elf_finding f;
	uint32_t length = 1;
	struct made m;

	/* Strip leaves the symbol as the only trace; it is the last but one. */
	make(&m, 4);
	for (int i = 1; i < COUNT; i++) {
		symbols[i].st_name = length;
		symbols[i].st_value = 0x1000u + (unsigned int)i;
		symbols[i].st_shndx = i == COUNT - 3 ? SHN_UNDEF : 1;
		length += 1 + (uint32_t)(i == COUNT - 3 || i == COUNT - 2 ?
			sprintf(names + length, "%s", RB_DEBUG_EXT_SYMBOL_NAME) : i == 5 ?
			sprintf(names + length, "ruby_version") :
			sprintf(names + length, "some_symbol_%d", i));
	}
	put(&m, 1, SHT_STRTAB, "\0.dynsym", 9);
	put(&m, 2, SHT_STRTAB, names, length);
	put(&m, 3, SHT_DYNSYM, symbols, COUNT * sizeof(*symbols));
	m.headers[3].sh_entsize = sizeof(*symbols);
	m.headers[3].sh_link = 2;
	finish(&m);
	CHECK_INT(search_file(m.fd, 0, fresh(), &f), 0);
	CHECK_INT(f.how, ELF_BY_SYMBOL);
	CHECK_INT(f.section, 0x1000 + COUNT - 2);
	CHECK(f.is_ruby && f.version == 0x1005 && f.has_load);
	CHECK(!budget.exceeded);
	/* A name without its end is no name. */
	m.headers[2].sh_size = symbols[COUNT - 2].st_name + 5;
	finish(&m);
	CHECK_INT(search_file(m.fd, 0, fresh(), &f), 0);
	CHECK_INT(f.how, ELF_NOT_FOUND);
	unmake(&m);
	free(symbols);
	free(names);
}

/* A segment that begins in the middle of a page is mapped from the beginning of the page. */
TEST(elf_file_is_mapped_by_pages_of_this_kernel)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	Elf64_Phdr load = { .p_type = PT_LOAD, .p_vaddr = 0x100000 + page / 2, .p_offset = page / 2 };
	struct elf_finding f;
	struct made m;

	make(&m, 2);
	put(&m, 1, SHT_STRTAB, "\0", 1);
	finish(&m);
	CHECK(pwrite(m.fd, &load, sizeof(load), sizeof(Elf64_Ehdr)) == sizeof(load));
	CHECK_INT(search_file(m.fd, 0, fresh(), &f), 0);
	CHECK(f.has_load);
	CHECK_INT(f.load_vaddr, 0x100000);
	CHECK_INT(search_file(m.fd, page, fresh(), &f), 0);
	CHECK(!f.has_load);
	unmake(&m);
}

TEST(elf_file_that_is_sparse_and_huge)
{
	const uint64_t huge = 1ull << 30;
	struct elf_finding f;
	struct made m;
	long before;

	/* Thousands of headers, each of the whole file; some of more. */
	make(&m, 5000);
	put(&m, 1, SHT_STRTAB, "\0rb_debug_ext", 14);
	for (unsigned int i = 2; i < m.sections; i++)
		m.headers[i] = (Elf64_Shdr){
			.sh_type = SHT_DYNSYM, .sh_entsize = sizeof(Elf64_Sym), .sh_link = i ^ 1,
			.sh_offset = 4096, .sh_size = i % 7 ? huge - 4096 : ~0ull - i,
		};
	finish(&m);
	CHECK(!ftruncate(m.fd, (off_t)huge));
	before = resident();
	CHECK_INT(search_file(m.fd, 0, fresh(), &f), 0);
	CHECK_INT(f.how, ELF_NOT_FOUND);
	CHECK(resident() - before < 200 << 10);
	CHECK(budget.exceeded);
	/* Exactly as many of each as are allowed: the first one counts, and once. */
	for (unsigned int i = 2; i < m.sections; i++)
		m.headers[i].sh_size = 24 << 20;
	finish(&m);
	CHECK(!ftruncate(m.fd, (off_t)huge));
	CHECK_INT(search_file(m.fd, 0, fresh(), &f), 0);
	CHECK(ELF_SEARCH_BYTES - budget.bytes < 60 << 20);
	CHECK(resident() - before < 200 << 10);
	/* The section is found nevertheless. */
	m.headers[4999].sh_name = 1;
	m.headers[4999].sh_flags = SHF_ALLOC;
	m.headers[4999].sh_addr = 0x7000;
	finish(&m);
	CHECK(!ftruncate(m.fd, (off_t)huge));
	CHECK_INT(search_file(m.fd, 0, fresh(), &f), 0);
	CHECK_INT(f.how, ELF_BY_SECTION);
	CHECK_INT(f.section, 0x7000);
	/* One search does not look at the same one again and again. */
	fresh();
	for (int i = 0; i < 200; i++)
		search_file(m.fd, 0, &budget, &f);
	CHECK(budget.exceeded && budget.bytes >= 0 && budget.reads >= 0);
	unmake(&m);
}

/* A header that says that there are 16 million sections. */
TEST(elf_file_with_sections_beyond_number)
{
	struct elf_finding f;
	struct made m;
	long before;

	make(&m, 2);
	put(&m, 1, SHT_STRTAB, "\0", 1);
	m.headers[0].sh_size = 1 << 24;
	finish(&m);
	CHECK(pwrite(m.fd, "\0\0", 2, offsetof(Elf64_Ehdr, e_shnum)) == 2);
	CHECK(!ftruncate(m.fd, 2ll << 30));
	before = resident();
	CHECK_INT(search_file(m.fd, 0, fresh(), &f), 0);
	CHECK(resident() - before < 100 << 10);
	unmake(&m);
}

/* -- images in memory ------------------------------------------------------- */

/* A page of zeros at each address outside of the image. */
struct maze {
	struct memory memory;
	const uint8_t *image;
	size_t size;
	uint64_t reads, bytes;
};

#define MAZE_BASE 0x10000000ull

static int maze__read(const struct memory *memory, uint64_t address, void *to, size_t length)
{
	struct maze *m = (struct maze *)(uintptr_t)memory->context;

	m->reads++;
	m->bytes += length;
	memset(to, 0, length);
	if (address >= MAZE_BASE && address - MAZE_BASE < m->size)
		memcpy(to, m->image + (address - MAZE_BASE),
		       length < m->size - (address - MAZE_BASE) ? length : m->size - (address - MAZE_BASE));
	return 0;
}

TEST(elf_image_whose_hash_chains_do_not_end)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p[64];
		Elf64_Dyn d[4];
		uint32_t hash[8];
	} image = {
		.e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
		       .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 64, .e_phoff = sizeof(Elf64_Ehdr) },
		.d = { { DT_SYMTAB, { 0x100 } }, { DT_STRTAB, { 0x200 } }, { DT_GNU_HASH, { 0 } } },
		.hash = { 1, 1, 0, 0, 1 },
	};
	struct maze maze = { .image = (const uint8_t *)&image, .size = sizeof(image) };
	struct elf_finding f;

	maze.memory.read = maze__read;
	maze.memory.context = &maze;
	image.d[2].d_un.d_ptr = (uint64_t)((char *)&image.hash - (char *)&image);
	image.p[0].p_type = PT_LOAD;
	for (int i = 1; i < 64; i++) {
		image.p[i].p_type = PT_DYNAMIC;
		image.p[i].p_vaddr = (uint64_t)((char *)&image.d - (char *)&image);
		image.p[i].p_memsz = sizeof(image.d);
	}
	CHECK_INT(elf__search_memory(&maze.memory, MAZE_BASE, fresh(), &f), 0);
	CHECK(maze.reads < 20000);
	CHECK(budget.exceeded);
	/* As many images as are allowed. */
	fresh();
	for (int i = 0; i < 4096; i++)
		elf__search_memory(&maze.memory, MAZE_BASE, &budget, &f);
	CHECK(maze.reads < ELF_SEARCH_READS + 20000);
	CHECK_INT(elf__search_memory(&maze.memory, MAZE_BASE, &budget, &f), -E2BIG);
}

static int take_libc(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	*(uint64_t *)to = info->dlpi_addr;
	return 1;
}

/* A machine that compiles has a hundred new processes a second, each with a dozen images: one took 45 reads. */
TEST(elf_images_in_memory_take_few_reads)
{
	uint64_t base = 0;
	struct elf_finding f;
	struct memory_fake m;

	dl_iterate_phdr(take_libc, &base);
	memory_fake__init(&m);
	CHECK_INT(elf__search_memory(&m.memory, base, fresh(), &f), 0);
	CHECK(f.has_load && !f.is_ruby && f.how == ELF_NOT_FOUND);
	printf("\t%d reads\n", m.reads);
	CHECK(m.reads >= 2 && m.reads <= 12);
}

/* The same is found wherever its parts lie in pages, and where the rest of a page cannot be read. */
TEST(elf_images_lie_anywhere_in_pages)
{
	static const struct {
		Elf64_Ehdr e;
		Elf64_Phdr p[2];
		uint8_t gap[4000];
		Elf64_Dyn d[4];
		uint32_t hash[4];
		uint64_t bloom;
		uint32_t bucket, chain[2];
		Elf64_Sym symbols[2];
		char names[32];
	} image = {
		.e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
		       .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2, .e_phoff = sizeof(Elf64_Ehdr) },
		.p = { { .p_type = PT_LOAD },
		       { .p_type = PT_DYNAMIC, .p_vaddr = (size_t)&((__typeof__(&image))0)->d, .p_memsz = sizeof(image.d) } },
		.d = { { DT_SYMTAB, { (size_t)&((__typeof__(&image))0)->symbols } }, { DT_STRTAB, { (size_t)&((__typeof__(&image))0)->names } },
		       { DT_GNU_HASH, { (size_t)&((__typeof__(&image))0)->hash } }, { DT_NULL, { 0 } } },
		.hash = { 1, 1, 1, 0 }, .bloom = UINT64_MAX, .bucket = 1,
		.symbols = { [1] = { .st_name = 1, .st_shndx = 1, .st_value = 0x1234 } },
		.names = "\0ruby_version",
	};
	static uint8_t room[4 * 4096] __attribute__((aligned(4096)));
	uint32_t hash = 5381;
	struct memory_fake m;
	struct elf_finding f;
	int right = 0;

	for (const char *name = image.names + 1; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	memory_fake__init(&m);
	for (size_t at = 0; at < 4096; at += 8) {
		uint8_t *to = room + at;

		memset(room, 0, sizeof(room));
		memcpy(to, &image, sizeof(image));
		hash |= 1;
		memcpy(to + ((const uint8_t *)&image.chain[0] - (const uint8_t *)&image), &hash, sizeof(hash));
		m.from = 0;
		m.to = 0;
		right += !elf__search_memory(&m.memory, (uintptr_t)to, fresh(), &f) && f.is_ruby && f.version == 0x1234;
		/* What follows the image cannot be read. */
		m.from = (uintptr_t)to + sizeof(image);
		m.to = (uintptr_t)room + sizeof(room);
		right += !elf__search_memory(&m.memory, (uintptr_t)to, fresh(), &f) && f.is_ruby && f.version == 0x1234;
	}
	CHECK_INT(right, 2 * 4096 / 8);
	/* No address is too high. */
	elf__search_memory(&m.memory, UINT64_MAX - 100, fresh(), &f);
	elf__search_memory(&m.memory, UINT64_MAX - 4096 - 8, fresh(), &f);
}
