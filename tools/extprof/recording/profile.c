/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/group_names.h"
#include "profile/idle.h"
#include "recording/profile_parts.h"
#include "recording/schema.h"

/* -- the tree ------------------------------------------------------------------------------------ */

/* Put the frames that stand for those of the path in their places, from `from` on.  Returns its length. */
static uint32_t expand(struct recording_profile *p, uint32_t from, uint32_t n)
{
	uint32_t end, to, count;

	if (!p->native_lines.list)
		return n;
	end = from;
	for (uint32_t i = from; i < n; i++) {
		native_lines__of(&p->native_lines, p->path[i], &count);
		end += count ? count : 1;
	}
	/* There is room, see make_room(). */
	to = end;
	for (uint32_t i = n; i-- > from;) {
		const uint32_t *frames = native_lines__of(&p->native_lines, p->path[i], &count);

		if (!count)
			p->path[--to] = p->path[i];
		else
			memmove(p->path + (to -= count), frames, count * sizeof(*frames));
	}
	return end;
}

/* The stack's numbers of frames, from c[n] on; returns how many there are then. */
static uint32_t add_stack(struct recording_profile *p, const struct input *in, uint32_t stack, uint32_t n)
{
	const struct recording_tables *t = in->tables;
	uint32_t depth = 0;

	for (uint32_t s = stack; s; s = t->stacks[s].parent)
		depth++;
	for (uint32_t s = stack, i = n + depth; s; s = t->stacks[s].parent)
		p->path[--i] = in->numbers[t->stacks[s].frame];
	return expand(p, n, n + depth);
}

/* The frame of a label that is shown, in the set of a sample.  A frame without a key says why labels are missing. */
static uint32_t label_of(const struct recording_profile *p, const struct input *in, const struct sum *sum, int label)
{
	const struct recording_tables *t = in->tables;
	uint8_t why = KNOWN_NOT_SET;

	for (int i = 0; i < INPUT_LABELS; i++)
		if (label == p->input_labels[i])
			return in->frames[i];
	for (int part = 0; part < TRACE_PARTS; part++)
		if (label == p->trace_label[part] && sum->has_trace)
			return sum->traced[part] ? sum->traced[part] : p->no_label[label][KNOWN_NOT_SET];
	for (uint32_t s = sum->labels; s; s = t->stacks[s].parent) {
		const struct frame *f = &t->frames[t->stacks[s].frame];

		if (!strcmp(f->key, p->label_keys[label]))
			return in->numbers[t->stacks[s].frame];
		if (!*f->key && f->known > KNOWN_NOT_SET && f->known < KNOWN_MERGED && p->no_label[label][f->known])
			why = f->known;
	}
	return p->no_label[label][why];
}

/* A sum of a comparison goes into both trees, and stands for something in that of its side. */
static int add_to_both(struct recording_profile *p, const struct input *in, const struct sum *s, uint32_t n)
{
	/* Of each side its own times are known, by which its idle threads are found. */
	const struct weight none = { .count = 0 };
	const struct weight amount = { .value = p->by_value ? s->weight.value : s->weight.count, .count = s->weight.value };
	bool is_after = in->is_after;
	int err = tree__add_samples(&p->tree, p->path, n, s->samples, is_after ? &none : &amount, is_after ? -s->squares_before : s->squares);

	return err ? err : tree__add_samples(&p->after, p->path, n, s->samples, is_after ? &amount : &none,
					     is_after ? s->squares : 0);
}

/* Put the frames of groups into p->path, and the frame that tells idle threads from others.  Returns the length of the
 * path. */
static uint32_t add_groups(struct recording_profile *p, const struct input *in, const struct sum *s)
{
	const struct thread_entry *t = &in->tables->threads[s->thread];
	uint32_t process = in->tables->processes[t->process].frame, n = 0;

	if (p->mode_frames[s->mode])
		p->path[n++] = p->mode_frames[s->mode];
	if (process)
		p->path[n++] = in->numbers[process];
	if (t->frame)
		p->path[n++] = in->numbers[t->frame];
	for (int j = 0; j < p->show.label_count; j++)
		p->path[n++] = label_of(p, in, s, j);
	if (p->labelled_frame && (s->labels || s->has_trace) && idle__concerns(p->modes[s->mode]))
		p->path[n++] = p->labelled_frame;
	return n;
}

