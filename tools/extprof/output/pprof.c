/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof's profile: a message of protocol buffers, compressed by gzip.
 *
 * Two messages one after the other are, by the rules of protocol buffers, one message with the fields
 * of both.  So the profile is written in pieces, each a Profile with a part of the fields, and is never
 * in memory as a whole.
 */
#include "output/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/map64.h"
#include "base/strings.h"
#include "pprof.pb-c.h"

/* A text and a number for each group, and the span. */
#define SAMPLE_LABELS_MAX (2 * GROUPS_MAX + 1)
/* Each mode has two values, or one if they are the same; those of other modes are 0. */
#define VALUES_MAX (2 * MODES_MAX)
#define COMMENTS_MAX (6 + 4 * MODES_MAX)
#define MAIN_MAPPING 1u

struct writer {
	ProtobufCBuffer buffer;	/* what protobuf-c packs into, see append() */
	struct gzip gzip;
	const struct pprof_names *names;
	const struct report *reports;
	uint32_t count;
	/* The one that is being written, and the id before those of its labels. */
	const struct report *r;
	uint32_t column;	/* of its first value */
	uint64_t base;
	struct strings strings;	/* the first one is "" */
	bool failed;		/* out of memory */
	struct map64 functions;	/* hash -> label of `r` that has this function */
	uint64_t *function_of;	/* by label: id of its function */
	uint64_t function_count;	/* ids are from 1 on without a gap: Parca refuses others */
	struct map64 mappings;	/* indices of the name of a file and of its build id -> id of its mapping */
	uint64_t approximate;	/* locations */
};

/* The index of a text. */
static int64_t intern(struct writer *w, const char *text)
{
	uint32_t index = strings__number(&w->strings, text, strlen(text));

	w->failed |= index == MAP64_NONE;
	return index == MAP64_NONE ? 0 : index;
}

static int64_t intern_text(struct writer *w, struct text *t)
{
	int64_t index = intern(w, text__string(t));

	w->failed |= t->failed;
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
	return a->frame.kind == b->frame.kind && a->frame.first_line == b->frame.first_line && !strcmp(a->name, b->name) &&
	       !strcmp(a->frame.path, b->frame.path);
}

/*
 * pprof takes what has one name for both, name and system_name, for C++ and "simplifies" it:
 * "block (2 levels) in A::B#c" loses its levels, and "A#<=>" its operator.  The kind of the code before
 * the name keeps it from that, and tells something.  The file, which tells equal names apart, is left out.
 */
static int64_t system_name(struct writer *w, const struct report_label *l)
{
	struct text t = { 0 };

	text__addf(&t, "%s ", frame_kind_names[l->frame.kind]);
	text__add(&t, l->name, l->bare);
	return intern_text(w, &t);
}

/* The function of a label; it is written when the first label has it. */
static void put_function(struct writer *w, uint32_t label)
{
	const struct report_label *labels = w->r->labels, *l = &labels[label];
	uint64_t hash = hash__bytes(l->name, strlen(l->name), l->frame.kind);
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT, *list[1] = { &function };
	uint32_t first;

	hash = hash__mix(hash__bytes(l->frame.path, strlen(l->frame.path), hash) ^ (uint32_t)l->frame.first_line);
	while ((first = map64__get(&w->functions, hash)) != MAP64_NONE) {
		if (is_same_function(&labels[first], l)) {
			w->function_of[label] = w->function_of[first];
			return;
		}
		hash++;
	}
	if (map64__add(&w->functions, hash, label)) {
		w->failed = true;
		return;
	}
	function.id = w->function_of[label] = ++w->function_count;
	function.name = intern(w, l->name);
	function.system_name = system_name(w, l);
	function.filename = intern(w, l->frame.path);
	function.start_line = l->frame.first_line;
	part.n_function = 1;
	part.function = list;
	put(w, &part);
}

/*
 * Files of which code ran.  All names are there already: pprof looks for lines in the files only where it is told to.
 * Addresses are those in the file, wherever it was mapped.  Readers take a mapping of all addresses for that.
 */
