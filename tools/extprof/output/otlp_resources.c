/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes as resources: what names the service, and what else tells it apart from others. */
#include "output/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "output/process_rows.h"

#define RESOURCES_MAX (1u << 20)
/* Pyroscope takes 30 labels, of which it adds some itself. */
#define ATTRIBUTES_MAX 24u
/* So many of them that the program has chosen: the others have room in any case. */
#define OWN_MAX 12u
#define KEY_MAX_LENGTH 128u
#define VALUE_MAX_LENGTH 256u
/* Digits of a container's id. */
#define CONTAINER_DIGITS 64u

struct builder {
	Otlp__Resource resource;
	Otlp__KeyValue *list[ATTRIBUTES_MAX], attributes[ATTRIBUTES_MAX];
	Otlp__AnyValue values[ATTRIBUTES_MAX];
	struct text texts[2 * ATTRIBUTES_MAX];
	uint32_t text_count;
	bool failed;
};

static bool has(const struct builder *b, const char *key)
{
	for (size_t i = 0; i < b->resource.n_attributes; i++)
		if (!strcmp(b->attributes[i].key, key))
			return true;
	return false;
}

/* The value of a new attribute.  NULL: it is there already, or there is no room. */
static Otlp__AnyValue *add(struct builder *b, const char *key)
{
	size_t i = b->resource.n_attributes;

	if (!*key || has(b, key))
		return NULL;
	if (i == ATTRIBUTES_MAX) {
		b->resource.dropped_attributes_count++;
		return NULL;
	}
	b->list[i] = &b->attributes[i];
	otlp__key_value__init(&b->attributes[i]);
	otlp__any_value__init(&b->values[i]);
	/* They are only read. */
	b->attributes[i].key = (char *)key;
	b->attributes[i].value = &b->values[i];
	b->resource.n_attributes++;
	return &b->values[i];
}

/* Nothing if it is "". */
static void add_text(struct builder *b, const char *key, const char *text)
{
	Otlp__AnyValue *value = *text ? add(b, key) : NULL;

	if (!value)
		return;
	value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = (char *)text;
}

/* A text that lives as long as the builder. */
static struct text *new_text(struct builder *b)
{
	return b->text_count < 2 * ATTRIBUTES_MAX ? &b->texts[b->text_count++] : NULL;
}

/* -- what the program says of itself -------------------------------------------------------------------- */

/* One of the program's own; `named`: only if it names the service. */
static void add_pair(struct builder *b, const struct attribute *a, bool named, uint32_t *count)
{
	struct text name = { 0 }, *texts[2];
	bool wanted;

	attributes__add_plain(&name, a->key, a->key_length, KEY_MAX_LENGTH);
	/* Attributes that begin with "process." are added by extprof, which knows them better. */
	wanted = !strcmp(text__string(&name), "service.name") == named && strncmp(text__string(&name), "process.", 8) &&
		 !has(b, text__string(&name));
	b->failed |= name.failed;
	text__free(&name);
	if (!wanted)
		return;
	if (*count == OWN_MAX) {
		b->resource.dropped_attributes_count++;
		return;
	}
	texts[0] = new_text(b);
	texts[1] = new_text(b);
	if (!texts[0] || !texts[1])
		return;
	attributes__add_plain(texts[0], a->key, a->key_length, KEY_MAX_LENGTH);
	attributes__add_plain(texts[1], a->value, a->value_length, VALUE_MAX_LENGTH);
	b->failed |= texts[0]->failed || texts[1]->failed;
	add_text(b, text__string(texts[0]), text__string(texts[1]));
	*count += has(b, text__string(texts[0]));
}

/* There is room for the service. */
static void add_own(struct builder *b, const char *list, bool named, uint32_t *count)
{
	struct attribute a;

	while (attributes__next(&list, &a))
		add_pair(b, &a, named, count);
}

/* -- what extprof knows --------------------------------------------------------------------------------- */

