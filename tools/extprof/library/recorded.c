/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings that were written into files, and reports of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "base/text.h"
#include "library/error.h"
#include "library/recorded.h"
#include "library/settings.h"
#include "output/output.h"
#include "recording/profile.h"
#include "recording/reader.h"
#include "recording/sources.h"

/* No statement of SQL takes longer, ns. */
#define TIME_MAX (600 * 1000000000ull)
/* If there are several recordings, so much more for each, ns. */
#define TIME_OF_ONE (60 * 1000000000ull)

struct extprof_recorded {
	struct recording_reader **readers;	/* all but the first one sleep */
	uint32_t count;
	size_t room;
	struct deadline deadline;
	struct recorded_sql sql;
};

struct recorded_sql *recorded__sql(struct extprof_recorded *r)
{
	return &r->sql;
}

struct deadline *recorded__deadline(struct extprof_recorded *r)
{
	return &r->deadline;
}

/* An error says in which file it was. */
static int open_reader(struct extprof_recorded *r, const char *path, struct recording_reader **reader,
		       struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = recording_reader__open(reader, path, &r->deadline, &d);

	if (err)
		diag__name(&d, path);
	return error__from(error, err, &d);
}

int extprof_recorded_open(struct extprof_recorded **recorded, const char *path, int interrupt_fd,
			  struct extprof_error *error)
{
	struct extprof_recorded *r = calloc(1, sizeof(*r));
	int err;

	*recorded = NULL;
	if (!r)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	deadline__start(&r->deadline, interrupt_fd, deadline__now() + TIME_MAX);
	err = array__reserve(&r->readers, 0, 1, &r->room, RECORDINGS_MAX, sizeof(struct recording_reader *)) ?
	      error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory") : open_reader(r, path, &r->readers[0], error);
	if (err) {
		free(r->readers);
		free(r);
		return err;
	}
	r->count = 1;
	*recorded = r;
	return 0;
}

void recorded__start_time(struct extprof_recorded *r, uint32_t count)
{
	deadline__start(&r->deadline, r->deadline.fd, deadline__now() + TIME_MAX + count * TIME_OF_ONE);
}

/* Two files that say so are copies: no two recordings begin in the same ns of a machine. */
static bool is_same(struct recording_reader *a, struct recording_reader *b)
{
	return recording_reader__begin(a) == recording_reader__begin(b) && recording_reader__wall(a) == recording_reader__wall(b);
}

int extprof_recorded_add(struct extprof_recorded *r, const char *path, struct extprof_error *error)
{
	struct recording_reader *reader;
	int err;

	if (r->count == RECORDINGS_MAX)
		return error__set(error, DIAG_USAGE, E2BIG, "at most %d recordings can be shown as one", RECORDINGS_MAX);
	if (array__reserve(&r->readers, r->count, 1, &r->room, RECORDINGS_MAX, sizeof(struct recording_reader *)))
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	/* Each one has its time. */
	deadline__start(&r->deadline, r->deadline.fd, deadline__now() + TIME_MAX);
	err = open_reader(r, path, &reader, error);
	if (err)
		return err;
	for (uint32_t i = 0; i < r->count && !err; i++)
		if (is_same(r->readers[i], reader))
			err = error__set(error, DIAG_USAGE, EEXIST, "%s and %s are the same recording: it would count twice",
					 recording_reader__name(r->readers[i]), recording_reader__name(reader));
	if (err) {
		recording_reader__close(reader);
		return err;
	}
	recording_reader__sleep(reader);
	r->readers[r->count++] = reader;
	return 0;
}

int recorded__times(struct recording_reader *reader, uint64_t *begin, uint64_t *end, struct extprof_error *error)
{
	struct diag d = { 0 };
	bool sleeps = !recording_reader__awake(reader);
	int err = recording_reader__wake(reader, &d);

	if (!err)
		err = recording_account__times(reader, begin, end, &d);
	if (sleeps)
		recording_reader__sleep(reader);
	return error__from(error, err, &d);
}

