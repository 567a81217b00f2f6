/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof's profile: a message of protocol buffers, compressed by gzip.
 *
 * Two messages one after the other are, by the rules of protocol buffers, one message with the fields
 * of both.  So the profile is written in pieces, each a Profile with a part of the fields, and is never
 * in memory as a whole.
 */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/gzip.h"
#include "base/map64.h"
#include "output/group.h"
#include "pprof.pb-c.h"

/* A text and a number for each group. */
#define SAMPLE_LABELS_MAX (2 * GROUPS_MAX)
/* Each mode has two values, of which the others' are 0. */
#define VALUES_MAX (2 * MODES_MAX)
#define COMMENTS_MAX (6 + 3 * MODES_MAX)

struct strings {
	char **list;		/* by index; the first one is "" */
	uint32_t count;
	size_t room;
	struct map64 map;	/* hash -> index */
	bool failed;		/* out of memory */
};

struct writer {
	ProtobufCBuffer buffer;	/* what protobuf-c packs into, see append() */
	struct gzip gzip;
	const struct report *reports;
	uint32_t count;
	/* The one that is being written: its number, and the id before those of its labels. */
	const struct report *r;
	uint32_t number;
	uint64_t base;
	struct strings strings;
	struct map64 functions;	/* hash -> label of `r` that has this function */
	uint64_t *function_of;	/* by label: id of its function */
	uint64_t approximate;	/* locations */
};

/* The index of a text. */
static int64_t intern(struct strings *s, const char *text)
{
	uint64_t hash = hash__bytes(text, strlen(text), 0);
	uint32_t index;

	/* Two texts with one hash: go on to the next. */
	while ((index = map64__get(&s->map, hash)) != MAP64_NONE) {
		if (!strcmp(s->list[index], text))
			return index;
		hash++;
	}
	if (array__reserve(&s->list, s->count, 1, &s->room, MAP64_NONE, sizeof(*s->list)))
		goto failed;
	s->list[s->count] = strdup(text);
	if (!s->list[s->count])
		goto failed;
	s->count++;
	if (!map64__add(&s->map, hash, s->count - 1))
		return s->count - 1;
failed:
	s->failed = true;
	return 0;
}

static int64_t intern_text(struct strings *s, struct text *t)
{
	int64_t index = intern(s, text__string(t));

	s->failed |= t->failed;
	text__free(t);
	return index;
}

static void append(ProtobufCBuffer *buffer, size_t length, const uint8_t *data)
{
	/* The buffer is the first member of the writer. */
	gzip__write(&((struct writer *)buffer)->gzip, data, length);
}

static void put(struct writer *w, const Pprof__Profile *part)
{
	pprof__profile__pack_to_buffer(part, &w->buffer);
}

static bool is_same_function(const struct report_label *a, const struct report_label *b)
{
	return a->kind == b->kind && a->first_line == b->first_line && !strcmp(a->name, b->name) &&
	       !strcmp(a->path, b->path);
}

/*
 * pprof takes what has one name for both, name and system_name, for C++ and "simplifies" it:
 * "block (2 levels) in A::B#c" loses its levels, and "A#<=>" its operator.  The kind of the code before
 * the name keeps it from that, and tells something.  The file, which tells equal names apart, is left out.
 */
static int64_t system_name(struct writer *w, const struct report_label *l)
{
	struct text t = { 0 };

	text__addf(&t, "%s ", label_kind_names[l->kind]);
	text__add(&t, l->name, l->bare);
	return intern_text(&w->strings, &t);
}

