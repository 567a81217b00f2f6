/* SPDX-License-Identifier: BSD-2-Clause */
/* All labels of a sample, for sinks that keep them: a recording can be grouped by a label that nobody asked for. */
#include <errno.h>
#include <string.h>

#include "profile/group_names.h"
#include "profile/resolve_parts.h"

_Static_assert(RESOLVE_KEYS_MAX <= 64, "a mask has a bit for each key");

static void add(struct resolver *c, uint32_t frame)
{
	if (frame && c->label_count < SINK_LABELS_MAX)
		c->labels[c->label_count++] = frame;
}

/* Is the frame of a group of that key the trace of the sample, or its span?  That is no label: samples have it by
 * themselves, beside a label of the same key. */
static bool is_trace(const struct sample_event *e, const char *key)
{
	return e->trace_state == TRACE_SET && trace__part_of_label(key) >= 0;
}

/* Add the labels that the groups have already: their frames are the last ones of the groups. */
static void add_grouped(struct resolver *c, const struct sample_event *e)
{
	uint32_t first = c->group_frames - c->groups.label_count;

	for (uint32_t i = 0; i < c->groups.label_count; i++) {
		if (is_trace(e, c->groups.labels[i]))
			continue;
		if (frame_table__get(c->frames, c->stack[first + i])->known != KNOWN_NOT_SET)
			add(c, c->stack[first + i]);
	}
}

static bool is_grouped(const struct resolver *c, const struct sample_event *e, const struct label_record *r)
{
	for (int i = 0; i < c->groups.label_count; i++)
		if (!is_trace(e, c->groups.labels[i]) && strlen(c->groups.labels[i]) == r->key_length && !memcmp(c->groups.labels[i], r->key, r->key_length))
			return true;
	return false;
}

/* NULL: there are too many. */
static struct label_key *key_of(struct resolver *c, const struct label_record *r)
{
	struct label_key *k;

	for (uint32_t i = 0; i < c->key_count; i++)
		if (c->keys[i].length == r->key_length && !memcmp(c->keys[i].key, r->key, r->key_length))
			return &c->keys[i];
	if (c->key_count == RESOLVE_KEYS_MAX)
		return NULL;
	k = &c->keys[c->key_count];
	*k = (struct label_key){ .length = r->key_length };
	memcpy(k->key, r->key, r->key_length);
	k->crowded = group_names__add_crowded(c->frames, FRAME_LABEL, k->key);
	c->key_count += k->crowded != 0;
	return k->crowded ? k : NULL;
}

static uint32_t value_frame(struct resolver *c, struct label_key *k, const struct label_record *r)
{
	bool full = k->values >= RESOLVE_KEY_VALUES_MAX || c->key_values >= RESOLVE_KEYS_VALUES_MAX;
	uint32_t before = c->frames->no_code;
	uint32_t frame = group_names__add_label(c->frames, k->key, LABEL_SET, r, full);

	k->values += c->frames->no_code - before;
	c->key_values += c->frames->no_code - before;
	return frame ? frame : k->crowded;
}

/* Innermost first.  Which frame says that others are missing; 0: none are. */
static uint32_t add_others(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	uint32_t missing = 0, set = (uint32_t)e->label;
	uint64_t seen = 0;

	for (uint32_t i = 0; set && i < RB_DEBUG_EXT_LABELS_MAX; i++) {
		const struct label_record *r = NULL;
		enum label_state state = labels__next(&vm->symbols, &set, &r);
		struct label_key *k;
		uint64_t bit;

		if (state != LABEL_SET)
			return group_names__add_label(c->frames, "", state, NULL, false);
		if (is_grouped(c, e, r))
			continue;
		k = key_of(c, r);
		if (!k) {
			missing = c->crowded_keys;
			continue;
		}
		bit = 1ull << (k - c->keys);
		/* The innermost record of a key counts, also one that takes its value away. */
		if (!(seen & bit) && r->value)
			add(c, value_frame(c, k, r));
		seen |= bit;
	}
	return set ? group_names__add_label(c->frames, "", LABEL_UNREAD, NULL, false) : missing;
}

int resolve__add_labels(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	uint32_t first, missing;

	c->label_count = 0;
	if (!c->all_labels)
		return 0;
	/* Before the table is full. */
	if (!c->crowded_keys)
		c->crowded_keys = group_names__add_crowded(c->frames, FRAME_LABEL, "");
	if (!c->crowded_keys)
		return -ENOMEM;
	add_grouped(c, e);
	first = c->label_count;
	missing = add_others(c, vm, e);
	/* Outermost first: sets that begin in the same way share it. */
	for (uint32_t i = first, j = c->label_count; i + 1 < j; i++) {
		uint32_t frame = c->labels[--j];

		c->labels[j] = c->labels[i];
		c->labels[i] = frame;
	}
	add(c, missing);
	return 0;
}
