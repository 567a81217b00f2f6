/* SPDX-License-Identifier: BSD-2-Clause */
/* Which modes of recordings are shown, and whether all recordings have them and count the same. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "recording/profile_parts.h"

const struct mode *recording_profile__mode(const struct mode_row *row)
{
	if (!strcmp(row->name, mode_syscall.name) && !strcmp(row->source, "latency"))
		return &mode_syscall_latency;
	for (int i = 0; modes[i]; i++)
		if (!strcmp(modes[i]->name, row->name))
			return modes[i];
	return NULL;
}

/* The modes that there are; and what ran is a part of what threads did. */
static int say_modes(const struct mode *const *had, uint32_t count, const char *names, struct diag *d)
{
	struct text text = { 0 };
	bool wall = false;
	int err;

	modes__add_names(had, count, &text);
	for (uint32_t i = 0; i < count; i++)
		wall |= had[i] == &mode_wall;
	err = diag__set(d, DIAG_USAGE, EINVAL, "mode \"%s\" was not recorded: there is %s", names, text__string(&text));
	if (wall && !strcmp(names, mode_cpu.name))
		diag__hint(d, "what ran is a part of mode wall: --mode wall --filter state=running");
	text__free(&text);
	return err;
}

static int say_several(struct recording_profile *p, struct diag *d)
{
	struct text text = { 0 };
	int err;

	modes__add_names(p->modes, p->mode_count, &text);
	err = diag__set(d, DIAG_USAGE, EINVAL, "there are several modes: choose one with --mode, %s", text__string(&text));
	text__free(&text);
	return err;
}

/* While the modes are chosen. */
struct mode_choice {
	struct recording_profile *p;
	const char *names;		/* NULL: all are wanted */
	const struct mode *wanted[MODES_MAX], *had[BLOCK_MODES];
	uint32_t count, found, had_count;	/* found: of those that are wanted */
};

/* A recording has the mode.  The caller has seen to the room. */
static void take_mode(struct mode_choice *c, const struct mode *mode)
{
	bool is_wanted = !c->names;

	c->had[c->had_count++] = mode;
	for (uint32_t i = 0; i < c->count; i++)
		if (!strcmp(c->wanted[i]->name, mode->name)) {
			is_wanted = true;
			c->found++;
		}
	if (is_wanted)
		c->p->modes[c->p->mode_count++] = mode;
}

static int take_other_mode(void *context, sqlite3_stmt *s)
{
	const char *name = (const char *)sqlite3_column_text(s, 0), *source = (const char *)sqlite3_column_text(s, 1);
	const struct mode_row row = { .name = name ? name : "", .source = source ? source : "" };
	struct mode_choice *c = context;
	const struct mode *mode = recording_profile__mode(&row);

	for (uint32_t i = 0; i < c->had_count && mode; i++)
		if (!strcmp(c->had[i]->name, mode->name))
			mode = NULL;
	if (mode && c->had_count < BLOCK_MODES && c->p->mode_count < MODES_MAX)
		take_mode(c, mode);
	return 0;
}

/* One time can be in recordings of different modes. */
static int add_modes_of(struct mode_choice *c, struct input *in, struct diag *d)
{
	bool woken = !recording_reader__awake(in->reader);
	int err = woken ? recording_reader__wake(in->reader, d) : 0;

	if (err)
		return err;
	err = recording_pieces__find_end(in, d);
	if (!err && !in->outside)
		err = recording_profile__rows_of(in, 0, BLOCK_MODES, "SELECT name, source FROM modes WHERE id BETWEEN ? AND ? ORDER BY id",
						 take_other_mode, c, d);
	if (woken)
		recording_reader__sleep(in->reader);
	return err;
}

/* The modes of the first recording, of those that are wanted; of a filter that cuts also those of others. */
static int choose_modes(struct recording_profile *p, const char *names, struct diag *d)
{
	const struct recording_tables *t = p->inputs[0].tables;
	struct mode_choice c = { .p = p, .names = names };
	int err;

	if (names && modes__parse(names, c.wanted, &c.count))
		return diag__set(d, DIAG_USAGE, EINVAL, "\"%s\" is no list of different modes", names);
	for (uint32_t i = 0; i < BLOCK_MODES; i++) {
		const struct mode *mode = t->modes[i].id ? recording_profile__mode(&t->modes[i]) : NULL;

		if (!t->modes[i].id)
			continue;
		for (uint32_t j = 0; j < i; j++)
			if (t->modes[j].id && !strcmp(t->modes[j].name, t->modes[i].name))
				return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording is damaged: it has mode %s twice",
						 t->modes[i].name);
		if (!mode || p->mode_count == MODES_MAX)
			return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording has a mode that this extprof does not "
					 "know: %s", t->modes[i].name);
		take_mode(&c, mode);
	}
	for (uint32_t i = 1; p->filter.cuts && i < p->count; i++)
		if ((err = add_modes_of(&c, &p->inputs[i], d)))
			return recording_profile__failed_in(p, &p->inputs[i], err, d);
	if (c.found < c.count || !p->mode_count)
		return say_modes(c.had, c.had_count, names ? names : "", d);
	return 0;
}

static int make_modes(struct recording_profile *p, struct diag *d)
{
	struct frame f = FRAME_INIT(FRAME_MODE);

	for (uint32_t i = 0; i < p->mode_count && p->mode_count > 1; i++) {
		f.name = p->modes[i]->name;
		p->mode_frames[i] = frame_table__add(&p->frames, &f);
		if (!p->mode_frames[i])
			return recording_profile__no_memory(d);
	}
	f.name = "labelled";
	p->labelled_frame = frame_table__add(&p->frames, &f);
	return p->labelled_frame ? 0 : recording_profile__no_memory(d);
}