uint32_t recording_profile__path(struct recording_profile *p, const struct input *in, const struct sum *s)
{
	return add_stack(p, in, s->stack, add_groups(p, in, s));
}

/* The sums so far go into the tree, as the samples did. */
static int add_sums(struct recording_profile *p, const struct input *in)
{
	int err = 0;

	for (uint32_t i = 0; i < p->sum_count && !err; i++) {
		const struct sum *s = &p->sums[i];
		uint32_t n = recording_profile__path(p, in, s);

		if (i % 64 == 0 && recording_reader__over(in->reader))
			err = -ETIME;
		else
			err = p->compares ? add_to_both(p, in, s, n) :
			      tree__add_samples(s->past ? &p->past : &p->tree, p->path, n, s->samples, &s->weight, s->squares);
	}
	p->sum_count = 0;
	map64__clear(&p->sum_map);
	return err;
}

static bool is_same(const struct sum *a, const struct sum *b)
{
	return a->thread == b->thread && a->stack == b->stack && a->labels == b->labels && a->mode == b->mode &&
	       a->past == b->past && a->has_trace == b->has_trace && !memcmp(a->traced, b->traced, sizeof(a->traced));
}

/* The frame that shows the trace, or the span, as a label.  0: the sample has none. */
static uint32_t frame_of_trace(struct recording_profile *p, const struct trace_context *context, int part)
{
	int label = p->trace_label[part];
	uint32_t frame, before = p->frames.no_code;
	char text[TRACE_TEXT_SIZE];
	struct label_record value = { .value = text };

	if (label < 0 || !trace__text(context, (enum trace_part)part, text))
		return 0;
	value.value_length = (uint16_t)strlen(text);
	frame = group_names__add_label(&p->frames, p->label_keys[label], LABEL_SET, &value, p->trace_values >= TRACE_VALUES_MAX);
	p->trace_values += p->frames.no_code - before;
	return frame ? frame : p->no_label[label][KNOWN_CROWDED];
}

uint32_t recording_profile__sum(struct recording_profile *p, const struct input *in, const struct recording_sample *s, bool past,
				bool *is_new)
{
	struct sum sum = {
		.thread = s->thread, .stack = s->stack, .labels = s->labels, .mode = (uint32_t)in->number_of[s->mode],
		.past = past, .has_trace = trace__is_set(&s->context),
	};
	uint64_t hash = hash__mix((uint64_t)sum.thread << 32 | sum.stack);
	uint32_t number;

	*is_new = false;
	for (int part = 0; part < TRACE_PARTS; part++)
		sum.traced[part] = frame_of_trace(p, &s->context, part);
	hash = hash__mix(hash ^ (uint64_t)sum.labels << 10 ^ (uint64_t)past << 9 ^ (uint64_t)sum.has_trace << 8 ^ sum.mode);
	if (sum.traced[TRACE_ID] || sum.traced[TRACE_SPAN])
		hash = hash__mix(hash ^ (uint64_t)sum.traced[TRACE_ID] << 32 ^ sum.traced[TRACE_SPAN]);
	while ((number = map64__get(&p->sum_map, hash)) != MAP64_NONE && !is_same(&p->sums[number], &sum))
		hash++;
	if (number != MAP64_NONE)
		return number;
	if (p->sum_count == SUMS_MAX || map64__add(&p->sum_map, hash, p->sum_count))
		return MAP64_NONE;
	p->sums[p->sum_count] = sum;
	*is_new = true;
	return p->sum_count++;
}

