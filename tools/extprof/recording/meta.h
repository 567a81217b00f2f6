/* SPDX-License-Identifier: BSD-2-Clause */
/* struct report_meta in the table `meta`, and the sums of several of them. */
#ifndef EXTPROF_RECORDING_META_H
#define EXTPROF_RECORDING_META_H

#include "profile/report.h"
#include "recording/reader.h"
#include "recording/writer.h"

/* Write the fields of a mode, by its id.  0 or a negative errno, as recording_writer__why() says. */
int recording_meta__write(struct recording_writer *w, uint32_t mode, const struct report_meta *m);
/* Read the fields of a mode, without the account of samples. */
void recording_meta__read(struct recording_reader *r, uint32_t mode, struct report_meta *m);

/*
 * Add the fields of one recording to the sum of others, with the account of samples.  only: there are no others yet.
 * first: it began before all others.  Fields that were counted from the samples that were read stay as they are.
 */
void recording_meta__add(struct report_meta *sum, const struct report_meta *m, bool only, bool first);

#endif /* EXTPROF_RECORDING_META_H */
