/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of recordings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/requests_view.h"
#include "library/error.h"
#include "library/recorded.h"
#include "recording/request_choice.h"

static const struct {
	const char *name;
	int (*write)(struct requests_view *v, FILE *to);
} formats[] = {
	{ "text", requests__write_text },
	{ "table", requests__write_table },
	{ "json", requests__write_json },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* Those of one recording are in memory at a time. */
static int add_recording(struct requests_view *v, struct recording_reader *reader, const struct recording_filter *filter,
			 uint64_t later, bool *has_label, struct extprof_error *error)
{
	struct recording_requests found = { .has_label = false };
	bool sleeps = !recording_reader__awake(reader);
	struct diag d = { 0 };
	int err = recording_reader__wake(reader, &d);

	if (!err)
		err = recording_requests__read(&found, reader, filter, later, &d);
	error__from(error, err, &d);
	if (!err) {
		requests__sort(&found.requests, v->by_length);
		err = requests_view__add(v, &found.requests, recording_reader__name(reader), later);
		if (err)
			error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the requests");
	}
	*has_label |= found.has_label;
	recording_requests__free(&found);
	if (sleeps)
		recording_reader__sleep(reader);
	return err;
}

static int add_all(struct requests_view *v, struct extprof_recorded *recorded, const struct recording_filter *filter,
		   struct extprof_error *error)
{
	const char *label = filter->requests.label;
	uint64_t first = UINT64_MAX;
	bool has_label = !label;
	uint32_t count;
	struct recording_reader *const *readers = recorded__readers(recorded, &count);
	int err = 0;

	recorded__start_time(recorded);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t wall = recording_reader__wall(readers[i]);

		first = wall < first ? wall : first;
	}
	for (uint32_t i = 0; i < count && !err; i++)
		err = add_recording(v, readers[i], filter, recording_reader__wall(readers[i]) - first, &has_label, error);
	if (!err && !has_label)
		err = error__set(error, DIAG_USAGE, EINVAL, "no sample of the recording has the label \"%s\"", label);
	return err;
}

int extprof_recorded_requests(struct extprof_recorded *recorded, const char *name,
			      const struct extprof_recorded_options *options, FILE *to, struct extprof_error *error)
{
	struct extprof_recorded_options o;
	struct recording_filter filter = { 0 };
	struct requests_view view;
	size_t format = 0;
	int err;

	while (format < FORMATS && strcmp(formats[format].name, name))
		format++;
	if (format == FORMATS)
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format of requests: text, table or json", name);
	err = options__copy(&o, sizeof(o), options, error);
	if (err)
		return err;
	filter.requests = (struct request_choice){ o.slower_than, o.slowest, o.request_label };
	err = recorded__add_filters(&filter, o.filters, o.filter_count, error);
	if (!err)
		err = recorded__set_span(&filter.span, &(struct recording_span){ o.since, o.until, o.since_at, o.until_at }, error);
	if (err)
		return err;
	view = (struct requests_view){
		.by_length = o.slowest != 0, .top = o.top ? o.top : EXTPROF_TOP_DEFAULT, .width = o.width, .color = o.color,
	};
	err = add_all(&view, recorded, &filter, error);
	if (!err) {
		err = formats[format].write(&view, to);
		if (err)
			error__of_writer(error, err, "table of requests");
	}
	requests_view__free(&view);
	return err;
}
