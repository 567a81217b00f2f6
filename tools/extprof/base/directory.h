/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of a folder.  For the program too, which has no objects of the library. */
#ifndef EXTPROF_DIRECTORY_H
#define EXTPROF_DIRECTORY_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Open the list of the folder `name` below `at`, from its begin.  NULL with errno. */
static inline DIR *directory__open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory && fd >= 0) {
		err = errno;
		close(fd);
		errno = err;
	}
	return directory;
}

#endif /* EXTPROF_DIRECTORY_H */
