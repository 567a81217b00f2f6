/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of what recordings have. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/idle.h"
#include "recording/profile_parts.h"

/* The groups, with those that the format wants. */
static void groups_of(const struct recording_profile *p, const struct recording_request *request, struct groups *show)
{
	uint8_t host = (uint8_t)(GROUP_LABEL + p->input_labels[INPUT_HOST]);

	*show = p->show;
	if (p->host_by_default)
		groups__remove(show, host);
	if (p->shown_by_default && p->view.group_by_default && (p->several || p->host_by_default))
		groups__add_outermost(show, request->by_command ? GROUP_COMMAND : GROUP_PROCESS);
	/* By command, workers of all machines are one group.  Processes are told apart, so their host is shown. */
	if (p->host_by_default && !request->by_command)
		groups__add_outermost(show, host);
	groups__add_mask(show, request->labels);
	/* Samples of several threads at one time have no order, so each thread is apart. */
	if (request->timeline_most && request->timeline && p->shown_by_default)
		groups__add(show, GROUP_THREAD);
}

/* For a profile of a time, find what its threads did before that time.  The caller frees *history. */
static int find_past(const struct recording_profile *p, uint32_t mode, struct idle_history *history, struct report_view *view)
{
	struct idle past = { .tree = &p->past, .frames = &p->frames, .mode_frame = p->mode_frames[mode] };

	view->window = recording_pieces__sum(p, 1u << mode, false);
	past.window = recording_pieces__sum(p, 1u << mode, true);
	view->idle_apart = true;
	if (view->window == UINT64_MAX || past.window == UINT64_MAX)
		return -ENOMEM;
	if (view->shows_idle || !past.window || !idle__concerns(p->modes[mode]))
		return 0;
	view->idle_history = history;
	return idle_history__add(history, &past);
}

static int make_report(struct recording_profile *p, uint32_t mode, const struct groups *show,
		       const struct recording_request *request, struct report *report, struct diag *d)
{
	struct report_view view = {
		.mode = p->modes[mode], .mode_frame = p->mode_frames[mode],
		.by_value = request->unit ? request->unit->unit != UNIT_COUNT : request->by_value || !p->modes[mode]->by_count,
		.divisor = request->unit ? request->unit->divisor : 0,
	};
	struct idle_history history = { .list = NULL };
	struct owner_rules rules;
	int err;

	owner_dirs__rules(request->apps, &p->cwds, &rules);
	view.rules = &rules;
	view.transform = request->transform;
	view.joins_lines = request->joins_lines;
	view.shows_idle = request->shows_idle;
	view.window = recording_profile__window(p, false);
	view.places = request->timeline || request->cells;
	if (request->unit && !unit__fits(request->unit, p->modes[mode]))
		return diag__set(d, DIAG_USAGE, EINVAL, "mode %s cannot be shown in %s", p->modes[mode]->name,
				 request->unit->name);
	if (request->metric && recording_profile__metric(p->modes[mode], request->metric, &view.by_value, d))
		return -EINVAL;
	if (request->metric && request->unit &&
	    request->unit->unit != (view.by_value ? p->modes[mode]->value.unit : p->modes[mode]->count.unit))
		return diag__set(d, DIAG_USAGE, EINVAL, "%s cannot be shown in %s", request->metric, request->unit->name);
	/* Nobody has asked for samples: times are what can be shown. */
	if (p->other_rate[mode] && !request->unit && !request->metric)
		view.by_value = true;
	if (p->other_rate[mode] && !view.by_value)
		return recording_profile__rates_differ(p, mode, d);
	err = p->filter.cuts ? find_past(p, mode, &history, &view) : 0;
	if (!err)
		err = report__build(report, &p->tree, &p->frames, show,
				    p->lines && request->detail < REPORT_BY_LINE ? REPORT_BY_LINE : request->detail, &view);
	idle_history__free(&history);
	if (err)
		return recording_profile__no_memory(d);
	if (p->keeps)
		return recording_profile__read_account(p, &p->inputs[0], mode, report, d);
	if (!recording_profile__give_account(p, mode, report))
		return 0;
	report__free(report);
	return recording_profile__no_memory(d);
}

/* The note about lines of native code, for all modes together. */
static int set_lines_note(const struct recording_profile *p, struct report *report, struct diag *d)
{
	struct text text = { 0 };
	bool failed;

	native_lines__add_sum(&p->native_lines, &text);
	snprintf(report->meta.native_lines, sizeof(report->meta.native_lines), "%s", text__string(&text));
	failed = text.failed;
	text__free(&text);
	return failed ? recording_profile__no_memory(d) : 0;
}

/* Where stacks stand for others, it is not known which sample is in which. */
static bool can_place(const struct recording_request *request)
{
	return !request->transform || !(request->transform->inverts || request->transform->methods);
}

static void drop_timelines(struct reports *reports, struct diag *d)
{
	for (uint32_t i = 0; i < reports->count; i++) {
		struct report *r = &reports->list[i];

		if (r->timeline)
			timeline__free(r->timeline);
		free(r->timeline);
		r->timeline = NULL;
	}
	memset(d, 0, sizeof(*d));
}

int recording_profile__reports(struct recording_profile *p, const struct recording_request *given,
			       struct reports *reports, struct diag *d)
{
	struct recording_request wanted = *given, *request = &wanted;
	struct groups show;
	int err = 0;

	if (request->timeline_most)
		request->timeline = can_place(request);
	groups_of(p, request, &show);
	memset(reports, 0, sizeof(*reports));
	if ((request->timeline || request->cells) && !can_place(request))
		return diag__set(d, DIAG_USAGE, EINVAL, "this format shows one sample after the other: leave out --invert, --callers-of "
				 "and --top");
	if (p->given)
		err = recording_profile__account_again(p, d);
	p->given = !p->keeps;
	for (uint32_t i = 0; i < p->mode_count && !err; i++) {
		err = make_report(p, i, &show, request, &reports->list[i], d);
		reports->count += !err;
		if (!err)
			err = set_lines_note(p, &reports->list[i], d);
	}
	if (!err && (request->timeline || request->cells))
		err = recording_profile__moments(p, request, reports, d);
	if (err == -E2BIG && request->timeline_most) {
		drop_timelines(reports, d);
		err = 0;
	}
	if (err)
		reports__free(reports);
	return err;
}
