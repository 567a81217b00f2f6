/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of a recording are added up, and their sums go into the tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/group_names.h"
#include "profile/idle.h"
#include "recording/profile_parts.h"

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
	/* There is room, see make_room() in profile.c. */
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
	/* Each side has its own times, by which its idle threads are found. */
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

/* Add the part of a sample that is before the time.  It tells which waits are a rest. */
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
		if (in->counts)
			in->counts[in->tables->threads[s->thread].process * (size_t)to->p->mode_count + (size_t)in->number_of[s->mode]]++;
		err = add_sample(to->p, in, s, false);
		if (err)
			return err;
	}
	return 0;
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

/* 0 or -ENOMEM. */
static int begin_counts(const struct recording_profile *p, struct input *in)
{
	const char *why;

	free(in->counts);
	in->counts = NULL;
	in->counted = 0;
	if (recording_reader__ended(in->reader, &why))
		return 0;
	in->counts = calloc((size_t)in->tables->process_count * p->mode_count, sizeof(*in->counts));
	in->counted = in->counts ? in->tables->process_count : 0;
	return in->counts ? 0 : -ENOMEM;
}

int recording_sums__add(struct recording_profile *p, struct input *in, struct diag *d)
{
	struct taking to = { .p = p, .in = in };
	uint64_t from = recording_states__are_whole(p) ? 0 : p->filter.cuts ? in->past : in->since;
	int err = 0;

	in->seen = calloc(in->tables->process_count, sizeof(*in->seen));
	if (!in->seen || begin_counts(p, in))
		return recording_profile__no_memory(d);
	if (p->filter.cuts)
		err = recording_window__begin(p, in, d);
	/* A sample that begins in the time can end after it, so samples behind it are read too. */
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
