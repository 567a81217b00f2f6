/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches the images that a process has mapped for the section rb_debug_ext. */
#ifndef EXTPROF_SECTION_SEARCH_H
#define EXTPROF_SECTION_SEARCH_H

#include "base/diag.h"
#include "process/target.h"

/*
 * Find the section in the memory that the process has now: sets t->section and
 * t->space.  0 or -errno: -ENOENT no ruby, or a ruby without the interface (the
 * code of the diag tells which); -EAGAIN the process executed another program
 * during the search; -EINTR t->deadline was over; -ESRCH the process has ended.
 */
int target__find_section(struct target *t, struct diag *d);

#endif /* EXTPROF_SECTION_SEARCH_H */
