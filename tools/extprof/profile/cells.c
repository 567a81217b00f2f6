/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/mode.h"

const char *cell_kind__name(unsigned int kind)
{
	return kind == CELL_GC ? "gc" : kind == CELL_IDLE ? "idle" : state_names[kind];
}

void cells__set_time(struct cells *c, uint64_t from, uint64_t until)
{
	c->from = from;
	c->until = until > from ? until : from + 1;
	c->width = (c->until - from + CELLS_COLUMNS - 1) / CELLS_COLUMNS;
	c->columns = (uint32_t)((c->until - from + c->width - 1) / c->width);
}

/* NULL: there is no room for another one. */
static struct cells_row *find_row(struct cells *c, uint32_t key)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->rows[i].key == key)
			return &c->rows[i];
	if (c->count == CELLS_ROWS_MAX)
		return NULL;
	c->rows[c->count].key = key;
	return &c->rows[c->count++];
}

void cells__keep(struct cells *c, uint32_t key)
{
	find_row(c, key);
}

/* How much of the amount is before a time. */
static uint64_t before(uint64_t time, uint64_t begin, uint64_t end, uint64_t amount)
{
	if (time <= begin)
		return 0;
	return time >= end ? amount : (uint64_t)((unsigned __int128)amount * (time - begin) / (end - begin));
}

static void spread(const struct cells *c, struct cells_row *row, unsigned int kind, uint64_t begin, uint64_t end, uint64_t amount)
{
	uint64_t done = before(c->from, begin, end, amount), all;

	row->outside[kind] += done;
	for (uint64_t i = begin > c->from ? (begin - c->from) / c->width : 0; i < c->columns && done < amount; i++) {
		all = before(i + 1 < c->columns ? c->from + (i + 1) * c->width : c->until, begin, end, amount);
		row->amounts[kind][i] += all - done;
		done = all;
	}
	row->outside[kind] += amount - done;
}

int cells__add(struct cells *c, uint32_t key, unsigned int kind, uint64_t begin, uint64_t end, uint64_t amount)
{
	struct cells_row *row = find_row(c, key);
	uint64_t column;

	row = row ? row : &c->rows[CELLS_ROWS_MAX - 1];
	if (!row->amounts[kind]) {
		row->amounts[kind] = calloc(CELLS_COLUMNS, sizeof(*row->amounts[kind]));
		if (!row->amounts[kind])
			return -ENOMEM;
	}
	row->sums[kind] += amount;
	if (end > begin) {
		spread(c, row, kind, begin, end, amount);
		return 0;
	}
	column = (begin - c->from) / c->width;
	if (begin < c->from || begin > c->until)
		row->outside[kind] += amount;
	else
		row->amounts[kind][column < c->columns ? column : c->columns - 1] += amount;
	return 0;
}

void cells__free(struct cells *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		for (unsigned int kind = 0; kind < CELL_KINDS; kind++)
			free(c->rows[i].amounts[kind]);
	memset(c, 0, sizeof(*c));
}