int extprof_recorded_times(struct extprof_recorded *r, uint64_t *begin, uint64_t *end, struct extprof_error *error)
{
	int err = recorded__times(r->readers[0], begin, end, error);

	for (uint32_t i = 1; i < r->count && !err; i++) {
		uint64_t first, last;

		err = recorded__times(r->readers[i], &first, &last, error);
		if (err)
			break;
		*begin = first < *begin ? first : *begin;
		*end = last > *end ? last : *end;
	}
	return err;
}

void extprof_recorded_close(struct extprof_recorded *r)
{
	if (!r)
		return;
	recorded_sql__free(&r->sql);
	for (uint32_t i = 0; i < r->count; i++)
		recording_reader__close(r->readers[i]);
	free(r->readers);
	free(r);
}

const char *extprof_recorded_incomplete(const struct extprof_recorded *r)
{
	const char *why;

	recording_reader__ended(r->readers[r->count - 1], &why);
	return why;
}

int extprof_recorded_verify(struct extprof_recorded *r, struct extprof_recorded_check *check,
			    struct extprof_error *error)
{
	struct extprof_recorded_check full = { 0 };
	struct recording_check c;
	struct diag d = { 0 };
	int err = recorded__is_one(r, error);

	if (err)
		return err;
	err = recording_reader__verify(r->readers[0], &c, &d);
	if (err)
		return error__from(error, err, &d);
	full.blocks = c.blocks;
	full.samples = c.samples;
	full.bytes = c.bytes;
	full.duration = c.last - c.first;
	return result__copy(check, &full, sizeof(full));
}

struct recording_reader *recorded__reader(const struct extprof_recorded *r)
{
	return r->readers[0];
}

struct recording_reader *const *recorded__readers(const struct extprof_recorded *r, uint32_t *count)
{
	*count = r->count;
	return r->readers;
}

int recorded__is_one(const struct extprof_recorded *r, struct extprof_error *error)
{
	return r->count == 1 ? 0 : error__set(error, DIAG_USAGE, EINVAL, "this takes one recording, not %u", r->count);
}

int recorded__add_filters(struct recording_filter *f, const char *const *filters, size_t count,
			  struct extprof_error *error)
{
	for (size_t i = 0; i < count; i++) {
		int err = recording_filter__add(f, filters[i]);

		if (err)
			return error__set(error, DIAG_USAGE, -err, err == -E2BIG ? "there are too many filters, at \"%s\"" :
					  "\"%s\" is no filter: KEY=PATTERN with process, service, cgroup, host, commit, thread, method, file, gem, state, trace, span, "
					  "label:KEY or resource:KEY", filters[i]);
	}
	return 0;
}

int recorded__set_span(struct recording_span *to, const struct recording_span *span, struct extprof_error *error)
{
	if ((span->since && span->since_at) || (span->until && span->until_at))
		return error__set(error, DIAG_USAGE, EINVAL, "a time is after the begin of the recording or of the clock, not both");
	if ((span->since && span->until && span->until <= span->since) ||
	    (span->since_at && span->until_at && span->until_at <= span->since_at))
		return error__set(error, DIAG_USAGE, EINVAL, "--until is not after --since");
	*to = *span;
	return 0;
}

static struct request_choice choice_of(const struct extprof_recorded_options *o)
{
	return (struct request_choice){ .slower_than = o->slower_than, .slowest = o->slowest, .label = o->request_label ? o->request_label : o->requests_by };
}

/* Set how else the stacks are shown. */
static int set_transform(struct transform *t, const struct extprof_recorded_options *o, struct extprof_error *error)
{
	const char *method = o->callers_of ? o->callers_of : o->callees_of;
	int err;

	if (o->callers_of && o->callees_of)
		return error__set(error, DIAG_USAGE, EINVAL, "--callers-of and --callees-of: choose one of them");
	t->inverts = o->invert || o->callers_of;
	t->methods = o->methods;
	err = method ? transform__add_method(t, o->callers_of ? TRANSFORM_CALLERS : TRANSFORM_FOCUS, method) : 0;
	switch (err) {
	case 0: return 0;
	case -ENOMEM: return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	case -E2BIG: return error__set(error, DIAG_USAGE, E2BIG, "--focus, --hide and --%s: more than %u in all",
				       o->callers_of ? "callers-of" : "callees-of", TRANSFORM_RULES_MAX);
	default: return error__set(error, DIAG_USAGE, EINVAL, "--%s needs the name of a method", o->callers_of ? "callers-of" : "callees-of");
	}
}

