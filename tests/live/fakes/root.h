/* SPDX-License-Identifier: BSD-2-Clause */
/* The section of a program that plays a ruby, on a page of its own: a mode can take it away, or put another one there. */
#ifndef FAKES_ROOT_H
#define FAKES_ROOT_H

#include "fake.h"

#ifndef SECTION
# define SECTION RB_DEBUG_EXT_SECTION_NAME
#endif

#ifdef NO_SYMBOL
# define rb_debug_ext_root fake_section	/* not to be found by name */
#endif

union {
	struct rb_debug_ext_section section;
	char page[4096];
} rb_debug_ext_root __attribute__((section(SECTION), used, aligned(4096))) = { .section = {
	.magic = { 'R', 'B', 'D', 'B', 'G', 'E', 'X', 'T' },
	.abi_major = RB_DEBUG_EXT_ABI_MAJOR,
	.section_size = sizeof(struct rb_debug_ext_section),
} };

#endif /* FAKES_ROOT_H */
