/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files and images are untrusted.  Files are read with pread(): if a mapped
 * file is truncated, the reader gets SIGBUS.  libelf is not used: it allocates as
 * much as the headers of a sparse file say, before it can be asked anything.
 */
#include "process/elf_search.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ruby/debug_external.h"

#define PHDRS_MAX 64		/* of an image in memory */
#define NOTES_MAX (64 << 10)	/* bytes of one PT_NOTE */
#define DYNAMIC_MAX 512		/* entries of PT_DYNAMIC */
#define CHAIN_MAX 4096		/* symbols looked at in one hash chain; linkers make them short */
#define PHDRS_FILE_MAX 1024
#define SYMBOLS_FILE_MAX (1u << 20)	/* dynamic symbols of a file; libruby.so has 2,000, libLLVM.so 50,000 */
#define STRINGS_MAX (64u << 20)	/* bytes of their names */
#define NAME_MAX_LENGTH 64u	/* longer than the names that are looked for */
#define BATCH 1024u		/* symbols */

static uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* The kernel maps whole pages: 4 KiB on x86-64; 4, 16 or 64 KiB on aarch64. */
static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
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

/* -- the file ---------------------------------------------------------------- */

struct file {
	int fd;
	uint64_t size;
	struct elf_budget *budget;
};

/* Pay for one read of so many bytes.  False: the budget does not suffice. */
static bool take(struct elf_budget *b, uint64_t bytes)
{
	if (b->reads < 1 || bytes > INT64_MAX || b->bytes < (int64_t)bytes) {
		b->exceeded = true;
		return false;
	}
	b->reads--;
	b->bytes -= (int64_t)bytes;
	return true;
}

static bool in_file(const struct file *f, uint64_t at, uint64_t size)
{
	return at <= f->size && size <= f->size - at;
}

/* True if all bytes were read: the file may have become shorter. */
static bool read_file(const struct file *f, uint64_t at, void *to, size_t size)
{
	return in_file(f, at, size) && take(f->budget, size) &&
	       pread(f->fd, to, size, (off_t)at) == (ssize_t)size;
}

/* malloc'd; NULL if the part is not in the file, is larger than `limit`, or memory is short. */
static char *read_part(const struct file *f, uint64_t at, uint64_t size, uint64_t limit)
{
	char *data;

	if (!size || !in_file(f, at, size))
		return NULL;
	if (size > limit) {
		f->budget->exceeded = true;
		return NULL;
	}
	data = malloc(size);
	if (data && !read_file(f, at, data, size)) {
		free(data);
		data = NULL;
	}
	return data;
}

static void search_symbols(const struct file *file, const Elf64_Shdr *symbols,
			   const Elf64_Shdr *strings, struct elf_finding *f)
{
	uint64_t count = symbols->sh_size / sizeof(Elf64_Sym), left;
	Elf64_Sym *batch = NULL;
	char *names = NULL;

	if (symbols->sh_entsize != sizeof(Elf64_Sym) || !in_file(file, symbols->sh_offset, symbols->sh_size))
		return;
	if (count > SYMBOLS_FILE_MAX) {
		file->budget->exceeded = true;
		return;
	}
	names = read_part(file, strings->sh_offset, strings->sh_size, STRINGS_MAX);
	batch = malloc(BATCH * sizeof(*batch));
	if (!names || !batch)
		goto cleanup;
	for (uint64_t i = 0; i < count; i += BATCH) {
		uint64_t n = count - i < BATCH ? count - i : BATCH;

		if (!read_file(file, symbols->sh_offset + i * sizeof(*batch), batch, n * sizeof(*batch)))
			break;
		for (uint64_t k = 0; k < n; k++) {
			const Elf64_Sym *sym = &batch[k];

			if (sym->st_shndx == SHN_UNDEF || !sym->st_value ||
			    sym->st_name >= strings->sh_size)
				continue;
			left = strings->sh_size - sym->st_name;
			if (memchr(names + sym->st_name, '\0', left < NAME_MAX_LENGTH ? left : NAME_MAX_LENGTH))
				symbol_seen(f, names + sym->st_name, sym->st_value);
		}
	}
cleanup:
	free(names);
	free(batch);
}

/* Does the section have the wanted name? */
static bool named(const struct file *file, const Elf64_Shdr *names, const Elf64_Shdr *section,
		  const char *wanted)
{
	char name[32];
	size_t length = strlen(wanted) + 1;

	if (section->sh_name > names->sh_size || length > names->sh_size - section->sh_name ||
	    length > sizeof(name) || names->sh_offset > file->size)
		return false;
	return read_file(file, names->sh_offset + section->sh_name, name, length) &&
	       !memcmp(name, wanted, length);
}

