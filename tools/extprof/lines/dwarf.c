/* SPDX-License-Identifier: BSD-2-Clause */
#include "lines/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "parser/demangle.h"

#define UNITS_MAX (1u << 20)
#define RANGES_MAX (4u << 20)
/* Namespaces, classes and blocks in one another. */
#define NESTED_MAX 64

/* Machine code, and what it is of. */
struct range {
	Dwarf_Addr begin, end;
	Dwarf_Off die;		/* a function, or the number of a unit */
};

struct ranges {
	struct range *list;	/* by begin */
	uint32_t count;
	size_t room;
};

struct unit {
	Dwarf_Off die;
	bool read;		/* the functions are known */
	struct ranges functions;
};

struct dwarf_file {
	Elf *elf;
	Dwarf *dwarf;
	struct unit *units;
	uint32_t unit_count;
	size_t unit_room;
	struct ranges ranges;	/* of units */
};

/* -- ranges --------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin ? 1 : x->end < y->end ? -1 : x->end > y->end;
}

static int add_ranges(struct ranges *r, Dwarf_Die *die, Dwarf_Off of)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0) {
		/* The linker makes code that it has left out begin at 0. */
		if (!begin || begin >= end)
			continue;
		if (array__reserve(&r->list, r->count, 1, &r->room, RANGES_MAX, sizeof(*r->list)))
			return -ENOMEM;
		r->list[r->count++] = (struct range){ begin, end, of };
	}
	return 0;
}

static void sort(struct ranges *r)
{
	if (r->count)
		qsort(r->list, r->count, sizeof(*r->list), by_begin);
}

/* The range of that address which begins last; NULL: there is none.  An honest file has no two of them. */
static const struct range *find(const struct ranges *r, Dwarf_Addr address)
{
	uint32_t low = 0, high = r->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (r->list[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; i-- > 0 && low - i <= 16;)
		if (address < r->list[i].end)
			return &r->list[i];
	return NULL;
}

/* -- the file -------------------------------------------------------------------------------------- */

static bool has_build_id(Elf *elf, const struct elf_build_id *wanted)
{
	const void *id;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &id);

	return size > 0 && (uint64_t)size == wanted->size && !memcmp(id, wanted->bytes, wanted->size);
}

static void take_link(Elf *elf, char *to, size_t room)
{
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(elf, &crc);
	size_t length = name ? strnlen(name, room) : 0;

	if (length && length < room && !memchr(name, '/', length))
		memcpy(to, name, length + 1);
}

static int read_units(struct dwarf_file *f)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (!dwarf_get_units(f->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		if (type != DW_UT_compile || dwarf_tag(&die) != DW_TAG_compile_unit)
			continue;
		if (array__reserve(&f->units, f->unit_count, 1, &f->unit_room, UNITS_MAX, sizeof(*f->units)))
			return -ENOMEM;
		f->units[f->unit_count] = (struct unit){ .die = dwarf_dieoffset(&die) };
		if (add_ranges(&f->ranges, &die, f->unit_count++))
			return -ENOMEM;
	}
	sort(&f->ranges);
	return f->ranges.count ? 0 : -ENODATA;
}

static int open_file(struct dwarf_file *f, int fd, const struct lines_open *open, struct lines_about *about)
{
	GElf_Ehdr header;

	if (open->size > LINES_FILE_MAX)
		return -E2BIG;
	f->elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || gelf_getclass(f->elf) != ELFCLASS64 || !gelf_getehdr(f->elf, &header) ||
	    header.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return -ENOEXEC;
	if (!has_build_id(f->elf, &open->build_id))
		return -ESTALE;
	take_link(f->elf, about->link, sizeof(about->link));
	f->dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	return f->dwarf ? read_units(f) : -ENODATA;
}

void dwarf_file__open(struct dwarf_file **file, int fd, const struct lines_open *open, struct lines_about *about)
{
	*file = calloc(1, sizeof(**file));
	about->result = *file ? open_file(*file, fd, open, about) : -ENOMEM;
	/* The program reads one file, and ends: nothing is freed. */
	if (about->result)
		*file = NULL;
}

/* -- functions ------------------------------------------------------------------------------------- */

static bool has_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return true;
	default:
		return false;
	}
}

/* The functions in a die that have code, also those in its namespaces. */
static int read_functions(struct ranges *to, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int err = 0;

	if (depth > NESTED_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			err = add_ranges(to, &die, dwarf_dieoffset(&die));
		else if (has_functions(tag))
			err = read_functions(to, &die, depth + 1);
		/* A function in a function is found in it. */
	} while (!err && !dwarf_siblingof(&die, &die));
	return err;
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
	       tag == DW_TAG_subprogram;
}

struct functions {
	Dwarf_Die list[LINES_DEPTH_MAX];	/* the outermost one first */
	uint32_t count;
	Dwarf_Die more;		/* the first one that is left out ... */
	bool has_more;		/* ... if there are more */
};

