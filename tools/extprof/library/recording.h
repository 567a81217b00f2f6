/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording, for the files of the library that are about one. */
#ifndef EXTPROF_LIBRARY_RECORDING_H
#define EXTPROF_LIBRARY_RECORDING_H

#include "engine/engine.h"
#include "extprof.h"
#include "library/samples.h"
#include "library/settings.h"

/* The last result of extprof_recording_figures(). */
struct figures_view;

/* A recording goes through these in this order. */
enum recording_state {
	RECORDING_CREATED,
	RECORDING_OPEN,
	RECORDING_BEGUN,
	RECORDING_FINISHED,
};

struct extprof_recording {
	struct engine *engine;
	struct extprof_recording_options options;	/* pointers: as below */
	struct recording_settings settings;
	char *ended;
	enum recording_state state;
	bool reportable;	/* finished with samples, or after a snapshot */
	struct reports reports;	/* the last ones that were made, as `made` says; none if `count` is 0 */
	struct report_request made;
	uint64_t log_at;	/* CLOCK_MONOTONIC, ns */
	struct progress logged;
	struct figures_view *figures;	/* NULL: nobody has asked */
	struct samples *samples;	/* NULL: nobody wants them as they come */
	extprof_loss_fn each_loss;	/* NULL: nobody wants to know of losses as they come */
	void *loss_context;
};

/* NULL is accepted. */
void figures_view__free(struct figures_view *v);

#endif /* EXTPROF_LIBRARY_RECORDING_H */
