/* SPDX-License-Identifier: BSD-2-Clause */
/* How long something was recorded of a time: recordings of several machines or programs can have the same minute. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "recording/profile_parts.h"
#include "recording/schema.h"

/* A recording that is paused has several: 40 MB of them. */
#define PIECES_MAX (1u << 20)

int recording_pieces__find_end(struct input *in, struct diag *d)
{
	uint64_t begin, end;
	int err = recording_account__times(in->reader, &begin, &end, d);

	if (err)
		return err;
	in->end = in->begin + (end - begin);
	in->outside = in->end <= in->since || in->begin >= in->until;
	return 0;
}

/* While the pauses of a recording are read. */
struct reading {
	struct recording_profile *p;
	const struct input *in;
	uint64_t from, until;	/* CLOCK_MONOTONIC, ns */
	bool past;
};

static int add(const struct reading *r, uint64_t from, uint64_t until)
{
	struct recording_profile *p = r->p;
	struct piece piece = { .past = r->past };

	if (until <= from || __builtin_add_overflow(r->in->wall, from - r->in->begin, &piece.from) ||
	    __builtin_add_overflow(r->in->wall, until - r->in->begin, &piece.until))
		return 0;
	for (uint32_t i = 0; i < p->mode_count; i++)
		piece.modes |= r->in->ids[i] ? 1u << i : 0;
	if (array__reserve(&p->pieces, p->piece_count, 1, &p->piece_room, PIECES_MAX, sizeof(*p->pieces)))
		return -ENOMEM;
	p->pieces[p->piece_count++] = piece;
	return 0;
}

/* Add the time before a pause.  The next piece begins when the pause ends. */
static int take_pause(void *context, sqlite3_stmt *s)
{
	struct reading *r = context;
	uint64_t begin = row__amount(s, 0), end = begin + row__amount(s, 1);
	int err = add(r, r->from, begin < r->until ? begin : r->until);

	r->from = end > r->from ? end : r->from;
	return err;
}

static int add_time(struct recording_profile *p, const struct input *in, uint64_t from, uint64_t until, bool past, struct diag *d)
{
	struct reading r = { .p = p, .in = in, .from = from > in->begin ? from : in->begin, .until = until, .past = past };
	int err = recording_profile__rows_of(in, 0, until, "SELECT time_ns, number FROM events WHERE kind=(SELECT id FROM strings WHERE "
					     "text='" RECORDING_PAUSED "') AND time_ns BETWEEN ? AND ? ORDER BY time_ns", take_pause, &r, d);

	if (!err)
		err = add(&r, r.from, r.until);
	return err == -ENOMEM ? recording_profile__no_memory(d) : err;
}

int recording_pieces__add(struct recording_profile *p, const struct input *in, struct diag *d)
{
	/* One that is being written has more by now. */
	uint64_t end = in->last > in->end ? in->last : in->end;
	int err = add_time(p, in, in->past, in->since < end ? in->since : end, true, d);

	return err ? err : add_time(p, in, in->since, in->until < end ? in->until : end, false, d);
}

static int by_begin(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

uint64_t recording_pieces__sum(const struct recording_profile *p, uint32_t of, bool past)
{
	struct piece *list = calloc(p->piece_count + 1u, sizeof(*list));
	uint64_t sum = 0, until = 0;
	uint32_t count = 0;

	if (!list)
		return UINT64_MAX;
	for (uint32_t i = 0; i < p->piece_count; i++)
		if (p->pieces[i].past == past && p->pieces[i].modes & of)
			list[count++] = p->pieces[i];
	qsort(list, count, sizeof(*list), by_begin);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = list[i].from > until ? list[i].from : until;

		if (list[i].until <= from)
			continue;
		sum += list[i].until - from;
		until = list[i].until;
	}
	free(list);
	return sum;
}
