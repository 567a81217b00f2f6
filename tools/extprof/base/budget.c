/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/budget.h"

#include <stddef.h>

static struct budget_user *user_of(struct budget *b, uint32_t user)
{
	for (uint32_t i = 0; i < b->user_count; i++)
		if (b->users[i].user == user)
			return &b->users[i];
	if (b->user_count == BUDGET_USERS_MAX)
		return &b->users[BUDGET_USERS_MAX - 1];
	b->users[b->user_count] = (struct budget_user){ .user = user };
	return &b->users[b->user_count++];
}

bool budget__has(const struct budget_share *s, uint64_t bytes)
{
	uint64_t left, of_user;

	if (!s || !s->of || !s->of->max)
		return true;
	if (s->of->used > s->of->max || bytes > s->of->max - s->of->used)
		return false;
	left = s->of->max - s->of->used - bytes;
	of_user = user_of(s->of, s->user)->used + bytes;
	/* What the user takes makes `left` smaller and of_user larger, so half of their difference is what it may still take. */
	return of_user <= left && s->used + bytes <= (left - of_user) / 2;
}

uint64_t budget__left(const struct budget_share *s)
{
	uint64_t left, of_user, for_user, for_one;

	if (!s || !s->of || !s->of->max)
		return UINT64_MAX;
	left = s->of->used < s->of->max ? s->of->max - s->of->used : 0;
	of_user = user_of(s->of, s->user)->used;
	if (of_user + 2 * s->used >= left)
		return 0;
	/* The largest number that the two conditions of budget__has() are true for. */
	for_user = (left - of_user) / 2;
	for_one = (left - of_user - 2 * s->used) / 4;
	return for_one < for_user ? for_one : for_user;
}

bool budget__take(struct budget_share *s, uint64_t bytes)
{
	if (!budget__has(s, bytes))
		return false;
	budget__add(s, (int64_t)bytes);
	return true;
}

void budget__add(struct budget_share *s, int64_t bytes)
{
	if (!s)
		return;
	s->used += (uint64_t)bytes;
	if (s->of) {
		s->of->used += (uint64_t)bytes;
		user_of(s->of, s->user)->used += (uint64_t)bytes;
	}
}
