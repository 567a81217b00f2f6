/* SPDX-License-Identifier: BSD-2-Clause */
/* All labels of a sample, for sinks that keep them: a recording can be grouped by a label that nobody asked for. */
#include <errno.h>
#include <string.h>

#include "profile/group_names.h"
#include "profile/label_marks.h"
#include "profile/resolve_parts.h"

_Static_assert(RESOLVE_KEYS_MAX <= 64, "a mask has a bit for each key");

/* level: of its record; 0: there is none, or it is told later. */
static void add(struct resolver *c, uint32_t frame, uint8_t level)
{
	if (!frame || c->label_count == SINK_LABELS_MAX)
		return;
	c->label_levels[c->label_count] = level;
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
			add(c, c->stack[first + i], 0);
	}
}

/* Which of the groups has the label; -1: none. */
static int group_of(const struct resolver *c, const struct sample_event *e, const struct label_record *r)
{
	for (int i = 0; i < c->groups.label_count; i++)
		if (!is_trace(e, c->groups.labels[i]) && strlen(c->groups.labels[i]) == r->key_length && !memcmp(c->groups.labels[i], r->key, r->key_length))
			return i;
	return -1;
}

/* The record of a label that a group has: the innermost one of its key counts, and is seen first. */
static void set_level(struct resolver *c, uint32_t frame, uint8_t from_inside)
{
	for (uint32_t i = 0; i < c->label_count; i++)
		if (c->labels[i] == frame && !c->label_levels[i])
			c->label_levels[i] = from_inside;
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

/*
 * Innermost first.  Which frame says that others are missing; 0: none are.  Levels are counted from the inside, from 1,
 * until *records tells how many there are; 0: that is not known.
 */
static uint32_t add_others(struct resolver *c, struct vm *vm, const struct sample_event *e, uint8_t *records)
{
	uint32_t missing = 0, set = (uint32_t)e->label, first = c->group_frames - c->groups.label_count;
	uint64_t seen = 0;

	*records = 0;
	for (uint8_t i = 0; set && i < RB_DEBUG_EXT_LABELS_MAX; i++) {
		const struct label_record *r = NULL;
		enum label_state state = labels__next(&vm->symbols, &set, &r);
		struct label_key *k;
		uint64_t bit;
		int group;

		if (state != LABEL_SET) {
			*records = 0;
			return group_names__add_label(c->frames, "", state, NULL, false);
		}
		group = group_of(c, e, r);
		*records = i + 1;
		if (group >= 0) {
			set_level(c, c->stack[first + (uint32_t)group], i + 1);
			continue;
		}
		k = key_of(c, r);
		if (!k) {
			missing = c->crowded_keys;
			continue;
		}
		bit = 1ull << (k - c->keys);
		/* The innermost record of a key counts, also one that takes its value away. */
		if (!(seen & bit) && r->value)
			add(c, value_frame(c, k, r), i + 1);
		seen |= bit;
	}
	if (set)
		*records = 0;
	return set ? group_names__add_label(c->frames, "", LABEL_UNREAD, NULL, false) : missing;
}

/*
 * Outermost first, those of groups too: sets that begin in the same way share it, and at place n are records of level n or
 * more, counted from 1.  Those without a record are first.
 */
static void order(struct resolver *c)
{
	for (uint32_t i = 1; i < c->label_count; i++) {
		uint32_t frame = c->labels[i], j = i;
		uint8_t level = c->label_levels[i];

		/* Levels are counted from the inside. */
		for (; j > 0 && c->label_levels[j - 1] && (!level || c->label_levels[j - 1] < level); j--) {
			c->labels[j] = c->labels[j - 1];
			c->label_levels[j] = c->label_levels[j - 1];
		}
		c->labels[j] = frame;
		c->label_levels[j] = level;
	}
}

/* One mark for two labels or more is the one of the outermost record, which changes least. */
static void find_marks(struct resolver *c, const struct sample_event *e, uint8_t records)
{
	uint8_t levels[RB_DEBUG_EXT_LABEL_MARKS] = { 0 };

	c->label_marks = 0;
	for (uint32_t i = 0; i < c->label_count && records; i++) {
		uint32_t place = label_marks__place(i);
		uint8_t level = c->label_levels[i] ? records + 1 - c->label_levels[i] : 0;

		level = level < RB_DEBUG_EXT_LABEL_MARKS ? level : RB_DEBUG_EXT_LABEL_MARKS;
		if (level && (!levels[place] || level < levels[place]))
			levels[place] = level;
	}
	for (uint32_t i = 0; i < RB_DEBUG_EXT_LABEL_MARKS; i++)
		if (levels[i])
			c->label_marks |= (uint64_t)e->label_marks[levels[i] - 1] << LABEL_MARK_BITS * i;
}

int resolve__add_labels(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	uint32_t missing;
	uint8_t records;

	c->label_count = 0;
	c->label_marks = 0;
	if (!c->all_labels)
		return 0;
	/* Before the table is full. */
	if (!c->crowded_keys)
		c->crowded_keys = group_names__add_crowded(c->frames, FRAME_LABEL, "");
	if (!c->crowded_keys)
		return -ENOMEM;
	add_grouped(c, e);
	missing = add_others(c, vm, e, &records);
	order(c);
	find_marks(c, e, records);
	add(c, missing, 0);
	return 0;
}
