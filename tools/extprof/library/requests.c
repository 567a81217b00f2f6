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
	int (*write)(const struct requests_view *v, FILE *to);
} formats[] = {
	{ "text", requests__write_text },
	{ "table", requests__write_table },
	{ "json", requests__write_json },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* The requests of each recording. */
struct all_requests {
	struct recording_requests found[RECORDINGS_MAX];
	struct requests_source sources[RECORDINGS_MAX];
	uint32_t count;
};

static int read_all(struct all_requests *all, const struct extprof_recorded *recorded, const struct recording_filter *filter,
		    bool by_length, struct extprof_error *error)
{
	struct recording_reader *const *readers = recorded__readers(recorded, &all->count);
	uint64_t first = UINT64_MAX;
	int err = 0;

	for (uint32_t i = 0; i < all->count; i++) {
		uint64_t wall = recording_account__wall(readers[i]);

		first = wall < first ? wall : first;
	}
	for (uint32_t i = 0; i < all->count && !err; i++) {
		struct requests_source *source = &all->sources[i];
		struct diag d = { 0 };

		source->later = recording_account__wall(readers[i]) - first;
		source->name = recording_reader__name(readers[i]);
		source->requests = &all->found[i].requests;
		err = recording_requests__read(&all->found[i], readers[i], filter, source->later, &d);
		error__from(error, err, &d);
		if (!err)
			requests__sort(source->requests, by_length);
	}
	return err;
}

int extprof_recorded_requests(struct extprof_recorded *recorded, const char *name,
			      const struct extprof_recorded_options *options, FILE *to, struct extprof_error *error)
{
	struct extprof_recorded_options o;
	struct recording_filter filter = { 0 };
	struct all_requests *all;
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
	all = calloc(1, sizeof(*all));
	if (!all)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the requests");
	err = read_all(all, recorded, &filter, o.slowest != 0, error);
	if (!err) {
		const struct requests_view view = {
			.sources = all->sources, .count = all->count, .by_length = o.slowest != 0,
			.top = o.top ? o.top : EXTPROF_TOP_DEFAULT, .width = o.width, .color = o.color,
		};

		err = formats[format].write(&view, to);
		if (err)
			error__of_writer(error, err, "table of requests");
	}
	for (uint32_t i = 0; i < all->count; i++)
		recording_requests__free(&all->found[i]);
	free(all);
	return err;
}
