/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OTLP profiles as JSON.  By OTLP's mapping, names are in lowerCamelCase, whole numbers of 64 bits are texts, and ids of
 * traces and spans are hexadecimal.  What is written are the messages of the other form, unpacked.
 */
#include "output/otlp.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* Levels of messages in one another: those here have three. */
#define DEPTH_MAX 8
#define NAME_MAX_LENGTH 64

static json_t *message_json(const ProtobufCMessage *m, int depth);

/* attribute_indices is attributeIndices. */
static void camel_case(const char *name, char *to)
{
	size_t n = 0;

	for (; *name && n < NAME_MAX_LENGTH - 1; name++) {
		if (*name == '_' && name[1])
			to[n++] = (char)toupper((unsigned char)*++name);
		else
			to[n++] = *name;
	}
	to[n] = '\0';
}

static json_t *signed_text(int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	return json_string(text);
}

static json_t *unsigned_text(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return json_string(text);
}

/* The only bytes that are written are ids. */
static json_t *id_json(const ProtobufCBinaryData *data)
{
	char *text = malloc(2 * data->len + 1);
	json_t *value;

	if (!text)
		return NULL;
	text[0] = '\0';
	for (size_t i = 0; i < data->len; i++)
		snprintf(text + 2 * i, 3, "%02x", data->data[i]);
	value = json_string(text);
	free(text);
	return value;
}

/* `at`: one value.  NULL: out of memory. */
static json_t *value_json(const ProtobufCFieldDescriptor *f, const void *at, int depth)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32: return json_integer(*(const int32_t *)at);
	case PROTOBUF_C_TYPE_UINT32: return json_integer(*(const uint32_t *)at);
	case PROTOBUF_C_TYPE_INT64: return signed_text(*(const int64_t *)at);
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64: return unsigned_text(*(const uint64_t *)at);
	case PROTOBUF_C_TYPE_BOOL: return json_boolean(*(const protobuf_c_boolean *)at);
	case PROTOBUF_C_TYPE_DOUBLE: return json_real(*(const double *)at);
	case PROTOBUF_C_TYPE_STRING: return json_string(*(const char *const *)at);
	case PROTOBUF_C_TYPE_BYTES: return id_json(at);
	case PROTOBUF_C_TYPE_MESSAGE: return message_json(*(const ProtobufCMessage *const *)at, depth + 1);
	default: return NULL;
	}
}

static size_t value_size(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_UINT32: return sizeof(int32_t);
	case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
	default: return sizeof(int64_t);
	}
}

/* Is a single value another one than that of a field that is left out? */
static bool is_set(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, const char *at)
{
	static const char zero[sizeof(ProtobufCBinaryData)];

	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const uint32_t *)(const void *)((const char *)m + f->quantifier_offset) == f->id;
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING: return *(const char *const *)(const void *)at && **(const char *const *)(const void *)at;
	case PROTOBUF_C_TYPE_MESSAGE: return *(const void *const *)(const void *)at != NULL;
	case PROTOBUF_C_TYPE_BYTES: return ((const ProtobufCBinaryData *)(const void *)at)->len > 0;
	default: return memcmp(at, zero, value_size(f)) != 0;
	}
}

/* A list, or one value. */
static json_t *field_json(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, int depth)
{
	const char *at = (const char *)m + f->offset;
	json_t *list;
	size_t count;

	if (f->label != PROTOBUF_C_LABEL_REPEATED)
		return value_json(f, at, depth);
	memcpy(&count, (const char *)m + f->quantifier_offset, sizeof(count));
	memcpy(&at, at, sizeof(at));
	list = json_array();
	for (size_t i = 0; list && i < count; i++) {
		if (!json_array_append_new(list, value_json(f, at + i * value_size(f), depth)))
			continue;
		json_decref(list);
		return NULL;
	}
	return list;
}

static bool has_field(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	size_t count;

	if (f->label != PROTOBUF_C_LABEL_REPEATED)
		return is_set(m, f, (const char *)m + f->offset);
	memcpy(&count, (const char *)m + f->quantifier_offset, sizeof(count));
	return count > 0;
}

