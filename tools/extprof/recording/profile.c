/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/profile.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/group_names.h"
#include "recording/schema.h"

/* Different combinations of mode, thread, labels and stack that are added up before they go into the tree. */
#define SUMS_MAX (256u << 10)

struct sum {
	uint32_t thread, stack, labels, mode;
	uint32_t samples;
	struct weight weight;
};

/* Does a row of a table match a condition?  It is asked once for each row. */
enum match {
	MATCH_UNKNOWN, MATCH_NO, MATCH_YES
};

struct recording_profile {
	struct recording_reader *reader;
	struct recording_tables tables;
	struct recording_view view;
	struct recording_filter filter;
	struct groups show;		/* as the caller wants it, or as it was recorded */
	bool shown_by_default;
	/* Of the labels of `show`: their keys as frames have them, and the frames of samples that have no value. */
	const char *label_keys[GROUP_LABELS_MAX];
	uint32_t no_label[GROUP_LABELS_MAX][KNOWN_MERGED];	/* by enum frame_known */
	uint64_t since, until;		/* CLOCK_MONOTONIC, ns */
	const struct mode *modes[MODES_MAX];	/* that are reported */
	uint32_t ids[MODES_MAX], mode_frames[MODES_MAX], mode_count;
	int32_t number_of[BLOCK_MODES];	/* by id: in `modes`; -1 none */
	struct frame_table frames;
	uint32_t *numbers;		/* by id of the frame */
	struct tree tree;
	struct sum *sums;
	uint32_t sum_count;
	struct map64 sum_map;
	uint8_t *matches[RECORDING_CONDITIONS_MAX];	/* by id of a thread or stack: enum match */
	uint32_t *path;			/* of a stack, with all before it */
	uint64_t rows[BLOCK_MODES];	/* samples of each mode */
	uint64_t first, last;		/* times of samples */
};

/* -- conditions ---------------------------------------------------------------------------------- */

int recording_filter__add(struct recording_filter *f, const char *text)
{
	static const char *const keys[] = {
		[KEY_PROCESS] = "process", [KEY_THREAD] = "thread", [KEY_METHOD] = "method", [KEY_FILE] = "file",
		[KEY_STATE] = "state",
	};
	const char *pattern = strchr(text, '=');
	struct recording_condition *c = &f->list[f->count];
	size_t length = pattern ? (size_t)(pattern - text) : 0;

	if (f->count == RECORDING_CONDITIONS_MAX)
		return -E2BIG;
	if (!pattern || strlen(pattern + 1) >= sizeof(c->pattern))
		return -EINVAL;
	memset(c, 0, sizeof(*c));
	strcpy(c->pattern, pattern + 1);
	if (length > 6 && !strncmp(text, GROUP_LABEL_PREFIX, 6) && length - 6 < sizeof(c->label)) {
		c->key = KEY_LABEL;
		memcpy(c->label, text + 6, length - 6);
		f->count++;
		return 0;
	}
	for (int i = 0; i < KEY_LABEL; i++) {
		if (strlen(keys[i]) != length || strncmp(keys[i], text, length))
			continue;
		c->key = (enum recording_key)i;
		f->count++;
		return 0;
	}
	return -EINVAL;
}

static bool matches_text(const struct recording_condition *c, const char *text)
{
	return !fnmatch(c->pattern, text, 0);
}

static bool matches_number(const struct recording_condition *c, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	return number && matches_text(c, text);
}

static bool matches_thread(const struct recording_profile *p, const struct recording_condition *c, uint32_t id)
{
	const struct thread_entry *t = &p->tables.threads[id];
	const struct process_entry *process = &p->tables.processes[t->process];
	const struct frame *f = &p->tables.frames[t->frame];

	if (c->key == KEY_PROCESS)
		return t->process && (matches_text(c, process->command) || matches_number(c, (uint32_t)process->pid));
	return t->frame && (matches_text(c, f->name) || matches_number(c, f->tid));
}

