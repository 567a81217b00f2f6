/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/sampling_options.h"

#include <errno.h>

#include "cli/messages.h"
#include "cli/words.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

error_t sampling_options__parse(struct options *o, int key, char *arg, struct argp_state *state)
{
	error_t err;

	switch (key) {
	case 'r':
	case 'F':
		if (value__rate(arg, &o->recording.rate))
			FAIL("%s is no rate: 1 to %u per second, or with k", arg, EXTPROF_RATE_MAX);
		break;
	case OPTION_READER:
		o->recording.reader = arg;
		return options__check_word(key, "reader", arg, state);
	case OPTION_NONBLOCKING:
		o->recording.reader = "nonblocking";
		break;
	case OPTION_TIMER:
		o->recording.timer = arg;
		return options__check_word(key, "timer", arg, state);
	case OPTION_ALLOC_INTERVAL:
		if (value__size(arg, &o->recording.alloc_interval))
			FAIL("%s is no distance of samples: 1k to 1G bytes", arg);
		break;
	case 'd':
		if (value__duration(arg, &o->recording.duration))
			FAIL("%s is no duration: seconds, or with s, ms, m or h", arg);
		break;
	case 'm':
		if (!words__add(&o->modes, arg))
			break;
		argp_failure(state, STATUS_INTERNAL, ENOMEM, "cannot keep the options");
		return ENOMEM;
	default:
		err = mode_options__parse(o, key, arg, state);
		return err == ARGP_ERR_UNKNOWN ? selection_options__parse(&o->selection, key, arg, state) : err;
	}
	return 0;
}

error_t sampling_options__finish(struct options *o, const char *verb, struct argp_state *state)
{
	struct extprof_recording_options *r = &o->recording;
	error_t err;

	err = selection_options__finish(&o->selection, verb, o->command, state);
	if (!err)
		err = mode_options__finish(o, state);
	if (err)
		return err;
	if (r->alloc_interval && !words__has(o->modes, "alloc"))
		FAIL("--alloc-interval is for allocations: add --mode alloc");
	r->modes = o->modes;
	r->states = o->states;
	r->syscalls = o->syscalls;
	r->events = o->events;
	selection_options__fill(&o->selection, r);
	return 0;
}
