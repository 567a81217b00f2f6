/* SPDX-License-Identifier: BSD-2-Clause */
/* Results of a recording: verdict, outputs, reports. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "library/error.h"
#include "library/recording.h"
#include "library/report.h"
#include "library/verdict.h"
#include "output/output.h"

static int check_reportable(const struct extprof_recording *r, struct extprof_error *error)
{
	if (r->reportable)
		return 0;
	return error__set(error, DIAG_USAGE, EINVAL, "there is nothing to report before the recording is "
			  "finished or a snapshot is taken");
}

/* The reports of all modes.  Those that were made last are kept: a verdict and the tables want the same. */
static int make_reports(struct extprof_recording *r, const struct report_request *request,
			struct extprof_error *error)
{
	const struct report_request *made = &r->made;
	struct diag d = { 0 };
	int err;

	if (r->reports.count && made->detail == request->detail && made->labels == request->labels &&
	    made->unit == request->unit && made->by_value == request->by_value && made->by_command == request->by_command)
		return 0;
	reports__free(&r->reports);
	err = engine__reports(r->engine, request, &r->reports, &d);
	r->made = *request;
	return error__from(error, err, &d);
}

int extprof_recording_verdict(struct extprof_recording *r, struct extprof_error *why)
{
	struct report_request request = { .detail = output_summary.detail };
	struct diag d = { 0 };
	int err = check_reportable(r, why);

	if (!err)
		err = make_reports(r, &request, why);
	if (err)
		return err;
	err = verdict__give(&r->reports, r->settings.settings.timer, &d);
	if (err)
		error__fill(why, &d);
	return err;
}

int extprof_recording_write(struct extprof_recording *r, const char *name,
			    const struct extprof_write_options *options, FILE *to,
			    struct extprof_error *error)
{
	const struct output_format *format = output__by_name(name);
	struct extprof_write_options o;
	struct report_request request = { 0 };
	struct output_options settings;
	int err;

	if (!format)
		return error__not_one_of(EXTPROF_FORMATS, "format", name, error);
	if (format->timeline || format->cells)
		return error__set(error, DIAG_USAGE, EINVAL, "%s is written of a recording in a file, see extprof_recorded_write()",
				  name);
	err = OPTIONS_TAKE(&o, options, error);
	if (!err)
		err = unit__find(o.unit, &request.unit, error);
	if (!err)
		err = check_reportable(r, error);
	if (err)
		return err;
	request.detail = format->detail;
	request.labels = format->labels;
	request.by_value = format->by_value;
	request.by_command = format->by_command;
	err = make_reports(r, &request, error);
	if (err)
		return err;
	settings = (struct output_options){
		.html = o.html, .gzip = o.gzip, .color = o.color, .width = o.width, .top = o.top ? o.top : EXTPROF_TOP_DEFAULT,
	};
	if (format->one_mode && r->reports.count > 1)
		err = error__set(error, DIAG_USAGE, EINVAL, "%s has place for one mode", name);
	else if ((err = format->write(r->reports.list, r->reports.count, &settings, to)))
		error__set(error, DIAG_OUTPUT, -err, "the profile could not be written: %s", strerror(-err));
	return err;
}

int extprof_recording_write_to(struct extprof_recording *r, const char *name, const struct extprof_write_options *options,
			       extprof_writer writer, void *context, struct extprof_error *error)
{
	struct extprof_stream *to;
	int close_err, err = extprof_stream_open(&to, writer, context, error);

	if (err)
		return err;
	err = extprof_recording_write(r, name, options, extprof_stream_file(to), error);
	close_err = extprof_stream_close(to, err ? NULL : error);
	return err ? err : close_err;
}

int extprof_recording_report_mode(struct extprof_recording *r, const char *mode, const char *unit,
				  struct extprof_report **report, struct extprof_error *error)
{
	struct report_request request = { .detail = REPORT_BY_CODE };
	struct report made;
	struct diag d = { 0 };
	int err;

	*report = NULL;
	err = unit__find(unit, &request.unit, error);
	if (!err)
		err = check_reportable(r, error);
	if (!err && mode && engine__find_mode(r->engine, mode, &request.mode))
		err = error__set(error, DIAG_USAGE, EINVAL, "mode \"%s\" was not recorded", mode);
	if (!err)
		err = error__from(error, engine__report(r->engine, &request, &made, &d), &d);
	if (err)
		return err;
	if (library_report__create(report, &made))
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the report");
	return 0;
}

int extprof_recording_report(struct extprof_recording *r, struct extprof_report **report,
			     struct extprof_error *error)
{
	return extprof_recording_report_mode(r, NULL, NULL, report, error);
}
