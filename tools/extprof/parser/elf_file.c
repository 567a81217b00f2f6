/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/elf_file.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SYMBOLS_AT_ONCE (ELF_WINDOW / sizeof(Elf64_Sym))

bool elf_budget__take(struct elf_budget *b, uint64_t bytes)
{
	if (b->reads < 1 || bytes > INT64_MAX || b->bytes < (int64_t)bytes) {
		b->exceeded = true;
		return false;
	}
	b->reads--;
	b->bytes -= (int64_t)bytes;
	return true;
}

static bool in_file(const struct elf_file *f, uint64_t at, uint64_t size)
{
	return at <= f->size && size <= f->size - at;
}

/* True if all bytes were read: the file may have become shorter. */
static bool read_file(struct elf_file *f, uint64_t at, void *to, size_t size)
{
	if (!in_file(f, at, size) || !elf_budget__take(f->budget, size))
		return false;
	if (!f->memory)
		return pread(f->fd, to, size, (off_t)at) == (ssize_t)size;
	memcpy(to, (const char *)f->memory + at, size);
	return true;
}

const void *elf_file__part(struct elf_file *f, struct elf_window *w, uint64_t at, size_t size)
{
	size_t wanted;

	if (w->size && at >= w->at && at - w->at <= w->size && size <= w->size - (at - w->at))
		return w->data + (at - w->at);
	if (size > sizeof(w->data) || !in_file(f, at, size))
		return NULL;
	wanted = f->size - at < sizeof(w->data) ? (size_t)(f->size - at) : sizeof(w->data);
	w->at = at;
	w->size = read_file(f, at, w->data, wanted) ? wanted : 0;
	return w->size ? w->data : NULL;
}

bool elf__is_header(const Elf64_Ehdr *e)
{
	return !memcmp(e->e_ident, ELFMAG, SELFMAG) && e->e_ident[EI_CLASS] == ELFCLASS64 &&
	       e->e_ident[EI_DATA] == (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
}

/* fd and memory are set. */
static int open_it(struct elf_file *f, uint64_t size, struct elf_budget *budget)
{
	const Elf64_Ehdr *e = &f->header;

	f->size = size <= INT64_MAX ? size : 0;
	f->budget = budget;
	f->headers.size = f->content.size = 0;
	f->names_size = 0;
	f->names = (Elf64_Shdr){ 0 };
	f->segment_count = f->section_count = 0;
	if (!read_file(f, 0, &f->header, sizeof(f->header)))
		return budget->exceeded ? -E2BIG : -ENOEXEC;
	if (!elf__is_header(e))
		return -ENOEXEC;
	if (e->e_phentsize == sizeof(Elf64_Phdr) && e->e_phnum)
		f->segment_count = e->e_phnum < ELF_SEGMENTS_MAX ? e->e_phnum : ELF_SEGMENTS_MAX;
	if (f->segment_count && !read_file(f, e->e_phoff, f->segments, f->segment_count * sizeof(Elf64_Phdr)))
		f->segment_count = 0;
	if (e->e_shentsize == sizeof(Elf64_Shdr))
		f->section_count = e->e_shnum;
	budget->exceeded |= e->e_phnum > ELF_SEGMENTS_MAX;
	return 0;
}

int elf_file__open(struct elf_file *f, int fd, uint64_t size, struct elf_budget *budget)
{
	f->fd = fd;
	f->memory = NULL;
	return open_it(f, size, budget);
}

int elf_file__open_memory(struct elf_file *f, const void *memory, uint64_t size, struct elf_budget *budget)
{
	f->fd = -1;
	f->memory = memory;
	return open_it(f, size, budget);
}

/* -- sections and segments -------------------------------------------------------------------- */

bool elf_file__section(struct elf_file *f, uint32_t i, Elf64_Shdr *section)
{
	const void *part = i < f->section_count && f->header.e_shoff <= f->size ?
			   elf_file__part(f, &f->headers, f->header.e_shoff + i * sizeof(*section), sizeof(*section)) :
			   NULL;

	if (part)
		memcpy(section, part, sizeof(*section));
	return part;
}

/*
 * The name there in a table of names; NULL: it has none, or a longer one than is looked for.  Names of another table
 * are not valid any more.
 */
static const char *string_at(struct elf_file *f, const Elf64_Shdr *table, uint64_t offset)
{
	uint64_t left;

	if (memcmp(&f->names, table, sizeof(*table))) {
		f->names = *table;
		f->names_size = table->sh_size <= sizeof(f->strings) &&
				read_file(f, table->sh_offset, f->strings, table->sh_size) ? table->sh_size : 0;
	}
	if (offset >= table->sh_size)
		return NULL;
	left = table->sh_size - offset < ELF_NAME_MAX ? table->sh_size - offset : ELF_NAME_MAX;
	if (f->names_size)
		return memchr(f->strings + offset, '\0', left) ? f->strings + offset : NULL;
	/* The sum may be more than 64 bits: it is then in no file. */
	if (table->sh_offset > f->size || table->sh_size <= sizeof(f->strings))
		return NULL;
	if (left > f->size - table->sh_offset || offset > f->size - table->sh_offset - left)
		return NULL;
	return read_file(f, table->sh_offset + offset, f->name, left) && memchr(f->name, '\0', left) ? f->name : NULL;
}

bool elf_file__has_name(struct elf_file *f, const Elf64_Shdr *section, const char *name)
{
	Elf64_Shdr names;
	const char *has = elf_file__section(f, f->header.e_shstrndx, &names) ?
			  string_at(f, &names, section->sh_name) : NULL;

	return has && !strcmp(has, name);
}

bool elf_file__find(struct elf_file *f, const char *name, Elf64_Shdr *section)
{
	for (uint32_t i = 0; i < f->section_count && i < ELF_SECTIONS_MAX && elf_file__section(f, i, section); i++)
		if (section->sh_type == SHT_PROGBITS && elf_file__has_name(f, section, name))
			return true;
	return false;
}

const Elf64_Phdr *elf_file__segment_of_address(const struct elf_file *f, uint64_t address)
{
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

const Elf64_Phdr *elf_file__segment_of_offset(const struct elf_file *f, uint64_t offset)
{
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type == PT_LOAD && offset >= p->p_offset && offset - p->p_offset < p->p_filesz)
			return p;
	}
	return NULL;
}

