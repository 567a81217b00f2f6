/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls by name and number, and the choice of some of them. */
#ifndef EXTPROF_SYSCALL_SET_H
#define EXTPROF_SYSCALL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "wire/syscall.h"

/* Zero-initialise: none. */
struct syscall_set {
	uint64_t bits[SYSCALL_NUMBERS / 64];
	bool all;		/* also those with higher numbers, and of 32-bit code */
};

/*
 * Add those of "openat,write", "all" or numbers.  0; or -EINVAL, *set may have some of them, and why it is
 * wrong is appended to `why`, with the names of this machine that are nearest to what was written.
 */
int syscall_set__parse(struct syscall_set *set, const char *text, struct text *why);
void syscall_set__add(struct syscall_set *set, uint32_t number);
bool syscall_set__is_empty(const struct syscall_set *set);
bool syscall_set__has(const struct syscall_set *set, uint32_t number);

/* The name of a call of this machine's 64-bit table; NULL: the headers that extprof was built with do not have it. */
const char *syscall__name(uint64_t number);
/* The number of a call of this machine's 64-bit table; -ENOENT. */
int syscall__number(const char *name);
/* Names of this machine, from 0; NULL behind the last one. */
const char *syscall__name_at(uint32_t index);

#endif /* EXTPROF_SYSCALL_SET_H */
