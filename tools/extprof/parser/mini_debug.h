/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions of a stripped file: the section .gnu_debugdata is an ELF file with symbols alone, compressed by xz.
 * Distributions such as Fedora keep it in each program and library.
 */
#ifndef EXTPROF_MINI_DEBUG_H
#define EXTPROF_MINI_DEBUG_H

#include <stdbool.h>

#include "parser/elf_file.h"

/* That of libxul.so has some MB. */
#define MINI_DEBUG_PACKED_MAX (8u << 20)	/* bytes of the section */
#define MINI_DEBUG_MAX (32u << 20)		/* bytes of the file in it */
/* xz -9 says that a dictionary of 64 MiB is needed, however small the file is.  Only what is used of it is ever touched. */
#define MINI_DEBUG_WORK_MAX (72u << 20)

/* Take room for all this, once, while memory may still be mapped.  0; -ENOMEM: no such file can be read in this process. */
int mini_debug__prepare(void);

/* Has the file that section? */
bool mini_debug__is_in(struct elf_file *f);

/*
 * Make of the open file the one that is in that section.  Its content stays as it is until the next call.  0; -ENOENT: there
 * is no such section; -E2BIG: it costs too much; -ENOEXEC: it is damaged; -ENOMEM: there is no room; -ENOTSUP: extprof was
 * built without liblzma.  After an error the file is not to be read any more.
 */
int mini_debug__open(struct elf_file *f);

#endif /* EXTPROF_MINI_DEBUG_H */
