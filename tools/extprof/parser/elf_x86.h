/* SPDX-License-Identifier: BSD-2-Clause */
/* Machine code of x86-64 whose rules end too early. */
#ifndef EXTPROF_ELF_X86_H
#define EXTPROF_ELF_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_BEFORE 7u		/* bytes of code that are looked at before the end of a function's rules, and behind it */
#define X86_BEHIND 2u
#define X86_SYSCALL_MAX 32u	/* a function that this is asked of is no longer */

/*
 * How many bytes behind their end the rules of a function hold.  A thread in a system call is behind the instruction `syscall`,
 * and in two functions of glibc the rules end there or before: in that which makes threads, for the thread that is made, and in
 * that which a signal handler returns to.
 */
uint64_t elf_x86__more(const uint8_t before[X86_BEFORE], const uint8_t behind[X86_BEHIND], bool signal);

#endif /* EXTPROF_ELF_X86_H */
