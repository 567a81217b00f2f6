/* SPDX-License-Identifier: BSD-2-Clause */
/* Triggers that fired, on stderr. */
#ifndef EXTPROF_TRIGGER_LINES_H
#define EXTPROF_TRIGGER_LINES_H

#include <stdint.h>

#include "extprof.h"

/* Tell the last one that fired, and how many others have since.  *told: how many were told, 0 at first.  `before`: text that goes before it. */
void trigger_lines__tell(const struct extprof_recording *recording, uint64_t *told, const char *before);

#endif /* EXTPROF_TRIGGER_LINES_H */
