/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The texts of details of waits, for who shows a part of one: frame::name of FRAME_DETAIL, as wait_details.h makes it and
 * as a recording has it.  They need neither a process nor its VM.
 */
#ifndef EXTPROF_WAIT_TEXT_H
#define EXTPROF_WAIT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "frames/frame.h"

/* The word for an enum file_kind: "pipe". */
const char *wait_text__kind(uint32_t kind);

/* The text of a file behind its kind: "127.0.0.1:5432".  *is_own: that is the address of the socket itself.  Without a kind it is
 * all of the text. */
const char *wait_text__file(const char *text, bool *is_own);

/* Is that thread the one in the text of a holder, a waker or who is joined? */
bool wait_text__names(const struct frame *detail, const struct frame *thread);

#endif /* EXTPROF_WAIT_TEXT_H */
