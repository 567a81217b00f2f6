/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/trigger_lines.h"

#include <inttypes.h>
#include <stdio.h>

void trigger_lines__tell(const struct extprof_recording *recording, uint64_t *told, const char *before)
{
	struct extprof_recording_files files = { .size = sizeof(files) };

	if (extprof_recording_files(recording, &files) || files.triggers == *told)
		return;
	fprintf(stderr, "%sextprof: trigger: %s", before, files.trigger);
	if (files.triggers - *told > 1)
		fprintf(stderr, ", and %" PRIu64 " before it", files.triggers - *told - 1);
	fputs("\n", stderr);
	*told = files.triggers;
}