int recording_profile__metric(const struct mode *m, const char *metric, bool *by_value, struct diag *d)
{
	*by_value = !strcmp(metric, m->value.name);
	if (!*by_value && strcmp(metric, m->count.name))
		return diag__set(d, DIAG_USAGE, EINVAL, "mode %s has no metric \"%s\": it is %s or %s", m->name, metric,
				 m->value.name, m->count.name);
	return 0;
}

static int choose_metric(struct recording_profile *p, const char *metric, struct diag *d)
{
	const struct mode *m = p->modes[0];

	if (p->mode_count > 1)
		return say_several(p, d);
	p->by_value = m->value.unit != UNIT_COUNT;
	return metric ? recording_profile__metric(m, metric, &p->by_value, d) : 0;
}

int recording_modes__choose(struct recording_profile *p, const char *names, const char *metric, struct diag *d)
{
	int err = choose_modes(p, names, d);

	if (!err && p->compares)
		err = choose_metric(p, metric, d);
	return err ? err : make_modes(p, d);
}

/* The id that a mode has in a recording; 0: it has none of that name. */
static uint32_t id_of(const struct input *in, const char *name)
{
	for (uint32_t i = 0; i < BLOCK_MODES; i++)
		if (in->tables->modes[i].id && !strcmp(in->tables->modes[i].name, name))
			return i;
	return 0;
}

/* Which of the recording's modes are those? */
static int find_modes(const struct recording_profile *p, struct input *in, struct diag *d)
{
	const char *name = recording_reader__name(in->reader), *first = recording_reader__name(p->inputs[0].reader);

	for (uint32_t i = 0; i < BLOCK_MODES; i++)
		in->number_of[i] = -1;
	for (uint32_t number = 0; number < p->mode_count; number++) {
		const char *mode = p->modes[number]->name;
		uint32_t id = id_of(in, mode);

		in->ids[number] = 0;
		if (!id && p->filter.cuts)
			continue;
		if (!id)
			return diag__set(d, DIAG_USAGE, EINVAL, "%s has no mode %s, and %s has: choose modes that all have with "
					 "--mode", name, mode, first);
		if (in->outside && recording_profile__mode(&in->tables->modes[id]) != p->modes[number])
			continue;
		if (recording_profile__mode(&in->tables->modes[id]) != p->modes[number])
			return diag__set(d, DIAG_USAGE, EINVAL, "mode %s does not count the same in %s as in %s", mode, name,
					 first);
		in->number_of[id] = (int32_t)number;
		in->ids[number] = id;
	}
	return 0;
}

/* Fail if the recording has a mode that would be left out although nobody has chosen modes. */
static int find_other_modes(const struct recording_profile *p, const struct input *in, struct diag *d)
{
	for (uint32_t i = 0; i < BLOCK_MODES; i++)
		if (in->tables->modes[i].id && in->number_of[i] < 0)
			return diag__set(d, DIAG_USAGE, EINVAL, "%s has the mode %s, and %s has not: choose modes that all have "
					 "with --mode", recording_reader__name(in->reader), in->tables->modes[i].name,
					 recording_reader__name(p->inputs[0].reader));
	return 0;
}

uint64_t recording_profile__period(const struct recording_profile *p, const struct input *in, uint32_t mode, bool ended)
{
	char key[32] = "period_ns";

	if (ended)
		snprintf(key, sizeof(key), "mode.%u.period", in->ids[mode]);
	else if (!(p->modes[mode]->sources & 1u << SOURCE_CPU))
		return 0;
	return (uint64_t)recording_reader__number(in->reader, key);
}

int recording_profile__rates_differ(const struct recording_profile *p, uint32_t mode, struct diag *d)
{
	const struct input *in = p->other_rate[mode], *first = recording_profile__side(p, in);

	return diag__set(d, DIAG_USAGE, EINVAL, "%s was recorded at another rate than %s, and mode %s counts samples: show each by itself, or "
			 "its time", recording_reader__name(in->reader), recording_reader__name(first->reader), p->modes[mode]->name);
}

/* Counts of different rates have no sum; times have.  The sides of a comparison have shares of their own. */
static int check_rates(struct recording_profile *p, const struct input *in, struct diag *d)
{
	const struct input *first = recording_profile__side(p, in);
	const char *why;
	bool ended = recording_reader__ended(in->reader, &why) && recording_reader__ended(first->reader, &why);

	for (uint32_t i = 0; i < p->mode_count; i++) {
		uint64_t a, b;

		if (!in->ids[i])
			continue;
		b = recording_profile__period(p, in, i, ended);
		if (in == first || !p->rated[i])
			for (int j = 0; j < 2; j++)
				p->periods[i][j] = recording_profile__period(p, in, i, j);
		p->rated[i] = true;
		a = p->periods[i][ended];

		if (a == b)
			continue;
		p->other_rate[i] = in;
		if (p->modes[i]->value.unit != UNIT_NS || !a || !b || (p->compares && !p->by_value))
			return recording_profile__rates_differ(p, i, d);
	}
	return 0;
}

int recording_modes__check(struct recording_profile *p, struct input *in, bool all_modes, struct diag *d)
{
	int err = find_modes(p, in, d);

	if (!err && !p->compares && !p->filter.cuts && all_modes)
		err = find_other_modes(p, in, d);
	/* A recording before the time is counted in ns, so its rate does not matter. */
	return err || in->outside ? err : check_rates(p, in, d);
}
