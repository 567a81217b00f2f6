/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose code is in a file: the application's, a gem's, the standard library's, or Ruby's own.  The path alone says it, so
 * that it can be told of a recording on another machine too.
 *
 *   <anywhere>/gems/NAME-VERSION/...               gem NAME VERSION, also below vendor/bundle
 *   <anywhere>/bundler/gems/NAME-SHA/...           gem NAME SHA, which Bundler has from git
 *   <anywhere>/lib/ruby/3.4.0/..., .../site_ruby/... the standard library
 *   <internal:...>                                 Ruby itself
 *   (eval at FILE:LINE)                            as FILE
 *   <anywhere>/bin/NAME                            the gem that has bin/NAME or exe/NAME, if that is in the profile too
 *   all else                                       the application, if its directories were not named
 */
#ifndef EXTPROF_OWNER_H
#define EXTPROF_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Values are part of the library's interface: append only. */
enum owner_kind {
	OWNER_NONE = 0,		/* the file is not known */
	OWNER_APP = 1,
	OWNER_GEM = 2,
	OWNER_STDLIB = 3,
	OWNER_RUBY = 4,		/* Ruby itself, in Ruby */
	OWNER_OTHER = 5,	/* neither of these, nor below a directory that was named the application's */
	OWNER_KINDS
};

/* Directories are absolute and have no slash at the end, but for "/". */
struct owner_rules {
	const char *const *apps;	/* of the application; what of a gem or of Ruby lies below is not the application's */
	uint32_t app_count;
	bool only_apps;			/* nothing else is the application's */
	const char *const *cwds;	/* where relative paths begin */
	uint32_t cwd_count;
	/* bin/NAME and exe/NAME of gems: RubyGems and Bundler install a file of that name in a bin/ to start them. */
	const char *const *scripts;
	uint32_t script_count;
};

/* The parts are within the path, or within that of a script. */
struct owner {
	uint8_t kind;			/* enum owner_kind */
	const char *name;		/* of a gem; of the standard library the part: "net"; NULL: none */
	size_t name_length;
	const char *version;		/* of a gem; NULL: none */
	size_t version_length;
	const char *root;		/* of a gem and the standard library: its directory, with the slash at the end */
	size_t root_length;
};

/* rules: NULL: none. */
void owner__find(const char *path, const struct owner_rules *rules, struct owner *o);

/* Is it bin/NAME or exe/NAME of a gem? */
bool owner__is_script(const char *path);

/* Append "gem rack 3.1.8", "net (standard library)", "the application".  version: NULL: without it. */
void owner__add_text(uint8_t kind, const char *name, const char *version, struct text *out);

/* The part of a path behind the directory of the application that it is below; the path itself if it is below none. */
const char *owner__short_path(const char *path, const struct owner_rules *rules);

/* The same, and of a file of a gem what begins with the gem: "rack-3.1.8/lib/rack/runtime.rb". */
const char *owner__short_place(const char *path, const struct owner_rules *rules);

#endif /* EXTPROF_OWNER_H */
