/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples.  A profile has one sample type, so each mode has one profile for its times or bytes, and one for its count, of
 * each process.  Receivers take the name of what is measured from the sample type, the period type and the scope:
 * docs/otlp.md says which takes what.
 */
#include "output/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ATTRIBUTES_MAX (2 * GROUPS_MAX + 2)
/* The attributes of the whole account. */
#define FACTS_MAX (8 + (int)TRUNC_MAX + (int)LOSS_MAX)
#define PROFILES_MAX (1u << 20)

/* All of a sample but its values.  Samples with the same bytes here are one. */
struct identity {
	uint32_t resource;
	int32_t stack, link;
	int32_t attributes[ATTRIBUTES_MAX];
	uint32_t attribute_count;
};

/* The samples of one report. */
struct collected {
	const struct report *r;
	uint32_t *locations;		/* by label */
	uint32_t *nodes;		/* by node of the report: of the tree of stacks */
	struct otlp_list identities;	/* a table */
	struct weight *weights;		/* by number of an identity */
	size_t weight_room;
};

/* -- one sample ------------------------------------------------------------------------------------------ */

/* Data from the groups of a sample, the innermost group first. */
struct sample {
	struct identity id;
	int32_t keys[ATTRIBUTES_MAX];		/* of its attributes: each is there once */
	uint32_t process;			/* its label; OTLP_NONE: there is none */
	const struct frame *trace, *span;	/* labels that name a span */
};

/* Is there room for an attribute of that key? */
static bool takes(struct otlp *x, struct sample *s, const char *key)
{
	int32_t name;

	if (!*key || s->id.attribute_count == ATTRIBUTES_MAX)
		return false;
	name = otlp__string(x, key);
	for (uint32_t i = 0; i < s->id.attribute_count; i++)
		if (s->keys[i] == name)
			return false;
	s->keys[s->id.attribute_count] = name;
	return true;
}

static void add_text(struct otlp *x, struct sample *s, const char *key, struct text *text)
{
	if (text->failed)
		x->err = -ENOMEM;
	else if (text->length && takes(x, s, key))
		s->id.attributes[s->id.attribute_count++] = otlp__attribute(x, key, text__string(text));
	text__free(text);
}

static void add_label(struct otlp *x, struct sample *s, const struct frame *f)
{
	struct text value = { 0 };

	/* The reason why there is no value is no value. */
	if (f->known == KNOWN) {
		frame__add_bare(f, &value);
	} else if (f->known == KNOWN_EXPIRED || f->known == KNOWN_UNREAD || f->known == KNOWN_CROWDED) {
		text__adds(&value, "(");
		frame__add_bare(f, &value);
		text__adds(&value, ")");
	}
	add_text(x, s, f->key, &value);
}

/* Bytes of hexadecimal digits, if they are so many and not all 0. */
static bool read_id(const char *text, uint8_t *to, size_t size)
{
	uint8_t any = 0;

	if (strlen(text) != 2 * size || strspn(text, "0123456789abcdefABCDEF") != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++) {
		char digits[3] = { text[2 * i], text[2 * i + 1], '\0' };

		to[i] = (uint8_t)strtoul(digits, NULL, 16);
		any |= to[i];
	}
	return any;
}

/* Labels trace_id and span_id are a link, if they are such ids. */
static void add_link(struct otlp *x, struct sample *s)
{
	uint8_t trace[16], span[8];
	Otlp__Link link = OTLP__LINK__INIT;
	uint32_t number;

	if (!s->trace || !s->span || !read_id(s->trace->name, trace, sizeof(trace)) ||
	    !read_id(s->span->name, span, sizeof(span))) {
		if (s->trace)
			add_label(x, s, s->trace);
		if (s->span)
			add_label(x, s, s->span);
		return;
	}
	link.trace_id = (ProtobufCBinaryData){ sizeof(trace), trace };
	link.span_id = (ProtobufCBinaryData){ sizeof(span), span };
	number = otlp_list__message(&x->tables[OTLP_LINKS], &link.base);
	if (number == OTLP_NONE)
		x->err = -ENOMEM;
	else
		s->id.link = (int32_t)number;
}

