/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine of the ELF files that this machine runs. */
#ifndef EXTPROF_ELF_MACHINE_H
#define EXTPROF_ELF_MACHINE_H

#include <elf.h>

#if defined(__x86_64__)
#define ELF_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_MACHINE EM_AARCH64
#else
#error "the registers of this machine are not known here"
#endif

#endif /* EXTPROF_ELF_MACHINE_H */
