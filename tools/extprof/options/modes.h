/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that belong to modes. */
#ifndef EXTPROF_OPTIONS_MODES_H
#define EXTPROF_OPTIONS_MODES_H

#include "extprof.h"

#define OPTION_MODES_SIZE 64

/* The modes that the options are about, if none is named: "syscall,wall".  NULL: none; else `to`. */
const char *option__implied_modes(const struct extprof_recording_options *o, char to[static OPTION_MODES_SIZE]);

#endif /* EXTPROF_OPTIONS_MODES_H */
