/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader takes the samples: BPF programs, or a thread that reads the memory of the processes. */
#ifndef EXTPROF_READER_H
#define EXTPROF_READER_H

#include "base/diag.h"

enum reader_kind {
	READER_AUTO = 0,	/* BPF; where that may not be used, READER_NONBLOCKING */
	READER_EBPF,
	READER_NONBLOCKING,	/* the processes go on while their stacks are read */
	READER_STOP,		/* a thread that has a CPU is stopped while its stack is read */
	READER_KINDS
};

/* NULL at READER_KINDS. */
extern const char *const reader_names[];

struct session;
struct session_options;

/*
 * Open a session with the reader.  *kind is set to the one that is used, READER_AUTO is none.  *why: with
 * READER_AUTO and without BPF, why BPF is not used; else no text.  0 or -errno with a diagnosis.
 */
int reader__open(struct session **session, const struct session_options *options, enum reader_kind *kind,
		 struct diag *why, struct diag *d);

#endif /* EXTPROF_READER_H */
