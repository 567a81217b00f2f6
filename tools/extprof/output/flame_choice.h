/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the frames of a report that are in the file of a flame graph, so that the file has some MB at most.
 *
 * A zoom makes a frame as wide as the window.  A frame that has less than one part in FLAME_SHARE of the samples of the
 * frame below it is narrower than a quarter of a pixel then, on a screen of 4,000 pixels.  Nobody can see it, so it is
 * left out with all frames above it, unless it is a thread or another group.  The other frames are taken by their number of samples, those near the root first,
 * until names and numbers fill FLAME_DATA_MAX.  Samples of frames that are left out stay in the width of the frame
 * below, and are counted there.
 *
 * Viewers without scripts see the frames that are drawn in the file: those that are wide
 * enough without a zoom, the widest first, until they fill FLAME_DRAWN_MAX.
 */
#ifndef EXTPROF_FLAME_CHOICE_H
#define EXTPROF_FLAME_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "profile/report.h"

#define FLAME_SHARE 20000u
#define FLAME_DATA_MAX (3u << 20)	/* bytes */
#define FLAME_DRAWN_MAX (3u << 20)	/* bytes, about */
#define FLAME_NONE UINT32_MAX
/* A kind of its own, beside those of frames: Ruby code of the application, where there is some of gems, too. */
#define FLAME_APPLICATION FRAME_KINDS
#define FLAME_KINDS (FRAME_KINDS + 1)

struct flame_choice {
	/* By number of the node in the report. */
	uint32_t *number;	/* its number in the file: preorder; FLAME_NONE: left out */
	bool *drawn;
	uint64_t *hidden;	/* samples of those of its children that are left out */
	/* By number of the label in the report. */
	uint32_t *label;	/* its number in the file, or FLAME_NONE */
	struct text labels;	/* as JSON: ["name","place",kind],... */
	bool tells_application;
	uint32_t count;		/* nodes in the file */
	uint32_t rows;		/* that are drawn */
	uint32_t hidden_nodes;
	uint64_t hidden_samples;
};

/* min_total: a frame of fewer samples is not drawn without a zoom.  0 or -ENOMEM. */
int flame_choice__make(struct flame_choice *c, const struct report *r, double min_total);
void flame_choice__free(struct flame_choice *c);
/* The kind by which a label has its colour, below FLAME_KINDS. */
int flame_choice__kind(const struct flame_choice *c, const struct report *r, const struct report_label *l);

#endif /* EXTPROF_FLAME_CHOICE_H */
