/* SPDX-License-Identifier: BSD-2-Clause */
/* Results of a recording: the output, the tables, and why there is nothing. */
#ifndef EXTPROF_RESULT_H
#define EXTPROF_RESULT_H

#include "cli/options.h"
#include "cli/output_file.h"

/* Write what was recorded to the outputs and the tables.  Prints what fails.  Returns the exit status. */
int result__show(const struct options *o, struct extprof_recording *r, struct output_file *files);
/* Write the profile so far to the output files, which are replaced by it; without any the tables.
 * `last` are the open files for the end.  0 or -errno; the recording can go on in both cases. */
int result__write_so_far(const struct options *o, struct extprof_recording *r, const struct output_file *last,
			 const struct output_owner *owner, struct extprof_error *e);

#endif /* EXTPROF_RESULT_H */