/* The options of a caller, parsed. */
struct asked {
	struct recording_filter filter;
	struct recording_request request;
	struct shape shape;
	struct groups groups;
};

static void asked__free(struct asked *a)
{
	shape__free(&a->shape);
}

/* The caller frees after success. */
static int asked__set(struct asked *a, const struct extprof_recorded_options *o, struct extprof_error *error)
{
	int err;

	*a = (struct asked){
		.filter = { .modes = o->modes, .requests = choice_of(o), .labels_can_lack = o->labels_can_lack,
			    .native_lines = o->native_lines, .inlined = o->inlined },
		.request = { .shows_idle = o->idle, .transform = &a->shape.transform, .apps = &a->shape.apps, .metric = o->metric },
	};
	err = recorded__add_filters(&a->filter, o->filters, o->filter_count, error);
	if (!err)
		err = recorded__set_span(&a->filter.span, &(struct recording_span){ o->since, o->until, o->since_at, o->until_at }, error);
	if (!err)
		err = unit__find(o->unit, &a->request.unit, error);
	if (!err && o->groups) {
		if (groups__parse(o->groups, &a->groups))
			err = error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no list of groups: each once, at most %d labels, of which "
					 "trace and span are two, and at most %d of resource:KEY", o->groups, GROUP_LABELS_MAX, GROUP_RESOURCES_MAX);
		a->filter.groups = &a->groups;
	}
	if (!err)
		err = shape__set(&a->shape, o->app, o->focus, o->hide, o->collapse, error);
	if (!err)
		err = set_transform(&a->shape.transform, o, error);
	if (err)
		asked__free(a);
	return err;
}

int extprof_recorded_options_check(const struct extprof_recorded_options *options, struct extprof_error *error)
{
	struct extprof_recorded_options o;
	struct asked asked;
	int err = OPTIONS_TAKE(&o, options, error);

	if (!err)
		err = asked__set(&asked, &o, error);
	if (!err)
		asked__free(&asked);
	return err;
}

static int make(struct extprof_recorded *r, struct asked *asked, struct reports *reports, struct extprof_error *error)
{
	struct recording_profile *profile = NULL;
	struct diag d = { 0 };
	int err;

	if (r->count > 1)
		recorded__start_time(r, r->count);
	err = recording_profile__create(&profile, r->readers, r->count, &asked->filter, &d);
	if (!err)
		err = recording_profile__reports(profile, &asked->request, reports, &d);
	recording_profile__destroy(profile);
	return error__from(error, err, &d);
}

int recorded__window(struct extprof_recorded *r, const struct extprof_recorded_options *o, struct reports *reports,
		     struct extprof_error *error)
{
	struct asked asked;
	int err = asked__set(&asked, o, error);

	if (err)
		return err;
	asked.filter.cuts = true;
	asked.request.detail = REPORT_BY_LINE;
	asked.request.by_value = true;
	/* One after the other can be asked for. */
	recorded__start_time(r, 0);
	err = make(r, &asked, reports, error);
	asked__free(&asked);
	return err;
}

static int make_reports(struct extprof_recorded *r, const struct extprof_recorded_options *o,
			const struct output_format *format, struct reports *reports, struct extprof_error *error)
{
	struct asked asked;
	int err = asked__set(&asked, o, error);

	if (err)
		return err;
	asked.request.detail = format->detail;
	asked.request.labels = format->labels;
	asked.request.by_value = format->by_value;
	asked.request.by_command = format->by_command;
	asked.request.timeline = format->timeline;
	asked.request.timeline_most = format->in_order_most;
	asked.request.cells = format->cells;
	asked.request.cells_since_at = o->columns_since_at;
	asked.request.cells_until_at = o->columns_until_at;
	err = make(r, &asked, reports, error);
	asked__free(&asked);
	return err;
}

