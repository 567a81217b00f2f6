/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/elf_machine.h"
#include "base/sorted.h"
#include "base/text.h"
#include "process/elf_notes.h"
#include "remote/core_parts.h"
#include "remote/stop.h"

/* A process has 65,530 mappings at most, if nobody raised that limit. */
#define SEGMENTS_MAX (1u << 20)
/* Limits of all notes of a file: the number of notes, of which a thread has about five, and the bytes that are read. */
#define NOTES_MAX (1u << 19)
#define NOTE_BYTES_MAX (64u << 20)
#define THREADS_MAX 65536u
#define IMAGES_MAX 4096u

/* The file as memory. */
static int core_file__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	const struct core *core = m->context;

	if (deadline__over(core->deadline))
		return -EINTR;
	if (address > INT64_MAX - length)
		return -EFAULT;
	return pread(core->fd, to, length, (off_t)address) == (ssize_t)length ? 0 : -EFAULT;
}

static int core__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	const struct core *core = m->context;

	if (deadline__over(core->deadline))
		return -EINTR;
	while (length) {
		size_t until = SORTED__UNTIL(core->segments, core->segment_count, address, address);
		const struct segment *s;
		uint64_t part;

		if (!until)
			return -EFAULT;
		s = &core->segments[until - 1];
		if (address - s->address >= s->size)
			return -EFAULT;
		part = s->size - (address - s->address);
		if (part > length)
			part = length;
		if (pread(core->fd, to, part, (off_t)(s->offset + (address - s->address))) != (ssize_t)part)
			return -EFAULT;
		to = (char *)to + part;
		address += part;
		length -= part;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int add_segment(struct core *core, const Elf64_Phdr *p)
{
	uint64_t size = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz;

	/* The file may have been cut. */
	if (p->p_offset >= core->file_size)
		return 0;
	if (size > core->file_size - p->p_offset)
		size = core->file_size - p->p_offset;
	if (!size || p->p_vaddr + size < p->p_vaddr)
		return 0;
	if (array__reserve(&core->segments, core->segment_count, 1, &core->segment_room, SEGMENTS_MAX,
			   sizeof(*core->segments)))
		return -ENOMEM;
	core->segments[core->segment_count++] = (struct segment){ p->p_vaddr, size, p->p_offset };
	return 0;
}

/* -- notes --------------------------------------------------------------------------------------- */

static int add_thread(struct core *core, const uint8_t *data, size_t size)
{
	struct elf_prstatus status;
	struct task *task;

	if (size < sizeof(status))
		return 0;
	memcpy(&status, data, sizeof(status));
	if (array__reserve(&core->threads, core->thread_count, 1, &core->thread_room, THREADS_MAX,
			   sizeof(*core->threads)))
		return -ENOMEM;
	task = &core->threads[core->thread_count++];
	memset(task, 0, sizeof(*task));
	task->tid = status.pr_pid;
	task->cpu = -1;
	task__set_registers(task, &status.pr_reg);
	task->off_cpu = true;
	return 0;
}

static void set_process(struct core *core, const uint8_t *data, size_t size)
{
	struct elf_prpsinfo info;
	size_t length;

	if (size < sizeof(info))
		return;
	memcpy(&info, data, sizeof(info));
	core->pid = info.pr_pid;
	text__clear(&core->command);
	length = strnlen(info.pr_psargs, sizeof(info.pr_psargs));
	while (length && info.pr_psargs[length - 1] == ' ')
		length--;
	text__add_clean(&core->command, info.pr_psargs, length, sizeof(info.pr_psargs));
}

/* NT_FILE: count, page size; of each mapping start, end, offset in pages; then their paths. */
static int add_images(struct core *core, const uint8_t *data, size_t size)
{
	uint64_t head[2], row[3];
	const char *path;

	if (size < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	if (head[0] > (size - sizeof(head)) / sizeof(row))
		return 0;
	path = (const char *)data + sizeof(head) + sizeof(row) * head[0];
	for (uint64_t i = 0; i < head[0]; i++) {
		size_t left = (size_t)((const char *)data + size - path), length = strnlen(path, left);

		if (length == left)
			break;
		memcpy(row, data + sizeof(head) + sizeof(row) * i, sizeof(row));
		if (core__add_row(core, row[0], row[1], row[2] * head[1], path))
			return -ENOMEM;
		if (!row[2] && core->image_count < IMAGES_MAX) {
			char *copy = strdup(path);

			if (!copy || array__reserve(&core->images, core->image_count, 1, &core->image_room, IMAGES_MAX,
						    sizeof(*core->images))) {
				free(copy);
				return -ENOMEM;
			}
			core->images[core->image_count++] = (struct core_image){ row[0], copy };
		}
		path += length + 1;
	}
	return 0;
}

/* A note of a kind that is used.  The file chooses its size: there is one budget for all. */
static int take_note(struct core *core, const struct elf_note *note)
{
	uint8_t *data;
	int err = 0;

	if (note->desc_size > core->note_bytes_left)
		return 0;
	core->note_bytes_left -= note->desc_size;
	data = malloc(note->desc_size + 1);
	if (!data)
		return -ENOMEM;
	if (!memory__read(&core->content, note->desc, data, note->desc_size)) {
		if (note->type == NT_PRSTATUS)
			err = add_thread(core, data, note->desc_size);
		else if (note->type == NT_PRPSINFO)
			set_process(core, data, note->desc_size);
		else
			err = add_images(core, data, note->desc_size);
	}
	free(data);
	return err;
}

static int read_notes(struct core *core, const Elf64_Phdr *p)
{
	struct elf_notes notes = { .memory = &core->content, .at = p->p_offset, .end = p->p_offset + p->p_filesz };
	struct elf_note note;
	int err = 0;

	while (!err && core->notes_left && elf_notes__next(&notes, &note)) {
		core->notes_left--;
		if (!strcmp(note.name, "CORE") &&
		    (note.type == NT_PRSTATUS || note.type == NT_PRPSINFO || note.type == NT_FILE))
			err = take_note(core, &note);
	}
	return err;
}

/* -- the file ------------------------------------------------------------------------------------ */

static int no_core(const char *path, struct diag *d, const char *why)
{
	char clean[256];

	text__clean(clean, sizeof(clean), path);
	diag__set(d, DIAG_USAGE, EINVAL, "%s is no core file that can be read: %s", clean, why);
	diag__hint(d, "a core file is what the kernel writes when a program crashes, or gcore(1); one that is compressed has "
		   "to be unpacked first");
	return -EINVAL;
}

uint64_t core__missing(const struct core *core)
{
	return core->told_size > core->file_size ? core->told_size - core->file_size : 0;
}

int core__tell_missing(const struct core *core, struct diag *d)
{
	diag__set(d, DIAG_NOT_RUBY, ENODATA, "the core file is cut off, %" PRIu64 " of its %" PRIu64 " bytes are missing, and "
		  "with them memory that is needed; its notes have %u threads", core__missing(core), core->told_size,
		  core->thread_count);
	diag__hint(d, "the disk was full, the size of core files is limited (ulimit -c), or the copy is not whole");
	return -ENODATA;
}

/* How many program headers there are: more than 65,534 have their number in the first section header. */
static uint64_t header_count(const struct core *core, const Elf64_Ehdr *ehdr)
{
	Elf64_Shdr first;

	if (ehdr->e_phnum != PN_XNUM)
		return ehdr->e_phnum;
	return memory__read(&core->content, ehdr->e_shoff, &first, sizeof(first)) ? 0 : first.sh_info;
}

static int no_time(struct diag *d)
{
	return diag__set(d, DIAG_NOT_READY, EINTR, "there was no time to read the core file");
}

static int read_headers(struct core *core, const char *path, struct diag *d)
{
	Elf64_Ehdr ehdr;
	uint64_t count;
	int err;

	err = memory__read(&core->content, 0, &ehdr, sizeof(ehdr));
	if (err == -EINTR)
		return no_time(d);
	if (err || memcmp(ehdr.e_ident, ELFMAG, SELFMAG))
		return no_core(path, d, "it is no ELF file");
	if (ehdr.e_type != ET_CORE)
		return no_core(path, d, "it is another ELF file, a program or a library");
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_machine != ELF_MACHINE)
		return no_core(path, d, "it is of another machine");
	count = header_count(core, &ehdr);
	if (!count || count > SEGMENTS_MAX || ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return no_core(path, d, "its headers are damaged");
	/* gcore writes the table of sections last. */
	if (ehdr.e_shnum && ehdr.e_shoff <= INT64_MAX)
		core->told_size = ehdr.e_shoff + (uint64_t)ehdr.e_shnum * ehdr.e_shentsize;
	for (uint64_t i = 0; i < count && !err; i++) {
		Elf64_Phdr p;

		err = memory__read(&core->content, ehdr.e_phoff + i * sizeof(p), &p, sizeof(p));
		if (err == -EFAULT)
			return no_core(path, d, "its headers are cut off");
		if (!err && p.p_filesz <= INT64_MAX && p.p_offset <= INT64_MAX &&
		    p.p_offset + p.p_filesz > core->told_size)
			core->told_size = p.p_offset + p.p_filesz;
		if (!err && p.p_type == PT_LOAD)
			err = add_segment(core, &p);
		if (!err && p.p_type == PT_LOAD)
			err = core__add_range(core, p.p_vaddr, p.p_memsz, p.p_flags & PF_X);
		if (!err && p.p_type == PT_NOTE)
			err = read_notes(core, &p);
	}
	if (err == -EINTR || deadline__over(core->deadline))
		return no_time(d);
	if (err)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	if (!core->segment_count && !core__missing(core))
		return no_core(path, d, "it has no memory");
	if (core->segment_count)
		qsort(core->segments, core->segment_count, sizeof(*core->segments), by_address);
	core__sort_code(core);
	return 0;
}

int core__open(struct core **result, const char *path, struct deadline *deadline, struct diag *d)
{
	struct core *core = calloc(1, sizeof(*core));
	char clean[256];
	int err;

	*result = NULL;
	if (!core)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	core->memory = (struct memory){ .read = core__read, .context = core };
	core->content = (struct memory){ .read = core_file__read, .context = core };
	core->deadline = deadline;
	core->notes_left = NOTES_MAX;
	core->note_bytes_left = NOTE_BYTES_MAX;
	core->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (core->fd < 0 || fstat(core->fd, &core->file) || !S_ISREG(core->file.st_mode)) {
		err = core->fd < 0 ? errno : EINVAL;
		text__clean(clean, sizeof(clean), path);
		err = diag__set(d, err == EACCES ? DIAG_PERMISSION : DIAG_NO_PROCESS, err, "cannot read the core file %s: %s",
				clean, core->fd < 0 ? strerror(err) : "it is no regular file");
		goto cleanup;
	}
	core->file_size = (uint64_t)core->file.st_size;
	err = read_headers(core, path, d);
	if (!err) {
		*result = core;
		core = NULL;
	}
cleanup:
	core__close(core);
	return err;
}

void core__close(struct core *core)
{
	if (!core)
		return;
	for (uint32_t i = 0; i < core->image_count; i++)
		free(core->images[i].path);
	free(core->images);
	core__free_code(core);
	free(core->threads);
	free(core->segments);
	text__free(&core->command);
	if (core->fd >= 0)
		close(core->fd);
	free(core);
}

const struct stat *core__file(const struct core *core)
{
	return &core->file;
}

const struct memory *core__memory(const struct core *core)
{
	return &core->memory;
}

pid_t core__pid(const struct core *core)
{
	return core->pid;
}

const char *core__command(const struct core *core)
{
	return text__string(&core->command);
}

bool core__task(const struct core *core, uint32_t tid, struct task *task)
{
	for (uint32_t i = 0; i < core->thread_count; i++) {
		if ((uint32_t)core->threads[i].tid == tid) {
			*task = core->threads[i];
			return true;
		}
	}
	return false;
}
