/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "ruby/symbol_read.h"
#include "ruby/symbols_parts.h"

void symbols__init(struct symbols *s, struct symbol_table *table, struct layout *layout,
		   const struct memory *memory)
{
	memset(s, 0, sizeof(*s));
	s->table = table;
	s->layout = layout;
	s->memory = memory;
	s->generation = layout->section.names_generation;
	s->work = SYMBOLS_TICK_WORK;
	s->read_work = SYMBOLS_READ_WORK;
	table->names.max = NAMES_BUDGET;
	table->other.max = OTHER_BUDGET;
	s->names.of = &table->names;
	s->share.of = &table->other;
	s->labels.share = &s->share;
	jitlog__init(&s->jit, layout, &s->share);
}

void symbol_table__free(struct symbol_table *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->count; i++) {
		symbol__clear(t, t->list[i]);
		free(t->list[i]);
	}
	free(t->list);
	block_cache__free(&t->blocks);
	t->list = NULL;
	t->count = 0;
	t->room = 0;
	t->bytes = t->asked = 0;
	memset(&t->names, 0, sizeof(t->names));
	t->names.max = NAMES_BUDGET;
}

void symbols__free(struct symbols *s)
{
	if (!s)
		return;
	if (s->table)
		block_cache__forget(&s->table->blocks, s->memory);
	map64__free(&s->map);
	free(s->own);
	jitlog__free(&s->jit);
	labels__free(&s->labels);
	memset(s, 0, sizeof(*s));
}

/* No id has a symbol any more. */
static void forget_ids(struct symbols *s)
{
	map64__free(&s->map);
	s->parent = NULL;
	s->inherited_end = 0;
	s->own_count = s->next_reload = s->to_reload = s->next_late = 0;
}

void symbols__restart(struct symbols *s)
{
	forget_ids(s);
	/* The table is emptied next. */
	s->names.used = 0;
}

void symbols__disown(struct symbols *s)
{
	forget_ids(s);
	jitlog__free(&s->jit);
	jitlog__init(&s->jit, s->layout, &s->share);
	labels__free(&s->labels);
}

/* Symbols that are read ahead fill at most half of it.  They are not read ahead again after the table was emptied. */
bool symbol_table__is_crowded(const struct symbol_table *t)
{
	/* One user has half of the budget at most. */
	return t->count > SYMBOLS_MAX / 4 * 3 || t->bytes > SYMBOLS_BYTES_MAX / 4 * 3 ||
	       (t->names.max && t->names.used > t->names.max / 16 * 7) || (t->asked_max && t->asked > t->asked_max);
}

void symbols__inherit(struct symbols *s, struct symbols *parent, uint32_t end)
{
	s->parent = parent;
	s->inherited_end = end;
	/* The symbols of the parent need not be read ahead. */
	s->next_prefetch = end;
}

struct symbol *symbols__add(struct symbols *s, const struct symbol *value)
{
	struct symbol_table *t = s->table;
	struct symbol *symbol;

	if (array__reserve(&t->list, t->count, 1, &t->room, SYMBOLS_MAX, sizeof(*t->list)) ||
	    array__reserve(&s->own, s->own_count, 1, &s->own_room, SYMBOLS_MAX, sizeof(*s->own)))
		return NULL;
	symbol = malloc(sizeof(*symbol));
	if (!symbol)
		return NULL;
	*symbol = *value;
	symbol->owner = s;
	symbol->number = t->count;
	if (map64__add(&s->map, value->id, t->count)) {
		free(symbol);
		return NULL;
	}
	s->own[s->own_count++] = t->count;
	t->list[t->count++] = symbol;
	budget__add(&s->names, SYMBOL_COST);
	return symbol;
}

/* Read a record that there was no time for.  The symbol keeps its number, so that frames
 * that use it get the name. */
static void read_late(struct symbols *s, struct symbol *symbol)
{
	uint64_t before = s->table->bytes;
	struct symbol value;
	int err;

	if (s->layout->section.records_end >= RECORDS_END_MAX)
		return;
	err = symbol_read__record(s, symbol->id, &value);
	if (symbol__is_late(symbol__state_of(err))) {
		symbol->state = symbol__state_of(err);
		return;
	}
	/* Once all ids have been given out, this one may have been given out
	 * again between the frame and now. */
	if (symbol_read__refresh(s) || s->layout->section.records_end >= RECORDS_END_MAX) {
		if (!err)
			symbol__clear(s->table, &value);
		return;
	}
	if (err) {
		symbol->state = symbol__state_of(err);
		return;
	}
	value.owner = s;
	value.number = symbol->number;
	value.used = symbol->used;
	*symbol = value;
	symbols__charge(s, before);
}

static const struct symbol *inherited(struct symbols *s, uint32_t id);