static void add_group(struct otlp *x, struct sample *s, const struct report *r, uint32_t label)
{
	const struct frame *f = &r->labels[label].frame;
	struct text name = { 0 };

	switch (f->kind) {
	case FRAME_PROCESS:
		/* A group of several processes has no pid. */
		if (s->process == OTLP_NONE || (f->pid && !r->labels[s->process].frame.pid))
			s->process = label;
		break;
	case FRAME_LABEL:
		if (!s->trace && f->known == KNOWN && !strcmp(f->key, "trace_id"))
			s->trace = f;
		else if (!s->span && f->known == KNOWN && !strcmp(f->key, "span_id"))
			s->span = f;
		else
			add_label(x, s, f);
		break;
	case FRAME_THREAD:
		if (f->tid && takes(x, s, "thread.id"))
			s->id.attributes[s->id.attribute_count++] = otlp__number_attribute(x, "thread.id", f->tid);
		/* fallthrough */
	default:
		frame__add_bare(f, &name);
		add_text(x, s, f->kind == FRAME_THREAD ? "thread.name" : "extprof.cgroup", &name);
	}
}

static int collect_sample(struct otlp *x, struct collected *c, uint32_t node)
{
	const struct report *r = c->r;
	struct sample s;
	uint32_t number, count = c->identities.count;

	/* Each byte of an identity counts. */
	memset(&s, 0, sizeof(s));
	s.process = OTLP_NONE;
	for (uint32_t i = node; i; i = r->nodes[i].parent) {
		const struct report_node *n = &r->nodes[i];
		const struct frame *f = &r->labels[n->label].frame;

		if (n->depth <= r->group_count) {
			add_group(x, &s, r, n->label);
		} else if (f->kind == FRAME_STATE) {
			struct text state = { 0 };

			text__adds(&state, f->name);
			add_text(x, &s, "extprof.state", &state);
		}
	}
	add_link(x, &s);
	/* A stack without a frame has nothing but whose it is. */
	s.id.stack = otlp__stack(x, r->nodes[node].depth > r->group_count ? c->nodes[node] :
				 otlp__stack_node(x, 0, c->locations[r->nodes[node].label]));
	s.id.resource = otlp__resource(x, r, s.process);
	if (x->err)
		return x->err;
	number = otlp_list__number(&c->identities, &s.id, sizeof(s.id));
	if (number == OTLP_NONE ||
	    array__reserve(&c->weights, number, 1, &c->weight_room, OTLP_ITEMS_MAX, sizeof(*c->weights)))
		return -ENOMEM;
	if (c->identities.count > count)
		c->weights[number] = (struct weight){ 0 };
	c->weights[number].value += r->nodes[node].weight.value;
	c->weights[number].count += r->nodes[node].weight.count;
	return 0;
}

static int collect(struct otlp *x, struct collected *c)
{
	const struct report *r = c->r;

	c->locations = otlp__locations(x, r);
	c->nodes = calloc(r->node_count + 1u, sizeof(*c->nodes));
	if (!c->locations || !c->nodes)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->node_count && !x->err; i++) {
		const struct report_node *n = &r->nodes[i];

		if (n->depth > r->group_count)
			c->nodes[i] = otlp__stack_node(x, c->nodes[n->parent], c->locations[n->label]);
		if (n->weight.count || n->weight.value)
			x->err = x->err ? x->err : collect_sample(x, c, i);
	}
	return x->err;
}

/* -- what is measured ------------------------------------------------------------------------------------ */

/* Receivers know this name. */
static const char *family(const struct mode *mode)
{
	return strcmp(mode->name, "offcpu") ? mode->name : "off_cpu";
}

const char *otlp__scope_name(const struct mode *mode)
{
	return strcmp(mode->name, "cpu") ? family(mode) : "process_cpu";
}

static const char *unit_name(enum unit unit)
{
	return unit == UNIT_NS ? "nanoseconds" : unit == UNIT_BYTES ? "bytes" : "count";
}

