/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/mode_options.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "source/event_spec.h"
#include "source/mode.h"
#include "source/syscall_set.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

/* Where the mode is in the list; -1: it was not asked for. */
static int place_of(const struct options *o, const struct mode *mode)
{
	for (uint32_t i = 0; i < o->settings.mode_count; i++)
		if (o->settings.modes[i] == mode)
			return (int)i;
	return -1;
}

static error_t parse_syscalls(struct options *o, const char *arg, struct argp_state *state)
{
	struct text why = { 0 };
	int err = syscall_set__parse(&o->settings.syscalls, arg, &why);

	if (err)
		argp_error(state, "%s", text__string(&why));
	text__free(&why);
	o->syscalls_chosen = true;
	return -err;
}

static error_t parse_event(struct options *o, const char *arg, struct argp_state *state)
{
	uint32_t *count = &o->settings.event_count;
	struct text why = { 0 };
	int err;

	if (*count >= EVENTS_MAX)
		FAIL("at most %u events can be recorded together", EVENTS_MAX);
	err = event_spec__parse(&o->events[*count], arg, &why);
	if (err)
		argp_error(state, "%s", text__string(&why));
	else
		++*count;
	text__free(&why);
	o->settings.events = o->events;
	return -err;
}

error_t mode_options__parse(struct options *o, int key, char *arg, struct argp_state *state)
{
	unsigned long period;

	switch (key) {
	case OPTION_SYSCALL:
		return parse_syscalls(o, arg, state);
	case 'e':
		return parse_event(o, arg, state);
	case 'c':
		if (value__number(arg, 1000000000, &period))
			FAIL("%s is no number of events: 1 to 1000000000", arg);
		o->settings.event_period = period;
		break;
	case OPTION_LATENCY:
		o->settings.syscall_latency = true;
		break;
	case OPTION_STATE:
		if (states__parse(arg, &o->settings.states))
			FAIL("%s is no list of states: running, runnable, gvl, io, sleep, mutex, queue, condvar, join, "
			     "process, ractor, native, fault or stopped, with commas between", arg);
		break;
	case OPTION_WAITS:
		if (!strcmp(arg, "each"))
			o->settings.waits = WAITS_EACH;
		else if (!strcmp(arg, "rate"))
			o->settings.waits = WAITS_RATE;
		else
			FAIL("%s is not one of each and rate: which waits are samples", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool has_states(const struct options *o)
{
	for (uint32_t i = 0; i < o->settings.mode_count; i++)
		if (o->settings.modes[i]->has_states)
			return true;
	return false;
}

/* An option of the mode was given: that is the mode, if none was named. */
static bool implied(struct options *o, const struct mode *mode, bool any_named)
{
	if (!any_named && place_of(o, mode) < 0)
		o->settings.modes[o->settings.mode_count++] = mode;
	return place_of(o, mode) >= 0;
}

error_t mode_options__finish(struct options *o, struct argp_state *state)
{
	bool named = o->settings.mode_count;

	if (o->syscalls_chosen && !implied(o, &mode_syscall, named))
		FAIL("--syscall is of mode syscall, which is not among those of --mode");
	if (o->settings.syscall_latency && !implied(o, &mode_syscall, named))
		FAIL("--latency is of mode syscall, which is not among those of --mode");
	if (o->settings.event_count && !implied(o, &mode_event, named))
		FAIL("-e is of mode event, which is not among those of --mode");
	if (!o->settings.event_count && place_of(o, &mode_event) >= 0)
		FAIL("mode event: which one? -e page-faults, -e FILE:SYMBOL, -e CATEGORY:NAME, ...");
	if (o->settings.event_period && !o->settings.event_count)
		FAIL("-c says of how many events one is a sample: name the event with -e");
	if (o->settings.states && !has_states(o) && !implied(o, &mode_wall, named))
		FAIL("--state is of the modes wall, offcpu and gvl: none of them is among those of --mode");
	if (o->settings.waits && !has_states(o) && !implied(o, &mode_wall, named))
		FAIL("--waits is of the modes wall, offcpu and gvl: none of them is among those of --mode");
	if (o->settings.syscall_latency)
		o->settings.modes[place_of(o, &mode_syscall)] = &mode_syscall_latency;
	return 0;
}