static void search_sections(const struct file *file, const Elf64_Ehdr *ehdr, struct elf_finding *f)
{
	/* e_shnum has 16 bits: that is 4 MiB of headers at most.  No linked file has more
	 * sections. */
	size_t size = ehdr->e_shnum * sizeof(Elf64_Shdr);
	const Elf64_Shdr *headers, *symbols = NULL;
	char *data;

	if (ehdr->e_shentsize != sizeof(Elf64_Shdr))
		return;
	data = read_part(file, ehdr->e_shoff, size, size);
	if (!data)
		return;
	headers = (const Elf64_Shdr *)data;
	for (unsigned int i = 0; i < ehdr->e_shnum; i++) {
		const Elf64_Shdr *h = &headers[i];

		if (h->sh_flags & SHF_ALLOC && ehdr->e_shstrndx < ehdr->e_shnum &&
		    named(file, &headers[ehdr->e_shstrndx], h, RB_DEBUG_EXT_SECTION_NAME))
			found(f, ELF_BY_SECTION, h->sh_addr);
		/* ld.so uses one dynamic symbol table per file. */
		else if (h->sh_type == SHT_DYNSYM && !symbols)
			symbols = h;
	}
	if (symbols && symbols->sh_link < ehdr->e_shnum)
		search_symbols(file, symbols, &headers[symbols->sh_link], f);
	free(data);
}

static void search_segments(const struct file *file, const Elf64_Ehdr *ehdr, uint64_t offset,
			    struct elf_finding *f)
{
	unsigned int count = ehdr->e_phnum < PHDRS_FILE_MAX ? ehdr->e_phnum : PHDRS_FILE_MAX;
	size_t size = count * sizeof(Elf64_Phdr);
	const Elf64_Phdr *headers;
	char *data, *notes;

	if (ehdr->e_phentsize != sizeof(Elf64_Phdr))
		return;
	data = read_part(file, ehdr->e_phoff, size, size);
	if (!data)
		return;
	headers = (const Elf64_Phdr *)data;
	for (unsigned int i = 0; i < count; i++) {
		const Elf64_Phdr *p = &headers[i];
		uint64_t section;

		if (p->p_type == PT_LOAD && !f->has_load && (p->p_offset & ~(page_size() - 1)) == offset) {
			f->has_load = true;
			f->load_vaddr = p->p_vaddr - (p->p_offset - offset);
		}
		if (p->p_type != PT_NOTE || p->p_filesz > NOTES_MAX)
			continue;
		notes = read_part(file, p->p_offset, p->p_filesz, NOTES_MAX);
		if (notes && elf__search_notes((const uint8_t *)notes, p->p_filesz, p->p_vaddr,
					       p->p_align, &section))
			found(f, ELF_BY_NOTE, section);
		free(notes);
	}
	free(data);
}

static bool is_elf(const Elf64_Ehdr *ehdr)
{
	return !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) && ehdr->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr->e_ident[EI_DATA] == (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
}

int elf__search_file(int fd, uint64_t offset, struct elf_budget *budget, struct elf_finding *f)
{
	struct file file = { .fd = fd, .budget = budget };
	Elf64_Ehdr ehdr;
	struct stat st;

	memset(f, 0, sizeof(*f));
	if (fstat(fd, &st))
		return -errno;
	file.size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	if (!read_file(&file, 0, &ehdr, sizeof(ehdr)))
		return budget->reads < 1 || budget->bytes < (int64_t)sizeof(ehdr) ? -E2BIG : -ENOEXEC;
	if (!is_elf(&ehdr))
		return -ENOEXEC;
	search_sections(&file, &ehdr, f);
	search_segments(&file, &ehdr, offset, f);
	return 0;
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

struct image {
	const struct memory *memory;
	struct elf_budget *budget;
};

static int read_image(const struct image *m, uint64_t address, void *to, size_t size)
{
	return take(m->budget, size) ? memory__read(m->memory, address, to, size) : -E2BIG;
}

/* The value of a dynamic symbol of the image, 0 if it has none. */
static uint64_t memory_symbol(const struct image *m, const struct dynamic *d, const char *name)
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

static void memory_dynamic(const struct image *m, uint64_t bias, const Elf64_Phdr *phdr,
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
			symbol_seen(f, names[i], value);
	}
}

int elf__search_memory(const struct memory *memory, uint64_t base, struct elf_budget *budget,
		       struct elf_finding *f)
{
	const struct image image = { .memory = memory, .budget = budget }, *m = &image;
	bool dynamic = false;
	Elf64_Phdr phdrs[PHDRS_MAX];
	uint64_t bias, section;
	Elf64_Ehdr ehdr;
	uint8_t *notes;
	int err;

	memset(f, 0, sizeof(*f));
	err = read_image(m, base, &ehdr, sizeof(ehdr));
	if (err)
		return err;
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(Elf64_Phdr) || !ehdr.e_phnum || ehdr.e_phnum > PHDRS_MAX)
		return -ENOEXEC;
	err = read_image(m, base + ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof(Elf64_Phdr));
	if (err)
		return err;
	for (int i = 0; i < ehdr.e_phnum && !f->has_load; i++) {
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset < page_size()) {
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
		if (!read_image(m, bias + p->p_vaddr, notes, p->p_memsz) &&
		    elf__search_notes(notes, p->p_memsz, p->p_vaddr, p->p_align, &section))
			found(f, ELF_BY_NOTE, section);
		free(notes);
	}
	return 0;
}
