/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOP_BUCKETS 4096u

static const char others_name[] = "[many others]";

static void row__free(struct top_row *row)
{
	if (!row)
		return;
	free(row->account);
	free(row);
}

void top_table__free(struct top_table *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		row__free(t->rows[i]);
	free(t->rows);
	free(t->buckets);
	memset(t, 0, sizeof(*t));
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	/* FNV-1a, with the zero at the end. */
	do {
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	} while (*text++);
	return hash;
}

static uint64_t hash_of(const struct top_key *k)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ (uint32_t)k->line ^ (uint64_t)k->number << 32 ^
			(uint64_t)(k->kind * 2 + k->approximate) << 20;

	hash = hash_text(hash_text(hash_text(hash, k->is_line ? "" : k->name), k->path), k->thread);
	return hash ^ hash >> 29;
}

static bool is_of(const struct top_row *row, const struct top_key *k, uint64_t hash)
{
	return row->hash == hash && row->line == k->line && row->approximate == k->approximate &&
	       row->kind == k->kind && row->number == k->number &&
	       (k->is_line || !strcmp(row->name, k->name)) && !strcmp(row->path, k->path) && !strcmp(row->thread, k->thread);
}

static struct top_row *find_row(const struct top_table *t, const struct top_key *k, uint64_t hash)
{
	struct top_row *row = t->buckets ? t->buckets[hash % TOP_BUCKETS] : NULL;

	while (row && !is_of(row, k, hash))
		row = row->next;
	return row;
}

struct top_row *top_table__find(const struct top_table *t, const struct top_key *k)
{
	return find_row(t, k, hash_of(k));
}

static char *put_text(char **to, const char *text)
{
	char *at = *to;

	*to = stpcpy(at, text) + 1;
	return at;
}

/* The row and its texts are one piece of memory: there can be many rows. */
static struct top_row *make_row(const struct top_key *k)
{
	const char *host = k->host ? k->host : "";
	struct top_row *row = calloc(1, sizeof(*row) + strlen(k->name) + strlen(k->path) + strlen(k->thread) + strlen(host) + 4);
	char *to;

	if (!row)
		return NULL;
	to = (char *)(row + 1);
	row->name = put_text(&to, k->name);
	row->path = put_text(&to, k->path);
	row->thread = put_text(&to, k->thread);
	row->host = put_text(&to, host);
	row->line = k->line;
	row->approximate = k->approximate;
	row->kind = k->kind;
	row->number = k->number;
	row->of = k->of;
	return row;
}

struct top_row *top_table__row(struct top_table *t, const struct top_key *k)
{
	uint64_t hash = hash_of(k);
	struct top_row *row = find_row(t, k, hash), **list;

	if (row)
		return row;
	if (!t->buckets)
		t->buckets = calloc(TOP_BUCKETS, sizeof(*t->buckets));
	if (!t->buckets)
		return NULL;
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 64;

		list = realloc(t->rows, room * sizeof(*list));
		if (!list)
			return NULL;
		t->rows = list;
		t->room = room;
	}
	row = make_row(k);
	if (!row)
		return NULL;
	row->hash = hash;
	row->next = t->buckets[hash % TOP_BUCKETS];
	t->buckets[hash % TOP_BUCKETS] = row;
	t->rows[t->count++] = row;
	return row;
}

static int by_size(const void *a, const void *b)
{
	const struct top_row *x = *(struct top_row *const *)a, *y = *(struct top_row *const *)b;

	if (x->all.total != y->all.total)
		return x->all.total > y->all.total ? -1 : 1;
	return 0;
}

/* Put the smaller half of the rows together.  Their totals may overlap: what they had themselves is counted. */
static int shrink(struct top_table *t)
{
	const struct top_key key = { .name = others_name, .path = "", .thread = "", .kind = EXTPROF_FRAME_MARK };
	struct top_amount last = { 0 }, all = { 0 }, before = { 0 }, base = { 0 };
	struct top_row *others;
	uint32_t kept = t->count / 2, count = t->count;

	qsort(t->rows, t->count, sizeof(*t->rows), by_size);
	memset(t->buckets, 0, TOP_BUCKETS * sizeof(*t->buckets));
	t->count = kept;
	for (uint32_t i = 0; i < count; i++) {
		struct top_row *row = t->rows[i];

		if (i < kept) {
			row->next = t->buckets[row->hash % TOP_BUCKETS];
			t->buckets[row->hash % TOP_BUCKETS] = row;
			continue;
		}
		last.self += row->last.self;
		all.self += row->all.self;
		before.self += row->before.self;
		base.self += row->base.self;
		row__free(row);
	}
	others = top_table__row(t, &key);
	if (!others)
		return -ENOMEM;
	others->last.self += last.self;
	others->all.self += all.self;
	others->before.self += before.self;
	others->base.self += base.self;
	others->last.total = others->last.self;
	others->all.total = others->all.self;
	others->before.total = others->before.self;
	others->base.total = others->base.self;
	return 0;
}

int top_table__count(struct top_table *t, const struct top_key *k, uint64_t value, bool self, uint64_t stack)
{
	struct top_row *row;

	if (t->count >= TOP_ROWS_MAX && shrink(t))
		return -ENOMEM;
	row = top_table__row(t, k);
	if (!row)
		return -ENOMEM;
	if (row->stack != stack) {
		row->stack = stack;
		row->last.total += value;
		row->all.total += value;
	}
	if (self) {
		row->last.self += value;
		row->all.self += value;
	}
	return 0;
}

void top_table__begin(struct top_table *t, bool lives)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (lives) {
			t->rows[i]->before = t->rows[i]->last;
			t->rows[i]->all = (struct top_amount){ 0 };
		}
		t->rows[i]->last = (struct top_amount){ 0 };
		if (t->rows[i]->account) {
			t->rows[i]->account->last = (struct top_sums){ 0 };
			t->rows[i]->account->lives = false;
			t->rows[i]->account->live_slots = 0;
			t->rows[i]->account->made = UINT64_MAX;
			t->rows[i]->account->counted_before = t->rows[i]->account->counted;
			t->rows[i]->account->counted = false;
		}
	}
}

void top_table__rebase(struct top_table *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		t->rows[i]->base = t->rows[i]->last;
}

struct top_account *top_row__account(struct top_row *row)
{
	if (row && !row->account)
		row->account = calloc(1, sizeof(*row->account));
	return row ? row->account : NULL;
}

const char *top_row__shown(const struct top_row *row)
{
	return row->account && *row->account->title ? row->account->title : row->name;
}
