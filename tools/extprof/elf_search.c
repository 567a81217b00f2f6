/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files and images are untrusted.  Files are read with libelf in
 * ELF_C_READ mode: mapping them would let whoever truncates one kill us.
 */
#include "elf_search.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "ruby/debug_external.h"

#define PAGE 4096ull
#define PHDRS_MAX 64		/* of an image in memory */
#define NOTES_MAX (64 << 10)	/* bytes of one PT_NOTE */
#define DYNAMIC_MAX 512		/* entries of PT_DYNAMIC */
#define CHAIN_MAX (1 << 20)	/* symbols looked at in one hash chain */

static uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

bool elf__search_notes(const uint8_t *data, uint64_t size, uint64_t vaddr, uint64_t align,
		       uint64_t *section)
{
	uint64_t at = 0;

	if (align != 8)
		align = 4;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, desc, next;

		memcpy(&note, data + at, sizeof(note));
		name = at + sizeof(note);
		/* 32 bit sizes in 64 bit sums: no overflow. */
		desc = align_up(name + note.n_namesz, align);
		next = align_up(desc + note.n_descsz, align);
		if (desc > size || note.n_descsz > size - desc)
			return false;
		if (note.n_type == RB_DEBUG_EXT_NOTE_TYPE &&
		    note.n_namesz == sizeof(RB_DEBUG_EXT_NOTE_OWNER) && note.n_descsz >= 8 &&
		    !memcmp(data + name, RB_DEBUG_EXT_NOTE_OWNER, note.n_namesz)) {
			int64_t distance;

			memcpy(&distance, data + desc, sizeof(distance));
			*section = vaddr + desc + (uint64_t)distance;
			return true;
		}
		if (next <= at || next > size)
			return false;
		at = next;
	}
	return false;
}

static void found(struct elf_finding *f, enum elf_how how, uint64_t section)
{
	if (f->how == ELF_NOT_FOUND && section) {
		f->how = how;
		f->section = section;
	}
}

static void symbol_seen(struct elf_finding *f, const char *name, uint64_t value)
{
	if (!strcmp(name, RB_DEBUG_EXT_SYMBOL_NAME)) {
		found(f, ELF_BY_SYMBOL, value);
	} else if (!strcmp(name, "ruby_version")) {
		f->is_ruby = true;
		f->version = value;
	} else if (!strcmp(name, "ruby_init") || !strcmp(name, "rb_eval_string")) {
		f->is_ruby = true;
	}
}

static void search_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct elf_finding *f)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count;

	if (!data || !shdr->sh_entsize || shdr->sh_entsize != sizeof(Elf64_Sym))
		return;
	count = data->d_size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < count && i < CHAIN_MAX; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || !sym.st_value)
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (name)
			symbol_seen(f, name, sym.st_value);
	}
}

static void search_sections(Elf *elf, struct elf_finding *f)
{
	size_t names;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (name && !strcmp(name, RB_DEBUG_EXT_SECTION_NAME) &&
		    (shdr.sh_flags & SHF_ALLOC))
			found(f, ELF_BY_SECTION, shdr.sh_addr);
		else if (shdr.sh_type == SHT_DYNSYM)
			search_symbols(elf, scn, &shdr, f);
	}
}

static void search_segments(Elf *elf, uint64_t offset, struct elf_finding *f)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return;
	for (size_t i = 0; i < count && i < 1024; i++) {
		GElf_Phdr phdr;
		uint64_t section;
		Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			continue;
		if (phdr.p_type == PT_LOAD && !f->has_load &&
		    (phdr.p_offset & ~(PAGE - 1)) == offset) {
			f->has_load = true;
			f->load_vaddr = phdr.p_vaddr - (phdr.p_offset - offset);
		}
		if (phdr.p_type != PT_NOTE || phdr.p_filesz > NOTES_MAX)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)phdr.p_offset, phdr.p_filesz, ELF_T_BYTE);
		if (data && data->d_buf &&
		    elf__search_notes(data->d_buf, data->d_size, phdr.p_vaddr, phdr.p_align, &section))
			found(f, ELF_BY_NOTE, section);
	}
}

int elf__search_file(int fd, uint64_t offset, struct elf_finding *f)
{
	GElf_Ehdr ehdr;
	Elf *elf;
	int err = 0;

	memset(f, 0, sizeof(*f));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOTSUP;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	if (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 ||
	    !gelf_getehdr(elf, &ehdr)) {
		err = -ENOEXEC;
		goto cleanup;
	}
	search_sections(elf, f);
	search_segments(elf, offset, f);
cleanup:
	elf_end(elf);
	return err;
}

