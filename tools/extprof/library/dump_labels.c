/* SPDX-License-Identifier: BSD-2-Clause */
#include "library/dump_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A copy of a record: the next one that is read may take its place. */
struct label_texts {
	struct text key, value;
	bool set;
};

static const char *clean(struct dump_parts *parts, const struct text *from, size_t max)
{
	struct text to = { 0 };

	text__add_clean(&to, text__string(from), from->length, max);
	return dump_parts__text(parts, &to);
}

static bool has_key(const struct label_texts *list, uint32_t count, const struct label_record *r)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i].key.length == r->key_length && !memcmp(text__string(&list[i].key), r->key, r->key_length))
			return true;
	return false;
}

/* The records of a set, the innermost one first, each key once.  Returns how many; *state: why it ended. */
static uint32_t read_set(struct symbols *symbols, uint32_t set, struct label_texts *list, enum label_state *state)
{
	const struct label_record *r;
	uint32_t count = 0;

	*state = LABEL_NOT_SET;
	for (uint32_t i = 0; i < RB_DEBUG_EXT_LABELS_MAX; i++) {
		*state = labels__at(symbols, set, i, &r);
		if (*state != LABEL_SET)
			break;
		if (has_key(list, count, r))
			continue;
		text__add(&list[count].key, r->key, r->key_length);
		if (r->value)
			text__add(&list[count].value, r->value, r->value_length);
		list[count++].set = r->value;
	}
	return count;
}

int dump_labels__build(struct dump_parts *parts, struct symbols *symbols, uint32_t set,
		       struct extprof_dump_fiber *fiber)
{
	struct label_texts *list;
	const struct extprof_label **labels;
	struct extprof_label *all;
	enum label_state state = LABEL_NOT_SET;
	uint32_t count;
	int err = 0;

	if (!set)
		return 0;
	list = calloc(RB_DEBUG_EXT_LABELS_MAX, sizeof(*list));
	labels = dump_parts__new(parts, RB_DEBUG_EXT_LABELS_MAX, sizeof(*labels));
	all = dump_parts__new(parts, RB_DEBUG_EXT_LABELS_MAX, sizeof(*all));
	count = list && labels && all ? read_set(symbols, set, list, &state) : 0;
	if (!list || !labels || !all)
		err = -ENOMEM;
	for (uint32_t i = count; i-- > 0 && !err;) {
		struct extprof_label *l = &all[fiber->label_count];

		if (list[i].key.failed || list[i].value.failed)
			err = -ENOMEM;
		if (err || !list[i].set)
			continue;
		l->key = clean(parts, &list[i].key, RB_DEBUG_EXT_LABEL_KEY_MAX);
		l->value = clean(parts, &list[i].value, RB_DEBUG_EXT_LABEL_VALUE_MAX);
		err = l->key && l->value ? 0 : -ENOMEM;
		labels[fiber->label_count++] = l;
	}
	if (!err && state != LABEL_NOT_SET && state != LABEL_SET)
		fiber->labels_lost = state == LABEL_EXPIRED ? "expired" : "not read";
	fiber->labels = labels;
	for (uint32_t i = 0; i < count; i++) {
		text__free(&list[i].key);
		text__free(&list[i].value);
	}
	free(list);
	return err;
}
