/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/elf_section.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ruby/debug_external.h"

/* The kernel maps whole pages: 4 KiB on x86-64; 4, 16 or 64 KiB on aarch64. */
static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

void elf_finding__section(struct elf_finding *f, enum elf_how how, uint64_t section)
{
	if (f->how == ELF_NOT_FOUND && section) {
		f->how = how;
		f->section = section;
	}
}

void elf_finding__symbol(struct elf_finding *f, const char *name, uint64_t value)
{
	if (!strcmp(name, RB_DEBUG_EXT_SYMBOL_NAME)) {
		elf_finding__section(f, ELF_BY_SYMBOL, value);
	} else if (!strcmp(name, "ruby_version")) {
		f->is_ruby = true;
		f->version = value;
	} else if (!strcmp(name, "ruby_init") || !strcmp(name, "rb_eval_string")) {
		f->is_ruby = true;
	}
}

void elf_finding__note(struct elf_finding *f, const char *owner, size_t owner_size, uint32_t type, const void *desc,
		       size_t desc_size, uint64_t address)
{
	int64_t distance;

	elf_build_id__take(&f->build_id, owner, owner_size, type, desc, desc_size);
	if (type != RB_DEBUG_EXT_NOTE_TYPE || owner_size != sizeof(RB_DEBUG_EXT_NOTE_OWNER) ||
	    desc_size < sizeof(distance) || memcmp(owner, RB_DEBUG_EXT_NOTE_OWNER, owner_size))
		return;
	memcpy(&distance, desc, sizeof(distance));
	elf_finding__section(f, ELF_BY_NOTE, address + (uint64_t)distance);
}

static bool see_symbol(void *context, const char *name, const Elf64_Sym *symbol)
{
	elf_finding__symbol(context, name, symbol->st_value);
	return false;
}

struct segment {
	struct elf_finding *finding;
	const Elf64_Phdr *notes;
};

static bool see_note(void *context, const char *owner, size_t owner_size, uint32_t type, const void *desc,
		     size_t desc_size, uint64_t desc_at)
{
	const struct segment *s = context;

	elf_finding__note(s->finding, owner, owner_size, type, desc, desc_size,
			  s->notes->p_vaddr + (desc_at - s->notes->p_offset));
	return false;
}

static void search_sections(struct elf_file *file, struct elf_finding *f)
{
	Elf64_Shdr section, symbols = { 0 };

	for (uint32_t i = 0; i < file->section_count && elf_file__section(file, i, &section); i++) {
		if (section.sh_flags & SHF_ALLOC && elf_file__has_name(file, &section, RB_DEBUG_EXT_SECTION_NAME))
			elf_finding__section(f, ELF_BY_SECTION, section.sh_addr);
		/* ld.so uses one dynamic symbol table per file. */
		else if (section.sh_type == SHT_DYNSYM && !symbols.sh_type)
			symbols = section;
	}
	if (symbols.sh_type)
		elf_file__symbols(file, &symbols, see_symbol, f);
}

static void search_segments(struct elf_file *file, uint64_t offset, struct elf_finding *f)
{
	for (uint32_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *p = &file->segments[i];
		struct segment segment = { f, p };

		if (p->p_type == PT_LOAD && !f->has_load && (p->p_offset & ~(page_size() - 1)) == offset) {
			f->has_load = true;
			f->load_vaddr = p->p_vaddr - (p->p_offset - offset);
		}
		if (p->p_type == PT_NOTE && p->p_filesz <= ELF_NOTES_MAX)
			elf_file__notes(file, p->p_offset, p->p_filesz, p->p_align, see_note, &segment);
	}
}

int elf__search_file(int fd, uint64_t size, uint64_t offset, struct elf_budget *budget, struct elf_finding *f)
{
	static struct elf_file file;
	int err = elf_file__open(&file, fd, size, budget);

	memset(f, 0, sizeof(*f));
	if (err)
		return err;
	search_sections(&file, f);
	search_segments(&file, offset, f);
	return 0;
}
