/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of the section that a reader may store: alloc_interval, grace_until, live_until.  extprof writes nothing else into a
 * process, and nowhere else in this program. */
#ifndef EXTPROF_SECTION_WORD_H
#define EXTPROF_SECTION_WORD_H

#include <stddef.h>
#include <stdint.h>

#include "process/address_space.h"
#include "ruby/layout.h"

/*
 * `offset`: of a field of 8 bytes in struct rb_debug_ext_section.  Both first confirm that the section is still there: after
 * an exec the memory is that of another program.  They do not wait for the deadline of the space.
 * 0 or -errno; -ESTALE: that section is not there any more; of a write -EBADF or -EACCES: the memory cannot be written.
 */
int section_word__read(struct address_space *space, const struct layout *l, size_t offset, uint64_t *value);
int section_word__write(struct address_space *space, const struct layout *l, size_t offset, uint64_t value);

#endif /* EXTPROF_SECTION_WORD_H */
