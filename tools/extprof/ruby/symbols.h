/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of targets.  Each id is read once and kept for good.  An id keeps its
 * meaning (the exception is forget() in symbols_update.c), so a symbol stays right after the
 * target has retired the record, and after the target has ended.
 *
 * One table holds all symbols, of all processes and of all programs that one
 * process executed after another; each of those has its own `symbols`, a map
 * from its ids to numbers in the table.
 */
#ifndef EXTPROF_SYMBOLS_H
#define EXTPROF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/budget.h"
#include "ruby/jitlog.h"
#include "ruby/labels.h"
#include "ruby/layout.h"
#include "ruby/lines.h"
#include "base/map64.h"
#include "process/block_cache.h"
#include "process/memory.h"
#include "ruby/names.h"

/* Bounds of what a hostile target can make us keep. */
#define SYMBOLS_MAX (2u << 20)
#define SYMBOLS_BYTES_MAX (512ull << 20)
/* Limits for all processes together, in bytes, of symbols and of all else that is kept: see base/budget.h.  Those above
 * are no smaller, so that it is the shares that bound a process. */
#define NAMES_BUDGET (512ull << 20)
#define OTHER_BUDGET (256ull << 20)
/*
 * So many symbols may samples have asked for, for each process that lives.  A table with more is emptied when a new window
 * begins, as a program that makes code without an end would fill it.  What the new window needs is read again: where one
 * asks for more than this in all, that is at most as often as new symbols come.
 */
#define SYMBOLS_ASKED_MAX (8u << 10)
/* Approximate bytes of a symbol without its texts. */
#define SYMBOL_COST 256
/* Symbols that no sample has asked for leave so much of the budget. */
#define PREFETCH_LEAVES (64ull << 20)
/*
 * Bound of the work in one tick.  A byte that is read costs 1, a read costs
 * SYMBOLS_READ_WORK more, a step through the parts of a name SYMBOLS_STEP_WORK, and a
 * nanosecond of waiting for a writer 1.  It suffices for 16,000 reads: other processes
 * wait so long, 35 ms, or 60 ms if the memory is read by another process.  The largest
 * line tables take the work of several ticks.
 */
#define SYMBOLS_TICK_WORK (8ll << 20)
#define SYMBOLS_LAST_WORK (64 * SYMBOLS_TICK_WORK)	/* at the end */
#define SYMBOLS_SAMPLES_WORK (SYMBOLS_TICK_WORK / 4)	/* left for new samples by all else */
/* To be left when a sample is taken, so that all its frames can be read: 80 line tables of 20 KiB. */
#define SYMBOLS_SAMPLE_WORK (SYMBOLS_TICK_WORK / 4)
#define SYMBOLS_READ_WORK 512
/* Memory that is not trusted is read by another process: see process/guarded.h. */
#define SYMBOLS_SLOW_READ_WORK 4096
/* On a busy machine that takes longer, and its time costs so much: 1 for so many ns. */
#define SYMBOLS_SLOW_NS 8
/* A name that has been begun may take work of the next ticks, to be whole.  So may all names of a sample, if reads are
 * slow. */
#define SYMBOLS_LOAN (2 * SYMBOLS_TICK_WORK)
#define SYMBOLS_COPY_WORK 64	/* a read of a copy */
#define SYMBOLS_STEP_WORK 16

enum symbol_state {
	SYMBOL_OK = 0,
	SYMBOL_EXPIRED,		/* the record's grace period was over */
	SYMBOL_EXITED,		/* the process ended before we read it */
	SYMBOL_UNREADABLE,	/* torn, malformed or not mapped */
	SYMBOL_UNANSWERED,	/* a read of it was given up; it may be read later */
	SYMBOL_LATE,		/* there was no time; it may be read later */
	SYMBOL_NO_ROOM,		/* over SYMBOLS_BYTES_MAX */
};

/* May the text of a record become another one? */
enum symbol_changes {
	CHANGES_NEVER = 0,
	CHANGES_SELDOM,		/* a method becomes SHARED */
	CHANGES_OFTEN,		/* a class gets a name */
};

struct symbols;

struct symbol {
	struct symbols *owner;
	uint32_t number;	/* in the table */
	uint32_t id;
	uint32_t generation;	/* of the record when it was read */
	uint8_t state;		/* enum symbol_state */
	uint8_t changes;	/* enum symbol_changes */
	bool lines_bad;
	bool incomplete;	/* a part of the frozen name was not read */
	bool used;		/* asked for, so that its parts have been read */
	uint32_t code_size;
	uint32_t first_line;
	uint64_t code;
	struct name_part part;
	char *frozen;		/* composed name, once the id may mean something else */
	char *path;		/* bytes as they are, NULL none */
	uint32_t path_length;
	struct lines lines;
	const struct symbol *elsewhere;	/* what has the code, see symbols__code */
};