static json_t *message_json(const ProtobufCMessage *m, int depth)
{
	json_t *object = depth < DEPTH_MAX ? json_object() : NULL;

	for (unsigned int i = 0; object && i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		char name[NAME_MAX_LENGTH];

		if (!has_field(m, f))
			continue;
		camel_case(f->name, name);
		if (json_object_set_new(object, name, field_json(m, f, depth))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

/* -- the file ------------------------------------------------------------------------------------------- */

static ProtobufCMessage *unpack(struct json *j, const ProtobufCMessageDescriptor *type, const struct otlp_list *l, uint32_t i)
{
	ProtobufCMessage *m = protobuf_c_message_unpack(type, NULL, l->items[i].length, otlp_list__item(l, i));

	if (!m && !j->err)
		j->err = -ENOMEM;
	return m;
}

static void put_message(struct json *j, const char *key, const ProtobufCMessageDescriptor *type, const struct otlp_list *l,
			uint32_t i)
{
	ProtobufCMessage *m = unpack(j, type, l, i);

	if (!m)
		return;
	json__add(j, key, message_json(m, 0));
	protobuf_c_message_free_unpacked(m, NULL);
}

static void put_list(struct json *j, const char *key, const ProtobufCMessageDescriptor *type, const struct otlp_list *l)
{
	json__open(j, key, '[');
	for (uint32_t i = 0; i < l->count && !j->err; i++) {
		if (type)
			put_message(j, NULL, type, l, i);
		else
			json__add(j, NULL, json_stringn((const char *)otlp_list__item(l, i), l->items[i].length));
	}
	json__close(j, ']');
}

static void put_profile(struct json *j, const struct otlp_profile *p)
{
	ProtobufCMessage *head = unpack(j, &otlp__profile__descriptor, &p->head, 0);

	if (!head)
		return;
	json__open(j, NULL, '{');
	for (unsigned int i = 0; i < head->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &head->descriptor->fields[i];
		char name[NAME_MAX_LENGTH];

		camel_case(f->name, name);
		if (!strcmp(name, "samples"))
			put_list(j, name, &otlp__sample__descriptor, &p->samples);
		else if (has_field(head, f))
			json__add(j, name, field_json(head, f, 0));
	}
	json__close(j, '}');
	protobuf_c_message_free_unpacked(head, NULL);
}

static void put_scopes(struct otlp *x, struct json *j, uint32_t first, const struct otlp_list *scopes)
{
	json__open(j, "scopeProfiles", '[');
	for (uint32_t i = first; i;) {
		uint32_t report = x->profiles[i - 1].report;

		json__open(j, NULL, '{');
		put_message(j, "scope", &otlp__instrumentation_scope__descriptor, &scopes[report], 0);
		json__open(j, "profiles", '[');
		for (; i && x->profiles[i - 1].report == report; i = x->profiles[i - 1].next)
			put_profile(j, &x->profiles[i - 1]);
		json__close(j, ']');
		json__close(j, '}');
	}
	json__close(j, ']');
}

static void put_resource(struct otlp *x, struct json *j, const struct otlp_resource *r, const struct otlp_list *scopes)
{
	struct otlp_list packed = { 0 };

	if (otlp__pack_resource(r, &packed)) {
		j->err = j->err ? j->err : -ENOMEM;
		otlp_list__free(&packed);
		return;
	}
	json__open(j, NULL, '{');
	put_message(j, "resource", &otlp__resource__descriptor, &packed, 0);
	if (r->first_profile)
		put_scopes(x, j, r->first_profile, scopes);
	json__close(j, '}');
	otlp_list__free(&packed);
}

int otlp__write_json(struct otlp *x, const uint32_t *order, const struct otlp_list *scopes, FILE *to)
{
	static const struct {
		const char *key;
		const ProtobufCMessageDescriptor *type;		/* NULL: texts */
	} tables[OTLP_TABLES] = {
		[OTLP_MAPPINGS] = { "mappingTable", &otlp__mapping__descriptor },
		[OTLP_LOCATIONS] = { "locationTable", &otlp__location__descriptor },
		[OTLP_FUNCTIONS] = { "functionTable", &otlp__function__descriptor },
		[OTLP_LINKS] = { "linkTable", &otlp__link__descriptor },
		[OTLP_STRINGS] = { "stringTable", NULL },
		[OTLP_ATTRIBUTES] = { "attributeTable", &otlp__key_value_and_unit__descriptor },
		[OTLP_STACKS] = { "stackTable", &otlp__stack__descriptor },
	};
	struct json j = { .to = to };

	json__open(&j, NULL, '{');
	json__open(&j, "resourceProfiles", '[');
	for (uint32_t i = 0; i < x->resource_count; i++)
		put_resource(x, &j, &x->resources[order[i]], scopes);
	json__close(&j, ']');
	json__open(&j, "dictionary", '{');
	for (int i = 0; i < OTLP_TABLES; i++)
		put_list(&j, tables[i].key, tables[i].type, &x->tables[i]);
	json__close(&j, '}');
	json__close(&j, '}');
	return j.err;
}