static bool has_one_value(const struct mode *mode)
{
	return !mode->count.name || (mode->value.unit == mode->count.unit && !strcmp(mode->value.name, mode->count.name));
}

/* Is the time of each sample its number times the period?  Pyroscope takes that for granted. */
static bool is_count_of_periods(const struct collected *c)
{
	uint64_t period = c->r->meta.period;

	for (uint32_t i = 0; i < c->identities.count; i++)
		if (c->weights[i].value != c->weights[i].count * period)
			return false;
	return true;
}

struct type {
	const char *name, *unit, *period_name, *period_unit;
	uint64_t period;
};

/* Receivers want a period type, and a period of more than 0 but for times off the CPU. */
static struct type type_of(const struct collected *c, bool count)
{
	const struct report_meta *m = &c->r->meta;
	const struct mode *mode = m->mode;
	const struct metric *metric = count && mode->count.name ? &mode->count : &mode->value;
	struct type t = { .name = metric->name, .unit = unit_name(metric->unit), .period_name = family(mode) };
	bool cpu = !strcmp(mode->name, "cpu"), off_cpu = !strcmp(mode->name, "offcpu");

	if (off_cpu && metric == &mode->value)
		t.name = t.period_name;
	t.period_unit = metric == &mode->value ? t.unit : "count";
	t.period = 1;
	if (m->period && mode->value.unit == UNIT_NS && (metric == &mode->value || !cpu || is_count_of_periods(c))) {
		t.period_unit = "nanoseconds";
		t.period = m->period;
	} else if (cpu && metric != &mode->value) {
		t.period_name = "cpu_samples";
	} else if (off_cpu && metric == &mode->value) {
		t.period = 0;
	}
	return t;
}

/* -- profiles ---------------------------------------------------------------------------------------------- */

