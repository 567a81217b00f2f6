/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "ruby/symbol_read.h"

/* Ids below have one meaning: see forget() in symbols_update.c. */
#define IDS_ONCE_MAX (1u << 31)

/* Bytes that one takes beside its texts. */
#define LABEL_COST (int64_t)(sizeof(struct label_record) + 48)

void labels__free(struct labels *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		free(l->list[i].key);
		free(l->list[i].value);
	}
	budget__add(l->share, -(int64_t)(l->bytes + l->count * LABEL_COST));
	free(l->list);
	map64__free(&l->map);
	l->list = NULL;
	l->count = 0;
	l->room = 0;
	l->bytes = 0;
}

static char *copy(const char *bytes, size_t length)
{
	char *to = malloc(length + 1);

	if (to && length)
		memcpy(to, bytes, length);
	return to;
}

static int cut(uint32_t length, uint32_t max)
{
	return length < max ? (int)length : (int)max;
}

int labels__keep(struct labels *l, const struct symbol *value)
{
	struct label_record r = { .expired = value->state == SYMBOL_EXPIRED };

	if (l->count >= LABELS_KEPT_MAX || l->bytes >= LABELS_BYTES_MAX ||
	    !budget__has(l->share, LABEL_COST + RB_DEBUG_EXT_LABEL_KEY_MAX + RB_DEBUG_EXT_LABEL_VALUE_MAX))
		labels__free(l);
	if (!r.expired) {
		if (value->part.kind != RB_DEBUG_EXT_LABEL || !value->part.name)
			return -EINVAL;
		r.ref1 = value->part.ref1;
		r.key_length = (uint16_t)cut(value->part.name_length, RB_DEBUG_EXT_LABEL_KEY_MAX);
		r.key = copy(value->part.name, r.key_length);
		if (value->path) {
			r.value_length = (uint16_t)cut(value->path_length, RB_DEBUG_EXT_LABEL_VALUE_MAX);
			r.value = copy(value->path, r.value_length);
		}
		if (!r.key || (value->path && !r.value))
			goto no_memory;
	}
	if (array__reserve(&l->list, l->count, 1, &l->room, LABELS_KEPT_MAX, sizeof(*l->list)) ||
	    map64__add(&l->map, value->id, l->count))
		goto no_memory;
	l->list[l->count++] = r;
	l->bytes += r.key_length + r.value_length;
	budget__add(l->share, r.key_length + r.value_length + LABEL_COST);
	return 0;
no_memory:
	free(r.key);
	free(r.value);
	return -ENOMEM;
}

static enum label_state get(struct symbols *s, uint32_t id, const struct label_record **record)
{
	struct labels *l = &s->labels;
	struct symbol value;
	uint32_t number;
	int err;

	/* Ids begin again: what was kept may mean something else. */
	if (s->layout->section.records_end >= IDS_ONCE_MAX)
		labels__free(l);
	number = map64__get(&l->map, id);
	if (number == MAP64_NONE && !s->exited) {
		err = symbol_read__record(s, id, &value);
		if (!err) {
			err = labels__keep(l, &value);
			symbol__clear(s->table, &value);
		}
		if (!err)
			number = map64__get(&l->map, id);
	}
	if (number == MAP64_NONE)
		return s->parent && id < s->inherited_end ? get(s->parent, id, record) : LABEL_UNREAD;
	*record = &l->list[number];
	return (*record)->expired ? LABEL_EXPIRED : LABEL_SET;
}

enum label_state labels__find(struct symbols *s, uint32_t set, const char *key, const struct label_record **value)
{
	size_t length = strlen(key);

	s->labels.wanted = true;
	/* The bound is for a target that makes a ring of them. */
	for (uint32_t i = 0; set && i < RB_DEBUG_EXT_LABELS_MAX; i++) {
		enum label_state state = get(s, set, value);

		if (state != LABEL_SET)
			return state;
		if ((*value)->key_length == length && !memcmp((*value)->key, key, length))
			return (*value)->value ? LABEL_SET : LABEL_NOT_SET;
		set = (*value)->ref1;
	}
	return set ? LABEL_UNREAD : LABEL_NOT_SET;
}

enum label_state labels__at(struct symbols *s, uint32_t set, uint32_t number, const struct label_record **record)
{
	for (uint32_t i = 0; set && i < RB_DEBUG_EXT_LABELS_MAX; i++) {
		enum label_state state = get(s, set, record);

		if (state != LABEL_SET || i == number)
			return state;
		set = (*record)->ref1;
	}
	return LABEL_NOT_SET;
}

enum label_state labels__next(struct symbols *s, uint32_t *set, const struct label_record **record)
{
	enum label_state state;

	s->labels.wanted = true;
	if (!*set)
		return LABEL_NOT_SET;
	state = get(s, *set, record);
	*set = state == LABEL_SET ? (*record)->ref1 : 0;
	return state;
}
