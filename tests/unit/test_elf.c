/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf_search.h"
#include "memory_fake.h"
#include "ruby/debug_external.h"

static uint8_t notes[512];
static size_t size;

static void add_note(const char *owner, uint32_t owner_size, uint32_t type, const void *desc,
		     uint32_t desc_size, size_t align)
{
	Elf64_Nhdr n = { owner_size, desc_size, type };

	memcpy(notes + size, &n, sizeof(n));
	size += sizeof(n);
	memcpy(notes + size, owner, owner_size);
	size = (size + owner_size + align - 1) / align * align;
	memcpy(notes + size, desc, desc_size);
	size = (size + desc_size + align - 1) / align * align;
}

TEST(elf_notes_lead_to_the_section)
{
	int64_t distance = -0x1000;
	uint64_t section = 0;

	for (size_t align = 4; align <= 8; align += 4) {
		memset(notes, 0, sizeof(notes));
		size = 0;
		add_note("GNU", 4, 3, "0123456789abcdef0123", 20, align);
		add_note("ruby-debug-ext", 15, 1, &distance, 8, align);	/* another type */
		add_note("ruby-debug-exx", 15, RB_DEBUG_EXT_NOTE_TYPE, &distance, 8, align);
		CHECK(!elf__search_notes(notes, size, 0x4000, align, &section));
		add_note("ruby-debug-ext", 15, RB_DEBUG_EXT_NOTE_TYPE, &distance, 8, align);
		CHECK(elf__search_notes(notes, size, 0x4000, align, &section));
		CHECK_INT(section, 0x4000 + (size - 8) - 0x1000);
		/* Cut anywhere, nothing is read beyond the end. */
		for (size_t cut = 0; cut < size; cut++) {
			uint8_t *copy = malloc(cut ? cut : 1);

			memcpy(copy, notes, cut);
			CHECK(!elf__search_notes(copy, cut, 0x4000, align, &section));
			free(copy);
		}
	}
}

TEST(elf_notes_of_random_bytes)
{
	for (int i = 0; i < 100000; i++) {
		size_t n = test__random() % 96;
		uint8_t *data = malloc(n ? n : 1);
		uint64_t section;

		/* Small numbers, so that many sizes are nearly right. */
		for (size_t j = 0; j < n; j++)
			data[j] = test__random() % 4 ? 0 : (uint8_t)test__random();
		elf__search_notes(data, n, 0, test__random() % 2 ? 4 : 8, &section);
		free(data);
	}
}

TEST(elf_file_that_is_none)
{
	struct elf_finding f;
	int fd = open("/proc/self/cmdline", O_RDONLY);

	CHECK_INT(elf__search_file(fd, 0, &f), -ENOEXEC);
	close(fd);
	fd = open("/proc/self/exe", O_RDONLY);
	CHECK_INT(elf__search_file(fd, 0, &f), 0);
	CHECK(f.has_load && f.how == ELF_NOT_FOUND && !f.is_ruby);
	close(fd);
}

TEST(elf_files_with_random_bytes_in_them)
{
	char path[] = "/tmp/extprof-elf-XXXXXX";
	static uint8_t image[1 << 16];
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
	struct elf_finding f;
	struct memory_fake m;
	ssize_t n = read(from, image, sizeof(image));

	CHECK(n == (ssize_t)sizeof(image));
	memory_fake__init(&m);
	for (int i = 0; i < 3000; i++) {
		size_t at = test__random() % 3 ? test__random() % 0x400 : test__random() % sizeof(image);
		uint8_t old = image[at];

		image[at] = (uint8_t)test__random();
		/* Section headers are beyond the cut. */
		CHECK(pwrite(to, image, sizeof(image), 0) == (ssize_t)sizeof(image));
		elf__search_file(to, 0, &f);
		elf__search_memory(&m.memory, (uintptr_t)image, &f);
		if (test__random() % 4)
			image[at] = old;
	}
	close(from);
	close(to);
	unlink(path);
}