static void put_mapping(struct writer *w, uint64_t id, int64_t name, int64_t build_id)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *list[] = { &mapping };

	mapping.id = id;
	mapping.memory_limit = build_id ? UINT64_MAX : 0;
	mapping.filename = name;
	mapping.build_id = build_id;
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
	part.n_mapping = 1;
	part.mapping = list;
	put(w, &part);
}

/* Ruby code, and what is in no file, is in the first one. */
static uint64_t mapping_of(struct writer *w, const struct frame *f)
{
	struct text name = { 0 };
	int64_t index, build_id;
	uint64_t key;
	uint32_t id;

	if (f->kind == FRAME_KERNEL)
		text__addf(&name, "[%s]", *f->module ? f->module : "kernel");
	else if (f->kind == FRAME_NATIVE)
		text__adds(&name, f->module);
	if (!name.length) {
		text__free(&name);
		return MAIN_MAPPING;
	}
	index = intern_text(w, &name);
	build_id = f->kind == FRAME_NATIVE ? intern(w, f->key) : 0;
	key = (uint64_t)build_id << 32 | (uint64_t)index;
	id = map64__get(&w->mappings, key);
	if (id != MAP64_NONE)
		return id;
	id = MAIN_MAPPING + w->mappings.count + 1;
	w->failed |= map64__add(&w->mappings, key, id) != 0;
	put_mapping(w, id, index, build_id);
	return id;
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
	location.n_line = 1;
	location.line = lines;
	for (uint32_t i = 0; i < r->label_count; i++) {
		put_function(w, i);
		location.id = w->base + i + 1;
		location.mapping_id = mapping_of(w, &r->labels[i].frame);
		location.address = r->labels[i].frame.kind == FRAME_NATIVE ? r->labels[i].frame.address : 0;
		line.function_id = w->function_of[i];
		/* A line without a file is no place. */
		line.line = *r->labels[i].frame.path ? r->labels[i].frame.line : 0;
		put(w, &part);
		w->approximate += r->labels[i].frame.approximate;
	}
}

/* Each key once as a text and once as a number: of the groups by thread and by pattern of threads, the innermost one. */
static void add_label(struct writer *w, Pprof__Sample *sample, const char *key, int64_t text, int64_t number)
{
	int64_t index = intern(w, key);
	Pprof__Label *label;

	for (size_t i = 0; i < sample->n_label; i++)
		if (sample->label[i]->key == index && !sample->label[i]->str == !text)
			return;
	if (sample->n_label == SAMPLE_LABELS_MAX || (!text && !number))
		return;
	label = sample->label[sample->n_label++];
	pprof__label__init(label);
	label->key = index;
	label->str = text;
	label->num = number;
}

/* Is it a number as a program writes one?  18 digits have room in any reader. */
static bool is_number(const char *text, int64_t *number)
{
	size_t sign = *text == '-', digits = strspn(text + sign, "0123456789");

	if (!digits || digits > 18 || text[sign + digits] || (text[sign] == '0' && (digits > 1 || sign)))
		return false;
	*number = strtoll(text, NULL, 10);
	return true;
}

/*
 * A label of the program's own.  A number is written as a text and as a number: pprof takes -tagfocus tenant=42 for a
 * range of numbers, and tenant=^42$ for a pattern of texts.
 */
static void add_own_label(struct writer *w, Pprof__Sample *sample, const struct frame *f)
{
	struct text value = { 0 };
	int64_t number;

	frame__add_bare(f, &value);
	if (f->known == KNOWN && value.length) {
		int part = trace__part_of_label(f->key);

		/* An id can have decimal digits alone. */
		if (part < 0 && is_number(value.data, &number))
			add_label(w, sample, f->key, 0, number);
		if (part == TRACE_SPAN && w->names->span)
			add_label(w, sample, w->names->span, 0, (int64_t)strtoull(value.data, NULL, 16));
		add_label(w, sample, f->key, intern_text(w, &value), 0);
	} else if (f->known == KNOWN_EXPIRED || f->known == KNOWN_UNREAD || f->known == KNOWN_CROWDED) {
		/* The reason why there is no value is no value. */
		struct text reason = { 0 };

		text__addf(&reason, "(%s)", text__string(&value));
		add_label(w, sample, f->key, intern_text(w, &reason), 0);
	}
	w->failed |= value.failed;
	text__free(&value);
}

