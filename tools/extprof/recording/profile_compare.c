/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of two sides that are compared. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/idle.h"
#include "recording/profile_parts.h"

/* The account of a side, for its report; which is freed if that fails. */
static int account_of_side(struct recording_profile *p, int side, struct report *report, struct diag *d)
{
	if (p->keeps)
		return recording_profile__read_account(p, &p->inputs[side], 0, report, d);
	recording_profile__move_account(p, &p->accounts[side], report);
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
 * Find the nodes that rest: on both sides, or on the side that has them.  Each side is judged by its own times and length.  The
 * same nodes are left out of both, so both have the same nodes and labels.  *idle NULL: nothing is left out.
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
			.tree = i ? &p->after : &p->tree, .frames = &p->frames, .rules = rules, .ns_is_count = true, .window = recording_profile__window(p, i),
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
			.mode = p->modes[0], .by_value = true, .joins_lines = true, .ns_is_count = true, .window = recording_profile__window(p, i),
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
