/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/group_names.h"
#include "recording/request_choice.h"
#include "recording/schema.h"

/* Different combinations of mode, thread, labels and stack that are added up before they go into the tree. */
#define SUMS_MAX (256u << 10)

struct sum {
	uint32_t thread, stack, labels, mode;
	uint32_t samples;
	struct weight weight;
	double squares;		/* see struct tree_node */
};

/* One recording. */
struct input {
	struct recording_reader *reader;
	struct recording_tables tables;
	struct recording_view view;
	struct recording_matches matches;
	struct requests requests;	/* those of which samples are asked for, if it was */
	uint64_t begin, since, until;	/* CLOCK_MONOTONIC, ns */
	int32_t number_of[BLOCK_MODES];	/* by id: in recording_profile::modes; -1 none */
	uint32_t ids[MODES_MAX];	/* by number */
	uint32_t *numbers;		/* by id of the frame */
	uint64_t rows[MODES_MAX];	/* samples of each mode */
	uint64_t last;			/* time of a sample */
};

struct recording_profile {
	struct input inputs[RECORDINGS_MAX];
	uint32_t count;
	struct recording_filter filter;
	const struct mode *modes[MODES_MAX];	/* that are reported */
	uint32_t mode_frames[MODES_MAX], mode_count;
	struct groups show;		/* as the caller wants it, or as the first one was recorded */
	bool shown_by_default;
	/* Of the labels of `show`: their keys as frames have them, and the frames of samples that have no value. */
	const char *label_keys[GROUP_LABELS_MAX];
	uint32_t no_label[GROUP_LABELS_MAX][KNOWN_MERGED];	/* by enum frame_known */
	/* Two recordings are compared: `tree` has the amounts of the first one, and `after` those of the second one.  Both
	 * have all stacks, with equal numbers of samples: so they have the same nodes. */
	bool compares;
	bool by_value;			/* if it compares: that amount of the mode is compared */
	struct frame_table frames;
	uint32_t frame_base;		/* numbers of codes that are in use */
	struct tree tree, after;
	uint32_t *path;			/* of a stack, with all before it */
	struct sum *sums;
	uint32_t sum_count;
	struct map64 sum_map;
	struct owner_dirs cwds;		/* where the processes worked */
	struct weight all;		/* of all samples: no sum is larger */
};

/* -- the tree ------------------------------------------------------------------------------------ */

/* The stack's numbers of frames, from c[n] on; returns how many there are then. */
static uint32_t add_stack(struct recording_profile *p, const struct input *in, uint32_t stack, uint32_t n)
{
	const struct recording_tables *t = &in->tables;
	uint32_t depth = 0;

	for (uint32_t s = stack; s; s = t->stacks[s].parent)
		depth++;
	for (uint32_t s = stack, i = n + depth; s; s = t->stacks[s].parent)
		p->path[--i] = in->numbers[t->stacks[s].frame];
	return n + depth;
}

