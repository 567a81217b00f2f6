/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/reader_notice.h"

#include <stdio.h>

void reader_notice__print(const struct extprof_recording *recording)
{
	const char *why, *reader = extprof_recording_reader(recording, &why);

	if (why)
		fprintf(stderr, "extprof: %s: the memory of the processes is read from outside instead (--reader %s)\n",
			why, reader);
}