/* The function of a label; it is written when the first label has it. */
static void put_function(struct writer *w, uint32_t label)
{
	const struct report_label *labels = w->r->labels, *l = &labels[label];
	uint64_t hash = hash__bytes(l->name, strlen(l->name), l->kind);
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT, *list[1] = { &function };
	uint32_t first;

	hash = hash__mix(hash__bytes(l->path, strlen(l->path), hash) ^ (uint32_t)l->first_line);
	while ((first = map64__get(&w->functions, hash)) != MAP64_NONE) {
		if (is_same_function(&labels[first], l)) {
			w->function_of[label] = w->function_of[first];
			return;
		}
		hash++;
	}
	if (map64__add(&w->functions, hash, label)) {
		w->strings.failed = true;
		return;
	}
	function.id = w->function_of[label] = w->base + label + 1;
	function.name = intern(&w->strings, l->name);
	function.system_name = system_name(w, l);
	function.filename = intern(&w->strings, l->path);
	function.start_line = l->first_line;
	part.n_function = 1;
	part.function = list;
	put(w, &part);
}

/* A location is a function and the line that ran, so a label.  An approximate line is still a line: the
 * format has no mark for it, so the comments say how many there are. */
static void put_locations(struct writer *w)
{
	const struct report *r = w->r;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Location location = PPROF__LOCATION__INIT, *list[1] = { &location };
	Pprof__Line line = PPROF__LINE__INIT, *lines[1] = { &line };

	part.n_location = 1;
	part.location = list;
	location.mapping_id = 1;
	location.n_line = 1;
	location.line = lines;
	for (uint32_t i = 0; i < r->label_count; i++) {
		put_function(w, i);
		location.id = w->base + i + 1;
		line.function_id = w->function_of[i];
		/* Of no file, it is no place. */
		line.line = *r->labels[i].path ? r->labels[i].line : 0;
		put(w, &part);
		w->approximate += r->labels[i].approximate;
	}
}

/* Each key once: of the groups by thread and by pattern of threads, the innermost one. */
static void add_label(struct writer *w, Pprof__Sample *sample, const char *key, int64_t text, int64_t number)
{
	int64_t index = intern(&w->strings, key);
	Pprof__Label *label;

	for (size_t i = 0; i < sample->n_label; i++)
		if (sample->label[i]->key == index)
			return;
	if (sample->n_label == SAMPLE_LABELS_MAX || (!text && !number))
		return;
	label = sample->label[sample->n_label++];
	pprof__label__init(label);
	label->key = index;
	label->str = text;
	label->num = number;
}

/* "[request=GET /x]" is the label "request" with the value "GET /x", "[no request]" is none. */
static void add_own_label(struct writer *w, Pprof__Sample *sample, const char *name, const char *label_key)
{
	struct text key = { 0 }, value = { 0 };
	size_t length;

	text__add_clean(&key, label_key, strlen(label_key), RB_DEBUG_EXT_LABEL_KEY_MAX);
	w->strings.failed |= key.failed;
	length = key.length + 2;
	/* The reason why there is no value is no value: "(expired)". */
	if (strlen(name) > length && !strncmp(name + 1, text__string(&key), key.length)) {
		if (name[length - 1] == '=')
			text__add(&value, name + length, strlen(name + length) - 1);
		else if (name[length - 1] == ':')
			text__addf(&value, "(%.*s)", (int)strlen(name + length) - 2, name + length + 1);
	}
	if (value.length)
		add_label(w, sample, text__string(&key), intern_text(&w->strings, &value), 0);
	text__free(&value);
	text__free(&key);
}

static void add_group(struct writer *w, Pprof__Sample *sample, const struct report_label *l, uint8_t key)
{
	struct text name = { 0 };

	if (key >= GROUP_LABEL) {
		add_own_label(w, sample, l->name, w->r->groups.labels[key - GROUP_LABEL]);
		return;
	}
	group__add_name(l, &name);
	add_label(w, sample, label_kind_names[l->kind], intern_text(&w->strings, &name), 0);
	if (l->kind != LABEL_CGROUP)
		add_label(w, sample, l->kind == LABEL_PROCESS ? "pid" : "tid", 0, l->number);
}

