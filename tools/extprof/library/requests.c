/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of a recording. */
#include <errno.h>
#include <string.h>

#include "analysis/requests_view.h"
#include "library/error.h"
#include "library/recorded.h"
#include "recording/request_choice.h"

static const struct {
	const char *name;
	int (*write)(const struct requests_view *v, FILE *to);
} formats[] = {
	{ "text", requests__write_text },
	{ "table", requests__write_table },
	{ "json", requests__write_json },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

int extprof_recorded_requests(struct extprof_recorded *recorded, const char *name,
			      const struct extprof_recorded_options *options, FILE *to, struct extprof_error *error)
{
	struct extprof_recorded_options o;
	struct recording_requests found = { 0 };
	struct recording_filter filter = { 0 };
	struct requests_view view;
	struct diag d = { 0 };
	size_t format = 0;
	int err;

	while (format < FORMATS && strcmp(formats[format].name, name))
		format++;
	if (format == FORMATS)
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format of requests: text, table or json", name);
	err = options__copy(&o, sizeof(o), options, error);
	if (err)
		return err;
	filter.since = o.since;
	filter.until = o.until;
	filter.requests = (struct request_choice){ o.slower_than, o.slowest, o.request_label };
	err = recorded__add_filters(&filter, o.filters, o.filter_count, error);
	if (err)
		return err;
	err = recording_requests__read(&found, recorded__reader(recorded), &filter, &d);
	error__from(error, err, &d);
	if (!err) {
		requests__sort(&found.requests, o.slowest != 0);
		view = (struct requests_view){
			.requests = &found.requests, .top = o.top ? o.top : EXTPROF_TOP_DEFAULT, .width = o.width, .color = o.color,
		};
		err = formats[format].write(&view, to);
		if (err)
			error__of_writer(error, err, "table of requests");
	}
	recording_requests__free(&found);
	return err;
}
