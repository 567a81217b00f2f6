/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/native_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sorted.h"

#define PAGE 4096u
#define PAGE_MAX 65536u

void native_file__free(struct native_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->where.path);
	native_names__free(&f->names);
	*f = (struct native_file){ .fd = -1 };
}

bool native_file__address(const struct native_file *f, uint64_t offset, uint64_t *address)
{
	uint32_t found = 0;
	uint64_t at;

	/* Parts can share a page of the file, which is mapped for each of them: then the one that the mapping begins with is it. */
	for (uint32_t i = 0; i < f->part_count; i++) {
		const struct unwind_part *p = &f->parts[i];

		if (p->offset - p->offset % PAGE != offset)
			continue;
		at = p->address - p->offset % PAGE;
		if (found++ && at != *address)
			return false;
		*address = at;
	}
	if (found)
		return true;
	for (uint32_t i = 0; i < f->part_count; i++) {
		const struct unwind_part *p = &f->parts[i];

		if (offset >= p->offset && offset - p->offset < p->size) {
			*address = p->address + (offset - p->offset);
			return true;
		}
		/* Whole pages are mapped: what is before the part on its first one is not the part's. */
		if (offset < p->offset && p->offset - offset < PAGE_MAX) {
			*address = p->address - (p->offset - offset);
			return true;
		}
	}
	return false;
}

uint32_t native_file__rule(const struct native_file *f, const struct unwind_row *rows, uint64_t address, uint64_t *function)
{
	const struct unwind_row *of_file = rows + f->first_row;
	uint64_t pc = address - f->base;
	size_t until;

	*function = 0;
	if (!f->rows || address < f->base || pc > UINT32_MAX)
		return UNWIND_NONE;
	until = SORTED__UNTIL(of_file, f->rows, pc, pc);
	if (!until)
		return UNWIND_NONE;
	for (size_t i = until; i-- > 0;) {
		if (of_file[i].rule & UNWIND_BEGINS) {
			*function = f->base + of_file[i].pc;
			break;
		}
	}
	return of_file[until - 1].rule & ~UNWIND_BEGINS;
}

bool native_file__add_name(const struct native_file *f, uint64_t address, struct text *out)
{
	size_t until = SORTED__UNTIL(f->names.symbols, f->names.count, address, address);
	/* A symbol without a size, of assembler code, reaches up to the next one, in its section. */
	const struct native_symbol *s = until ? &f->names.symbols[until - 1] : NULL;
	const char *name;

	if (!s || (s->size && address - s->address >= s->size))
		return false;
	name = f->names.text + s->name;
	text__add_clean(out, name, strlen(name), TEXT_NAME_MAX);
	return true;
}
