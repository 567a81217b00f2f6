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
	/* What the workers of all machines do is one, but each process is of its own. */
	if (p->host_by_default && !request->by_command)
		groups__add_outermost(show, host);
	groups__add_mask(show, request->labels);
	/* What several threads did at one time is no order. */
	if (request->timeline_most && request->timeline && p->shown_by_default)
		groups__add(show, GROUP_THREAD);
}

/* The time that was recorded between the two. */
static int set_duration(const struct input *in, uint64_t from, uint64_t until, struct report_meta *m, struct diag *d)
{
	int err;

	m->duration = 0;
	m->paused = 0;
	if (until <= from)
		return 0;
	err = recording_account__paused(in->reader, from, until, &m->paused, d);
	m->duration = (double)(until - from - m->paused) / 1e9;
	return err;
}

/* Complete the fields for a recording that has not ended, or for a part of a recording. */
static int complete_meta(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report,
			 struct diag *d)
{
	struct report_meta *m = &report->meta;
	uint64_t from = in->since > in->begin ? in->since : in->begin, until;
	bool is_part = in->since || in->until != UINT64_MAX;
	const char *why;

	m->modes = p->mode_count;
	if (!is_part || !in->wall || __builtin_add_overflow(in->wall, from - in->begin, &m->part_began))
		m->part_began = 0;
	if (recording_reader__ended(in->reader, &why)) {
		uint64_t end = in->begin + (uint64_t)(m->duration * 1e9) + m->paused;

		until = in->until < end ? in->until : end;
		m->whole = is_part ? m->duration : 0;
		return is_part ? set_duration(in, from, until, m, d) : 0;
	}
	m->period = recording_profile__period(p, in, mode, false);
	m->started = (time_t)recording_reader__number(in->reader, "started_unix_s");
	m->started_at = in->begin;
	until = in->until < in->last ? in->until : in->last;
	m->accounting.taken = m->accounting.whole = in->rows[mode];
	snprintf(m->ended, sizeof(m->ended), "the recording did not end");
	for (uint32_t i = 0; i < report->processes.count && report->processes.count == 1; i++) {
		m->pid = report->processes.rows[i].pid;
		snprintf(m->command, sizeof(m->command), "%s", report->processes.rows[i].command);
		snprintf(m->ruby_version, sizeof(m->ruby_version), "%s", report->processes.rows[i].ruby_version);
	}
	return set_duration(in, from, until, m, d);
}

/* The account of a recording, for a report that has been built; which is freed if that fails. */
static int read_account(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report,
			struct diag *d)
{
	const struct report_meta counted = report->meta;
	bool cuts = p->filter.cuts;
	int err = recording_account__read(in->reader, in->tables, in->ids[mode], cuts ? in->since : 0, cuts ? in->until : UINT64_MAX,
					  report, d);

	if (err) {
		report__free(report);
		return err;
	}
	/* These fields were counted from the samples that were asked for: keep them. */
	report->meta.mode = counted.mode;
	report->meta.stacks = counted.stacks;
	report->meta.merged = counted.merged;
	report->meta.version = in->version;
	err = complete_meta(p, in, mode, report, d);
	if (!err && cuts)
		err = recording_window__account(p, in, mode, report, d);
	if (err)
		report__free(report);
	return err;
}

/* Processes of several machines can have one number.  0 or -ENOMEM. */
static int set_hosts(struct recording_profile *p, const struct input *in, struct report *part)
{
	const char *host = p->several_hosts ? strings__intern(&p->frames.strings, recording_reader__host(in->reader)) : "";

	for (uint32_t i = 0; host && i < part->processes.count; i++)
		part->processes.rows[i].host = host;
	for (uint32_t i = 0; host && part->threads && i < part->threads->count; i++)
		part->threads->rows[i].host = host;
	return host ? 0 : -ENOMEM;
}

/* The last host that became the report's: most rows have that of the row before. */
struct kept_host {
	const char *from, *to;
};

static int keep_host(struct strings *strings, struct kept_host *last, const char **host)
{
	if (*host && *host != last->from) {
		last->from = *host;
		last->to = strings__intern(strings, *host);
		if (!last->to)
			return -ENOMEM;
	}
	*host = *host ? last->to : NULL;
	return 0;
}

/* Their texts become the report's.  0 or -ENOMEM. */
static int keep_hosts(struct report *report)
{
	struct kept_host last = { NULL, NULL };
	int err = 0;

	for (uint32_t i = 0; i < report->processes.count && !err; i++)
		err = keep_host(&report->strings, &last, &report->processes.rows[i].host);
	for (uint32_t i = 0; report->threads && i < report->threads->count && !err; i++)
		err = keep_host(&report->strings, &last, &report->threads->rows[i].host);
	return err;
}

