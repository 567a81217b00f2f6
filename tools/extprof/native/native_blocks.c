/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/native_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* No walk lasts so long. */
#define LATE 1000000000ull

void native_blocks__free(struct native_blocks *b)
{
	for (uint32_t i = 0; i < NATIVE_BLOCK_SIZES; i++)
		free(b->free[i].list);
	free(b->late);
	free(b->users);
	free(b->owners);
	memset(b, 0, sizeof(*b));
}

/* A process has one block, or two for a moment: it is the share of its user that bounds it. */
static void count(struct native_blocks *b, uint32_t user, int64_t mappings)
{
	struct budget_share share = { .of = &b->budget, .user = user };

	budget__add(&share, mappings);
}

/* Free the blocks that were given back long ago. */
static void ripen(struct native_blocks *b, uint64_t now)
{
	while (b->late_begin < b->late_count && now - b->late[b->late_begin].at > LATE) {
		const struct native_late_block *l = &b->late[b->late_begin++];
		struct native_block_list *f = &b->free[l->class];

		count(b, b->owners[l->first], -(1ll << l->class));
		/* Without memory for that it is lost. */
		if (!array__reserve(&f->list, f->count, 1, &f->room, UNWIND_ALL_MAPPINGS_MAX, sizeof(*f->list)))
			f->list[f->count++] = l->first;
	}
	if (b->late_begin > b->late_count / 2) {
		b->late_count -= b->late_begin;
		memmove(b->late, b->late + b->late_begin, b->late_count * sizeof(*b->late));
		b->late_begin = 0;
	}
}

bool native_blocks__take(struct native_blocks *b, uint32_t mappings, uint32_t user, uint64_t now, struct native_block *block)
{
	const struct budget_share share = { .of = &b->budget, .user = user };
	struct native_block_list *f;
	uint32_t class = 0;

	if (!b->users)
		b->users = calloc(UNWIND_ALL_MAPPINGS_MAX, sizeof(*b->users));
	if (!b->owners)
		b->owners = calloc(UNWIND_ALL_MAPPINGS_MAX, sizeof(*b->owners));
	while (class < NATIVE_BLOCK_SIZES && 1u << class < mappings)
		class++;
	if (!b->users || !b->owners || class == NATIVE_BLOCK_SIZES)
		return false;
	ripen(b, now);
	if (!budget__has(&share, 1u << class))
		return false;
	f = &b->free[class];
	*block = (struct native_block){ .class = class, .first = b->given, .is = true };
	if (f->count)
		block->first = f->list[--f->count];
	else if (b->given + (1u << class) > UNWIND_ALL_MAPPINGS_MAX)
		return false;
	else
		b->given += 1u << class;
	b->users[block->first] = 1;
	b->owners[block->first] = user;
	count(b, user, 1ll << class);
	return true;
}

void native_blocks__share(struct native_blocks *b, const struct native_block *block)
{
	if (block->is)
		b->users[block->first]++;
}

void native_blocks__give_back(struct native_blocks *b, struct native_block *block, uint64_t now)
{
	struct native_block old = *block;

	*block = (struct native_block){ 0 };
	if (!old.is || --b->users[old.first])
		return;
	/* Without memory for that it stays taken. */
	if (array__reserve(&b->late, b->late_count, 1, &b->late_room, UINT32_MAX, sizeof(*b->late)))
		return;
	b->late[b->late_count++] = (struct native_late_block){ old.class, old.first, now };
}
