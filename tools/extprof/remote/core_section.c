/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the section rb_debug_ext is in a core file. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "parser/parser.h"
#include "process/elf_notes.h"
#include "process/elf_search.h"
#include "process/target_file.h"
#include "remote/core_parts.h"
#include "ruby/debug_external.h"

#define BUILD_ID_NOTES_MAX 4096u	/* bytes of the notes that it is among */
#define PHDRS_MAX 64			/* of an image */

/* Read the build id of an image in memory. */
static void read_build_id(const struct memory *memory, uint64_t base, struct elf_build_id *id)
{
	Elf64_Phdr phdrs[PHDRS_MAX];
	uint64_t bias = 0;
	Elf64_Ehdr ehdr;

	id->size = 0;
	if (memory__read(memory, base, &ehdr, sizeof(ehdr)) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG) ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_phentsize != sizeof(Elf64_Phdr) || !ehdr.e_phnum ||
	    ehdr.e_phnum > PHDRS_MAX ||
	    memory__read(memory, base + ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof(*phdrs)))
		return;
	for (int i = 0; i < ehdr.e_phnum; i++)
		if (phdrs[i].p_type == PT_LOAD && !phdrs[i].p_offset)
			bias = base - phdrs[i].p_vaddr;
	for (int i = 0; i < ehdr.e_phnum && !id->size; i++) {
		const Elf64_Phdr *p = &phdrs[i];
		struct elf_notes notes = { .memory = memory, .at = bias + p->p_vaddr };
		struct elf_note note;

		notes.end = notes.at + p->p_filesz;
		if (p->p_type != PT_NOTE || p->p_filesz > BUILD_ID_NOTES_MAX)
			continue;
		while (!id->size && elf_notes__next(&notes, &note))
			if (note.type == NT_GNU_BUILD_ID && !strcmp(note.name, "GNU") && note.desc_size <= ELF_BUILD_ID_MAX &&
			    !memory__read(memory, note.desc, id->bytes, note.desc_size))
				id->size = note.desc_size;
	}
}

static bool is_same_build(const struct elf_build_id *a, const struct elf_build_id *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

static bool has_magic(const struct core *core, uint64_t address)
{
	char magic[8];

	return !memory__read(&core->memory, address, magic, sizeof(magic)) &&
	       !memcmp(magic, RB_DEBUG_EXT_MAGIC, sizeof(magic));
}

/* Where the finding leads in the image; 0: nowhere. */
static uint64_t section_of(const struct core *core, const struct core_image *image, const struct elf_finding *f)
{
	uint64_t address = f->section + (image->start - f->load_vaddr);

	return f->how != ELF_NOT_FOUND && f->has_load && has_magic(core, address) ? address : 0;
}

/* Look into a file for the section of an image of the core.  *other: its build id is another one. */
static uint64_t search_file(const struct core *core, const struct core_image *image, const struct parser_file *file,
			    struct elf_budget *budget, bool *other)
{
	struct elf_build_id wanted;
	struct elf_finding f;

	read_build_id(&core->memory, image->start, &wanted);
	if (parser__search(file, 0, budget, &f))
		return 0;
	if (!wanted.size || !f.build_id.size || is_same_build(&wanted, &f.build_id))
		return section_of(core, image, &f);
	*other = true;
	return 0;
}

bool core__is_file(const struct core *core, uint64_t start, const struct parser_file *file)
{
	struct elf_budget budget;
	struct elf_build_id wanted;
	struct elf_finding f;

	elf_budget__init(&budget);
	read_build_id(&core->memory, start, &wanted);
	return wanted.size && !parser__search(file, 0, &budget, &f) && is_same_build(&wanted, &f.build_id);
}

int core__find_section(struct core *core, const char *exe, uint64_t *section, struct diag *d)
{
	bool is_ruby = false, other = false;
	struct target_files files;
	struct elf_budget budget;
	struct elf_finding f;
	char clean[256];

	*section = 0;
	elf_budget__init(&budget);
	for (uint32_t i = 0; i < core->image_count && !*section; i++) {
		if (!elf__search_memory(&core->memory, core->images[i].start, &budget, &f)) {
			is_ruby |= f.is_ruby;
			*section = section_of(core, &core->images[i], &f);
		}
	}
	if (exe)
		target_files__of_user(&files);
	else
		target_files__of_core(&files, &core->file);
	for (uint32_t i = 0; i < core->image_count && !*section; i++) {
		struct stat st;
		struct parser_file file = { .owner = files.owner };

		file.fd = target_file__open_elf(&files, exe ? exe : core->images[i].path, &st);
		if (file.fd < 0)
			continue;
		file.size = (uint64_t)st.st_size;
		*section = search_file(core, &core->images[i], &file, &budget, &other);
		close(file.fd);
	}
	if (*section)
		return 0;
	if (core__missing(core) && !is_ruby && !other)
		return core__tell_missing(core, d);
	text__clean(clean, sizeof(clean), exe ? exe : core->image_count ? core->images[0].path : "");
	if (exe && other)
		diag__set(d, DIAG_USAGE, EINVAL, "%s is not what the process of this core file ran: its build id is "
			  "another one", clean);
	else if (is_ruby)
		diag__set(d, DIAG_NO_INTERFACE, ENOENT, "the core file is of a ruby without the debugging interface");
	else
		diag__set(d, DIAG_NOT_RUBY, ENOENT, "there is no ruby with the debugging interface in the core file of %s",
			  core->command.length ? core->command.data : clean[0] ? clean : "an unknown program");
	diag__hint(d, "if the process was a ruby that this project has patched, name its program, or its libruby.so,");
	diag__advise(d, ADVICE_EXE, 0);
	return d->code == DIAG_USAGE ? -EINVAL : -ENOENT;
}
