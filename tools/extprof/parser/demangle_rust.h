/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of Rust's newer form, which begin with "_R" (RFC 2603). */
#ifndef EXTPROF_DEMANGLE_RUST_H
#define EXTPROF_DEMANGLE_RUST_H

#include <stddef.h>

/*
 * Put the readable form of a name into `to`, at most `room` bytes without an end; its length.  0: it is no such name, or what it
 * stands for is longer, or needs more steps than an honest one.  It allocates no memory.
 */
size_t demangle_rust__name(const char *name, size_t length, char *to, size_t room);

#endif /* EXTPROF_DEMANGLE_RUST_H */
