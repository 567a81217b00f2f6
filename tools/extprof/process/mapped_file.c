/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/mapped_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "process/proc.h"

int mapped_file__open_at(struct target_files *files, uint64_t address, uint64_t *offset, struct stat *file)
{
	char line[PATH_MAX + 128];
	uint64_t exe = proc__exe(files->pid, files->thread);
	int fd = -ENOENT;
	FILE *f;

	f = proc__open(files->pid, files->thread, GUARDED_MAPS);
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		struct mapping m;

		if (!mapping__parse(line, exe, &m) || address < m.start || address >= m.end)
			continue;
		if (!m.inode || *m.path != '/')
			break;
		fd = target_file__open_mapped(files, &m, file);
		*offset = m.offset + (address - m.start);
		break;
	}
	fclose(f);
	return fd;
}