static void add_fact(struct otlp *x, Otlp__Profile *p, const char *key, uint64_t number)
{
	if (p->n_attribute_indices < FACTS_MAX)
		p->attribute_indices[p->n_attribute_indices++] =
			otlp__number_attribute(x, key, number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

/*
 * How the recording came about, and what it lacks: of all of its processes.  Numbers are no texts, since receivers make
 * labels of texts.
 */
static void add_facts(struct otlp *x, Otlp__Profile *p, const struct report *r)
{
	const struct accounting *a = &r->meta.accounting;

	if (*r->meta.source)
		p->attribute_indices[p->n_attribute_indices++] = otlp__attribute(x, "extprof.source", r->meta.source);
	add_fact(x, p, "extprof.recording.taken", a->taken);
	add_fact(x, p, "extprof.recording.whole", a->whole);
	add_fact(x, p, "extprof.recording.truncated", accounting__truncated(a));
	add_fact(x, p, "extprof.recording.lost", accounting__lost(a));
	if (r->meta.missed)
		add_fact(x, p, "extprof.recording.missed", r->meta.missed);
	if (r->idle.amount && !r->idle.shown)
		add_fact(x, p, "extprof.recording.idle", r->idle.amount);
#define TRUNC(id, name, key_, text_) \
	if (a->truncated[id]) \
		add_fact(x, p, "extprof.recording.truncated." key_, a->truncated[id]);
#define LOSS(id, name, key_, text_) \
	if (a->lost[id]) \
		add_fact(x, p, "extprof.recording.lost." key_, a->lost[id]);
#include "wire/errors.def"
#undef TRUNC
#undef LOSS
}

/* A new profile at the end of those of its resource.  NULL: out of memory. */
static struct otlp_profile *add_profile(struct otlp *x, uint32_t resource, uint32_t report)
{
	struct otlp_resource *r = &x->resources[resource];
	struct otlp_profile *p;

	if (array__reserve(&x->profiles, x->profile_count, 1, &x->profile_room, PROFILES_MAX, sizeof(*p))) {
		x->err = -ENOMEM;
		return NULL;
	}
	p = &x->profiles[x->profile_count++];
	*p = (struct otlp_profile){ .resource = resource, .report = report };
	if (r->last_profile)
		x->profiles[r->last_profile - 1].next = x->profile_count;
	else
		r->first_profile = x->profile_count;
	r->last_profile = x->profile_count;
	return p;
}

static void put_head(struct otlp *x, struct otlp_profile *p, const struct report *r, const struct type *t)
{
	Otlp__Profile head = OTLP__PROFILE__INIT;
	Otlp__ValueType type = OTLP__VALUE_TYPE__INIT, period = OTLP__VALUE_TYPE__INIT;
	int32_t attributes[FACTS_MAX];

	type.type_strindex = otlp__string(x, t->name);
	type.unit_strindex = otlp__string(x, t->unit);
	period.type_strindex = otlp__string(x, t->period_name);
	period.unit_strindex = otlp__string(x, t->period_unit);
	head.sample_type = &type;
	head.period_type = &period;
	head.period = (int64_t)t->period;
	head.time_unix_nano = r->meta.part_began ? r->meta.part_began : r->meta.started > 0 ? (uint64_t)r->meta.started * 1000000000 : 0;
	head.duration_nano = r->meta.duration > 0 ? (uint64_t)(r->meta.duration * 1e9) : 0;
	head.attribute_indices = attributes;
	add_facts(x, &head, r);
	if (otlp_list__append_message(&p->head, &head.base))
		x->err = -ENOMEM;
}

/* One value, and no timestamps: what a receiver does with several differs. */
static void put_sample(struct otlp *x, struct otlp_profile *p, const struct identity *id, uint64_t amount)
{
	Otlp__Sample sample = OTLP__SAMPLE__INIT;
	int64_t value = amount > INT64_MAX ? INT64_MAX : (int64_t)amount;
	int32_t attributes[ATTRIBUTES_MAX];

	memcpy(attributes, id->attributes, sizeof(attributes));
	sample.stack_index = id->stack;
	sample.link_index = id->link;
	sample.n_attribute_indices = id->attribute_count;
	sample.attribute_indices = attributes;
	sample.n_values = 1;
	sample.values = &value;
	if (otlp_list__append_message(&p->samples, &sample.base))
		x->err = -ENOMEM;
}

/* The profiles of one sample type.  of: by resource, the number of its profile + 1. */
static int put_type(struct otlp *x, const struct collected *c, uint32_t report, bool count, uint32_t *of)
{
	struct type t = type_of(c, count);

	memset(of, 0, x->resource_count * sizeof(*of));
	for (uint32_t i = 0; i < c->identities.count && !x->err; i++) {
		uint64_t amount = count ? c->weights[i].count : c->weights[i].value;
		struct identity id;

		/* Parca refuses a profile without samples. */
		if (!amount)
			continue;
		memcpy(&id, otlp_list__item(&c->identities, i), sizeof(id));
		if (!of[id.resource]) {
			struct otlp_profile *p = add_profile(x, id.resource, report);

			if (!p)
				break;
			of[id.resource] = x->profile_count;
			put_head(x, p, c->r, &t);
		}
		put_sample(x, &x->profiles[of[id.resource] - 1], &id, amount);
	}
	return x->err;
}

void otlp__add_report(struct otlp *x, uint32_t report)
{
	struct collected c = { .r = &x->reports[report] };
	const struct mode *mode = c.r->meta.mode;
	/* Numbers of samples of different rates are not added up. */
	bool counts = !c.r->meta.rates_differ, first = counts && (mode->by_count || has_one_value(mode));
	int err = collect(x, &c);
	uint32_t *of = err ? NULL : calloc(x->resource_count + 1u, sizeof(*of));

	if (!err && !of)
		err = -ENOMEM;
	/* Viewers show the first one. */
	if (!err)
		err = put_type(x, &c, report, first, of);
	if (!err && counts && !has_one_value(mode))
		err = put_type(x, &c, report, !first, of);
	for (uint32_t i = 0; i < c.identities.count && !err; i++) {
		struct identity id;

		memcpy(&id, otlp_list__item(&c.identities, i), sizeof(id));
		x->resources[id.resource].amount += c.weights[i].value;
	}
	free(of);
	free(c.locations);
	free(c.nodes);
	free(c.weights);
	otlp_list__free(&c.identities);
	x->err = x->err ? x->err : err;
}
