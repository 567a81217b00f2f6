/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf_notes.h"

#include <elf.h>

static uint64_t padded(uint32_t size)
{
	return (size + 3ull) & ~3ull;
}

bool elf_notes__next(struct elf_notes *notes, struct elf_note *note)
{
	uint64_t left = notes->end > notes->at ? notes->end - notes->at : 0;
	Elf64_Nhdr head;

	if (left < sizeof(head) || memory__read(notes->memory, notes->at, &head, sizeof(head)) || !head.n_namesz)
		return false;
	left -= sizeof(head);
	if (padded(head.n_namesz) > left || head.n_descsz > left - padded(head.n_namesz))
		return false;
	note->name[0] = '\0';
	if (head.n_namesz <= sizeof(note->name) &&
	    memory__read(notes->memory, notes->at + sizeof(head), note->name, head.n_namesz))
		return false;
	if (head.n_namesz <= sizeof(note->name))
		note->name[head.n_namesz - 1] = '\0';
	note->type = head.n_type;
	note->desc = notes->at + sizeof(head) + padded(head.n_namesz);
	note->desc_size = head.n_descsz;
	notes->at = note->desc + padded(head.n_descsz);
	return true;
}
