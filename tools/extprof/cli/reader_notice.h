/* SPDX-License-Identifier: BSD-2-Clause */
/* Which reader a recording uses, if that is not the one that a user expects. */
#ifndef EXTPROF_READER_NOTICE_H
#define EXTPROF_READER_NOTICE_H

#include "extprof.h"

/* Tell on stderr if BPF is not used though nothing else was asked for, and why.  The recording is open. */
void reader_notice__print(const struct extprof_recording *recording);

#endif /* EXTPROF_READER_NOTICE_H */
