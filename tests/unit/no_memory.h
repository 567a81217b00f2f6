/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that runs out when a test says so. */
#ifndef NO_MEMORY_H
#define NO_MEMORY_H

#include <stdbool.h>

extern bool no_memory;		/* malloc, calloc and realloc of the code under test fail */
extern bool no_bigger;		/* realloc fails */

#endif /* NO_MEMORY_H */