static bool matches_frame(const struct recording_condition *c, const struct frame *f)
{
	switch (c->key) {
	case KEY_METHOD: return frame_kind__is_code(f->kind) && matches_text(c, f->name);
	case KEY_FILE: return *f->path && matches_text(c, f->path);
	default: return !strcmp(f->key, c->label) && f->known == KNOWN && matches_text(c, f->name);
	}
}

/* Parents come before children: so each stack asks its own frame and its parent. */
static bool matches_stack(struct recording_profile *p, uint32_t condition, uint32_t stack)
{
	const struct recording_tables *t = &p->tables;
	uint8_t *known = p->matches[condition];
	uint32_t depth = 0;
	bool yes = false;

	for (uint32_t s = stack; s && !yes && known[s] == MATCH_UNKNOWN; s = t->stacks[s].parent)
		p->path[depth++] = s;
	if (depth)
		yes = known[t->stacks[p->path[depth - 1]].parent] == MATCH_YES;
	else
		yes = known[stack] == MATCH_YES;
	while (depth-- > 0) {
		uint32_t s = p->path[depth];

		yes = yes || matches_frame(&p->filter.list[condition], &t->frames[t->stacks[s].frame]);
		known[s] = yes ? MATCH_YES : MATCH_NO;
	}
	return yes;
}

static bool is_wanted(struct recording_profile *p, const struct recording_sample *s)
{
	for (uint32_t i = 0; i < p->filter.count; i++) {
		const struct recording_condition *c = &p->filter.list[i];
		const char *state = p->tables.states[s->state];
		uint8_t *known = p->matches[i];

		switch (c->key) {
		case KEY_PROCESS:
		case KEY_THREAD:
			if (known[s->thread] == MATCH_UNKNOWN)
				known[s->thread] = matches_thread(p, c, s->thread) ? MATCH_YES : MATCH_NO;
			if (known[s->thread] == MATCH_NO)
				return false;
			break;
		case KEY_STATE:
			if (!state || !matches_text(c, state))
				return false;
			break;
		default:
			if (!matches_stack(p, i, c->key == KEY_LABEL ? s->labels : s->stack))
				return false;
		}
	}
	return true;
}

/* -- the tree ------------------------------------------------------------------------------------ */

/* The stack's numbers of frames, from c[n] on; returns how many there are then. */
static uint32_t add_stack(struct recording_profile *p, uint32_t stack, uint32_t n)
{
	const struct recording_tables *t = &p->tables;
	uint32_t depth = 0;

	for (uint32_t s = stack; s; s = t->stacks[s].parent)
		depth++;
	for (uint32_t s = stack, i = n + depth; s; s = t->stacks[s].parent)
		p->path[--i] = p->numbers[t->stacks[s].frame];
	return n + depth;
}

/* The frame of a label that is shown, in the set of a sample.  A frame without a key says why labels are missing. */
static uint32_t label_of(const struct recording_profile *p, uint32_t set, int label)
{
	const struct recording_tables *t = &p->tables;
	uint8_t why = KNOWN_NOT_SET;

	for (uint32_t s = set; s; s = t->stacks[s].parent) {
		const struct frame *f = &t->frames[t->stacks[s].frame];

		if (!strcmp(f->key, p->label_keys[label]))
			return p->numbers[t->stacks[s].frame];
		if (!*f->key && f->known > KNOWN_NOT_SET && f->known < KNOWN_MERGED && p->no_label[label][f->known])
			why = f->known;
	}
	return p->no_label[label][why];
}

