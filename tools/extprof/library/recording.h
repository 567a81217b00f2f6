/* SPDX-License-Identifier: BSD-2-Clause */
/* What other files of the library need of a recording. */
#ifndef EXTPROF_LIBRARY_RECORDING_H
#define EXTPROF_LIBRARY_RECORDING_H

#include "engine/engine.h"
#include "extprof.h"

/* What extprof_recording_figures() gave last. */
struct figures_view;

struct engine *recording__engine(const struct extprof_recording *r);
struct figures_view **recording__figures(struct extprof_recording *r);
/* NULL is accepted. */
void figures_view__free(struct figures_view *v);

#endif /* EXTPROF_LIBRARY_RECORDING_H */