static void add_group(struct writer *w, Pprof__Sample *sample, const struct frame *f)
{
	bool is_process = f->kind == FRAME_PROCESS;
	struct text name = { 0 };
	uint32_t number;

	if (f->kind == FRAME_LABEL) {
		add_own_label(w, sample, f);
		return;
	}
	frame__add_bare(f, &name);
	add_label(w, sample, is_process ? w->names->process : f->kind == FRAME_THREAD ? w->names->thread : frame_kind_names[f->kind],
		  intern_text(w, &name), 0);
	if (f->kind == FRAME_CGROUP)
		return;
	number = frame__number(f);
	if (w->names->ids_are_texts && number)
		text__addf(&name, "%" PRIu32, number);
	add_label(w, sample, is_process ? w->names->pid : w->names->tid, name.length ? intern_text(w, &name) : 0,
		  w->names->ids_are_texts ? 0 : number);
}

/* The stack that ends at a node.  Its groups become labels of pprof's, unless there is nothing else. */
static void add_stack(struct writer *w, Pprof__Sample *sample, uint32_t node)
{
	const struct report *r = w->r;

	for (uint32_t i = node; i; i = r->nodes[i].parent) {
		bool is_group = r->nodes[i].depth <= r->group_count;

		if (is_group)
			add_group(w, sample, &r->labels[r->nodes[i].label].frame);
		if (!is_group || i == node)
			sample->location_id[sample->n_location_id++] = w->base + r->nodes[i].label + 1;
	}
}

static bool has_count(const struct report *r)
{
	return !r->meta.rates_differ;
}

static bool has_value(const struct report *r)
{
	const struct mode *mode = r->meta.mode;

	return !has_count(r) || mode->value.unit != mode->count.unit || strcmp(mode->value.name, mode->count.name);
}

static uint32_t columns(const struct report *r)
{
	return (uint32_t)has_count(r) + has_value(r);
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
	for (uint32_t i = 0; i < w->count; i++)
		sample.n_value += columns(&w->reports[i]);
	sample.value = values;
	for (uint32_t i = 1; i < r->node_count; i++) {
		const struct weight *weight = &r->nodes[i].weight;
		uint32_t column = w->column;

		if (!weight->count && !weight->value)
			continue;
		sample.n_location_id = sample.n_label = 0;
		if (has_count(r))
			values[column++] = (int64_t)weight->count;
		if (has_value(r))
			values[column] = (int64_t)weight->value;
		add_stack(w, &sample, i);
		put(w, &part);
	}
	free(sample.location_id);
	return 0;
}

static void add_comment(struct writer *w, Pprof__Profile *part, struct text *text)
{
	if (part->n_comment < COMMENTS_MAX)
		part->comment[part->n_comment++] = intern_text(w, text);
	else
		text__free(text);
}

static void add_account(struct writer *w, Pprof__Profile *part, const struct report *r)
{
	const struct report_meta *m = &r->meta;
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
	if (r->idle.row_count) {
		report__add_idle(r, &text);
		add_comment(w, part, &text);
	}
}

