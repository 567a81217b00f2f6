/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles of pprof, and the names that one receiver or another wants in them. */
#ifndef EXTPROF_OUTPUT_PPROF_H
#define EXTPROF_OUTPUT_PPROF_H

#include "output/output.h"

/* The types of the values of a mode. */
struct pprof_type {
	const char *mode, *count, *value;
};

struct pprof_names {
	const struct pprof_type *types;		/* ends with mode NULL; modes that are not there have the types of struct mode */
	const char *process, *thread;		/* keys of their labels */
	const char *pid, *tid;
	bool ids_are_texts;			/* else numbers */
	const char *span;			/* a label with the id of the span as a number; NULL: there is none */
};

/* As struct output_format::write() says it. */
int pprof__write(const struct report *reports, uint32_t count, const struct pprof_names *names, FILE *to);

#endif /* EXTPROF_OUTPUT_PPROF_H */
