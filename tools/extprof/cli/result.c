/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/result.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/recorded.h"

static unsigned int rows_of(const struct options *o)
{
	return (unsigned int)options__number(o, OPTION_ROWS, EXTPROF_TOP_DEFAULT);
}

/* Write the profile, and replace what was there. */
static int write_output(const struct options *o, const struct output_choice *output, struct extprof_recording *r,
			struct output_file *file, struct extprof_error *e)
{
	struct extprof_write_options options = {
		.size = sizeof(options), .html = output->html, .top = rows_of(o), .unit = o->values[OPTION_UNIT].text,
		.gzip = recorded__is_gzip(output->file),
	};
	int err = extprof_recording_write(r, output->format, &options, file->stream, e);

	if (!err)
		return output_file__commit(file, e);
	if (e->code == EXTPROF_OUTPUT)
		output_file__failed(file, -err, e);
	output_file__discard(file);
	return err;
}

static bool writes_stdout(const struct options *o)
{
	for (unsigned int i = 0; i < o->output_count; i++)
		if (!strcmp(o->outputs[i].file, "-"))
			return true;
	return false;
}

static int write_summary(const struct options *o, struct extprof_recording *r, bool written,
			 struct extprof_error *e)
{
	/* Not into the profile. */
	bool apart = writes_stdout(o);
	FILE *to = apart ? stderr : stdout;
	struct extprof_write_options options = {
		.size = sizeof(options), .top = rows_of(o), .unit = o->values[OPTION_UNIT].text,
	};
	int fd = fileno(to), err;

	if (isatty(fd)) {
		const char *term = getenv("TERM");

		options.color = !getenv("NO_COLOR") && (!term || strcmp(term, "dumb"));
	}
	options.width = recorded__width_of(fd);
	err = extprof_recording_write(r, "summary", &options, to, e);
	if (err && e->code != EXTPROF_OUTPUT)
		return err;
	for (unsigned int i = 0; !err && written && !apart && i < o->output_count; i++)
		fprintf(to, "%s written to %s\n", o->outputs[i].format, o->outputs[i].file);
	if (fflush(to) && !err)
		err = -errno;
	if (err)
		message__set(e, EXTPROF_OUTPUT, -err, "cannot write the tables to %s: %s",
			     apart ? "standard error" : "standard output", strerror(-err));
	return err;
}

/* The length of the part of the given name with which the names of files of --rotate begin. */
static size_t base_length(const char *name)
{
	const char *suffix = strrchr(name, '.');

	return suffix ? (size_t)(suffix - name) : strlen(name);
}

/* The file that was written meanwhile. */
static int show_recording(const struct options *o, const struct extprof_recording *r, struct extprof_error *e)
{
	struct extprof_recording_files files = { .size = sizeof(files) };
	char name[PATH_MAX];
	uint64_t samples;

	if (extprof_recording_file_status(r, &samples, e))
		return message__fail(e);
	extprof_recording_files(r, &files);
	extprof_clean(name, sizeof(name), o->recording_file);
	if (!samples) {
		fprintf(stderr, "extprof: %s is not written: nothing would be in it\n", name);
		return STATUS_NOTHING;
	}
	if (o->recording.triggers && files.made == files.removed) {
		fprintf(stderr, "extprof: no trigger fired: nothing is kept\n");
		return STATUS_NOTHING;
	}
	if (options__has(o, OPTION_QUIET))
		return STATUS_OK;
	if (o->recording.triggers)
		fprintf(stderr, "extprof: %" PRIu64 " trigger%s fired: %" PRIu64 " file%s %.*s-*.extprof kept\n", files.triggers,
			files.triggers == 1 ? "" : "s", files.made - files.removed, files.made - files.removed == 1 ? "" : "s", (int)base_length(name), name);
	else if (!o->recording.rotate)
		fprintf(stderr, "extprof: %" PRIu64 " samples recorded in %s\n", samples, name);
	else
		fprintf(stderr, "extprof: %" PRIu64 " samples recorded in %" PRIu64 " files %.*s-*.extprof; %" PRIu64 " older ones are "
			"removed\n", samples, files.made, (int)base_length(name), name, files.removed);
	return STATUS_OK;
}

int result__show(const struct options *o, struct extprof_recording *r, struct output_file *files)
{
	struct extprof_error e = { .size = sizeof(e) };
	int verdict, status;
	bool written;

	/* A summary would be of the last file alone. */
	if (o->recording.rotate || o->recording.triggers)
		return show_recording(o, r, &e);
	verdict = extprof_recording_verdict(r, &e);
	status = verdict < 0 || e.text[0] ? message__fail(&e) : STATUS_OK;
	written = verdict != 1 && verdict != -ENODATA;
	/* One that fails keeps no other from being written. */
	for (unsigned int i = 0; written && i < o->output_count; i++)
		if (write_output(o, &o->outputs[i], r, &files[i], &e))
			status = message__fail(&e);
	if (!options__has(o, OPTION_QUIET) && write_summary(o, r, written && status == STATUS_OK, &e))
		status = message__fail(&e);
	for (unsigned int i = 0; !written && i < o->output_count; i++) {
		fprintf(stderr, "extprof: %s is not written: nothing would be in it\n", files[i].name);
		if (status == STATUS_OK)
			status = STATUS_NOTHING;
	}
	if (o->recording_file && status == STATUS_OK)
		status = show_recording(o, r, &e);
	else if (o->recording_file)
		show_recording(o, r, &e);
	return status;
}

static int write_one_so_far(const struct options *o, unsigned int i, struct extprof_recording *r,
			    const struct output_file *last, const struct output_owner *owner, struct extprof_error *e)
{
	struct output_file file = { 0 };
	int err;

	/* A reader of a pipe would take both profiles for one. */
	if (!last->base)
		return message__set(e, EXTPROF_OUTPUT, ESPIPE, "the profile so far is not written: %s is "
				    "no file that can be replaced", last->name);
	err = output_file__open(&file, o->outputs[i].file, owner, e);
	if (err)
		return err;
	err = write_output(o, &o->outputs[i], r, &file, e);
	output_file__discard(&file);
	return err;
}

int result__write_so_far(const struct options *o, struct extprof_recording *r, const struct output_file *last,
			 const struct output_owner *owner, struct extprof_error *e)
{
	int err = extprof_recording_snapshot(r, e);

	if (!err && !o->output_count)
		return write_summary(o, r, false, e);
	for (unsigned int i = 0; !err && i < o->output_count; i++)
		err = write_one_so_far(o, i, r, &last[i], owner, e);
	return err;
}
