/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/section_search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "parser/parser.h"
#include "process/elf_search.h"
#include "process/proc.h"
#include "process/target_file.h"

/* Images looked at in one process; rubies with gems have some hundreds. */
#define IMAGES_MAX 4096

/* A file that is mapped with its beginning, where the ELF header is. */
struct image {
	uint64_t start, end, offset;	/* first mapping */
	uint64_t inode;
	bool is_exe, ruby_name;
	char *path;			/* as the target chose it: not clean */
};

struct images {
	struct image *list;
	size_t count, room;
};

static void images__free(struct images *images)
{
	for (size_t i = 0; i < images->count; i++)
		free(images->list[i].path);
	free(images->list);
	memset(images, 0, sizeof(*images));
}

static int images__add(struct images *images, const struct mapping *m)
{
	struct image *added;

	if (array__reserve(&images->list, images->count, 1, &images->room, IMAGES_MAX, sizeof(*images->list)))
		return -ENOMEM;
	added = &images->list[images->count];
	*added = (struct image){
		.start = m->start, .end = m->end, .offset = m->offset, .inode = m->inode, .is_exe = m->is_exe,
		.ruby_name = strstr(basename(m->path), "ruby") != NULL, .path = strdup(m->path),
	};
	if (!added->path)
		return -ENOMEM;
	images->count++;
	return 0;
}

/* All images, in the order of their addresses, IMAGES_MAX at most. */
static int read_maps(const struct target *t, struct images *images, struct diag *d)
{
	char line[PATH_MAX + 128];
	uint64_t exe = proc__exe(t->pid, t->thread);
	int err = 0;
	FILE *f;

	f = proc__open(t->pid, t->thread, GUARDED_MAPS);
	if (!f)
		return target__read_error(t, -errno, "the memory map", d);
	while (!err && images->count < IMAGES_MAX && fgets(line, sizeof(line), f)) {
		struct mapping m;

		if (!mapping__parse(line, exe, &m) || !m.inode || m.offset || *m.path != '/')
			continue;
		if (images__add(images, &m))
			err = diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	}
	/* A read can be refused after the file was opened. */
	if (!err && ferror(f))
		err = target__read_error(t, -errno, "the memory map", d);
	fclose(f);
	return err;
}

/* Search the file of the image. */
static int search_file(struct target_files *files, const struct image *image, struct elf_budget *budget,
		       struct elf_finding *f)
{
	struct parser_file file = { .owner = files->owner, .deadline = files->deadline };
	struct mapping mapping = {
		.start = image->start, .end = image->end, .offset = image->offset,
		.inode = image->inode, .is_exe = image->is_exe, .path = image->path,
	};
	struct stat st;
	int err;

	file.fd = target_file__open_mapped(files, &mapping, &st);
	if (file.fd < 0)
		return file.fd;
	file.size = (uint64_t)st.st_size;
	err = parser__search(&file, image->offset, budget, f);
	close(file.fd);
	return err;
}

/* True if what is at the address begins as a section does. */
static bool has_magic(const struct target *t, uint64_t address)
{
	char magic[8];

	return !memory__read(&t->space->memory, address, magic, sizeof(magic)) &&
	       !memcmp(magic, RB_DEBUG_EXT_MAGIC, sizeof(magic));
}

static bool search_image(struct target *t, struct target_files *files, const struct image *image,
			 struct elf_budget *budget, struct elf_finding *f)
{
	bool ok = false;

	memset(f, 0, sizeof(*f));
	if (image->is_exe || image->ruby_name)
		ok = !search_file(files, image, budget, f);
	if (!ok || f->how == ELF_NOT_FOUND) {
		struct elf_finding m;

		if (!elf__search_memory(&t->space->memory, image->start, budget, &m)) {
			m.is_ruby |= ok && f->is_ruby;
			*f = m;
			ok = true;
		}
	}
	if (!ok || !f->has_load)
		return false;
	if (f->how == ELF_NOT_FOUND)
		return false;
	t->section = f->section + (image->start - f->load_vaddr);
	return has_magic(t, t->section);
}

static int no_interface(const struct target *t, const struct image *image,
			const struct elf_finding *f, struct diag *d)
{
	char version[24] = "";

	if (f->version && f->has_load &&
	    memory__read(&t->space->memory, f->version + (image->start - f->load_vaddr), version,
			 sizeof(version) - 1))
		version[0] = '\0';
	diag__set(d, DIAG_NO_INTERFACE, ENOENT,
		  "process %d runs ruby%s%s (%s), which has no external debugging interface",
		  t->pid, version[0] ? " " : "", version, image->path);
	diag__hint(d, "build a ruby with the patches of this project "
		   "(./configure.sh && make install) and run the program with it; its native code alone is shown by "
		   "`extprof record -n --all-native'");
	return -ENOENT;
}

