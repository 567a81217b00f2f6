/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between extprof and the program extprof-lines, which reads the debug information of one file: packets over a socket
 * (SOCK_SEQPACKET).
 *
 * extprof sends struct lines_open with the file.  The answer is struct lines_about.  If that is without an error, extprof
 * sends packets of addresses in the file, at most LINES_BATCH each, and gets one struct lines_chain for each address.  It
 * closes the socket when it has no more.
 */
#ifndef EXTPROF_LINES_WIRE_H
#define EXTPROF_LINES_WIRE_H

#include <stdint.h>

#include "parser/elf_file.h"

#define LINES_BATCH 512u
/* Functions at one address: those that the compiler has put into one another. */
#define LINES_DEPTH_MAX 16u
#define LINES_TEXT_MAX 1023u		/* bytes of a name or a path; one that is longer is left out */
#define LINES_LINK_MAX 256u		/* bytes, with the end */
#define LINES_FILE_MAX (1ull << 30)	/* bytes of a file */
#define LINES_MEMORY (LINES_FILE_MAX + (512ull << 20))	/* that the program may add to what it begins with; with the file */
#define LINES_CPU_SECONDS 10u

struct lines_open {
	uint64_t size;			/* of the file */
	struct elf_build_id build_id;	/* that it has to have */
};

struct lines_about {
	int32_t result;			/* 0; -ENOEXEC: no ELF file of this machine; -ESTALE: it has another build id, or none; -ENODATA:
					 * it has no debug information; -ENOMEM */
	char link[LINES_LINK_MAX];	/* the name of the file that has it (.gnu_debuglink); "": none is named */
};

/* One function at an address. */
struct lines_place {
	int32_t line;			/* in the file `path`; 0 unknown */
	uint16_t name, path;		/* bytes of these in the texts, one behind the other, without an end */
};

/* The innermost function is first.  Its line is the one that ran, that of each other one is where it called. */
struct lines_chain {
	uint32_t address;		/* number among those of the packet */
	uint32_t count;			/* 0: nothing is known of it */
	uint32_t size;			/* bytes of texts that are sent */
	struct lines_place places[LINES_DEPTH_MAX];
	char texts[LINES_DEPTH_MAX * 2 * LINES_TEXT_MAX];
};

#endif /* EXTPROF_LINES_WIRE_H */
