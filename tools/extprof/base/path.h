/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a path.  The last one is that of basename(), in string.h.  For the program too, which has no objects of the library. */
#ifndef EXTPROF_PATH_H
#define EXTPROF_PATH_H

#include <string.h>

/* The folder that a path is in, with its slash; "." if the path has none.  malloc'd; NULL: out of memory. */
static inline char *path__folder(const char *path)
{
	size_t length = (size_t)(basename(path) - path);

	return length ? strndup(path, length) : strdup(".");
}

#endif /* EXTPROF_PATH_H */
