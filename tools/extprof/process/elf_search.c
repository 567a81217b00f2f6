/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf_search.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/block_cache.h"
#include "ruby/debug_external.h"

#define PHDRS_MAX 64		/* of an image */
#define NOTES_MAX (64 << 10)	/* bytes of one PT_NOTE */
#define DYNAMIC_MAX 512		/* entries of PT_DYNAMIC */
#define CHAIN_MAX 4096		/* symbols looked at in one hash chain; linkers make them short */

static uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

void elf__search_notes(const uint8_t *data, uint64_t size, uint64_t vaddr, uint64_t align, struct elf_finding *f)
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
			return;
		elf_finding__note(f, (const char *)data + name, note.n_namesz, note.n_type, data + desc, note.n_descsz,
				  vaddr + desc);
		if (next <= at || next > size)
			return;
		at = next;
	}
}

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

struct image {
	const struct memory *memory;
	struct elf_budget *budget;
	struct block_cache blocks;	/* what is looked at is small and lies close together, and each read is a system call */
};

/* At the end of a mapping there may be no whole block. */
static int read_image(struct image *m, uint64_t address, void *to, size_t size)
{
	uint64_t stamp;

	if (!elf_budget__take(m->budget, size))
		return -E2BIG;
	return block_cache__read(&m->blocks, m->memory, address, to, size, 0, &stamp) ? memory__read(m->memory, address, to, size) : 0;
}

/* The value of a dynamic symbol of the image, 0 if it has none. */
static uint64_t memory_symbol(struct image *m, const struct dynamic *d, const char *name)
{
	uint32_t head[4], bucket, hash = gnu_hash(name), other;
	uint64_t buckets, chains;
	size_t length = strlen(name) + 1;
	char found[64];

	/* nbuckets, symoffset, bloom_size, bloom_shift */
	if (!d->gnu_hash || !d->symtab || !d->strtab || length > sizeof(found) ||
	    read_image(m, d->gnu_hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = d->gnu_hash + sizeof(head) + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	if (read_image(m, buckets + 4ull * (hash % head[0]), &bucket, sizeof(bucket)))
		return 0;
	if (bucket < head[1])
		return 0;
	for (uint32_t i = bucket;; i++) {
		Elf64_Sym sym;

		if (i - bucket == CHAIN_MAX) {
			m->budget->exceeded = true;
			break;
		}
		if (read_image(m, chains + 4ull * (i - head[1]), &other, sizeof(other)))
			return 0;
		if ((other | 1) == (hash | 1) &&
		    !read_image(m, d->symtab + sizeof(sym) * i, &sym, sizeof(sym)) &&
		    sym.st_shndx != SHN_UNDEF &&
		    !read_image(m, d->strtab + sym.st_name, found, length) &&
		    !memcmp(found, name, length))
			return sym.st_value;
		if (other & 1)
			break;
	}
	return 0;
}

static void memory_dynamic(struct image *m, uint64_t bias, const Elf64_Phdr *phdr,
			   struct elf_finding *f)
{
	static const char *const names[] = {
		RB_DEBUG_EXT_SYMBOL_NAME, "ruby_version", "ruby_init", "rb_eval_string",
	};
	struct dynamic d = { 0 };

	for (unsigned int i = 0; i < DYNAMIC_MAX && i < phdr->p_memsz / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn dyn;

		if (read_image(m, bias + phdr->p_vaddr + i * sizeof(dyn), &dyn, sizeof(dyn)) ||
		    dyn.d_tag == DT_NULL)
			break;
		/* glibc's ld.so relocates these values in place.  Other C libraries leave them. */
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
			elf_finding__symbol(f, names[i], value);
	}
}

static int search(struct image *m, uint64_t base, struct elf_finding *f)
{
	bool dynamic = false;
	Elf64_Phdr phdrs[PHDRS_MAX];
	uint64_t bias;
	Elf64_Ehdr ehdr;
	uint8_t *notes;
	int err;

	err = read_image(m, base, &ehdr, sizeof(ehdr));
	if (err)
		return err;
	if (!elf__is_header(&ehdr) || ehdr.e_phentsize != sizeof(Elf64_Phdr) || !ehdr.e_phnum || ehdr.e_phnum > PHDRS_MAX)
		return -ENOEXEC;
	err = read_image(m, base + ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof(Elf64_Phdr));
	if (err)
		return err;
	for (int i = 0; i < ehdr.e_phnum && !f->has_load; i++) {
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset < (uint64_t)sysconf(_SC_PAGESIZE)) {
			f->has_load = true;
			f->load_vaddr = phdrs[i].p_vaddr - phdrs[i].p_offset;
		}
	}
	if (!f->has_load)
		return -ENOEXEC;
	bias = base - f->load_vaddr;
	for (int i = 0; i < ehdr.e_phnum; i++) {
		const Elf64_Phdr *p = &phdrs[i];

		if (p->p_type == PT_DYNAMIC && !dynamic) {
			memory_dynamic(m, bias, p, f);
			dynamic = true;
		}
		if (p->p_type != PT_NOTE || !p->p_memsz || p->p_memsz > NOTES_MAX)
			continue;
		notes = malloc(p->p_memsz);
		if (!notes)
			return -ENOMEM;
		if (!read_image(m, bias + p->p_vaddr, notes, p->p_memsz))
			elf__search_notes(notes, p->p_memsz, p->p_vaddr, p->p_align, f);
		free(notes);
	}
	return 0;
}

int elf__search_memory(const struct memory *memory, uint64_t base, struct elf_budget *budget,
		       struct elf_finding *f)
{
	struct image m = { .memory = memory, .budget = budget };
	int err;

	memset(f, 0, sizeof(*f));
	err = search(&m, base, f);
	block_cache__free(&m.blocks);
	return err;
}
