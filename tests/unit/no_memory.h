/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that runs out when a test says so. */
#ifndef NO_MEMORY_H
#define NO_MEMORY_H

#include <stdbool.h>

extern bool no_memory;		/* malloc, calloc and realloc of the code under test fail */
extern bool no_bigger;		/* realloc fails */
extern unsigned int no_memory_at;	/* the one of that number from now on fails, 1 is the next; 0 none */

#endif /* NO_MEMORY_H */
