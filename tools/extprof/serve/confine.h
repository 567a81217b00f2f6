/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process that reads recordings cannot do any more, whatever a recording makes of it. */
#ifndef EXTPROF_SERVE_CONFINE_H
#define EXTPROF_SERVE_CONFINE_H

#include <stdbool.h>

/*
 * For good, by a filter of libseccomp: it opens no file to be written and makes, changes or removes none, has no socket, starts
 * no program, changes no other process and types into no terminal.  Each try fails with EACCES.  0 or negative errno: the kernel or the machine has no
 * such filters.  With `may_open` files are opened and made as before: SQLite needs one beside a recording that has not ended.
 */
int confine(bool may_open);

#endif /* EXTPROF_SERVE_CONFINE_H */
