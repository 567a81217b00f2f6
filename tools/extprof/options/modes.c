/* SPDX-License-Identifier: BSD-2-Clause */
#include "options/modes.h"

#include <string.h>

const char *option__implied_modes(const struct extprof_recording_options *o, char to[static OPTION_MODES_SIZE])
{
	const struct {
		const char *mode;
		bool implied;
	} modes[] = {
		{ "syscall", o->syscalls || o->syscall_latency },
		{ "event", o->event_count },
		{ "wall", o->states || o->waits || o->files || o->holders || o->wakers },
		{ "alloc", o->alloc_interval },
	};

	*to = '\0';
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!modes[i].implied)
			continue;
		strcat(to, *to ? "," : "");
		strcat(to, modes[i].mode);
	}
	return *to ? to : NULL;
}
