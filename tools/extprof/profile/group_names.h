/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames of --group-by.  All names are clean. */
#ifndef EXTPROF_GROUP_NAMES_H
#define EXTPROF_GROUP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "frames/frame_table.h"
#include "profile/processes.h"
#include "ruby/labels.h"
#include "ruby/threads.h"

/* Give the frame of a thread, or of a process, the parts that are known now.  0 or -ENOMEM. */
int group_names__set_thread(struct frame_table *t, const struct thread *thread);
/* with_resource: also what the process says of itself. */
int group_names__set_process(struct frame_table *t, const struct process_row *row, bool with_resource);

/*
 * The frame of a thread that is no Ruby thread, or (unknown) of which that is not known.  comm: as the
 * kernel has it, at most `size` bytes.  0: out of memory, or too many; so below.
 */
uint32_t group_names__add_no_thread(struct frame_table *t, const char *comm, size_t size, uint32_t tid, bool unknown);

/* Append the text of such a thread, without brackets: "native thread ruby (42)"; a tid of 0 is left out. */
void group_names__add_native(const char *comm, size_t size, uint32_t tid, struct text *out);

/* The frame of a value of a label; `value` is of LABEL_SET.  known: only if it is there already. */
uint32_t group_names__add_label(struct frame_table *t, const char *key, enum label_state state,
				const struct label_record *value, bool known);

/* The frame of what has no room for one of its own.  key: of a label, else "". */
uint32_t group_names__add_crowded(struct frame_table *t, enum frame_kind kind, const char *key);

#endif /* EXTPROF_GROUP_NAMES_H */