struct symbol_table {
	struct symbol **list;	/* by number */
	uint32_t count;
	size_t room;
	uint64_t bytes;		/* of strings and line tables */
	uint64_t asked;		/* symbols that samples have asked for */
	uint64_t asked_max;	/* with more the table is crowded; 0: no such bound */
	struct budget names;	/* of symbols */
	struct budget other;	/* of JIT logs, labels and threads */
	struct block_cache blocks;	/* of memory that is slow to read */
};

struct symbols {
	struct symbol_table *table;
	const struct memory *memory;
	struct layout *layout;
	struct map64 map;	/* id -> number */
	struct jitlog jit;
	struct labels labels;
	uint32_t generation;	/* names_generation that the cache is of */
	uint32_t next_prefetch;	/* id */
	uint32_t *own;		/* numbers of its symbols, oldest first */
	uint32_t own_count;
	size_t own_room;
	uint32_t next_reload;	/* place in `own` where the last update left off */
	uint32_t to_reload;	/* how many it has not looked at yet */
	uint32_t next_late;	/* no symbol before that place is SYMBOL_LATE */
	struct budget_share names, share;
	uint32_t read_work;	/* SYMBOLS_READ_WORK, or more: then copies are read, see process/block_cache.h */
	bool cached;		/* reads use copies ... */
	uint64_t read_after;	/* ... made after this one ... */
	uint64_t read_stamp;	/* ... and the last read used this one */
	int64_t work;		/* left until the next update */
	uint32_t begun;		/* names of which parts are being read */
	bool exited;		/* nothing can be read any more ... */
	bool remains;		/* ... but what remains of the memory */
	/* A copy made by fork: ids below that mean the same as in the parent's. */
	struct symbols *parent;
	uint32_t inherited_end;
};

/* May a record be read for a sample? */
static inline bool symbols__can_work(const struct symbols *s)
{
	return s->work > (s->begun || s->read_work > SYMBOLS_READ_WORK ? -SYMBOLS_LOAN : 0);
}

void symbol_table__free(struct symbol_table *t);

/* Table, layout and memory must live as long as *s, and *s as long as its symbols are used. */
void symbols__init(struct symbols *s, struct symbol_table *table, struct layout *layout,
		   const struct memory *memory);
/* The symbols stay in the table. */
void symbols__free(struct symbols *s);

/* *s is the copy of *parent that a fork made, when all ids below `end` had been given out.  For
 * these ids it uses the parent's symbols, unless they can have changed.  *parent must live as long. */
void symbols__inherit(struct symbols *s, struct symbols *parent, uint32_t end);

/*
 * Forget all symbols and the parent.  The caller does so with everything that uses the table, and then empties
 * the table with symbol_table__free().  Symbols are read again when samples need them.
 */
void symbols__restart(struct symbols *s);
/* Nothing that is known is of this process: its ids are looked up anew.  Its part of the budgets stays counted. */
void symbols__disown(struct symbols *s);
/* Is so much of the table in use that its users should begin anew? */
bool symbol_table__is_crowded(const struct symbol_table *t);

/* Compose the names of its symbols now, so that *s is not needed for them any more. */
void symbols__settle(struct symbols *s);

/*
 * To be called once a tick, and with `last` before the names are used.  Renews the
 * budget of work, reads records that were put off, and reads again those whose name can
 * have changed.  0, or -errno of reading the section.
 */
int symbols__update(struct symbols *s, bool last);
/* Is nothing put off?  Then there is nothing to update until the process has run. */
bool symbols__are_read(const struct symbols *s);

/* Read at most `budget` records that no sample has asked for yet: the process may end
 * before a sample does. */
void symbols__prefetch(struct symbols *s, uint32_t budget);

/* From now on the memory of the target is gone.  With `remains` a part of it can still be read. */
void symbols__set_exited(struct symbols *s, bool remains);

/* Its memory was never open: what was to be read later is lost with the process. */
void symbols__lose_late(struct symbols *s);

/* The symbol of an id with all that its name needs, read if it is new and
 * there is work left.  NULL when out of memory, over SYMBOLS_MAX, or over its share. */
const struct symbol *symbols__get(struct symbols *s, uint32_t id);

/* Whether all that its name needs has been read, of a symbol that has been. */
bool symbols__is_complete(const struct symbol *symbol);

/* The symbol that has the path, the lines and the code: the symbol itself, or the code that
 * a method runs (part.ref2).  NULL: not known. */
const struct symbol *symbols__code(const struct symbol *symbol);

bool symbols__has_lines(const struct symbol *symbol);

/* The line for the pc, 0 unknown. */
int32_t symbols__line(const struct symbol *symbol, uint64_t pc);

/*
 * The line of an innermost frame whose jit_return is set, from the JIT code log.
 * False: the log does not tell it, and only the line of the pc is known.
 */
bool symbols__jit_line(struct symbols *s, const struct symbol *symbol, uint64_t ip,
		       uint64_t time, int32_t *line);

/* Append the name and the path, clean. */
void symbols__add_name(const struct symbol *symbol, struct text *out);
void symbols__add_path(const struct symbol *symbol, struct text *out);

#endif /* EXTPROF_SYMBOLS_H */
