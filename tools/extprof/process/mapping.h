/* SPDX-License-Identifier: BSD-2-Clause */
/* A mapping of a process, as /proc/PID/maps shows it. */
#ifndef EXTPROF_MAPPING_H
#define EXTPROF_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end, offset;	/* offset: of its beginning in the file */
	uint64_t device, inode;		/* of the file; 0, 0: it is no file's */
	bool is_code;			/* it can be executed */
	bool is_exe;			/* the file is the program of the process */
	const char *path;		/* as the process chose it: not clean */
};

/*
 * A line of the memory map.  `exe`: as of proc__exe().  False: it is none.  The path is in the line, whose end is cut
 * off; of a mapping of no file it is "", or a name as "[vdso]".
 */
bool mapping__parse(char *line, uint64_t exe, struct mapping *m);

#endif /* EXTPROF_MAPPING_H */
