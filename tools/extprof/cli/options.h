/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line. */
#ifndef EXTPROF_OPTIONS_H
#define EXTPROF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/settings.h"
#include "output/output.h"

#define RATE_DEFAULT 99u

struct options {
	pid_t pid;			/* 0: run `command` */
	char **command;			/* ends with NULL */
	uint32_t rate;
	enum timer_kind timer;
	uint64_t duration;		/* ns, 0: until the target ends or Ctrl-C */
	const char *file;		/* NULL: only the summary */
	const struct output_format *format;
	bool html;
	bool threads, lines, quiet, keep_root;
	unsigned int top;
};

/* For argp: `quietly` returns EINVAL where it would print and exit. */
int options__parse(struct options *o, int argc, char **argv, bool quietly);

/* What the engine is to do; *pid is the process, and must live as long as the engine. */
void options__settings(const struct options *o, const pid_t *pid, struct settings *s);

/* "99", "10k", "10khz", "250 Hz": 0 or -EINVAL. */
int options__rate(const char *text, uint32_t *rate);
/* "5", "0.5", "5s", "300ms", "2m", "1h" in ns: 0 or -EINVAL. */
int options__duration(const char *text, uint64_t *duration);
int options__pid(const char *text, pid_t *pid);

#endif /* EXTPROF_OPTIONS_H */
