/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where the arguments of a probe are, for the program that is attached there. */
#ifndef EXTPROF_WIRE_USDT_H
#define EXTPROF_WIRE_USDT_H

#include "wire/sample.h"

#define USDT_ARGUMENTS_MAX 8u
#define USDT_NOWHERE 0xffffu

/*
 * A place of a probe: the distance from it to the section of the contract, which is the same in all processes that
 * run the file, and the number of the file.  Anybody can make a file whose notes tell something else for the same
 * distance.
 */
struct usdt_key {
	uint64_t distance;
	uint32_t file;		/* target_config::file */
	uint32_t zero;
};

struct usdt_arguments {
	uint16_t offset[USDT_ARGUMENTS_MAX];	/* in the registers, in bytes; USDT_NOWHERE: not available */
};

#endif /* EXTPROF_WIRE_USDT_H */
