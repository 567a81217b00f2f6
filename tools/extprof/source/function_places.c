/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/function_places.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A name in a table of symbols may have a version behind it: malloc@@GLIBC_2.2.5 */
static bool is_name(const char *symbol, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(symbol, name, length) && (symbol[length] == '\0' || symbol[length] == '@');
}

/* Where the address is in the file.  -ENOENT: in no part of it that is code. */
static int offset_of(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count && i < 65536; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X) ||
		    address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
			continue;
		*offset = address - p.p_vaddr + p.p_offset;
		return 0;
	}
	return -ENOENT;
}

/* 0, also if it is there already; -E2BIG. */
static int add_place(struct usdt *places, uint64_t address, uint64_t offset)
{
	for (uint32_t i = 0; i < places->count; i++)
		if (places->places[i].offset == offset)
			return 0;
	if (places->count >= USDT_PLACES_MAX)
		return -E2BIG;
	places->places[places->count++] = (struct usdt_place){ .address = address, .offset = offset };
	return 0;
}

/* *chosen: the name is of a function that the program chooses when it starts.  0 or -E2BIG. */
static int search_section(Elf *elf, Elf_Scn *section, const char *name, struct usdt *places, bool *chosen)
{
	GElf_Shdr header;
	Elf_Data *data;
	size_t count;

	if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
	    !header.sh_entsize)
		return 0;
	data = elf_getdata(section, NULL);
	count = data ? data->d_size / header.sh_entsize : 0;
	for (size_t i = 0; i < count; i++) {
		const char *symbol_name;
		GElf_Sym symbol;
		uint64_t offset;
		unsigned int type;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
			continue;
		type = GELF_ST_TYPE(symbol.st_info);
		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		symbol_name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (!symbol_name || !is_name(symbol_name, name))
			continue;
		if (type == STT_GNU_IFUNC)
			*chosen = true;
		else if (!offset_of(elf, symbol.st_value, &offset) && add_place(places, symbol.st_value, offset))
			return -E2BIG;
	}
	return 0;
}

int function_places__find(int fd, const char *name, struct usdt *places, struct diag *d)
{
	Elf_Scn *section = NULL;
	bool chosen = false;
	int err = 0;
	Elf *elf;

	memset(places, 0, sizeof(*places));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return diag__set(d, DIAG_USAGE, EINVAL, "it is no ELF file: a program or a library is wanted");
	}
	while (!err && (section = elf_nextscn(elf, section)))
		err = search_section(elf, section, name, places, &chosen);
	elf_end(elf);
	if (err)
		return diag__set(d, DIAG_USAGE, -err, "there are more than %u functions %s", USDT_PLACES_MAX, name);
	if (places->count && !chosen)
		return 0;
	/* There can be an old version beside it, which new programs do not call. */
	places->count = 0;
	if (chosen) {
		diag__set(d, DIAG_USAGE, ENOENT, "%s has several versions, of which each program chooses one when it "
			  "starts (an ifunc)", name);
		diag__hint(d, "name the version, which has another name; the file with debug symbols has it");
	} else {
		diag__set(d, DIAG_USAGE, ENOENT, "there is no function %s", name);
		diag__hint(d, "nm -D FILE shows those of a library, nm FILE those of a program that is not stripped");
	}
	return -ENOENT;
}
