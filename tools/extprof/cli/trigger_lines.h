/* SPDX-License-Identifier: BSD-2-Clause */
/* Triggers that fired, on stderr. */
#ifndef EXTPROF_TRIGGER_LINES_H
#define EXTPROF_TRIGGER_LINES_H

#include <stdint.h>

#include "extprof.h"

/*
 * Print the last trigger that fired, and how many others fired since the last call.  *told: how many were told, 0 at first.
 * `before`: what is printed before that, such as what clears a live line.
 */
void trigger_lines__tell(const struct extprof_recording *recording, uint64_t *told, const char *before);

#endif /* EXTPROF_TRIGGER_LINES_H */