int recording_profile__account(struct recording_profile *p, struct input *in, struct diag *d)
{
	const struct input *first = &p->inputs[p->first[in->is_after]];
	struct together_part of = {
		.name = recording_reader__name(in->reader), .host = recording_reader__host(in->reader), .frames = p->account_frames,
		.later = first->begin + in->later - in->begin, .first = in == first,
	};
	int err = 0;

	for (uint32_t mode = 0; mode < p->mode_count && !err; mode++) {
		uint32_t account = p->compares ? in->is_after : mode;
		struct report part = { 0 };

		if (p->filter.cuts && (in->outside || !in->ids[mode]))
			continue;
		of.maps = p->count > RECORDINGS_ROWS_MAX ? &p->maps[account] : NULL;
		err = read_account(p, in, mode, &part, d);
		if (!err && set_hosts(p, in, &part))
			err = recording_profile__no_memory(d);
		if (!err)
			err = together__add(&p->accounts[account], &part, &of, d);
		report__free(&part);
	}
	p->account_frames += in->tables->frame_count;
	return err;
}

/* The accounts again, for other reports. */
static int account_again(struct recording_profile *p, struct diag *d)
{
	int err = 0;

	p->account_frames = 0;
	for (uint32_t mode = 0; mode < p->mode_count; mode++) {
		report__free(&p->accounts[mode]);
		together_maps__free(&p->maps[mode]);
	}
	for (uint32_t i = 0; i < p->count && !err; i++) {
		err = recording_profile__enter(p, &p->inputs[i], d);
		if (!err)
			err = recording_profile__account(p, &p->inputs[i], d);
		recording_profile__leave(p, &p->inputs[i]);
		if (err)
			recording_profile__failed_in(p, &p->inputs[i], err, d);
	}
	return err;
}

/* The account of several recordings becomes that of the report. */
static void move_account(const struct recording_profile *p, struct report *account, struct report *report)
{
	const struct report_meta counted = report->meta;

	report->meta = account->meta;
	/* These fields were counted from the samples that were asked for. */
	report->meta.mode = counted.mode;
	report->meta.stacks = counted.stacks;
	report->meta.merged = counted.merged;
	report->meta.modes = p->mode_count;
	together__move(report, account);
}

/* For recordings of one time it is that time. */
static int set_common_duration(const struct recording_profile *p, uint32_t mode, struct report *report)
{
	uint64_t ns = recording_pieces__sum(p, 1u << mode, false);

	report->meta.duration = (double)ns / 1e9;
	return ns == UINT64_MAX ? -ENOMEM : 0;
}

/* 0 or -ENOMEM. */
static int give_account(struct recording_profile *p, uint32_t mode, struct report *report)
{
	move_account(p, &p->accounts[mode], report);
	if (p->filter.cuts && (keep_hosts(report) || set_common_duration(p, mode, report)))
		return -ENOMEM;
	/* There is not one. */
	report->meta.rates_differ = p->other_rate[mode] != NULL;
	if (report->meta.rates_differ)
		report->meta.rate = 0;
	if (report->meta.rates_differ)
		report->meta.period = 0;
	for (uint32_t i = 0; i < p->mode_count; i++)
		if (p->other_rate[i])
			report->meta.cpu_period = 0;
	return 0;
}

/* The longest of the recordings of a side, ns.  What is not compared is all of one side. */
static uint64_t window_of(const struct recording_profile *p, bool is_after)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct input *in = &p->inputs[i];
		uint64_t from = in->since > in->begin ? in->since : in->begin, until = in->until < in->last ? in->until : in->last;

		if (in->is_after == is_after && until > from && until - from > longest)
			longest = until - from;
	}
	return longest;
}

/* What threads did before the time, for a profile of a time.  The caller frees it. */
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
	view.window = window_of(p, false);
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
		return read_account(p, &p->inputs[0], mode, report, d);
	if (!give_account(p, mode, report))
		return 0;
	report__free(report);
	return recording_profile__no_memory(d);
}

/* What is said of lines of native code, of all modes together. */
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
		err = account_again(p, d);
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

/* The account of a side, for its report; which is freed if that fails. */
static int account_of_side(struct recording_profile *p, int side, struct report *report, struct diag *d)
{
	if (p->keeps)
		return read_account(p, &p->inputs[side], 0, report, d);
	move_account(p, &p->accounts[side], report);
	return 0;
}

/* Paths are those that one side had first: so say which versions of gems this side had. */
static int set_owner_versions(const struct recording_profile *p, int side, struct report *report, struct diag *d)
{
	for (uint32_t i = 0; i < report->owner_count; i++) {
		struct report_owner *o = &report->owners[i];
		const char *version = o->kind == OWNER_GEM ? same_paths__version(&p->same_paths, o->name, side) : NULL;

		if (!version)
			continue;
		o->version = strings__intern(&report->strings, version);
		if (!o->version)
			return recording_profile__no_memory(d);
	}
	return 0;
}

