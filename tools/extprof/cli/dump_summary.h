/* SPDX-License-Identifier: BSD-2-Clause */
/* A dump in one line. */
#ifndef EXTPROF_CLI_DUMP_SUMMARY_H
#define EXTPROF_CLI_DUMP_SUMMARY_H

#include <stdio.h>

#include "extprof.h"

/* "12 threads: 3 running, 5 wait for I/O, 4 sleep; 1 deadlock: debit, credit", without the end of the line. */
void dump_summary__write(const struct extprof_dump_result *r, FILE *to);

#endif /* EXTPROF_CLI_DUMP_SUMMARY_H */
