/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/native_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	uint32_t low = f->first_row, high = f->first_row + f->rows;
	uint64_t pc = address - f->base;

	*function = 0;
	if (!f->rows || address < f->base || pc > UINT32_MAX)
		return UNWIND_NONE;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (rows[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == f->first_row)
		return UNWIND_NONE;
	for (uint32_t i = low; i-- > f->first_row;) {
		if (rows[i].rule & UNWIND_BEGINS) {
			*function = f->base + rows[i].pc;
			break;
		}
	}
	return rows[low - 1].rule & ~UNWIND_BEGINS;
}

bool native_file__add_name(const struct native_file *f, uint64_t address, struct text *out)
{
	uint32_t low = 0, high = f->names.count;
	const struct native_symbol *s;
	const char *name;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->names.symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* A symbol without a size, of assembler code, reaches up to the next one. */
	s = low ? &f->names.symbols[low - 1] : NULL;
	if (!s || (s->size && address - s->address >= s->size))
		return false;
	name = f->names.text + s->name;
	text__add_clean(out, name, strlen(name), TEXT_NAME_MAX);
	return true;
}