/* The sums so far go into the tree, as the samples did. */
static int add_sums(struct recording_profile *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->sum_count && !err; i++) {
		const struct sum *s = &p->sums[i];
		const struct thread_entry *t = &p->tables.threads[s->thread];
		uint32_t process = p->tables.processes[t->process].frame, n = 0;

		if (p->mode_frames[s->mode])
			p->path[n++] = p->mode_frames[s->mode];
		if (process)
			p->path[n++] = p->numbers[process];
		if (t->frame)
			p->path[n++] = p->numbers[t->frame];
		for (int j = 0; j < p->show.label_count; j++)
			p->path[n++] = label_of(p, s->labels, j);
		n = add_stack(p, s->stack, n);
		err = i % 64 == 0 && recording_reader__over(p->reader) ? -ETIME :
		      tree__add_samples(&p->tree, p->path, n, s->samples, &s->weight);
	}
	p->sum_count = 0;
	map64__clear(&p->sum_map);
	return err;
}

static bool is_same(const struct sum *a, const struct sum *b)
{
	return a->thread == b->thread && a->stack == b->stack && a->labels == b->labels && a->mode == b->mode;
}

static int add_sample(struct recording_profile *p, const struct recording_sample *s)
{
	struct sum sum = {
		.thread = s->thread, .stack = s->stack, .labels = s->labels, .mode = (uint32_t)p->number_of[s->mode],
	};
	uint64_t hash = hash__mix((uint64_t)sum.thread << 32 | sum.stack);
	uint32_t number;
	int err;

	hash = hash__mix(hash ^ (uint64_t)sum.labels << 8 ^ sum.mode);
	while ((number = map64__get(&p->sum_map, hash)) != MAP64_NONE && !is_same(&p->sums[number], &sum))
		hash++;
	if (number == MAP64_NONE) {
		if (p->sum_count == SUMS_MAX)
			return (err = add_sums(p)) ? err : add_sample(p, s);
		if (map64__add(&p->sum_map, hash, p->sum_count))
			return -ENOMEM;
		number = p->sum_count++;
		p->sums[number] = sum;
	}
	p->sums[number].samples++;
	p->sums[number].weight.value += s->value;
	p->sums[number].weight.count += s->count;
	return 0;
}

