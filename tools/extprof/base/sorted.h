/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXTPROF_SORTED_H
#define EXTPROF_SORTED_H

#include <stddef.h>

/*
 * How many elements of a list have a `field` of at most `key`.  They come first: the list is in the order of that field.
 * So the last of them is the one that begins at or before the key, and the next one is the first behind it.
 */
#define SORTED__UNTIL(list, count, field, key) ({			\
	size_t sorted_low = 0, sorted_high = (count);			\
									\
	while (sorted_low < sorted_high) {				\
		size_t sorted_middle = sorted_low + (sorted_high - sorted_low) / 2;	\
									\
		if ((list)[sorted_middle].field <= (key))		\
			sorted_low = sorted_middle + 1;			\
		else							\
			sorted_high = sorted_middle;			\
	}								\
	sorted_low;							\
})

#endif /* EXTPROF_SORTED_H */
