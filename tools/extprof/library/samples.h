/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of a recording for a function of the caller's, as they come. */
#ifndef EXTPROF_LIBRARY_SAMPLES_H
#define EXTPROF_LIBRARY_SAMPLES_H

#include "engine/engine.h"
#include "extprof.h"

struct samples;

/* A sink of the engine, which the caller frees after it.  0 or -errno with *d. */
int samples__create(struct samples **samples, struct engine *e, extprof_sample_fn each, void *context, struct diag *d);
/* NULL is accepted. */
void samples__free(struct samples *s);
/* Why the function is called no more; 0: it is.  NULL is accepted. */
int samples__status(const struct samples *s, struct extprof_error *error);

#endif /* EXTPROF_LIBRARY_SAMPLES_H */