static int add_sample(struct recording_profile *p, const struct input *in, const struct recording_sample *s, bool past)
{
	const struct weight all = { .value = p->all.value + s->value, .count = p->all.count + s->count };
	double amount = (double)(p->compares && !p->by_value ? s->count : s->value);
	double square = amount * amount, before = 0;
	uint32_t number;
	bool is_new;
	int err;

	if (s->value > INT64_MAX || s->count > INT64_MAX || all.value > INT64_MAX || all.count > INT64_MAX)
		return -EOVERFLOW;
	number = recording_profile__sum(p, in, s, past, &is_new);
	if (number == MAP64_NONE) {
		if (p->sum_count == SUMS_MAX)
			return (err = add_sums(p, in)) ? err : add_sample(p, in, s, past);
		return -ENOMEM;
	}
	if (p->compares && recording_states__has(p, in, s) && recording_states__square(p, in, s, amount, &square, &before))
		return -ENOMEM;
	p->all = all;
	p->sums[number].samples++;
	p->sums[number].weight.value += s->value;
	p->sums[number].weight.count += s->count;
	p->sums[number].squares += square;
	p->sums[number].squares_before += before;
	return 0;
}

bool recording_profile__wants(struct recording_profile *p, struct input *in, const struct recording_sample *s)
{
	return in->number_of[s->mode] >= 0 && recording_states__counts(p, in, s) && recording_matches__sample(&in->matches, s) &&
	       (!request_choice__chooses(&p->filter.requests) || requests__has(&in->requests, s));
}

/* The recording that the samples are from, and the profile that takes them. */
struct taking {
	struct recording_profile *p;
	struct input *in;
};

/* NULL: it is not reported. */
static const struct mode *mode_of(const struct recording_profile *p, const struct input *in, const struct recording_sample *s)
{
	return in->number_of[s->mode] < 0 ? NULL : p->modes[in->number_of[s->mode]];
}

/* What it was before the time: it tells which waits are a rest. */
static int add_past(struct recording_profile *p, const struct input *in, uint64_t begin, const struct recording_sample *s)
{
	struct recording_sample part = *s;
	const struct mode *mode = mode_of(p, in, s);

	if (in->past >= in->since || !mode || !idle__concerns(mode) || !recording_window__cut(in->past, in->since, begin, &part))
		return 0;
	return add_sample(p, in, &part, true);
}

static int take(void *context, const struct recording_sample *samples, uint32_t count)
{
	struct taking *to = context;
	struct input *in = to->in;
	int err;

	for (uint32_t i = 0; i < count; i++) {
		const struct recording_sample *s = &samples[i];
		struct recording_sample part;
		uint64_t begin = 0;

		if (to->p->filter.cuts)
			begin = recording_profile__begin(&in->times, in, mode_of(to->p, in, s), samples, i, count);
		/* Samples that are not asked for tell how long it was recorded, too. */
		if (s->time > in->last)
			in->last = s->time;
		if (!recording_profile__wants(to->p, in, s))
			continue;
		if (to->p->filter.cuts && !recording_states__has(to->p, in, s)) {
			err = add_past(to->p, in, begin, s);
			if (err)
				return err;
			part = *s;
			s = &part;
			if (!recording_window__cut(in->since, in->until, begin, &part))
				continue;
		}
		if (to->p->filter.cuts && (err = recording_window__add(to->p, in, s)))
			return err;
		in->rows[in->number_of[s->mode]]++;
		in->seen[in->tables->threads[s->thread].process] = true;
		err = add_sample(to->p, in, s, false);
		if (err)
			return err;
	}
	return 0;
}

/* -- creation ------------------------------------------------------------------------------------ */

static const struct mode *find_mode(const struct mode_row *row)
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
	const struct mode *mode = find_mode(&row);

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
		const struct mode *mode = t->modes[i].id ? find_mode(&t->modes[i]) : NULL;

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