/* A process loses its memory before it becomes a zombie.  The pidfd tells only of the zombie. */
static bool is_exiting(const struct target *t)
{
	return target__exited(t) || (proc__is_exiting(t->pid, 0) && !proc__other_thread(t->pid));
}

/* Read the maps of the first thread, or of another one if the first one has ended. */
static int find_images(struct target *t, struct images *images, struct diag *d)
{
	int err;

	t->thread = 0;
	err = read_maps(t, images, d);
	if ((err && err != -ESRCH) || images->count || !proc__is_exiting(t->pid, 0))
		return err;
	t->thread = proc__other_thread(t->pid);
	if (!t->thread)
		return err;
	err = read_maps(t, images, d);
	if (!err && !images->count)
		err = -ESRCH;
	if (err != -ESRCH)
		return err;
	/* The other thread has ended too.  A third one may go on. */
	diag__set(d, DIAG_NOT_READY, EAGAIN, "threads of process %d are ending", t->pid);
	diag__hint(d, "try again in a moment");
	return -EAGAIN;
}

/* Search all images, the likely ones first.  0 with t->section set, or -errno. */
static int search_images(struct target *t, const struct images *images, struct diag *d)
{
	struct elf_finding f, ruby_finding = { 0 };
	const struct image *ruby = NULL, *exe = &images->list[0];
	struct target_files files;
	struct elf_budget budget;

	target_files__of_process(&files, t->pid, t->thread, t->deadline);
	elf_budget__init(&budget);
	for (size_t i = 0; i < images->count; i++) {
		if (images->list[i].is_exe) {
			exe = &images->list[i];
			break;
		}
	}
	for (int pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < images->count; i++) {
			const struct image *image = &images->list[i];
			int rank = image->is_exe ? 0 : image->ruby_name ? 1 : 2;

			if (rank != pass)
				continue;
			if (t->deadline && deadline__over(t->deadline))
				return -EINTR;
			if (search_image(t, &files, image, &budget, &f))
				return 0;
			if (f.is_ruby && !ruby) {
				ruby = image;
				ruby_finding = f;
			}
		}
	}
	t->section = 0;
	if (ruby)
		return no_interface(t, ruby, &ruby_finding, d);
	diag__set(d, DIAG_NOT_RUBY, ENOENT, "process %d is not a ruby%s: it runs %s", t->pid,
		  budget.exceeded ? " as far as it was searched, which has a limit" : "", exe->path);
	diag__hint(d, "give the pid of the ruby itself, not that of a shell or of a wrapper "
		   "that started it; `pgrep -a ruby` lists them; a program without a ruby is profiled by "
		   "`extprof record -n --all-native'");
	return -ENOENT;
}

static int find_section(struct target *t, struct diag *d)
{
	struct images images = { 0 };
	uint8_t probe;
	int err;

	t->section = 0;
	address_space__close(t->space);
	t->space = NULL;
	err = find_images(t, &images, d);
	if (err)
		goto cleanup;
	if (!images.count) {
		err = diag__set(d, DIAG_NOT_RUBY, ENOENT,
				"process %d is not a ruby: it has no program of its own "
				"(a kernel thread)", t->pid);
		goto cleanup;
	}
	t->space = address_space__open(t->pid, &err);
	if (!t->space) {
		target__read_error(t, err, "the memory", d);
		goto cleanup;
	}
	t->space->deadline = t->deadline;
	err = memory__read(&t->space->memory, images.list[0].start, &probe, 1);
	if (err && err != -EFAULT) {
		target__read_error(t, err, "the memory", d);
		goto cleanup;
	}
	err = search_images(t, &images, d);
cleanup:
	images__free(&images);
	return err;
}

int target__find_section(struct target *t, struct diag *d)
{
	int err = find_section(t, d);

	/* A search that was cut short says nothing about the process. */
	if ((err == -EINTR || err == -ENOENT) && t->deadline && deadline__over(t->deadline))
		err = diag__set(d, DIAG_NOT_READY, EINTR, "there was no time to search process %d",
				t->pid);
	/* The result is worth nothing if the process ended during the search, if its pid was
	 * given to another process, or if it executed another program. */
	if (err ? is_exiting(t) : !target__has_pid(t))
		return diag__set(d, DIAG_NO_PROCESS, ESRCH, "process %d has ended", t->pid);
	if (t->space && !address_space__lives(t->space)) {
		diag__set(d, DIAG_NOT_READY, EAGAIN, "process %d executes another program", t->pid);
		diag__hint(d, "try again in a moment");
		return -EAGAIN;
	}
	return err;
}