/* The stack that ends at a node.  Its groups become labels of pprof's, unless there is nothing else. */
static void add_stack(struct writer *w, Pprof__Sample *sample, uint32_t node)
{
	const struct report *r = w->r;

	for (uint32_t i = node; i; i = r->nodes[i].parent) {
		bool is_group = r->nodes[i].depth <= r->group_count;

		if (is_group)
			add_group(w, sample, &r->labels[r->nodes[i].label], r->groups.keys[r->nodes[i].depth - 1]);
		if (!is_group || i == node)
			sample->location_id[sample->n_location_id++] = w->base + r->nodes[i].label + 1;
	}
}

static int put_samples(struct writer *w)
{
	const struct report *r = w->r;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *list[1] = { &sample };
	Pprof__Label labels[SAMPLE_LABELS_MAX], *label_list[SAMPLE_LABELS_MAX + 1];
	int64_t values[VALUES_MAX] = { 0 };
	uint32_t depth = 0;

	for (uint32_t i = 0; i < r->node_count; i++)
		if (r->nodes[i].depth > depth)
			depth = r->nodes[i].depth;
	sample.location_id = malloc((depth + 1u) * sizeof(*sample.location_id));
	if (!sample.location_id)
		return -ENOMEM;
	for (int i = 0; i < SAMPLE_LABELS_MAX; i++)
		label_list[i] = &labels[i];
	label_list[SAMPLE_LABELS_MAX] = NULL;
	part.n_sample = 1;
	part.sample = list;
	sample.label = label_list;
	sample.n_value = 2 * w->count;
	sample.value = values;
	for (uint32_t i = 1; i < r->node_count; i++) {
		const struct weight *weight = &r->nodes[i].weight;

		if (!weight->count && !weight->value)
			continue;
		sample.n_location_id = sample.n_label = 0;
		values[2 * w->number] = (int64_t)weight->count;
		values[2 * w->number + 1] = (int64_t)weight->value;
		add_stack(w, &sample, i);
		put(w, &part);
	}
	free(sample.location_id);
	return 0;
}

static void add_comment(struct writer *w, Pprof__Profile *part, struct text *text)
{
	if (part->n_comment < COMMENTS_MAX)
		part->comment[part->n_comment++] = intern_text(&w->strings, text);
	else
		text__free(text);
}

static void add_account(struct writer *w, Pprof__Profile *part, const struct report_meta *m)
{
	struct text text = { 0 };

	if (w->count > 1)
		text__addf(&text, "%s: ", m->mode->name);
	accounting__add_line(&m->accounting, &text);
	add_comment(w, part, &text);
	text__addf(&text, "samples: %s", m->source);
	add_comment(w, part, &text);
	if (m->missed) {
		text__addf(&text, "missed besides: %" PRIu64, m->missed);
		add_comment(w, part, &text);
	}
}

/* How this profile came about, and what it lacks. */
static void add_comments(struct writer *w, Pprof__Profile *part)
{
	const struct report_meta *m = &w->reports[0].meta;
	struct text text = { 0 };

	text__addf(&text, "command: %s (pid %d)", m->command, m->pid);
	add_comment(w, part, &text);
	text__addf(&text, "ruby: %s", *m->ruby_description ? m->ruby_description : m->ruby_version);
	add_comment(w, part, &text);
	for (uint32_t i = 0; i < w->count; i++)
		add_account(w, part, &w->reports[i].meta);
	if (m->merged) {
		text__addf(&text, "samples whose innermost frames are [merged]: %" PRIu64, m->merged);
		add_comment(w, part, &text);
	}
	if (w->approximate) {
		text__addf(&text, "locations whose line is approximate: %" PRIu64, w->approximate);
		add_comment(w, part, &text);
	}
}

static const char *unit_name(enum unit unit)
{
	return unit == UNIT_NS ? "nanoseconds" : unit == UNIT_BYTES ? "bytes" : "count";
}

