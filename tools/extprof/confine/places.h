/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a process that reads recordings may open files, whatever a recording makes of the process: Landlock, which Linux has since 5.13. */
#ifndef EXTPROF_CONFINE_PLACES_H
#define EXTPROF_CONFINE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum confine_place {
	CONFINE_READ = 1,
	CONFINE_WRITE = 2,	/* in a folder files are made, replaced and removed, too */
};

struct confine_places {
	int ruleset;		/* -1: the kernel has none, and nothing is refused */
	uint64_t handled;	/* what is refused elsewhere: LANDLOCK_ACCESS_FS_ */
};

/* Afterwards writing is refused but for the places that are added, with `reads` reading as well.  -ENOSYS, -EOPNOTSUPP or
 * another errno: the kernel has no Landlock; the calls below do nothing then. */
int confine_places__open(struct confine_places *p, bool reads);
/* A folder with all below it, or a file, that is open (O_PATH does).  `allows`: of enum confine_place.  0 or -errno. */
int confine_places__add(struct confine_places *p, int fd, unsigned int allows);
/* The same by a path; one that is not there is not an error. */
int confine_places__add_path(struct confine_places *p, const char *path, unsigned int allows);
/*
 * For good, with all that this process starts from now on.  Files that are open stay so.  TCP connections, and signals and abstract
 * sockets to processes that it has not started, are refused where the kernel can do that.  Closes.  0 or -errno.
 */
int confine_places__enter(struct confine_places *p);

#endif /* EXTPROF_CONFINE_PLACES_H */
