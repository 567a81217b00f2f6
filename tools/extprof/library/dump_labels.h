/* SPDX-License-Identifier: BSD-2-Clause */
/* The labels of one stack of a dump. */
#ifndef EXTPROF_DUMP_LABELS_H
#define EXTPROF_DUMP_LABELS_H

#include "extprof.h"
#include "library/dump_parts.h"
#include "ruby/symbols.h"

/* Those of a set, 0 none.  0 or -ENOMEM. */
int dump_labels__build(struct dump_parts *parts, struct symbols *symbols, uint32_t set,
		       struct extprof_dump_fiber *fiber);

#endif /* EXTPROF_DUMP_LABELS_H */
