/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/elf_places.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTE_TYPE 3u		/* NT_STAPSDT */
#define NOTE_OWNER "stapsdt"
#define BASE_SECTION ".stapsdt.base"
#define NOTES_BYTES (16ll << 20)	/* read of all notes of a file; those of libruby.so have 6,000 */
#define NOTES_READS 10000ll

struct search {
	struct elf_file *file;
	uint64_t base;		/* address of BASE_SECTION, 0 none */
	const struct elf_wish *wishes;
	uint32_t count;
	struct usdt *found;
	int32_t *results;
	bool chosen[ELF_WISHES_MAX];	/* a function of that name is an ifunc */
};

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

/* -- places ----------------------------------------------------------------------------------- */

/*
 * When the kernel attaches to a place, it reads the instruction from the file, and waits for it.  Read it here first:
 * this can be given up.
 */
static bool has_instruction(const struct elf_file *f, uint64_t offset)
{
	char byte;

	return pread(f->fd, &byte, 1, (off_t)offset) == 1;
}

/* Note a place of a wish, unless it is known. */
static void add_place(struct search *s, uint32_t wish, const struct usdt_place *place)
{
	struct usdt *u = &s->found[wish];

	for (uint32_t i = 0; i < u->count; i++)
		if (u->places[i].offset == place->offset && !s->wishes[wish].provider[0])
			return;
	if (u->count >= USDT_PLACES_MAX)
		s->results[wish] = -E2BIG;
	else if (!has_instruction(s->file, place->offset))
		s->results[wish] = -EINVAL;
	else
		u->places[u->count++] = *place;
}

/* -- probes ----------------------------------------------------------------------------------- */

/* The text at *at, which has its end before `end`; NULL: it has none. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *zero = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	if (zero)
		*at = zero + 1;
	return zero ? text : NULL;
}

/* -EINVAL: the place is outside of the code, or its semaphore outside of the data. */
static int locate(const struct search *s, uint64_t address, uint64_t semaphore, struct usdt_place *place)
{
	const Elf64_Phdr *code = elf_file__segment_of_address(s->file, address);
	const Elf64_Phdr *data = semaphore ? elf_file__segment_of_address(s->file, semaphore) : NULL;

	if (!code || !(code->p_flags & PF_X) || (semaphore && (!data || !(data->p_flags & PF_W))))
		return -EINVAL;
	place->address = address;
	place->offset = address - code->p_vaddr + code->p_offset;
	place->semaphore = data ? semaphore - data->p_vaddr + data->p_offset : 0;
	return 0;
}

/* A note of a probe: three addresses and three texts. */
static bool see_note(void *context, const char *owner, size_t owner_size, uint32_t type, const void *desc,
		     size_t desc_size, uint64_t desc_at)
{
	struct { uint64_t place, base, semaphore; } note;
	const char *at = (const char *)desc + sizeof(note), *end = (const char *)desc + desc_size;
	const char *provider, *name, *arguments;
	struct search *s = context;

	(void)desc_at;
	if (type != NOTE_TYPE || owner_size != sizeof(NOTE_OWNER) || memcmp(owner, NOTE_OWNER, owner_size) ||
	    desc_size < sizeof(note))
		return false;
	memcpy(&note, desc, sizeof(note));
	provider = next_text(&at, end);
	name = next_text(&at, end);
	arguments = next_text(&at, end);
	if (!arguments)
		return false;
	/* prelink(8) moves the sections, and not the notes. */
	if (s->base && note.base) {
		note.place += s->base - note.base;
		note.semaphore += note.semaphore ? s->base - note.base : 0;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		struct usdt_place place;

		if (!s->wishes[i].provider[0] || strcmp(provider, s->wishes[i].provider) ||
		    strcmp(name, s->wishes[i].name) || s->results[i])
			continue;
		s->results[i] = locate(s, note.place, note.semaphore, &place);
		usdt__parse_arguments(arguments, &place.arguments);
		if (!s->results[i])
			add_place(s, i, &place);
	}
	return false;
}

static void find_probes(struct search *s)
{
	struct elf_budget *whole = s->file->budget, notes = { .bytes = NOTES_BYTES, .reads = NOTES_READS };
	Elf64_Shdr section;
	bool damaged = false;

	if (elf_file__find(s->file, BASE_SECTION, &section))
		s->base = section.sh_addr;
	/* They cost more than their bytes: each is looked at. */
	s->file->budget = &notes;
	for (uint32_t i = 0; i < s->file->section_count && elf_file__section(s->file, i, &section); i++)
		if (section.sh_type == SHT_NOTE && !notes.exceeded)
			damaged |= !elf_file__notes(s->file, section.sh_offset, section.sh_size, 4, see_note, s);
	s->file->budget = whole;
	whole->exceeded |= notes.exceeded;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->wishes[i].provider[0] && !s->results[i] && damaged)
			s->results[i] = -EINVAL;
}

/* -- functions -------------------------------------------------------------------------------- */

/* A name in a table of symbols may have a version behind it: malloc@@GLIBC_2.2.5 */
static bool is_name(const char *symbol, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(symbol, name, length) && (symbol[length] == '\0' || symbol[length] == '@');
}

static bool see_symbol(void *context, const char *name, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	struct search *s = context;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	for (uint32_t i = 0; i < s->count; i++) {
		struct usdt_place place = { 0 };

		if (s->wishes[i].provider[0] || !is_name(name, s->wishes[i].name))
			continue;
		if (type == STT_GNU_IFUNC)
			s->chosen[i] = true;
		else if (!s->results[i] && !locate(s, symbol->st_value, 0, &place))
			add_place(s, i, &place);
	}
	return false;
}

static void find_functions(struct search *s)
{
	Elf64_Shdr section, tables[2] = { 0 };

	/* A file has one of each. */
	for (uint32_t i = 0; i < s->file->section_count && elf_file__section(s->file, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
			tables[section.sh_type == SHT_DYNSYM] = section;
	for (int i = 0; i < 2; i++)
		if (tables[i].sh_type)
			elf_file__symbols(s->file, &tables[i], see_symbol, s);
	for (uint32_t i = 0; i < s->count; i++) {
		/* There can be an old version beside it, which new programs do not call. */
		if (s->chosen[i] && !s->wishes[i].provider[0]) {
			s->found[i].count = 0;
			s->results[i] = -ENOTUNIQ;
		}
	}
}

int elf_places__find(int fd, uint64_t size, uint64_t offset, struct elf_budget *budget, const struct elf_wish *wishes,
		     uint32_t count, struct usdt *found, int32_t *results, uint64_t *section)
{
	static struct elf_file file;
	struct search s = {
		.file = &file, .wishes = wishes, .count = count, .found = found, .results = results,
	};
	const Elf64_Phdr *loaded;
	bool probes = false, functions = false;
	int err = elf_file__open(&file, fd, size, budget);

	*section = UINT64_MAX;
	if (err)
		return err;
	loaded = elf_file__segment_of_offset(&file, offset);
	if (loaded)
		*section = loaded->p_vaddr + (offset - loaded->p_offset);
	for (uint32_t i = 0; i < count; i++) {
		found[i].count = 0;
		results[i] = 0;
		probes |= wishes[i].provider[0];
		functions |= !wishes[i].provider[0];
	}
	if (probes)
		find_probes(&s);
	if (functions)
		find_functions(&s);
	for (uint32_t i = 0; i < count; i++)
		if (!results[i] && !found[i].count)
			results[i] = -ENOENT;
	return budget->exceeded ? -E2BIG : 0;
}
