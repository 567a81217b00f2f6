/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cli/daemon_stuck.h"
#include "cli/options.h"
#include "options/time_point.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

/* A trigger that begins so is the daemon's own. */
#define STUCK "stuck"

/* Is one of the modes of waits? */
static bool has_waits(const char *modes)
{
	return strstr(modes, "wall") || strstr(modes, "offcpu") || strstr(modes, "gvl");
}

int daemon_stuck__parse(const char *text, uint64_t *length)
{
	static const char begin[] = STUCK ">";
	struct time_point time;

	if (strncmp(text, begin, strlen(begin)) || value__time_point(text + strlen(begin), &time) || time.kind != TIME_AFTER)
		return -EINVAL;
	*length = time.ns;
	return *length >= STUCK_LEAST && *length <= STUCK_MOST ? 0 : -EINVAL;
}

/* Take one of the list, of that length. */
static error_t take_trigger(struct options *o, const char *text, size_t length, struct argp_state *state)
{
	size_t used = strlen(o->marks);
	uint64_t time;

	if (strncmp(text, STUCK, strlen(STUCK))) {
		if (length + 2 > sizeof(o->marks) - used)
			FAIL("--trigger: the triggers are too long together");
		sprintf(o->marks + used, "%s%.*s", used ? "," : "", (int)length, text);
		return 0;
	}
	if (*o->stuck)
		FAIL("--trigger %.*s: there is %s already", (int)length, text, o->stuck);
	if (length < sizeof(o->stuck))
		sprintf(o->stuck, "%.*s", (int)length, text);
	if (daemon_stuck__parse(o->stuck, &time))
		FAIL("--trigger %.*s: it is stuck>30s, with a time from 1 s to a day", (int)length, text);
	return 0;
}

/* One is the daemon's own, and its recording has the others. */
static error_t take_triggers(struct options *o, struct argp_state *state)
{
	const char *text = o->recording.triggers;
	error_t err = 0;

	for (size_t length; text && *text && !err; text += length + (text[length] == ',')) {
		length = strcspn(text, ",");
		err = take_trigger(o, text, length, state);
	}
	o->recording.triggers = *o->marks ? o->marks : NULL;
	return err;
}

static error_t finish(struct options *o, struct argp_state *state)
{
	struct extprof_error e = { .size = sizeof(e) };
	error_t err = take_triggers(o, state);
	const char *keep = o->values[OPTION_KEEP_FOR].text;

	if (err)
		return err;
	/* 7 would be seconds, and whoever means days would lose all that there is. */
	if (o->values[OPTION_KEEP_FOR].given && !keep[strspn(keep, "0123456789.")])
		FAIL("--keep-for: %s of what?  7d, 12h or 90m", keep);
	if (o->values[OPTION_METRICS_LABEL].given && !o->values[OPTION_METRICS].given)
		FAIL("--metrics-label is for --metrics");

	o->recording.all = true;
	if (!o->recording.modes)
		o->recording.modes = EXTPROF_DAEMON_MODES_OUTSIDE ",alloc";
	/* Leaks are looked for by hand, in more detail. */
	if (!o->recording.alloc_interval && strstr(o->recording.modes, "alloc") && !strstr(o->recording.modes, "heap"))
		o->recording.alloc_interval = EXTPROF_DAEMON_ALLOC_INTERVAL << 20;
	if (!o->values[OPTION_BY_RATE].given)
		o->recording.rate = EXTPROF_DAEMON_RATE;
	/* Each wait would be a sample: thousands a second of a busy server. */
	if (!o->recording.waits && has_waits(o->recording.modes))
		o->recording.waits = "rate";
	if (!o->recording.rotate)
		o->recording.rotate = "1h";
	if (!o->file_count && options__add_file(o, EXTPROF_FOLDER))
		return ENOMEM;
	if (extprof_recording_check(&o->recording, &e))
		FAIL("%s", e.text);
	return 0;
}

const struct command_line command_line_daemon = {
	.command = OPTION_OF_DAEMON,
	.about = "Record all rubies of this machine all the time, into files of an hour each.",
	.verb = "profile",
	.arguments = "[FOLDER]",
	.examples =
		"  extprof daemon                               into " EXTPROF_FOLDER "\n"
		"  extprof daemon --keep-for 30d --keep-size 50G /srv/profiles\n"
		"  extprof report --since 02:50 --until 03:10   what was it doing in the night?\n",
	.notes =
		"It writes one recording after the other into FOLDER, by default " EXTPROF_FOLDER ", and removes old ones.  `extprof "
		"report' shows them by the time of the clock.  `systemctl enable --now extprof' starts it with the machine.\n"
		"\n"
		"SIGHUP has the configuration read again: a file ends, and the next one begins.  SIGTERM ends it.\n"
		"\n"
		"Exit status: 0 after SIGTERM or Ctrl-C; 64 usage or a wrong configuration, 70 internal error, 71 kernel without BPF or "
		"BTF, 73 FOLDER is not writable, 77 no permission.  See extprof(1).",
	.files_least = 0,
	.files_most = 1,
	.finish = finish,
};
