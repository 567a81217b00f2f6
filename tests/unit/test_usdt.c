/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes of probes: this program has some. */
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parser/elf_places.h"

extern const char __ehdr_start[], test_usdt_first[], test_usdt_second[];
uint16_t test_usdt_semaphore = 1;

#define NOTE(place, semaphore, name, arguments) \
	".pushsection .note.stapsdt, \"\", %note\n" \
	".balign 4\n.4byte 8, 992f - 991f, 3\n.asciz \"stapsdt\"\n" \
	"991: .8byte " place "\n.8byte 0\n.8byte " semaphore "\n" \
	".asciz \"test_provider\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n" \
	"992: .balign 4\n.popsection\n"

/* Relocations of notes are resolved when the program is linked, as they are in no segment. */
__asm__(
	".pushsection .text\n.globl test_usdt_first, test_usdt_second\n"
	"test_usdt_first: nop\ntest_usdt_second: nop\n.popsection\n"
	NOTE("test_usdt_first", "test_usdt_semaphore", "twice", "8@%rsi -8@%r15 4@%eax 8@$5")
	NOTE("test_usdt_first", "0", "bare", "")
	NOTE("test_usdt_second", "test_usdt_semaphore", "twice", "8@%rdx")
	NOTE("0x7fffffff0000", "0", "nowhere", "")
	NOTE("test_usdt_first", "test_usdt_first", "no_variable", ""));

static int find_of(int fd, const char *provider, const char *name, uint64_t offset, struct usdt *usdt, uint64_t *section)
{
	struct elf_budget budget;
	struct elf_wish wish = { "", "" };
	int32_t result = 0;
	struct stat st = { 0 };
	int err;

	elf_budget__init(&budget);
	strcpy(wish.provider, provider);
	strcpy(wish.name, name);
	fstat(fd, &st);
	err = elf_places__find(fd, (uint64_t)st.st_size, offset, &budget, &wish, 1, usdt, &result, section);
	return err ? err : result;
}

static int find_in(int fd, const char *name, struct usdt *usdt)
{
	uint64_t section;

	return find_of(fd, "test_provider", name, 0, usdt, &section);
}

static int address_of(int fd, uint64_t offset, uint64_t *address)
{
	struct usdt usdt;

	find_of(fd, "test_provider", "bare", offset, &usdt, address);
	return *address == UINT64_MAX ? -ENOENT : 0;
}

static uint64_t before_relocation(const void *p)
{
	return (uint64_t)((const char *)p - __ehdr_start);
}

TEST(usdt_finds_all_places)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct usdt usdt;
	uint64_t address;
	uint16_t value = 0;

	CHECK_INT(find_in(fd, "twice", &usdt), 0);
	CHECK_INT(usdt.count, 2);
	CHECK_INT(usdt.places[0].address, before_relocation(test_usdt_first));
	CHECK_INT(usdt.places[1].address, before_relocation(test_usdt_second));
	CHECK_INT(address_of(fd, usdt.places[1].offset, &address), 0);
	CHECK_INT(address, usdt.places[1].address);
	CHECK_INT(pread(fd, &value, 2, (off_t)usdt.places[0].semaphore), 2);
	CHECK_INT(value, 1);
	CHECK_INT(address_of(fd, usdt.places[0].semaphore, &address), 0);
	CHECK_INT(address, before_relocation(&test_usdt_semaphore));
	CHECK_INT(find_in(fd, "bare", &usdt), 0);
	CHECK_INT(usdt.count, 1);
	CHECK_INT(usdt.places[0].semaphore, 0);
	CHECK_INT(usdt.places[0].arguments.offset[0], USDT_NOWHERE);
	CHECK_INT(find_in(fd, "none", &usdt), -ENOENT);
	CHECK_INT(find_of(fd, "other", "bare", 0, &usdt, &address), -ENOENT);
	CHECK_INT(address_of(fd, 1ull << 40, &address), -ENOENT);
	close(fd);
}