/* How this profile came about, and what it lacks. */
static void add_comments(struct writer *w, Pprof__Profile *part)
{
	const struct report_meta *m = &w->reports[0].meta;
	struct text text = { 0 };

	text__addf(&text, "command: %s (", m->command);
	report__add_whose(&w->reports[0], "pid", &text);
	text__adds(&text, ")");
	add_comment(w, part, &text);
	if (*m->ruby_description || *m->ruby_version) {
		text__addf(&text, "ruby: %s", *m->ruby_description ? m->ruby_description : m->ruby_version);
		add_comment(w, part, &text);
	}
	for (uint32_t i = 0; i < w->count; i++)
		add_account(w, part, &w->reports[i]);
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

static int64_t intern_type(struct writer *w, const struct mode *mode, const struct metric *metric)
{
	const struct pprof_type *type = w->names->types;
	struct text name = { 0 };

	while (type && type->mode && strcmp(type->mode, mode->name))
		type++;
	if (type && type->mode)
		return intern(w, metric == &mode->count ? type->count : type->value);
	/* With several modes, "samples" and others can be of more than one. */
	if (w->count > 1 && !strstr(metric->name, mode->name))
		text__addf(&name, "%s_", mode->name);
	text__adds(&name, metric->name);
	return intern_text(w, &name);
}

/* All of the profile but the lists. */
static void put_head(struct writer *w)
{
	const struct report_meta *m = &w->reports[0].meta;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__ValueType values[VALUES_MAX], *types[VALUES_MAX], period = PPROF__VALUE_TYPE__INIT;
	int64_t comments[COMMENTS_MAX];

	for (uint32_t i = 0; i < w->count; i++) {
		const struct mode *mode = w->reports[i].meta.mode;

		for (int j = 0; j < 2; j++) {
			const struct metric *metric = j ? &mode->value : &mode->count;
			Pprof__ValueType *value = &values[part.n_sample_type];

			if (j ? !has_value(&w->reports[i]) : !has_count(&w->reports[i]))
				continue;
			pprof__value_type__init(value);
			value->type = intern_type(w, mode, metric);
			value->unit = intern(w, unit_name(metric->unit));
			types[part.n_sample_type++] = value;
		}
		/* The value, if it has one. */
		if (!part.default_sample_type || w->count == 1)
			part.default_sample_type = values[part.n_sample_type - 1].type;
	}
	part.sample_type = types;
	period.type = intern(w, "cpu");
	period.unit = intern(w, "nanoseconds");
	for (uint32_t i = 0; i < w->count && !part.period; i++)
		part.period = (int64_t)w->reports[i].meta.period;
	if (part.period)
		part.period_type = &period;
	part.time_nanos = m->part_began ? (int64_t)(m->part_began & INT64_MAX) : (int64_t)m->started * 1000000000;
	part.duration_nanos = (int64_t)(m->duration * 1e9);

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
	w->column += columns(w->r);
	return err;
}

int pprof__write(const struct report *reports, uint32_t count, const struct pprof_names *names, FILE *to)
{
	struct writer w = { .buffer = { .append = append }, .names = names, .reports = reports, .count = count };
	int err, finished;

	err = gzip__start(&w.gzip, to);
	if (err)
		return err;
	intern(&w, "");
	/* The first one: pprof shows its file name as that of the program. */
	put_mapping(&w, MAIN_MAPPING, intern(&w, "ruby"), 0);
	for (uint32_t i = 0; i < count && !err; i++)
		err = put_report(&w, i);
	if (!err) {
		put_head(&w);
		put_strings(&w);
	}
	if (!err && w.failed)
		err = -ENOMEM;
	finished = gzip__finish(&w.gzip);
	strings__free(&w.strings);
	map64__free(&w.mappings);
	return err ? err : finished;
}

static int write_pprof(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	static const struct pprof_names names = { .process = "process", .thread = "thread", .pid = "pid", .tid = "tid" };

	(void)o;
	return pprof__write(reports, count, &names, to);
}

const struct output_format output_pprof = {
	.name = "pprof",
	.suffixes = { ".pb.gz", ".pprof" },
	.help = "a profile for pprof and what reads its format, compressed",
	.detail = REPORT_BY_ADDRESS,
	.labels = 1u << GROUP_PROCESS | 1u << GROUP_THREAD | 1u << GROUP_CGROUP,
	.write = write_pprof,
};
