/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of recordings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/requests_by.h"
#include "analysis/requests_view.h"
#include "library/error.h"
#include "library/recorded.h"
#include "recording/request_choice.h"

static const struct {
	const char *name;
	int (*write)(struct requests_view *v, FILE *to);
	int (*write_by)(const struct requests_by *b, FILE *to);
} formats[] = {
	{ "text", requests__write_text, requests_by__write_text },
	{ "table", requests__write_table, requests_by__write_table },
	{ "json", requests__write_json, requests_by__write_json },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* A result that is being made of the requests: rows, or sums by a label. */
struct reading {
	struct requests_view view;
	struct requests_by by;		/* its key is NULL: rows */
	struct recording_filter filter;
	bool has_label, has_key;	/* of a sample */
};

/* Those of one recording are in memory at a time. */
static int add_recording(struct reading *w, struct recording_reader *reader, uint64_t later, struct extprof_error *error)
{
	const struct request_choice key = { .label = w->by.key };
	struct recording_requests found = { .has_label = false };
	bool sleeps = !recording_reader__awake(reader);
	struct diag d = { 0 };
	int err = recording_reader__wake(reader, &d);

	if (!err)
		err = recording_requests__read(&found, reader, &w->filter, later, &d);
	error__from(error, err, &d);
	if (!err) {
		w->has_label |= found.has_label;
		w->has_key |= request_choice__has_label(&key, &found.tables);
		if (!w->by.key)
			requests__sort(&found.requests, w->view.by_length);
		err = w->by.key ? requests_by__add(&w->by, &found.requests) :
		      requests_view__add(&w->view, &found.requests, recording_reader__name(reader), later);
		if (err)
			error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the requests");
	}
	recording_requests__free(&found);
	if (sleeps)
		recording_reader__sleep(reader);
	return err;
}

static int add_all(struct reading *w, struct extprof_recorded *recorded, struct extprof_error *error)
{
	uint64_t first = UINT64_MAX;
	uint32_t count;
	struct recording_reader *const *readers = recorded__readers(recorded, &count);
	int err = 0;

	recorded__start_time(recorded, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t wall = recording_reader__wall(readers[i]);

		first = wall < first ? wall : first;
	}
	for (uint32_t i = 0; i < count && !err; i++)
		err = add_recording(w, readers[i], recording_reader__wall(readers[i]) - first, error);
	if (!err && (!w->has_label || !w->has_key))
		err = error__set(error, DIAG_USAGE, EINVAL, "no sample of the recording has the label \"%s\"",
				 w->has_label ? w->by.key : w->filter.requests.label);
	return err;
}

static int write(struct reading *w, size_t format, FILE *to, struct extprof_error *error)
{
	int err = w->by.key ? requests_by__sort(&w->by) : 0;

	if (!err)
		err = w->by.key ? formats[format].write_by(&w->by, to) : formats[format].write(&w->view, to);
	if (err)
		error__of_writer(error, err, "table of requests");
	return err;
}

int extprof_recorded_requests(struct extprof_recorded *recorded, const char *name,
			      const struct extprof_recorded_options *options, FILE *to, struct extprof_error *error)
{
	struct extprof_recorded_options o;
	struct reading w = { .filter = { .count = 0 } };
	size_t format = 0;
	int err;

	while (format < FORMATS && strcmp(formats[format].name, name))
		format++;
	if (format == FORMATS)
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format of requests: text, table or json", name);
	err = OPTIONS_TAKE(&o, options, error);
	if (err)
		return err;
	w.filter.requests = (struct request_choice){ o.slower_than, o.slowest, o.request_label ? o.request_label : o.requests_by };
	err = recorded__add_filters(&w.filter, o.filters, o.filter_count, error);
	if (!err)
		err = recorded__set_span(&w.filter.span, &(struct recording_span){ o.since, o.until, o.since_at, o.until_at }, error);
	if (err)
		return err;
	w.view = (struct requests_view){
		.by_length = o.slowest != 0, .top = o.top ? o.top : EXTPROF_TOP_DEFAULT, .width = o.width, .color = o.color,
	};
	w.by = (struct requests_by){ .key = o.requests_by, .top = w.view.top, .width = o.width, .color = o.color };
	err = add_all(&w, recorded, error);
	if (!err)
		err = write(&w, format, to, error);
	requests_view__free(&w.view);
	requests_by__free(&w.by);
	return err;
}
