/* SPDX-License-Identifier: BSD-2-Clause */
/* The exit statuses of extprof. */
#ifndef EXTPROF_EXIT_STATUS_H
#define EXTPROF_EXIT_STATUS_H

/* Exit statuses, documented in extprof(1).  Those of sysexits.h where one
 * fits, so that they do not collide with those of a profiled command's own. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_NOTHING = 1,	/* nothing was recorded, though nothing failed; diff --fail-above: something has grown */
	STATUS_USAGE = 64,
	STATUS_NOT_RUBY = 65,
	STATUS_NO_PROCESS = 66,
	STATUS_NOT_SENT = 68,	/* something that was to be sent was not */
	STATUS_NO_INTERFACE = 69,
	STATUS_INTERNAL = 70,
	STATUS_NO_BPF = 71,
	STATUS_OUTPUT = 73,
	STATUS_RECORDING = 74,
	STATUS_NOT_READY = 75,
	STATUS_VERSION = 76,
	STATUS_PERMISSION = 77,
	STATUS_COMMAND = 127,
};

#endif /* EXTPROF_EXIT_STATUS_H */