/* The frame of a label that is shown, in the set of a sample.  A frame without a key says why labels are missing. */
static uint32_t label_of(const struct recording_profile *p, const struct input *in, uint32_t set, int label)
{
	const struct recording_tables *t = &in->tables;
	uint8_t why = KNOWN_NOT_SET;

	for (uint32_t s = set; s; s = t->stacks[s].parent) {
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
	const struct weight amount = { .value = p->by_value ? s->weight.value : s->weight.count }, none = { 0 };
	bool is_after = in != p->inputs;
	int err = tree__add_samples(&p->tree, p->path, n, s->samples, is_after ? &none : &amount, is_after ? 0 : s->squares);

	return err ? err : tree__add_samples(&p->after, p->path, n, s->samples, is_after ? &amount : &none,
					     is_after ? s->squares : 0);
}

/* What groups are made of; a comparison puts them together.  Returns the length of the path. */
static uint32_t add_groups(struct recording_profile *p, const struct input *in, const struct sum *s)
{
	const struct thread_entry *t = &in->tables.threads[s->thread];
	uint32_t process = in->tables.processes[t->process].frame, n = 0;

	if (p->compares)
		return 0;
	if (p->mode_frames[s->mode])
		p->path[n++] = p->mode_frames[s->mode];
	if (process)
		p->path[n++] = in->numbers[process];
	if (t->frame)
		p->path[n++] = in->numbers[t->frame];
	for (int j = 0; j < p->show.label_count; j++)
		p->path[n++] = label_of(p, in, s->labels, j);
	return n;
}

/* The sums so far go into the tree, as the samples did. */
static int add_sums(struct recording_profile *p, const struct input *in)
{
	int err = 0;

	for (uint32_t i = 0; i < p->sum_count && !err; i++) {
		const struct sum *s = &p->sums[i];
		uint32_t n = add_stack(p, in, s->stack, add_groups(p, in, s));

		if (i % 64 == 0 && recording_reader__over(in->reader))
			err = -ETIME;
		else
			err = p->compares ? add_to_both(p, in, s, n) :
			      tree__add_samples(&p->tree, p->path, n, s->samples, &s->weight, s->squares);
	}
	p->sum_count = 0;
	map64__clear(&p->sum_map);
	return err;
}

static bool is_same(const struct sum *a, const struct sum *b)
{
	return a->thread == b->thread && a->stack == b->stack && a->labels == b->labels && a->mode == b->mode;
}

static int add_sample(struct recording_profile *p, const struct input *in, const struct recording_sample *s)
{
	struct sum sum = {
		.thread = s->thread, .stack = s->stack, .labels = s->labels, .mode = (uint32_t)in->number_of[s->mode],
	};
	const struct weight all = { .value = p->all.value + s->value, .count = p->all.count + s->count };
	double amount = (double)(p->compares && !p->by_value ? s->count : s->value);
	uint64_t hash = hash__mix((uint64_t)sum.thread << 32 | sum.stack);
	uint32_t number;
	int err;

	if (s->value > INT64_MAX || s->count > INT64_MAX || all.value > INT64_MAX || all.count > INT64_MAX)
		return -EOVERFLOW;
	hash = hash__mix(hash ^ (uint64_t)sum.labels << 8 ^ sum.mode);
	while ((number = map64__get(&p->sum_map, hash)) != MAP64_NONE && !is_same(&p->sums[number], &sum))
		hash++;
	if (number == MAP64_NONE) {
		if (p->sum_count == SUMS_MAX)
			return (err = add_sums(p, in)) ? err : add_sample(p, in, s);
		if (map64__add(&p->sum_map, hash, p->sum_count))
			return -ENOMEM;
		number = p->sum_count++;
		p->sums[number] = sum;
	}
	p->all = all;
	p->sums[number].samples++;
	p->sums[number].weight.value += s->value;
	p->sums[number].weight.count += s->count;
	p->sums[number].squares += amount * amount;
	return 0;
}

/* Of whom the samples are. */
struct taking {
	struct recording_profile *p;
	struct input *in;
};

static int take(void *context, const struct recording_sample *samples, uint32_t count)
{
	struct taking *to = context;
	struct input *in = to->in;
	int err;

	for (uint32_t i = 0; i < count; i++) {
		const struct recording_sample *s = &samples[i];

		/* Samples that are not asked for tell how long it was recorded, too. */
		if (s->time > in->last)
			in->last = s->time;
		if (in->number_of[s->mode] < 0 || !recording_matches__sample(&in->matches, s) ||
		    (request_choice__chooses(&to->p->filter.requests) && !requests__has(&in->requests, s)))
			continue;
		in->rows[in->number_of[s->mode]]++;
		err = add_sample(to->p, in, s);
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

/* The modes of the first recording, of those that are wanted. */
static int choose_modes(struct recording_profile *p, const char *names, struct diag *d)
{
	const struct recording_tables *t = &p->inputs[0].tables;
	const struct mode *wanted[MODES_MAX];
	uint32_t count = 0, found = 0;

	if (names && modes__parse(names, wanted, &count))
		return diag__set(d, DIAG_USAGE, EINVAL, "\"%s\" is no list of different modes", names);
	for (uint32_t i = 0; i < BLOCK_MODES; i++) {
		const struct mode *mode = t->modes[i].id ? find_mode(&t->modes[i]) : NULL;
		bool is_wanted = !names;

		if (!t->modes[i].id)
			continue;
		for (uint32_t j = 0; j < i; j++)
			if (t->modes[j].id && !strcmp(t->modes[j].name, t->modes[i].name))
				return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording is damaged: it has mode %s twice",
						 t->modes[i].name);
		if (!mode || p->mode_count == MODES_MAX)
			return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording has a mode that this extprof does not "
					 "know: %s", t->modes[i].name);
		for (uint32_t j = 0; j < count; j++)
			if (!strcmp(wanted[j]->name, mode->name)) {
				is_wanted = true;
				found++;
			}
		if (is_wanted)
			p->modes[p->mode_count++] = mode;
	}
	if (found < count || !p->mode_count)
		return diag__set(d, DIAG_USAGE, EINVAL, "mode \"%s\" was not recorded", names ? names : "");
	return 0;
}

/* Which of the recording's modes are those? */
static int find_modes(const struct recording_profile *p, struct input *in, struct diag *d)
{
	for (uint32_t i = 0; i < BLOCK_MODES; i++)
		in->number_of[i] = -1;
	for (uint32_t number = 0; number < p->mode_count; number++) {
		for (uint32_t i = 0; i < BLOCK_MODES && !in->ids[number]; i++)
			if (in->tables.modes[i].id && find_mode(&in->tables.modes[i]) == p->modes[number]) {
				in->number_of[i] = (int32_t)number;
				in->ids[number] = i;
			}
		if (!in->ids[number])
			return diag__set(d, DIAG_USAGE, EINVAL, "one of the recordings has no mode %s: choose modes that all "
					 "have", p->modes[number]->name);
	}
	return 0;
}

static int no_memory(struct diag *d)
{
	return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the profile");
}

/* "a, b": keys that frames of the recording have, some of them. */
static void list_labels(const struct input *in, struct text *out)
{
	const char *last[8];
	uint32_t count = 0;

	for (uint32_t id = 1; id < in->tables.frame_count && count < sizeof(last) / sizeof(last[0]); id++) {
		const struct frame *f = &in->tables.frames[id];
		bool known = f->kind != FRAME_LABEL || !*f->key;

		for (uint32_t i = 0; i < count && !known; i++)
			known = !strcmp(last[i], f->key);
		if (known)
			continue;
		text__addf(out, "%s%s", count ? ", " : "", f->key);
		last[count++] = f->key;
	}
}

static bool has_label(const struct recording_profile *p, const char *key)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct recording_tables *t = &p->inputs[i].tables;

		for (uint32_t id = 1; id < t->frame_count; id++)
			if (t->frames[id].kind == FRAME_LABEL && !strcmp(t->frames[id].key, key))
				return true;
	}
	return false;
}

