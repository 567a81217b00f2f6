/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/mode_options.h"

#include <errno.h>

#include "cli/messages.h"
#include "cli/words.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static error_t add(char **list, const char *arg, struct argp_state *state)
{
	if (!words__add(list, arg))
		return 0;
	argp_failure(state, STATUS_INTERNAL, ENOMEM, "cannot keep the options");
	return ENOMEM;
}

static error_t add_event(struct options *o, const char *arg, struct argp_state *state)
{
	if (o->recording.event_count >= EXTPROF_EVENTS_MAX)
		FAIL("at most %u events can be recorded together", EXTPROF_EVENTS_MAX);
	o->events[o->recording.event_count++] = arg;
	return 0;
}

error_t mode_options__parse(struct options *o, int key, char *arg, struct argp_state *state)
{
	unsigned long period;

	switch (key) {
	case OPTION_SYSCALL:
		return add(&o->syscalls, arg, state);
	case 'e':
		return add_event(o, arg, state);
	case 'c':
		if (value__number(arg, 1000000000, &period))
			FAIL("%s is no number of events: 1 to 1000000000", arg);
		o->recording.event_period = period;
		break;
	case OPTION_LATENCY:
		o->recording.syscall_latency = true;
		break;
	case OPTION_STATE:
		return add(&o->states, arg, state);
	case OPTION_WAITS:
		o->recording.waits = arg;
		break;
	case OPTION_FD:
		o->recording.files = true;
		break;
	case OPTION_HOLDER:
		o->recording.holders = true;
		break;
	case OPTION_WAKER:
		o->recording.wakers = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool has_states(const char *mode)
{
	struct extprof_mode_info info = { .size = sizeof(info) };

	return !extprof_mode_info(mode, &info) && info.has_states;
}

/* An option of the mode was given: that is the mode, if none was named. */
static bool is_implied(struct options *o, const char *mode, bool any_named)
{
	/* Without memory the mode is missing, which is said. */
	if (!any_named && !words__has(o->modes, mode))
		words__add(&o->modes, mode);
	return words__has(o->modes, mode);
}

error_t mode_options__finish(struct options *o, struct argp_state *state)
{
	struct extprof_recording_options *r = &o->recording;
	bool named = o->modes != NULL;

	if (o->syscalls && !is_implied(o, "syscall", named))
		FAIL("--syscall is of mode syscall, which is not among those of --mode");
	if (r->syscall_latency && !is_implied(o, "syscall", named))
		FAIL("--latency is of mode syscall, which is not among those of --mode");
	if (r->event_count && !is_implied(o, "event", named))
		FAIL("-e is of mode event, which is not among those of --mode");
	if (!r->event_count && words__has(o->modes, "event"))
		FAIL("mode event: which one? -e page-faults, -e FILE:SYMBOL, -e CATEGORY:NAME, ...");
	if (r->event_period && !r->event_count)
		FAIL("-c says of how many events one is a sample: name the event with -e");
	if (o->states && !words__any(o->modes, has_states) && !is_implied(o, "wall", named))
		FAIL("--state is of the modes wall, offcpu and gvl: none of them is among those of --mode");
	if (r->waits && !words__any(o->modes, has_states) && !is_implied(o, "wall", named))
		FAIL("--waits is of the modes wall, offcpu and gvl: none of them is among those of --mode");
	if ((r->files || r->holders || r->wakers) && !words__any(o->modes, has_states) && !is_implied(o, "wall", named))
		FAIL("%s is of the modes wall, offcpu and gvl: none of them is among those of --mode",
		     r->files ? "--fd" : r->holders ? "--holder" : "--waker");
	return 0;
}
