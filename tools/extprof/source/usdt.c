/* SPDX-License-Identifier: BSD-2-Clause */
/* The file belongs to the target: each size is checked, and it is read with pread(), as in elf_search.c. */
#include "source/usdt.h"

#include <asm/ptrace.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 4096u
#define SEGMENTS_MAX 256u
#define NOTES_MAX (4u << 20)	/* bytes of a section of notes; that of libruby.so has 6,000 */
#define NOTE_TYPE 3u		/* NT_STAPSDT */
#define NOTE_OWNER "stapsdt"
#define BASE_SECTION ".stapsdt.base"

struct elf {
	int fd;
	Elf64_Ehdr header;
	Elf64_Phdr segments[SEGMENTS_MAX];
	uint32_t segment_count;
	uint64_t base;		/* address of BASE_SECTION, 0 none */
};

static int damaged(struct diag *d, const char *what)
{
	return diag__set(d, DIAG_INTERNAL, EINVAL, "the file of the program is damaged: %s", what);
}

/* 0 if all bytes were read. */
static int read_all(int fd, uint64_t at, void *to, size_t size)
{
	return at <= INT64_MAX && pread(fd, to, size, (off_t)at) == (ssize_t)size ? 0 : -EINVAL;
}

static int elf__open(struct elf *elf, int fd)
{
	size_t size;

	memset(elf, 0, sizeof(*elf));
	elf->fd = fd;
	if (read_all(fd, 0, &elf->header, sizeof(elf->header)) || memcmp(elf->header.e_ident, ELFMAG, SELFMAG) ||
	    elf->header.e_ident[EI_CLASS] != ELFCLASS64 || elf->header.e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->header.e_phnum > SEGMENTS_MAX)
		return -EINVAL;
	elf->segment_count = elf->header.e_phnum;
	size = elf->segment_count * sizeof(Elf64_Phdr);
	return size ? read_all(fd, elf->header.e_phoff, elf->segments, size) : 0;
}

static const Elf64_Phdr *segment_of_address(const struct elf *elf, uint64_t address)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *p = &elf->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

int usdt__address(int fd, uint64_t offset, uint64_t *address)
{
	struct elf elf;

	if (elf__open(&elf, fd))
		return -ENOENT;
	for (uint32_t i = 0; i < elf.segment_count; i++) {
		const Elf64_Phdr *p = &elf.segments[i];

		if (p->p_type != PT_LOAD || offset < p->p_offset || offset - p->p_offset >= p->p_filesz)
			continue;
		*address = p->p_vaddr + (offset - p->p_offset);
		return 0;
	}
	return -ENOENT;
}

/* -- arguments -------------------------------------------------------------------------------- */

static uint16_t register_offset(const char *name, size_t length)
{
#if defined(__x86_64__)
#define REGISTER(r) { "%" #r, offsetof(struct pt_regs, r) }
	static const struct {
		const char *name;
		uint16_t offset;
	} registers[] = {
		REGISTER(rax), REGISTER(rbx), REGISTER(rcx), REGISTER(rdx), REGISTER(rsi), REGISTER(rdi),
		REGISTER(rbp), REGISTER(r8), REGISTER(r9), REGISTER(r10), REGISTER(r11), REGISTER(r12),
		REGISTER(r13), REGISTER(r14), REGISTER(r15),
	};
#undef REGISTER
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (strlen(registers[i].name) == length && !memcmp(registers[i].name, name, length))
			return registers[i].offset;
#elif defined(__aarch64__)
	unsigned int number;
	int end = 0;

	if (sscanf(name, "x%2u%n", &number, &end) == 1 && (size_t)end == length && number < 31)
		return (uint16_t)(number * 8);
#endif
	return USDT_NOWHERE;
}

void usdt__parse_arguments(const char *text, struct usdt_arguments *arguments)
{
	uint32_t n = 0;

	memset(arguments, 0xff, sizeof(*arguments));
	while (n < USDT_ARGUMENTS_MAX) {
		size_t length;

		text += strspn(text, " ");
		length = strcspn(text, " ");
		if (!length)
			return;
		if (length > 2 && (!strncmp(text, "8@", 2)))
			arguments->offset[n] = register_offset(text + 2, length - 2);
		else if (length > 3 && !strncmp(text, "-8@", 3))
			arguments->offset[n] = register_offset(text + 3, length - 3);
		n++;
		text += length;
	}
}

/* -- notes ------------------------------------------------------------------------------------ */

/* What is looked for, and what was found. */
struct search {
	struct elf *elf;
	const char *provider, *name;
	struct usdt *usdt;
	struct diag *d;
};

