/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/mapping.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool mapping__parse(char *line, uint64_t exe, struct mapping *m)
{
	unsigned int major, minor;
	char flags[5];
	int at = 0;

	*m = (struct mapping){ 0 };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start, &m->end, flags, &m->offset,
		   &major, &minor, &m->inode, &at) < 7 || !at || m->end < m->start)
		return false;
	line[strcspn(line, "\n")] = '\0';
	m->device = (uint64_t)major << 32 | minor;
	m->is_code = strchr(flags, 'x') != NULL;
	m->is_exe = m->inode && m->inode == exe;
	m->path = line + at;
	return true;
}
