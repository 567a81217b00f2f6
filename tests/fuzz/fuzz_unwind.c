/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules for finding callers and names of functions, C++'s too, of a file that a target has mapped. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parser/elf_symbols.h"
#include "parser/elf_unwind.h"

/* An honest helper ends a file that does not come to an end. */
#define PIECES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition)
{
	if (!condition)
		abort();
}

static struct elf_budget budget_of_a_file(void)
{
	return (struct elf_budget){ .bytes = 16 << 20, .reads = 100000 };
}

static void read_rows(int fd, size_t size, uint16_t machine)
{
	static struct unwind_rows rows;
	struct unwind_place at = { 0 };

	for (int i = 0; i < PIECES_MAX; i++) {
		struct elf_budget budget = budget_of_a_file();
		int err = elf_unwind__rows(fd, size, machine, &budget, &at, &rows);

		need(rows.part_count <= UNWIND_PARTS_MAX && rows.count <= UNWIND_ROWS_AT_ONCE);
		need(rows.build_id.size <= ELF_BUILD_ID_MAX);
		for (uint32_t j = 1; !err && j < rows.count; j++)
			need(rows.rows[j].pc >= rows.rows[j - 1].pc);
		if (err || !rows.count)
			return;
		/* It goes on, and not back. */
		need(rows.next.function > at.function && rows.next.end >= at.end);
		at = rows.next;
	}
}

static void read_symbols(int fd, size_t size)
{
	static struct symbols_piece piece;
	struct symbols_place at = { 0 };

	for (int i = 0; i < PIECES_MAX && at.table < SYMBOLS_END; i++) {
		struct elf_budget budget = budget_of_a_file();
		const char *bytes = (const char *)piece.data;

		if (elf_symbols__read(fd, size, &budget, &at, &piece))
			return;
		need(piece.size <= sizeof(piece.data));
		for (uint32_t j = 0; j < piece.size;) {
			struct elf_symbol s;

			need(piece.size - j >= sizeof(s));
			memcpy(&s, bytes + j, sizeof(s));
			need(s.length && s.length <= SYMBOL_NAME_MAX && piece.size - j - sizeof(s) >= s.length);
			need(!memchr(bytes + j + sizeof(s), 0, s.length) && s.sectioned <= 1);
			j += (uint32_t)((sizeof(s) + s.length + 7) / 8 * 8);
		}
		need(piece.next.table > at.table || (piece.next.table == at.table && piece.next.entry > at.entry));
		at = piece.next;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("unwind", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
		read_rows(fd, size, EM_X86_64);
		read_rows(fd, size, EM_AARCH64);
		read_symbols(fd, size);
	}
	if (fd >= 0)
		close(fd);
	return 0;
}
