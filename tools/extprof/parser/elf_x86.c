/* SPDX-License-Identifier: BSD-2-Clause */
#include "parser/elf_x86.h"

#include <string.h>

static const uint8_t call[] = { 0x0f, 0x05 };				/* syscall */
static const uint8_t clone3[] = { 0xb8, 0xb3, 0x01, 0x00, 0x00 };	/* mov $435, %eax */

uint64_t elf_x86__more(const uint8_t before[X86_BEFORE], const uint8_t behind[X86_BEHIND], bool signal)
{
	if (signal)
		return memcmp(before + X86_BEFORE - sizeof(call), call, sizeof(call)) ? 0 : 1;
	/*
	 * The new thread is at the same place, on a stack of its own where nobody has put an address of code.  The older call clone
	 * has the address of a function there, which has called nobody, so it is not followed.
	 */
	if (!memcmp(before + X86_BEFORE - sizeof(clone3), clone3, sizeof(clone3)) && !memcmp(behind, call, sizeof(call)))
		return sizeof(call) + 1;
	return 0;
}