static int check_label(const struct recording_profile *p, const char *key, struct diag *d)
{
	struct text labels = { 0 };

	if (has_label(p, key))
		return 0;
	list_labels(&p->inputs[0], &labels);
	diag__set(d, DIAG_USAGE, EINVAL, "no sample of the recording has the label \"%s\"; %s%s", key,
		  labels.length ? "it has: " : "it has no labels at all", text__string(&labels));
	text__free(&labels);
	return -EINVAL;
}

/* The groups that are shown, and what is shown of samples that have no value of a label. */
static int choose_groups(struct recording_profile *p, const struct groups *wanted, struct diag *d)
{
	static const enum label_state states[] = { LABEL_NOT_SET, LABEL_EXPIRED, LABEL_UNREAD };
	static const enum frame_known knowns[] = { KNOWN_NOT_SET, KNOWN_EXPIRED, KNOWN_UNREAD };
	int err = 0;

	p->show = wanted ? *wanted : p->inputs[0].view.groups;
	p->shown_by_default = !wanted;
	for (int i = 0; i < p->show.label_count && !err; i++) {
		const char *key = p->show.labels[i];
		uint32_t *frames = p->no_label[i];

		for (size_t j = 0; j < sizeof(states) / sizeof(states[0]); j++)
			frames[knowns[j]] = group_names__add_label(&p->frames, key, states[j], NULL, false);
		frames[KNOWN_CROWDED] = group_names__add_crowded(&p->frames, FRAME_LABEL, key);
		if (!frames[KNOWN_NOT_SET] || !frames[KNOWN_EXPIRED] || !frames[KNOWN_UNREAD] || !frames[KNOWN_CROWDED])
			return no_memory(d);
		p->label_keys[i] = frame_table__get(&p->frames, frames[KNOWN_NOT_SET])->key;
		err = wanted ? check_label(p, p->label_keys[i], d) : 0;
	}
	return err;
}