/* -- the image in memory ---------------------------------------------------- */

struct dynamic {
	uint64_t symtab, strtab, strsz, gnu_hash;
};

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* The value of a dynamic symbol of the image, 0 if it has none. */
static uint64_t memory_symbol(const struct memory *m, const struct dynamic *d, const char *name)
{
	uint32_t head[4], bucket, hash = gnu_hash(name), other;
	uint64_t buckets, chains;
	size_t length = strlen(name) + 1;
	char found[64];

	/* nbuckets, symoffset, bloom_size, bloom_shift */
	if (!d->gnu_hash || !d->symtab || !d->strtab || length > sizeof(found) ||
	    memory__read(m, d->gnu_hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = d->gnu_hash + sizeof(head) + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	if (memory__read(m, buckets + 4ull * (hash % head[0]), &bucket, sizeof(bucket)))
		return 0;
	if (bucket < head[1])
		return 0;
	for (uint32_t i = bucket; i - bucket < CHAIN_MAX; i++) {
		Elf64_Sym sym;

		if (memory__read(m, chains + 4ull * (i - head[1]), &other, sizeof(other)))
			return 0;
		if ((other | 1) == (hash | 1) &&
		    !memory__read(m, d->symtab + sizeof(sym) * i, &sym, sizeof(sym)) &&
		    sym.st_shndx != SHN_UNDEF &&
		    !memory__read(m, d->strtab + sym.st_name, found, length) &&
		    !memcmp(found, name, length))
			return sym.st_value;
		if (other & 1)
			break;
	}
	return 0;
}

static void memory_dynamic(const struct memory *m, uint64_t bias, const Elf64_Phdr *phdr,
			   struct elf_finding *f)
{
	static const char *const names[] = {
		RB_DEBUG_EXT_SYMBOL_NAME, "ruby_version", "ruby_init", "rb_eval_string",
	};
	struct dynamic d = { 0 };

	for (unsigned int i = 0; i < DYNAMIC_MAX && i < phdr->p_memsz / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn dyn;

		if (memory__read(m, bias + phdr->p_vaddr + i * sizeof(dyn), &dyn, sizeof(dyn)) ||
		    dyn.d_tag == DT_NULL)
			break;
		/* ld.so has relocated these in place (glibc); others leave them. */
		if (dyn.d_un.d_ptr < bias && dyn.d_tag != DT_STRSZ)
			dyn.d_un.d_ptr += bias;
		switch (dyn.d_tag) {
		case DT_SYMTAB: d.symtab = dyn.d_un.d_ptr; break;
		case DT_STRTAB: d.strtab = dyn.d_un.d_ptr; break;
		case DT_GNU_HASH: d.gnu_hash = dyn.d_un.d_ptr; break;
		}
	}
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t value = memory_symbol(m, &d, names[i]);

		if (value)
			symbol_seen(f, names[i], value);
	}
}

int elf__search_memory(const struct memory *m, uint64_t base, struct elf_finding *f)
{
	Elf64_Phdr phdrs[PHDRS_MAX];
	uint64_t bias, section;
	Elf64_Ehdr ehdr;
	uint8_t *notes;
	int err;

	memset(f, 0, sizeof(*f));
	err = memory__read(m, base, &ehdr, sizeof(ehdr));
	if (err)
		return err;
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(Elf64_Phdr) || !ehdr.e_phnum || ehdr.e_phnum > PHDRS_MAX)
		return -ENOEXEC;
	err = memory__read(m, base + ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof(Elf64_Phdr));
	if (err)
		return err;
	for (int i = 0; i < ehdr.e_phnum && !f->has_load; i++) {
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset < PAGE) {
			f->has_load = true;
			f->load_vaddr = phdrs[i].p_vaddr - phdrs[i].p_offset;
		}
	}
	if (!f->has_load)
		return -ENOEXEC;
	bias = base - f->load_vaddr;
	for (int i = 0; i < ehdr.e_phnum; i++) {
		const Elf64_Phdr *p = &phdrs[i];

		if (p->p_type == PT_DYNAMIC)
			memory_dynamic(m, bias, p, f);
		if (p->p_type != PT_NOTE || !p->p_memsz || p->p_memsz > NOTES_MAX)
			continue;
		notes = malloc(p->p_memsz);
		if (!notes)
			return -ENOMEM;
		if (!memory__read(m, bias + p->p_vaddr, notes, p->p_memsz) &&
		    elf__search_notes(notes, p->p_memsz, p->p_vaddr, p->p_align, &section))
			found(f, ELF_BY_NOTE, section);
		free(notes);
	}
	return 0;
}
