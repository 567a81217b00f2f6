/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decimal numbers that a user or the environment gives.  A header alone, so that the programs on
 * the library can use it, too: the library's own functions are hidden from them.
 */
#ifndef EXTPROF_NUMBER_H
#define EXTPROF_NUMBER_H

#include <errno.h>
#include <stdlib.h>

/* All of text is digits, and the number is least to most; or -EINVAL, and *number stays. */
static inline int number__parse(const char *text, unsigned long least, unsigned long most,
				unsigned long *number)
{
	unsigned long value;
	char *end;

	/* strtoul takes blanks and signs as well: not here. */
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value < least || value > most)
		return -EINVAL;
	*number = value;
	return 0;
}

#endif /* EXTPROF_NUMBER_H */
