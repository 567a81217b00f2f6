/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/core_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/sorted.h"
#include "process/target_file.h"
#include "remote/core_parts.h"

int core__add_row(struct core *core, uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	/* The parts of a file follow one another. */
	char *last = core->path_count ? core->paths[core->path_count - 1] : NULL;

	if (core->row_count == CORE_ROWS_MAX || start >= end)
		return 0;
	if (!last || strcmp(last, path)) {
		last = strdup(path);
		if (!last || array__reserve(&core->paths, core->path_count, 1, &core->path_room, CORE_ROWS_MAX, sizeof(last))) {
			free(last);
			return -ENOMEM;
		}
		core->paths[core->path_count++] = last;
	}
	if (array__reserve(&core->rows, core->row_count, 1, &core->row_room, CORE_ROWS_MAX, sizeof(*core->rows)))
		return -ENOMEM;
	core->rows[core->row_count++] = (struct core_row){ start, end, offset, last };
	return 0;
}

int core__add_range(struct core *core, uint64_t start, uint64_t size, bool executable)
{
	if (core->range_count == CORE_ROWS_MAX || !size || start + size < start)
		return 0;
	if (array__reserve(&core->ranges, core->range_count, 1, &core->range_room, CORE_ROWS_MAX, sizeof(*core->ranges)))
		return -ENOMEM;
	core->ranges[core->range_count++] = (struct core_range){ start, size, executable };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct core_row *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_address(const void *a, const void *b)
{
	const struct core_range *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

void core__sort_code(struct core *core)
{
	if (core->row_count)
		qsort(core->rows, core->row_count, sizeof(*core->rows), by_start);
	if (core->range_count)
		qsort(core->ranges, core->range_count, sizeof(*core->ranges), by_address);
}

void core__free_code(struct core *core)
{
	for (uint32_t i = 0; i < core->path_count; i++)
		free(core->paths[i]);
	free(core->paths);
	free(core->rows);
	free(core->ranges);
}

/* Can it be code?  gcore(1) tells nothing of memory that it leaves out: then the file's own headers say it later. */
static bool is_code(const struct core *core, const struct core_row *row)
{
	size_t until = SORTED__UNTIL(core->ranges, core->range_count, address, row->start);
	const struct core_range *r = until ? &core->ranges[until - 1] : NULL;

	return !r || row->start - r->address >= r->size || r->executable;
}

bool core__next_code(const struct core *core, uint64_t address, struct core_row *row)
{
	size_t i = address ? SORTED__UNTIL(core->rows, core->row_count, start, address - 1) : 0;

	while (i < core->row_count && !is_code(core, &core->rows[i]))
		i++;
	if (i == core->row_count)
		return false;
	*row = core->rows[i];
	return true;
}

/* Where the beginning of the file is mapped; 0: nowhere. */
static uint64_t image_of(const struct core *core, const struct core_row *row)
{
	size_t i = SORTED__UNTIL(core->rows, core->row_count, start, row->start);

	while (i--) {
		const struct core_row *r = &core->rows[i];

		if (strcmp(r->path, row->path))
			return 0;
		if (!r->offset)
			return r->start;
	}
	return 0;
}

static int open_if_same(const struct core *core, uint64_t image, struct target_files *files, const char *path, struct stat *st,
			uint64_t *owner)
{
	struct parser_file file = { .owner = files->owner, .deadline = files->deadline };

	file.fd = target_file__open_elf(files, path, st);
	if (file.fd < 0)
		return file.fd;
	file.size = (uint64_t)st->st_size;
	*owner = file.owner;
	if (core__is_file(core, image, &file))
		return file.fd;
	close(file.fd);
	return -ENOENT;
}

int core__open_code(const struct core *core, const struct core_row *row, const char *exe, struct deadline *deadline,
		    struct stat *st, uint64_t *owner)
{
	uint64_t image = image_of(core, row);
	struct target_files files;
	int fd = -ENOENT;

	if (!image || deadline__over(deadline))
		return fd;
	if (exe) {
		target_files__of_user(&files);
		files.deadline = deadline;
		fd = open_if_same(core, image, &files, exe, st, owner);
	}
	if (fd < 0) {
		target_files__of_core(&files, &core->file);
		files.deadline = deadline;
		fd = open_if_same(core, image, &files, row->path, st, owner);
	}
	return fd;
}