/* With several modes, "samples" and others can be of more than one. */
static int64_t intern_type(struct writer *w, const struct mode *mode, const struct metric *metric)
{
	struct text name = { 0 };

	if (w->count > 1 && !strstr(metric->name, mode->name))
		text__addf(&name, "%s_", mode->name);
	text__adds(&name, metric->name);
	return intern_text(&w->strings, &name);
}

/* All of the profile but the lists. */
static void put_head(struct writer *w)
{
	const struct report_meta *m = &w->reports[0].meta;
	struct strings *s = &w->strings;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__ValueType values[VALUES_MAX], *types[VALUES_MAX], period = PPROF__VALUE_TYPE__INIT;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *mappings[] = { &mapping };
	int64_t comments[COMMENTS_MAX];

	for (uint32_t i = 0; i < 2 * w->count; i++) {
		const struct mode *mode = w->reports[i / 2].meta.mode;
		const struct metric *metric = i % 2 ? &mode->value : &mode->count;

		pprof__value_type__init(&values[i]);
		values[i].type = intern_type(w, mode, metric);
		values[i].unit = intern(s, unit_name(metric->unit));
		types[i] = &values[i];
		if (i % 2 && (!part.default_sample_type || w->count == 1))
			part.default_sample_type = values[i].type;
	}
	part.n_sample_type = 2 * w->count;
	part.sample_type = types;
	period.type = intern(s, "cpu");
	period.unit = intern(s, "nanoseconds");
	for (uint32_t i = 0; i < w->count && !part.period; i++)
		part.period = (int64_t)w->reports[i].meta.period;
	if (part.period)
		part.period_type = &period;
	part.time_nanos = (int64_t)m->started * 1000000000;
	part.duration_nanos = (int64_t)(m->duration * 1e9);

	/* pprof shows its file name as that of the program.  It has all names already, so that pprof
	 * does not look for them in a binary. */
	mapping.id = 1;
	mapping.filename = intern(s, "ruby");
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
	part.n_mapping = 1;
	part.mapping = mappings;

	part.comment = comments;
	add_comments(w, &part);
	put(w, &part);
}

static void put_strings(struct writer *w)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;

	part.n_string_table = w->strings.count;
	part.string_table = w->strings.list;
	put(w, &part);
}

/* Locations and samples of one mode. */
static int put_report(struct writer *w, uint32_t number)
{
	int err;

	w->number = number;
	w->r = &w->reports[number];
	w->function_of = calloc(w->r->label_count + 1u, sizeof(*w->function_of));
	if (!w->function_of)
		return -ENOMEM;
	put_locations(w);
	err = put_samples(w);
	map64__free(&w->functions);
	free(w->function_of);
	w->function_of = NULL;
	w->base += w->r->label_count;
	return err;
}

static int write_pprof(const struct report *reports, uint32_t count, const struct output_options *o,
		       FILE *to)
{
	struct writer w = { .buffer = { .append = append }, .reports = reports, .count = count };
	int err, finished;

	(void)o;
	err = gzip__start(&w.gzip, to);
	if (err)
		return err;
	intern(&w.strings, "");
	for (uint32_t i = 0; i < count && !err; i++)
		err = put_report(&w, i);
	if (!err) {
		put_head(&w);
		put_strings(&w);
	}
	if (!err && w.strings.failed)
		err = -ENOMEM;
	finished = gzip__finish(&w.gzip);
	for (uint32_t i = 0; i < w.strings.count; i++)
		free(w.strings.list[i]);
	free(w.strings.list);
	map64__free(&w.strings.map);
	return err ? err : finished;
}

const struct output_format output_pprof = {
	.name = "pprof",
	.suffixes = { ".pb.gz", ".pprof" },
	.help = "a profile for pprof and what reads its format, compressed",
	.detail = REPORT_BY_LINE,
	.labels = 1u << GROUP_PROCESS | 1u << GROUP_THREAD | 1u << GROUP_CGROUP,
	.write = write_pprof,
};
