/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust as they are written in programs.  For the helper without rights: names come from files that nobody
 * vouches for. */
#ifndef EXTPROF_DEMANGLE_H
#define EXTPROF_DEMANGLE_H

#include <stddef.h>

/*
 * Put the readable form of a name into `to`, at most `room` bytes without an end; its length.  0: the name is in no form that
 * is known here, or what it stands for is longer.
 */
size_t demangle__name(const char *name, char *to, size_t room);

#endif /* EXTPROF_DEMANGLE_H */
