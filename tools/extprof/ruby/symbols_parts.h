/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations for the files ruby/symbols*.c.  symbols.c finds and reads the symbol of an id, symbols_update.c does what a tick
 * does, symbols_text.c answers questions about a symbol that has been read.
 */
#ifndef EXTPROF_SYMBOLS_PARTS_H
#define EXTPROF_SYMBOLS_PARTS_H

#include <errno.h>

#include "ruby/symbols.h"

/* All ids are below. */
#define RECORDS_END_MAX (1u << 31)
/* References from one to the next: the singleton class that a method is in is no part of a name. */
#define PARTS_DEPTH_MAX (RB_DEBUG_EXT_NAME_DEPTH_MAX + 1)

/* Nothing can be read any more. */
static inline bool symbols__is_gone(const struct symbols *s)
{
	return s->exited && !s->remains;
}

/* Was it not read, so that it can be read later? */
static inline bool symbol__is_late(uint8_t state)
{
	return state == SYMBOL_LATE || state == SYMBOL_UNANSWERED;
}

/* The state of a symbol whose record could not be read. */
static inline enum symbol_state symbol__state_of(int err)
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

/* The symbol that was read of an id; NULL: none was. */
static inline struct symbol *symbols__cached(const struct symbols *s, uint32_t id)
{
	uint32_t number = map64__get(&s->map, id);

	return number == MAP64_NONE ? NULL : s->table->list[number];
}

/* Charge the budget with the growth of the texts and lines in the table, which had `before` bytes. */
static inline void symbols__charge(struct symbols *s, uint64_t before)
{
	budget__add(&s->names, (int64_t)(s->table->bytes - before));
}

/* Put a copy of *value, which then has its texts, into the table, with a number of its own.  NULL: out of memory, or the table is
 * full; the caller clears *value. */
struct symbol *symbols__add(struct symbols *s, const struct symbol *value);
/*
 * Load all that the name of the symbol is composed of, now: later the target may have gone.  `depth` and *parts bound that: 1
 * and 0 for a whole name.
 */
void symbols__load_parts(struct symbols *s, uint32_t id, int depth, int *parts);

#endif /* EXTPROF_SYMBOLS_PARTS_H */