/* Add what is at the address in a function. */
static void descend(Dwarf_Die *parent, Dwarf_Addr address, struct functions *to, int depth)
{
	Dwarf_Die die;

	if (depth > NESTED_MAX || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (!is_scope(tag) || dwarf_haspc(&die, address) <= 0)
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			/* If there are too many, the innermost ones are left out. */
			if (to->count == LINES_DEPTH_MAX) {
				to->more = die;
				to->has_more = true;
				return;
			}
			to->list[to->count++] = die;
		}
		descend(&die, address, to, depth + 1);
		return;
	} while (!dwarf_siblingof(&die, &die));
}

/* -- answers --------------------------------------------------------------------------------------- */

static uint16_t add_text(struct lines_chain *c, const char *text)
{
	size_t length = text ? strnlen(text, LINES_TEXT_MAX + 1) : 0;

	if (length > LINES_TEXT_MAX)
		return 0;
	memcpy(c->texts + c->size, text ? text : "", length);
	c->size += (uint32_t)length;
	return (uint16_t)length;
}

static uint16_t add_name(struct lines_chain *c, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	char readable[LINES_TEXT_MAX + 1];
	const char *name = NULL;
	size_t length;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		name = dwarf_formstring(&a);
	length = name && strnlen(name, LINES_TEXT_MAX + 1) <= LINES_TEXT_MAX ? demangle__name(name, readable, sizeof(readable)) : 0;
	if (length) {
		readable[length] = '\0';
		return add_text(c, readable);
	}
	/* A name without its namespaces says more than one that nobody can read. */
	if (dwarf_attr_integrate(die, DW_AT_name, &a))
		name = dwarf_formstring(&a);
	return add_text(c, name);
}

/* function: NULL: it is not known. */
static void add_place(struct lines_chain *c, Dwarf_Die *function, const char *path, int32_t line)
{
	struct lines_place *p = &c->places[c->count++];

	p->line = line;
	p->name = function ? add_name(c, function) : 0;
	p->path = add_text(c, path);
}

static int32_t clean_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (int32_t)line : 0;
}

/* The place that an inlined function was called at. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *die, const char **path, int32_t *line)
{
	Dwarf_Word file = 0, number = 0;
	Dwarf_Attribute a;
	Dwarf_Files *files;
	size_t count;

	*path = NULL;
	*line = 0;
	if (!dwarf_attr(die, DW_AT_call_file, &a) || dwarf_formudata(&a, &file) || dwarf_getsrcfiles(unit, &files, &count) || file >= count)
		return;
	*path = dwarf_filesrc(files, file, NULL, NULL);
	if (dwarf_attr(die, DW_AT_call_line, &a) && !dwarf_formudata(&a, &number))
		*line = clean_line(number > INT32_MAX ? 0 : (int64_t)number);
}

static void find_line(Dwarf_Die *unit, Dwarf_Addr address, const char **path, int32_t *line)
{
	Dwarf_Line *l = dwarf_getsrc_die(unit, address);
	int number = 0;

	*path = l ? dwarf_linesrc(l, NULL, NULL) : NULL;
	*line = l && *path && !dwarf_lineno(l, &number) ? clean_line(number) : 0;
	/* The compiler says that no line of the source has made it. */
	if (!*line)
		*path = NULL;
}

static struct unit *find_unit(struct dwarf_file *f, Dwarf_Addr address, Dwarf_Die *die)
{
	const struct range *r = find(&f->ranges, address);
	struct unit *u = r ? &f->units[r->die] : NULL;

	if (!u || !dwarf_offdie(f->dwarf, u->die, die))
		return NULL;
	if (!u->read) {
		u->read = true;
		read_functions(&u->functions, die, 0);
		sort(&u->functions);
	}
	return u;
}

void dwarf_file__find(struct dwarf_file *f, uint64_t address, struct lines_chain *chain)
{
	struct functions functions = { .count = 0 };
	const struct range *function;
	struct unit *unit;
	const char *path;
	Dwarf_Die die;
	int32_t line;

	chain->count = chain->size = 0;
	unit = find_unit(f, address, &die);
	if (!unit)
		return;
	function = find(&unit->functions, address);
	if (!function || !dwarf_offdie(f->dwarf, function->die, &functions.list[0])) {
		/* Compilers leave out functions that are equal to another one, and not their lines. */
		find_line(&die, address, &path, &line);
		if (line)
			add_place(chain, NULL, path, line);
		return;
	}
	functions.count = 1;
	descend(&functions.list[0], address, &functions, 0);
	if (functions.has_more)
		find_call(&die, &functions.more, &path, &line);
	else
		find_line(&die, address, &path, &line);
	for (uint32_t i = functions.count; i-- > 0;) {
		add_place(chain, &functions.list[i], path, line);
		find_call(&die, &functions.list[i], &path, &line);
	}
}
