/* SPDX-License-Identifier: BSD-2-Clause */
/* --trigger, from text. */
#ifndef EXTPROF_LIBRARY_TRIGGERS_H
#define EXTPROF_LIBRARY_TRIGGERS_H

#include "engine/settings.h"
#include "library/error.h"

/*
 * The triggers of "gvl>50%,exit", and for how long files are kept.  The modes of the settings are known.  0 or -EINVAL.
 */
int triggers__set(struct settings *s, const struct extprof_recording_options *o, struct extprof_error *error);

#endif /* EXTPROF_LIBRARY_TRIGGERS_H */