/* The text at *at, which has its end before `end`; NULL: it has none. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *zero = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	if (zero)
		*at = zero + 1;
	return zero ? text : NULL;
}

/* A note of a probe: three addresses and three texts.  0 or -errno. */
static int take_note(struct search *s, const char *data, size_t size)
{
	struct { uint64_t place, base, semaphore; } note;
	const char *at = data + sizeof(note), *end = data + size, *provider, *name, *arguments;
	const Elf64_Phdr *code, *variable;
	struct usdt_place *place;

	if (size < sizeof(note))
		return damaged(s->d, "a probe without a place");
	memcpy(&note, data, sizeof(note));
	provider = next_text(&at, end);
	name = next_text(&at, end);
	arguments = next_text(&at, end);
	if (!arguments)
		return damaged(s->d, "a probe without a name");
	if (strcmp(provider, s->provider) || strcmp(name, s->name))
		return 0;
	/* prelink(8) moves the sections, and not the notes. */
	if (s->elf->base && note.base) {
		note.place += s->elf->base - note.base;
		note.semaphore += note.semaphore ? s->elf->base - note.base : 0;
	}
	code = segment_of_address(s->elf, note.place);
	variable = note.semaphore ? segment_of_address(s->elf, note.semaphore) : NULL;
	if (!code || !(code->p_flags & PF_X) || (note.semaphore && (!variable || !(variable->p_flags & PF_W))))
		return damaged(s->d, "a probe outside of the code, or its semaphore outside of the data");
	if (s->usdt->count >= USDT_PLACES_MAX)
		return diag__set(s->d, DIAG_INTERNAL, E2BIG, "the probe %s:%s is at more than %u places",
				 s->provider, s->name, USDT_PLACES_MAX);
	place = &s->usdt->places[s->usdt->count++];
	place->address = note.place;
	place->offset = note.place - code->p_vaddr + code->p_offset;
	place->semaphore = variable ? note.semaphore - variable->p_vaddr + variable->p_offset : 0;
	usdt__parse_arguments(arguments, &place->arguments);
	return 0;
}

static int take_notes(struct search *s, const char *data, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, desc, next;
		int err;

		memcpy(&note, data + at, sizeof(note));
		name = at + sizeof(note);
		/* 32 bit sizes in 64 bit sums: no overflow. */
		desc = (name + note.n_namesz + 3) & ~(size_t)3;
		next = (desc + note.n_descsz + 3) & ~(size_t)3;
		if (desc > size || note.n_descsz > size - desc)
			return damaged(s->d, "a note that does not end");
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(NOTE_OWNER) &&
		    !memcmp(data + name, NOTE_OWNER, sizeof(NOTE_OWNER))) {
			err = take_note(s, data + desc, note.n_descsz);
			if (err)
				return err;
		}
		if (next > size)
			break;
		at = next;
	}
	return 0;
}

static int read_notes(struct search *s, const Elf64_Shdr *section)
{
	size_t size = section->sh_size;
	char *data;
	int err;

	if (size > NOTES_MAX)
		return diag__set(s->d, DIAG_INTERNAL, E2BIG, "the file of the program has %zu bytes of notes", size);
	data = malloc(size + 1);
	if (!data)
		return diag__set(s->d, DIAG_INTERNAL, ENOMEM, "out of memory");
	err = read_all(s->elf->fd, section->sh_offset, data, size) ? damaged(s->d, "its notes are not in the file") :
	      take_notes(s, data, size);
	free(data);
	return err;
}

/* malloc'd.  NULL with *err. */
static Elf64_Shdr *read_sections(const struct elf *elf, uint32_t *count, int *err)
{
	Elf64_Shdr *sections;

	*count = elf->header.e_shnum;
	*err = -EINVAL;
	if (!*count || *count > SECTIONS_MAX || elf->header.e_shentsize != sizeof(*sections))
		return NULL;
	*err = -ENOMEM;
	sections = calloc(*count, sizeof(*sections));
	if (!sections)
		return NULL;
	*err = read_all(elf->fd, elf->header.e_shoff, sections, *count * sizeof(*sections));
	if (!*err)
		return sections;
	free(sections);
	return NULL;
}

static bool has_name(const struct elf *elf, const Elf64_Shdr *sections, uint32_t count, uint32_t i, const char *name)
{
	uint32_t names = elf->header.e_shstrndx;
	char text[32] = "";

	return names < count && strlen(name) < sizeof(text) &&
	       !read_all(elf->fd, sections[names].sh_offset + sections[i].sh_name, text, strlen(name) + 1) &&
	       !strcmp(text, name);
}

int usdt__find(int fd, const char *provider, const char *name, struct usdt *usdt, struct diag *d)
{
	struct elf elf;
	struct search search = { .elf = &elf, .provider = provider, .name = name, .usdt = usdt, .d = d };
	Elf64_Shdr *sections = NULL;
	uint32_t count = 0;
	int err;

	memset(usdt, 0, sizeof(*usdt));
	if (elf__open(&elf, fd))
		return damaged(d, "it is no ELF file of 64 bits");
	sections = read_sections(&elf, &count, &err);
	if (!sections && err == -ENOMEM)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < count && sections && !elf.base; i++)
		if (sections[i].sh_type == SHT_PROGBITS && has_name(&elf, sections, count, i, BASE_SECTION))
			elf.base = sections[i].sh_addr;
	err = 0;
	for (uint32_t i = 0; i < count && sections && !err; i++)
		if (sections[i].sh_type == SHT_NOTE)
			err = read_notes(&search, &sections[i]);
	free(sections);
	if (!err && !usdt->count) {
		err = diag__set(d, DIAG_NO_INTERFACE, ENOENT, "there is no probe %s:%s in the file of the program",
				provider, name);
		diag__hint(d, "the notes of probes are in the section .note.stapsdt, which strip(1) leaves there");
	}
	return err;
}
