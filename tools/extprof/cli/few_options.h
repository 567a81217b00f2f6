/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of commands that have few of them: argp reads them as they are here, and shells complete them. */
#ifndef EXTPROF_FEW_OPTIONS_H
#define EXTPROF_FEW_OPTIONS_H

#include <argp.h>
#include <stdio.h>

/* Those of sql and redact, and of commands that have only the ones of each command. Each ends with zeros. */
extern const struct argp_option few_options_sql[], few_options_redact[], few_options_none[];

/* The same as options__list(), with --help, --usage and --version. */
void few_options__list(const struct argp_option *rows, FILE *to);

#endif /* EXTPROF_FEW_OPTIONS_H */