/* Is all that the name is composed of older than the fork, so that its ids mean the same in both? */
static bool is_older(const struct symbols *of, uint32_t id, uint32_t end, int depth, int *parts)
{
	const struct symbol *symbol;

	if (!id || depth > PARTS_DEPTH_MAX || ++*parts > NAMES_PARTS_MAX)
		return true;
	symbol = id < end ? symbols__cached(of, id) : NULL;
	return symbol && is_older(of, symbol->part.ref1, end, depth + 1, parts) &&
	       is_older(of, symbol->part.ref2, end, depth + 1, parts);
}

/* The parent's symbol as one of this process, too; NULL: it is none. */
static struct symbol *share_inherited(struct symbols *s, uint32_t id)
{
	const struct symbol *parents = inherited(s, id);
	int parts = 0;

	if (!parents || parents->frozen || !is_older(parents->owner, id, s->inherited_end, 1, &parts) ||
	    map64__add(&s->map, id, parents->number))
		return NULL;
	return s->table->list[parents->number];
}

static struct symbol *load(struct symbols *s, uint32_t id)
{
	struct symbol value = { .id = id };
	struct symbol *symbol = symbols__cached(s, id);
	uint64_t before;
	int err;

	s->work -= SYMBOLS_STEP_WORK;
	if (symbol) {
		if (symbol__is_late(symbol->state) && s->work > 0 && !symbols__is_gone(s))
			read_late(s, symbol);
		return symbol;
	}
	/* The table is full.  A symbol that cannot be kept would be read again for each sample. */
	if (s->table->count >= SYMBOLS_MAX || !budget__has(&s->names, SYMBOL_COST))
		return NULL;
	before = s->table->bytes;
	err = symbols__is_gone(s) ? -ESRCH : symbol_read__record(s, id, &value);
	/* The memory that is left of an ended process has only its own records.  The class of a method can be a record
	 * of the parent. */
	symbol = err == -ESRCH ? share_inherited(s, id) : NULL;
	if (symbol)
		return symbol;
	if (err) {
		before = s->table->bytes;
		memset(&value, 0, sizeof(value));
		value.id = id;
		value.state = symbol__state_of(err);
	}
	symbol = symbols__add(s, &value);
	if (!symbol)
		symbol__clear(s->table, &value);
	symbols__charge(s, before);
	return symbol;
}

void symbols__load_parts(struct symbols *s, uint32_t id, int depth, int *parts)
{
	const struct symbol *symbol;

	if (!id || depth > PARTS_DEPTH_MAX || ++*parts > NAMES_PARTS_MAX)
		return;
	symbol = load(s, id);
	if (!symbol || symbol->state != SYMBOL_OK)
		return;
	s->begun++;
	symbols__load_parts(s, symbol->part.ref1, depth + 1, parts);
	symbols__load_parts(s, symbol->part.ref2, depth + 1, parts);
	s->begun--;
}

/* May its name become another one, as that of a class without a name? */
static bool may_change(const struct symbols *s, uint32_t id, int depth, int *parts)
{
	const struct symbol *symbol;

	if (!id || depth > PARTS_DEPTH_MAX || ++*parts > NAMES_PARTS_MAX)
		return false;
	symbol = symbols__cached(s, id);
	return symbol && (symbol->changes == CHANGES_OFTEN ||
			  may_change(s, symbol->part.ref1, depth + 1, parts) ||
			  may_change(s, symbol->part.ref2, depth + 1, parts));
}

/* The parent's symbol, if the id means the same here; NULL: read it from this process. */
static const struct symbol *inherited(struct symbols *s, uint32_t id)
{
	const struct symbol *symbol;
	int parts = 0;

	if (!s->parent || id >= s->inherited_end)
		return NULL;
	symbol = symbols__get(s->parent, id);
	if (!symbol || symbol->state != SYMBOL_OK)
		return NULL;
	/* A class may have got its name since, here or there. */
	if (!s->exited && !symbol->frozen && may_change(symbol->owner, id, 1, &parts))
		return NULL;
	return symbol;
}

const struct symbol *symbols__get(struct symbols *s, uint32_t id)
{
	struct symbol *symbol = symbols__cached(s, id);
	const struct symbol *parents;
	int parts = 0;

	if ((!symbol || symbol->state != SYMBOL_OK) && (parents = inherited(s, id)))
		return parents;

	if (symbol && ((symbol->used && !symbol__is_late(symbol->state)) || !symbols__can_work(s) || symbols__is_gone(s)))
		return symbol;
	symbols__load_parts(s, id, 1, &parts);
	/* A symbol that symbols__prefetch() read has no parts until now. */
	symbol = symbols__cached(s, id);
	if (symbol && !symbol->used) {
		symbol->used = true;
		s->table->asked++;
	}
	return symbol;
}
