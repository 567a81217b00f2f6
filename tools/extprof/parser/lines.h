/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions and lines at addresses of a file that nobody vouches for, by its debug information.  The program extprof-lines
 * reads it, without rights and in a process for this file alone: a crash, a loop or growth costs what is not known yet of
 * this file.
 */
#ifndef EXTPROF_PARSER_LINES_H
#define EXTPROF_PARSER_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "parser/lines_wire.h"

struct lines_file {
	int fd;
	uint64_t size;
	struct elf_build_id build_id;	/* that it has to have */
	uint64_t until;			/* CLOCK_MONOTONIC, ns: it takes no longer than that; 0: as long as one file may */
};

/* The texts are not clean, and valid during the call. */
struct lines_at {
	const char *name, *path;	/* "": unknown */
	size_t name_length, path_length;
	int32_t line;			/* 0: unknown, or none made by a compiler */
};

/*
 * Call `take` for each address of which something is known, once, with its number and its functions, the innermost one first,
 * at most LINES_DEPTH_MAX.  `take` returns 0, or a negative errno that ends it.  `link` has LINES_LINK_MAX bytes: the name of the
 * file that has its debug information, without a slash and not clean, or "".
 * 0; -ESTALE: the file has another build id, or none; -ENODATA: it has no debug information; -ENOEXEC: it is no ELF file of this
 * machine; -E2BIG: it is too large; -ENOBUFS: it needs more memory than it may have; -EFAULT: the program has crashed;
 * -ETIMEDOUT: it took too long; -EPROTO: its answers are none; -ENOSYS: this extprof was built without the program; -ENOENT:
 * it is not where it is installed; or why it could not be started.  Any thread may call it.
 */
int lines__read(const struct lines_file *file, const uint64_t *addresses, uint32_t count,
		int (*take)(void *context, uint32_t number, const struct lines_at *at, uint32_t functions), void *context, char *link);

#endif /* EXTPROF_PARSER_LINES_H */
