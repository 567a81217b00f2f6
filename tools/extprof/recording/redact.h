/* SPDX-License-Identifier: BSD-2-Clause */
/* A copy of a recording without what others are not to know. */
#ifndef EXTPROF_RECORDING_REDACT_H
#define EXTPROF_RECORDING_REDACT_H

#include <stdint.h>
#include <sys/types.h>

#include "recording/reader.h"

enum redact_what {
	REDACT_PATHS = 1u << 0,		/* folders, files and sockets that were waited for, cgroups, and source files */
	REDACT_ARGV = 1u << 1,		/* command lines, but for the name of the program or script */
	REDACT_LABELS = 1u << 2,	/* values of labels.  With any of all these goes what an SDK says of the program: it has all of them */
	REDACT_HOST = 1u << 3,		/* the name of the machine */
	REDACT_TRACES = 1u << 4,	/* ids of traces and spans */
	REDACT_ALL = (1u << 5) - 1,
};

/*
 * Write a new file, as recording_writer__create() does, with the same samples, times and numbers.  Texts are written
 * if they are known to tell nothing of that kind, so the file has no trace of others.  What is equal stays equal, and
 * what differs differs: "/redacted/3/order.rb", "value 7", the trace 000...007.  0 or negative errno with *d; then there is no file.
 */
int recording__redact(struct recording_reader *from, const char *path, uid_t uid, gid_t gid, uint32_t what, struct diag *d);

/* Append the path of a source or program file as it may be told: the part within a gem or the standard library, else the
 * name of the file and the number of its folder. */
struct strings;
int redact__path(struct strings *folders, const char *path, struct text *out);
/* The same of all paths in the name that a JIT has given a function. */
int redact__jit_name(struct strings *folders, const char *name, struct text *out);

#endif /* EXTPROF_RECORDING_REDACT_H */
