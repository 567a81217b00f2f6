/* SPDX-License-Identifier: BSD-2-Clause */
/* A method over many recordings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trend.h"
#include "library/error.h"
#include "library/recorded.h"
#include "library/settings.h"

static const struct {
	const char *name;
	int (*write)(const struct trend *t, FILE *to);
} formats[] = {
	{ "text", trend__write_text },
	{ "table", trend__write_table },
	{ "json", trend__write_json },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* A recording, and when it began. */
struct moment_of {
	struct recording_reader *reader;
	struct trend_row row;
};

static int by_begin(const void *a, const void *b)
{
	const struct moment_of *x = a, *y = b;

	if (x->row.begin != y->row.begin)
		return x->row.begin < y->row.begin ? -1 : 1;
	return strcmp(x->row.name, y->row.name);
}

/* 0 or -errno with *error.  The caller frees the list in both cases. */
static int put_in_order(struct extprof_recorded *recorded, struct moment_of **list, uint32_t *count, struct extprof_error *error)
{
	struct recording_reader *const *readers = recorded__readers(recorded, count);
	int err = 0;

	recorded__start_time(recorded, *count);

	*list = calloc(*count, sizeof(**list));
	if (!*list)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < *count && !err; i++) {
		struct moment_of *m = &(*list)[i];

		m->reader = readers[i];
		m->row.name = recording_reader__name(readers[i]);
		err = recorded__times(readers[i], &m->row.begin, &m->row.end, error);
	}
	if (!err && *count)
		qsort(*list, *count, sizeof(**list), by_begin);
	return err;
}

/* Which of them have the mode that was asked for?  If none has it, that is an error of what follows. */
static int find_without(struct moment_of *list, uint32_t count, const char *mode, struct extprof_error *error)
{
	uint32_t without = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool sleeps = !recording_reader__awake(list[i].reader);
		struct diag d = { 0 };
		int err = recording_reader__wake(list[i].reader, &d);

		if (err)
			return error__from(error, err, &d);
		list[i].row.without = !recording_reader__has_mode(list[i].reader, mode);
		without += list[i].row.without;
		if (sleeps)
			recording_reader__sleep(list[i].reader);
	}
	for (uint32_t i = 0; i < count && without == count; i++)
		list[i].row.without = false;
	return 0;
}

/* Each beside the one before that has something. */
static int add_all(struct trend *t, const struct moment_of *list, uint32_t count, const struct recording_filter *filter,
		   const char *metric, struct extprof_error *error)
{
	const struct recording_request request = { .metric = metric };
	struct recording_reader *before = NULL;
	uint64_t sum = 0, found = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct recording_reader *const readers[2] = { before ? before : list[i].reader, list[i].reader };
		const struct recording_side sides[2] = { { &readers[0], 1 }, { &readers[1], 1 } };
		struct report reports[2];
		struct diag d = { 0 };
		int err;

		if (list[i].row.without) {
			if (trend__add_without(t, &list[i].row))
				return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the trend");
			continue;
		}
		err = recording_profile__compare(sides, filter, &request, reports, &d);
		if (err)
			return error__from(error, err, &d);
		err = trend__add(t, &list[i].row, reports, !before);
		if (reports[1].samples)
			before = list[i].reader;
		sum += reports[1].samples;
		found += err ? 0 : t->rows[t->count - 1].part;
		report__free(&reports[0]);
		report__free(&reports[1]);
		if (err)
			return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the trend");
	}
	if (!sum)
		return error__set(error, DIAG_RECORDING, ENODATA, "the recordings have no such samples");
	return found ? 0 : error__set(error, DIAG_RECORDING, ENODATA, "no stack of the recordings has a method of that name");
}

/* The part of the recording that was asked for. */
static void clip(struct trend_row *row, uint64_t since, uint64_t until)
{
	if (row->begin < since)
		row->begin = since;
	if (until && row->end > until)
		row->end = until;
}

int extprof_recorded_trend(struct extprof_recorded *recorded, const char *method, const char *name,
			   const struct extprof_recorded_options *options, FILE *to, struct extprof_error *error)
{
	struct extprof_recorded_options o;
	struct recording_filter filter = { .count = 0 };
	struct trend t = { .method = method };
	struct moment_of *list = NULL;
	size_t format = 0;
	uint32_t count;
	int err;

	while (format < FORMATS && strcmp(formats[format].name, name))
		format++;
	if (format == FORMATS)
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format of a trend: text, table or json", name);
	if (!*method)
		return error__set(error, DIAG_USAGE, EINVAL, "a trend is that of a method: its name is empty");
	err = OPTIONS_TAKE(&o, options, error);
	if (err)
		return err;
	if (o.slower_than || o.slowest || o.request_label || o.requests_by || o.groups || o.unit || o.callers_of || o.callees_of ||
	    o.methods || o.invert || o.focus || o.hide || o.collapse)
		return error__set(error, DIAG_USAGE, EINVAL, "a trend has no requests, groups, units or other frames: only the mode, the time, "
				  "filters and the metric can be chosen");
	filter.modes = o.modes;
	filter.shows_idle = o.idle;
	err = recorded__add_filters(&filter, o.filters, o.filter_count, error);
	if (!err)
		err = recorded__set_span(&filter.span, &(struct recording_span){ o.since, o.until, o.since_at, o.until_at }, error);
	if (err)
		return err;
	filter.second = filter.span;
	t.width = o.width;
	t.color = o.color;
	err = put_in_order(recorded, &list, &count, error);
	if (!err && o.modes && !strchr(o.modes, ','))
		err = find_without(list, count, o.modes, error);
	for (uint32_t i = 0; !err && i < count; i++)
		clip(&list[i].row, o.since_at, o.until_at);
	if (!err)
		err = add_all(&t, list, count, &filter, o.metric, error);
	if (!err && (err = formats[format].write(&t, to)))
		error__of_writer(error, err, "trend");
	trend__free(&t);
	free(list);
	return err;
}
