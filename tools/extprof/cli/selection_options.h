/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that choose processes: the same for all commands that record. */
#ifndef EXTPROF_SELECTION_OPTIONS_H
#define EXTPROF_SELECTION_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/values.h"
#include "extprof.h"

enum {
	OPTION_NO_SUBPROCESSES = 0x300,
	OPTION_USER,
	OPTION_NAME,
	OPTION_CGROUP,
	OPTION_KEEP_ROOT,
};

/* Zero-initialise. */
struct selection_options {
	struct pid_list pids;
	bool all, by_user, keep_root;
	bool subprocesses, subprocesses_said;	/* before the end of the options: only if it was said */
	uid_t user;
	const char *name;	/* of the command line */
	char *cgroup;
};

/* Rows of a table for argp. */
#define SELECTION_OPTIONS \
	{ "pid", 'p', "PID", 0, "the process with this pid; 77,78 or -p 77 -p 78 are several", 0 }, \
	{ "all", 'a', NULL, 0, "every ruby of this machine, also those that start later", 0 }, \
	{ "subprocesses", 's', NULL, 0, "what these processes fork and start, too " \
	  "(default with COMMAND)", 0 }, \
	{ "no-subprocesses", OPTION_NO_SUBPROCESSES, NULL, 0, "only COMMAND itself", 0 }, \
	{ "user", OPTION_USER, "USER", 0, "of these processes only those of USER: a name or a number", 0 }, \
	{ "name", OPTION_NAME, "PATTERN", 0, "of these processes only those whose program or script has " \
	  "a name like PATTERN: puma*", 0 }, \
	{ "cgroup", OPTION_CGROUP, "PATH", 0, "of these processes only those in the cgroup PATH below " \
	  "/sys/fs/cgroup: a container, pod or unit", 0 }, \
	{ "keep-root", OPTION_KEEP_ROOT, NULL, 0, "under sudo, run COMMAND as root too; " \
	  "without this it runs as the user who called sudo", 0 }

/* As a parser of argp: ARGP_ERR_UNKNOWN if the option is none of these. */
error_t selection_options__parse(struct selection_options *o, int key, char *arg, struct argp_state *state);
/* All options are known: is something chosen, and only once?  `verb` is for messages, command: NULL none. */
error_t selection_options__finish(struct selection_options *o, const char *verb, char *const *command,
				  struct argp_state *state);
/* What the library is told.  It points into *o. */
void selection_options__fill(const struct selection_options *o, struct extprof_recording_options *r);
void selection_options__free(struct selection_options *o);

#endif /* EXTPROF_SELECTION_OPTIONS_H */