/* Each row of the table gets a number of its own: rows are different frames.  Those of several recordings that look the
 * same are one in reports. */
static int make_frames(struct recording_profile *p, struct input *in, struct diag *d)
{
	const struct recording_tables *t = &in->tables;

	in->numbers = calloc(t->frame_count, sizeof(*in->numbers));
	if (!in->numbers)
		return no_memory(d);
	for (uint32_t id = 1; id < t->frame_count; id++) {
		uint64_t code = code__make(CODE_RUBY, p->frame_base + id, t->frames[id].line, t->frames[id].approximate);

		in->numbers[id] = p->frame_base + id > CODE_NUMBER_MAX ? FRAME_NO_ROOM : frame_table__code(&p->frames, code);
		if (in->numbers[id] == FRAME_NO_ROOM)
			continue;
		if (!in->numbers[id] || frame_table__set(&p->frames, in->numbers[id], &t->frames[id]))
			return no_memory(d);
	}
	p->frame_base += t->frame_count;
	return 0;
}

static int make_modes(struct recording_profile *p, struct diag *d)
{
	struct frame f = FRAME_INIT(FRAME_MODE);

	for (uint32_t i = 0; i < p->mode_count && p->mode_count > 1; i++) {
		f.name = p->modes[i]->name;
		p->mode_frames[i] = frame_table__add(&p->frames, &f);
		if (!p->mode_frames[i])
			return no_memory(d);
	}
	return 0;
}

/* Where the processes worked. */
static int find_cwds(struct recording_profile *p, const struct input *in, struct diag *d)
{
	for (uint32_t id = 1; id < in->tables.process_count; id++) {
		char *cwd = recording_account__cwd(in->reader, id);
		int err = owner_dirs__add_cwd(&p->cwds, cwd);

		free(cwd);
		if (err)
			return no_memory(d);
		if (id % 64 == 0 && recording_reader__over(in->reader))
			return recording_reader__failed(-ETIME, d);
	}
	return 0;
}

static int make_room(struct recording_profile *p, struct diag *d)
{
	p->path = malloc((2 * RECORDING_DEPTH_MAX + 8) * sizeof(*p->path));
	p->sums = malloc(SUMS_MAX * sizeof(*p->sums));
	return p->path && p->sums && !frame_table__init(&p->frames) && !tree__init(&p->tree) &&
	       (!p->compares || !tree__init(&p->after)) ? 0 : no_memory(d);
}

static int load(struct recording_profile *p, struct input *in, struct diag *d)
{
	int err;

	in->begin = (uint64_t)recording_reader__number(in->reader, "started_monotonic_ns");
	in->since = p->filter.since ? in->begin + p->filter.since : 0;
	in->until = p->filter.until ? in->begin + p->filter.until : UINT64_MAX;
	err = recording_reader__load(in->reader, &in->tables, d);
	return err ? err : recording_account__view(in->reader, &in->view, d);
}

static int add_recording(struct recording_profile *p, struct input *in, struct diag *d)
{
	struct taking to = { .p = p, .in = in };
	int err;

	if ((err = make_frames(p, in, d)) || (err = find_cwds(p, in, d)))
		return err;
	if (recording_matches__init(&in->matches, &in->tables, &p->filter))
		return no_memory(d);
	if (request_choice__chooses(&p->filter.requests)) {
		err = request_choice__find(&p->filter.requests, &in->requests, in->reader, &in->matches, in->begin, in->since,
					   in->until, d);
		if (err)
			return err;
	}
	err = recording_reader__samples(in->reader, &in->tables, in->since, in->until, take, &to, d);
	if (err == -EOVERFLOW)
		return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording is damaged: its amounts have no sum");
	if (err)
		return err;
	err = add_sums(p, in);
	return err ? recording_reader__failed(err, d) : 0;
}

