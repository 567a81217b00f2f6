/* SPDX-License-Identifier: BSD-2-Clause */
/* Machine code that the process of a core file had mapped: which files, and where. */
#ifndef EXTPROF_CORE_CODE_H
#define EXTPROF_CORE_CODE_H

#include "remote/core_file.h"

/* Mappings of files that are kept. */
#define CORE_ROWS_MAX 65536u

struct core_row {
	uint64_t start, end, offset;	/* offset: of its beginning in the file */
	const char *path;		/* not clean */
};

/* The first mapping that can be code and begins at or behind an address.  False: there is none any more. */
bool core__next_code(const struct core *core, uint64_t address, struct core_row *row);

/*
 * Open the file of the code.  Its build id has to be that of the image in the core file: what the core file does not tell is
 * not followed.  `exe`: take that file, if its build id fits; NULL: none is named.  A descriptor with *st and *owner (see
 * parser_file), or -errno.
 */
int core__open_code(const struct core *core, const struct core_row *row, const char *exe, struct deadline *deadline,
		    struct stat *st, uint64_t *owner);

#endif /* EXTPROF_CORE_CODE_H */
