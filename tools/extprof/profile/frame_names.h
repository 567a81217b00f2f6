/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of frames of code, from the lists of symbols that their codes name. */
#ifndef EXTPROF_FRAME_NAMES_H
#define EXTPROF_FRAME_NAMES_H

#include "frames/frame_table.h"
#include "ruby/symbols.h"

/*
 * Give one frame, or all, the names that are known now; a frame that is no code has its own.  Names can have changed
 * since the last call; texts of before stay in memory until frame_table__free().  0 or -ENOMEM.
 */
int frame_names__take(struct frame_table *t, uint32_t number, const struct symbol_table *ruby);
int frame_names__take_all(struct frame_table *t, const struct symbol_table *ruby);

#endif /* EXTPROF_FRAME_NAMES_H */
