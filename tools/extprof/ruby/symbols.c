/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "ruby/symbol_read.h"

/* The rest of the table is for symbols that samples need. */
#define PREFETCH_MAX (SYMBOLS_MAX / 2)
#define PREFETCH_BYTES_MAX (SYMBOLS_BYTES_MAX / 2)

/* All ids are below. */
#define RECORDS_END_MAX (1u << 31)
/* References from one to the next: the singleton class that a method is in is no part of a name. */
#define PARTS_DEPTH_MAX (RB_DEBUG_EXT_NAME_DEPTH_MAX + 1)

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

/* Nothing can be read any more. */
static bool is_gone(const struct symbols *s)
{
	return s->exited && !s->remains;
}

/* Was it not read, so that it can be read later? */
static bool is_late(uint8_t state)
{
	return state == SYMBOL_LATE || state == SYMBOL_UNANSWERED;
}

void symbols__lose_late(struct symbols *s)
{
	for (uint32_t i = 0; s->map.slots && i <= s->map.mask; i++) {
		struct symbol *symbol;

		if (s->map.slots[i].value == MAP64_NONE)
			continue;
		symbol = s->table->list[s->map.slots[i].value];
		if (symbol->owner == s && is_late(symbol->state))
			symbol->state = SYMBOL_EXITED;
	}
}

void symbols__inherit(struct symbols *s, struct symbols *parent, uint32_t end)
{
	s->parent = parent;
	s->inherited_end = end;
	/* The symbols of the parent need not be read ahead. */
	s->next_prefetch = end;
}

static struct symbol *add_symbol(struct symbols *s, const struct symbol *value)
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

static struct symbol *cached(const struct symbols *s, uint32_t id)
{
	uint32_t number = map64__get(&s->map, id);

	return number == MAP64_NONE ? NULL : s->table->list[number];
}

/* The state of a symbol whose record could not be read. */
static enum symbol_state state_of(int err)
{
	switch (err) {
	case -ESRCH: return SYMBOL_EXITED;
	case -EBUSY:
	case -EINTR: return SYMBOL_LATE;
	case -ETIMEDOUT: return SYMBOL_UNANSWERED;
	case -ENOSPC: return SYMBOL_NO_ROOM;
	default: return SYMBOL_UNREADABLE;
	}
}

/* Charge the budget with the growth of the texts and lines in the table. */
static void charge(struct symbols *s, uint64_t before)
{
	budget__add(&s->names, (int64_t)(s->table->bytes - before));
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
	if (is_late(state_of(err))) {
		symbol->state = state_of(err);
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
		symbol->state = state_of(err);
		return;
	}
	value.owner = s;
	value.number = symbol->number;
	value.used = symbol->used;
	*symbol = value;
	charge(s, before);
}

static const struct symbol *inherited(struct symbols *s, uint32_t id);

/* Is all that the name is composed of older than the fork, so that its ids mean the same in both? */
static bool is_older(const struct symbols *of, uint32_t id, uint32_t end, int depth, int *parts)
{
	const struct symbol *symbol;

	if (!id || depth > PARTS_DEPTH_MAX || ++*parts > NAMES_PARTS_MAX)
		return true;
	symbol = id < end ? cached(of, id) : NULL;
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
	struct symbol *symbol = cached(s, id);
	uint64_t before;
	int err;

	s->work -= SYMBOLS_STEP_WORK;
	if (symbol) {
		if (is_late(symbol->state) && s->work > 0 && !is_gone(s))
			read_late(s, symbol);
		return symbol;
	}
	/* The table is full.  A symbol that cannot be kept would be read again for each sample. */
	if (s->table->count >= SYMBOLS_MAX || !budget__has(&s->names, SYMBOL_COST))
		return NULL;
	before = s->table->bytes;
	err = is_gone(s) ? -ESRCH : symbol_read__record(s, id, &value);
	/* The memory that is left of an ended process has only its own records.  The class of a method can be a record
	 * of the parent. */
	symbol = err == -ESRCH ? share_inherited(s, id) : NULL;
	if (symbol)
		return symbol;
	if (err) {
		before = s->table->bytes;
		memset(&value, 0, sizeof(value));
		value.id = id;
		value.state = state_of(err);
	}
	symbol = add_symbol(s, &value);
	if (!symbol)
		symbol__clear(s->table, &value);
	charge(s, before);
	return symbol;
}

/* Load all that the name of the symbol is composed of, now: later the target
 * may have gone. */
static void load_parts(struct symbols *s, uint32_t id, int depth, int *parts)
{
	const struct symbol *symbol;

	if (!id || depth > PARTS_DEPTH_MAX || ++*parts > NAMES_PARTS_MAX)
		return;
	symbol = load(s, id);
	if (!symbol || symbol->state != SYMBOL_OK)
		return;
	s->begun++;
	load_parts(s, symbol->part.ref1, depth + 1, parts);
	load_parts(s, symbol->part.ref2, depth + 1, parts);
	s->begun--;
}

