/* SPDX-License-Identifier: BSD-2-Clause */
/* The map that a JIT writes of its functions. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parser/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct symbols_piece piece;
	struct symbols_place at = { 0 };
	int fd = memfd_create("map", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		at.table = SYMBOLS_END;
	while (at.table < SYMBOLS_END) {
		if (perf_map__read(fd, size, &at, &piece))
			break;
		for (uint32_t i = 0; i < piece.size;) {
			struct elf_symbol s;

			memcpy(&s, (char *)piece.data + i, sizeof(s));
			if (!s.size || s.length > SYMBOL_NAME_MAX || i + sizeof(s) + s.length > piece.size ||
			    memchr((char *)piece.data + i + sizeof(s), 0, s.length))
				abort();
			i += (uint32_t)((sizeof(s) + s.length + 7) / 8 * 8);
		}
		if (piece.next.table < SYMBOLS_END && piece.next.entry <= at.entry)
			abort();
		at = piece.next;
	}
	if (fd >= 0)
		close(fd);
	return 0;
}
