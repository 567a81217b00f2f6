/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work of a tick: records are read ahead, read later, or read again, within symbols::work.  And the end of a process, after
 * which nothing is read.
 */
#include <errno.h>
#include <string.h>

#include "ruby/symbol_read.h"
#include "ruby/symbols_parts.h"

/* The rest of the table is for symbols that samples need. */
#define PREFETCH_MAX (SYMBOLS_MAX / 2)
#define PREFETCH_BYTES_MAX (SYMBOLS_BYTES_MAX / 2)

void symbols__lose_late(struct symbols *s)
{
	for (uint32_t i = 0; s->map.slots && i <= s->map.mask; i++) {
		struct symbol *symbol;

		if (s->map.slots[i].value == MAP64_NONE)
			continue;
		symbol = s->table->list[s->map.slots[i].value];
		if (symbol->owner == s && symbol__is_late(symbol->state))
			symbol->state = SYMBOL_EXITED;
	}
}

void symbols__prefetch(struct symbols *s, uint32_t budget)
{
	struct symbol value;
	int err;

	if (s->next_prefetch < RB_DEBUG_EXT_ID_FIRST)
		s->next_prefetch = RB_DEBUG_EXT_ID_FIRST;
	for (; budget && !s->exited && s->next_prefetch < s->layout->section.records_end &&
	       s->work > SYMBOLS_SAMPLES_WORK && s->table->count < PREFETCH_MAX &&
	       s->table->bytes < PREFETCH_BYTES_MAX && budget__has(&s->names, PREFETCH_LEAVES); budget--) {
		uint32_t id = s->next_prefetch++;
		uint64_t before = s->table->bytes;

		if (symbols__cached(s, id))
			continue;
		err = symbol_read__record(s, id, &value);
		if (symbol__is_late(symbol__state_of(err))) {
			s->next_prefetch = id;
			break;
		}
		if (!err && value.part.kind == RB_DEBUG_EXT_LABEL) {
			if (s->labels.wanted)
				labels__keep(&s->labels, &value);
			symbol__clear(s->table, &value);
			continue;
		}
		/* A failed read is not kept: the record may not be complete yet. */
		if (!err && (value.state != SYMBOL_OK || !symbols__add(s, &value)))
			symbol__clear(s->table, &value);
		symbols__charge(s, before);
	}
}

static void reload(struct symbols *s, struct symbol *symbol)
{
	uint64_t before = s->table->bytes;
	struct symbol value;
	uint32_t generation;
	int parts = 0;

	/* Most records have not changed. */
	if (symbol->state == SYMBOL_OK &&
	    (symbol_read__generation(s, symbol->id, &generation) ||
	     generation == symbol->generation))
		return;
	if (symbol_read__record(s, symbol->id, &value))
		return;
	/* The record has expired since: the symbol that was read is still right. */
	if (value.state != SYMBOL_OK) {
		symbol__clear(s->table, &value);
		return;
	}
	value.owner = s;
	value.number = symbol->number;
	value.used = symbol->used;
	symbol__clear(s->table, symbol);
	*symbol = value;
	symbols__charge(s, before);
	symbols__load_parts(s, value.part.ref1, 1, &parts);
	symbols__load_parts(s, value.part.ref2, 1, &parts);
}

/*
 * All 2^31 ids have been used and are given out anew: what an id means is
 * certain only until the generation grows.  Symbols stay what they were, under
 * the names that they have now; the ids are looked up again.
 */
static void forget(struct symbols *s)
{
	symbols__settle(s);
	map64__free(&s->map);
	s->next_prefetch = 0;
}

static void settle(struct symbols *s, struct symbol *symbol)
{
	struct text name = { 0 };

	if (symbol->frozen || symbol->owner != s)
		return;
	/* It must not be read any more: its id may mean something else. */
	if (symbol->state != SYMBOL_OK) {
		symbol->owner = NULL;
		return;
	}
	symbol->incomplete = !symbols__is_complete(symbol);
	symbols__add_name(symbol, &name);
	symbol->elsewhere = symbols__code(symbol);
	if (name.failed || !name.data || s->table->bytes + name.length + 1 > SYMBOLS_BYTES_MAX ||
	    !budget__has(&s->names, name.length + 1)) {
		text__free(&name);
		symbol->owner = NULL;
		symbol->state = SYMBOL_NO_ROOM;
		return;
	}
	s->table->bytes += strlen(name.data) + 1;
	budget__add(&s->names, (int64_t)strlen(name.data) + 1);
	symbol->frozen = name.data;
}

void symbols__settle(struct symbols *s)
{
	/* All names first: each is composed of other symbols. */
	for (uint32_t i = 0; s->map.slots && i <= s->map.mask; i++)
		if (s->map.slots[i].value != MAP64_NONE)
			settle(s, s->table->list[s->map.slots[i].value]);
}

/* Oldest first: their records expire first. */
static void read_all_late(struct symbols *s, int64_t keep)
{
	for (; s->next_late < s->own_count && s->work > keep; s->next_late++) {
		struct symbol *symbol = s->table->list[s->own[s->next_late]];
		int parts = 0;

		s->work -= SYMBOLS_STEP_WORK;
		if (symbol->owner != s || !symbol__is_late(symbol->state))
			continue;
		symbols__load_parts(s, symbol->id, 1, &parts);
		if (symbol__is_late(symbol->state))
			break;
	}
}

void symbols__set_exited(struct symbols *s, bool remains)
{
	s->exited = true;
	s->remains = remains;
	if (!remains)
		return;
	s->work = SYMBOLS_LAST_WORK;
	read_all_late(s, 0);
}

bool symbols__are_read(const struct symbols *s)
{
	return s->next_late == s->own_count && !s->to_reload;
}

static void reload_all(struct symbols *s, int64_t keep, bool last)
{
	for (; s->to_reload && s->work > keep; s->to_reload--) {
		struct symbol *symbol;

		if (s->next_reload >= s->own_count)
			s->next_reload = 0;
		symbol = s->table->list[s->own[s->next_reload++]];
		s->work -= SYMBOLS_STEP_WORK;
		if (symbol->owner != s || symbol->frozen)
			continue;
		if (symbol->state == SYMBOL_UNREADABLE ||
		    (symbol->state == SYMBOL_OK &&
		     symbol->changes >= (last ? CHANGES_SELDOM : CHANGES_OFTEN)))
			reload(s, symbol);
	}
}

int symbols__update(struct symbols *s, bool last)
{
	int64_t keep = last ? 0 : SYMBOLS_SAMPLES_WORK;
	uint32_t generation;
	int err;

	if (s->exited)
		return -ESRCH;
	jitlog__renew(&s->jit);
	/* Work beyond the budget of the last tick is taken from this one. */
	s->work += last ? SYMBOLS_LAST_WORK : SYMBOLS_TICK_WORK;
	if (!last && s->work > SYMBOLS_TICK_WORK)
		s->work = SYMBOLS_TICK_WORK;
	err = symbol_read__refresh(s);
	if (err)
		return err;
	/* Reads below may find a newer generation: the next update handles it. */
	generation = s->layout->section.names_generation;
	if (generation != s->generation && s->layout->section.records_end >= RECORDS_END_MAX)
		forget(s);
	if (generation != s->generation || last)
		s->to_reload = s->own_count;
	s->generation = generation;
	read_all_late(s, keep);
	reload_all(s, keep, last);
	return 0;
}