TEST(usdt_refuses_places_outside_of_the_file)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct usdt usdt;

	CHECK_INT(find_in(fd, "nowhere", &usdt), -EINVAL);
	CHECK_INT(find_in(fd, "no_variable", &usdt), -EINVAL);
	CHECK_INT(find_in(-1, "bare", &usdt), -ENOEXEC);
	close(fd);
}

#if defined(__x86_64__)
TEST(usdt_arguments_are_in_registers)
{
	struct usdt_arguments a;

	/* r15 is the first of the registers as the kernel keeps them, rsi the 14th. */
	usdt__parse_arguments("8@%rsi -8@%r15 4@%eax 8@$5", &a);
	CHECK_INT(a.offset[0], 13 * 8);
	CHECK_INT(a.offset[1], 0);
	for (int i = 2; i < 8; i++)
		CHECK_INT(a.offset[i], USDT_NOWHERE);
	usdt__parse_arguments("8@-8(%rbp) 8@%rdi 8@%rd 8@%rdix 8@ 8@%rdx,%rcx   8@%rcx 8@%rax 8@%rbx", &a);
	CHECK_INT(a.offset[0], USDT_NOWHERE);
	CHECK_INT(a.offset[1], 14 * 8);
	for (int i = 2; i < 6; i++)
		CHECK_INT(a.offset[i], USDT_NOWHERE);
	CHECK_INT(a.offset[6], 11 * 8);
	CHECK_INT(a.offset[7], 10 * 8);
	usdt__parse_arguments("", &a);
	CHECK_INT(a.offset[0], USDT_NOWHERE);
}
#endif

/* A copy of the file that may be damaged. */
static int copy_of_self(char **data, size_t *size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy = memfd_create("copy", MFD_CLOEXEC);
	struct stat st;
	ssize_t got = 0;

	fstat(fd, &st);
	*size = (size_t)st.st_size;
	if (ftruncate(copy, st.st_size))
		abort();
	*data = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
	while (*data != MAP_FAILED && (size_t)got < *size) {
		ssize_t n = read(fd, *data + got, *size - (size_t)got);

		if (n <= 0)
			abort();
		got += n;
	}
	close(fd);
	return copy;
}

TEST(usdt_survives_damaged_files)
{
	static const uint32_t values[] = { 0, 1, 3, 0x7fffffff, 0xfffffff0, 0xffffffff };
	Elf64_Ehdr *header;
	Elf64_Shdr *sections;
	struct usdt usdt;
	uint32_t tried = 0, refused = 0;
	size_t size;
	char *data;
	int fd = copy_of_self(&data, &size);

	header = (void *)data;
	sections = (void *)(data + header->e_shoff);
	CHECK_INT(find_in(fd, "twice", &usdt), 0);
	for (uint32_t i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_NOTE)
			continue;
		/* Each word of the notes, and of what says where they are. */
		for (size_t at = 0; at + 4 <= sections[i].sh_size + sizeof(sections[i]); at += 4) {
			char *word = at + 4 <= sections[i].sh_size ? data + sections[i].sh_offset + at :
				     (char *)&sections[i] + (at - sections[i].sh_size);
			Elf64_Shdr section = sections[i];
			uint32_t old;

			memcpy(&old, word, 4);
			for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
				memcpy(word, &values[v], 4);
				refused += find_in(fd, "twice", &usdt) != 0;
				CHECK(usdt.count <= USDT_PLACES_MAX);
				tried++;
			}
			memcpy(word, &old, 4);
			sections[i] = section;
		}
	}
	CHECK(tried > 300);
	CHECK(refused > 30);
	CHECK_INT(find_in(fd, "twice", &usdt), 0);
	header->e_shnum = 0;	/* stripped of its sections */
	CHECK_INT(find_in(fd, "twice", &usdt), -ENOENT);
	header->e_phnum = 0xffff;
	CHECK_INT(find_in(fd, "twice", &usdt), -E2BIG);
	header->e_ident[0] = 0;
	CHECK_INT(find_in(fd, "twice", &usdt), -ENOEXEC);
	munmap(data, size);
	if (ftruncate(fd, 100))
		abort();
	CHECK_INT(find_in(fd, "twice", &usdt), -ENOEXEC);
	close(fd);
}
