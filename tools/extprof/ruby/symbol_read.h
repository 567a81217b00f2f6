/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads one record of a target into one symbol.  Each read takes from symbols::work,
 * which symbols__update() renews.
 */
#ifndef EXTPROF_SYMBOL_READ_H
#define EXTPROF_SYMBOL_READ_H

#include "ruby/symbols.h"

/*
 * Read the record under its sequence lock.  0 with the state set; -EAGAIN if it
 * was torn each time, -EBUSY if there is no work left, or another error: *out
 * has nothing to be freed then.
 */
int symbol_read__record(struct symbols *s, uint32_t id, struct symbol *out);

/* Read the generation that the record has now; -ENOENT: the VM gave the record back. */
int symbol_read__generation(struct symbols *s, uint32_t id, uint32_t *generation);

/* Read again the fields of the section that change. */
int symbol_read__refresh(struct symbols *s);

/* Free what *symbol has, and take it off the bytes of the table. */
void symbol__clear(struct symbol_table *t, struct symbol *symbol);

#endif /* EXTPROF_SYMBOL_READ_H */