/* Is it the value of the mode, or the count? */
static int find_metric(const struct mode *m, const char *metric, bool *by_value, struct diag *d)
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
		return diag__set(d, DIAG_USAGE, EINVAL, "there are several modes: choose one with --mode");
	p->by_value = m->value.unit != UNIT_COUNT;
	return metric ? find_metric(m, metric, &p->by_value, d) : 0;
}

static int fill(struct recording_profile *p, const struct recording_filter *filter, const char *metric, struct diag *d)
{
	int err = make_room(p, d);

	for (uint32_t i = 0; i < p->count && !err; i++)
		err = load(p, &p->inputs[i], d);
	if (err || (err = choose_modes(p, filter->modes, d)) || (p->compares && (err = choose_metric(p, metric, d))) ||
	    (err = make_modes(p, d)) || (err = choose_groups(p, filter->groups, d)))
		return err;
	for (uint32_t i = 0; i < p->count && !err; i++) {
		err = find_modes(p, &p->inputs[i], d);
		if (!err)
			err = add_recording(p, &p->inputs[i], d);
	}
	return err;
}

static int create(struct recording_profile **profile, struct recording_reader *const *readers, uint32_t count,
		  const struct recording_filter *filter, bool compares, const char *metric, struct diag *d)
{
	struct recording_profile *p = calloc(1, sizeof(*p));
	int err;

	*profile = NULL;
	if (!p)
		return no_memory(d);
	p->filter = *filter;
	p->filter.modes = NULL;
	p->filter.groups = NULL;
	p->compares = compares;
	p->count = count;
	for (uint32_t i = 0; i < count; i++)
		p->inputs[i].reader = readers[i];
	err = fill(p, filter, metric, d);
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
	return create(profile, readers, count, filter, false, NULL, d);
}

void recording_profile__destroy(struct recording_profile *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		recording_tables__free(&p->inputs[i].tables);
		recording_matches__free(&p->inputs[i].matches);
		requests__free(&p->inputs[i].requests);
		free(p->inputs[i].numbers);
	}
	frame_table__free(&p->frames);
	tree__free(&p->tree);
	tree__free(&p->after);
	free(p->sums);
	map64__free(&p->sum_map);
	owner_dirs__free(&p->cwds);
	free(p->path);
	free(p);
}

/* -- reports ------------------------------------------------------------------------------------- */

/* The groups, with those that the format wants. */
static void groups_of(const struct recording_profile *p, const struct recording_request *request, struct groups *show)
{
	const struct input *in = &p->inputs[0];
	uint32_t followed = 0;

	*show = p->show;
	for (uint32_t id = 1; id < in->tables.process_count; id++)
		followed += !(in->tables.processes[id].flags & RECORDING_WATCHED) && *in->tables.processes[id].ruby;
	if (p->shown_by_default && in->view.group_by_default && followed > 1)
		groups__add_outermost(show, GROUP_PROCESS);
	groups__add_mask(show, request->labels);
}

/* What is said of a recording that has not ended, or of a part of it. */
static void complete_meta(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report)
{
	struct report_meta *m = &report->meta;
	uint64_t from = in->since > in->begin ? in->since : in->begin;
	const char *why;

	m->modes = p->mode_count;
	if (recording_reader__ended(in->reader, &why)) {
		uint64_t end = in->begin + (uint64_t)(m->duration * 1e9), until = in->until < end ? in->until : end;

		if (in->since || in->until != UINT64_MAX)
			m->duration = until > from ? (double)(until - from) / 1e9 : 0;
		return;
	}
	m->period = (uint64_t)recording_reader__number(in->reader, "period_ns");
	m->started = (time_t)recording_reader__number(in->reader, "started_unix_s");
	m->started_at = in->begin;
	m->duration = in->last > from ? (double)((in->until < in->last ? in->until : in->last) - from) / 1e9 : 0;
	m->accounting.taken = m->accounting.whole = in->rows[mode];
	snprintf(m->ended, sizeof(m->ended), "the recording did not end");
	for (uint32_t i = 0; i < report->processes.count && report->processes.count == 1; i++) {
		m->pid = report->processes.rows[i].pid;
		snprintf(m->command, sizeof(m->command), "%s", report->processes.rows[i].command);
		snprintf(m->ruby_version, sizeof(m->ruby_version), "%s", report->processes.rows[i].ruby_version);
	}
}

