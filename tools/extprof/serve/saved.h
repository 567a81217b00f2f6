/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that a page offers to save. */
#ifndef EXTPROF_SERVE_SAVED_H
#define EXTPROF_SERVE_SAVED_H

#include <stdbool.h>

struct serve_saved {
	const char *format;	/* as of `extprof report' */
	const char *suffix;	/* ".speedscope.json" */
	const char *type;	/* of HTTP */
	bool gzip;
	const char *opens;	/* what opens it */
};

/* All, the last one without a format. */
extern const struct serve_saved serve_saved[];
/* NULL: there is none of that name. */
const struct serve_saved *serve_saved__by_name(const char *format);

#endif /* EXTPROF_SERVE_SAVED_H */
