/* SPDX-License-Identifier: BSD-2-Clause */
/* Before and after: of recordings, or of times of them. */
#include <errno.h>
#include <string.h>

#include "analysis/diff.h"
#include "base/text.h"
#include "library/error.h"
#include "library/recorded.h"
#include "library/settings.h"

static const struct {
	const char *name;
	int (*write)(struct diff *d, const struct diff_options *o, FILE *to);
} formats[] = {
	{ "text", diff__write_text },
	{ "json", diff__write_json },
	{ "flamegraph", diff__write_graph },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static size_t find_format(const char *name)
{
	size_t i = 0;

	while (i < FORMATS && strcmp(formats[i].name, name))
		i++;
	return i;
}

static int say_empty(const struct diff_options *o, int side, bool left_out, struct extprof_error *error)
{
	struct text name = { 0 };
	int err;

	diff__add_name(o, side, &name);
	err = error__set(error, DIAG_RECORDING, ENODATA, left_out ? "%s: no stack goes through what --focus names" :
			 "%s: there are no such samples", text__string(&name));
	text__free(&name);
	return err;
}

static int write_diff(const struct report reports[2], size_t format, const struct extprof_diff_options *o, FILE *to,
		      struct extprof_error *error)
{
	char names[2][256];
	struct diff_options options = {
		.names = { names[0], names[1] }, .since = { o->since_at[0], o->since_at[1] }, .until = { o->until_at[0], o->until_at[1] },
		.html = o->html, .color = o->color, .width = o->width, .top = o->top ? o->top : EXTPROF_TOP_DEFAULT,
		.above = o->above,
	};
	struct diff d;
	int err;

	for (int i = 0; i < 2; i++) {
		/* A path can contain anything. */
		text__clean(names[i], sizeof(names[i]), o->names[i] ? o->names[i] : i ? "after" : "before");
		if (!reports[i].samples)
			return say_empty(&options, i, reports[i].left_out, error);
	}
	err = diff__make(&d, reports);
	if (err)
		error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the comparison");
	else if ((err = formats[format].write(&d, &options, to)))
		error__of_writer(error, err, "comparison");
	if (!err && o->grown)
		*o->grown = o->above > 0 ? diff__grown(&d, o->above) : 0;
	diff__free(&d);
	return err;
}

int extprof_recorded_diff(struct extprof_recorded *before, struct extprof_recorded *after, const char *name,
			  const struct extprof_diff_options *options, FILE *to, struct extprof_error *error)
{
	struct extprof_recorded *const recorded[2] = { before, after };
	struct recording_side sides[2];
	size_t format = find_format(name);
	struct extprof_diff_options o;
	struct recording_filter filter = { 0 };
	struct shape shape = { .apps = { .count = 0 } };
	struct recording_request request = { .transform = &shape.transform, .apps = &shape.apps };
	struct report reports[2] = { 0 };
	struct diag d = { 0 };
	int err;

	if (format == FORMATS)
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format of a comparison", name);
	err = OPTIONS_TAKE(&o, options, error);
	if (err)
		return err;
	filter.modes = o.mode;
	filter.shows_idle = o.idle;
	request.metric = o.metric;
	err = recorded__add_filters(&filter, o.filters, o.filter_count, error);
	for (int i = 0; i < 2 && !err; i++)
		err = recorded__set_span(i ? &filter.second : &filter.span,
					 &(struct recording_span){ o.since, o.until, o.since_at[i], o.until_at[i] }, error);
	if (!err)
		err = shape__set(&shape, o.app, o.focus, o.hide, o.collapse, error);
	if (err)
		goto cleanup;
	for (int i = 0; i < 2; i++)
		sides[i].readers = recorded__readers(recorded[i], &sides[i].count);
	for (int i = 0; i < 2; i++)
		recorded__start_time(recorded[i], sides[0].count + sides[1].count);
	err = recording_profile__compare(sides, &filter, &request, reports, &d);
	if (err)
		error__from(error, err, &d);
	else
		err = write_diff(reports, format, &o, to, error);
	report__free(&reports[0]);
	report__free(&reports[1]);
cleanup:
	shape__free(&shape);
	return err;
}
