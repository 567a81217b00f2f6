/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are the same in two versions of a program, though their paths differ:
 *
 *   .../gems/NAME-1.0/lib/x.rb, .../gems/NAME-1.1/lib/x.rb	the same gem
 *   .../lib/ruby/3.4.0/set.rb, .../lib/ruby/3.5.0/set.rb	the standard library
 *   /srv/app/releases/20261128093000/app/x.rb			releases of one application, as Capistrano and others name them
 *   below the working directory				if a recording is of one application: where it is does not matter
 *
 * A comparison shows each of them as the first one that it saw.
 */
#ifndef EXTPROF_SAME_PATHS_H
#define EXTPROF_SAME_PATHS_H

#include <stdint.h>

#include "base/strings.h"

/* Zero-initialise. */
struct same_paths {
	struct strings keys;	/* paths, and what files that are the same have in common */
	const char **shown;	/* by number of a key: the path that is shown for it */
	uint32_t count;
	size_t room;
	/* Gems: their names, and the first version that each side had. */
	struct strings gems;
	struct gem_versions {
		char *of[2];	/* NULL: it had none */
	} *versions;
	uint32_t gem_count;
	size_t gem_room;
};

/*
 * The path that is shown for that one, which lives as long as `s`.  directory: of the application, absolute, if there is
 * one alone; else NULL.  side: 0 or 1.  NULL: out of memory.
 */
const char *same_paths__shown(struct same_paths *s, const char *path, const char *directory, int side);
/* The version of a gem on a side; NULL: it was not there. */
const char *same_paths__version(const struct same_paths *s, const char *gem, int side);
void same_paths__free(struct same_paths *s);

#endif /* EXTPROF_SAME_PATHS_H */
