/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of words with commas between: the values of options that can be given several times. */
#ifndef EXTPROF_WORDS_H
#define EXTPROF_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "extprof.h"

/* Append to a list, which begins as NULL.  The caller frees it.  0 or -ENOMEM. */
int words__add(char **list, const char *more);
/* NULL is an empty list. */
bool words__has(const char *list, const char *word);
/* Does the list have a word of which that is true? */
bool words__any(const char *list, bool (*is)(const char *word));
/* How many there are. */
unsigned int words__count(const char *list);

/* "a, b or c": all words of a kind.  The caller frees it.  NULL: out of memory. */
char *words__all(enum extprof_words kind);
/* Names of formats, or their suffixes, with commas between: of those that a live profile has; of_files: of those that a
 * recording has. */
void words__formats(bool of_files, bool suffixes, char *to, size_t size);

#endif /* EXTPROF_WORDS_H */
