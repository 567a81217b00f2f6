/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks, each of which is written once, and samples, which are written a block at a time. */
#include <errno.h>
#include <string.h>

#include "recording/writer_parts.h"

/* The stacks that the writer knows by heart.  When there are more, it begins anew, and some are written twice. */
#define STACKS_KNOWN_MAX (256u << 10)
/* Approximate bytes of a sample in a block. */
#define SAMPLE_BYTES 4

/* The id of the stack that has one frame more. */
static uint32_t child_of(struct recording_writer *w, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint32_t id = map64__get(&w->stacks, key);

	if (id != MAP64_NONE)
		return id;
	id = w->stack_count + 1;
	if (recording_writer__put_stack(w, id, parent, frame))
		return 0;
	if (map64__add(&w->stacks, key, id)) {
		recording_writer__no_memory(w);
		return 0;
	}
	return w->stack_count = id;
}

uint32_t recording_writer__stack(struct recording_writer *w, const uint32_t *frames, uint32_t count)
{
	uint32_t id = 0;

	if (w->err)
		return 0;
	if (w->stacks.count >= STACKS_KNOWN_MAX)
		map64__clear(&w->stacks);
	for (uint32_t i = 0; i < count; i++) {
		id = child_of(w, id, frames[i]);
		if (!id)
			return 0;
	}
	return id;
}

int recording_writer__flush(struct recording_writer *w)
{
	long size = 0;

	if (w->err || (!w->in_transaction && !w->count))
		return w->err;
	if (recording_writer__ready(w))
		return w->err;
	if (w->count) {
		size = block__encode(&w->codec, w->samples, w->count, w->period);
		if (size < 0)
			return w->err = diag__set(&w->why, DIAG_INTERNAL, (int)-size,
						  "samples make no block: %s", strerror((int)-size));
		if (recording_writer__put_block(w, (int)size))
			return w->err;
		w->count = 0;
	}
	return recording_writer__commit(w);
}

bool recording_writer__is_full(const struct recording_writer *w, uint64_t time, uint32_t count)
{
	uint64_t first = w->first < time ? w->first : time, last = w->last > time ? w->last : time;

	return w->count && (w->count + count > BLOCK_SAMPLES_MAX || (!w->of_all_times && last - first >= 2 * WRITER_BLOCK_NS));
}

int recording_writer__take_all_times(struct recording_writer *w)
{
	int err = recording_writer__flush(w);

	w->of_all_times = true;
	return err;
}

int recording_writer__sample(struct recording_writer *w, const struct recording_sample *s)
{
	if (s->time > BLOCK_NUMBER_MAX || s->value > BLOCK_NUMBER_MAX || s->count > BLOCK_NUMBER_MAX)
		return -ERANGE;
	if ((recording_writer__is_full(w, s->time, 1) && recording_writer__flush(w)) || recording_writer__ready(w))
		return w->err;
	w->first = w->count && w->first < s->time ? w->first : s->time;
	w->last = w->count && w->last > s->time ? w->last : s->time;
	w->samples[w->count++] = *s;
	w->total++;
	return 0;
}

bool recording_writer__is_due(const struct recording_writer *w, uint64_t now)
{
	return w->in_transaction && now > w->began && now - w->began >= WRITER_BLOCK_NS;
}

uint64_t recording_writer__size(struct recording_writer *w)
{
	sqlite3_stmt *s = w->statements[COUNT_PAGES];
	uint64_t size = 0;

	if (w->err || !s)
		return 0;
	if (sqlite3_step(s) == SQLITE_ROW)
		size = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return size + (uint64_t)w->count * SAMPLE_BYTES;
}

uint64_t recording_writer__samples(const struct recording_writer *w)
{
	return w->total;
}