/* The id of a container is 64 digits in the path of its cgroup: "/docker/ID", "/cri-containerd-ID.scope".  The last one. */
static void add_container(struct builder *b, const char *cgroup)
{
	const char *found = NULL;
	struct text *t;

	for (const char *at = cgroup; at && *at;) {
		size_t digits = strspn(at, "0123456789abcdef");

		if (digits == CONTAINER_DIGITS)
			found = at;
		at += digits + (at[digits] != '\0');
	}
	t = found ? new_text(b) : NULL;
	if (!t)
		return;
	text__add(t, found, CONTAINER_DIGITS);
	b->failed |= t->failed;
	add_text(b, "container.id", text__string(t));
}

static void add_instance(struct builder *b, const char *host, uint32_t pid)
{
	struct text *t = pid ? new_text(b) : NULL;

	if (!t)
		return;
	text__addf(t, *host ? "%s:%u" : "%s%u", host, pid);
	b->failed |= t->failed;
	add_text(b, "service.instance.id", text__string(t));
}

int otlp__pack_resource(const struct otlp_resource *from, struct otlp_list *to)
{
	const struct report *r = from->report;
	const struct frame *f = from->label == OTLP_NONE ? NULL : &r->labels[from->label].frame;
	const char *name = f && f->known == KNOWN ? f->name : "";
	const char *version = from->row ? from->row->ruby_version : r->meta.ruby_version;
	uint32_t pid = f ? f->pid : 0, own = 0;
	struct builder *b = calloc(1, sizeof(*b));
	Otlp__AnyValue *number;
	int err;

	if (!b)
		return -ENOMEM;
	otlp__resource__init(&b->resource);
	b->resource.attributes = b->list;
	number = pid ? add(b, "process.pid") : NULL;
	if (number) {
		number->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
		number->int_value = pid;
	}
	if (*version)
		add_text(b, "process.runtime.name", "ruby");
	add_text(b, "process.runtime.version", version);
	/* Recordings have that of the first one. */
	if (!from->row || from->row->pid == r->meta.pid)
		add_text(b, "process.runtime.description", r->meta.ruby_description);
	if (from->row) {
		add_text(b, "process.executable.path", from->row->executable ? from->row->executable : "");
		if (from->row->executable && strrchr(from->row->executable, '/'))
			add_text(b, "process.executable.name", strrchr(from->row->executable, '/') + 1);
		add_own(b, from->row->resource, true, &own);
		add_own(b, from->row->resource, false, &own);
	}
	add_text(b, "service.name", *name ? name : *version ? "unknown_service:ruby" : "unknown_service");
	add_text(b, "host.name", r->meta.host);
	add_instance(b, r->meta.host, pid);
	if (from->row)
		add_container(b, from->row->cgroup);
	err = b->failed ? -ENOMEM : otlp_list__append_message(to, &b->resource.base);
	for (uint32_t i = 0; i < b->text_count; i++)
		text__free(&b->texts[i]);
	free(b);
	return err;
}

/* -- which there are ------------------------------------------------------------------------------------- */

uint32_t otlp__resource(struct otlp *x, const struct report *r, uint32_t label)
{
	const struct frame *f = label == OTLP_NONE ? NULL : &r->labels[label].frame;
	struct otlp_resource *p;
	uint32_t number;
	uint64_t key;

	/* Processes of which nothing is known are one, whatever the reason is. */
	if (f && f->known != KNOWN && !f->pid) {
		label = OTLP_NONE;
		f = NULL;
	}
	key = f ? hash__bytes(f->name, strlen(f->name), (uint64_t)f->known << 32 | f->pid) : 0;

	while ((number = map64__get(&x->resource_map, key)) != MAP64_NONE) {
		const struct otlp_resource *o = &x->resources[number];
		const struct frame *g = o->label == OTLP_NONE ? NULL : &o->report->labels[o->label].frame;

		if ((!f && !g) || (f && g && f->pid == g->pid && f->known == g->known && !strcmp(f->name, g->name)))
			return number;
		key++;
	}
	if (array__reserve(&x->resources, x->resource_count, 1, &x->resource_room, RESOURCES_MAX, sizeof(*p)) ||
	    map64__add(&x->resource_map, key, x->resource_count)) {
		x->err = -ENOMEM;
		return OTLP_NONE;
	}
	p = &x->resources[x->resource_count];
	*p = (struct otlp_resource){
		.report = r, .label = label, .row = f ? process_rows__find(r, f) : NULL, .number = x->resource_count,
	};
	return x->resource_count++;
}
