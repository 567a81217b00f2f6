/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules and mappings for native stacks that a reader in user space follows: where the kernel's programs have BPF
 * maps, this is memory of extprof.  One thread fills it (native/native.h), others take views of it.
 */
#ifndef EXTPROF_UNWIND_TABLES_H
#define EXTPROF_UNWIND_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "remote/walker.h"
#include "source/unwind_maps.h"

struct unwind_tables;

/* Memory is used as it is filled.  NULL: there is none.  The caller frees it with unwind_tables__free(), which accepts NULL. */
struct unwind_tables *unwind_tables__new(void);
void unwind_tables__free(struct unwind_tables *t);

/* Fill *maps for native__create().  It is valid as long as the tables are. */
void unwind_tables__maps(struct unwind_tables *t, struct unwind_maps *maps);

/*
 * The published mappings of a VM.  False: none are (yet).  The view may be used for a second: its memory is given to another
 * process later than that.
 */
bool unwind_tables__view(struct unwind_tables *t, uint32_t vm, struct unwind_view *view);

#endif /* EXTPROF_UNWIND_TABLES_H */
