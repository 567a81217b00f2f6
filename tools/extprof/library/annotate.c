/* SPDX-License-Identifier: BSD-2-Clause */
/* A source file beside what its lines took. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/annotate.h"
#include "base/text.h"
#include "library/error.h"
#include "library/recorded.h"
#include "library/settings.h"
#include "process/target_file.h"
#include "recording/account.h"
#include "recording/sources.h"

/* Look up the working directories of so many processes at most. */
#define CWDS_MAX 64

struct source {
	struct recording_source_file kept;	/* what the recording has of it */
	bool known;		/* it has something */
	char *text;		/* that is shown; of `kept` or of this machine's file */
	size_t length;
	char *own;		/* the text of the file, to be freed */
	char from[256];
	char changed[256];
};

/* The file of this machine, with the rights of extprof's user.  0 or -errno. */
static int read_file(const char *path, struct stat *st, char **text, size_t *length)
{
	struct target_files files;
	int fd;

	*text = NULL;
	target_files__of_user(&files);
	fd = target_file__open_source(&files, path, st);
	if (fd < 0)
		return fd;
	*text = target_file__read(fd, (size_t)st->st_size, length);
	close(fd);
	return *text ? 0 : -ENOMEM;
}

/* The same of a path as the recording has it: a relative one is below where its processes worked, not where we do. */
static int read_recorded(struct recording_reader *reader, const char *path, struct stat *st, char **text, size_t *length)
{
	int err = -ENOENT;

	if (*path == '/')
		return read_file(path, st, text, length);
	for (uint32_t id = 1; id <= CWDS_MAX && err == -ENOENT; id++) {
		char *cwd = recording_account__cwd(reader, id), *whole;

		if (!cwd)
			continue;
		if (*cwd == '/' && asprintf(&whole, "%s/%s", cwd, path) >= 0) {
			err = read_file(whole, st, text, length);
			free(whole);
		}
		free(cwd);
	}
	return err;
}

/* Is the file of this machine another one than was seen? */
static void compare(struct source *s, const struct stat *st, time_t started)
{
	bool same = s->known && s->kept.size == (uint64_t)st->st_size && s->kept.time == source__time(st);

	if (s->known && !same && s->kept.hash && s->own)
		same = source__hash(s->own, s->length) == s->kept.hash;
	if (s->known && !same)
		snprintf(s->changed, sizeof(s->changed), "the file of this machine is another one than was recorded (%llu bytes "
			 "now, %llu then)%s", (unsigned long long)st->st_size, (unsigned long long)s->kept.size,
			 s->kept.text ? "; shown is the one that was recorded" : ": lines can be those of other code");
	else if (!s->known && st->st_mtim.tv_sec > started)
		snprintf(s->changed, sizeof(s->changed), "the file was changed after the recording began: lines can be those of other "
			 "code");
}

static int find_source(struct source *s, struct recording_reader *reader, const char *path, time_t started, struct diag *d)
{
	int err = recording_source__read(reader, path, &s->kept, d);
	struct stat st;

	s->known = !err;
	if (err && err != -ENOENT)
		return err;
	err = read_recorded(reader, path, &st, &s->own, &s->length);
	if (!err)
		compare(s, &st, started);
	else if (err == -ENOMEM)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the source");
	s->text = s->own;
	if (s->own)
		snprintf(s->from, sizeof(s->from), "the file of this machine");
	else
		snprintf(s->from, sizeof(s->from), "none: the recording kept no text of it, and the file of this machine cannot be read: "
			 "%s", strerror(-err));
	if (s->kept.text) {
		s->text = s->kept.text;
		s->length = s->kept.length;
		snprintf(s->from, sizeof(s->from), "the recording");
	}
	return 0;
}

static int annotate(const struct report *r, struct recording_reader *reader, const char *what, bool html,
		    const struct extprof_annotate_options *o, FILE *to, struct extprof_error *error)
{
	struct annotate_options options = { .color = o->color, .width = o->width };
	struct source s = { 0 };
	struct annotation a;
	struct diag d = { 0 };
	int err = annotation__make(&a, r, what, &d);

	if (!err)
		err = find_source(&s, reader, a.path, r->meta.started, &d);
	if (!err && s.text && annotation__set_source(&a, s.text, s.length))
		err = diag__set(&d, DIAG_INTERNAL, ENOMEM, "out of memory for the source");
	options.source = s.from;
	options.changed = *s.changed ? s.changed : NULL;
	if (err)
		error__from(error, err, &d);
	else if ((err = html ? annotation__write_html(&a, &options, to) : annotation__write_text(&a, &options, to)))
		error__of_writer(error, err, "source");
	annotation__free(&a);
	recording_source__free(&s.kept);
	free(s.own);
	return err;
}

int extprof_recorded_annotate(struct extprof_recorded *recorded, const char *what, const char *format,
			      const struct extprof_annotate_options *options, FILE *to, struct extprof_error *error)
{
	struct shape shape = { .apps = { .count = 0 } };
	struct recording_request request = {
		.detail = REPORT_BY_LINE, .by_value = true, .joins_lines = true, .transform = &shape.transform, .apps = &shape.apps,
	};
	struct recording_reader *reader = recorded__reader(recorded);
	struct recording_profile *profile = NULL;
	struct recording_filter filter = { 0 };
	struct extprof_annotate_options o;
	struct reports reports = { 0 };
	struct diag d = { 0 };
	int err;

	if (strcmp(format, "text") && strcmp(format, "html"))
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format of annotated source", format);
	err = recorded__is_one(recorded, error);
	if (!err)
		err = OPTIONS_TAKE(&o, options, error);
	if (err)
		return err;
	filter.modes = o.mode;
	request.shows_idle = o.idle;
	err = recorded__add_filters(&filter, o.filters, o.filter_count, error);
	if (!err)
		err = recorded__set_span(&filter.span, &(struct recording_span){ o.since, o.until, o.since_at, o.until_at }, error);
	if (!err)
		err = unit__find(o.unit, &request.unit, error);
	if (!err)
		err = shape__set(&shape, o.app, o.focus, o.hide, NULL, error);
	if (err)
		goto cleanup;
	err = recording_profile__create(&profile, &reader, 1, &filter, &d);
	if (!err)
		err = recording_profile__reports(profile, &request, &reports, &d);
	recording_profile__destroy(profile);
	if (err)
		error__from(error, err, &d);
	else if (reports.count > 1)
		err = recorded__one_mode("annotated source", &reports, error);
	else if (!reports.list[0].samples)
		err = error__set(error, DIAG_RECORDING, ENODATA, reports.list[0].left_out ? "no stack goes through what --focus names" :
				 "the recording has no such samples");
	else
		err = annotate(&reports.list[0], reader, what, !strcmp(format, "html"), &o, to, error);
cleanup:
	reports__free(&reports);
	shape__free(&shape);
	return err;
}