int recording_profile__no_memory(struct diag *d)
{
	return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the profile");
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
		if (in->outside && find_mode(&in->tables->modes[id]) != p->modes[number])
			continue;
		if (find_mode(&in->tables->modes[id]) != p->modes[number])
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

const struct input *recording_profile__side(const struct recording_profile *p, const struct input *in)
{
	return &p->inputs[p->begins[in->is_after]];
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

/* "a, b": keys that frames of the recording have, some of them. */
static void list_labels(const struct input *in, struct text *out)
{
	const char *last[8];
	uint32_t count = 0;

	for (uint32_t id = 1; id < in->tables->frame_count && count < sizeof(last) / sizeof(last[0]); id++) {
		const struct frame *f = &in->tables->frames[id];
		bool known = f->kind != FRAME_LABEL || !*f->key;

		for (uint32_t i = 0; i < count && !known; i++)
			known = !strcmp(last[i], f->key);
		if (known)
			continue;
		text__addf(out, "%s%s", count ? ", " : "", f->key);
		last[count++] = f->key;
	}
}

/* Has the recording labels of `show`? */
static void look_for_labels(struct recording_profile *p, const struct input *in)
{
	const struct recording_tables *t = in->tables;

	int has_traces = -1;	/* each block is looked at for that */

	for (int i = 0; i < p->show.label_count; i++) {
		if (p->keys[i] && trace__part_of_label(p->keys[i]) >= 0) {
			if (has_traces < 0)
				has_traces = recording_reader__has_traces(in->reader);
			if (has_traces)
				p->keys[i] = NULL;
		}
		for (uint32_t id = 1; id < t->frame_count && p->keys[i]; id++)
			if (t->frames[id].kind == FRAME_LABEL && !strcmp(t->frames[id].key, p->keys[i]))
				p->keys[i] = NULL;
	}
}

/* No recording has one of them: when all have been read. */
static int check_labels(const struct recording_profile *p, struct diag *d)
{
	if (request_choice__chooses(&p->filter.requests) && !p->has_request_label)
		return diag__set(d, DIAG_USAGE, EINVAL, "no sample of the recording has the label \"%s\"", p->filter.requests.label);
	for (int i = 0; i < p->show.label_count && !p->filter.labels_can_lack; i++)
		if (p->keys[i])
			return diag__set(d, DIAG_USAGE, EINVAL, "no sample of the recording has %s\"%s\"; %s%s",
					 trace__part_of_label(p->keys[i]) < 0 ? "the label " : "a trace, or the label ", p->keys[i],
					 p->known_keys.length ? "it has: " : "it has no labels at all", text__string(&p->known_keys));
	return 0;
}

/* What all samples of a recording have in common is shown as the value of a label. */
static int name_inputs(struct recording_profile *p, enum input_label label, enum group_key key, struct diag *d)
{
	p->input_labels[label] = -1;
	if (!groups__has(&p->show, key))
		return 0;
	p->input_labels[label] = groups__name_as_label(&p->show, key);
	if (p->input_labels[label] < 0)
		return diag__set(d, DIAG_USAGE, E2BIG, "%s and labels: at most %d groups in all", group_names[key], GROUP_LABELS_MAX);
	for (uint32_t i = 0; i < p->count; i++) {
		struct frame f = FRAME_INIT(FRAME_LABEL);
		const char *host = recording_reader__host(p->inputs[i].reader);

		f.key = group_names[key];
		f.name = label == INPUT_HOST ? host : recording_reader__name(p->inputs[i].reader);
		p->inputs[i].frames[label] = *f.name ? frame_table__add(&p->frames, &f) :
					     group_names__add_label(&p->frames, f.key, LABEL_NOT_SET, NULL, false);
		if (!p->inputs[i].frames[label])
			return recording_profile__no_memory(d);
	}
	return 0;
}

static bool is_of_input(const struct recording_profile *p, int label)
{
	return label == p->input_labels[INPUT_NAME] || label == p->input_labels[INPUT_HOST];
}

/* Processes of different machines can have one pid. */
static bool has_several_hosts(const struct recording_profile *p)
{
	const char *first = "";

	for (uint32_t i = 0; i < p->count; i++) {
		const char *host = recording_reader__host(p->inputs[i].reader);

		/* One that does not say it can be of the same one. */
		if (*first && *host && strcmp(first, host))
			return true;
		first = *first ? first : host;
	}
	return false;
}

/* The groups that are shown, and what is shown of samples that have no value of a label. */
static int choose_groups(struct recording_profile *p, const struct groups *wanted, struct diag *d)
{
	static const enum label_state states[] = { LABEL_NOT_SET, LABEL_EXPIRED, LABEL_UNREAD };
	static const enum frame_known knowns[] = { KNOWN_NOT_SET, KNOWN_EXPIRED, KNOWN_UNREAD };
	int err = 0;

	p->show = wanted ? *wanted : p->view.groups;
	p->shown_by_default = !wanted;
	p->host_by_default = !wanted && p->view.group_by_default && has_several_hosts(p);
	if (p->host_by_default)
		groups__add(&p->show, GROUP_HOST);
	for (int part = 0; part < TRACE_PARTS; part++)
		p->trace_label[part] = -1;
	err = name_inputs(p, INPUT_NAME, GROUP_RECORDING, d);
	if (!err)
		err = name_inputs(p, INPUT_HOST, GROUP_HOST, d);
	for (int i = 0; i < p->show.label_count && !err; i++) {
		const char *key = p->show.labels[i];
		int part = trace__part_of_label(key);
		uint32_t *frames = p->no_label[i];

		if (part >= 0 && !is_of_input(p, i))
			p->trace_label[part] = i;

		for (size_t j = 0; j < sizeof(states) / sizeof(states[0]); j++)
			frames[knowns[j]] = group_names__add_label(&p->frames, key, states[j], NULL, false);
		frames[KNOWN_CROWDED] = group_names__add_crowded(&p->frames, FRAME_LABEL, key);
		if (!frames[KNOWN_NOT_SET] || !frames[KNOWN_EXPIRED] || !frames[KNOWN_UNREAD] || !frames[KNOWN_CROWDED])
			return recording_profile__no_memory(d);
		p->label_keys[i] = frame_table__get(&p->frames, frames[KNOWN_NOT_SET])->key;
		p->keys[i] = wanted && !is_of_input(p, i) ? p->label_keys[i] : NULL;
	}
	return err;
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
	p->several_hosts = p->filter.cuts && has_several_hosts(p);
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

/* The first recording says which modes and groups are shown. */
static int choose(struct recording_profile *p, const struct recording_filter *filter, const char *metric, struct diag *d)
{
	int err;

	list_labels(&p->inputs[0], &p->known_keys);
	if ((err = choose_modes(p, filter->modes, d)) || (p->compares && (err = choose_metric(p, metric, d))) ||
	    (err = make_modes(p, d)))
		return err;
	return choose_groups(p, filter->groups, d);
}

static int check(struct recording_profile *p, struct input *in, bool all_modes, struct diag *d)
{
	int err = find_modes(p, in, d);

	if (!err && !p->compares && !p->filter.cuts && all_modes)
		err = find_other_modes(p, in, d);
	/* What was before is counted in time. */
	return err || in->outside ? err : check_rates(p, in, d);
}

/* By their clock on the wall, by which recordings are put in order. */
static void take_version(struct input *in)
{
	for (uint32_t id = 1; id < in->tables->process_count; id++) {
		const struct process_entry *p = &in->tables->processes[id];

		if (in->seen[id])
			report_version__add(&in->version, p->resource, in->wall + (p->began > in->begin ? p->began - in->begin : 0));
	}
}

static int add_samples(struct recording_profile *p, struct input *in, struct diag *d)
{
	struct taking to = { .p = p, .in = in };
	uint64_t from = recording_states__are_whole(p) ? 0 : p->filter.cuts ? in->past : in->since;
	int err = 0;

	in->seen = calloc(in->tables->process_count, sizeof(*in->seen));
	if (!in->seen)
		return recording_profile__no_memory(d);
	if (p->filter.cuts)
		err = recording_window__begin(p, in, d);
	/* What is cut can end later. */
	if (!err)
		err = recording_reader__samples(in->reader, in->tables, from, p->filter.cuts ? UINT64_MAX : in->until, take, &to, d);
	take_version(in);
	free(in->seen);
	in->seen = NULL;
	if (err == -EOVERFLOW)
		return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording is damaged: its amounts have no sum");
	if (err)
		return err;
	err = add_sums(p, in);
	return err ? recording_reader__failed(err, d) : 0;
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
		err = check(p, in, !filter->modes, d);
	if (!err) {
		look_for_labels(p, in);
		err = recording_profile__choose(p, in, d);
	}
	if (!err)
		err = add_samples(p, in, d);
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
	return err ? err : check_labels(p, d);
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
