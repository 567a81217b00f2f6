/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/mini_debug.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#ifdef EXTPROF_LZMA

#include <lzma.h>

#define SECTION ".gnu_debugdata"

/*
 * The symbols that were unpacked last.  Symbols are asked for piece by piece, and the file is the same for all of them.  It is the
 * same if it has the same bytes, which are compared: no number of a file says so.
 */
static struct {
	uint8_t *packed, *data, *work;	/* NULL: there is no room */
	uint64_t packed_size, size;	/* packed_size 0: nothing */
	size_t worked;			/* bytes of `work` that are given out */
	int err;			/* of unpacking it */
	bool tried;			/* to get the room */
} last;

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int mini_debug__prepare(void)
{
	/* A second call can be one in the sandbox, where mmap() ends the process. */
	if (last.tried)
		return last.work ? 0 : -ENOMEM;
	last.tried = true;
	last.packed = map(MINI_DEBUG_PACKED_MAX);
	last.data = map(MINI_DEBUG_MAX);
	last.work = last.packed && last.data ? map(MINI_DEBUG_WORK_MAX) : NULL;
	return last.work ? 0 : -ENOMEM;
}

/* For liblzma: the helper may not call malloc().  All is given back at once, when the next file is unpacked. */
static void *take_room(void *context, size_t count, size_t size)
{
	size_t bytes, left = MINI_DEBUG_WORK_MAX - last.worked;
	void *p = last.work + last.worked;

	(void)context;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > left || left - bytes < 64)
		return NULL;
	last.worked += (bytes + 63) / 64 * 64;
	return p;
}

static void keep_room(void *context, void *p)
{
	(void)context;
	(void)p;
}

static int unpack(void)
{
	const lzma_allocator allocator = { .alloc = take_room, .free = keep_room };
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret is;

	last.worked = 0;
	last.size = 0;
	stream.allocator = &allocator;
	stream.next_in = last.packed;
	stream.avail_in = last.packed_size;
	stream.next_out = last.data;
	stream.avail_out = MINI_DEBUG_MAX;
	is = lzma_stream_decoder(&stream, MINI_DEBUG_WORK_MAX, 0);
	/* Neither the input nor the room for the output grows: it ends. */
	while (is == LZMA_OK)
		is = lzma_code(&stream, LZMA_FINISH);
	last.size = MINI_DEBUG_MAX - stream.avail_out;
	if (is == LZMA_STREAM_END)
		return 0;
	return is == LZMA_MEM_ERROR || is == LZMA_MEMLIMIT_ERROR || !stream.avail_out ? -E2BIG : -ENOEXEC;
}

/* Read the section.  *same: it is what was read last.  0, -ENOEXEC or -E2BIG. */
static int read_packed(struct elf_file *f, const Elf64_Shdr *section, bool *same)
{
	*same = section->sh_size == last.packed_size;
	if (!section->sh_size || section->sh_size > MINI_DEBUG_PACKED_MAX)
		return section->sh_size ? -E2BIG : -ENOEXEC;
	last.packed_size = 0;
	for (uint64_t at = 0; at < section->sh_size; at += ELF_WINDOW) {
		size_t size = section->sh_size - at < ELF_WINDOW ? (size_t)(section->sh_size - at) : ELF_WINDOW;
		const void *part = section->sh_offset <= f->size ? elf_file__part(f, &f->content, section->sh_offset + at, size) : NULL;

		if (!part)
			return f->budget->exceeded ? -E2BIG : -ENOEXEC;
		if (*same && !memcmp(last.packed + at, part, size))
			continue;
		*same = false;
		memcpy(last.packed + at, part, size);
	}
	last.packed_size = section->sh_size;
	return 0;
}

int mini_debug__open(struct elf_file *f)
{
	Elf64_Shdr section;
	bool same;
	int err;

	if (!elf_file__find(f, SECTION, &section))
		return -ENOENT;
	err = mini_debug__prepare();
	if (!err)
		err = read_packed(f, &section, &same);
	if (err)
		return err;
	if (!same)
		last.err = unpack();
	return last.err ? last.err : elf_file__open_memory(f, last.data, last.size, f->budget);
}

bool mini_debug__is_in(struct elf_file *f)
{
	Elf64_Shdr section;

	return elf_file__find(f, SECTION, &section);
}

#else

int mini_debug__prepare(void)
{
	return 0;
}

bool mini_debug__is_in(struct elf_file *f)
{
	(void)f;
	return false;
}

int mini_debug__open(struct elf_file *f)
{
	(void)f;
	return -ENOTSUP;
}

#endif
