/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads an ELF file of 64 bits that nobody vouches for.  It is read with pread(): if a mapped file is truncated,
 * the reader gets SIGBUS.  libelf is not used: it allocates as much as the headers of a sparse file say, before it
 * can be asked anything.  Nothing here allocates memory, and all that is read is paid for from a budget.
 */
#ifndef EXTPROF_ELF_FILE_H
#define EXTPROF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_WINDOW 65536u		/* bytes that are read at once */
#define ELF_STRINGS (4u << 20)		/* bytes of names that are read at once; those of libruby.so are 60,000 */
#define ELF_NAME_MAX 1024u		/* bytes of a name that is looked for */
#define ELF_SECTIONS_MAX 4096u		/* looked at in one file */
#define ELF_SEGMENTS_MAX 256u

/*
 * The limits of one search of a process, over all its images.  The target chooses their number, size and content.  An
 * honest process has some hundred images, an image takes some hundred reads, and one or two files are read.
 */
#define ELF_SEARCH_BYTES (256ll << 20)
#define ELF_SEARCH_READS 1000000ll

struct elf_budget {
	int64_t bytes, reads;	/* left */
	bool exceeded;		/* something was too large, or one too many, and was not searched */
};

static inline void elf_budget__init(struct elf_budget *b)
{
	*b = (struct elf_budget){ .bytes = ELF_SEARCH_BYTES, .reads = ELF_SEARCH_READS };
}

/* Pay for one read of so many bytes.  False: the budget does not suffice. */
bool elf_budget__take(struct elf_budget *b, uint64_t bytes);

/* A part of the file that was read. */
struct elf_window {
	uint64_t at;
	size_t size;
	char data[ELF_WINDOW];
};

struct elf_file {
	int fd;
	const void *memory;		/* what it is read from, instead of fd; NULL: fd */
	uint64_t size;
	struct elf_budget *budget;
	Elf64_Ehdr header;
	Elf64_Phdr segments[ELF_SEGMENTS_MAX];
	uint32_t segment_count, section_count;
	struct elf_window headers, content;
	Elf64_Shdr names;		/* the section whose strings were asked for last */
	uint64_t names_size;		/* of it in `strings`; 0: it is too large, and is read name by name */
	char strings[ELF_STRINGS], name[ELF_NAME_MAX];
};

/* Is it the header of a file of 64 bits, with the order of bytes of this machine? */
bool elf__is_header(const Elf64_Ehdr *header);

/* 0, -ENOEXEC: it is no ELF file of this machine; -E2BIG: the budget does not suffice.  The file stays the caller's. */
int elf_file__open(struct elf_file *f, int fd, uint64_t size, struct elf_budget *budget);
/* The same of a file that is in memory, which stays the caller's, too. */
int elf_file__open_memory(struct elf_file *f, const void *memory, uint64_t size, struct elf_budget *budget);

/* `size` bytes of the file, valid until the next part of the same window.  NULL: they are not in the file, or the
 * budget does not suffice. */
const void *elf_file__part(struct elf_file *f, struct elf_window *w, uint64_t at, size_t size);

/* False: there is no such section. */
bool elf_file__section(struct elf_file *f, uint32_t i, Elf64_Shdr *section);
bool elf_file__has_name(struct elf_file *f, const Elf64_Shdr *section, const char *name);
/* The first section of bytes (SHT_PROGBITS) with that name; false: there is none. */
bool elf_file__find(struct elf_file *f, const char *name, Elf64_Shdr *section);
/* The part that is loaded and has the address or the offset; NULL: none. */
const Elf64_Phdr *elf_file__segment_of_address(const struct elf_file *f, uint64_t address);
const Elf64_Phdr *elf_file__segment_of_offset(const struct elf_file *f, uint64_t offset);

/* Call `see` for each defined symbol of a table, with its name.  It may end that with true. */
void elf_file__symbols(struct elf_file *f, const Elf64_Shdr *table,
		       bool (*see)(void *context, const char *name, const Elf64_Sym *symbol), void *context);

#define ELF_BUILD_ID_MAX 64u		/* bytes; linkers write 20 */
#define ELF_NOTES_MAX (64u << 10)	/* bytes of one PT_NOTE */

struct elf_build_id {
	uint32_t size;		/* 0: the file has none */
	uint8_t bytes[ELF_BUILD_ID_MAX];
};

/* Take the build id from a note, if it is one and the first.  Also for images in memory. */
void elf_build_id__take(struct elf_build_id *id, const char *owner, size_t owner_size, uint32_t type, const void *desc,
			size_t desc_size);
/* The first one in the notes of the file; size 0: it has none. */
void elf_file__build_id(struct elf_file *f, struct elf_build_id *id);

/*
 * Call `see` for each note in a part of the file, with what it says; desc_at is where that is in the file.  It may
 * end that with true.  Notes that are larger than a window are passed over.  False: they are damaged.
 */
bool elf_file__notes(struct elf_file *f, uint64_t at, uint64_t size, uint64_t align,
		     bool (*see)(void *context, const char *owner, size_t owner_size, uint32_t type, const void *desc,
				 size_t desc_size, uint64_t desc_at), void *context);

#endif /* EXTPROF_ELF_FILE_H */
