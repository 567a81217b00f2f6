/* SPDX-License-Identifier: BSD-2-Clause */
/* struct extprof_recorded, for those who make something of it. */
#ifndef EXTPROF_LIBRARY_RECORDED_H
#define EXTPROF_LIBRARY_RECORDED_H

#include "extprof.h"
#include "recording/profile.h"

struct recording_reader *recorded__reader(const struct extprof_recorded *r);

/* Add conditions.  0 or negative errno with *error. */
int recorded__add_filters(struct recording_filter *f, const char *const *filters, size_t count,
			  struct extprof_error *error);

#endif /* EXTPROF_LIBRARY_RECORDED_H */
