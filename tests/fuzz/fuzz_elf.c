/* SPDX-License-Identifier: BSD-2-Clause */
/* A program or a library of a target: headers, sections, symbols, notes, probes, functions; and as an image in memory. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image.h"
#include "parser/elf_places.h"
#include "process/elf_search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(int fd, size_t size)
{
	const struct elf_wish wishes[] = {
		{ "ruby_ext", "gc_phase" }, { "ruby_ext", "alloc" }, { "", "main" }, { "", "rb_eval_string" },
	};
	struct elf_budget budget = { .bytes = 16 << 20, .reads = 100000 };
	struct usdt found[4];
	int32_t results[4];
	uint64_t section;

	if (elf_places__find(fd, size, 0, &budget, wishes, 4, found, results, &section) == -ENOEXEC)
		return;
	for (int i = 0; i < 4; i++)
		if (found[i].count > USDT_PLACES_MAX || results[i] > 0)
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_budget budget = { .bytes = 16 << 20, .reads = 100000 };
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_finding f;
	struct image image;

	if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
		elf__search_file(fd, size, 0, &budget, &f);
		find(fd, size);
	}
	if (fd >= 0)
		close(fd);
	image__init(&image, 0, data, size);
	budget = (struct elf_budget){ .bytes = 16 << 20, .reads = 100000 };
	elf__search_memory(&image.memory, 0, &budget, &f);
	return 0;
}
