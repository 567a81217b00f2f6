/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/remains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"

struct remains_piece {
	uint64_t address;
	uint32_t length;
	uint8_t *bytes;
};

static int by_address(const void *a, const void *b)
{
	const struct remains_piece *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

void remains__add(struct remains *r, uint64_t *sum, uint64_t address, const void *bytes, uint32_t length)
{
	struct remains_piece *piece;

	if (!length || address + length < address || r->bytes + length > REMAINS_BYTES_MAX ||
	    *sum + length > REMAINS_ALL_BYTES_MAX ||
	    array__reserve(&r->list, r->count, 1, &r->room, REMAINS_PIECES_MAX, sizeof(*r->list)))
		return;
	piece = &r->list[r->count];
	piece->bytes = malloc(length);
	if (!piece->bytes)
		return;
	memcpy(piece->bytes, bytes, length);
	piece->address = address;
	piece->length = length;
	r->count++;
	r->bytes += length;
	r->sum = sum;
	*sum += length;
	r->sorted = r->count == 1 || (r->sorted && by_address(piece - 1, piece) <= 0);
}

/* The number of pieces that begin at or before the address. */
static size_t pieces_until(const struct remains *r, uint64_t address)
{
	return SORTED__UNTIL(r->list, r->count, address, address);
}

/* Several pieces can begin close together, and the first one be the longest. */
#define PIECES_BACK 8u

static const struct remains_piece *piece_at(const struct remains *r, uint64_t address)
{
	size_t n = pieces_until(r, address);

	for (size_t i = n; i && n - i < PIECES_BACK; i--)
		if (address - r->list[i - 1].address < r->list[i - 1].length)
			return &r->list[i - 1];
	return NULL;
}

int remains__read(const struct remains *r, uint64_t address, void *to, size_t length)
{
	uint8_t *out = to;

	if (!r->count)
		return -ESRCH;
	if (!r->sorted) {
		struct remains *changed = (struct remains *)(uintptr_t)r;

		qsort(changed->list, changed->count, sizeof(*changed->list), by_address);
		changed->sorted = true;
	}
	while (length) {
		const struct remains_piece *piece = piece_at(r, address);
		uint64_t offset, n;

		if (!piece)
			return -ESRCH;
		offset = address - piece->address;
		n = piece->length - offset < length ? piece->length - offset : length;
		memcpy(out, piece->bytes + offset, n);
		out += n;
		address += n;
		length -= n;
	}
	return 0;
}

void remains__free(struct remains *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->list[i].bytes);
	free(r->list);
	if (r->sum)
		*r->sum -= r->bytes;
	memset(r, 0, sizeof(*r));
}
