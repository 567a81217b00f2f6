/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/selection_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static error_t out_of_memory(struct argp_state *state)
{
	argp_failure(state, STATUS_INTERNAL, ENOMEM, "cannot keep the options");
	return ENOMEM;
}

static error_t parse_cgroup(struct selection_options *o, const char *arg, struct argp_state *state)
{
	char *cgroup = NULL;
	int err = value__cgroup(arg, &cgroup);

	if (err == -ENOMEM)
		return out_of_memory(state);
	if (err)
		FAIL("\"%s\" is no path of a cgroup: a directory below /sys/fs/cgroup, without . and ..", arg);
	free(o->cgroup);
	o->cgroup = cgroup;
	return 0;
}

error_t selection_options__parse(struct selection_options *o, int key, char *arg, struct argp_state *state)
{
	const char *wrong = arg;
	int err;

	switch (key) {
	case 'p':
		err = value__pids(arg, &o->pids, &wrong);
		if (err == -ENOMEM)
			return out_of_memory(state);
		if (err)
			FAIL("\"%.*s\" is no pid", (int)strcspn(wrong, ","), wrong);
		break;
	case 'a':
		o->all = true;
		break;
	case 's':
	case OPTION_NO_SUBPROCESSES:
		o->subprocesses = key == 's';
		o->subprocesses_said = true;
		break;
	case OPTION_USER:
		if (value__user(arg, &o->user))
			FAIL("there is no user \"%s\" here", arg);
		o->by_user = true;
		break;
	case OPTION_NAME:
		if (!*arg)
			FAIL("the pattern of --name is empty: nothing has such a name");
		o->name = arg;
		break;
	case OPTION_CGROUP:
		return parse_cgroup(o, arg, state);
	case OPTION_KEEP_ROOT:
		o->keep_root = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

error_t selection_options__finish(struct selection_options *o, const char *verb, char *const *command,
				  struct argp_state *state)
{
	/* Conditions alone choose among all. */
	if (!o->pids.count && !command && (o->by_user || o->name || o->cgroup))
		o->all = true;
	if (!o->pids.count && !command && !o->all)
		FAIL("what is to be %sd? -p PID, -a, or -- COMMAND", verb);
	if (o->pids.count && command)
		FAIL("-p says what to %s, and so does the command %s: leave one of them out", verb, command[0]);
	if (!o->subprocesses_said)
		o->subprocesses = command != NULL;
	return 0;
}

void selection_options__fill(const struct selection_options *o, struct extprof_recording_options *r)
{
	r->pids = o->pids.pids;
	r->pid_count = o->pids.count;
	r->all = o->all;
	r->subprocesses = o->subprocesses;
	r->by_user = o->by_user;
	r->user = o->user;
	r->name = o->name;
	r->cgroup = o->cgroup;
}

void selection_options__free(struct selection_options *o)
{
	pid_list__free(&o->pids);
	free(o->cgroup);
	o->cgroup = NULL;
}
