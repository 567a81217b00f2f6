/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of what is counted of samples, in user space. */
#ifndef EXTPROF_COUNTERS_H
#define EXTPROF_COUNTERS_H

#include "wire/sample.h"

void source_counters__add(struct source_counters *sum, const struct source_counters *c);
/* c has been added before. */
void source_counters__subtract(struct source_counters *sum, const struct source_counters *c);

#endif /* EXTPROF_COUNTERS_H */