/* The account of a recording, for a report that has been built; which is freed if that fails. */
static int read_account(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report,
			struct diag *d)
{
	const struct report_meta counted = report->meta;
	int err = recording_account__read(in->reader, &in->tables, in->ids[mode], report, d);

	if (err) {
		report__free(report);
		return err;
	}
	/* What was counted from the samples is of those that were asked for. */
	report->meta.mode = counted.mode;
	report->meta.stacks = counted.stacks;
	report->meta.merged = counted.merged;
	complete_meta(p, in, mode, report);
	return 0;
}

static int make_report(struct recording_profile *p, uint32_t mode, const struct groups *show,
		       const struct recording_request *request, struct report *report, struct diag *d)
{
	struct report_view view = {
		.mode = p->modes[mode], .mode_frame = p->mode_frames[mode],
		.by_value = request->unit ? request->unit->unit != UNIT_COUNT : request->by_value || !p->modes[mode]->by_count,
		.divisor = request->unit ? request->unit->divisor : 0,
	};
	bool lines = p->inputs[0].view.lines;
	struct owner_rules rules;

	owner_dirs__rules(request->apps, &p->cwds, &rules);
	view.rules = &rules;
	view.transform = request->transform;
	view.joins_lines = request->joins_lines;
	if (request->unit && !unit__fits(request->unit, p->modes[mode]))
		return diag__set(d, DIAG_USAGE, EINVAL, "mode %s cannot be shown in %s", p->modes[mode]->name,
				 request->unit->name);
	if (request->metric && find_metric(p->modes[mode], request->metric, &view.by_value, d))
		return -EINVAL;
	if (request->metric && request->unit &&
	    request->unit->unit != (view.by_value ? p->modes[mode]->value.unit : p->modes[mode]->count.unit))
		return diag__set(d, DIAG_USAGE, EINVAL, "%s cannot be shown in %s", request->metric, request->unit->name);
	if (report__build(report, &p->tree, &p->frames, show, lines ? REPORT_BY_LINE : request->detail, &view))
		return no_memory(d);
	return read_account(p, &p->inputs[0], mode, report, d);
}

int recording_profile__reports(struct recording_profile *p, const struct recording_request *request,
			       struct reports *reports, struct diag *d)
{
	struct groups show;
	int err = 0;

	groups_of(p, request, &show);
	memset(reports, 0, sizeof(*reports));
	for (uint32_t i = 0; i < p->mode_count && !err; i++) {
		err = make_report(p, i, &show, request, &reports->list[i], d);
		reports->count += !err;
	}
	if (err)
		reports__free(reports);
	return err;
}

int recording_profile__compare(struct recording_reader *const readers[2], const struct recording_filter *filter,
			       const char *metric, struct report reports[2], struct diag *d)
{
	struct recording_profile *p;
	struct groups none = { 0 };
	int err = create(&p, readers, 2, filter, true, metric, d);

	memset(reports, 0, 2 * sizeof(*reports));
	if (err)
		return err;
	/* One had less memory than the other, and was merged. */
	if (p->tree.node_count != p->after.node_count || p->tree.merges != p->after.merges)
		err = no_memory(d);
	for (int i = 0; i < 2 && !err; i++) {
		const struct report_view view = { .mode = p->modes[0], .by_value = true, .joins_lines = true };

		/* Their trees have the same nodes: so they have the same labels and nodes. */
		err = report__build(&reports[i], i ? &p->after : &p->tree, &p->frames, &none, REPORT_BY_NAME, &view) ?
		      no_memory(d) : read_account(p, &p->inputs[i], 0, &reports[i], d);
		reports[i].metric = p->by_value ? p->modes[0]->value : p->modes[0]->count;
	}
	if (err)
		report__free(&reports[0]);
	recording_profile__destroy(p);
	return err;
}