/* May its name become another one, as that of a class without a name? */
static bool may_change(const struct symbols *s, uint32_t id, int depth, int *parts)
{
	const struct symbol *symbol;

	if (!id || depth > PARTS_DEPTH_MAX || ++*parts > NAMES_PARTS_MAX)
		return false;
	symbol = cached(s, id);
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
	struct symbol *symbol = cached(s, id);
	const struct symbol *parents;
	int parts = 0;

	if ((!symbol || symbol->state != SYMBOL_OK) && (parents = inherited(s, id)))
		return parents;

	if (symbol && ((symbol->used && !is_late(symbol->state)) || !symbols__can_work(s) || is_gone(s)))
		return symbol;
	load_parts(s, id, 1, &parts);
	/* A symbol that symbols__prefetch() read has no parts until now. */
	symbol = cached(s, id);
	if (symbol && !symbol->used) {
		symbol->used = true;
		s->table->asked++;
	}
	return symbol;
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

		if (cached(s, id))
			continue;
		err = symbol_read__record(s, id, &value);
		if (is_late(state_of(err))) {
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
		if (!err && (value.state != SYMBOL_OK || !add_symbol(s, &value)))
			symbol__clear(s->table, &value);
		charge(s, before);
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
	charge(s, before);
	load_parts(s, value.part.ref1, 1, &parts);
	load_parts(s, value.part.ref2, 1, &parts);
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
		if (symbol->owner != s || !is_late(symbol->state))
			continue;
		load_parts(s, symbol->id, 1, &parts);
		if (is_late(symbol->state))
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

static bool is_complete(const struct symbols *s, uint32_t id, int depth, int *parts)
{
	const struct symbol *symbol;

	/* names__compose() cuts the name at the same bounds. */
	if (!id || depth > PARTS_DEPTH_MAX || ++*parts > NAMES_PARTS_MAX)
		return true;
	symbol = cached(s, id);
	return symbol && symbol->state == SYMBOL_OK &&
	       is_complete(s, symbol->part.ref1, depth + 1, parts) &&
	       is_complete(s, symbol->part.ref2, depth + 1, parts);
}

bool symbols__is_complete(const struct symbol *symbol)
{
	int parts = 0;

	return symbol->frozen ? !symbol->incomplete : is_complete(symbol->owner, symbol->id, 1, &parts);
}

const struct symbol *symbols__code(const struct symbol *symbol)
{
	const struct symbol *code;

	if (symbol->elsewhere)
		return symbol->elsewhere;
	if (symbol->state != SYMBOL_OK || !symbol->part.ref2 || symbol->frozen ||
	    (symbol->part.kind != RB_DEBUG_EXT_METHOD && symbol->part.kind != RB_DEBUG_EXT_BMETHOD))
		return symbol;
	code = cached(symbol->owner, symbol->part.ref2);
	return code && code->state == SYMBOL_OK ? code : NULL;
}

bool symbols__has_lines(const struct symbol *symbol)
{
	const struct symbol *code = symbols__code(symbol);

	return code && code->lines.count;
}

int32_t symbols__line(const struct symbol *symbol, uint64_t pc)
{
	const struct symbol *code = symbols__code(symbol);
	int64_t position = code ? lines__position(pc, code->code, code->code_size) : -1;

	return position < 0 ? 0 : lines__at(&code->lines, (uint32_t)position);
}

bool symbols__jit_line(struct symbols *s, const struct symbol *symbol, uint64_t ip,
		       uint64_t time, int32_t *line)
{
	struct rb_debug_ext_jit_entry entry;

	symbol = symbols__code(symbol);
	if (!symbol || s->exited || !ip || !jitlog__find(&s->jit, s->layout, s->memory, ip, time, &entry))
		return false;
	/* Methods can share code.  Other code: inlined, or not what it seems. */
	if (entry.id != symbol->id) {
		const struct symbol *logged = symbols__get(s, entry.id);

		if (!logged || !symbol->code || logged->code != symbol->code)
			return false;
	}
	if (entry.index >= symbol->code_size)
		return false;
	*line = lines__at(&symbol->lines, entry.index);
	return *line != 0;
}

static const struct name_part *name_part(void *context, uint32_t id)
{
	const struct symbols *s = context;
	const struct symbol *symbol = cached(s, id);

	return symbol && symbol->state == SYMBOL_OK ? &symbol->part : NULL;
}

void symbols__add_name(const struct symbol *symbol, struct text *out)
{
	const struct names names = { .part = name_part, .context = symbol->owner };
	struct text raw = { .limit = RB_DEBUG_EXT_NAME_MAX };

	if (symbol->frozen) {
		text__adds(out, symbol->frozen);
		return;
	}
	switch (symbol->state) {
	case SYMBOL_OK:
		names__compose(&names, symbol->id, &raw);
		if (raw.length)
			text__add_clean(out, raw.data, raw.length, TEXT_NAME_MAX);
		else
			text__adds(out, "[nameless]");
		out->failed |= raw.failed;
		text__free(&raw);
		break;
	case SYMBOL_EXPIRED:
		text__adds(out, "[retired]");
		break;
	case SYMBOL_EXITED:
		text__adds(out, "[exited before resolved]");
		break;
	case SYMBOL_UNANSWERED:
		text__adds(out, "[memory does not answer]");
		break;
	case SYMBOL_LATE:
		text__adds(out, "[too much to read]");
		break;
	case SYMBOL_NO_ROOM:
		text__adds(out, "[one of too many names]");
		break;
	default:
		text__adds(out, "[unreadable record]");
	}
}

void symbols__add_path(const struct symbol *symbol, struct text *out)
{
	symbol = symbols__code(symbol);
	if (symbol && symbol->path)
		text__add_clean(out, symbol->path, symbol->path_length, TEXT_NAME_MAX);
}
