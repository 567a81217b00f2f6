/* SPDX-License-Identifier: BSD-2-Clause */
/* Text for a narrow terminal. */
#ifndef EXTPROF_CLI_WRAP_H
#define EXTPROF_CLI_WRAP_H

#include <stdio.h>

/*
 * Write lines.  Those that have more than `width` columns go on in the next line, below their last column of text; they are
 * cut at blanks alone.  0: lines are as long as they are.
 */
void wrap__write(const char *text, unsigned int width, FILE *to);

#endif /* EXTPROF_CLI_WRAP_H */
