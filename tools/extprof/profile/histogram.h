/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of a histogram of lengths. */
#ifndef EXTPROF_PROFILE_HISTOGRAM_H
#define EXTPROF_PROFILE_HISTOGRAM_H

#include "wire/histogram.h"

/* `percent` % of the lengths are no longer than this; longest: the largest of them.  0: there are none. */
uint64_t histogram__percentile(const struct histogram *h, double percent, uint64_t longest);
uint64_t histogram__count(const struct histogram *h);
void histogram__add(struct histogram *to, const struct histogram *h);
/* The lengths that are in `h` and were not in `before` (NULL: empty). */
void histogram__difference(struct histogram *to, const struct histogram *h, const struct histogram *before);

#endif /* EXTPROF_PROFILE_HISTOGRAM_H */