int recorded__one_mode(const char *what, const struct reports *reports, struct extprof_error *error)
{
	const struct mode *list[MODES_MAX];
	struct text text = { 0 };
	int err;

	for (uint32_t i = 0; i < reports->count; i++)
		list[i] = reports->list[i].meta.mode;
	modes__add_names(list, reports->count, &text);
	err = error__set(error, DIAG_USAGE, EINVAL, "%s has place for one mode: choose one with --mode, %s", what, text__string(&text));
	text__free(&text);
	return err;
}

/* The first recording that has the text. */
static int read_source(void *context, const char *path, char **text, size_t *length)
{
	struct extprof_recorded *r = context;
	int found = 0;

	for (uint32_t i = 0; i < r->count && !found; i++) {
		struct recording_source_file f = { 0 };
		bool slept = !recording_reader__awake(r->readers[i]);
		struct diag d = { 0 };
		int err = slept ? recording_reader__wake(r->readers[i], &d) : 0;

		if (!err)
			err = recording_source__read(r->readers[i], path, &f, &d);
		if (!err && f.text) {
			*text = f.text;
			*length = f.length;
			f.text = NULL;
			found = 1;
		}
		recording_source__free(&f);
		if (slept)
			recording_reader__sleep(r->readers[i]);
		if (err && err != -ENOENT)
			return err;
	}
	return found;
}

/* Nothing can be left out of mode heap. */
static int explain_nothing(const struct extprof_recorded *r, const struct extprof_recorded_options *o, const struct reports *reports,
			   struct extprof_error *error)
{
	bool chosen = o->filter_count || o->since || o->until || o->since_at || o->until_at;
	struct diag d = { 0 };
	uint64_t ended = 0;
	int err;

	for (uint32_t i = 0; i < reports->count; i++) {
		chosen |= !reports->list[i].meta.mode->lives;
		ended += reports->list[i].meta.objects_ended;
	}
	if (chosen || !ended)
		return error__set(error, DIAG_RECORDING, ENODATA, r->count > 1 ? "the recordings have no such samples" :
				  "the recording has no such samples");
	err = diag__set(&d, DIAG_RECORDING, ENODATA, "nothing lives at the end: %" PRIu64 " objects that were sampled went with their process", ended);
	if (r->count > 1)
		diag__hint(&d, "the files before, or --until, show what lived then");
	return error__from(error, err, &d);
}

int extprof_recorded_write(struct extprof_recorded *r, const char *name, const struct extprof_recorded_options *options,
			   FILE *to, struct extprof_error *error)
{
	const struct output_format *format = output__by_name(name);
	struct extprof_recorded_options o;
	struct output_sources sources = { .read = read_source, .context = r };
	struct output_options settings;
	struct reports reports = { 0 };
	uint64_t samples = 0;
	int err;

	if (!format)
		return error__not_one_of(EXTPROF_FORMATS, "format", name, error);
	err = OPTIONS_TAKE(&o, options, error);
	if (!err && format->one_recording && r->count > 1)
		err = error__set(error, DIAG_USAGE, EINVAL, "%s has place for one recording: its rows are of one machine and one time. Write "
				 "each of the recordings by itself", name);
	if (!err)
		err = make_reports(r, &o, format, &reports, error);
	if (err)
		return err;
	for (uint32_t i = 0; i < reports.count; i++)
		samples += reports.list[i].samples;
	if (o.lines_told && o.lines_told_size)
		snprintf(o.lines_told, o.lines_told_size, "%s", reports.count ? reports.list[0].meta.native_lines : "");
	settings = (struct output_options){
		.html = o.html, .gzip = o.gzip, .color = o.color, .width = o.width, .top = o.top ? o.top : EXTPROF_TOP_DEFAULT,
		.sources = o.sources ? &sources : NULL, .host = o.host,
	};
	if (format->one_mode && reports.count > 1)
		err = recorded__one_mode(name, &reports, error);
	else if (!samples)
		err = explain_nothing(r, &o, &reports, error);
	else if ((err = format->write(reports.list, reports.count, &settings, to)))
		error__of_writer(error, err, "profile");
	reports__free(&reports);
	return err;
}
