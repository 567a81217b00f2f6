/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/profile.h"

#include <errno.h>
#include <stdlib.h>

#include "recording/profile_parts.h"
#include "recording/schema.h"

int recording_profile__no_memory(struct diag *d)
{
	return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the profile");
}

static int make_room(struct recording_profile *p, struct diag *d)
{
	size_t room = 2 * RECORDING_DEPTH_MAX + 8;

	/* A frame can become as many as there are functions at an address. */
	p->path = malloc(room * (p->native_lines.inlined ? NATIVE_LINES_DEPTH : 1) * sizeof(*p->path));
	p->sums = malloc(SUMS_MAX * sizeof(*p->sums));
	return p->path && p->sums && !frame_table__init(&p->frames) && !tree__init(&p->tree) &&
	       (!p->compares || !tree__init(&p->after)) && (!p->filter.cuts || !tree__init(&p->past)) ? 0 : recording_profile__no_memory(d);
}

int recording_profile__failed_in(const struct recording_profile *p, const struct input *in, int err, struct diag *d)
{
	if (!p->keeps)
		diag__name(d, recording_reader__name(in->reader));
	return err;
}

const struct input *recording_profile__side(const struct recording_profile *p, const struct input *in)
{
	return &p->inputs[p->begins[in->is_after]];
}

/* Times are since the begin of the first one; each side has its own. */
static void place_recordings(struct recording_profile *p)
{
	for (int i = 0; i < 2; i++)
		p->first[i] = p->begins[i];
	for (uint32_t i = 0; i < p->count; i++) {
		p->inputs[i].begin = recording_reader__begin(p->inputs[i].reader);
		p->inputs[i].wall = recording_reader__wall(p->inputs[i].reader);
	}
	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t *first = &p->first[p->inputs[i].is_after];

		if (p->inputs[i].wall < p->inputs[*first].wall)
			*first = i;
	}
	for (uint32_t i = 0; i < p->count; i++) {
		struct input *in = &p->inputs[i];

		in->later = in->wall - p->inputs[p->first[in->is_after]].wall;
		recording_span__times(in->is_after ? &p->filter.second : &p->filter.span, in->begin, in->wall, in->later, &in->since,
				      &in->until);
		in->past = in->since > RECORDING_PAST ? in->since - RECORDING_PAST : 0;
	}
	p->several_hosts = p->filter.cuts && recording_groups__has_several_hosts(p);
}

/* The first recording says which modes and groups are shown. */
static int choose(struct recording_profile *p, const struct recording_filter *filter, const char *metric, struct diag *d)
{
	int err = recording_modes__choose(p, filter->modes, metric, d);

	return err ? err : recording_groups__choose(p, filter->groups, d);
}

static int add_recording(struct recording_profile *p, struct input *in, const struct recording_filter *filter, const char *metric,
			 struct diag *d)
{
	int err = recording_profile__enter(p, in, d);

	if (!err && p->filter.cuts)
		err = recording_pieces__find_end(in, d);
	if (!err && in == p->inputs)
		err = choose(p, filter, metric, d);
	if (!err && in == p->inputs)
		err = recording_states__find(p, d);
	if (!err)
		err = recording_modes__check(p, in, !filter->modes, d);
	if (!err) {
		recording_groups__look(p, in);
		err = recording_profile__choose(p, in, d);
	}
	if (!err)
		err = recording_sums__add(p, in, d);
	if (!err && p->filter.cuts)
		err = recording_pieces__add(p, in, d);
	if (!err && !p->keeps)
		err = recording_profile__account(p, in, d);
	if (!p->keeps)
		recording_profile__leave(p, in);
	return err ? recording_profile__failed_in(p, in, err, d) : 0;
}

static int fill(struct recording_profile *p, const struct recording_filter *filter, const char *metric, struct diag *d)
{
	int err = make_room(p, d);

	if (err)
		return err;
	place_recordings(p);
	if (p->compares)
		recording_profile__find_directories(p);
	for (uint32_t i = 0; i < p->count && !err; i++)
		err = add_recording(p, &p->inputs[i], filter, metric, d);
	p->counted = !err && !p->keeps;
	return err ? err : recording_groups__check(p, d);
}

/* The recordings of all sides, one side after the other.  0 or -ENOMEM. */
static int add_sides(struct recording_profile *p, const struct recording_side *sides, uint32_t side_count)
{
	for (uint32_t i = 0; i < side_count; i++)
		p->count += sides[i].count;
	p->inputs = calloc(p->count, sizeof(*p->inputs));
	if (!p->inputs)
		return -ENOMEM;
	p->compares = side_count > 1;
	p->keeps = p->count == side_count;
	p->begins[1] = p->compares ? sides[0].count : 0;
	for (uint32_t i = 0; i < side_count; i++)
		for (uint32_t j = 0; j < sides[i].count; j++)
			p->inputs[p->begins[i] + j] = (struct input){ .reader = sides[i].readers[j], .is_after = i };
	return 0;
}

int recording_profile__build(struct recording_profile **profile, const struct recording_side *sides, uint32_t side_count,
			     const struct recording_filter *filter, const char *metric, struct diag *d)
{
	struct recording_profile *p = calloc(1, sizeof(*p));
	int err;

	*profile = NULL;
	if (!p)
		return recording_profile__no_memory(d);
	p->filter = *filter;
	p->filter.modes = NULL;
	p->filter.groups = NULL;
	p->native_lines.lines = filter->native_lines;
	p->native_lines.inlined = filter->inlined;
	err = add_sides(p, sides, side_count) ? recording_profile__no_memory(d) : fill(p, filter, metric, d);
	if (err)
		recording_profile__destroy(p);
	else
		*profile = p;
	return err;
}

int recording_profile__create(struct recording_profile **profile, struct recording_reader *const *readers, uint32_t count,
			      const struct recording_filter *filter, struct diag *d)
{
	*profile = NULL;
	if (!count || count > RECORDINGS_MAX)
		return diag__set(d, DIAG_USAGE, E2BIG, "at most %d recordings can be shown as one", RECORDINGS_MAX);
	return recording_profile__build(profile, &(struct recording_side){ readers, count }, 1, filter, NULL, d);
}

void recording_profile__destroy(struct recording_profile *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		recording_profile__leave(p, &p->inputs[i]);
		recording_window__free(&p->inputs[i].window);
		free(p->inputs[i].counts);
	}
	for (uint32_t i = 0; i < MODES_MAX; i++) {
		report__free(&p->accounts[i]);
		together_maps__free(&p->maps[i]);
	}
	text__free(&p->known_keys);
	map64__free(&p->frame_map);
	free(p->inputs);
	native_lines__free(&p->native_lines);
	frame_table__free(&p->frames);
	tree__free(&p->tree);
	tree__free(&p->after);
	tree__free(&p->past);
	free(p->pieces);
	recording_states__free(p);
	free(p->sums);
	map64__free(&p->sum_map);
	owner_dirs__free(&p->cwds);
	same_paths__free(&p->same_paths);
	free(p->directories[0]);
	free(p->directories[1]);
	free(p->path);
	free(p);
}
