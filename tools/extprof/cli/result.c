/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/messages.h"

static unsigned int terminal_width(int fd)
{
	struct winsize w;

	return ioctl(fd, TIOCGWINSZ, &w) ? 0 : w.ws_col;
}

/* Write the profile, and replace what was there. */
static int write_output(const struct options *o, struct extprof_recording *r, struct output_file *file,
			struct extprof_error *e)
{
	struct extprof_write_options options = { .size = sizeof(options), .html = o->html, .top = o->top, .unit = o->unit };
	int err = extprof_recording_write(r, o->format, &options, file->stream, e);

	if (!err)
		return output_file__commit(file, e);
	if (e->code == EXTPROF_OUTPUT)
		output_file__failed(file, -err, e);
	output_file__discard(file);
	return err;
}

static int write_summary(const struct options *o, struct extprof_recording *r, bool written,
			 struct extprof_error *e)
{
	/* Not into the profile. */
	bool apart = o->file && !strcmp(o->file, "-");
	FILE *to = apart ? stderr : stdout;
	struct extprof_write_options options = { .size = sizeof(options), .top = o->top, .unit = o->unit };
	int fd = fileno(to), err;

	if (isatty(fd)) {
		options.color = !getenv("NO_COLOR");
		options.width = terminal_width(fd);
	}
	err = extprof_recording_write(r, "summary", &options, to, e);
	if (err && e->code != EXTPROF_OUTPUT)
		return err;
	if (!err && written && !apart)
		fprintf(to, "%s written to %s\n", o->format, o->file);
	if (fflush(to) && !err)
		err = -errno;
	if (err)
		message__set(e, EXTPROF_OUTPUT, -err, "cannot write the tables to %s: %s",
			     apart ? "standard error" : "standard output", strerror(-err));
	return err;
}

int result__show(const struct options *o, struct extprof_recording *r, struct output_file *file)
{
	struct extprof_error e = { .size = sizeof(e) };
	int verdict = extprof_recording_verdict(r, &e);
	int status = verdict < 0 || e.text[0] ? message__fail(&e) : STATUS_OK;
	bool written = o->file && verdict != 1 && verdict != -ENODATA;

	if (written && write_output(o, r, file, &e))
		return message__fail(&e);
	if (!o->quiet && write_summary(o, r, written, &e))
		status = message__fail(&e);
	if (o->file && !written) {
		fprintf(stderr, "extprof: %s is not written: nothing would be in it\n", file->name);
		if (status == STATUS_OK)
			status = STATUS_NOTHING;
	}
	return status;
}

int result__write_so_far(const struct options *o, struct extprof_recording *r, const struct output_file *last,
			 const struct output_owner *owner, struct extprof_error *e)
{
	struct output_file file = { 0 };
	int err;

	err = extprof_recording_snapshot(r, e);
	if (err)
		return err;
	if (!o->file)
		return write_summary(o, r, false, e);
	/* What reads a pipe would take both profiles for one. */
	if (!last->base)
		return message__set(e, EXTPROF_OUTPUT, ESPIPE, "the profile so far is not written: %s is "
				    "no file that can be replaced", last->name);
	err = output_file__open(&file, o->file, owner, e);
	if (err)
		return err;
	err = write_output(o, r, &file, e);
	output_file__discard(&file);
	return err;
}
