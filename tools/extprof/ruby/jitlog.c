/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/jitlog.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deadline.h"
#include "base/sorted.h"

#define BATCH 1024u

void jitlog__free(struct jitlog *j)
{
	if (!j)
		return;
	budget__add(j->share, -(int64_t)(j->room * sizeof(*j->entries)));
	free(j->entries);
	memset(j, 0, sizeof(*j));
}

void jitlog__init(struct jitlog *j, const struct layout *layout, struct budget_share *share)
{
	memset(j, 0, sizeof(*j));
	j->share = share;
	j->generation = layout->section.jit_log_generation;
	/* All samples are younger than the layout, so no generation was missed. */
	j->checked = 1;
	j->left = JITLOG_TICK_BYTES;
}

void jitlog__renew(struct jitlog *j)
{
	/* Work beyond the budget of the last tick is taken from this one. */
	j->left += JITLOG_TICK_BYTES;
	if (j->left > JITLOG_TICK_BYTES)
		j->left = JITLOG_TICK_BYTES;
}

/* One pass of a merge sort: runs of `width` become runs of twice that.  It is stable:
 * entries with the same offset keep their order. */
static void merge_runs(const struct rb_debug_ext_jit_entry *from, struct rb_debug_ext_jit_entry *to,
		       size_t n, size_t width)
{
	for (size_t low = 0; low < n; low += 2 * width) {
		size_t middle = low + width < n ? low + width : n;
		size_t high = middle + width < n ? middle + width : n;
		size_t a = low, b = middle;

		for (size_t i = low; i < high; i++)
			to[i] = a < middle && (b == high || from[a].offset <= from[b].offset) ?
				from[a++] : from[b++];
	}
}

/*
 * Sort the new entries into the sorted ones.  Most code is made at rising addresses:
 * then few entries are moved, however long the log is.
 */
static void sort_new(struct jitlog *j)
{
	struct rb_debug_ext_jit_entry *entries = j->entries, *from, *to, *buffer;
	size_t n = j->count - j->sorted, a = j->sorted, b = n, at = j->count;

	if (!n)
		return;
	buffer = malloc(2 * n * sizeof(*buffer));
	if (!buffer)
		return;
	from = buffer;
	to = buffer + n;
	memcpy(from, entries + j->sorted, n * sizeof(*from));
	for (size_t width = 1; width < n; width *= 2) {
		struct rb_debug_ext_jit_entry *other = from;

		merge_runs(from, to, n, width);
		from = to;
		to = other;
	}
	/* From the end, so that no entry is overwritten before it is moved. */
	while (b)
		entries[--at] = a && entries[a - 1].offset > from[b - 1].offset ?
				entries[--a] : from[--b];
	j->sorted = j->count;
	/* A moved byte costs a quarter of a byte that is read. */
	j->left -= (int64_t)((j->count - at) * sizeof(*entries) / 4);
	free(buffer);
}

/* The array doubles when it grows. */
static bool make_room(struct jitlog *j, uint32_t n)
{
	size_t before = j->room;

	if (j->count + n > j->room &&
	    !budget__has(j->share, (j->room > n ? j->room : n) * sizeof(*j->entries)))
		return false;
	if (array__reserve(&j->entries, j->count, n, &j->room, JITLOG_ENTRIES_MAX, sizeof(*j->entries)))
		return false;
	budget__add(j->share, (int64_t)((j->room - before) * sizeof(*j->entries)));
	return true;
}

/* Read the entries that were appended, as far as the budget goes. */
static void read_new(struct jitlog *j, const struct layout *l, const struct memory *m)
{
	uint32_t stride = l->section.jit_entry_size, size = stride < sizeof(*j->entries) ? stride : sizeof(*j->entries);
	uint8_t *raw = j->left > 0 ? malloc((size_t)BATCH * stride) : NULL;

	if (!raw)
		return;
	while (j->read < l->section.jit_log_len && j->left > 0) {
		uint32_t n = l->section.jit_log_len - j->read;

		if (n > BATCH)
			n = BATCH;
		j->left -= (int64_t)n * stride + JITLOG_READ_BYTES;
		if (!make_room(j, n) ||
		    memory__read(m, l->section.jit_log + (uint64_t)j->read * stride, raw,
				 (size_t)n * stride))
			break;
		for (uint32_t i = 0; i < n; i++)
			memcpy(&j->entries[j->count++], raw + (size_t)i * stride, size);
		j->read += n;
	}
	free(raw);
	sort_new(j);
}

static bool search(const struct jitlog *j, uint32_t offset, struct rb_debug_ext_jit_entry *entry)
{
	size_t until = SORTED__UNTIL(j->entries, j->sorted, offset, offset);

	if (!until || offset - j->entries[until - 1].offset >= j->entries[until - 1].size)
		return false;
	*entry = j->entries[until - 1];
	return true;
}

/* Read the generation.  Entries of another generation are dropped. */
static bool look(struct jitlog *j, struct layout *l, const struct memory *m)
{
	uint64_t before = deadline__now();

	if (layout__refresh(l, m))
		return false;
	if (l->section.jit_log_generation != j->generation) {
		/* The time after the read: the generation may have changed during it. */
		j->valid_since = deadline__now();
		j->generation = l->section.jit_log_generation;
		j->count = j->sorted = j->read = 0;
		/* The length that was read may be that of the old log. */
		if (layout__refresh(l, m) || l->section.jit_log_generation != j->generation) {
			l->section.jit_log_len = 0;
			return false;
		}
	}
	j->checked = before;
	return true;
}

bool jitlog__find(struct jitlog *j, struct layout *l, const struct memory *m,
		  uint64_t ip, uint64_t time, struct rb_debug_ext_jit_entry *entry)
{
	const struct rb_debug_ext_section *s = &l->section;
	uint32_t offset;

	/* While jit_start is 0 the log is not published: look again below. */
	if (s->jit_start && (ip < s->jit_start || ip >= s->jit_end))
		return false;
	/* A look after `time` that finds the generation unchanged shows that the entries
	 * were valid at `time`. */
	if ((time > j->checked || !s->jit_log) && !look(j, l, m))
		return false;
	if (time < j->valid_since || !s->jit_log || ip < s->jit_start || ip >= s->jit_end ||
	    ip - s->jit_start > UINT32_MAX)
		return false;
	offset = (uint32_t)(ip - s->jit_start);
	if (search(j, offset, entry))
		return true;
	if (j->read >= s->jit_log_len && j->sorted == j->count)
		return false;
	read_new(j, l, m);
	/* The log may have begun anew while we read it. */
	return look(j, l, m) && time >= j->valid_since && search(j, offset, entry);
}
