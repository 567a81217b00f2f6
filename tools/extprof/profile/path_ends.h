/* SPDX-License-Identifier: BSD-2-Clause */
/* The shortest ends that tell files with different paths apart. */
#ifndef EXTPROF_PATH_ENDS_H
#define EXTPROF_PATH_ENDS_H

#include <stdint.h>

#include "base/text.h"

/*
 * paths: `count` different ones, none of them "".  Sets starts[i] to where the shortest end of paths[i]
 * begins that is the end of no other path.  An end begins after a slash.  Where all of a path is the end
 * of another one, it is the whole path.  0 or -ENOMEM.
 */
int path_ends__find(const char *const *paths, uint32_t count, uint32_t *starts);

/* Append the end of a path.  "(eval at " of an evaluated string's path stays in front of it. */
void path_ends__add(const char *path, uint32_t start, struct text *out);

#endif /* EXTPROF_PATH_ENDS_H */
