/* SPDX-License-Identifier: BSD-2-Clause */
/* The one table that says what the system calls of this machine wait for, and what their arguments are. */
#ifndef EXTPROF_CALL_KINDS_H
#define EXTPROF_CALL_KINDS_H

#include <stdint.h>

#include "wire/states.h"

/* enum call_kind of a system call by its number; below 0: CALL_NONE. */
uint32_t call_kind(int64_t call);
/* For the kernel's programs: CALLS_MAX kinds by number. */
void call_kinds__copy(volatile uint8_t *to);

#endif /* EXTPROF_CALL_KINDS_H */
