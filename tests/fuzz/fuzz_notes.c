/* SPDX-License-Identifier: BSD-2-Clause */
/* The notes of a program: probes (USDT), the build id, where the section is; in a file, and in an image in memory. */
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image.h"
#include "need.h"
#include "parser/elf_places.h"
#include "process/elf_notes.h"
#include "process/elf_search.h"

/* The file: headers, then names of sections, then the notes.  It is loaded as code and as data. */
#define NAMES_AT 1024u
#define NOTES_AT 2048u
#define BASE 0x400000u
#define LENGTH 0x100000u

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";

static void make_head(uint8_t *file, size_t size)
{
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC, .e_machine = MACHINE,
		.e_version = EV_CURRENT, .e_phoff = sizeof(header), .e_shoff = 512, .e_ehsize = sizeof(header), .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 3,
	};
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = BASE, .p_filesz = LENGTH, .p_memsz = LENGTH, .p_align = 4096 },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = BASE + LENGTH, .p_filesz = LENGTH, .p_memsz = LENGTH, .p_align = 4096 },
		{ .p_type = PT_NOTE, .p_flags = PF_R, .p_offset = NOTES_AT, .p_vaddr = BASE + NOTES_AT, .p_filesz = size, .p_memsz = size, .p_align = 4 },
	};
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = NOTES_AT, .sh_size = size, .sh_addralign = 4 },
		{ .sh_name = 15, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addr = BASE + 1, .sh_offset = 1, .sh_size = 1 },
		{ .sh_name = 29, .sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = sizeof(names) },
	};

	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), segments, sizeof(segments));
	memcpy(file + 512, sections, sizeof(sections));
	memcpy(file + NAMES_AT, names, sizeof(names));
}

static void look_at_places(int fd, size_t size)
{
	const struct elf_wish wishes[] = { { "ruby_ext", "gc_phase" }, { "ruby_ext", "alloc" }, { "test", "probe" } };
	struct elf_budget budget = { .bytes = 16 << 20, .reads = 100000 };
	struct usdt found[3];
	int32_t results[3];
	uint64_t section;

	if (elf_places__find(fd, size, 0, &budget, wishes, 3, found, results, &section) == -ENOEXEC)
		return;
	need(section == BASE);
	for (int i = 0; i < 3; i++) {
		need(found[i].count <= USDT_PLACES_MAX && results[i] <= 0);
		need(results[i] || found[i].count);
		for (uint32_t j = 0; j < found[i].count; j++) {
			const struct usdt_place *p = &found[i].places[j];

			need(p->address >= BASE && p->address - BASE < LENGTH && p->offset == p->address - BASE);
			need(p->offset < size && p->semaphore < LENGTH);
			for (uint32_t k = 0; k < USDT_ARGUMENTS_MAX; k++)
				need(p->arguments.offset[k] == USDT_NOWHERE || p->arguments.offset[k] < 512);
		}
	}
}

static void look_at_memory(const struct image *image, size_t size)
{
	struct elf_notes notes = { .memory = &image->memory, .at = BASE + NOTES_AT, .end = BASE + NOTES_AT + size };
	struct elf_budget budget = { .bytes = 16 << 20, .reads = 100000 };
	struct elf_finding f = { 0 };
	struct elf_note note;

	elf__search_memory(&image->memory, BASE, &budget, &f);
	need(f.build_id.size <= ELF_BUILD_ID_MAX);
	memset(&f, 0, sizeof(f));
	elf__search_notes(image->data + NOTES_AT, size, BASE + NOTES_AT, 4, &f);
	need(f.build_id.size <= ELF_BUILD_ID_MAX);
	for (uint64_t at = notes.at; elf_notes__next(&notes, &note); at = notes.at) {
		need(notes.at > at && note.desc >= at && note.desc <= notes.end && note.desc_size <= notes.end - note.desc);
		need(memchr(note.name, 0, sizeof(note.name)) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_budget budget = { .bytes = 16 << 20, .reads = 100000 };
	uint8_t *file = calloc(1, NOTES_AT + size);
	char *text = malloc(size + 1);
	struct usdt_arguments arguments;
	struct elf_finding f;
	struct image image;
	int fd = memfd_create("notes", MFD_CLOEXEC);

	need(file && text && fd >= 0);
	make_head(file, size);
	if (size)
		memcpy(file + NOTES_AT, data, size);
	image__init(&image, BASE, file, NOTES_AT + size);
	need(write(fd, file, image.size) == (ssize_t)image.size);
	look_at_places(fd, image.size);
	elf__search_file(fd, image.size, 0, &budget, &f);
	look_at_memory(&image, size);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	usdt__parse_arguments(text, &arguments);
	close(fd);
	free(file);
	free(text);
	return 0;
}
