/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that is loaded when something needs it, and may not be installed. */
#ifndef EXTPROF_DYNAMIC_H
#define EXTPROF_DYNAMIC_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct dynamic {
	const char *name, *file, *package, *least;	/* package: of Debian; least: the version that has all symbols */
	const char *const *symbols;
	size_t count;
};

/* Load it, and put the addresses of its symbols into `to`, a structure of so many pointers in their order.  It stays until the
 * program ends.  false: it is not there, or has not all of them, and `why` says so. */
static inline bool dynamic__load(const struct dynamic *d, void *to, char *why, size_t size)
{
	void *handle = dlopen(d->file, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		snprintf(why, size, "%s cannot be loaded (%s): install it, Debian's package is %s", d->name, dlerror(), d->package);
		return false;
	}
	for (size_t i = 0; i < d->count; i++) {
		void *found = dlsym(handle, d->symbols[i]);

		if (!found) {
			snprintf(why, size, "%s has no %s: it is too old, %s or newer is needed", d->file, d->symbols[i], d->least);
			dlclose(handle);
			return false;
		}
		memcpy((char *)to + i * sizeof(found), &found, sizeof(found));
	}
	return true;
}

#endif /* EXTPROF_DYNAMIC_H */