static int take(void *context, const struct recording_sample *samples, uint32_t count)
{
	struct recording_profile *p = context;
	int err;

	for (uint32_t i = 0; i < count; i++) {
		const struct recording_sample *s = &samples[i];

		if (p->number_of[s->mode] < 0 || !is_wanted(p, s))
			continue;
		if (!p->first || s->time < p->first)
			p->first = s->time;
		if (s->time > p->last)
			p->last = s->time;
		p->rows[s->mode]++;
		err = add_sample(p, s);
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

static int choose_modes(struct recording_profile *p, const char *names, struct diag *d)
{
	const struct mode *wanted[MODES_MAX];
	uint32_t count = 0, found = 0;

	if (names && modes__parse(names, wanted, &count))
		return diag__set(d, DIAG_USAGE, EINVAL, "\"%s\" is no list of different modes", names);
	for (int i = 0; i < (int)BLOCK_MODES; i++) {
		const struct mode *mode = p->tables.modes[i].id ? find_mode(&p->tables.modes[i]) : NULL;
		bool is_wanted = !names;

		p->number_of[i] = -1;
		if (!p->tables.modes[i].id)
			continue;
		if (!mode || p->mode_count == MODES_MAX)
			return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording has a mode that this extprof does not "
					 "know: %s", p->tables.modes[i].name);
		for (uint32_t j = 0; j < count; j++)
			if (!strcmp(wanted[j]->name, mode->name)) {
				is_wanted = true;
				found++;
			}
		if (!is_wanted)
			continue;
		p->number_of[i] = (int32_t)p->mode_count;
		p->ids[p->mode_count] = (uint32_t)i;
		p->modes[p->mode_count++] = mode;
	}
	if (found < count || !p->mode_count)
		return diag__set(d, DIAG_USAGE, EINVAL, "mode \"%s\" was not recorded", names ? names : "");
	return 0;
}

static int no_memory(struct diag *d)
{
	return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the profile");
}

/* "a, b": keys that frames of the recording have, some of them. */
static void list_labels(const struct recording_profile *p, struct text *out)
{
	const char *last[8];
	uint32_t count = 0;

	for (uint32_t id = 1; id < p->tables.frame_count && count < sizeof(last) / sizeof(last[0]); id++) {
		const struct frame *f = &p->tables.frames[id];
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
	for (uint32_t id = 1; id < p->tables.frame_count; id++)
		if (p->tables.frames[id].kind == FRAME_LABEL && !strcmp(p->tables.frames[id].key, key))
			return true;
	return false;
}

static int check_label(const struct recording_profile *p, const char *key, struct diag *d)
{
	struct text labels = { 0 };

	if (has_label(p, key))
		return 0;
	list_labels(p, &labels);
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

	p->show = wanted ? *wanted : p->view.groups;
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

/* Each row of the table gets a number of its own: rows are different frames. */
static int make_frames(struct recording_profile *p, struct diag *d)
{
	const struct recording_tables *t = &p->tables;
	struct frame f = FRAME_INIT(FRAME_MODE);

	p->numbers = calloc(t->frame_count, sizeof(*p->numbers));
	if (!p->numbers || frame_table__init(&p->frames))
		return no_memory(d);
	for (uint32_t id = 1; id < t->frame_count; id++) {
		p->numbers[id] = frame_table__code(&p->frames, code__make(CODE_RUBY, id, t->frames[id].line,
									   t->frames[id].approximate));
		if (p->numbers[id] == FRAME_NO_ROOM)
			continue;
		if (!p->numbers[id] || frame_table__set(&p->frames, p->numbers[id], &t->frames[id]))
			return no_memory(d);
	}
	for (uint32_t i = 0; i < p->mode_count && p->mode_count > 1; i++) {
		f.name = p->modes[i]->name;
		p->mode_frames[i] = frame_table__add(&p->frames, &f);
		if (!p->mode_frames[i])
			return no_memory(d);
	}
	return tree__init(&p->tree) ? no_memory(d) : 0;
}

static int make_room(struct recording_profile *p, struct diag *d)
{
	const struct recording_tables *t = &p->tables;

	p->path = malloc((2 * RECORDING_DEPTH_MAX + 8) * sizeof(*p->path));
	p->sums = malloc(SUMS_MAX * sizeof(*p->sums));
	for (uint32_t i = 0; i < p->filter.count; i++) {
		enum recording_key key = p->filter.list[i].key;

		p->matches[i] = calloc(key == KEY_PROCESS || key == KEY_THREAD ? t->thread_count : t->stack_count, 1);
		if (!p->matches[i])
			return no_memory(d);
	}
	return p->path && p->sums ? 0 : no_memory(d);
}

int recording_profile__create(struct recording_profile **profile, struct recording_reader *reader,
			      const struct recording_filter *filter, struct diag *d)
{
	struct recording_profile *p = calloc(1, sizeof(*p));
	uint64_t begin = (uint64_t)recording_reader__number(reader, "started_monotonic_ns");
	int err;

	*profile = NULL;
	if (!p)
		return no_memory(d);
	p->reader = reader;
	p->filter = *filter;
	p->filter.modes = NULL;
	p->filter.groups = NULL;
	p->since = filter->since ? begin + filter->since : 0;
	p->until = filter->until ? begin + filter->until : UINT64_MAX;
	if ((err = recording_reader__load(reader, &p->tables, d)) ||
	    (err = recording_account__view(reader, &p->view, d)) || (err = choose_modes(p, filter->modes, d)) ||
	    (err = make_frames(p, d)) || (err = choose_groups(p, filter->groups, d)) || (err = make_room(p, d)) ||
	    (err = recording_reader__samples(reader, &p->tables, p->since, p->until, take, p, d)))
		goto cleanup;
	err = add_sums(p);
	if (err)
		recording_reader__failed(err, d);
cleanup:
	if (err)
		recording_profile__destroy(p);
	else
		*profile = p;
	return err;
}

void recording_profile__destroy(struct recording_profile *p)
{
	if (!p)
		return;
	recording_tables__free(&p->tables);
	frame_table__free(&p->frames);
	tree__free(&p->tree);
	for (uint32_t i = 0; i < RECORDING_CONDITIONS_MAX; i++)
		free(p->matches[i]);
	free(p->numbers);
	free(p->sums);
	map64__free(&p->sum_map);
	free(p->path);
	free(p);
}

/* -- reports ------------------------------------------------------------------------------------- */

/* The groups, with those that the format wants. */
static void groups_of(const struct recording_profile *p, const struct recording_request *request, struct groups *show)
{
	uint32_t followed = 0;

	*show = p->show;
	for (uint32_t id = 1; id < p->tables.process_count; id++)
		followed += !(p->tables.processes[id].flags & RECORDING_WATCHED) && *p->tables.processes[id].ruby;
	if (p->shown_by_default && p->view.group_by_default && followed > 1)
		groups__add_outermost(show, GROUP_PROCESS);
	groups__add_mask(show, request->labels);
}

/* What is said of a recording that has not ended, or of a part of it. */
static void complete_meta(const struct recording_profile *p, uint32_t mode, struct report *report)
{
	struct report_meta *m = &report->meta;
	uint64_t begin = (uint64_t)recording_reader__number(p->reader, "started_monotonic_ns");
	uint64_t from = p->since > begin ? p->since : begin;
	const char *why;

	m->modes = p->mode_count;
	if (recording_reader__ended(p->reader, &why)) {
		uint64_t end = begin + (uint64_t)(m->duration * 1e9), until = p->until < end ? p->until : end;

		if (p->since || p->until != UINT64_MAX)
			m->duration = until > from ? (double)(until - from) / 1e9 : 0;
		return;
	}
	m->period = (uint64_t)recording_reader__number(p->reader, "period_ns");
	m->started = (time_t)recording_reader__number(p->reader, "started_unix_s");
	m->started_at = begin;
	m->duration = p->last > from ? (double)((p->until < p->last ? p->until : p->last) - from) / 1e9 : 0;
	m->accounting.taken = m->accounting.whole = p->rows[p->ids[mode]];
	snprintf(m->ended, sizeof(m->ended), "the recording did not end");
	for (uint32_t i = 0; i < report->processes.count && report->processes.count == 1; i++) {
		m->pid = report->processes.rows[i].pid;
		snprintf(m->command, sizeof(m->command), "%s", report->processes.rows[i].command);
		snprintf(m->ruby_version, sizeof(m->ruby_version), "%s", report->processes.rows[i].ruby_version);
	}
}

static int make_report(struct recording_profile *p, uint32_t mode, const struct groups *show,
		       const struct recording_request *request, struct report *report, struct diag *d)
{
	struct report_view view = {
		.mode = p->modes[mode], .mode_frame = p->mode_frames[mode],
		.by_value = request->unit ? request->unit->unit != UNIT_COUNT : request->by_value || !p->modes[mode]->by_count,
		.divisor = request->unit ? request->unit->divisor : 0,
	};
	struct report_meta counted;
	int err;

	if (request->unit && !unit__fits(request->unit, p->modes[mode]))
		return diag__set(d, DIAG_USAGE, EINVAL, "mode %s cannot be shown in %s", p->modes[mode]->name,
				 request->unit->name);
	if (report__build(report, &p->tree, &p->frames, show, p->view.lines ? REPORT_BY_LINE : request->detail, &view))
		return no_memory(d);
	counted = report->meta;
	err = recording_account__read(p->reader, &p->tables, p->ids[mode], report, d);
	if (err) {
		report__free(report);
		return err;
	}
	/* What was counted from the samples is of those that were asked for. */
	report->meta.mode = counted.mode;
	report->meta.stacks = counted.stacks;
	report->meta.merged = counted.merged;
	complete_meta(p, mode, report);
	return 0;
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