/* "[gem rack 3.1.8 to 3.2.0]": a gem that is one frame, of which the sides have different versions.  Both have these labels. */
static int set_gem_name(const struct recording_profile *p, const struct report_owner *o, struct report *report, struct report_label *l,
			struct diag *d)
{
	const char *before = o->name ? same_paths__version(&p->same_paths, o->name, 0) : NULL;
	const char *after = o->name ? same_paths__version(&p->same_paths, o->name, 1) : NULL;
	struct text name = { 0 };
	const char *bare;
	char *whole = NULL;

	if (!before || !after || !strcmp(before, after))
		return 0;
	owner__add_text(o->kind, o->name, before, &name);
	text__addf(&name, " to %s", after);
	bare = name.failed ? NULL : strings__intern(&report->strings, text__string(&name));
	text__free(&name);
	if (!bare || asprintf(&whole, "[%s]", bare) < 0)
		return recording_profile__no_memory(d);
	free(l->name);
	l->name = whole;
	l->frame.name = bare;
	return 0;
}

static int set_versions(const struct recording_profile *p, int side, struct report *report, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < report->label_count && !err; i++) {
		struct report_label *l = &report->labels[i];
		const struct report_owner *o = &report->owners[l->owner];

		if (l->frame.kind == FRAME_RUBY && l->frame.bracketed && o->kind == OWNER_GEM)
			err = set_gem_name(p, o, report, l, d);
	}
	return err ? err : set_owner_versions(p, side, report, d);
}

/* Is there anything that is not idle? */
static bool has_more(const struct tree *tree, const bool *idle)
{
	for (uint32_t i = 0; i < tree->node_count; i++)
		if (!idle[i] && tree->nodes[i].self.count)
			return true;
	return false;
}

/*
 * What rests on both sides, or on the one that has it: each by its own times and length.  The same is left out of both, so
 * they have the same nodes and labels.  *idle NULL: nothing is left out.
 */
static int find_idle(const struct recording_profile *p, const struct recording_filter *filter, const struct owner_rules *rules,
		     bool **idle, struct diag *d)
{
	struct idle sides[2];

	*idle = NULL;
	if (filter->shows_idle || !idle__concerns(p->modes[0]))
		return 0;
	for (int i = 0; i < 2; i++)
		sides[i] = (struct idle){
			.tree = i ? &p->after : &p->tree, .frames = &p->frames, .rules = rules, .ns_is_count = true, .window = window_of(p, i),
		};
	if (idle__find_of_both(sides, idle))
		return recording_profile__no_memory(d);
	/* A side of nothing else shows what there is. */
	if (!has_more(&p->tree, *idle) || !has_more(&p->after, *idle)) {
		free(*idle);
		*idle = NULL;
	}
	return 0;
}

int recording_profile__compare(const struct recording_side sides[2], const struct recording_filter *filter,
			       const struct recording_request *request, struct report reports[2], struct diag *d)
{
	/* A file that only one version of a gem has is in that version's directory, and of the same gem. */
	struct transform transform = request->transform ? *request->transform : (struct transform){ .count = 0 };
	struct recording_profile *p;
	struct groups none = { 0 };
	struct owner_rules rules;
	bool *idle = NULL;
	int err;

	transform.versions_are_one = true;
	memset(reports, 0, 2 * sizeof(*reports));
	for (int i = 0; i < 2; i++)
		if (!sides[i].count || sides[i].count > RECORDINGS_MAX)
			return diag__set(d, DIAG_USAGE, E2BIG, "at most %d recordings can be shown as one", RECORDINGS_MAX);
	err = recording_profile__build(&p, sides, 2, filter, request->metric, d);
	if (err)
		return err;
	/* One had less memory than the other, and was merged. */
	if (p->tree.node_count != p->after.node_count || p->tree.merges != p->after.merges)
		err = recording_profile__no_memory(d);
	owner_dirs__rules(request->apps, &p->cwds, &rules);
	if (!err)
		err = find_idle(p, filter, &rules, &idle, d);
	for (int i = 0; i < 2 && !err; i++) {
		const struct report_view view = {
			.mode = p->modes[0], .by_value = true, .joins_lines = true, .ns_is_count = true, .window = window_of(p, i),
			.shows_idle = true, .idle = idle, .rules = &rules, .transform = &transform,
		};

		/* Their trees have the same nodes, and the same is left out: so they have the same labels and nodes. */
		err = report__build(&reports[i], i ? &p->after : &p->tree, &p->frames, &none, REPORT_BY_NAME, &view) ?
		      recording_profile__no_memory(d) : account_of_side(p, i, &reports[i], d);
		if (!err)
			err = set_versions(p, i, &reports[i], d);
		reports[i].metric = p->by_value ? p->modes[0]->value : p->modes[0]->count;
	}
	if (!err && (reports[0].node_count != reports[1].node_count || reports[0].label_count != reports[1].label_count))
		err = diag__set(d, DIAG_INTERNAL, EFAULT, "the two sides have different stacks; please report this");
	for (int i = 0; i < 2 && err; i++)
		report__free(&reports[i]);
	free(idle);
	recording_profile__destroy(p);
	return err;
}