/* -- symbols ---------------------------------------------------------------------------------- */

void elf_file__symbols(struct elf_file *f, const Elf64_Shdr *table,
		       bool (*see)(void *context, const char *name, const Elf64_Sym *symbol), void *context)
{
	uint64_t count = table->sh_size / sizeof(Elf64_Sym);
	Elf64_Shdr names;

	if (table->sh_entsize != sizeof(Elf64_Sym) || !in_file(f, table->sh_offset, table->sh_size) ||
	    !elf_file__section(f, table->sh_link, &names))
		return;
	for (uint64_t i = 0; i < count; i++) {
		const void *part = elf_file__part(f, &f->content, table->sh_offset + i * sizeof(Elf64_Sym),
						  sizeof(Elf64_Sym));
		const char *name;
		Elf64_Sym symbol;

		if (!part)
			return;
		memcpy(&symbol, part, sizeof(symbol));
		/* The first thread-local variable is at 0. */
		if (symbol.st_shndx == SHN_UNDEF || (!symbol.st_value && ELF64_ST_TYPE(symbol.st_info) != STT_TLS))
			continue;
		name = string_at(f, &names, symbol.st_name);
		if (name && see(context, name, &symbol))
			return;
		if (f->budget->exceeded)
			return;
	}
}

/* -- notes ------------------------------------------------------------------------------------ */

bool elf_file__notes(struct elf_file *f, uint64_t begin, uint64_t size, uint64_t align,
		     bool (*see)(void *context, const char *owner, size_t owner_size, uint32_t type, const void *desc,
				 size_t desc_size, uint64_t desc_at), void *context)
{
	uint64_t at = 0;

	if (!in_file(f, begin, size))
		return false;
	align = align == 8 ? 8 : 4;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		const char *part = elf_file__part(f, &f->content, begin + at, sizeof(Elf64_Nhdr));
		uint64_t desc, end, next;
		Elf64_Nhdr note;

		if (!part)
			return false;
		memcpy(&note, part, sizeof(note));
		/* 32 bit sizes in 64 bit sums: no overflow. */
		desc = (sizeof(note) + note.n_namesz + align - 1) & ~(align - 1);
		end = desc + note.n_descsz;
		next = (end + align - 1) & ~(align - 1);
		if (end > size - at)
			return false;
		part = end <= ELF_WINDOW ? elf_file__part(f, &f->content, begin + at, (size_t)end) : NULL;
		if (part && see(context, part + sizeof(note), note.n_namesz, note.n_type, part + desc, note.n_descsz,
				begin + at + desc))
			return true;
		if (next > size - at)
			break;
		at += next;
	}
	return true;
}

void elf_build_id__take(struct elf_build_id *id, const char *owner, size_t owner_size, uint32_t type, const void *desc,
			size_t desc_size)
{
	if (id->size || type != NT_GNU_BUILD_ID || owner_size != sizeof(ELF_NOTE_GNU) ||
	    memcmp(owner, ELF_NOTE_GNU, owner_size) || desc_size > sizeof(id->bytes))
		return;
	memcpy(id->bytes, desc, desc_size);
	id->size = (uint32_t)desc_size;
}

static bool see_build_id(void *context, const char *owner, size_t owner_size, uint32_t type, const void *desc,
			 size_t desc_size, uint64_t desc_at)
{
	struct elf_build_id *id = context;

	(void)desc_at;
	elf_build_id__take(id, owner, owner_size, type, desc, desc_size);
	return id->size != 0;
}

void elf_file__build_id(struct elf_file *f, struct elf_build_id *id)
{
	memset(id, 0, sizeof(*id));
	for (uint32_t i = 0; i < f->segment_count && !id->size; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type == PT_NOTE && p->p_filesz <= ELF_NOTES_MAX)
			elf_file__notes(f, p->p_offset, p->p_filesz, p->p_align, see_build_id, id);
	}
}
